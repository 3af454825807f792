/* print_nvfuser: the shared parts of the files that print the nvFuser surface. */
#ifndef HIRC_IR_PRINT_NVFUSER_H
#define HIRC_IR_PRINT_NVFUSER_H
#include "ir/print_order.h"

enum { NVFUSER_STEP = 2 }; /* blanks a level */

/* The text that stands around the numbers of all tensors of one type (print_tensor.c). */
struct nvfuser_form {
	uint32_t piece, piece_n; /* in forms.piece; none: not made yet */
	uint32_t text;           /* where the first begins in forms.text */
	uint32_t room;           /* bytes that a tensor takes at most */
};
struct nvfuser_piece { /* text, then the number of an axis */
	uint32_t end;
	uint8_t axis, place; /* see number_axis_places; NUMBER_NO_PLACE: the last one, without number */
};
enum { NVFUSER_RECENT = 8, NVFUSER_RECENT_TEXT = 248 }; /* tensors; bytes of a text that is kept */
struct nvfuser_forms {
	VEC(struct nvfuser_form) form; /* by type */
	VEC(struct nvfuser_piece) piece;
	struct buf text;
	struct nvfuser_recent { /* the text of a tensor that was printed lately, by value_id % NVFUSER_RECENT */
		value_id value; /* 0: none */
		uint32_t n;
		char text[NVFUSER_RECENT_TEXT];
	} recent[NVFUSER_RECENT];
};

struct nvfuser {
	struct module *m;
	struct buf *out;
	struct print_order order;
	struct nvfuser_forms forms;
};

void nvfuser_tensor(struct nvfuser *p, value_id v);
void nvfuser_forms_free(struct nvfuser_forms *f);
void nvfuser_axis(struct nvfuser *p, value_id v, unsigned axis);
void nvfuser_name(struct nvfuser *p, name_id name);
void nvfuser_attr(struct nvfuser *p, const struct attr *a); /* key=value */
void nvfuser_scalar(struct nvfuser *p, scalar_id s);
/* `, key=value` for each attribute but those of the list, which ends with NULL. */
void nvfuser_other_attrs(struct nvfuser *p, op_id op, const char *const *but);
void nvfuser_results(struct nvfuser *p, op_id op);
/* Begins the continuation line of a statement that prints its result first. */
void nvfuser_next_line(struct nvfuser *p, unsigned level);

/* One statement each, without indentation before and line end after. */
void nvfuser_allocate(struct nvfuser *p, op_id op);
void nvfuser_deallocate(struct nvfuser *p, op_id op, unsigned level);
void nvfuser_select(struct nvfuser *p, op_id op, unsigned level);
void nvfuser_shard_by_stream(struct nvfuser *p, op_id op);
void nvfuser_symmetric_view(struct nvfuser *p, op_id op);

/* The sections after the container. */
void nvfuser_sections(struct nvfuser *p);

/* Names that a mesh has when no declaration states them: mesh0, mesh1, …; (x), (y, x), (z, y, x), …. */
void nvfuser_default_mesh_name(unsigned k, struct buf *out);
void nvfuser_default_axis_name(unsigned rank, unsigned axis, struct buf *out);

#endif
