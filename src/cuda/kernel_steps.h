/* kernel_steps: the steps of a kernel, element by element; only for kernel_*.c.
 *
 * A task is one step, a unit has several. The operands of all steps are loaded before the first step runs. A
 * value that an earlier step wrote is not loaded: like a unit's local, it is in a register, rounded to its
 * type.
 *
 * A norm needs all elements of its row before it makes the first. So a kernel with a norm has two parts,
 * each a walk over the row: the steps before the norm, and the norm with the steps after it. The functions
 * that write text write those of the part between `from` and `to`. */
#ifndef HIRC_CUDA_KERNEL_STEPS_H
#define HIRC_CUDA_KERNEL_STEPS_H
#include "cuda/kernel_write.h"

enum { KERNEL_STEPS = 255, KERNEL_REDUCTIONS = 32 };

enum kernel_operand_kind { KERNEL_NONE, KERNEL_LOADED, KERNEL_VALUE, KERNEL_SCALAR };

struct kernel_step {
	const struct rt_task *t;
	uint8_t kind[3];    /* enum kernel_operand_kind */
	uint8_t from[3];    /* LOADED: the view; VALUE: the step */
	int out;            /* the view that it writes; -1: none */
	unsigned scalar[3]; /* numbers of arguments */
};

struct kernel_steps {
	unsigned steps;
	struct kernel_step step[KERNEL_STEPS];
	int views;
	const struct rt_view
	    *view[KERNEL_VIEWS];     /* views of elements in memory, or the numbers of IOTA (data NULL) */
	bool loads[KERNEL_VIEWS];    /* false: it is only written */
	uint8_t inner[KERNEL_VIEWS]; /* distance of elements along vectors: 0: all the same element, 1:
	                                consecutive */
	struct rt_view numbers;      /* the view of IOTA */
	unsigned removed;            /* axes that reductions remove */
	unsigned reductions, reduction[KERNEL_REDUCTIONS]; /* the steps that are reductions */
	unsigned norm;     /* number of the step that is a norm, + 1; 0: none */
	unsigned from, to; /* the part to write; at first all steps */
	bool row_again;    /* the part after the norm loads the norm's operand again */
};

/* Returns the operand of the norm as bits: r<step> or in<view>[u][…]; only for text after its computation. */
void kernel_steps_row(struct kernel_writer *w, const struct kernel_steps *s);
/* Splits a task into steps. Returns false with the reason in why. */
bool kernel_steps_of(struct kernel_writer *w, const struct rt_task *t, struct kernel_steps *s);
/* Returns the number of elements in a vector: the most that all views allow along the inner axis of x. tail:
 * the extent need not be a multiple of it. */
int kernel_steps_vector(const struct kernel_steps *s, const struct kernel_axes *x, bool tail);
/* Returns the same where a vector may begin at any element of the other axes. */
int kernel_steps_vector_apart(const struct kernel_steps *s, const struct kernel_axes *x,
                              const struct kernel_axes *other);
/* Adds all facts about the steps to the key, and makes arguments of addresses (arg.x<view> comes first) and
 * scalars. */
void kernel_steps_arguments(struct kernel_writer *w, struct kernel_steps *s, const struct kernel_axes *x);
/* Writes the declaration of in<view>[unroll][per]. */
void kernel_steps_declare(struct kernel_writer *w, const struct kernel_steps *s, int per, int unroll);
/* Writes the loads into in<view>[u]. The offset of view k is AT_<name>k (+ AT_<more>k). With tail, at most
 * `left` elements are loaded. */
void kernel_steps_load(struct kernel_writer *w, const struct kernel_steps *s, int per, const char *name,
                       const char *more, bool tail);
/* Writes the values r<step> of element e of vector u; for reductions x<n>, the operand of reduction n. A norm
 * is NORM(d), where the kernel defines d, of the wide type, before. */
void kernel_steps_compute(struct kernel_writer *w, const struct kernel_steps *s);
/* Write the parts before and after the loop over `e` around compute: declarations and stores of the vectors
 * that go to memory, and random words. */
void kernel_steps_open(struct kernel_writer *w, const struct kernel_steps *s, int per);
void kernel_steps_keep(struct kernel_writer *w, const struct kernel_steps *s);
void kernel_steps_store(struct kernel_writer *w, const struct kernel_steps *s, int per, const char *name,
                        const char *more, bool tail);

#endif
