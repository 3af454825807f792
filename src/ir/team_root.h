/* team_root: the root of a Communication, which programs state by its index in the team and nvFuser by its device.
 *
 *     Communication 3 (type=Broadcast, team=(4 5 6 7), root=6, …)      ↔      broadcast_from(…, team=(4 5 6 7), root=2)
 *
 * A team of several slices has a root in each, so that nvFuser's surface shows the index, too. */
#ifndef HIRC_IR_TEAM_ROOT_H
#define HIRC_IR_TEAM_ROOT_H
#include "ir/ir.h"

/* Returns the index of a device in a team; 0: a device that is not in it. */
expr_id team_root_index(struct module *m, team_id t, expr_id device);
/* Returns the device of an index. */
expr_id team_root_device(struct module *m, team_id t, expr_id index);

#endif
