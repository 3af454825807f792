/* launch_cache: see launch_cache.h. */
#include "cuda/launch_cache.h"
#include "base/hash.h"
#include "base/vec.h"
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct cuda_launch_cache {
	VEC(struct cuda_made) made;
	struct hash_table ids; /* of the entries, + 1 */
};

struct cuda_launch_cache *cuda_launch_cache_new(void)
{
	return mem_zalloc(sizeof(struct cuda_launch_cache));
}

void cuda_launch_cache_forget(struct cuda_launch_cache *l)
{
	for (uint32_t i = 0; i < l->made.n; i++) {
		free(l->made.at[i].launch);
		free(l->made.at[i].product);
		free(l->made.at[i].function);
	}
	vec_free(&l->made);
	hash_table_free(&l->ids);
}

void cuda_launch_cache_free(struct cuda_launch_cache *l)
{
	if (!l)
		return;
	cuda_launch_cache_forget(l);
	free(l);
}

static uint64_t hash_launch(const struct rt_task *t)
{
	return hash_number(0, (uintptr_t)t);
}

const struct cuda_made *cuda_launch_cache_find(const struct cuda_launch_cache *l, const struct rt_task *t)
{
	struct hash_probe p = {.hash = hash_launch(t)};
	for (uint32_t k; (k = hash_next(&l->ids, &p));)
		if (l->made.at[k - 1].task == t)
			return &l->made.at[k - 1];
	return NULL;
}

static struct cuda_launch *copy_launch(const struct cuda_launch *launch)
{
	size_t bytes = offsetof(struct cuda_launch, argument) + launch->bytes;
	return memcpy(mem_alloc(bytes), launch, bytes);
}

void cuda_launch_cache_keep(struct cuda_launch_cache *l, const struct cuda_made *made)
{
	assert(!cuda_launch_cache_find(l, made->task));
	struct cuda_made m = {.task = made->task};
	if (made->launch)
		m.launch = copy_launch(made->launch);
	if (made->product)
		m.product = memcpy(mem_alloc(sizeof *m.product), made->product, sizeof *m.product);
	if (made->function)
		m.function = copy_launch(made->function);
	vec_push(&l->made, m);
	hash_insert(&l->ids, hash_launch(made->task), l->made.n);
}
