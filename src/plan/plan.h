/* plan: the work of one rank, as an array of fixed-size instructions.
 *
 * The final program is lowered once for each rank. Everything that depends on the rank is folded,
 * branches that it never takes are gone, loops stay loops. Values that depend on a loop index live
 * in registers, 64-bit integers; every size, offset, peer and root is a register, constants are
 * registers that nothing writes. The executor walks the array; it looks nothing up, allocates
 * nothing and hashes nothing.
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
 * Undefined scalars (a division by zero, an overflow) are PLAN_UNDEFINED and make every scalar
 * computed from them undefined; using one for a size, an offset or a condition is an error. */
#ifndef HIRC_PLAN_PLAN_H
#define HIRC_PLAN_PLAN_H
#include "ir/ir.h"
#include "rt/device.h"
#include "rt/transport.h"

typedef uint32_t plan_reg;

#define PLAN_UNDEFINED INT64_MIN

/* code, text, meaning */
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

enum { PLAN_LOOKUP = EXPR_KIND_COUNT }; /* op of a LET, besides enum expr_kind */
enum {
	PLAN_TASK_PACKS = 1, /* it is part of the Communication that the statement starts */
	PLAN_TASK_UNPACKS,   /* the same, after it */
	PLAN_TASK_POISONS,   /* it fills a deallocated buffer */
};
enum { PLAN_WAIT_BESIDE = 1 }; /* the copies that the Communication packs and unpacks wait instead */
enum { PLAN_NO_QUEUE = UINT32_MAX };

struct plan_instruction {
	uint8_t code;   /* enum plan_code */
	uint8_t op;     /* by code */
	uint16_t depth; /* of loops and conditions around it, for printing */
	uint32_t a, b, c;
	uint32_t to;     /* instruction */
	op_id statement; /* that it comes from; 0: none */
	plan_reg loop;   /* index register of the innermost loop; 0: none */
};

/* A part of the run's memory, or several: slots. */
struct plan_buffer {
	value_id value;      /* that it stores */
	uint8_t dtype;       /* enum dtype */
	bool written;        /* something in the plan writes it */
	bool local;          /* to a unit: it has no memory, no slots */
	bool temporary;      /* no value of the program stands in it */
	int64_t elements;    /* of a slot: the local allocation domain with full blocks */
	int64_t held;        /* of these, those of the rank's block; all where that varies */
	int64_t slots;       /* copies: iterations on different streams have their own */
	int64_t slot_bytes;  /* a slot's size, rounded up to 64 */
	const char *what;    /* for messages: 'X' (f.hir:4) */
	int32_t input;       /* which program input it is; -1: none */
	uint32_t first_slot; /* of its slots, in the plan's list */
	plan_reg loop;       /* index of the loop of which each iteration has its own contents; 0: none */
	bool symmetric;      /* peers see it: it stands on the heap, there */
	int64_t heap_at;
	bool view; /* of a buffer on the heap of each rank of a team, one after the other: no memory */
	uint32_t of, team;
	int64_t block_bytes; /* from one rank's to the next */
	uint32_t contents;   /* the count of writes to it, from 1 on; 0: nobody asks */
};

/* A place for the second operand of products, in the order that the device likes best: struct rt_pack. */
struct plan_pack {
	uint32_t buffer;   /* that the operand is in */
	int64_t bytes, at; /* at: from the start of the memory, after all buffers */
};

/* A strided window: element (0, 0, …) is r[offset] elements after the start of slot r[slot]. */
struct plan_view {
	uint32_t buffer;
	plan_reg slot, offset;
	uint8_t nd;
	bool bytes; /* all is counted in bytes, whatever the buffer's elements are */
	plan_reg n[RT_MAX_DIMS];
	int64_t stride[RT_MAX_DIMS]; /* elements */
};

struct plan_operand { /* a scalar operand of a task */
	bool is_reg;
	uint8_t rounded; /* 1 + the dtype that the number is rounded to; 0: it is not */
	plan_reg reg;
	double literal;
};

struct plan_task {
	uint8_t kernel; /* enum rt_kernel */
	uint8_t op;     /* enum pointwise or reduce_op */
	uint8_t has_bias;
	uint8_t accumulate;    /* as in struct rt_task */
	uint8_t function;      /* as in struct rt_task */
	uint8_t scalars;       /* mask of the operands that are scalars */
	uint8_t fixed;         /* nothing in it depends on a loop */
	uint32_t axes;         /* as in struct rt_task */
	uint8_t in_n;          /* operands used, scalars included */
	uint8_t local[4];      /* of a step: as in struct rt_step */
	uint32_t first, steps; /* of a UNIT: its steps in the plan's list, which take the place of operands */
	uint32_t locals;       /* of a UNIT */
	op_id statement;       /* of a step */
	uint32_t pack;         /* of a GEMM: 1 + the number of in[1]'s; 0: none is kept */
	struct plan_view out, in[3];
	struct plan_operand scalar[3];
};

struct plan_collective {
	uint8_t kind;    /* enum collective */
	uint8_t counted; /* 1 + the kind that counters show; 0: that above */
	uint8_t dtype;   /* enum dtype */
	uint8_t reduce;  /* enum reduce_op */
	uint8_t has_in, has_out;
	uint32_t team; /* index into struct plan's team */
	plan_reg root; /* index into the team */
	plan_reg count;
	uint32_t members;                 /* entries of counts and offsets, 0: none */
	const plan_reg *counts, *offsets; /* of each member's block, in elements */
	const plan_reg *send_counts,
	    *send_offsets; /* AllToAll, AllToAllv: of those in `in`; NULL otherwise */
	struct plan_view in, out;
	/* AllToAllv whose counts stand in memory when it starts, in units of late_unit elements */
	uint8_t is_late;
	struct plan_view late[2];                      /* lists of the members' counts: taken, given */
	plan_reg late_unit, late_room, late_send_room; /* units that fit in out, in in */
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
	const uint32_t *rank; /* in team order */
};

struct plan_table { /* of LOOKUP */
	uint32_t n;
	const uint32_t *at;
};

#define PLAN_VALUE "\x1f" /* no name has it */
enum { PLAN_TEXT_VALUES = 4 };

struct plan_text {        /* of a CHECK that fails */
	const char *text; /* each PLAN_VALUE stands for a value */
	enum diagnostic code;
	uint8_t values;
	plan_reg value[PLAN_TEXT_VALUES];
};

/* A program output on this rank. */
struct plan_output {
	value_id value;
	type_id type;    /* layout of the buffer's contents */
	uint32_t buffer; /* UINT32_MAX: this rank holds nothing of it */
};

struct plan {
	struct arena *arena;
	int64_t rank, ranks; /* this rank, ranks of the job */
	int64_t streams;     /* number of streams; 0: as they are named */
	bool idle;           /* the rank is in no mesh */
	VEC(struct plan_instruction) code;
	VEC(int64_t) reg; /* initial values; reg 0 is the constant 0 */
	bool *varies;     /* by register: some instruction writes it */
	VEC(struct plan_buffer) buffer;
	VEC(int64_t) slot; /* bytes from the start of the memory, by slot */
	int64_t heap;      /* bytes at the start of the memory, of symmetric buffers: the same on all ranks */
	VEC(size_t) heap_piece; /* bytes of each of these that has any, in their order */
	int64_t
	    bytes; /* of memory, allocated and poisoned once before the run; INT64_MAX: no machine has it */
	VEC(struct plan_pack) pack;
	uint32_t contents; /* counts of writes */
	VEC(struct plan_task) task;
	VEC(struct plan_task) step; /* of units */
	VEC(struct plan_collective) collective;
	VEC(struct plan_message) message;
	VEC(struct plan_team) team; /* the same on all ranks */
	VEC(struct plan_table) table;
	VEC(struct plan_text) text;
	VEC(struct plan_output) output; /* in the order of the program's */
	uint32_t *input_buffer;         /* by program input; UINT32_MAX: nothing here */
	uint32_t handles, queues;       /* counts */
	uint32_t members;               /* of the largest team */
};

/* Properties of the target that a plan is made for. */
struct plan_target {
	int64_t streams;    /* numberOfStreams; 0: unbounded */
	int64_t page;       /* symmetric buffers have a multiple of so many bytes; 0: the host's page */
	bool transposes;    /* products read matrices as fast by columns as by rows */
	uint64_t epilogues; /* mask of enum pointwise: functions that may follow a product in its task */
	bool poisons;       /* a Deallocate fills the buffer with values that no program computes */
	bool externs;       /* operations that only other systems have leave nothing in the plan, instead of
	                     * an error: the plan is made to be looked at, not to be run */
	bool as_checked;    /* memory is as hirc check takes it: no place is shared, no value has more
	                     * copies than streams, and a Communication packs beside the stream */
};

/* The plan of one rank, or NULL after reporting to d why the program cannot be executed. Reads the
 * module only, so that ranks that are threads can share it. */
struct plan *plan_build(const struct module *m, struct diag *d, int64_t rank, int64_t ranks,
                        const struct plan_target *target);
void plan_free(struct plan *p);

/* The plan as text (--dump-plan); no addresses, no times. */
void plan_print(const struct plan *p, const struct module *m, struct buf *out);

/* Labels: each statement's text and place, made once before ranks start (printing numbers things). */
struct plan_label {
	const char *statement, *where; /* "" if there is none */
	uint32_t line;                 /* of where; 0: none */
};
struct plan_labels {
	struct arena *arena;
	uint32_t n;
	struct plan_label *at; /* by op_id */
};
struct plan_labels *plan_labels_new(struct module *m);
void plan_labels_free(struct plan_labels *l);

#endif
