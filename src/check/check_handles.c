/* check_handles: buffers that are announced to the peers of transfers.
 *
 *     G = allocate()
 *     share_mem_handles(r, s)       announces G to the peer of r, X to the peer of s
 *     send(X, peer=…) as s
 *     recv(G, peer=…) as r          G is the buffer that was announced
 *
 * Both ends must announce a transfer equally often. The transfer must use the memory that was announced last;
 * a buffer that was allocated again since then is other memory. A transfer that nothing announces is
 * allowed. */
#include "check/check_handles.h"
#include "check/check_rank.h"
#include "check/check_report.h"
#include "check/checker.h"
#include "check/match.h"

/* Returns the number of the allocation that holds a view's buffer; 0: none. */
static uint32_t allocation_of(const struct rank_check *w, const struct view *x)
{
	return x->storage == CHECK_NONE ? 0 : w->storage.at[x->storage].made;
}

static value_id buffer_of(const struct rank_check *w, op_id op)
{
	return op_transfer_buffer(w->m, op);
}

void handles_share(struct rank_check *w, op_id op)
{
	for (unsigned k = 0; k < op_role_count(w->m, op, ROLE_STATEMENT) && check_goes_on(w->c); k++) {
		op_id transfer = op_operand_id(w->m, op, ROLE_STATEMENT, k);
		bool send = w->m->op.at[transfer].kind == OP_SEND;
		const struct view *x = &w->view[buffer_of(w, transfer)];
		int64_t peer;
		if (x->absent)
			continue;
		if (!check_scalar(w, transfer, 0, WALK_PEER, &peer))
			return;
		w->announced[transfer] = (struct announced){
		    .op = op, .iteration = w->now, .storage = x->storage, .made = allocation_of(w, x)};
		if (peer >= 0 && peer < w->c->o->ranks)
			match_handles(w, op, send, peer);
	}
}

void handles_use(struct rank_check *w, op_id transfer)
{
	const struct announced *a = &w->announced[transfer];
	value_id v = buffer_of(w, transfer);
	const struct view *x = &w->view[v];
	if (!w->c->is_shared[transfer])
		return;
	if (!a->op || a->storage != x->storage || a->made != allocation_of(w, x))
		report_handle(w, transfer, v, a);
}
