/* lasting: see lasting.h. A table with open addressing, at most half full. */
#include "cuda/lasting.h"
#include "base/arena.h"
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_SLOTS = 32 };

struct cuda_lasting {
	struct cuda_made *slot;
	uint32_t slots, used; /* slots: a power of two */
};

struct cuda_lasting *cuda_lasting_new(void)
{
	struct cuda_lasting *l = mem_zalloc(sizeof *l);
	l->slots = FEWEST_SLOTS;
	l->slot = mem_zalloc(l->slots * sizeof *l->slot);
	return l;
}

void cuda_lasting_forget(struct cuda_lasting *l)
{
	for (uint32_t i = 0; l->used && i < l->slots; i++) {
		free(l->slot[i].launch);
		free(l->slot[i].product);
		free(l->slot[i].function);
		l->slot[i] = (struct cuda_made){0};
	}
	l->used = 0;
}

void cuda_lasting_free(struct cuda_lasting *l)
{
	if (!l)
		return;
	cuda_lasting_forget(l);
	free(l->slot);
	free(l);
}

/* Where the record is, or belongs. */
static struct cuda_made *slot_of(const struct cuda_lasting *l, const struct rt_task *t)
{
	uint64_t hash = (uint64_t)(uintptr_t)t * 0x9e3779b97f4a7c15u;
	for (uint32_t i = (uint32_t)(hash >> 32) & (l->slots - 1);; i = (i + 1) & (l->slots - 1))
		if (!l->slot[i].task || l->slot[i].task == t)
			return &l->slot[i];
}

const struct cuda_made *cuda_lasting_find(const struct cuda_lasting *l, const struct rt_task *t)
{
	const struct cuda_made *m = slot_of(l, t);
	return m->task ? m : NULL;
}

static void grow(struct cuda_lasting *l)
{
	struct cuda_made *old = l->slot;
	uint32_t slots = l->slots;
	l->slots *= 2;
	l->slot = mem_zalloc(l->slots * sizeof *l->slot);
	for (uint32_t i = 0; i < slots; i++)
		if (old[i].task)
			*slot_of(l, old[i].task) = old[i];
	free(old);
}

static struct cuda_launch *copy_launch(const struct cuda_launch *launch)
{
	size_t bytes = offsetof(struct cuda_launch, argument) + launch->bytes;
	return memcpy(mem_alloc(bytes), launch, bytes);
}

void cuda_lasting_keep(struct cuda_lasting *l, const struct cuda_made *made)
{
	if (2 * (l->used + 1) > l->slots)
		grow(l);
	struct cuda_made *m = slot_of(l, made->task);
	assert(!m->task);
	m->task = made->task;
	l->used++;
	if (made->launch)
		m->launch = copy_launch(made->launch);
	if (made->product)
		m->product = memcpy(mem_alloc(sizeof *m->product), made->product, sizeof *m->product);
	if (made->function)
		m->function = copy_launch(made->function);
}
