/* sim_peers: see sim_peers.h. */
#include "sim/sim_peers.h"

bool sim_peers_find(struct sim_simulation *s, uint32_t rank, struct timeline_class *c)
{
	struct sim_program *p = &s->program;
	struct symmetry *symmetry = p->symmetry;
	struct sim_rank r = {0};
	p->peers = true;
	p->symmetry = NULL; /* the rank stands for no other */
	bool ok = sim_rank_walk(p, rank, false, &r);
	for (uint32_t k = 0; ok && k < r.peer.n; k++) {
		const struct sim_peer *x = &r.peer.at[k];
		vec_push(&c->peer,
		         ((struct timeline_peer){x->task, x->op, x->to, x->from, r.task.at[x->task].number}));
	}
	p->peers = false;
	p->symmetry = symmetry;
	sim_rank_free(&r);
	return ok;
}
