/* ref_host: the structures and functions shared by the files that step host-level programs.
 *
 * A program does not depend on data. So each rank's walk is done first, and fills the rank's stream queues
 * with entries: a statement, its views, and its scalars, evaluated. Then the queues run: any entry at the
 * head of a queue that is ready, until all queues are empty or no head is ready. */
#ifndef HIRC_REF_REF_HOST_H
#define HIRC_REF_REF_HOST_H
#include "ref/ref_internal.h"
#include "walk/walk.h"

enum {
	REF_MAX_BOUND = 8,  /* loops that select a chunk of one tensor */
	REF_ALL_RANKS = -2, /* in place of a rank: the value that all ranks hold together */
};

/* ---- ref_local.c */

/* The stream and serial axes of a domain that have one coordinate only. */
struct ref_bound {
	unsigned n;
	uint8_t axis[REF_MAX_BOUND];
	int64_t at[REF_MAX_BOUND];
};
/* Elements in memory order: number k of the buffer's storage has this row-major index in the visible logical
 * axes. */
struct ref_local {
	int64_t n;
	const int64_t *at;
};
struct ref_locals; /* a cache of them */
struct ref_locals *ref_locals_new(void);
void ref_locals_free(struct ref_locals *l);
/* Finds the part of a type that a rank holds: empty if the rank is not in the mesh. Returns false after
 * reporting. */
bool ref_local_get(struct ref_context *c, struct ref_locals *l, type_id t, int64_t rank,
                   const struct ref_bound *bound, uint32_t at, struct ref_local *out);
bool ref_mesh_has(const struct module *m, mesh_id mesh, int64_t rank); /* without a mesh every rank has it */

/* ---- ref_view.c */

struct ref_buffer {
	value_id value; /* 0: none */
	type_id type;
	int64_t rank;
	struct ref_bound bound;
	bool zero;        /* initially zeros; otherwise poison */
	bool dead;        /* deallocated */
	bool written;     /* some entry writes it */
	bool keep;        /* an input or output; kept to the end */
	unsigned loop_n;  /* number of loops around its allocation */
	uint32_t pending; /* number of entries that will still use it */
	struct ref_local local;
	/* by position in memory; data is NULL before the first use */
	struct ref_array store;
};

enum ref_view_kind { REF_VIEW_BUFFER, REF_VIEW_SELECT, REF_VIEW_SHARD, REF_VIEW_SYMMETRIC };
struct ref_view {
	enum ref_view_kind kind;
	type_id type;
	struct ref_buffer *buffer; /* the rank's own buffer */
	const struct ref_view *of; /* SELECT, SHARD, SYMMETRIC */
	unsigned axis;             /* SELECT: one of the operand's visible axes */
	int64_t index;
	struct ref_bound bound; /* SHARD: the chunk */
	/* SYMMETRIC */
	struct ref_event *event; /* the view joins the operands of its parties; NULL: the rank has no part
	                            in it */
	bool dead;               /* deallocated */
};
/* Elements of a view, in memory order: the buffer and place of each, and its index. */
struct ref_elements {
	int64_t n;
	struct ref_buffer **buffer;
	int64_t *offset, *at;
};

struct ref_host;
bool ref_view_elements(struct ref_host *h, const struct ref_view *v, uint32_t at, struct ref_elements *out);
void ref_elements_reserve(struct ref_elements *e, int64_t n);
void ref_elements_add(struct ref_elements *e, struct ref_buffer *buffer, int64_t offset, int64_t at);
void ref_elements_free(struct ref_elements *e);
/* Loads the logical tensor with the elements of the view; flat: its elements in memory order, in one
 * dimension. */
bool ref_view_load(struct ref_host *h, const struct ref_view *v, bool flat, uint32_t at,
                   struct ref_array *out);
/* Stores the view's part of a logical tensor; flat: elements in memory order. Absent elements are not stored,
 * only counted. */
bool ref_view_store(struct ref_host *h, const struct ref_view *v, bool flat, const struct ref_array *from,
                    uint32_t at, int64_t *absent);
struct ref_view *ref_view_of_buffer(struct ref_host *h, type_id t, int64_t rank,
                                    const struct ref_bound *bound);
void ref_buffer_release(struct ref_buffer *b); /* called after an entry that used it */

/* ---- queues */

enum ref_entry_kind {
	REF_COMPUTE,
	REF_PACK,        /* a pack or unpack: `use` holds the operands, then the results */
	REF_START,       /* this rank reaches an event */
	REF_WAIT,        /* waits until its events are done */
	REF_SYNCHRONIZE, /* waits until a stream has done its first `target` entries */
	REF_DEALLOCATE,
};
struct ref_party { /* a rank's part in an event */
	op_id op;
	int64_t root, send_peer, recv_peer; /* indices into the team; -1 */
	struct ref_view *in, *out;          /* NULL: none */
	struct ref_view **more;             /* EXPERTS: more_n operands and results */
	unsigned more_n;
};
struct ref_use {               /* an operand of a computation */
	struct ref_view *view; /* NULL: a scalar */
	struct ref_operand scalar;
};
struct ref_entry {
	enum ref_entry_kind kind;
	op_id op;
	uint32_t number; /* in the rank's order of issue */
	uint32_t queue;  /* the stream that runs it */
	bool done;
	/* COMPUTE, PACK, DEALLOCATE (out) */
	unsigned result; /* number of the result; each result has its own entry */
	unsigned use_n;
	struct ref_use *use;
	struct ref_view *out;
	const int64_t *index; /* COMPUTE: by index_id, if attributes depend on indices; otherwise NULL */
	/* START (one), WAIT */
	unsigned event_n;
	struct ref_event **event;
	unsigned member; /* START: number in the event's channel */
	/* SYNCHRONIZE */
	unsigned stream;
	uint32_t target;
};

/* Kinds of channels: places where the same ranks meet repeatedly, in the order in which each issues. */
enum ref_channel_kind {
	REF_COLLECTIVE, /* a communicator: its events run one after the other */
	REF_P2P,        /* members: sender and receiver */
	REF_RESHARD,    /* ranks of a `set` that changes the layout */
	REF_EXPERTS,    /* ranks of a dispatch or combine */
};
struct ref_event {
	struct ref_channel *channel;
	uint32_t number;
	unsigned here; /* number of members that have reached it */
	bool done;
	bool *reached;           /* by member */
	struct ref_party *party; /* by member */
};
struct ref_channel {
	enum ref_channel_kind kind;
	name_id backend; /* 0: none stated */
	unsigned n;
	const uint32_t *device; /* n members, in team order */
	uint32_t *issued;       /* by member: number of events that it has issued */
	uint32_t next;          /* COLLECTIVE: the next event that may run */
	VEC(struct ref_event *) event;
};

struct ref_stream {
	int64_t number; /* index; -1: the initial stream */
	uint32_t head;  /* number of entries done */
	VEC(struct ref_entry *) queue;
};
struct ref_transfer {     /* a transfer that has not been waited for */
	unsigned event_n; /* 0: the rank has no part in it */
	struct ref_event **event;
};

struct ref_rank {
	int64_t device;
	bool idle; /* see module_rank_is_idle */
	struct walker walker;
	struct ref_view **view;            /* by value_id: its current view */
	uint32_t current;                  /* stream */
	VEC(struct ref_stream) stream;     /* by index of walker.stream */
	VEC(struct ref_entry *) issued;    /* the entries of all streams */
	uint32_t next;                     /* the entries of `issued` before it are done */
	VEC(struct ref_transfer) transfer; /* by number of the walk */
	struct ref_party *posted;          /* by op: a send or recv that a post will issue */
	VEC(struct ref_entry *) group;     /* starts of the open group */
};

struct ref_host {
	struct ref_context *c;
	struct arena *arena;
	struct ref_locals *locals;
	int64_t rank_n;
	struct ref_rank *rank;
	struct walk_program walk_program;
	uint16_t *meets; /* by op of a set: 1 + its ref_meeting_axes; 0: not known */
	VEC(struct ref_channel *) channel;
	VEC(struct ref_buffer *) buffer;
};

/* ---- ref_issue.c */
/* Fills the queues of a rank. Returns false after reporting. */
bool ref_issue(struct ref_host *h, struct ref_rank *r);

/* ---- ref_queue.c */
/* Returns the channel of these members; makes it on first use. */
struct ref_channel *ref_channel_get(struct ref_host *h, enum ref_channel_kind kind, name_id backend,
                                    const uint32_t *device, unsigned n);
/* Returns the next event of a member. */
struct ref_event *ref_event_next(struct ref_host *h, struct ref_channel *ch, unsigned member);
enum status ref_queues_run(struct ref_host *h);

/* ---- ref_comm.c */
/* Moves the elements of an event that all members have reached. */
bool ref_comm_run(struct ref_host *h, struct ref_event *e);

/* ---- ref_pack.c */
bool ref_pack_run(struct ref_host *h, const struct ref_rank *r, const struct ref_entry *e);

/* ---- ref_experts_host.c */
bool ref_experts_run(struct ref_host *h, struct ref_event *e);

/* ---- ref_symmetric.c */
/* Finds the elements of a symmetric view: those of all members' operands. */
bool ref_symmetric_elements(struct ref_host *h, const struct ref_view *v, uint32_t at,
                            struct ref_elements *out);
bool ref_symmetric_is_fence(const struct ref_host *h, const struct ref_event *e);
/* Runs a symmetric_view, or the deallocate of its result, that all members have reached. */
bool ref_symmetric_run(struct ref_host *h, struct ref_event *e);

/* ---- ref_reshard.c */
struct ref_lacking {      /* elements of a device's part that no member of a set holds */
	int64_t elements; /* 0: there are none */
	uint32_t device, at;
};
/* Runs a set that all members have reached that come to it. *lacking: the first member without elements that it
 * needs. */
bool ref_reshard_run(struct ref_host *h, struct ref_event *e, struct ref_lacking *lacking);
unsigned ref_partial_mask(const struct module *m, type_id t); /* mesh axes over which a type is pending */
/* Returns the row-major position of a device along the mesh axes of a mask; *count: the number of
 * positions. */
int64_t ref_combination(const struct mesh *mesh, int64_t device, unsigned mask, int64_t *count);
/* Joins the logical tensor that ranks hold together; in[k] is the part of device[k]. It finishes pending
 * reductions, except over the mesh axes `keep` (a mask): there it takes the part of rank `like`. An element
 * that no rank holds is absent. */
void ref_assemble(struct ref_host *h, type_id t, unsigned n, const uint32_t *device,
                  const struct ref_array *in, unsigned keep, int64_t like, struct ref_array *out);

/* ---- ref_meeting.c */
enum { REF_BOTH_MESHES = 1 << IR_MAX_MESH_AXES }; /* in place of mesh axes: all ranks of both meshes meet */
/* Finds the mesh axes (bit set) along which a rank needs elements of other ranks for a set. Ranks with the same
 * index along all other axes meet. 0: no rank needs any. Returns false after reporting. */
bool ref_meeting_axes(struct ref_host *h, op_id op, unsigned *out);

/* ---- ref.c, ref_host.c, ref_logical.c */
enum status ref_run_logical(struct ref_context *c, struct ref_array *outputs);
enum status ref_run_host(struct ref_context *c, struct ref_array *outputs);
enum reduce_op ref_reduce_op(const struct module *m, op_id op); /* of a collective */
/* Finds the logical axes of kind partial; returns their number. */
unsigned ref_partial_axes(const struct domain *d, uint8_t *axis);
/* Returns the number of index combinations along the mesh axes over which a value is pending; 1 if it is not
 * pending. */
int64_t ref_pending_parts(const struct module *m, value_id v);
/* Checks that an input's data has the right shape, and a pending input the right number of parts. */
bool ref_check_input(struct ref_context *c, unsigned k, int64_t parts);
void ref_take_input(struct ref_array *to, int64_t i, const struct ref_array *given, int64_t k);

#endif
