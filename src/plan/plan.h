/* plan: the work of one rank, as an array of fixed-size instructions.
 *
 * The final program is lowered once for each rank. Everything that depends on the rank is folded, and
 * branches that the rank never takes are removed. Loops remain loops. Values that depend on a loop index
 * are in registers, which are 64-bit integers. Every size, offset, peer and root is a register;
 * constants are registers that nothing writes. The executor walks the array; it looks nothing up,
 * allocates nothing and hashes nothing.
 *
 *     FOR i from 0 to 3:                            0  for r5 = r1 .. r4, else 6
 *       SetCurrentStream(Stream i)                  1    stream r5
 *       T4 = ShardByStream(X, stream_index=i)       2    let r6 = r5 * r7
 *       T3 = linear(T4, W)                 ==>      3    task 0      T3[r6+…] = gemm(X[r6…], W)
 *       Allreduce(T3, T5) as c; wait(c)             4    collective 0; wait 0
 *                                                   5    next r5, back to 1
 *                                                   6    end
 *
 * An instruction:
 *     code op  |  a  |  b  |  c  |  to  |  statement  |  loop
 *     a, b, c by code (see PLAN_CODES); to: an instruction; loop: the register of the innermost loop.
 *
 * An undefined scalar (after a division by zero or an overflow) is PLAN_UNDEFINED. Every scalar computed
 * from it is undefined as well. It is an error to use one as a size, an offset or a condition. */
#ifndef HIRC_PLAN_PLAN_H
#define HIRC_PLAN_PLAN_H
#include "base/pointwise.h"
#include "ir/ir.h"
#include "rt/device.h"
#include "rt/transport.h"

typedef uint32_t plan_reg;

#define PLAN_UNDEFINED INT64_MIN

/* X(code, text, meaning) */
#define PLAN_CODES(X)                                                                                        \
	X(LET, "let", "r[a] = r[b] op r[c]; op LOOKUP: r[a] = table c at r[b]")                              \
	X(CHECK, "check", "r[a] must not be 0, or text b is the error")                                      \
	X(FOR, "for", "r[a] from r[b] to r[c]; go to `to` if there is no iteration")                         \
	X(NEXT, "next", "r[a] += 1; go to `to` while r[a] < r[c]")                                           \
	X(IF, "if", "go to `to` if r[a] is 0")                                                               \
	X(GOTO, "goto", "go to `to`")                                                                        \
	X(HANDLE, "handle", "handle a = the current stream")                                                 \
	X(STREAM, "stream", "the current stream = handle a (op 0) or the stream of index r[a] (op 1)")       \
	X(SYNC, "sync", "the current stream waits for handle a (op 0) or the stream of index r[a] (op 1)")   \
	X(TASK, "task", "submit task a; op: PLAN_TASK_PACKS and so on, or 0")                                \
	X(COLLECTIVE, "collective", "submit collective a; the ticket goes to queue b")                       \
	X(MESSAGE, "message", "submit message a, of statement c if not 0; the ticket goes to queue b")       \
	X(GROUP, "group", "hold back what is submitted up to end_group")                                     \
	X(END_GROUP, "end_group", "submit the group; the ticket goes to queue b")                            \
	X(WAIT, "wait", "the current stream waits for the oldest ticket of queue a; op: PLAN_WAIT_BESIDE")   \
	X(END, "end", "the program is over")

enum plan_code {
#define PLAN_CODE_ENUM(code, text, meaning) PLAN_##code,
	PLAN_CODES(PLAN_CODE_ENUM)
#undef PLAN_CODE_ENUM
	    PLAN_CODE_COUNT
};

enum { PLAN_LOOKUP = EXPR_KIND_COUNT }; /* op of a LET, in addition to enum expr_kind */
enum {
	PLAN_TASK_PACKS = 1, /* it packs data for the Communication of its statement */
	PLAN_TASK_UNPACKS,   /* it unpacks data after the Communication */
	PLAN_TASK_POISONS,   /* it fills a deallocated buffer */
};
/* X(reason, text): why the copy of a view stays; %s: the statement in its way. */
#define PLAN_KEPT(X)                                                                                         \
	X(OUTPUT, "it is an output of the program")                                                          \
	X(INPUT, "it is an input of the program")                                                            \
	X(SHARED, "other ranks see its memory, or that of its source")                                       \
	X(UNIT, "its memory, or that of its source, is local to a unit")                                     \
	X(CAST, "its source has another dtype")                                                              \
	X(VARIES, "its extents change in a loop")                                                            \
	X(UNREAD, "nothing reads it")                                                                        \
	X(MANY, "too many operands read it")                                                                 \
	X(ORDER, "%s reads it in another order")                                                             \
	X(WRITTEN, "%s writes to it")                                                                        \
	X(SOURCE, "%s writes to its source")                                                                 \
	X(USED, "%s uses it")                                                                                \
	X(LOOP, "it is made in a loop or condition, and %s comes before its last reader")                    \
	X(LARGE, "its source is larger, and %s comes before its last reader")

enum plan_kept {
	PLAN_KEPT_NONE,
#define PLAN_KEPT_ENUM(reason, text) PLAN_KEPT_##reason,
	PLAN_KEPT(PLAN_KEPT_ENUM)
#undef PLAN_KEPT_ENUM
};
enum { PLAN_WAIT_BESIDE = 1 }; /* the wait is for the copies that pack and unpack, not for the stream */
enum { PLAN_NO_QUEUE = UINT32_MAX };

struct plan_instruction {
	uint8_t code;   /* enum plan_code */
	uint8_t op;     /* meaning depends on code */
	uint16_t depth; /* number of enclosing loops and conditions, for printing */
	uint32_t a, b, c;
	uint32_t to;     /* target instruction */
	op_id statement; /* the statement from which it was lowered; 0: none */
	plan_reg loop;   /* index register of the innermost loop; 0: none */
};

/* One or several parts of the run's memory: slots. */
struct plan_buffer {
	value_id value;      /* the value that it stores */
	uint8_t dtype;       /* enum dtype */
	bool written;        /* some instruction writes it */
	bool local;          /* local to a unit: it has no memory and no slots */
	bool temporary;      /* scratch memory: it stores no value of the program */
	int64_t elements;    /* elements of a slot: the local allocation domain with full blocks */
	int64_t held;        /* elements of the rank's block; all of them if that varies */
	int64_t slots;       /* number of copies: iterations on different streams have their own */
	int64_t slot_bytes;  /* bytes of a slot, rounded up to 64 */
	const char *what;    /* name for messages: 'X' (f.hir:4) */
	int32_t input;       /* number of the program input; -1: none */
	uint32_t first_slot; /* its first slot in the plan's list */
	plan_reg loop;  /* index register of the loop whose iterations have contents of their own; 0: none */
	bool symmetric; /* peers see it: it is on the heap at `heap` */
	int64_t heap_at;
	bool view; /* shows the buffers of a team's ranks side by side; it has no memory */
	uint32_t of, team;
	int64_t block_bytes; /* distance from one rank's block to the next */
	uint32_t contents;   /* number of its counter of writes, from 1 on; 0: none */
};

/* Memory for the second operand of products, in the order that the device reads fastest: struct rt_pack. */
struct plan_pack {
	uint32_t buffer;   /* buffer that contains the operand */
	int64_t bytes, at; /* at: offset in the memory, after all buffers */
};

/* A strided window: element (0, 0, …) is r[offset] elements after the start of slot r[slot]. */
struct plan_view {
	uint32_t buffer;
	plan_reg slot, offset;
	uint8_t nd;
	bool bytes; /* strides and extents are in bytes, whatever the dtype of the buffer is */
	plan_reg n[RT_MAX_DIMS];
	int64_t stride[RT_MAX_DIMS]; /* in elements */
};

struct plan_operand { /* a scalar operand of a task */
	bool is_reg;
	uint8_t rounded; /* dtype to which the number is rounded, + 1; 0: it is not rounded */
	plan_reg reg;
	double literal;
};

struct plan_task {
	uint8_t kernel; /* enum rt_kernel */
	uint8_t op;     /* enum pointwise, reduce_op, rt_norm or rt_gradient */
	uint8_t has_bias, has_addend, scales;
	uint8_t saturates;     /* see struct rt_task */
	uint8_t accumulate;    /* see struct rt_task */
	uint8_t function;      /* see struct rt_task */
	uint8_t scalars;       /* bit set of the operands that are scalars */
	uint8_t writes;        /* bit set of the operands that are written */
	uint8_t fixed;         /* nothing in it depends on a loop */
	uint32_t axes;         /* see struct rt_task */
	uint8_t in_n;          /* number of operands, with scalars */
	uint8_t local[4];      /* step of a unit: see struct rt_step */
	uint32_t first, steps; /* UNIT: its steps in the plan's list, in place of operands */
	uint32_t locals;       /* UNIT: number of local blocks */
	op_id statement;       /* step of a unit: its statement */
	uint8_t kept;          /* enum plan_kept; 0: it is no copy of a view */
	op_id kept_for;        /* the statement that its reason names; 0: none */
	uint32_t pack;         /* GEMM: number of the pack of in[1], + 1; 0: none */
	struct plan_view out, in[RT_VIEWS];
	struct plan_operand scalar[RT_OPERANDS];
};

struct plan_collective {
	uint8_t kind;    /* enum collective */
	uint8_t counted; /* kind that the counters show, + 1; 0: `kind` */
	uint8_t dtype;   /* enum dtype */
	uint8_t reduce;  /* enum reduce_op */
	uint8_t has_in, has_out;
	uint32_t team; /* index in the plan's list of teams */
	plan_reg root; /* index in the team */
	plan_reg count;
	uint32_t members;                           /* length of counts and offsets; 0: none */
	const plan_reg *counts, *offsets;           /* by member: its block, in elements */
	const plan_reg *send_counts, *send_offsets; /* AllToAll, AllToAllv: blocks of `in`; otherwise NULL */
	struct plan_view in, out;
	/* AllToAllv that reads its counts from memory when it starts, in units of late_unit elements */
	uint8_t is_late;
	struct plan_view late[2];                      /* the lists of counts: taken and given */
	plan_reg late_unit, late_room, late_send_room; /* units that fit in `out` and in `in` */
};

struct plan_message {
	uint8_t send;
	uint8_t dtype; /* enum dtype */
	plan_reg peer; /* device */
	uint32_t channel;
	struct plan_view data;
};

struct plan_team {
	uint32_t n;
	const uint32_t *rank; /* ranks in team order */
};

struct plan_table { /* table of a LOOKUP */
	uint32_t n;
	const uint32_t *at;
};

#define PLAN_VALUE "\x1f" /* marks the place of a value in a text; no name contains it */
enum { PLAN_TEXT_VALUES = 4 };

struct plan_text {        /* text of a CHECK, for its failure */
	const char *text; /* each PLAN_VALUE is replaced by a value */
	enum diagnostic code;
	uint8_t values;
	plan_reg value[PLAN_TEXT_VALUES];
};

/* A program output on this rank. */
struct plan_output {
	value_id value;
	type_id type;    /* layout of the buffer's contents */
	uint32_t buffer; /* UINT32_MAX: this rank holds no part of it */
};

struct plan {
	struct arena *arena;
	int64_t rank, ranks; /* this rank, and the number of ranks */
	int64_t streams;     /* number of streams; 0: unlimited */
	bool idle;           /* see module_rank_is_idle */
	VEC(struct plan_instruction) code;
	VEC(int64_t) reg; /* initial values; reg 0 is the constant 0 */
	bool *varies;     /* by register: some instruction writes it */
	VEC(struct plan_buffer) buffer;
	VEC(int64_t) slot;      /* by slot: bytes from the start of the memory */
	int64_t heap;           /* bytes of symmetric buffers, first in memory and the same on all ranks */
	VEC(size_t) heap_piece; /* bytes of each symmetric buffer that has any, in order */
	int64_t bytes; /* of memory, poisoned once before the run; INT64_MAX: more than any machine has */
	VEC(struct plan_pack) pack;
	uint32_t contents; /* number of counters of writes */
	VEC(struct plan_task) task;
	VEC(struct plan_task) step; /* steps of units */
	VEC(struct plan_collective) collective;
	VEC(struct plan_message) message;
	VEC(struct plan_team) team; /* the same on all ranks */
	VEC(struct plan_table) table;
	VEC(struct plan_text) text;
	VEC(struct plan_output) output; /* in the order of the program's outputs */
	uint32_t *input_buffer;         /* by program input; UINT32_MAX: this rank holds no part of it */
	uint32_t handles, queues;       /* numbers of stream handles and of ticket queues */
	uint32_t members;               /* members of the largest team */
};

/* Properties of the target that a plan is made for. */
struct plan_target {
	int64_t streams; /* number of streams; 0: unlimited */
	int64_t page;    /* sizes of symmetric buffers are multiples of this; 0: the host's page */
	bool views;      /* leave out copies whose readers can read the source */
	bool transposes; /* products read matrices as fast by columns as by rows */
	bool epilogue[POINTWISE_COUNT]; /* functions that can be part of a product's task */
	int64_t row;     /* elements of the longest row of a norm that a unit may have; 0: no such units */
	bool poisons;    /* a Deallocate fills the buffer with numbers that no program computes */
	bool externs;    /* leave out operations of other systems; for reading only */
	bool unplaced;   /* no two slots share a place, no copies of matrices are kept; for reading only */
	bool as_checked; /* memory as hirc check assumes: nothing shared, packing on a stream of its own */
};

/* Makes the plan of one rank. Returns NULL after reporting to d why the program cannot be executed. Only
 * reads the module, so that ranks that are threads can share it. */
struct plan *plan_build(const struct module *m, struct diag *d, int64_t rank, int64_t ranks,
                        const struct plan_target *target);
void plan_free(struct plan *p);

/* Prints the plan (--dump-plan), without addresses and times. */
void plan_print(const struct plan *p, const struct module *m, struct buf *out);

/* Labels: the text and place of each statement. They are made once, before ranks start, since printing
 * numbers the module. */
struct plan_label {
	const char *statement, *where; /* "": none */
	uint32_t line;                 /* line in `where`; 0: none */
};
struct plan_labels {
	struct arena *arena;
	uint32_t n;
	struct plan_label *at; /* by op_id */
};
struct plan_labels *plan_labels_new(struct module *m);
void plan_labels_free(struct plan_labels *l);

#endif
