/* sema_schedule: takes the schedule of a kernel out of the tensors of a listing.
 *
 *     T2_l_float[iblockIdx.x4{( ceilDiv(i0, 128) )}, ithreadIdx.x5{128}]           T2_l_float[iS2{i0}]
 *      logical domain : (iS2{i0})                                           →       logical domain : (iS2{i0})
 *       Split: iS2{i0} by factor 128 -> iblockIdx.x4{…}, ithreadIdx.x5{128}
 *
 * A tensor keeps its logical axes, and the transforms that lead to its device and stream axes. Where the allocation
 * domain has the device axes, these count: the loop domain may reach them by other transforms. */
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>
#include <strings.h>

bool nv_is_kernel_place(const char *text)
{
	static const char *const words[] = {"blockIdx.", "threadIdx.", "US",  "UR", "V",
	                                    "MV",        "G",          "MMA", "B",  NULL};
	size_t n = strcspn(text, "0123456789");
	for (const char *const *w = words; *w; w++) {
		size_t length = strlen(*w);
		if (!strncmp(text, *w, length) && n == length + ((*w)[length - 1] == '.'))
			return true;
	}
	return false;
}

static bool is_kernel_id(struct nv_reader *r, ast_id id)
{
	return nv_is(r, id, AST_ID) && *ast_text(r->s->a, id) &&
	       nv_is_kernel_place(ast_text(r->s->a, id) + 1);
}

static bool is_device_id(struct nv_reader *r, ast_id id)
{
	return nv_is(r, id, AST_ID) && *ast_text(r->s->a, id) &&
	       !strncmp(ast_text(r->s->a, id) + 1, "device", 6);
}

static bool is_stream_id(struct nv_reader *r, ast_id id)
{
	return nv_is(r, id, AST_ID) && *ast_text(r->s->a, id) &&
	       !strncasecmp(ast_text(r->s->a, id) + 1, "stream", 6);
}

/* ---- the axes of a tensor while its transforms are read */

struct schedule {
	struct nv_reader *r;
	ast_id axis[IR_MAX_AXES]; /* the nodes of the axes that the tensor keeps, in order */
	unsigned n;
	int64_t needed[IR_MAX_AXES * 2]; /* the numbers of axes that lead to a device or stream axis */
	unsigned needed_n;
	bool allocated; /* an allocation domain is printed */
};

static int find_axis(const struct schedule *k, ast_id id)
{
	const struct ast *a = k->r->s->a;
	for (unsigned i = 0; nv_is(k->r, id, AST_ID) && i < k->n; i++)
		if (ast_at(a, k->axis[i])->value.i == ast_at(a, id)->value.i)
			return (int)i;
	return -1;
}

static void need_axis(struct schedule *k, ast_id id)
{
	if (k->needed_n < IR_MAX_AXES * 2)
		k->needed[k->needed_n++] = ast_at(k->r->s->a, id)->value.i;
}

static bool is_needed(const struct schedule *k, ast_id id)
{
	for (unsigned i = 0; nv_is(k->r, id, AST_ID) && i < k->needed_n; i++)
		if (k->needed[i] == ast_at(k->r->s->a, id)->value.i)
			return true;
	return false;
}

/* Lists the axes that a transform takes, or those that it makes. A split takes one and makes two, a merge takes two and
 * makes one, a swizzle has one of each. Returns their number. */
static unsigned list_axes(const struct schedule *k, ast_id line, bool made, ast_id out[2])
{
	const struct ast *a = k->r->s->a;
	const char *what = ast_text(a, line);
	ast_id x[4] = {0};
	for (unsigned i = 0; i < 4; i++)
		x[i] = ast_child(a, line, i);
	if (!strcmp(what, "split") || !strcmp(what, "outer-split"))
		return out[0] = made ? x[2] : x[0], out[1] = x[3], made ? 2 : 1;
	if (!strcmp(what, "merge"))
		return out[0] = made ? x[2] : x[0], out[1] = x[1], made ? 1 : 2;
	if (!strcmp(what, "swizzle1d"))
		return out[0] = made ? x[0] : x[1], 1;
	return 0;
}

/* Notes the device axes, or the stream axes, of a list. Returns false if there are none. */
static bool need_axes(struct schedule *k, ast_id list, bool of_devices)
{
	bool found = false;
	ast_each (k->r->s->a, id, list)
		if (of_devices ? is_device_id(k->r, id) : is_stream_id(k->r, id))
			need_axis(k, id), found = true;
	return found;
}

/* Notes the axes that lead to those needed, from the last transform back. */
static void need_sources(struct schedule *k, const struct nv_tensor *t)
{
	ast_id lines[IR_MAX_AXES * 2], made[2], taken[2];
	unsigned n = 0;
	ast_each (k->r->s->a, line, t->block)
		if (nv_is(k->r, line, AST_XF_LINE) && n < IR_MAX_AXES * 2)
			lines[n++] = line;
	while (n--) {
		bool leads = false;
		for (unsigned i = list_axes(k, lines[n], true, made); i--;)
			leads |= is_needed(k, made[i]);
		for (unsigned i = leads ? list_axes(k, lines[n], false, taken) : 0; i--;)
			need_axis(k, taken[i]);
	}
}

ast_id nv_serial_axis(struct nv_reader *r, ast_id id)
{
	ast_id copy = nv_node_copy(r, id);
	char serial[] = {*ast_text(r->s->a, id), 'S', '\0'};
	if (is_kernel_id(r, id))
		r->s->a->nodes.at[copy].name = names_intern_z(r->s->m->names, serial);
	return copy;
}

static ast_id copy_list(struct nv_reader *r, ast_id list)
{
	ast_id copy = nv_node_copy(r, list), next;
	r->s->a->nodes.at[copy].first = 0;
	for (ast_id id = ast_at(r->s->a, list)->first; id; id = next) {
		next = ast_at(r->s->a, id)->next;
		nv_node_append(r, copy, nv_serial_axis(r, id));
	}
	return copy;
}

/* Puts the axes that a transform makes in the place of those that it takes. Returns false if it takes others. */
static bool apply(struct schedule *k, ast_id line)
{
	ast_id made[2], taken[2];
	unsigned from = list_axes(k, line, false, taken), to = list_axes(k, line, true, made);
	int at = from ? find_axis(k, taken[0]) : -1, second = from > 1 ? find_axis(k, taken[1]) : at;
	if (at < 0 || second < 0 || k->n + to - from > IR_MAX_AXES)
		return false;
	memmove(k->axis + at + to, k->axis + at + 1, (k->n - (unsigned)at - 1) * sizeof *k->axis);
	for (unsigned i = 0; i < to; i++)
		k->axis[at + (int)i] = nv_serial_axis(k->r, made[i]);
	k->n += to - 1;
	if (from > 1) {
		second = find_axis(k, taken[1]);
		memmove(k->axis + second, k->axis + second + 1,
		        (k->n - (unsigned)second - 1) * sizeof *k->axis);
		k->n--;
	}
	return true;
}

/* Returns true if a line of the block stays. Applies its transform. */
static bool keeps_line(struct schedule *k, ast_id line)
{
	const char *what = ast_text(k->r->s->a, line);
	ast_id made[2];
	bool leads = false;
	if (!strcmp(what, "logical") || !strcmp(what, "root"))
		return true;
	if (!strcmp(what, "contiguity"))
		return !k->needed_n && !k->allocated;
	for (unsigned i = list_axes(k, line, true, made); i--;)
		leads |= is_needed(k, made[i]);
	return leads && apply(k, line);
}

/* Returns a block with the lines that stay, and the axes of the tensor in k. */
static ast_id make_block(struct schedule *k, const struct nv_tensor *t, ast_id logical)
{
	struct nv_reader *r = k->r;
	ast_id block = nv_node_copy(r, t->block), next;
	r->s->a->nodes.at[block].first = 0;
	ast_each (r->s->a, id, logical)
		if (nv_is(r, id, AST_ID) && k->n < IR_MAX_AXES)
			k->axis[k->n++] = id;
	for (unsigned i = 0; i < k->n; i++)
		k->axis[i] = nv_serial_axis(r, k->axis[i]);
	for (ast_id line = ast_at(r->s->a, t->block)->first; line; line = next) {
		next = ast_at(r->s->a, line)->next;
		if (!nv_is(r, line, AST_XF_LINE))
			nv_node_append(r, block, nv_node_copy(r, line));
		else if (keeps_line(k, line))
			nv_node_append(r, block, copy_list(r, line));
	}
	return block;
}

static void unschedule(struct nv_reader *r, struct nv_tensor *t)
{
	ast_id logical = nv_block_line(r, t, "logical"), allocation = nv_block_line(r, t, "allocation");
	struct schedule k = {.r = r, .allocated = allocation != 0};
	logical = logical ? logical : nv_block_line(r, t, "root");
	t->node = shape_tensor(r->s->a, t->node);
	ast_id printed = ast_child(r->s->a, t->node, 0);
	if (!logical)
		return;
	if (!allocation || !need_axes(&k, allocation, true))
		need_axes(&k, printed, true);
	need_axes(&k, printed, false);
	need_sources(&k, t);
	ast_id block = make_block(&k, t, logical), node = nv_node_copy(r, t->node),
	       ids = nv_node_copy(r, printed);
	r->s->a->nodes.at[ids].first = 0;
	for (unsigned i = 0; i < k.n; i++)
		nv_node_append(r, ids, k.axis[i]);
	r->s->a->nodes.at[ids].next = ast_at(r->s->a, printed)->next;
	r->s->a->nodes.at[node].first = ids;
	t->node = node;
	t->schedule = t->block;
	t->block = block;
}

/* ---- the listing */

static bool has_kernel_axis(struct nv_reader *r, const struct nv_tensor *t)
{
	ast_each (r->s->a, id, ast_child(r->s->a, shape_tensor(r->s->a, t->node), 0))
		if (is_kernel_id(r, id))
			return true;
	return false;
}

static bool has_axis(struct nv_reader *r, ast_id list, ast_id axis)
{
	ast_each (r->s->a, id, list)
		if (ast_at(r->s->a, id)->value.i == ast_at(r->s->a, axis)->value.i)
			return true;
	return false;
}

/* Returns true if a logical axis is resized: in the loop domain, not by the operation that makes the tensor. */
static bool resizes_loop(struct nv_reader *r, const struct nv_tensor *t)
{
	ast_id logical = nv_block_line(r, t, "logical");
	logical = logical ? logical : nv_block_line(r, t, "root");
	ast_each (r->s->a, line, t->block)
		if (logical && nv_is(r, line, AST_XF_LINE) && !strcmp(ast_text(r->s->a, line), "resize") &&
		    has_axis(r, logical, ast_child(r->s->a, line, 0)))
			return true;
	return false;
}

void nv_unschedule(struct nv_reader *r)
{
	const struct nv_tensor *first = NULL;
	for (uint32_t i = 0; i < r->tensor.n && !first; i++)
		if (r->tensor.at[i].block &&
		    (has_kernel_axis(r, &r->tensor.at[i]) || resizes_loop(r, &r->tensor.at[i])))
			first = &r->tensor.at[i];
	if (!first)
		return;
	r->scheduled = true;
	diag_warning(r->s->d, W_PRINTED_SCHEDULE, ast_at(r->s->a, shape_tensor(r->s->a, first->node))->at,
	             "the axes of %s are those of a kernel's schedule; hirc reads the logical domains",
	             ast_text(r->s->a, first->node));
	for (uint32_t i = 0; i < r->tensor.n; i++)
		if (r->tensor.at[i].block)
			unschedule(r, &r->tensor.at[i]);
}
