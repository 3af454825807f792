/* facts: what an element of a buffer holds, as a sum of terms.
 *
 *     Y <- matmul(A, B)        rank 0 has the elements [0, 4) of the contracted axis, of 8
 *
 *     Y[i, j] = 1 * CONTRACT(A, B)[i, j], of which [0, 4) is added up
 *               factor  term     image   share
 *
 * A term is a tensor of the program's inputs and operations, without layout: its elements have indices from 0
 * on. A fact holds for a box of a buffer. Its image says which element of the term belongs to an element of
 * the buffer. Its share says which part of a reduced axis is added up so far; no share: all of it.
 *
 * Terms and facts are hash-consed, over all ranks and programs: equal facts have equal ids. The axes of a term
 * are numbered by their first use in its operands, and begin at 0 there. So a term does not depend on the
 * layout of the statement that made it. */
#ifndef HIRC_VALUES_FACTS_H
#define HIRC_VALUES_FACTS_H
#include "base/arena.h"
#include "base/hash.h"
#include "base/reduction.h"
#include "base/str.h"
#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>

typedef uint32_t term_id, fact_id;

enum {
	FACT_UNKNOWN = 0, /* nothing is known of the element */
	TERM_ONE = 1,     /* the number 1, without axes */
	TERM_MAX_AXES = 32,
	TERM_MAX_OPERANDS = 8,
	AXIS_FIXED = UINT32_MAX,
	AXIS_REPEATED = UINT32_MAX - 1, /* a fixed index of an axis of one element that is repeated */
};

/* The index of a term along an axis: that of the buffer's axis plus an offset. AXIS_FIXED, AXIS_REPEATED: the
 * offset. */
struct image_axis {
	int64_t offset;
	uint32_t axis, unused;
};

struct share_span { /* of reduced axis `axis` of a term, [lo, hi) is added up */
	term_id of;
	uint32_t axis;
	int64_t lo, hi;
};

struct summand {
	double factor;
	term_id term;
	uint16_t image_n, share_n;
	const struct image_axis *image; /* by axis of the term */
	const struct share_span *share; /* sorted; spans that are whole are left out */
};

struct fact {
	enum reduce_op
	    reduce; /* how summands, and missing parts of shares, are joined; REDUCE_SUM if there are none */
	uint32_t n;
	const struct summand *at; /* sorted */
};

struct term {
	uint32_t kind;  /* enum op_kind, or a TERM_… of evaluate.h */
	uint32_t label; /* of attributes and names; an index into facts.label */
	uint32_t key_n;
	const uint64_t *key;
	uint8_t axis_n, reduced_n, operand_n; /* operand_n: facts at the beginning of the key */
	const int64_t (*reduced)[2]; /* by reduced axis: its first element, and the one after the last */
};

struct facts {
	struct arena *arena;
	VEC(struct term) term;   /* [0] is unused */
	VEC(struct fact) fact;   /* [0] is FACT_UNKNOWN */
	VEC(const char *) label; /* [0] is empty */
	struct hash_table terms, known, labels;
	VEC(struct summand) scratch; /* of facts_add */
};

void facts_open(struct facts *f);
void facts_close(struct facts *f);

/* Returns the number of a text. */
uint32_t facts_label(struct facts *f, const char *text);
fact_id facts_number(struct facts *f, double number);
/* Returns the fact that an element of a box with n axes is the element of the term at the same index. */
fact_id facts_term(struct facts *f, term_id term, unsigned n);
/* Returns a fact of one summand. reduce: how the missing parts of its share are to be joined. */
fact_id facts_summand(struct facts *f, enum reduce_op reduce, struct summand s);

/* Returns the fact of summands, which it sorts. */
fact_id facts_of(struct facts *f, enum reduce_op reduce, struct summand *at, uint32_t n);

/* Returns a fact with other axes: axis a becomes to[a]. */
fact_id facts_move(struct facts *f, fact_id fact, const struct image_axis *to);

struct extent {
	int64_t lo, hi;
};
/* Along axes with one index in a box, an element's index may be written as that number, or as the axis. Returns
 * the fact with the axis where the term's index is equal, so that rows that are written one by one join. */
fact_id facts_along(struct facts *f, fact_id fact, const struct extent *box, unsigned n);
/* Returns the fact with fixed indices along the axes that have one index in the box, of the axes axis[0 … n). Then the
 * pieces of a sum that take other rows than their own have the same axes in the same order as other pieces. */
fact_id facts_align(struct facts *f, fact_id fact, const struct extent *box, const unsigned *axis,
                    unsigned n);
/* Finds fixed index a of an image in a list: an index that the image has before is found at its next place. Returns n
 * if it is not there. */
unsigned facts_find_fixed(const struct image_axis *image, unsigned a, const int64_t *fixed, unsigned n);
/* Returns a fact in which the fixed index fixed[c] is axis first + c. */
fact_id facts_free(struct facts *f, fact_id fact, const int64_t *fixed, unsigned n, unsigned first);
/* Returns the fact with the number. */
fact_id facts_within(struct facts *f, fact_id fact, const struct extent *box, unsigned n);

/* Returns the reduction of nothing. */
double facts_identity(enum reduce_op reduce);

struct addend {
	double factor;
	fact_id fact;
};
/* Joins facts by a reduction. *twice: the first term of which a part is added that was added before, else 0. */
fact_id facts_join(struct facts *f, enum reduce_op reduce, const struct addend *at, unsigned n,
                   term_id *twice);

/* Returns the fact with shares that are left out, if shares of several terms are all of one sum, as in sum(cat(A, B)).
 * Each term is then a sum of its own. */
fact_id facts_join_tensors(struct facts *f, fact_id fact);

/* Returns true if no summand has a share. */
bool facts_is_complete(const struct facts *f, fact_id fact);
/* Returns true if the summands are added up, and not multiplied or compared. */
bool facts_is_sum(const struct facts *f, fact_id fact);
/* Returns true if a fact is a number, the same for all elements. */
bool facts_is_number(const struct facts *f, fact_id fact, double *out);

/* Finds or adds a term. key: all that tells it apart. */
term_id facts_intern(struct facts *f, const struct term *term);

/* Appends a fact's text, as in `matmul(X, W)`, with at most `depth` nested operations. */
void facts_print(const struct facts *f, fact_id fact, unsigned depth, struct buf *out);

/* Appends `[0, 4) of [0, 8)`: the part that is added up, and the whole axis. */
void facts_print_share(const struct facts *f, const struct share_span *x, struct buf *out);

#endif
