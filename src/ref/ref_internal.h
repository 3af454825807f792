/* ref_internal: the structures and functions shared by the files of the reference.
 *
 *     ref.c               entry, inputs, results
 *     ref_level.c         which programs are evaluated on logical tensors, and which rank by rank
 *     ref_logical.c, ref_logical_view.c, ref_parts.c      on logical tensors
 *     ref_sample.c        fewer indices of axes, for programs that are too large
 *     ref_round.c         dtypes: rounding, wrapping, when sums are exact
 *     ref_error.c         how rounding errors pass through operations
 *     ref_fused.c         roundings that a run may leave out
 *     ref_array.c         logical arrays
 *     ref_eval.c          one operation: operands, then the kernel
 *     ref_experts.c, ref_index.c, ref_pointwise.c, ref_shape.c, ref_reduce.c, ref_contract.c,
 *     ref_norm.c          kernels
 *     ref_random.c        random numbers
 *     ref_host.c          rank by rank: ranks, inputs, outputs
 *     ref_issue.c, ref_bind.c, ref_meet.c     one rank's walk; it fills the rank's stream queues
 *     ref_queue.c         runs the queues until they are empty or stuck
 *     ref_comm.c          the elements that a communication moves
 *     ref_reshard.c       sets between layouts; joins a tensor from its ranks' parts
 *     ref_meeting.c       the ranks that meet at such a set
 *     ref_pack.c          pack and unpack: each rank's memory
 *     ref_experts_host.c  dispatch and combine of ranks that meet
 *     ref_view.c          buffers and views of them
 *     ref_symmetric.c     symmetric views: reading and writing the peers' buffers
 *     ref_local.c         the elements of a tensor that a rank holds, in memory order
 *
 * ref_host.h is the header of the files that go rank by rank. */
#ifndef HIRC_REF_REF_INTERNAL_H
#define HIRC_REF_REF_INTERNAL_H
#include "ir/expr.h"
#include "ref/ref.h"

struct ref_context {
	struct module *m;
	struct diag *d;
	const struct ref_options *o;
	double work; /* multiplications so far */
	/* For progress: the work estimated by ref_work, the work done so far, and the work done at the last
	 * call of progress. */
	double expected, done, told;
	bool has_topk;  /* some statement of the program depends on which elements are larger */
	uint32_t alike; /* the last number used in ref_array.alike */
	int64_t steps;  /* statements and iterations so far, of all ranks together */
	bool *fused;    /* ref_fused_find, if the run may leave out roundings; else NULL */
};

enum { REF_MAX_STEPS = 1 << 22 /* statements and iterations, of all ranks together */ };

/* ---- ref_level.c */
/* Returns true if each statement runs once and makes new values. */
bool ref_is_straight(const struct module *m);

/* Returns the EXPR_HAS_… flags of a statement's attributes. */
unsigned ref_attrs_flags(const struct module *m, op_id op);

/* ---- ref.c
 * Counts a step; false after reporting that there are too many. */
bool ref_afford(struct ref_context *c, op_id op);

/* ---- ref_round.c */
int64_t ref_wrap(enum dtype t, int64_t x);     /* two's complement; bool: x != 0 */
int64_t ref_truncate(enum dtype t, double x);  /* towards zero, clamped; NaN: 0; bool: x != 0 */
double ref_round_int(enum dtype t, int64_t x); /* as ref_round, for an integer */
/* Returns the bits of an element as the low bits of a number; and the reverse. A NaN has several forms; this
 * is one of them. */
uint64_t ref_bits(const struct ref_array *a, int64_t i);
void ref_store_bits(struct ref_array *a, int64_t i, uint64_t bits);
/* Returns the largest power of two that divides x; INFINITY for 0, 0 if x is not finite. */
double ref_grid(double x);
/* Returns true if a sum of multiples of grid is exact in `bits` significant bits, in any order. magnitude:
 * sum of the terms' magnitudes. */
bool ref_sum_is_exact(int bits, double magnitude, double grid);
/* Returns the accumulator of a float dtype: f64 or f32. */
enum dtype ref_accumulator(enum dtype t);

/* ---- ref_array.c */
/* Makes an array of absent elements with value zero and no errors. Returns false if it has too many elements,
 * reported at `at`. */
bool ref_array_make(struct ref_context *c, struct ref_array *a, enum dtype t, int nd, const int64_t *n,
                    uint32_t at);
/* The same, with the dtype and visible extents of a type. */
bool ref_array_of_type(struct ref_context *c, struct ref_array *a, type_id t, uint32_t at);
int64_t ref_array_count(const struct ref_array *a);
void ref_array_strides(const struct ref_array *a, int64_t *stride); /* row-major */
/* Sets the value of an element, rounded to the dtype; leaves state and error as they are. */
void ref_store(struct ref_array *a, int64_t i, double x);
void ref_store_int(struct ref_array *a, int64_t i, int64_t x);
/* Copies value (converted to a's dtype), state and error from an element of b. */
void ref_copy(struct ref_array *a, int64_t i, const struct ref_array *b, int64_t k);
/* Sets the magnitudes of the parts of a pending sum. If the value is not pending, this is its own
 * magnitude. */
void ref_set_parts(struct ref_array *a, int64_t i, double magnitude);
double ref_parts(const struct ref_array *a, int64_t i);
/* Sets the numbers in `alike`. */
void ref_set_alike(struct ref_array *a, int64_t i, uint32_t number);
/* Sets index to the next one in row-major order. Returns false after the last. */
bool ref_next(int nd, const int64_t *n, int64_t *index);
/* Reports why an expression has no value here. */
void ref_report_expr(struct ref_context *c, enum expr_status status, expr_id offending, uint32_t at);
/* The name of a value for messages, in text. */
enum { REF_NAME_BYTES = 128 };
const char *ref_name(const struct module *m, value_id v, char *text, size_t size);

/* ---- ref_error.c; all bounds are absolute */
/* Sets the error of an element whose value was just stored. passed: from the operands; computed: of the
 * operation itself; value: before it was stored. Adds the rounding to the dtype, by both the run and the
 * reference, if value was rounded. */
void ref_set_error(struct ref_array *a, int64_t i, double value, double passed, double computed);
/* Returns the error of a sum of n terms in the accumulator of a dtype, relative to the sum of magnitudes. */
double ref_sum_error(enum dtype t, int64_t n);
/* Returns the error of n roundings in the accumulator of a dtype to numbers below its smallest normal one. */
double ref_underflow_error(enum dtype t, int64_t n);
/* Returns the error of a sum of products whose operands may be rounded to tf32, relative to the sum of
 * magnitudes; 0: they are not rounded. */
double ref_tf32_error(const struct ref_context *c, enum dtype t);
/* Returns the error of storing the parts of a sum in a float dtype before they are added. magnitude: of all
 * parts. steps: further roundings, see ref_steps. */
double ref_parts_error(enum dtype t, int64_t steps, double magnitude);
/* Returns true if a part of a sum may overflow a dtype although the sum does not: the terms have several
 * signs, these magnitudes and this sum. */
bool ref_may_overflow(enum dtype t, double magnitude, double value);
/* Returns the error of storing the parts of a product, as ref_parts_error does for a sum. magnitude: the
 * product of the factors above 1. Returns INFINITY if a part may overflow or underflow. */
double ref_factors_error(enum dtype t, int64_t steps, double magnitude, double value);
/* Returns the number of roundings when collectives reduce over this many ranks, besides those of making the
 * parts and storing the result; 0 if they reduce in f32. */
int64_t ref_steps(const struct ref_context *c, enum reduce_op op, enum dtype t, int64_t ranks);
/* Returns the unit roundoff of a dtype's accumulators and functions: that of f32 or f64. */
double ref_unit(enum dtype t);
/* Returns the value of an elementwise operation on three floats, of which it may need fewer, in f64, or of
 * OP_NEXTAFTER in dtype t. *exact: false if bits were lost. */
double ref_pointwise_value(enum op_kind kind, enum dtype t, const double *x, bool *exact);
/* Returns the error of a pointwise function from the errors of its operands, x[k] ± e[k]. */
double ref_pointwise_error(enum op_kind kind, const double *x, const double *e);
/* Returns the error of the function itself, beyond rounding to the dtype. */
double ref_function_error(enum op_kind kind, enum dtype t, const double *x, double value);

/* ---- ref_fused.c */
/* Returns the values, by id, that a run may have without rounding. The caller frees them. */
bool *ref_fused_find(const struct module *m);
/* Returns true if the run may leave out the rounding of the statement's result. */
bool ref_fused_may_skip(const struct ref_context *c, op_id op);

/* ---- ref_eval.c */
enum { REF_ELEMENT_WORK = 16 /* work of one element of any result, in multiplications */ };
struct ref_operand {
	const struct ref_array *array; /* NULL: a scalar */
	double f;                      /* the scalar; its integer value, if it is one */
	int64_t i;
};
struct ref_call {
	op_id op;
	unsigned result; /* number of the result */
	unsigned n;      /* number of positional operands */
	const struct ref_operand *in;
	const struct ref_array *before; /* accumulate=true: the former value of the result; otherwise NULL */
	const uint8_t *want;            /* result elements that are needed; NULL: all */
	bool partial;           /* the result is pending: sum the terms that are held; absent ones belong
	                           to other ranks */
	int64_t ranks;          /* number of ranks that may hold parts of a sum or product; 0: none */
	enum dtype parts_dtype; /* dtype in which they store these parts */
	bool pending;           /* the result is a sum of parts, which remain on their ranks */
	int64_t block;          /* number of consecutive terms in a part; 0: not known */
	bool means;             /* parts of a mean are means, to be averaged; otherwise sums, to be divided */
	double averaged;        /* partial: number of pending parts of an average; otherwise 1 */
	const struct expr_env *env; /* for attributes that depend on a rank or on indices; NULL: none does */
};
/* Evaluates a call into out, which was made from the result's type. Every wanted element gets a value and a
 * state. Returns false after reporting. */
bool ref_eval(struct ref_context *c, const struct ref_call *call, struct ref_array *out);
/* Reports that a statement's operands do not fit its result. Returns false. */
bool ref_refuse_shapes(struct ref_context *c, const struct op *op);
/* Evaluates an integer attribute. Returns false after reporting. */
bool ref_attr_int(struct ref_context *c, const struct ref_call *call, const char *key, int64_t otherwise,
                  int64_t *out);
/* Reports that a statement cannot be evaluated. */
void ref_report_op(struct ref_context *c, op_id op);
/* Estimates the work of evaluating a program, in multiplications. */
double ref_work(const struct module *m);
/* Adds to the work that is done. */
void ref_advance(struct ref_context *c, double work);
/* Evaluates a scalar operand, an expression or a literal. */
bool ref_scalar(struct ref_context *c, scalar_id s, const struct expr_env *env, uint32_t at,
                struct ref_operand *out);

/* ---- ref_random.c */
/* Computes random numbers; the seed and the offset are the call's scalars. */
bool ref_uniform(struct ref_context *c, const struct ref_call *call, struct ref_array *out);

/* ---- kernels; operands are arrays (scalars have no dimensions) */
bool ref_pointwise(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                   struct ref_array *out);
bool ref_shape(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
               struct ref_array *out);
bool ref_dispatch(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                  struct ref_array *out);
bool ref_combine(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                 struct ref_array *out);
bool ref_take(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
              struct ref_array *out);
bool ref_scan(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
              struct ref_array *out);
bool ref_put(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
             struct ref_array *out);
bool ref_one_hot(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                 struct ref_array *out);
bool ref_bitcast(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                 struct ref_array *out);
/* Numbers elements that are alike, among n elements of `out` from `at` on: each is the same function of an
 * element of `in`, and the elements of `in` are equal without error. Does nothing if no topk needs it. */
void ref_number_alike(struct ref_context *c, const struct ref_array *in, int64_t at, int64_t n,
                      int64_t stride, struct ref_array *out);
bool ref_topk(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
              struct ref_array *out);
bool ref_reduce(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                struct ref_array *out);
bool ref_contract(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                  struct ref_array *out);
bool ref_softmax(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                 struct ref_array *out);
bool ref_sdpa(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
              struct ref_array *out);
bool ref_sdpa_backward(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                       struct ref_array *out);
bool ref_norm(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
              struct ref_array *out);

/* One reduction of several values of one dtype, rounded once. */
struct ref_fold {
	enum reduce_op op;
	enum dtype dtype; /* dtype of the terms */
	bool ints;        /* they are integers or bool */
	double f, magnitude;
	double grid;        /* of a sum: the largest power of two that divides all terms */
	double part, parts; /* of a sum: magnitude of the last part's terms so far, and of all other parts */
	int64_t last;       /* number of that part */
	double error;       /* of all terms: for sums the total, for extremes the largest, for products
	                       relative */
	int64_t i;
	int64_t count;
	bool exact;             /* no step was rounded */
	bool finite;            /* all terms are finite */
	enum dtype accumulator; /* dtype in which terms are added; first that of collectives, f32 or f64 */
	int64_t ranks;          /* number of ranks with parts; 0: one for each term */
	int64_t steps;          /* result of ref_steps; set after the start */
};
void ref_fold_start(struct ref_fold *s, enum reduce_op op, enum dtype t);
/* Adds an element. part: the number of the part of the sum to which it belongs. */
void ref_fold_add(struct ref_fold *s, const struct ref_array *a, int64_t i, int64_t part);
/* Stores the result. parts: the dtype in which parts of a float sum are stored before they are added;
 * REF_NO_PARTS: no parts are stored. Returns false for an integer mean of no elements. */
#define REF_NO_PARTS DTYPE_COUNT
bool ref_fold_end(const struct ref_fold *s, struct ref_array *out, int64_t i, enum dtype parts);

#endif
