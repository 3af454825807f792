/* vec: a growing array of any type.
 *
 *     VEC(int) v = {0};
 *     vec_push(&v, 7);
 *     v.at[0]; v.n;
 *     vec_free(&v);                                                     */
#ifndef HIRC_BASE_VEC_H
#define HIRC_BASE_VEC_H
#include "base/arena.h"
#include <stdint.h>
#include <stdlib.h>

#define VEC(type)                                                                                            \
	struct {                                                                                             \
		type *at;                                                                                    \
		uint32_t n, cap;                                                                             \
	}

#define vec_reserve(v, want)                                                                                 \
	do {                                                                                                 \
		if ((v)->cap < (uint32_t)(want)) {                                                           \
			uint32_t vec_cap_ = (v)->cap ? (v)->cap : 8;                                         \
			while (vec_cap_ < (uint32_t)(want))                                                  \
				vec_cap_ *= 2;                                                               \
			(v)->at = mem_realloc((v)->at, sizeof *(v)->at * (size_t)vec_cap_);                  \
			(v)->cap = vec_cap_;                                                                 \
		}                                                                                            \
	} while (0)

#define vec_push(v, ...)                                                                                     \
	do {                                                                                                 \
		vec_reserve((v), (v)->n + 1);                                                                \
		(v)->at[(v)->n++] = (__VA_ARGS__);                                                           \
	} while (0)

#define vec_free(v)                                                                                          \
	do {                                                                                                 \
		free((v)->at);                                                                               \
		(v)->at = NULL;                                                                              \
		(v)->n = (v)->cap = 0;                                                                       \
	} while (0)

#endif
