/* device_impl: how each device is opened; for src/rt only. */
#ifndef HIRC_RT_DEVICE_IMPL_H
#define HIRC_RT_DEVICE_IMPL_H
#include "rt/device.h"

/* Multiplications from which products are more than their start. */
enum { RT_LEAST_WORK = 1 << 21, RT_BF16_LEAST_WORK = 1 << 18 };

enum status rt_cpu_open(struct rt_job *job, struct rt_device **out);

#endif
