/* links: finds the links that a team of ranks uses, and the time of a collective on them if no table has
 * it.
 *
 * A team has levels: n_1 ranks share the innermost link, n_2 of these groups share the next one, and so
 * on. A rank sends b bytes on link l in alpha_l + b / rate_l. N_l is n_1 … n_l, n is the number of
 * ranks, s the bytes of the larger buffer, L_l = ceil(log2 n_l). Each formula is summed over the levels
 * l:
 *
 *     R                 (n_l - 1) alpha_l + s (n_l - 1) / (N_l rate_l)      rings, inside first or last
 *     allgather         R                                                   [1, 2, 3]
 *     reduce_scatter    R                                                   [1, 2, 3]
 *     allreduce         the less of 2 R and L_l (alpha_l + s / rate_l)      [1, 2, 3]; recursive doubling [1]
 *     broadcast, reduce the less of L_l (alpha_l + s / rate_l), a binomial tree, and
 *                       R + L_l alpha_l + s (n_l - 1) / (N_l rate_l), two halves                       [1]
 *     gather, scatter   L_l alpha_l + (N_l - N_(l-1)) s / (n rate_l)        binomial tree              [1]
 *     all_to_all(v)     (N_l - N_(l-1)) (alpha_l + s / (n rate_l))          pairwise exchange          [1]
 *     send_recv         alpha + s / rate of the outermost level
 *     barrier           L_l alpha_l                                         dissemination              [4]
 *
 * If ranks share a device, they share its rate: b bytes take as many times b / rate_l as `sharing` of `members` says.
 *
 * A team whose groups differ in size has one level, on its outermost link. Additions take no time here.
 *
 * [1] Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
 * [2] Patarasu, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
 * [3] Cho, Finkler, Serrano, Kung, Hunter, "BlueConnect", 2019: one level after the other.
 * [4] Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988. */
#ifndef HIRC_COST_LINKS_H
#define HIRC_COST_LINKS_H
#include "cost/cluster.h"

struct links_team {
	int64_t ranks;
	int64_t
	    sharing; /* ranks of the program that share a device, and move data at the same time; 0: one */
	int64_t members; /* ranks of the team that did so when the figures were measured; 0: one */
	unsigned link;   /* index of its link in the cluster */
	unsigned levels;
	struct {
		unsigned link;
		int64_t members; /* n_l, more than 1 */
	} level[CLUSTER_MAX_LINKS];
};

/* Finds the levels of a list of devices. Returns false if no link joins them all. */
bool links_team(const struct cluster *c, const uint32_t *device, uint32_t n, struct links_team *out);
/* Returns the time of a transfer beside those of all ranks that share a device, from its measured time. Latencies
 * stay as they are. */
int64_t links_share(const struct links_team *t, int64_t time);
int64_t links_time(const struct cluster *c, const struct links_team *t, enum collective kind, int64_t bytes);

enum { LINKS_ALGORITHMS = 3 };

struct links_algorithm {
	const char *name; /* "ring"; for a team of several levels "rings by level" */
	int64_t time;     /* ns */
};
/* Lists the algorithms, first the one that links_time assumes:
 *
 *     allgather, reduce_scatter   pairwise exchange: each rank sends its part to each other one
 *     these and allreduce         one ring of all on the outermost link, where a team has several levels
 *     gather, scatter             pairwise exchange, one after the other at the root
 *
 * Returns their number. */
unsigned links_algorithms(const struct cluster *c, const struct links_team *t, enum collective kind,
                          int64_t bytes, struct links_algorithm out[LINKS_ALGORITHMS]);

#endif
