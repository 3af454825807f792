/* curve: interpolates times by size, in whole nanoseconds, so that the result is the same on every
 * machine. */
#ifndef HIRC_COST_CURVE_H
#define HIRC_COST_CURVE_H
#include "cost/cluster.h"

__extension__ typedef unsigned __int128 cost_amount; /* products of sizes do not overflow in this type */

/* Interpolates linearly between points and rounds to the nearest, halves up. Below the first point: the
 * first time. Above the last point: the last slope, but never less than the last time. At most
 * CLUSTER_MAX_TIME. */
int64_t curve_time(const struct cluster_points *p, int64_t size);
/* Returns the time on the line through two points, the first of a smaller size. */
int64_t curve_line(struct cluster_point a, struct cluster_point b, int64_t size);
/* Returns the time of n / d units at `rate` a second, rounded up. d and rate are not 0. At most
 * CLUSTER_MAX_TIME. */
int64_t curve_rate_time(cost_amount n, int64_t d, int64_t rate);
int64_t curve_add(int64_t a, int64_t b); /* at most CLUSTER_MAX_TIME */
int64_t curve_limit(cost_amount time);   /* at most CLUSTER_MAX_TIME */

#endif
