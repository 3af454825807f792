/* region: interned lists of conditions, sorted by coordinate. */
#include "check/region.h"
#include <string.h>

enum { MAX_CONDITIONS = 32 }; /* of one region; further ones are dropped: the region gets larger */

static int order(const struct condition *a, const struct condition *b)
{
	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	return (a->axis > b->axis) - (a->axis < b->axis);
}

static uint64_t hash_conditions(const struct condition *c, uint32_t n)
{
	uint64_t h = n;
	for (uint32_t i = 0; i < n; i++) {
		h = hash_number(h, c[i].domain ^ (uint64_t)c[i].axis << 32);
		h = hash_number(hash_number(h, (uint64_t)c[i].lo), (uint64_t)c[i].hi);
	}
	return h;
}

void parts_init(struct parts *p)
{
	memset(p, 0, sizeof *p);
	vec_push(&p->part, (struct region_part){0});
}

void parts_free(struct parts *p)
{
	vec_free(&p->condition);
	vec_free(&p->part);
	hash_table_free(&p->ids);
}

static bool equal(const struct condition *a, const struct condition *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (order(&a[i], &b[i]) || a[i].lo != b[i].lo || a[i].hi != b[i].hi)
			return false;
	return true;
}

static region_part_id intern_part(struct parts *p, const struct condition *c, uint32_t n)
{
	struct hash_probe probe = {.hash = hash_conditions(c, n)};
	for (region_part_id r; (r = hash_next(&p->ids, &probe));)
		if (p->part.at[r].n == n && equal(p->condition.at + p->part.at[r].first, c, n))
			return r;
	struct region_part x = {.first = p->condition.n, .n = n};
	for (uint32_t i = 0; i < n; i++)
		vec_push(&p->condition, c[i]);
	vec_push(&p->part, x);
	hash_insert(&p->ids, probe.hash, p->part.n - 1);
	return p->part.n - 1;
}

region_part_id parts_narrow(struct parts *p, region_part_id r, struct condition c)
{
	struct condition list[MAX_CONDITIONS];
	uint32_t n = p->part.at[r].n, k = 0;
	if (n)
		memcpy(list, p->condition.at + p->part.at[r].first, sizeof *list * n);
	while (k < n && order(&list[k], &c) < 0)
		k++;
	if (k < n && order(&list[k], &c) == 0) {
		list[k].lo = c.lo > list[k].lo ? c.lo : list[k].lo;
		list[k].hi = c.hi < list[k].hi ? c.hi : list[k].hi;
	} else if (n < MAX_CONDITIONS) {
		memmove(list + k + 1, list + k, sizeof *list * (n - k));
		list[k] = c;
		n++;
	}
	return intern_part(p, list, n);
}

bool parts_range(const struct parts *p, region_part_id r, domain_id domain, uint32_t axis, int64_t *lo,
                 int64_t *hi)
{
	const struct condition *c = p->condition.at + p->part.at[r].first;
	for (uint32_t i = 0; i < p->part.at[r].n; i++)
		if (c[i].domain == domain && c[i].axis == axis) {
			*lo = c[i].lo;
			*hi = c[i].hi;
			return true;
		}
	return false;
}

static bool empty(const struct parts *p, region_part_id r)
{
	const struct condition *c = p->condition.at + p->part.at[r].first;
	for (uint32_t i = 0; i < p->part.at[r].n; i++)
		if (c[i].lo >= c[i].hi)
			return true;
	return false;
}

bool parts_disjoint(const struct parts *p, region_part_id a, region_part_id b)
{
	const struct condition *x = p->condition.at + p->part.at[a].first,
	                       *y = p->condition.at + p->part.at[b].first;
	uint32_t i = 0, k = 0;
	if (empty(p, a) || empty(p, b))
		return true;
	while (a != b && i < p->part.at[a].n && k < p->part.at[b].n) {
		int o = order(&x[i], &y[k]);
		if (o == 0 && (x[i].hi <= y[k].lo || y[k].hi <= x[i].lo))
			return true;
		i += o <= 0;
		k += o >= 0;
	}
	return false;
}

bool parts_is_empty(const struct parts *p, region_part_id r)
{
	const struct condition *x = p->condition.at + p->part.at[r].first;
	for (uint32_t i = 0; i < p->part.at[r].n; i++)
		if (x[i].lo >= x[i].hi)
			return true;
	return false;
}

bool parts_find_domain(const struct parts *p, region_part_id r, domain_id *domain)
{
	const struct condition *x = p->condition.at + p->part.at[r].first;
	for (uint32_t i = 0; i < p->part.at[r].n; i++) {
		*domain = *domain ? *domain : x[i].domain;
		if (x[i].domain && x[i].domain != *domain)
			return false;
	}
	return true;
}

/* Returns true if region a bounds a coordinate of a view's type that b leaves open. */
static bool bounds_more(const struct parts *p, region_part_id a, region_part_id b)
{
	const struct condition *x = p->condition.at + p->part.at[a].first;
	int64_t lo, hi;
	for (uint32_t i = 0; i < p->part.at[a].n; i++)
		if (x[i].domain && !parts_range(p, b, x[i].domain, x[i].axis, &lo, &hi))
			return true;
	return false;
}

bool parts_are_unlike(const struct parts *p, region_part_id a, region_part_id b)
{
	return bounds_more(p, a, b) && bounds_more(p, b, a);
}

bool parts_cover(const struct parts *p, region_part_id a, region_part_id b)
{
	const struct condition *x = p->condition.at + p->part.at[a].first;
	int64_t lo, hi;
	if (a == b)
		return true;
	for (uint32_t i = 0; i < p->part.at[a].n; i++)
		if (!parts_range(p, b, x[i].domain, x[i].axis, &lo, &hi) || lo < x[i].lo || hi > x[i].hi)
			return false;
	return true;
}
