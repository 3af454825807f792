/* sim_bound: a lower bound on the time of any order of a program's statements.
 *
 * These rules hold for all streams and orders: a statement follows the statements that made its operands
 * (needs.h), ranks meet, a device does one piece of work at a time, a team does one collective at a time, and
 * a host issues one statement after the other. head(x) is a time before which x cannot begin; tail(x) is a
 * time that must pass after its end. Communication begins when all work that it needs is done. A rank does
 * this work one piece at a time, none before its head. Tails follow in the same way, backwards. Then each
 * device, team and host has Jackson's bound (sched/machine.h). */
#ifndef HIRC_SIM_SIM_BOUND_H
#define HIRC_SIM_SIM_BOUND_H
#include "sim/events.h"

struct sim_bound {
	int64_t runtime; /* ns */
	const char *by;
};

/* Returns a lower bound of the simulated time. In a program with races it may be above that time. */
struct sim_bound sim_bound(const struct sim_events *e);
/* Returns the time that the host of a unit needs to issue all its work. */
int64_t sim_host_time(const struct sim_events *e, const struct sim_unit *u);

#endif
