/* print_nvfuser: the state and functions that the printers of nvFuser's surface share. */
#ifndef HIRC_IR_PRINT_NVFUSER_H
#define HIRC_IR_PRINT_NVFUSER_H
#include "ir/print_order.h"

enum { NVFUSER_STEP = 2 }; /* blanks of indentation a level */

/* The text around the numbers of a tensor, the same for all tensors of one type (print_tensor.c). */
struct nvfuser_form {
	uint32_t piece, piece_n; /* its pieces in forms.piece; none: not made yet */
	uint32_t text;           /* begin of the first piece in forms.text */
	uint32_t room;           /* most bytes of a tensor's text */
};
struct nvfuser_piece { /* a text, then the number of an axis */
	uint32_t end;
	uint8_t axis,
	    place; /* see number_axis_places; NUMBER_NO_PLACE: the last piece, which has no number */
};
enum { NVFUSER_RECENT = 8, NVFUSER_RECENT_TEXT = 248 }; /* number of tensors kept; longest text kept */
struct nvfuser_forms {
	VEC(struct nvfuser_form) form; /* by type */
	VEC(struct nvfuser_piece) piece;
	struct buf text;
	struct nvfuser_recent { /* texts of recently printed tensors, by value_id % NVFUSER_RECENT */
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
void nvfuser_attr(struct nvfuser *p, const struct attr *a); /* prints key=value */
void nvfuser_attr_value(struct nvfuser *p, const struct attr *a);
void nvfuser_scalar(struct nvfuser *p, scalar_id s);
/* Prints `, key=value` for each attribute that is not in the list `but`, which ends with NULL. */
void nvfuser_other_attrs(struct nvfuser *p, op_id op, const char *const *but);
void nvfuser_results(struct nvfuser *p, op_id op);
/* Begins the continuation line of a statement whose result is printed first. */
void nvfuser_next_line(struct nvfuser *p, unsigned level);

/* Each prints one statement, without indentation before and line end after it. */
void nvfuser_allocate(struct nvfuser *p, op_id op);
void nvfuser_deallocate(struct nvfuser *p, op_id op, unsigned level);
void nvfuser_select(struct nvfuser *p, op_id op, unsigned level);
void nvfuser_shard_by_stream(struct nvfuser *p, op_id op);
void nvfuser_symmetric_view(struct nvfuser *p, op_id op);
/* Prints the line that posts a unit, or the five lines that launch a kernel. */
void nvfuser_unit(struct nvfuser *p, op_id op, unsigned level);
/* Prints the text of a unit, after the body, if it has one. */
void nvfuser_unit_text(struct nvfuser *p, op_id op);
/* Prints the statements of a region. */
void nvfuser_region(struct nvfuser *p, region_id r, unsigned level);

/* Each prints an operation as nvFuser does, behind its result and `= `. Returns false if nvFuser has no form that tells
 * all about it. */
bool nvfuser_pointwise(struct nvfuser *p, op_id op, unsigned level);
bool nvfuser_spelling(struct nvfuser *p, op_id op, unsigned level);
/* Prints a topk with its results. Returns false, and prints nothing, if nvFuser has no form that tells all about it. */
bool nvfuser_topk(struct nvfuser *p, op_id op);
/* Returns true if nvFuser prints the operation on the line of its result. */
bool nvfuser_is_on_one_line(const struct nvfuser *p, op_id op);
/* Prints double(0.5): a float as nvFuser does, with its dtype. */
void nvfuser_float(struct nvfuser *p, const char *dtype, double value);

/* Prints the sections after the container. */
void nvfuser_sections(struct nvfuser *p);

/* Appends the default name of mesh k: mesh0, mesh1, …; and of axes: (x), (y, x), (z, y, x), …. */
void nvfuser_default_mesh_name(unsigned k, struct buf *out);
void nvfuser_default_axis_name(unsigned rank, unsigned axis, struct buf *out);

#endif
