/* show_layout: finds the tensors, and the parts of them that devices hold. */
#include "show/show_layout.h"
#include "base/checked.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/print.h"
#include "pass/place.h"
#include "show/show_words.h"
#include <string.h>

/* ---- meaning of the argument */

/* Finds a tensor by its name, or as dumps print it: in backquotes, or by its number if it has none. */
static value_id find_tensor(const struct layout_picture *p, const char *word, size_t n)
{
	name_id own = names_find(p->m->names, word, n);
	struct buf name = {0};
	value_id found = 0;
	for (value_id v = 1; v < p->m->value.n && !found; v++) {
		name.n = 0;
		ir_print_value_name(p->m, v, &name);
		if (((own && p->m->value.at[v].name == own) || (name.n == n && !memcmp(name.at, word, n))) &&
		    (!p->m->value.at[v].def || p->m->op.at[p->m->value.at[v].def].parent))
			found = v;
	}
	buf_free(&name);
	return found;
}

static bool redistributes(const struct module *m, op_id op)
{
	return m->op.at[op].parent && op_traits(m, op) & (TRAIT_RESHARD | TRAIT_COLLECTIVE) &&
	       op_read(m, op, 0) && op_result(m, op, 0);
}

/* Returns the statement that makes v by a change of layout; if v is 0, the Communication named `word`. */
static op_id find_statement(const struct module *m, const char *word, value_id v)
{
	for (op_id op = 1; op < m->op.n; op++) {
		if (!redistributes(m, op))
			continue;
		if (v ? op_result(m, op, 0) == v : !strcmp(names_text(m->names, m->op.at[op].name), word))
			return op;
	}
	return 0;
}

bool layout_is_copy(struct module *m, op_id op)
{
	struct buf from = {0}, to = {0};
	bool same = false;
	if (m->op.at[op].kind == OP_SET) {
		ir_print_type(m, m->value.at[op_read(m, op, 0)].type, &from);
		ir_print_type(m, m->value.at[op_result(m, op, 0)].type, &to);
		same = !strcmp(from.at, to.at);
	}
	buf_free(&from);
	buf_free(&to);
	return same;
}

/* The statement that makes a nameless tensor, which passes insert; 0: the tensor is the program's own. */
static op_id inserted_by(const struct module *m, value_id v)
{
	return m->value.at[v].name ? 0 : m->value.at[v].def;
}

/* The statement that gives the result of `op` its layout: passes copy to another order in memory after it. */
static op_id skip_copy_after(struct module *m, op_id op)
{
	op_id before = layout_is_copy(m, op) ? inserted_by(m, op_read(m, op, 0)) : 0;
	return before && redistributes(m, before) ? before : op;
}

/* The tensor that a statement lays out anew: passes copy it to another order in memory before. */
static value_id skip_copy_before(struct module *m, op_id op)
{
	value_id from = op_read(m, op, 0);
	op_id before = inserted_by(m, from);
	return before && layout_is_copy(m, before) ? op_read(m, before, 0) : from;
}

static bool unknown(struct layout_picture *p, struct diag *d, const char *word, size_t n)
{
	char *name = arena_strndup(p->arena, word, n);
	struct suggest s = suggest_start(name);
	diag_error(d, E_TENSOR_UNKNOWN, DIAG_NOWHERE, "--layout: the program has no tensor '%s'", name);
	for (value_id v = 1; v < p->m->value.n; v++)
		if (p->m->value.at[v].name)
			suggest_try(&s, names_text(p->m->names, p->m->value.at[v].name));
	diag_suggest(d, &s);
	return false;
}

/* ---- one side */

/* Returns true if the bytes of the tensor, rounded up to any blocks, stay far below the limit of 64 bits. */
static bool is_countable(const struct layout_side *s)
{
	int64_t bytes = s->bytes;
	bool fits = true, empty = false;
	for (unsigned a = 0; a < s->rank; a++) {
		if (s->extent[a] > INT64_MAX / 64)
			return false;
		empty |= !s->extent[a];
		fits = fits && checked_mul(bytes, s->extent[a], &bytes);
	}
	return empty || (fits && bytes <= INT64_MAX / 64);
}

/* Returns true if the parts of two devices are added up: the devices differ only along the axes of the
 * reduction. */
static bool added(const struct layout_side *s, uint32_t a, uint32_t b)
{
	uint32_t i, k;
	for (unsigned x = 0; x < s->mesh->rank; x++)
		if (!(s->partial >> x & 1) && mesh_axis_index(s->mesh, a, x, &i) &&
		    mesh_axis_index(s->mesh, b, x, &k) && i != k)
			return false;
	return true;
}

static const char *devices_text(struct layout_picture *p, const struct layout_side *s,
                                const struct layout_block *b)
{
	struct buf text = {0};
	bool *done = mem_zalloc(b->device.n + 1);
	for (uint32_t k = 0; k < b->device.n; k++) {
		if (done[k])
			continue;
		buf_printf(&text, "%s%u", text.n ? " " : "", b->device.at[k]);
		for (uint32_t j = k + 1; s->partial && j < b->device.n; j++)
			if (!done[j] && added(s, b->device.at[k], b->device.at[j])) {
				buf_printf(&text, "+%u", b->device.at[j]);
				done[j] = true;
			}
	}
	const char *found = arena_strndup(p->arena, text.n ? text.at : "every", text.n ? text.n : 5);
	buf_free(&text);
	free(done);
	return found;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static bool is_same_block(const struct layout_block *b, const struct part *p)
{
	for (unsigned a = 0; a < p->n; a++)
		if (!part_axis_same(&b->axis[a], &p->axis[a]))
			return false;
	return true;
}

static struct layout_block block_of(struct layout_picture *p, const struct part *part)
{
	struct part_axis *axis = arena_new_array(p->arena, struct part_axis, part->n + 1u);
	memcpy(axis, part->axis, sizeof *axis * part->n);
	return (struct layout_block){.axis = axis, .elements = part_elements(part)};
}

/* Finds the blocks of a type. Returns false if an extent has no value. */
static bool find_blocks(struct layout_picture *p, struct layout_side *s, type_id t)
{
	uint32_t n = s->mesh ? s->mesh->device_count : 1;
	for (uint32_t k = 0; k < n; k++) {
		struct part part;
		uint32_t i = 0;
		if (!part_of(p->m, t, s->mesh ? s->mesh->device[k] : 0, NULL, &part))
			return false;
		while (i < s->block.n && !is_same_block(&s->block.at[i], &part))
			i++;
		if (i == s->block.n)
			vec_push(&s->block, block_of(p, &part));
		if (s->mesh)
			vec_push(&s->block.at[i].device, s->mesh->device[k]);
	}
	for (uint32_t i = 0; i < s->block.n; i++) {
		struct layout_block *b = &s->block.at[i];
		if (b->device.n)
			qsort(b->device.at, b->device.n, sizeof *b->device.at, by_number);
		b->devices = devices_text(p, s, b);
	}
	return true;
}

/* Returns a note such as "axis 0 in 4 steps of a loop, one block of 24 at a time". */
static const char *note_of(struct layout_picture *p, const struct layout_side *s)
{
	struct buf text = {0};
	for (unsigned a = 0; a < s->rank; a++)
		for (unsigned k = 0; k < s->sugar.axis[a].place_n; k++) {
			const struct sugar_place *x = &s->sugar.axis[a].place[k];
			if (!place_is_loop(x))
				continue;
			int64_t n = s->mesh && x->kind == SUGAR_SWIZZLE ? s->mesh->size[x->mesh_axis] : 0;
			if (!n)
				expr_is_const(p->m, x->factor, &n);
			buf_printf(&text, "%saxis %u in %lld steps of a loop", text.n ? ", " : "", a,
			           (long long)n);
			buf_puts(&text,
			         x->kind == SUGAR_SWIZZLE ? ", each device from its own block on" : "");
		}
	const char *found = text.n ? arena_strndup(p->arena, text.at, text.n) : NULL;
	buf_free(&text);
	return found;
}

static bool side_open(struct layout_picture *p, struct layout_side *s, value_id v, struct diag *d)
{
	struct module *m = p->m;
	const struct type *type = value_type(m, v);
	struct buf text = {0};
	s->value = v;
	ir_print_value_name(m, v, &text);
	s->name = arena_strndup(p->arena, text.at, text.n);
	text.n = 0;
	ir_print_type(m, m->value.at[v].type, &text);
	if (type->mesh && type->mesh == m->default_mesh) /* types do not name the default mesh */
		buf_printf(&text, " on %s", names_text(m->names, ir_mesh(m, type->mesh)->name));
	s->type = arena_strndup(p->arena, text.at, text.n);
	buf_free(&text);
	s->mesh = type->mesh ? ir_mesh(m, type->mesh) : NULL;
	if (!sugar_from_domain(m, type->domain, type->mesh, &s->sugar)) {
		diag_error(d, E_PICTURE_LAYOUT, m->value.at[v].at,
		           "'%s' is not laid out by placements: it has merges or inner splits", s->name);
		return false;
	}
	s->rank = s->sugar.rank;
	s->partial = place_partial(&s->sugar);
	s->bytes = dtype_bytes(type->dtype);
	for (unsigned a = 0; a < s->rank; a++)
		if (expr_eval(m, s->sugar.axis[a].extent, &(struct expr_env){.rank = -1}, &s->extent[a],
		              NULL) != EXPR_OK) {
			diag_error(d, E_PICTURE_LAYOUT, m->value.at[v].at, "axis %u of '%s' has no extent", a,
			           s->name);
			return false;
		}
	if (!is_countable(s)) {
		diag_error(d, E_TENSOR_TOO_LARGE, m->value.at[v].at, "'%s' is too large for any machine",
		           s->name);
		return false;
	}
	if (!find_blocks(p, s, m->value.at[v].type)) {
		diag_error(d, E_PICTURE_LAYOUT, m->value.at[v].at, "the blocks of '%s' have no extents",
		           s->name);
		return false;
	}
	s->note = note_of(p, s);
	return true;
}

/* ---- the change */

static bool change_open(struct layout_picture *p, value_id from, value_id to, op_id op, struct diag *d)
{
	struct module *m = p->m;
	struct reshard r;
	struct buf text = {0};
	bool same = p->side[0].rank == p->side[1].rank;
	for (unsigned a = 0; same && a < p->side[0].rank; a++)
		same = p->side[0].extent[a] == p->side[1].extent[a];
	if (!same) {
		diag_error(d, E_PICTURE_LAYOUT, DIAG_NOWHERE,
		           "--layout: '%s' and '%s' differ in shape: give two layouts of one shape",
		           p->side[0].name, p->side[1].name);
		return false;
	}
	if (!p->side[0].mesh || !p->side[1].mesh) {
		diag_error(d, E_PICTURE_LAYOUT, DIAG_NOWHERE,
		           "--layout: '%s' is on no mesh: moved data cannot be counted",
		           p->side[p->side[0].mesh ? 1 : 0].name);
		return false;
	}
	reshard_classify(m, m->value.at[from].type, m->value.at[to].type, &r);
	p->unknown = r.kind == RESHARD_NONE ? r.reason : "too many devices to count the moved data";
	p->counted = r.kind != RESHARD_NONE &&
	             volume_pairs(m, m->value.at[from].type, m->value.at[to].type, &r, p->arena, &p->pairs);
	for (uint32_t q = 0; p->counted && q < p->pairs.n; q++) {
		int64_t sent = 0;
		for (uint32_t k = 0; k < p->pairs.n; k++)
			sent += p->pairs.bytes[(size_t)q * p->pairs.n + k];
		p->total += sent;
		p->most = sent > p->most ? sent : p->most;
	}
	buf_printf(&text, "%s -> %s: %s%s", p->side[0].name, p->side[1].name,
	           op_info[reshard_operation(r.kind)].hir, reshard_note(r.kind));
	for (unsigned k = 0; k < r.axis_n && r.kind != RESHARD_NONE; k++)
		buf_printf(&text, "%s%s", k ? ", " : " over ",
		           names_text(m->names, ir_mesh(m, r.mesh)->axis_name[r.axis[k]]));
	if (op)
		show_put_place(m, op, &text);
	p->change = arena_strndup(p->arena, text.at, text.n);
	buf_free(&text);
	return true;
}

/* Finds the comma between two tensors: the first one, unless it belongs to a name. NULL: there is none. */
static const char *find_comma(const struct layout_picture *p, const char *what)
{
	const char *first = strchr(what, ',');
	for (const char *at = first; at; at = strchr(at + 1, ','))
		if (find_tensor(p, what, (size_t)(at - what)) && find_tensor(p, at + 1, strlen(at + 1)))
			return at;
	return first;
}

bool layout_picture_open(struct layout_picture *p, struct module *m, const char *what, struct diag *d)
{
	const char *comma;
	value_id from, to = 0;
	op_id op = 0;
	*p = (struct layout_picture){.m = m, .arena = arena_new()};
	ir_number(m);
	from = find_tensor(p, what, strlen(what));
	comma = from || find_statement(m, what, 0) ? NULL : find_comma(p, what);
	size_t n = comma ? (size_t)(comma - what) : strlen(what);
	from = comma ? find_tensor(p, what, n) : from;
	if (comma) {
		to = find_tensor(p, comma + 1, strlen(comma + 1));
		if (!from || !to)
			return unknown(p, d, from ? comma + 1 : what, from ? strlen(comma + 1) : n);
		op = find_statement(m, "", to);
		op = op ? skip_copy_after(m, op) : 0;
		op = op && (op_read(m, op, 0) == from || skip_copy_before(m, op) == from) ? op : 0;
	} else {
		op = find_statement(m, what, from);
		if (!from && !op)
			return unknown(p, d, what, n);
		to = op ? op_result(m, op, 0) : 0;
		op = op ? skip_copy_after(m, op) : 0;
		from = op ? skip_copy_before(m, op) : from;
	}
	p->n = to ? 2 : 1;
	return side_open(p, &p->side[0], from, d) &&
	       (!to || (side_open(p, &p->side[1], to, d) && change_open(p, from, to, op, d)));
}

void layout_picture_close(struct layout_picture *p)
{
	for (unsigned k = 0; k < 2; k++) {
		struct layout_side *s = &p->side[k];
		for (uint32_t i = 0; i < s->block.n; i++)
			vec_free(&s->block.at[i].device);
		vec_free(&s->block);
	}
	arena_free(p->arena);
}

/* ---- as text */

void layout_put_block(const struct layout_side *s, const struct layout_block *b, struct buf *out)
{
	buf_putc(out, '[');
	for (unsigned a = 0; a < s->rank; a++) {
		const char *between = "";
		buf_puts(out, a ? ", " : "");
		for (struct part_span x = {0}; part_next(&b->axis[a], &x); between = " ")
			buf_printf(out, "%s%lld:%lld", between, (long long)x.from, (long long)x.to);
		if (b->axis[a].from == b->axis[a].to)
			buf_puts(out, "nothing");
	}
	buf_putc(out, ']');
}

static void print_side(const struct layout_side *s, struct buf *out)
{
	struct buf text = {0};
	size_t widest = 0, digits = 1;
	buf_printf(out, "%s: %s\n", s->name, s->type);
	if (s->note)
		buf_printf(out, "  %s\n", s->note);
	for (uint32_t i = 0; i < s->block.n; i++) {
		text.n = 0;
		layout_put_block(s, &s->block.at[i], &text);
		widest = text.n > widest ? text.n : widest;
		text.n = 0;
		buf_puti(&text, s->block.at[i].elements * s->bytes);
		digits = text.n > digits ? text.n : digits;
	}
	for (uint32_t i = 0; i < s->block.n; i++) {
		const struct layout_block *b = &s->block.at[i];
		text.n = 0;
		layout_put_block(s, b, &text);
		buf_printf(out, "  %-*s  %*lld B  %s %s\n", (int)widest, text.at, (int)digits,
		           (long long)(b->elements * s->bytes), b->device.n == 1 ? "device" : "devices",
		           b->devices);
	}
	buf_free(&text);
}

void layout_picture_print(const struct layout_picture *p, struct buf *out)
{
	print_side(&p->side[0], out);
	if (p->n == 1)
		return;
	buf_printf(out, "\n%s\n", p->change);
	if (!p->counted)
		buf_printf(out, "  %s\n", p->unknown);
	else
		buf_printf(out, "  %lld B move, at most %lld B from one device\n", (long long)p->total,
		           (long long)p->most);
	for (uint32_t q = 0; p->counted && q < p->pairs.n; q++) {
		const int64_t *row = p->pairs.bytes + (size_t)q * p->pairs.n;
		bool any = false;
		for (uint32_t k = 0; k < p->pairs.n; k++) { /* those that get equally much, together */
			bool before = false;
			for (uint32_t j = 0; j < k; j++)
				before = before || row[j] == row[k];
			if (!row[k] || before)
				continue;
			if (any)
				buf_puts(out, ";");
			else
				buf_printf(out, "  from %3u:", p->pairs.device[q]);
			buf_printf(out, " %lld B to", (long long)row[k]);
			any = true;
			for (uint32_t j = k; j < p->pairs.n; j++)
				if (row[j] == row[k])
					buf_printf(out, " %u", p->pairs.device[j]);
		}
		buf_puts(out, any ? "\n" : "");
	}
	buf_putc(out, '\n');
	print_side(&p->side[1], out);
}
