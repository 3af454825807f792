/* device: memory and compute kernels of a device.
 *
 * A task is a fixed-size record with all arguments resolved: views contain addresses, and scalars
 * contain values. rt_device_run executes one task to its end on the calling thread (a compute lane). */
#ifndef HIRC_RT_DEVICE_H
#define HIRC_RT_DEVICE_H
#include "base/pointwise.h"
#include "base/status.h"
#include "rt/board.h"
#include "rt/view.h"

struct rt_job;
struct rt_device;

enum rt_kernel {
	RT_TASK_COPY,      /* out[i] = cast(in[0][i]) */
	RT_TASK_FILL,      /* out[i] = scalar[0] */
	RT_TASK_IOTA,      /* out[i] = scalar[0] + scalar[1] * i_axis */
	RT_TASK_UNIFORM,   /* out[i] = random number of element number(i), see below */
	RT_TASK_POINTWISE, /* out[i] = op(in[0][i], in[1][i], in[2][i]); gelu by erf, gelu_tanh
	                    * is a / 2 * (1 + tanh(sqrt(2 / pi) * (a + 0.044715 * a^3))) */
	RT_TASK_REDUCE,    /* out[i with 0 at axes] = op over axes of in[0][i] */
	RT_TASK_SCAN,      /* out[i] = op over the elements up to i along an axis of in[0] */
	RT_TASK_SOFTMAX,   /* out[i] = softmax along an axis of in[0][i] */
	RT_TASK_NORM, /* out[i] = (in[0][i] - mean) / sqrt(variance + scalar[0]) * in[1][i] + in[2][i], mean and
	               * variance along an axis; for RT_NORM_RMS the mean is 0. All have out's extents. Factor 1
	               * and addend 0 are scalars. */
	RT_TASK_ATTENTION, /* out[…, i, f] = sum over j of w[…, i, j] * in[2][…, j, f]; w is the softmax over j of
	                    * s[…, i, j] = scale * sum over e of in[0][…, i, e] * in[1][…, j, e]: see below */
	RT_TASK_GRADIENT, /* the gradient of the first, second or third operand of an ATTENTION: see below */
	RT_TASK_GRADIENT_SUMS, /* out[…, i, 0] = in[2][…, i, 0], out[…, i, 1] = sum over f of
	                        * in[0][…, i, f] * in[1][…, i, f] */
	RT_TASK_BITCAST,       /* out[i] = in[0][i], the same bits; element types of one size */
	RT_TASK_GATHER, /* out[i] = in[0][i, in[1][i]]: in[0] has one axis more than the others, the last. If
	                 * scalar[2] is there that axis has the entries from it on, of `axes` ones; the
	                 * others are 0 */
	RT_TASK_TOPK,   /* out[i] = the indices of the largest of in[0][i] along an axis, in decreasing order;
	                 * of   equal ones the first comes first; NaN is the largest */
	RT_TASK_PUT,    /* out[in[0][j] along an axis] = in[1][j], in order; in[1] may be a scalar */
	RT_TASK_ACCUMULATE, /* the same, but out[in[0][j]] = out[in[0][j]] op in[1][j], each rounded to out's type */
	RT_TASK_ROUTE,   /* out[i] = the places of the elements of in[0], in order of their buckets; see below
	                 */
	RT_TASK_COUNT,   /* out[b] = how many elements of in[0] are in bucket b */
	RT_TASK_SCATTER, /* out[in[2][j], …] += in[1][j] * in[0][j, …], unless in[2][j] < 0 */
	RT_TASK_GEMM, /* out[…, m, n] = sum over k of in[0][…, m, k] * in[1][…, k, n] (+ in[2][…, m, n])
	               * (+ in[3][…, m, n]); the sum is scaled first, see below */
	RT_TASK_GROUPED, /* out[m, n] = sum over k of in[0][m, k] * in[1][g, k, n], where g is the last group with
	                  * in[2][g - 1] <= scalar[3] + m < in[2][g]; 0 without a group */
	RT_TASK_UNIT, /* several tasks as one, executed block by block: see struct rt_unit */
	RT_TASK_CALL, /* call(call_arg, call_value) */
};

enum rt_norm { RT_NORM_RMS, RT_NORM_LAYER };
enum rt_gradient { RT_GRADIENT_Q, RT_GRADIENT_K, RT_GRADIENT_V };

/* A scalar operand. f is for arithmetic in floats, i for arithmetic in integers. Set both. */
struct rt_scalar {
	double f;
	int64_t i;
};

/* A copy of the second operand in the order that the device reads fastest, for all products with that
 * operand: the same elements in the same order of axes. */
struct rt_pack {
	void *at;      /* its memory, aligned to 64 bytes */
	size_t bytes;  /* see rt_pack_bytes */
	uint64_t have; /* count of the contents that it has; 0: none. The device sets this and the layout. */
	unsigned layout;
};

enum {
	RT_VIEWS = 6,    /* operands of a task in memory */
	RT_OPERANDS = 8, /* operands with those that are always scalars */
	RT_GEMM_SCALES = 3,
	/* of ATTENTION and GRADIENT: */
	RT_ATTENTION_MASK =
	    3, /* if it is no scalar: bool, where it is false s is -inf; or a float, added to s */
	RT_ATTENTION_LOGS =
	    4, /* if it is no scalar, an ATTENTION writes it: [..., i, 0] = log of sum over j of exp(s) */
	RT_ATTENTION_SUMS = 4,  /* GRADIENT: out of GRADIENT_SUMS */
	RT_ATTENTION_SLOPE = 5, /* GRADIENT: the gradient of the result; a scalar of an ATTENTION */
	RT_ATTENTION_SCALE = 6,
	RT_ATTENTION_FIRST = 7, /* if it is there, row i sees only the elements j <= first + i */
};

struct rt_task {
	enum rt_kernel kernel;
	bool fixed;         /* the record does not change as long as an engine exists */
	struct rt_view out; /* may be the same view as an operand of COPY, POINTWISE; otherwise no overlap */
	struct rt_view
	    in[RT_VIEWS]; /* operands; those of POINTWISE, COPY, GATHER and GEMM have out's nd and extents
	                       * (GEMM: of its axes; batch axes broadcast by stride 0) */
	struct rt_scalar scalar[RT_OPERANDS]; /* POINTWISE: is operand i if bit i of scalars is set */
	unsigned scalars; /* bit set of the operands that are scalars; their views are ignored */
	union {
		enum pointwise op;         /* for POINTWISE */
		enum reduce_op reduce;     /* for REDUCE, where REDUCE_AVG is mean, SCAN and ACCUMULATE */
		enum rt_norm norm;         /* for NORM */
		enum rt_gradient gradient; /* for GRADIENT */
		struct {                   /* for GEMM */
			bool has_bias;     /* in[2] is present; a row broadcast by stride 0, or a matrix */
			bool has_addend;   /* in[3] is present, too: a matrix. Device "cuda" alone. */
			uint8_t scales;    /* number of the next operands, 0 to RT_GEMM_SCALES. Device "cuda"
			                    * alone. */
			bool accumulate;   /* the sum is added to out; not with a bias */
			bool saturates;    /* the scaled sum is clamped to the range of out's dtype, f8e4m3,
			                    * where it would be NaN. Not with a bias, matrix, function or accumulate. */
			uint8_t function;  /* 1 + enum pointwise, of one operand: out is that of the sum,
			                   * before or after it is rounded; 0: none. Not accumulated. */
		};
	};
	unsigned axes; /* REDUCE: mask of the axes of in[0] that go; out has the same nd, with extent 1 there.
	                * IOTA, SCAN, TOPK, PUT, ACCUMULATE, SOFTMAX, NORM: the axis (a number). */
	struct rt_unit *unit; /* for UNIT */
	struct rt_pack *pack; /* GEMM: pack of in[1]; NULL: none */
	uint64_t contents;    /* count of the contents of in[1] when the task runs, from 1 on */
	/* CALL: runs in stream order on a lane. Returns a status; on failure it has printed the reason. */
	enum status (*call)(void *arg, int64_t value);
	void *call_arg;
	int64_t call_value;
};
/* GEMM: strides express `op(A)` (rt_view_swap); linear(X, W) has in[1] = W with its axes swapped. Floats
 * of up to 32 bits accumulate in f32, f64 in f64, integers in i64. The sum (with the bias) is rounded
 * once to out's type. The operands after bias and matrix are scales: one element of f32 each, by which the sum over k is
 * multiplied. k == 0 gives zeros (or the bias). accumulate: out's type also decides the type of
 * the sum, out + sum is rounded once, and k == 0 does not change out.
 *
 * UNIFORM: all operands are scalars. in[0] has no elements (its data is NULL, its dtype I64): it has out's extents, and
 * number(i) is scalar[0] + i0*stride[0] + i1*stride[1] + …. Philox4x32-10 makes four words of 32 bits of the key
 * scalar[1] (the seed) and the counter (scalar[2], number / 4), each of 64 bits, low words first. A float of up to 24
 * bits takes word number % 4: its upper bits, as many as the float has, as a fraction. An f64 takes two words of the
 * counter (scalar[2], number / 2): the upper 53 bits of word 2 * (number % 2) + 1, then that before it.
 *
 * ROUTE, COUNT: bucket b contains the numbers from b * scalar[1] on; all numbers are below scalar[2].
 * out of ROUTE and in[0] have one axis of the same extent; out of COUNT has one element a bucket.
 *
 * ATTENTION: floats of up to 32 bits are multiplied and added in f32, f64 in f64; a device may round the
 * weights w to the type of in[2]. The result is rounded once. A row of which all scores are -inf, or
 * that has none, is 0. Batch axes broadcast by
 * stride 0.
 *
 * GRADIENT: with g = in[RT_ATTENTION_SLOPE], the scores s of ATTENTION, and the sums l = [..., i, 0] and d = [..., i, 1],
 *
 *     w[i, j] = exp(s[i, j] - l[i])     z[i, j] = w[i, j] * (sum over f of g[i, f] * v[j, f] - d[i])
 *     q: out[i, e] = scale * sum over j of z[i, j] * k[j, e]
 *     k: out[j, e] = scale * sum over i of z[i, j] * q[i, e]
 *     v: out[j, f] = sum over i of w[i, j] * g[i, f]
 *
 * w and z are 0 for elements that row i does not see, and in rows whose l is -inf. A device may round them to the type
 * of in[0].
 *
 * REDUCE: over no elements, sum is 0, prod is 1, min and max are the largest and smallest value (±inf
 * for floats), and mean is NaN (an error for integers). */

/* Tasks that iterate over the same elements: COPY, FILL, POINTWISE, BITCAST, and REDUCE over the same
 * axes. Values between them are in blocks of the lane's memory, one block of elements at a time; their
 * views have extents only. A step sees the writes of earlier steps. On the device "cuda" one of the steps may be a
 * NORM along the last axis, of at most RT_UNIT_ROW elements; then no other is a REDUCE, and the steps after it see,
 * of the values made before it, only its operand. */
enum { RT_UNIT_ROW = 8192 };
struct rt_step {
	struct rt_task task;
	uint8_t local[4]; /* of out, in[0], in[1], in[2]: number of a block + 1; 0: memory */
};
struct rt_unit {
	_Atomic bool busy;    /* a submitted task uses the unit; the device clears it */
	struct rt_unit *next; /* for its owner */
	unsigned locals;      /* number of blocks */
	unsigned steps;
	struct rt_step step[];
};

/* Functions of a device that works on its own while the host continues. Streams and events belong to the
 * device. One thread of a rank calls these. at: the statement, for messages. A function that fails has
 * printed a message and failed the job. */
struct rt_async_ops {
	enum status (*stream_new)(struct rt_device *d, void **out);
	void (*stream_free)(struct rt_device *d, void *stream);
	/* Runs a task after everything that was given to the stream. On failure like run of struct
	 * rt_device_ops. A fixed record is the same task at every launch, until a stream is freed.
	 * *begin: receives an event before the task, after everything that the launch itself had to
	 * prepare; NULL if nobody needs it. */
	enum status (*launch)(struct rt_device *d, void *stream, const struct rt_task *task,
	                      struct rt_origin at, char *why, void **begin);
	/* Records an event that is over once the stream has done its work so far. */
	enum status (*record)(struct rt_device *d, void *stream, struct rt_origin at, void **event);
	/* Makes all later work of the stream run after the event. */
	enum status (*await)(struct rt_device *d, void *stream, void *event, struct rt_origin at);
	enum status (*is_over)(struct rt_device *d, void *event, bool *over);
	/* Gives the event back to the device; streams that were told to wait for it still do. */
	void (*release)(struct rt_device *d, void *event);
	/* Gives events times from now on. The caller must hold no event. */
	enum status (*time_events)(struct rt_device *d);
	/* Makes an event that is over, and finds when it was over: by the host's monotonic clock, with
	 * the largest error, in ns. Best called while nothing else runs. */
	enum status (*clock)(struct rt_device *d, void **event, int64_t *ns, int64_t *error);
	/* Finds the time from the end of one event to the end of another. */
	enum status (*elapsed)(struct rt_device *d, void *from, void *to, int64_t *ns);
	/* Tests if all streams have done their work; fails if a kernel had an error. */
	enum status (*is_idle)(struct rt_device *d, bool *idle);
	/* Begins a graph: work given to streams from begin to end is not executed, but becomes the
	 * graph. It begins and ends in `stream`. Another stream becomes part of it once it waits for an
	 * event of a stream that is. */
	enum status (*capture_begin)(struct rt_device *d, void *stream);
	enum status (*capture_end)(struct rt_device *d, void *stream, void **graph);
	/* Replaces capture_end after a failure, also a failure of capture_end. Prints nothing. */
	void (*capture_drop)(struct rt_device *d, void *stream);
	enum status (*replay)(struct rt_device *d, void *stream, void *graph);
	void (*graph_free)(struct rt_device *d, void *graph);
	/* Copy bytes between the device's memory and the host's, and set all of them to 0xFF. Done when
	 * they return. */
	enum status (*upload)(struct rt_device *d, void *to, const void *from, size_t bytes);
	enum status (*download)(struct rt_device *d, void *to, const void *from, size_t bytes);
	enum status (*poison)(struct rt_device *d, void *at, size_t bytes);
	/* Allocates memory of the host from which these copies are fast. */
	enum status (*staging_new)(struct rt_device *d, size_t bytes, const char *what, void **out);
	void (*staging_free)(struct rt_device *d, void *at);
};

struct rt_device_ops {
	const char *name;                 /* "cpu", "cuda" */
	const struct rt_async_ops *async; /* NULL: run does the work, and all memory is the host's */
	/* Allocates memory aligned to 64 bytes or more. Every byte is 0xFF at first, NaN in all float
	 * types, so that reads of unwritten elements show. bytes == 0 gives a valid pointer. Returns
	 * STATUS_DIAGNOSTICS after a message if there is no memory. what: its use, `'X' (f.hir:4)`. */
	enum status (*alloc)(struct rt_device *d, size_t bytes, const char *what, void **out);
	void (*free)(struct rt_device *d, void *at);
	/* Prepares a task as its first run would. Its views have extents, strides and types; memory is
	 * not accessed. run reports the errors. */
	void (*prepare)(struct rt_device *d, int lane, const struct rt_task *task);
	/* Runs a task to its end. On failure `why` (RT_WHY_BYTES) has the reason for the caller to
	 * print, or is "" if it was printed already. Only one thread at a time may use a lane. */
	enum status (*run)(struct rt_device *d, int lane, const struct rt_task *task,
	                   char *why); /* NULL if async is set */
	void (*close)(struct rt_device *d);
};

enum {
	RT_MAX_LANES = 4,
	RT_COMPUTE_LANE = 0 /* lanes are the places where engines run tasks */,
	RT_WHY_BYTES = 256
};

struct rt_device {
	const struct rt_device_ops *ops;
	struct rt_job *job;
	_Atomic int64_t bytes_now, bytes_peak; /* memory allocated through alloc */
	int64_t
	    memory; /* bytes of the device divided by the ranks that share it; 0: its memory is the host's */
	int sharers, devices; /* ranks that share the device, and devices of its host; 0: not known */
	char model[96];       /* name given by its maker; "": not known */
	int threads;          /* threads of a contraction; 0: the library decides */
	bool is_awaited;      /* the host waits for each task, so that it knows which one fails */
};

/* Opens the device of this rank. name: "cpu" or "cuda". Returns STATUS_ABSENT after a message if this
 * build lacks it. */
enum status rt_device_open(struct rt_job *job, const char *name, struct rt_device **out);

enum status rt_device_alloc(struct rt_device *d, size_t bytes, const char *what, void **out);
void rt_device_free(struct rt_device *d, void *at);       /* NULL is allowed */
void rt_device_count(struct rt_device *d, int64_t bytes); /* adds to the allocated bytes */
/* Returns the bytes of the pack of a product with such views, whose data is not read; 0: a kept pack is
 * not faster. */
size_t rt_pack_bytes(const struct rt_task *task);

void rt_device_prepare(struct rt_device *d, int lane, const struct rt_task *task);
enum status rt_device_run(struct rt_device *d, int lane, const struct rt_task *task, char *why);
void rt_device_close(struct rt_device *d);

#endif
