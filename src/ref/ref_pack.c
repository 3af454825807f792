/* ref_pack: pack and unpack, element by element.
 *
 *     pack(A, B, blocks=2)      A has 4 elements, B has 6
 *         a0 a1 b0 b1 b2   a2 a3 b3 b4 b5
 *
 * If only the packed side is u8, each element is packed as its bytes, the lowest first. */
#include "ir/pack.h"
#include "ref/ref_host.h"

/* Copies element i of one part to place k of the packed side, or back. With bytes, copies `size` bytes from
 * byte i * size on. */
static void move_element(struct ref_array *part, int64_t i, struct ref_array *packed, int64_t at, bool packs,
                         unsigned size)
{
	if (part->dtype == packed->dtype) {
		if (packs)
			ref_copy(packed, at, part, i);
		else
			ref_copy(part, i, packed, at);
		return;
	}
	uint64_t bits = packs ? ref_bits(part, i) : 0;
	uint8_t state = REF_DEFINED;
	double error = 0;
	for (unsigned k = 0; k < size; k++) {
		if (packs) {
			ref_store_int(packed, at + k, (int64_t)(bits >> 8 * k & 0xff));
			packed->state[at + k] = part->state[i];
			packed->error[at + k] = part->error[i]; /* keeps the value's error until it is
			                                           unpacked */
			continue;
		}
		bits |= (uint64_t)packed->ints[at + k] << 8 * k;
		state = packed->state[at + k] < state ? packed->state[at + k] : state;
		error = packed->error[at + k] > error ? packed->error[at + k] : error;
	}
	if (packs)
		return;
	ref_store_bits(part, i, bits);
	part->state[i] = state;
	part->error[i] = error;
}

static bool check_counts(struct ref_host *h, const struct ref_rank *r, op_id op, int64_t have, int64_t want)
{
	if (have == want)
		return true;
	diag_error(h->c->d, E_PACK, ir_op(h->c->m, op)->at,
	           "%s: rank %lld has %lld elements of one side, %lld of the other",
	           op_info[ir_op(h->c->m, op)->kind].hir, (long long)r->device, (long long)have,
	           (long long)want);
	return false;
}

/* Moves all parts. The packed side has `blocks` runs of `block` elements each. */
static bool move_parts(struct ref_host *h, const struct ref_rank *r, op_id op, struct ref_array *part,
                       unsigned n, struct ref_array *packed)
{
	bool packs = ir_op(h->c->m, op)->kind == OP_PACK;
	int64_t blocks = ir_pack_blocks(h->c->m, op), before = 0, block = ref_array_count(packed) / blocks;
	for (unsigned k = 0; k < n; k++) {
		unsigned size = part[k].dtype == packed->dtype ? 1 : dtype_bytes(part[k].dtype);
		int64_t count = ref_array_count(&part[k]), each = count / blocks;
		if (!check_counts(h, r, op, each * blocks, count) ||
		    (before + each * size > block &&
		     !check_counts(h, r, op, (before + each * size) * blocks, block * blocks)))
			return false;
		for (int64_t i = 0; i < count; i++)
			move_element(&part[k], i, packed, i / each * block + before + i % each * size, packs,
			             size);
		before += each * size;
	}
	return check_counts(h, r, op, before * blocks, ref_array_count(packed));
}

bool ref_pack_run(struct ref_host *h, const struct ref_rank *r, const struct ref_entry *e)
{
	struct module *m = h->c->m;
	bool packs = ir_op(m, e->op)->kind == OP_PACK, ok = true;
	unsigned n = e->use_n - 1, whole = packs ? n : 0, first = packs ? 0 : 1;
	uint32_t at = ir_op(m, e->op)->at;
	struct ref_array *a = mem_zalloc(sizeof *a * e->use_n);
	int64_t absent;
	for (unsigned k = 0; k < e->use_n && ok; k++)
		ok = ref_view_load(h, e->use[k].view, true, at, &a[k]);
	ok = ok && move_parts(h, r, e->op, &a[first], n, &a[whole]);
	for (unsigned k = 0; k < e->use_n && ok; k++)
		if ((k == whole) == packs)
			ok = ref_view_store(h, e->use[k].view, true, &a[k], at, &absent);
	for (unsigned k = 0; k < e->use_n; k++) {
		ref_array_free(&a[k]);
		ref_buffer_release(e->use[k].view->buffer);
	}
	free(a);
	return ok;
}
