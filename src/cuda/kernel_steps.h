/* kernel_steps: the steps of a kernel, element by element; for kernel_*.c alone.
 *
 * A task is one step, a unit has several. The operands of all steps are loaded before the first step runs,
 * but for values that an earlier step wrote: such a value, like a unit's local, is in a register, rounded to
 * its type. */
#ifndef HIRC_CUDA_KERNEL_STEPS_H
#define HIRC_CUDA_KERNEL_STEPS_H
#include "cuda/kernel_write.h"

enum { KERNEL_STEPS = 255, KERNEL_REDUCTIONS = 32 };

enum kernel_operand_kind { KERNEL_NONE, KERNEL_LOADED, KERNEL_VALUE, KERNEL_SCALAR };

struct kernel_step {
	const struct rt_task *t;
	uint8_t kind[3];    /* enum kernel_operand_kind */
	uint8_t from[3];    /* LOADED: the view; VALUE: the step */
	int out;            /* the view that it is written to; -1: none */
	unsigned scalar[3]; /* arguments */
};

struct kernel_steps {
	unsigned steps;
	struct kernel_step step[KERNEL_STEPS];
	int views;
	const struct rt_view
	    *view[KERNEL_VIEWS];     /* of the elements: memory, or the numbers of IOTA (data NULL) */
	bool loads[KERNEL_VIEWS];    /* else it is written only */
	uint8_t inner[KERNEL_VIEWS]; /* along vectors: 0 one element, 1 the next ones */
	struct rt_view numbers;      /* of IOTA */
	unsigned removed;            /* axes that reductions remove */
	unsigned reductions, reduction[KERNEL_REDUCTIONS]; /* steps */
};

/* Takes a task apart. False with why. */
bool kernel_steps_of(struct kernel_writer *w, const struct rt_task *t, struct kernel_steps *s);
/* Elements in a vector: the most that all views allow along the inner axis of x. tail: the extent need not be
 * a multiple. */
int kernel_steps_vector(const struct kernel_steps *s, const struct kernel_axes *x, bool tail);
/* Says all about the steps to the key, and makes arguments of addresses (arg.x<view> first of all) and
 * scalars. */
void kernel_steps_arguments(struct kernel_writer *w, struct kernel_steps *s, const struct kernel_axes *x);
/* Declares in<view>[unroll][per]. */
void kernel_steps_declare(struct kernel_writer *w, const struct kernel_steps *s, int per, int unroll);
/* Fills in<view>[u]; the offset of view k is AT_<name>k (+ AT_<more>k), at most `left` elements count where
 * tail. */
void kernel_steps_load(struct kernel_writer *w, const struct kernel_steps *s, int per, const char *name,
                       const char *more, bool tail);
/* The values r<step> of element e of vector u; reductions: x<n>, the operand of reduction n. */
void kernel_steps_compute(struct kernel_writer *w, const struct kernel_steps *s);
/* Before and after an `e` loop around compute: declares and stores the vectors that go to memory. */
void kernel_steps_open(struct kernel_writer *w, const struct kernel_steps *s, int per);
void kernel_steps_keep(struct kernel_writer *w, const struct kernel_steps *s);
void kernel_steps_store(struct kernel_writer *w, const struct kernel_steps *s, int per, const char *name,
                        const char *more, bool tail);

#endif
