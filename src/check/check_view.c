/* check_view: names as parts of memory.
 *
 * A buffer allocated in loops holds the chunk of the current iterations. Each stream axis of its type, from
 * the outermost, belongs to the next stream loop around with the same count; serial axes belong to serial
 * loops in the same way. A slice of a view binds the first of these axes that is not bound. */
#include "check/check_view.h"
#include "check/access.h"
#include "check/check_rank.h"
#include "check/check_report.h"
#include "check/check_symmetric.h"
#include "check/checker.h"
#include "check/classes.h"
#include "check/words.h"
#include "check/written.h"
#include "ir/bound.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include <string.h>

static const struct type *type_of(const struct rank_check *w, value_id v)
{
	return value_type(w->m, v);
}

bool check_view_is_here(const struct rank_check *w, value_id v)
{
	uint32_t position;
	mesh_id mesh = type_of(w, v)->mesh;
	return !mesh || mesh_position(ir_mesh(w->m, mesh), (uint32_t)w->rank, &position);
}

static bool is_cut(const struct axis *a)
{
	return a->place == PLACE_STREAM || a->place == PLACE_SERIAL;
}

bool check_view_may_follow(const struct rank_check *w, value_id v)
{
	const struct view *x = &w->view[v];
	const struct domain *d = value_domain(w->m, v);
	unsigned cuts = 0;
	for (unsigned k = 0; k < d->loop_n; k++)
		cuts += is_cut(&d->axis[d->loop[k]]);
	return x->in_loop && (x->chunk_n || x->bound_n < cuts);
}

/* ---- buffers */

/* Returns true if the index of a set_stream changes from iteration to iteration. */
static bool is_by_index(const struct module *m, op_id set_stream)
{
	expr_id e =
	    set_stream && op_role_count(m, set_stream, ROLE_SCALAR) ? op_scalar_expr(m, set_stream, 0) : 0;
	return e && m->expr.at[e].flags & EXPR_HAS_INDEX;
}

/* Returns the copy of a buffer that an iteration uses, with the rule of slot_of_stream in src/plan:
 * iterations on different streams never share a copy. The index is that of the stream named last in this
 * iteration; if none was, of the first stream that the body names; if it names none, the index of the
 * loop. */
static int64_t slot_now(struct rank_check *w)
{
	int64_t slot = 0;
	if (w->walker.named_at > w->forgotten_at && is_by_index(w->m, w->walker.named_by))
		return w->stream.at[w->current].number;
	for (unsigned k = w->walker.loop.n; k-- > 0;) {
		op_id set_stream = w->c->set_stream[w->walker.loop.at[k].op];
		if (is_by_index(w->m, set_stream))
			return check_scalar(w, set_stream, 0, WALK_SAME, &slot)
			           ? expr_stream(slot, w->walker.o.streams)
			           : 0;
	}
	for (unsigned k = w->walker.loop.n; k-- > 0;)
		if (w->m->op.at[w->walker.loop.at[k].op].flags & OP_STREAM_LOOP)
			return expr_stream(w->walker.loop.at[k].at, w->walker.o.streams);
	return 0;
}

static uint32_t storage_get(struct rank_check *w, value_id v, int64_t slot)
{
	uint32_t k = w->storage_of[v];
	for (; k != CHECK_NONE && w->storage.at[k].slot != slot; k = w->storage.at[k].next)
		check_spend(w->c, 1);
	if (k != CHECK_NONE)
		return k;
	struct storage x = {.value = v, .slot = slot, .next = w->storage_of[v]};
	w->storage_of[v] = w->storage.n;
	vec_push(&w->storage, x);
	return w->storage.n - 1;
}

static bool has_loop_count(const struct rank_check *w, unsigned loop, bool stream, int64_t count)
{
	const struct walk_loop *l = &w->walker.loop.at[loop];
	return !(w->m->op.at[l->op].flags & OP_STREAM_LOOP) == !stream && l->start == 0 && l->stop == count;
}

/* Returns true if more loops around have the count of an axis than the type has such axes. Then only the
 * statement that writes the buffer tells which loop an axis belongs to. */
static bool is_ambiguous(const struct rank_check *w, const struct domain *d, const struct axis *a,
                         int64_t count)
{
	unsigned loops = 0, axes = 0;
	for (unsigned k = 0; k < w->walker.loop.n; k++)
		loops += has_loop_count(w, k, a->place == PLACE_STREAM, count);
	for (unsigned k = 0; k < d->loop_n; k++)
		axes += d->axis[d->loop[k]].place == a->place && d->axis[d->loop[k]].extent == a->extent;
	return loops > axes;
}

/* Binds the first of a type's stream and serial axes to the loops around. */
static void bind_chunks(struct rank_check *w, value_id v, struct view *x)
{
	const struct domain *d = value_domain(w->m, v);
	unsigned next[2] = {0}, seen = 0; /* next: of the serial and of the stream loops */
	bool known = true;
	for (unsigned k = 0; k < d->loop_n; k++) {
		const struct axis *a = &d->axis[d->loop[k]];
		int64_t count;
		if (!is_cut(a))
			continue;
		bool stream = a->place == PLACE_STREAM;
		if (!check_value(w, a->extent, w->m->value.at[v].at, &count))
			return;
		unsigned l = next[stream];
		while (l < w->walker.loop.n && !has_loop_count(w, l, stream, count))
			l++;
		if (l < w->walker.loop.n) {
			next[stream] = l + 1;
			x->vague |= x->bound_n != seen || seen >= VIEW_MAX_CHUNKS;
			known &= !x->vague && !is_ambiguous(w, d, a, count);
			if (known)
				x->chunk[x->chunk_n++] = w->walker.loop.at[l].at;
			x->bound_n += !x->vague;
		}
		seen++;
	}
}

static void start_view(struct rank_check *w, value_id v, struct view *out)
{
	*out = (struct view){.storage = CHECK_NONE, .absent = !check_view_is_here(w, v)};
	for (unsigned a = 0; a < IR_MAX_LOGICAL; a++)
		out->axis[a] = (uint8_t)a;
}

void check_view_input(struct rank_check *w, value_id v)
{
	struct view *x = &w->view[v];
	start_view(w, v, x);
	if (x->absent)
		return;
	x->storage = storage_get(w, v, 0);
	if (!w->c->o->strict)
		return;
	struct access a = {.view = *x, .kind = ACCESS_PROVIDE};
	access_all(w, 0, &a, 1, check_clock(w), w->stream.at[w->current].thread, check_step(w));
}

void check_view_buffer(struct rank_check *w, value_id v)
{
	struct view *x = &w->view[v];
	start_view(w, v, x);
	if (x->absent)
		return;
	x->storage = storage_get(w, v, w->walker.loop.n ? slot_now(w) : 0);
	w->storage.at[x->storage].freed = 0;
	w->storage.at[x->storage].made++;
	written_clear(&w->storage.at[x->storage]);
	bind_chunks(w, v, x);
	x->in_loop = w->walker.loop.n != 0;
}

/* ---- parts */

static bool is_seen(const struct rank_check *w, const struct view *x)
{
	return type_of(w, w->storage.at[x->storage].value)->memory == MEMORY_SYMMETRIC;
}

/* Returns true if a slice of a type by this statement has the same place in the memory of all ranks. */
static bool is_alike(const struct rank_check *w, const struct view *x, op_id op, type_id type)
{
	const struct domain *d = ir_domain(w->m, ir_type(w->m, type)->domain);
	for (unsigned k = 0; k < d->xform_n; k++)
		if (d->xform[k].kind == XFORM_SWIZZLE1D)
			return false;
	return is_seen(w, x) && symmetric_is_alike(w, op);
}

/* Returns the domain whose axes tell slices of a type apart. */
static domain_id parts_domain(const struct rank_check *w, const struct view *x, type_id t)
{
	return is_seen(w, x) && w->c->slices_of ? w->c->slices_of[t] : ir_type(w->m, t)->domain;
}

/* Finds the index that a loop axis of a type is bound to. Returns false if that is not known, or if the axis
 * is not bound. */
static bool find_step(const struct rank_check *w, const struct view *x, type_id type, unsigned axis,
                      struct cut cut, int64_t *out)
{
	const struct type *t = ir_type(w->m, type);
	const struct domain *d = ir_domain(w->m, t->domain);
	int64_t hi;
	if (cut.axis == (int)axis) {
		*out = cut.at;
		return true;
	}
	if (!x->dropped && parts_range(&w->c->parts, x->region, parts_domain(w, x, type), axis, out, &hi))
		return true;
	unsigned ordinal = 0;
	for (unsigned k = 0; k < d->loop_n && d->loop[k] != axis; k++)
		ordinal += is_cut(&d->axis[d->loop[k]]);
	const struct type *buffer = type_of(w, w->storage.at[x->storage].value);
	if (ordinal >= x->chunk_n || buffer->domain != t->domain)
		return false;
	*out = x->chunk[ordinal];
	return true;
}

static bool read_cuts(struct rank_check *w, type_id type, unsigned axis, struct part_cuts *out)
{
	expr_id offending;
	int64_t value;
	if (part_cuts_read(w->m, type, axis, out, &offending))
		return true;
	check_value(w, offending, DIAG_NOWHERE, &value); /* reports that the value is undefined */
	return false;
}

/* Returns true if a view holds all blocks of an axis: no mesh axis, loop or slice binds one. */
static bool is_whole(const struct view *x, const struct part_cuts *cuts)
{
	if (x->dropped || x->bound_n || x->region)
		return false;
	for (unsigned k = 0; k < cuts->n; k++)
		if (cuts->at[k].place == PLACE_MESH)
			return false;
	return true;
}

bool check_view_axis(struct rank_check *w, const struct view *x, type_id type, unsigned axis, struct cut cut,
                     struct part_axis *out, int64_t *by)
{
	uint32_t index[IR_MAX_MESH_AXES] = {0};
	struct part_cuts cuts;
	struct bound_at bound;
	bool outermost = true;
	if (x->vague || x->storage == CHECK_NONE || !read_cuts(w, type, axis, &cuts) || cuts.joint)
		return false;
	part_start(out, cuts.extent);
	if (!cuts.n || is_whole(x, &cuts))
		return true;
	if (!part_indices(w->m, type, w->rank, index))
		return false;
	bound.axes = 0;
	for (unsigned k = 0; k < cuts.n; k++) {
		const struct part_cut *c = &cuts.at[k];
		if (c->place != PLACE_MESH) {
			if (c->place == PLACE_NONE ||
			    !find_step(w, x, type, c->axis, cut, &bound.step[c->axis]))
				return false;
			bound.axes |= (uint64_t)1 << c->axis;
		}
		const struct classes_cut moving = {.value = w->storage.at[x->storage].value,
		                                   .domain = parts_domain(w, x, type),
		                                   .mesh = ir_type(w->m, type)->mesh,
		                                   .cut = c,
		                                   .slice = cut,
		                                   .of = out->to - out->from,
		                                   .outermost = outermost};
		if (!classes_cut(w, &moving, by))
			return false;
		outermost &= c->count == 1;
		part_narrow(out, c->size, part_block(c, index, &bound));
	}
	return true;
}

void check_view_size(struct rank_check *w, const struct view *x, type_id type, unsigned axis)
{
	struct part_cuts cuts;
	if (!w->c->symmetry || x->storage == CHECK_NONE || !read_cuts(w, type, axis, &cuts) ||
	    (cuts.joint && !classes_alone(w)))
		return;
	int64_t piece = cuts.extent; /* elements of each block so far; -1: not all have the same number */
	for (unsigned k = 0; k < cuts.n; k++) {
		const struct part_cut *c = &cuts.at[k];
		const struct classes_cut moving = {.mesh = ir_type(w->m, type)->mesh, .cut = c, .of = piece};
		if (c->place == PLACE_MESH && !classes_cut(w, &moving, NULL))
			return;
		piece = piece > 0 && c->size > 0 && piece % c->size == 0 ? c->size : -1;
	}
}

/* ---- views */

/* Returns the loop axis of the type that a slice binds, and in *logical its tensor axis; -1: none. */
static int find_cut(const struct rank_check *w, op_id op, int *logical)
{
	const struct domain *d = value_domain(w->m, op_def(w->m, op, 0));
	struct bound_levels levels;
	bound_levels_of(w->m, op_read(w->m, op, 0), &levels);
	int leaf = bound_next(d, &levels);
	*logical = leaf < 0 ? -1 : layout_logical_of(d, (unsigned)leaf);
	return leaf;
}

/* Returns true if the index of a slice of `from` is at least 0 and below `count`. If not, reports it, and the
 * slice's name has no value. */
static bool check_index(struct rank_check *w, op_id op, struct view *from, int64_t at, int64_t count)
{
	const bool block = w->m->op.at[op].kind == OP_SHARD_BY_STREAM;
	const char *unit = block ? "block" : "element";
	struct buf text = {0};
	if ((at >= 0 && at < count) || w->others)
		return true;
	from->storage = CHECK_NONE;
	if (!report_once(w->c, "index", op, 0))
		return false;
	buf_printf(&text, "%s takes %s %lld of %s", op_info[w->m->op.at[op].kind].hir, unit, (long long)at,
	           block ? "" : "an axis of ");
	words_value(w->c, op_read(w->m, op, 0), &text);
	if (count > 0)
		buf_printf(&text, "%s whose %ss are 0 to %lld ", block ? "," : "", unit,
		           (long long)count - 1);
	else
		buf_printf(&text, "%s that has none ", block ? "," : "");
	words_place(w->c, (uint32_t)w->rank, w->now, &text);
	diag_error(w->c->d, block ? E_STREAM_INDEX : E_INDEX_OUTSIDE, w->m->op.at[op].at, "index: %s",
	           text.at);
	buf_free(&text);
	return false;
}

void check_view_shard(struct rank_check *w, op_id op)
{
	value_id v = op_def(w->m, op, 0), from = op_read(w->m, op, 0);
	struct view x = w->view[from];
	type_id type = w->m->value.at[v].type;
	struct part_axis part;
	int64_t at, count, by[SYMMETRY_MOST] = {0};
	int logical = -1;
	if (!x.absent && x.storage != CHECK_NONE && check_scalar(w, op, 0, WALK_ANY, &at)) {
		const expr_id index = op_scalar_expr(w->m, op, 0);
		const value_id buffer = w->storage.at[x.storage].value;
		int leaf = x.vague ? -1 : find_cut(w, op, &logical);
		bool narrowed = false;
		x.vague = leaf < 0;
		if (leaf >= 0 && !x.dropped) {
			struct condition block = {parts_domain(w, &x, type), (uint32_t)leaf, at, at + 1};
			const struct axis *cut = &ir_domain(w->m, ir_type(w->m, type)->domain)->axis[leaf];
			int64_t moves[SYMMETRY_MOST] = {0};
			if (!check_value(w, cut->extent, DIAG_NOWHERE, &count))
				return;
			if (!check_index(w, op, &x, at, count)) {
				w->view[v] = x;
				return;
			}
			if (!classes_index(w, index, count, moves) ||
			    !classes_parts(w, buffer, block.domain, block.axis, moves))
				return;
			x.region = parts_narrow(&w->c->parts, x.region, block);
			if (is_alike(w, &x, op, type))
				x.alike = parts_narrow(&w->c->parts, x.alike, block);
		}
		if (x.symmetric)
			symmetric_cut(w, op, &x, logical < 0 ? -1 : x.axis[logical], type, logical, leaf);
		x.bound_n++;
		if (logical >= 0 &&
		    check_view_axis(w, &x, type, (unsigned)logical, (struct cut){leaf, at, index}, &part,
		                    by) &&
		    classes_parts(w, buffer, 0, x.axis[logical], by)) {
			x.region = parts_narrow(&w->c->parts, x.region,
			                        (struct condition){0, x.axis[logical], part.from, part.to});
			narrowed = true;
		}
		x.loose |= !narrowed;
	}
	w->view[v] = x;
}

void check_view_select(struct rank_check *w, op_id op)
{
	value_id v = op_def(w->m, op, 0), from = op_read(w->m, op, 0);
	struct view x = w->view[from];
	const struct domain *d = value_domain(w->m, from);
	int64_t axis = op_attr_int(w->m, op, "axis", 0), at, count, by[SYMMETRY_MOST] = {0};
	axis += axis < 0 ? d->rank : 0;
	if (!x.absent && x.storage != CHECK_NONE && axis >= 0 && axis < d->rank &&
	    check_scalar(w, op, 0, WALK_ANY, &at)) {
		/* the other elements of a mesh axis belong to other ranks */
		if (d->axis[axis].place != PLACE_MESH) {
			if (!check_value(w, d->axis[axis].extent, DIAG_NOWHERE, &count))
				return;
			if (!check_index(w, op, &x, at, count)) {
				w->view[v] = x;
				return;
			}
			if (!classes_index(w, op_scalar_expr(w->m, op, 0), count, by) ||
			    !classes_parts(w, w->storage.at[x.storage].value, 0, x.axis[axis], by))
				return;
			x.region = parts_narrow(&w->c->parts, x.region,
			                        (struct condition){0, x.axis[axis], at, at + 1});
		}
		if (x.symmetric)
			symmetric_cut(w, op, &x, x.axis[axis], 0, 0, -1);
		x.vague |= x.bound_n != 0;
		x.dropped = true;
		memmove(x.axis + axis, x.axis + axis + 1, IR_MAX_LOGICAL - 1 - (size_t)axis);
	}
	w->view[v] = x;
}

/* Finds the value of start= or stop=. Returns false if it depends on the rank or is not known. */
static bool read_bound(struct rank_check *w, op_id op, const char *key, int64_t otherwise, int64_t *out)
{
	const struct attr *a = op_attr(w->m, op, key);
	*out = a && a->kind == ATTR_INT ? a->u.i : otherwise;
	return !a || a->kind == ATTR_INT ||
	       (a->kind == ATTR_EXPR && !(w->m->expr.at[a->u.expr].flags & EXPR_HAS_RANK) &&
	        check_value(w, a->u.expr, w->m->op.at[op].at, out));
}

void check_view_slice(struct rank_check *w, op_id op, struct view *x)
{
	value_id from = op_read(w->m, op, 0);
	int64_t axis = op_attr_int(w->m, op, "axis", 0), start, stop, by[SYMMETRY_MOST] = {0};
	struct part_cuts cuts;
	axis += axis < 0 ? value_domain(w->m, from)->rank : 0;
	if (x->absent || x->storage == CHECK_NONE || x->symmetric || axis < 0 ||
	    axis >= value_domain(w->m, from)->rank)
		return;
	const value_id buffer = w->storage.at[x->storage].value;
	const uint8_t logical = x->axis[axis];
	if (read_cuts(w, w->m->value.at[buffer].type, logical, &cuts) && !cuts.n && !cuts.joint &&
	    read_bound(w, op, "start", 0, &start) && read_bound(w, op, "stop", cuts.extent, &stop) &&
	    start >= 0 && start < stop && classes_parts(w, buffer, 0, logical, by))
		x->region =
		    parts_narrow(&w->c->parts, x->region, (struct condition){0, logical, start, stop});
}
