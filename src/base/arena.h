/* arena: memory that is freed as a whole.
 *
 * There is one arena for each lifetime (source, module, pass scratch, plan).
 * Allocation never fails: if memory is out, the process ends with a message,
 * since nothing can be printed or undone without memory. Blocks are zeroed. */
#ifndef HIRC_BASE_ARENA_H
#define HIRC_BASE_ARENA_H
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a); /* NULL is allowed */

/* Returns zeroed memory, aligned for any object. n == 0 gives a valid pointer. */
void *arena_alloc(struct arena *a, size_t n);
/* Returns a copy of n bytes. */
void *arena_copy(struct arena *a, const void *from, size_t n);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the bytes allocated since arena_new. */
size_t arena_bytes(const struct arena *a);

#define arena_new_object(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_new_array(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))

/* malloc, calloc and realloc, but they end the process with a message if memory is out. */
void *mem_alloc(size_t n);
void *mem_zalloc(size_t n);
void *mem_realloc(void *p, size_t n);
char *mem_strdup(const char *s);
/* From now on, freed blocks of a MiB and more go back to the system at once, for tables that grow to many MiB.
 * Each new one costs page faults, so small programs do not ask for this. */
void mem_return_blocks(void);

#endif
