/* tensor_text: a tensor as text, for people.
 *
 *     Y: f32[2, 3]
 *       [[ 1.0, 0.25, -3.5],
 *        [10.0,  nan,  inf]]
 *
 * A number has the fewest digits that are read back as the same element. */
#ifndef HIRC_EXEC_TENSOR_TEXT_H
#define HIRC_EXEC_TENSOR_TEXT_H
#include "base/dtype.h"
#include "base/str.h"

/* Puts the line `NAME: dtype[extents]`. */
void tensor_text_put_head(struct buf *out, const char *name, enum dtype t, unsigned rank,
                          const int64_t *extent);
/* Puts the elements, row-major at `memory`. */
void tensor_text_put_elements(struct buf *out, enum dtype t, unsigned rank, const int64_t *extent,
                              const void *memory);

#endif
