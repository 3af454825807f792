/* contention: the rule by which work and communication of one device slow each other.
 *
 *     work            takes compute / 1000 of its time while a communication runs; if several run, the
 *                     largest `compute` counts
 *     communication   takes comm / 1000 of its time while the device works; and n times as long while n
 *                     communications of the device run on the same shared link
 *
 * A collective that runs on the device's processors, as the kernels of NCCL, takes processors and memory
 * bandwidth from the work [1]; products are 30 to 40 % slower beside it. One on copy engines has
 * compute 1000. Communications on one link get equal parts of it.
 *
 * A task has work left, and a rate that changes when other tasks begin or end. Work is counted in 2^-48 ns;
 * tasks end at whole ns, rounded up.
 *
 * [1] Rashidi et al., "Enabling compute-communication overlap in distributed deep learning training
 *     platforms", ISCA 2021. */
#ifndef HIRC_SCHED_CONTENTION_H
#define HIRC_SCHED_CONTENTION_H
#include <stdbool.h>
#include <stdint.h>

enum { SCHED_ALONE = 1000 /* per mille: nothing is slowed */, SCHED_MAX_LINKS = 16 };
#define SCHED_RATE ((int64_t)1 << 48) /* work that a task does in a ns if nothing slows it */

__extension__ typedef unsigned __int128 sched_amount;

/* The contention of a communication. */
struct sched_contention {
	int64_t compute; /* per mille: time of 1000 ns of work while it runs */
	int64_t comm;    /* per mille: its time of 1000 ns while the device works */
	uint32_t link;   /* number of its shared link, from 1; 0: it shares none */
};

static inline bool sched_contends(const struct sched_contention *c)
{
	return c->compute != SCHED_ALONE || c->comm != SCHED_ALONE || c->link;
}

static inline bool sched_contention_is(const struct sched_contention *a, const struct sched_contention *b)
{
	return a->compute == b->compute && a->comm == b->comm && a->link == b->link;
}

/* Returns true if the communication and work take longer beside each other than one after the other. */
static inline bool sched_overlap_loses(const struct sched_contention *c)
{
	return SCHED_ALONE * (c->compute + c->comm) < c->compute * c->comm;
}

/* Returns the rate of work; `most` is the largest `compute` of the communications that run. */
int64_t sched_work_rate(int64_t most);
/* Returns the rate of a communication. sharing: number of communications on its link, with itself. */
int64_t sched_comm_rate(const struct sched_contention *c, bool works, uint32_t sharing);

/* The progress of a running task. */
struct sched_progress {
	sched_amount left; /* at time `since` */
	int64_t since, rate;
};

/* Returns the progress of a task that begins now, at the rate of a task that runs alone. */
struct sched_progress sched_progress_begin(int64_t time, int64_t now);
/* Brings the progress up to date, and sets the rate from now on. */
void sched_progress_turn(struct sched_progress *p, int64_t now, int64_t rate);
/* Returns the time when the task ends if the rate stays. */
int64_t sched_progress_end(const struct sched_progress *p);

#endif
