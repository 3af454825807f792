/* kernel_prelude: the text with which every kernel's source begins.
 *
 * It is CUDA C++ for NVRTC, without headers. If HIRC_HOST is defined, it is C for a compiler of the host.
 * Macros hide the differences:
 *
 *     KERNEL { … }         the kernel; `arg` is its structure of arguments, which begins with struct head
 *     EACH_THREAD { … }    a phase: on a GPU one pass of each thread, then a barrier; on the host a loop over
 *                          all threads of the block. `thread` is the thread's number, BLOCK the block's,
 *                          BLOCKS the number of blocks
 *     SHARED T x[n]        memory of a block, kept from phase to phase
 *     PRIVATE(T, x, n)     memory of a thread, kept from phase to phase; a phase writes OWN(x)[i]
 *     SUM_THREADS(x, n)    adds up x[0] of n consecutive threads, between phases; all of them get the sum
 *     MOVE(n, to, from)    copies n bytes, a power of two; both are aligned to the lesser of n and 16
 *
 * An element in memory is bits (u8, u16, u32, u64). load_T_W converts bits of type T to the wide type W,
 * store_T_W converts back, with the roundings of rt/convert.h. The host's text also has
 * `hirc_kernel_run(grid, block, shared, arguments)`, which runs all blocks, and the size of the arguments. */
#include "cuda/embedded.h"
#include "cuda/kernel_write.h"
#include "rt/fault.h"

#define DEFINE(name, number, text) "#define FAULT_" #name " " #number "\n"
static const char faults[] = RT_FAULTS(DEFINE);
#undef DEFINE

/* A function for each row of pointwise.def with an expression in the column `real`, for f32 and then for
 * f64, for comparisons also for i64, and for the others of real numbers also `near`: see functions.cuh. */
#define ROW_1(T, hir, real) "DEVICE " #T " " #hir "_" #T "(" #T " a) { return " #real "; }\n"
#define ROW_2(T, hir, real) "DEVICE " #T " " #hir "_" #T "(" #T " a, " #T " b) { return " #real "; }\n"
#define ROW_3(...) /* where is in kernel_steps.c */
#define ROW_ANY(operands, ...) ROW_##operands(__VA_ARGS__)
#define ROW_REAL(operands, ...) ROW_##operands(__VA_ARGS__)
#define ROW_COMPARE(operands, T, hir, real) COMPARE_##operands(T, hir, real)
#define ROW_LOGICAL(...)
#define ROW_INTEGER(...)
#define ROW_WIDE(operands, ...) ROW_##operands(__VA_ARGS__)
/* comparisons, of i64, too */
#define COMPARE_1(T, hir, real) "DEVICE i64 " #hir "_" #T "(" #T " a) { return " #real "; }\n"
#define COMPARE_2(T, hir, real) "DEVICE i64 " #hir "_" #T "(" #T " a, " #T " b) { return " #real "; }\n"
#define I64_ANY(...)
#define I64_REAL(...)
#define I64_COMPARE(operands, hir, real) COMPARE_##operands(i64, hir, real)
#define I64_LOGICAL(...)
#define I64_INTEGER(...)
#define I64_WIDE(...)
#define NEAR_ANY(...)
#define NEAR_REAL(operands, ...) ROW_##operands(near, __VA_ARGS__)
#define NEAR_COMPARE(...)
#define NEAR_LOGICAL(...)
#define NEAR_INTEGER(...)
#define NEAR_WIDE(...)
static const char rows[] = "#define F(name) name##f\n"
                           "#define OF(name) name##_f32\n"
#define POINTWISE(id, hir, operands, class, linear, real, ...) ROW_##class(operands, f32, hir, real)
#include "base/pointwise.def"
#undef POINTWISE
                           "#undef OF\n"
                           "#define OF(name) name##_near\n"
                           "typedef f32 near;\n"
#define POINTWISE(id, hir, operands, class, linear, real, ...) NEAR_##class(operands, hir, real)
#include "base/pointwise.def"
#undef POINTWISE
                           "#undef F\n"
                           "#undef OF\n"
                           "#define F(name) name\n"
                           "#define OF(name) name##_f64\n"
#define POINTWISE(id, hir, operands, class, linear, real, ...) ROW_##class(operands, f64, hir, real)
#include "base/pointwise.def"
#undef POINTWISE
#define POINTWISE(id, hir, operands, class, linear, real, ...) I64_##class(operands, hir, real)
#include "base/pointwise.def"
#undef POINTWISE
    ;

const char *const kernel_prelude[KERNEL_PRELUDE] = {
    cuda_kernels_types_cuh,    cuda_kernels_conversions_cuh, cuda_kernels_head_cuh,      faults,
    cuda_kernels_machine_cuh,  base_inverse_erf_h,           cuda_kernels_functions_cuh, rows,
    cuda_kernels_integers_cuh, cuda_kernels_random_cuh,
};
