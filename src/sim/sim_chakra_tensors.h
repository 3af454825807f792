/* sim_chakra_tensors: gives tensors to the nodes of a trace, so that its import has the peak of the timeline. */
#ifndef HIRC_SIM_SIM_CHAKRA_TENSORS_H
#define HIRC_SIM_SIM_CHAKRA_TENSORS_H
#include "sim/sim_chakra_node.h"

/* Sets `in` and `out` of the nodes, and adds nodes that hold tensors alone. Changes tensors of the class, see
 * sim_chakra_tensors.c. */
void sim_chakra_give_tensors(struct timeline_class *c, struct chakra_drafts *all);

#endif
