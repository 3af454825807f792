/* shape_internal: what shape.c and shape_keep.c share.
 *
 *     text    v7: f32[t@x, 16] = add(v5, v6)
 *     holes   --                 --- --  --
 *
 * A hole accepts any ordinary name, the digits of a printed number (T7, iS28, Communication 3), or a printed
 * tensor that was read before. All other text must be equal. Then the tokens have the same kinds, and the
 * grammar would build the same nodes. */
#ifndef HIRC_PARSE_SHAPE_INTERNAL_H
#define HIRC_PARSE_SHAPE_INTERNAL_H
#include "parse/ast_build.h"
#include "parse/shape.h"

enum {
	SLOTS = 512, /* a power of two */
	MAX_NODES = 48,
	MAX_HOLES = SHAPE_MAX_HOLES,
	MAX_DIGITS = 9,
	DEFINED_NODE = 2, /* index of the tensor that a statement defines: DEF, LIST, TENSOR */
};

enum hole_kind { HOLE_WORD, HOLE_DIGITS, HOLE_TENSOR };

struct hole {
	uint32_t at, end; /* in the source, in the statement that the shape was made from */
	uint8_t kind;     /* enum hole_kind */
	uint8_t node;
};

/* A node as it was parsed. */
struct shape_node {
	struct ast_node node;
	uint8_t at_holes, end_holes; /* number of holes before its first character, and before its end: in
	                                a copy these offsets move by the difference in length of those
	                                holes */
	uint8_t first, next;         /* index in the shape; 0: first is node.first (shared), next is none */
};

struct shape {
	uint32_t at, end;   /* its text in the source */
	uint32_t same_slot; /* another shape of the same slot; 0: none */
	uint32_t follower;  /* the shape of the statement that last followed one of this shape; 0: none */
	uint8_t nodes, holes;
	uint8_t defined; /* holes with the number of the tensor that the statement defines and the numbers
	                    of its axes; 0 unless the shape is late and of the nvFuser surface */
	bool late;       /* the statement is one AST_REPEAT until shape_expand */
	struct shape_node *node; /* node[0] is the statement */
	struct hole *hole;       /* in order of place */
};

struct shapes {
	struct arena *arena;
	VEC(struct shape) shape; /* [0] is unused */
	uint32_t slot[SLOTS];
	uint32_t last; /* the shape found last; 0: none */
	ast_id found;  /* the statement found last, which need not be kept */

	VEC(uint32_t) word; /* words of the holes of all AST_REPEATs, as in struct match */
	ast_id expanded;    /* first of MAX_NODES nodes for shape_expand; 0: not needed so far */
	ast_id peeked;      /* the same for shape_peek */
};

/* Returns the slot of a statement, by its text up to the `=` without the first word and all digits. */
uint32_t *shape_slot(struct shapes *s, const unsigned char *statement);

static inline const unsigned char *shape_text(const struct parser *p, uint32_t at)
{
	return p->text + at;
}

#endif
