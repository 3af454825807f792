/* valuation: the state of a walk that gives facts to buffers; shared by the files of this folder.
 *
 *     values.c             walks the ranks side by side; outputs
 *     values_compare.c     two programs
 *     valuation_view.c     names as parts of buffers
 *     valuation_read.c     the facts of a view
 *     valuation_local.c    operations on one rank
 *     valuation_box.c      one box of such an operation
 *     valuation_reduced.c  the reduced dims of such an operation
 *     valuation_pieces.c   operands that consist of several terms
 *     valuation_label.c    attributes; statements that are trusted
 *     valuation_move.c     slice, pad, cat, split
 *     valuation_reshape.c  reshape
 *     valuation_memory.c   the order of a view's elements in memory
 *     valuation_pack.c     pack and unpack
 *     valuation_meet.c     meetings of ranks, symmetric memory
 *     valuation_experts.c  dispatch and combine
 *     valuation_reshard.c  sets that stand for Communications
 *     valuation_exchange.c the facts that collectives, messages and such sets move
 *     valuation_report.c   messages */
#ifndef HIRC_VALUES_VALUATION_H
#define HIRC_VALUES_VALUATION_H
#include "ir/infer.h"
#include "ir/part.h"
#include "values/contents.h"
#include "values/evaluate.h"
#include "values/values.h"
#include "walk/walk.h"

enum { VALUE_NONE = UINT32_MAX, VALUE_BOUNDS = 6 /* of one view; with more, its elements are not known */ };

struct value_storage { /* a buffer on a rank */
	value_id value;
	uint32_t rank;
	uint32_t busy; /* Communications in flight that use it */
	bool fresh;    /* nothing was written since it was made */
	bool orphan;   /* its name has a new buffer */
	struct contents contents;
};

/* A loop of a tensor axis that leaves one block: that of its step. Level 0 is the outermost loop. */
struct value_bound {
	uint8_t axis, level;
	int64_t step;
};

/* A name on a rank: a part of one buffer, or of one buffer of each rank of a team. */
struct value_view {
	uint32_t storage;   /* VALUE_NONE: it has no value here */
	uint32_t symmetric; /* index into valuation.symmetric; 0: only its own buffer */
	type_id type;
	bool absent, unknown;                 /* unknown: its elements are not known */
	bool is_all;                          /* it is the whole buffer of the rank */
	uint8_t axis_n, axis[IR_MAX_LOGICAL]; /* by axis: axis of the buffer */
	uint8_t bound_n;
	struct value_bound bound[VALUE_BOUNDS];
	int64_t fixed[IR_MAX_LOGICAL]; /* by axis of the buffer: the element that a select takes; -1: none */
	const struct part *part;
};

struct value_symmetric { /* the buffers that a symmetric view shows */
	uint32_t n;
	uint32_t *storage;        /* by member */
	const struct part **part; /* by member: the elements in that buffer */
};

struct value_party { /* a member of a meeting */
	bool here;
	op_id op;
	uint32_t rank;
	int64_t root, peer; /* -1: none */
	struct value_view in, out;
	const struct value_view *more; /* of dispatch and combine */
};
struct value_meeting {
	uint32_t n, arrived;
	bool done;
	struct value_party *party; /* by member */
};
enum { VALUE_EXPERTS = 1, VALUE_RESHARD = 2 };

struct value_channel {
	uint32_t
	    slice; /* of the walk; of a reshard: the position of its first member in the mesh; 0: messages */
	name_id backend;
	uint32_t ends[2]; /* sender and receiver; of a reshard: both meshes */
	uint32_t tag;     /* another reason to meet: VALUE_EXPERTS, or VALUE_RESHARD + the mesh axes */
	uint32_t n;
	uint32_t *count;     /* by member */
	VEC(uint32_t) entry; /* meetings */
};

struct value_transfer {
	VEC(uint32_t) meeting;
};

struct value_rank {
	struct valuation *v;
	uint32_t rank;
	struct walker walker;
	struct value_view **view;            /* by value_id; NULL: it has no value here */
	uint32_t *storage_of;                /* by value_id; VALUE_NONE */
	VEC(struct value_transfer) transfer; /* by number of the walk */
	VEC(uint32_t) group;
	struct value_party *posted; /* by op_id */
	VEC(uint32_t) waits;        /* meetings that must be done before the next step */
	bool ended, failed;
};

struct valuation {
	struct module *m;
	struct diag *d; /* NULL: nothing is reported */
	struct facts *facts;
	const struct values_options *o;
	struct arena *arena;
	bool is_logical;      /* types place nothing: one rank has all elements */
	bool half_lowered;    /* a set may stand for Communications */
	bool inputs_by_place; /* the terms of inputs are told apart by their places, not by their names */
	uint64_t work;        /* steps so far */
	op_id writer;         /* the statement that writes now */
	uint32_t rank_n;
	struct value_rank *rank;
	struct walk_program program;
	VEC(struct value_storage) storage;
	VEC(const struct part *) part; /* each part once; [0] is unused */
	struct hash_table parts;
	VEC(uint32_t) unused;                  /* storages that can be made again */
	VEC(struct value_symmetric) symmetric; /* [0] is unused */
	VEC(struct value_channel) channel;     /* [0] is unused */
	VEC(struct value_meeting) meeting;     /* [0] is unused */
	struct hash_table channels;
	struct steps_of {
		bool known;
		expr_id *of; /* by axis of the domain: the step of a bound loop */
	} * steps;           /* by value_id */
	uint8_t *reported;   /* by op_id */
	uint16_t *meets;     /* by op_id of a set: 1 + the mesh axes along which ranks meet; 0: not known */
	bool wrong;
	struct values_result *result;
	bool *trusted; /* by op_id */
};

static inline bool value_view_is_there(const struct value_view *x)
{
	return x->storage != VALUE_NONE && !x->absent;
}
static inline struct value_storage *value_storage(struct valuation *v, uint32_t k)
{
	return &v->storage.at[k];
}

/* ---- values.c */
struct valuation_mode { /* of the fields of struct valuation */
	bool is_logical, inputs_by_place, half_lowered;
};
void valuation_open(struct valuation *v, struct module *m, struct diag *d, struct facts *facts,
                    const struct values_options *o, const struct valuation_mode *mode,
                    struct values_result *result);
void valuation_close(struct valuation *v);
enum values_status valuation_walk(struct valuation *v);
/* Returns true if two facts are known and differ in the box of the cell, over n axes. */
bool valuation_differs(struct facts *f, const struct cell *a, fact_id b, unsigned n);
/* Returns true if two facts are different functions there. */
bool valuation_differs_surely(struct facts *f, const struct cell *a, fact_id b, unsigned n);

/* ---- valuation_view.c, valuation_read.c */
/* Finds the pending reduction that the type of a value names. Returns false if there is none. */
bool value_find_pending(const struct module *m, value_id value, enum reduce_op *out);
/* Returns the view of a name, to be set. */
struct value_view *value_view_new(struct value_rank *r, value_id value);
void value_view_input(struct value_rank *r, unsigned input);
/* Makes a buffer for a value. */
void value_view_make(struct value_rank *r, value_id value);
void value_view_end(struct value_rank *r, value_id value);
void value_view_step(struct value_rank *r, const struct step *s);
/* Returns the view of a value, with its part up to date. */
struct value_view *value_view_get(struct value_rank *r, value_id value);
/* Binds the blocks of a new buffer that the operands of the first statement that writes it decide. */
void value_view_bind_by_operands(struct value_rank *r, op_id op, value_id result);
/* Gives a result without a stated layout the parts of its operands. */
void value_view_follow_operands(struct value_rank *r, op_id op, value_id result);
/* Returns the bound step of a level of a tensor axis; NULL: all steps are in the view. */
const struct value_bound *value_view_bound(const struct value_view *x, unsigned axis, unsigned level);
/* Sets the part of a view from its bound steps. */
void value_view_place(struct value_rank *r, struct value_view *x);
/* Appends the written boxes of a view, in its own axes, to out. `own`: only elements that are here, where a
 * buffer's boxes may be larger. */
void value_view_read(struct valuation *v, const struct value_view *x, bool own, struct contents *out);
/* The same for a box of the view. */
void value_view_read_box(struct valuation *v, const struct value_view *x, const struct extent *box,
                         struct contents *out);
/* Sets the fact of a box of a view, over the view's axes. */
void value_view_write(struct valuation *v, const struct value_view *x, const struct extent *box,
                      fact_id fact);
/* Returns true if two views may have an element of one buffer in common. */
bool value_view_overlaps(struct valuation *v, const struct value_view *x, const struct value_view *y);
/* Lists the boxes of a view's part; those of the whole buffer as one. */
void value_view_boxes(const struct value_view *x, struct contents *out);
void value_view_write_unknown(struct valuation *v, const struct value_view *x);
void value_view_use(struct valuation *v, const struct value_view *x, int by);

/* Reports elements of a view that a statement reads although nothing has written them. */
void value_view_check_written(struct value_rank *r, op_id op, value_id value);
/* The same for a box of a view. */
void value_view_check_box(struct value_rank *r, op_id op, value_id value, const struct extent *box);

/* ---- valuation_local.c, valuation_pieces.c, valuation_label.c, valuation_move.c,
 * valuation_reshape.c, valuation_pack.c */
void value_local(struct value_rank *r, op_id op);
void value_move(struct value_rank *r, op_id op);
void value_reshape(struct value_rank *r, op_id op, struct value_view *in, struct value_view *out);
/* Finds the interval of elements, in row-major order, that a box of axes with these extents is. Returns false
 * if it is none. */
bool value_flatten(const struct extent *box, const int64_t *extent, unsigned n, struct extent *out);
/* Finds the box that an interval is. Returns false if it is none. */
bool value_unflatten(struct extent flat, const int64_t *extent, unsigned n, struct extent *out);
void value_pack(struct value_rank *r, op_id op);
void value_trust(struct valuation *v, op_id op);
/* Returns the fact of a box that several pieces fill, as after a cat: a term of them. It is for operations that
 * need some axes whole (bits); along the other axes all pieces are the box. Sorts the pieces. */
fact_id value_join_pieces(struct facts *f, struct contents *piece, const struct extent *box,
                          uint32_t whole_axes);
/* Returns the number of a text that tells apart operations of one kind: their attributes and dtypes. */
uint32_t value_label(struct value_rank *r, op_id op, unsigned result);

/* ---- valuation_exchange.c */
/* Moves the facts of a collective or message whose members have all arrived. */
void value_exchange(struct valuation *v, struct value_meeting *m, enum op_kind kind);
/* The same for a set that stands for Communications. */
void value_exchange_reshard(struct valuation *v, struct value_meeting *m);

/* ---- valuation_reshard.c */
/* Returns true if a statement is a set that stands for Communications. Ranks that differ only along some mesh axes
 * meet at it. */
bool value_is_reshard(struct valuation *v, op_id op);
void value_meet_reshard(struct value_rank *r, op_id op);
/* A rank's place in such a set. */
struct reshard_sides {
	int32_t gives;      /* the part of the ended sums that it gives; -1: it gives nothing */
	int32_t gives_to;   /* its position along the axes along which the result is pending, too */
	int32_t takes_from; /* it takes parts of this position; -1: it takes nothing */
	uint32_t parts;     /* number of parts of the ended sums */
	bool begins;        /* the result is pending where the operand is not: no Communications do this */
};
void value_reshard_sides(const struct module *m, op_id op, uint32_t rank, struct reshard_sides *out);

/* ---- valuation_meet.c */
/* Comes to the next meeting of a channel, and waits for its end. */
void value_meet_and_wait(struct value_rank *r, const struct value_channel *key, uint32_t member,
                         const struct value_party *party);
void value_meet_collective(struct value_rank *r, const struct step *s);
void value_meet_experts(struct value_rank *r, const struct step *s);
void value_meet_message(struct value_rank *r, const struct step *s);
void value_meet_prepare(struct value_rank *r, const struct step *s);
void value_meet_absent(struct value_rank *r, const struct step *s);
void value_meet_end_group(struct value_rank *r, const struct step *s);
void value_meet_wait(struct value_rank *r, const struct step *s);
void value_meet_fence(struct value_rank *r, op_id op, team_id team, const struct value_view *of,
                      uint32_t *meeting);
void value_meet_free(struct valuation *v);

/* ---- valuation_experts.c */
/* Gives the results of a dispatch or combine, whose members have all arrived, their facts. */
void value_experts(struct valuation *v, struct value_meeting *m);

/* ---- valuation_report.c */
/* Appends the name of an input, which is also that of its term. */
void value_input_name(const struct valuation *v, value_id value, struct buf *out);
void value_report_part(struct value_rank *r, op_id op, value_id value, unsigned axis, struct part_span needs,
                       const struct part_axis *has);
/* The cell: a box of the value with a part of a sum. */
void value_report_pending(struct value_rank *r, op_id op, value_id value, const struct cell *cell);
/* A rank adds a part of a term to a box of the result, in which `before` is already. */
void value_report_added_again(struct value_rank *r, op_id op, const struct cell *before, term_id term);
/* Two members of a reduction give the same part of a term. */
void value_report_given_twice(struct valuation *v, const struct value_party *one,
                              const struct value_party *other, const struct extent *box, term_id term);
/* A member gives another one the block of its own statement's result, which is not that of the other's. */
void value_report_cut(struct valuation *v, const struct value_party *from, const struct value_party *to);
/* No member of a meeting gives an element that a member is to get. */
void value_report_undelivered(struct valuation *v, const struct value_meeting *m, unsigned member,
                              unsigned giver, const int64_t *index);
/* op 0: the caller reads an output. */
void value_report_unwritten(struct value_rank *r, op_id op, value_id value, const int64_t *index);
/* A member of a reduction by `reduce` gives a part of another reduction. */
void value_report_mixed(struct valuation *v, const struct value_party *p, const struct cell *cell,
                        enum reduce_op reduce);
/* A statement writes elements of `to` that it still reads in `from`. */
void value_report_overwritten(struct value_rank *r, op_id op, value_id from, value_id to);
/* A combine gets an operand of another dispatch than its sources, or (same) another result of that dispatch. */
void value_report_other_dispatch(struct valuation *v, op_id op, unsigned operand, bool same);
/* Reports an element of an output that rank `rank` and another one have, with different facts. surely: they are
 * different functions; otherwise it warns. */
void value_report_copies(struct valuation *v, value_id output, uint32_t rank, const struct extent *box,
                         fact_id fact, fact_id other, bool surely);
/* Two members of a meeting give the same element, with different facts. */
void value_report_givers(struct valuation *v, const struct value_party *one, const struct value_party *other,
                         const struct extent *box, fact_id fact, fact_id another);
void value_report_output(struct valuation *v, value_id output, uint32_t rank, const struct cell *cell);

#endif
