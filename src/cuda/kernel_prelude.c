/* kernel_prelude: the text that every kernel's source begins with.
 *
 * It is CUDA C++ for NVRTC, without headers, and C for a compiler of the host where HIRC_HOST is defined.
 * The differences are in macros:
 *
 *     KERNEL { … }         the kernel; `arg` is its structure of arguments, which begins with struct head
 *     EACH_THREAD { … }    a phase: of a GPU's thread its own pass and a barrier, of the host a loop over
 *                          all threads of the block. `thread` is the number; BLOCK and BLOCKS are the block's
 *                          and how many there are
 *     SHARED T x[n]        of a block, from phase to phase
 *     PRIVATE(T, x, n)     of a thread, from phase to phase; a phase says OWN(x)[i]
 *     MOVE(n, to, from)    n bytes, a power of two, both aligned to the lesser of n and 16
 *
 * An element in memory is bits (u8, u16, u32, u64); load_T_W makes the wide type W of it, store_T_W bits of
 * type T, with the roundings of rt/convert.h. For the host there is, beside the kernel,
 * `hirc_kernel_run(grid, block, shared, arguments)`, which runs all blocks, and the size of the arguments. */
#include "cuda/embedded.h"
#include "cuda/kernel_write.h"
#include "rt/fault.h"

#define DEFINE(name, number, text) "#define FAULT_" #name " " #number "\n"
static const char faults[] = RT_FAULTS(DEFINE);
#undef DEFINE

/* A function a row of pointwise.def whose result the column `real` says, of f32 and then of f64. */
#define ROW_1(T, hir, real) "DEVICE " #T " " #hir "_" #T "(" #T " a) { return " #real "; }\n"
#define ROW_2(T, hir, real) "DEVICE " #T " " #hir "_" #T "(" #T " a, " #T " b) { return " #real "; }\n"
#define ROW_3(...) /* where: kernel_steps.c */
#define ROW_ANY(operands, ...) ROW_##operands(__VA_ARGS__)
#define ROW_REAL(operands, ...) ROW_##operands(__VA_ARGS__)
#define ROW_COMPARE(...)
#define ROW_LOGICAL(...)
#define ROW_INTEGER(...)
static const char rows[] = "#define F(name) name##f\n"
                           "#define OF(name) name##_f32\n"
#define POINTWISE(id, hir, operands, class, linear, real, ...) ROW_##class(operands, f32, hir, real)
#include "base/pointwise.def"
#undef POINTWISE
                           "#undef F\n"
                           "#undef OF\n"
                           "#define F(name) name\n"
                           "#define OF(name) name##_f64\n"
#define POINTWISE(id, hir, operands, class, linear, real, ...) ROW_##class(operands, f64, hir, real)
#include "base/pointwise.def"
#undef POINTWISE
    ;

const char *const kernel_prelude[KERNEL_PRELUDE] = {
    cuda_kernels_types_cuh,
    cuda_kernels_conversions_cuh,
    cuda_kernels_head_cuh,
    faults,
    cuda_kernels_machine_cuh,
    cuda_kernels_functions_cuh,
    rows,
    cuda_kernels_integers_cuh,
};
