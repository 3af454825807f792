/* contention: see contention.h. Rates are rounded up, so that a slowed task of a whole number of ns ends
 * at that number, and not one later. */
#include "sched/contention.h"

static int64_t slowed_rate(int64_t per_mille, uint32_t sharing)
{
	if (per_mille == SCHED_ALONE && sharing <= 1)
		return SCHED_RATE;
	sched_amount slow = (sched_amount)per_mille * (sharing > 1 ? sharing : 1);
	return (int64_t)(((sched_amount)SCHED_RATE * SCHED_ALONE + slow - 1) / slow);
}

int64_t sched_work_rate(int64_t most)
{
	return slowed_rate(most, 1);
}

int64_t sched_comm_rate(const struct sched_contention *c, bool works, uint32_t sharing)
{
	return slowed_rate(works ? c->comm : SCHED_ALONE, sharing);
}

struct sched_progress sched_progress_begin(int64_t time, int64_t now)
{
	return (struct sched_progress){(sched_amount)time * (sched_amount)SCHED_RATE, now, SCHED_RATE};
}

void sched_progress_turn(struct sched_progress *p, int64_t now, int64_t rate)
{
	sched_amount done = (sched_amount)(now - p->since) * (sched_amount)p->rate;
	p->left = p->left > done ? p->left - done : 0;
	p->since = now;
	p->rate = rate;
}

int64_t sched_progress_end(const struct sched_progress *p)
{
	if (p->rate == SCHED_RATE)
		return p->since + (int64_t)((p->left + (sched_amount)SCHED_RATE - 1) >> 48);
	return p->since + (int64_t)((p->left + (sched_amount)p->rate - 1) / (sched_amount)p->rate);
}
