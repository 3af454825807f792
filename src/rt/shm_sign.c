/* shm_sign: compares the ranks' signs of a collective or message; the error names both sides. */
#include "rt/shm.h"

static void describe_sign(struct shm *s, int rank, const struct shm_sign *sign, bool send, struct buf *out)
{
	const char *type = dtype_name(sign->dtype);
	if (sign->kind == SHM_P2P) {
		buf_printf(out, "%s of %lld %s", send ? "send" : "recv", (long long)sign->count, type);
	} else {
		buf_puts(out, collective_name((enum collective)sign->kind));
		if (collective_reduces((enum collective)sign->kind))
			buf_printf(out, " (%s)", reduce_op_name(sign->op));
		if (collective_is_rooted((enum collective)sign->kind))
			buf_printf(out, " %s root %d",
			           collective_is_to_root((enum collective)sign->kind) ? "to" : "from",
			           sign->root);
		if (sign->count)
			buf_printf(out, " of %lld %s", (long long)sign->count, type);
		else
			buf_printf(out, " of %s", type);
	}
	struct buf label = {0};
	rt_board_label(s->base.job->board, rank, sign->label, &label);
	if (label.n)
		buf_printf(out, " in  %s", label.at);
	buf_free(&label);
}

enum status shm_compare(struct shm *s, const struct shm_sign *own, int64_t own_bytes, bool send, int peer,
                        const struct shm_sign *other, int64_t other_bytes)
{
	bool same = own->kind == other->kind && own->dtype == other->dtype && own->op == other->op &&
	            own->root == other->root && own->count == other->count;
	if (same && own_bytes == other_bytes)
		return STATUS_OK;
	struct buf b = {0};
	describe_sign(s, s->base.job->rank, own, send, &b);
	if (same)
		buf_printf(&b, " (a block of %lld bytes)", (long long)own_bytes);
	buf_printf(&b, ", but rank %d has  ", peer);
	describe_sign(s, peer, other, !send, &b);
	if (same)
		buf_printf(&b, " (a block of %lld bytes)", (long long)other_bytes);
	rt_job_error(s->base.job, "ranks disagree: rank %d has  %s", s->base.job->rank, b.at);
	buf_free(&b);
	return rt_job_fail(s->base.job, STATUS_DIAGNOSTICS);
}
