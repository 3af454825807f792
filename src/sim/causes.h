/* causes: why a task began when it did. */
#ifndef HIRC_SIM_CAUSES_H
#define HIRC_SIM_CAUSES_H
#include "sim/events.h"

struct sim_cause {
	uint32_t unit, task; /* task SIM_NONE: the host issued it then */
};

/* Returns the task whose end made this one ready. */
struct sim_cause sim_cause_ready(const struct sim_events *e, struct sim_cause of);
/* Returns the task for whose end this one waited: the work before it on the device, the meeting before it on
 * the channel, the same meeting of the unit that came last, or the task that made it ready. */
struct sim_cause sim_cause_begin(const struct sim_events *e, struct sim_cause of);
/* Returns true if a meeting waited for the one before it on its channel. */
bool sim_cause_is_channel(const struct sim_events *e, struct sim_cause of);

#endif
