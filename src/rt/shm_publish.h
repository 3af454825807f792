/* shm_publish: publishes a member's slot to its team, or sends messages in place of it. */
#ifndef HIRC_RT_SHM_PUBLISH_H
#define HIRC_RT_SHM_PUBLISH_H
#include "rt/shm.h"

/* Fills the slot for the request's sequence, which must be free, and tells the others. */
void shm_publish(struct shm *s, struct rt_request *r);
void shm_tell_others(struct shm *s, const struct rt_request *r);

/* Returns the transfer of a message between members: one for each direction, phase and sequence. It is
 * counted in *pending until it is done. */
struct shm_transfer *shm_part_transfer(struct rt_request *r, int member, uint32_t phase, const void *data,
                                       int64_t bytes, int *pending);
void shm_send_part(struct shm *s, struct rt_request *r, int to, uint32_t phase, const void *data,
                   int64_t bytes);

#endif
