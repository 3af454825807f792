/* crest_path: finds the least time that buckets of a lane cost if parts of the host's work leave them little memory.
 *
 *     host   | part 0 | part 1 |  (stall)  | part 2 |      no bucket runs beside part 2: its time is a cost
 *     lane   | bucket A | bucket B         |               A fits beside parts 0 and 1, B beside none
 *
 * The host does the parts one after the other. The lane has buckets of given kinds, each as often as it likes. A bucket
 * runs beside parts that follow each other, if it fits in the memory beside each of them, and if those between the first
 * and the last take no longer than the bucket. Gathered results take memory until they are used. Their bytes are counted
 * in cells, rounded down, so that there are few states. */
#ifndef HIRC_SCHED_CREST_PATH_H
#define HIRC_SCHED_CREST_PATH_H
#include <stdbool.h>
#include <stdint.h>

struct crest_part {
	int64_t time;   /* ns */
	int64_t room;   /* bytes for buckets under way and for results gathered ahead */
	int64_t needed; /* bytes of operands that are gathered before it */
	int64_t used;   /* bytes of operands whose results take nothing of the room */
};

struct crest_kind {     /* buckets of about one size */
	int64_t cost;   /* least ns that one costs, not negative */
	int64_t time;   /* most ns of the lane */
	int64_t flight; /* least bytes while one runs */
	int64_t issue;  /* least bytes when one is issued */
	uint32_t cells; /* that it gathers */
};

struct crest_path {
	const struct crest_part *part;
	const struct crest_kind *kind;
	uint32_t part_n, kind_n;
	int64_t room;           /* bytes for the issue of a bucket and results gathered ahead */
	int64_t cell;           /* bytes of operands */
	int64_t gathered;       /* bytes of all operands */
	double ratio;           /* least bytes of results for a byte of operands */
	struct crest_kind rare; /* there are at most rare_n of this kind, none before part rare_from */
	uint32_t rare_n, rare_from;
};

/* Returns the least ns: the costs of buckets, and the times of the parts that run beside none. INT64_MAX: memory has no
 * room for all parts. */
int64_t crest_path_least(const struct crest_path *path);

#endif
