/* device_impl: the functions that open each device; private to src/rt. */
#ifndef HIRC_RT_DEVICE_IMPL_H
#define HIRC_RT_DEVICE_IMPL_H
#include "rt/device.h"

/* Numbers of multiplications from which the start of a product does not matter. */
enum { RT_LEAST_WORK = 1 << 21, RT_BF16_LEAST_WORK = 1 << 18 };

enum status rt_cpu_open(struct rt_job *job, struct rt_device **out);

#endif
