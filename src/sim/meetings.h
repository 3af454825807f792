/* meetings: the state in which sim_events_run begins. */
#ifndef HIRC_SIM_MEETINGS_H
#define HIRC_SIM_MEETINGS_H
#include "sim/events.h"

/* Makes units, their meetings, members and instances. False after reporting. */
bool sim_meetings_make(struct sim_events *e, const struct sim_classes *c, bool each);

#endif
