/* cluster_read: reads a cluster from a JSON file and reports its errors. */
#include "base/vec.h"
#include "cost/cluster.h"
#include <string.h>

#ifdef HIRC_HAVE_CJSON
#include "cost/json.h"
#include "sched/contention.h"

enum { MOST_PER_MILLE = 1000000 };

struct reader {
	struct json j;
	struct cluster *c;
};

static bool read_points(struct reader *r, const struct json_value *in, const char *key,
                        struct cluster_points *out)
{
	const struct json *j = &r->j;
	struct json_value list, v;
	bool ok = json_array(j, in, key, CLUSTER_MAX_POINTS, &list);
	if (!ok)
		return false;
	unsigned n = json_count(&list), k = 0;
	struct cluster_point *point = arena_new_array(r->c->arena, struct cluster_point, n);
	if (!n)
		return json_refuse(j, &list, "has no points");
	for (bool go = json_first(&list, &v); go; go = json_next(&v), k++) {
		bool read =
		    json_pair(j, &v, CLUSTER_MAX_NUMBER, CLUSTER_MAX_TIME, &point[k].size, &point[k].time);
		if (read && k && point[k].size <= point[k - 1].size && ok)
			read =
			    json_refuse(j, &v, "is not larger than the point before: %lld after %lld bytes",
			                (long long)point[k].size, (long long)point[k - 1].size);
		ok &= read;
	}
	*out = (struct cluster_points){point, n};
	return ok;
}

static bool read_dtype(struct reader *r, const struct json_value *in, enum dtype *out)
{
	const char *name;
	if (!json_text(&r->j, in, "dtype", &name))
		return false;
	return dtype_parse(name, out) || json_refuse_member(&r->j, in, "dtype", "is no dtype: '%s'", name);
}

static bool read_rates(struct reader *r, const struct json_value *device)
{
	struct json_value rates, v;
	const struct json *j = &r->j;
	if (!json_object(j, device, "flops_per_s", &rates))
		return false;
	bool ok = true, any = false;
	char names[256] = "";
	for (unsigned t = 0; t < DTYPE_COUNT; t++) {
		strcat(names, dtype_name(t));
		strcat(names, " ");
	}
	ok &= json_known(j, &rates, names);
	for (bool go = json_first(&rates, &v); go; go = json_next(&v)) {
		enum dtype t;
		if (!dtype_parse(json_key(&v), &t))
			continue;
		any = true;
		ok &= json_as_int(j, &v, 1, CLUSTER_MAX_NUMBER, &r->c->flops_rate[t]);
	}
	return any ? ok : json_refuse(j, &rates, "has no dtype");
}

static bool read_products(struct reader *r, const struct json_value *device)
{
	struct json_value list, v;
	const struct json *j = &r->j;
	if (!json_array(j, device, "products", CLUSTER_MAX_PRODUCTS, &list))
		return false;
	struct cluster_product *p = arena_new_array(r->c->arena, struct cluster_product, json_count(&list));
	bool ok = true;
	r->c->product = p;
	r->c->product_n = json_count(&list);
	for (bool go = json_first(&list, &v); go; go = json_next(&v), p++) {
		if (!json_is_object(j, &v)) {
			ok = false;
			continue;
		}
		ok &= json_known(j, &v, "dtype m n k ns");
		ok &= read_dtype(r, &v, &p->dtype);
		ok &= json_int(j, &v, "m", 1, CLUSTER_MAX_EXTENT, &p->m);
		ok &= json_int(j, &v, "n", 1, CLUSTER_MAX_EXTENT, &p->n);
		ok &= json_int(j, &v, "k", 1, CLUSTER_MAX_EXTENT, &p->k);
		ok &= json_int(j, &v, "ns", 1, CLUSTER_MAX_TIME, &p->time);
	}
	return ok;
}

static bool read_list(struct reader *r, const struct json_value *in, const char *key, unsigned most,
                      int64_t most_number, const int64_t **out, unsigned *n)
{
	struct json_value list, v;
	if (!json_array(&r->j, in, key, most, &list))
		return false;
	int64_t *number = arena_new_array(r->c->arena, int64_t, json_count(&list));
	bool ok = true;
	*out = number;
	*n = json_count(&list);
	for (bool go = json_first(&list, &v); go; go = json_next(&v), number++)
		ok &= json_as_int(&r->j, &v, 1, most_number, number);
	return ok;
}

static bool read_extents(struct reader *r, const struct json_value *in, const char *key,
                         struct cluster_extents *out)
{
	if (!read_list(r, in, key, CLUSTER_MAX_GRID, CLUSTER_MAX_EXTENT, &out->at, &out->n))
		return false;
	for (uint32_t k = 1; k < out->n; k++)
		if (out->at[k] <= out->at[k - 1])
			return json_refuse_member(&r->j, in, key, "is not ascending: %lld after %lld",
			                          (long long)out->at[k], (long long)out->at[k - 1]);
	return out->n || json_refuse_member(&r->j, in, key, "has no extents");
}

static bool read_grid(struct reader *r, const struct json_value *in, struct cluster_grid *g)
{
	static const char *const key[] = {"m", "n", "k"};
	const struct json *j = &r->j;
	enum { MOST = CLUSTER_MAX_GRID * CLUSTER_MAX_GRID * CLUSTER_MAX_GRID };
	unsigned n;
	bool ok = json_is_object(j, in) && json_known(j, in, "dtype m n k ns far_bytes_ns") &&
	          read_dtype(r, in, &g->dtype);
	for (unsigned a = 0; a < 3 && ok; a++)
		ok = read_extents(r, in, key[a], &g->axis[a]);
	ok = ok && read_list(r, in, "ns", MOST, CLUSTER_MAX_TIME, &g->time, &n);
	if (ok && n != cluster_grid_size(g))
		return json_refuse_member(j, in, "ns", "has %u entries, of m by n by k there are %zu", n,
		                          cluster_grid_size(g));
	if (ok && json_has(in, "far_bytes_ns"))
		ok = read_points(r, in, "far_bytes_ns", &g->far);
	for (const struct cluster_grid *before = r->c->grid; before < g && ok; before++)
		if (before->dtype == g->dtype)
			ok = json_refuse_member(j, in, "dtype", "has a grid already: '%s'",
			                        dtype_name(g->dtype));
	return ok;
}

static bool read_grids(struct reader *r, const struct json_value *device)
{
	struct json_value list, v;
	if (!json_array(&r->j, device, "product_grids", CLUSTER_MAX_GRIDS, &list))
		return false;
	struct cluster_grid *g = arena_new_array(r->c->arena, struct cluster_grid, json_count(&list));
	bool ok = true;
	r->c->grid = g;
	r->c->grid_n = json_count(&list);
	for (bool go = json_first(&list, &v); go; go = json_next(&v), g++)
		ok &= read_grid(r, &v, g);
	return ok;
}

static bool find_function(const char *name, enum op_kind *out)
{
	*out = op_by_hir(name);
	return *out != OP_NONE && cluster_has_rate(*out);
}

static bool read_functions(struct reader *r, const struct json_value *device)
{
	struct json_value list, v;
	const struct json *j = &r->j;
	const char *name;
	if (!json_array(j, device, "functions", CLUSTER_MAX_FUNCTIONS, &list))
		return false;
	struct cluster_function *f = arena_new_array(r->c->arena, struct cluster_function, json_count(&list));
	bool ok = true;
	r->c->function = f;
	r->c->function_n = json_count(&list);
	for (bool go = json_first(&list, &v); go; go = json_next(&v), f++) {
		if (!json_is_object(j, &v)) {
			ok = false;
			continue;
		}
		ok &= json_known(j, &v, "op dtype elements_per_s");
		ok &= read_dtype(r, &v, &f->dtype);
		ok &= json_int(j, &v, "elements_per_s", 1, CLUSTER_MAX_NUMBER, &f->rate);
		if (!json_text(j, &v, "op", &name))
			ok = false;
		else if (!find_function(name, &f->op))
			ok = json_refuse_member(j, &v, "op", "is no pointwise operation or reduction: '%s'",
			                        name);
	}
	return ok;
}

static bool read_name(struct reader *r, const struct json_value *in, const char *key, const char **out)
{
	const char *text;
	if (!json_text(&r->j, in, key, &text))
		return false;
	*out = arena_strndup(r->c->arena, text, strlen(text));
	return true;
}

static bool read_device(struct reader *r, const struct json_value *root)
{
	struct json_value device;
	const struct json *j = &r->j;
	struct cluster *c = r->c;
	if (!json_object(j, root, "device", &device))
		return false;
	bool ok = json_known(
	    j, &device,
	    "name devices measured_ranks memory_bytes memory_bytes_per_s flops_per_s touch_bytes_ns products "
	    "product_grids functions");
	if (json_has(&device, "name"))
		ok &= read_name(r, &device, "name", &c->device);
	if (json_has(&device, "devices"))
		ok &= json_int(j, &device, "devices", 1, CLUSTER_MAX_SPAN, &c->devices);
	if (json_has(&device, "measured_ranks"))
		ok &= json_int(j, &device, "measured_ranks", 1, CLUSTER_MAX_SPAN, &c->measured_ranks);
	ok &= json_int(j, &device, "memory_bytes", 1, CLUSTER_MAX_NUMBER, &c->memory);
	ok &= json_int(j, &device, "memory_bytes_per_s", 1, CLUSTER_MAX_NUMBER, &c->memory_rate);
	ok &= read_rates(r, &device);
	if (json_has(&device, "touch_bytes_ns"))
		ok &= read_points(r, &device, "touch_bytes_ns", &c->touch);
	if (json_has(&device, "products"))
		ok &= read_products(r, &device);
	if (json_has(&device, "product_grids"))
		ok &= read_grids(r, &device);
	if (json_has(&device, "functions"))
		ok &= read_functions(r, &device);
	return ok;
}

static bool read_links(struct reader *r, const struct json_value *root)
{
	struct json_value list, v;
	const struct json *j = &r->j;
	struct cluster *c = r->c;
	if (!json_array(j, root, "links", CLUSTER_MAX_LINKS, &list))
		return false;
	if (!json_count(&list))
		return json_refuse(j, &list, "has no link");
	struct cluster_link *link = arena_new_array(c->arena, struct cluster_link, json_count(&list));
	bool ok = true;
	c->network.link = link;
	c->network.link_n = json_count(&list);
	for (bool go = json_first(&list, &v); go; go = json_next(&v), link++) {
		if (!json_is_object(j, &v)) {
			ok = false;
			continue;
		}
		int64_t shared = 0;
		ok &= json_known(j, &v, "span alpha_ns bytes_per_s shared");
		ok &= json_int(j, &v, "alpha_ns", 0, CLUSTER_MAX_TIME, &link->alpha);
		ok &= json_int(j, &v, "bytes_per_s", 1, CLUSTER_MAX_NUMBER, &link->rate);
		if (json_has(&v, "shared"))
			ok &= json_int(j, &v, "shared", 0, 1, &shared);
		link->shared = shared;
		if (!json_int(j, &v, "span", 1, CLUSTER_MAX_SPAN, &link->span)) {
			link->span = 1;
			ok = false;
		} else if (ok && link > c->network.link &&
		           (link->span <= link[-1].span || link->span % link[-1].span)) {
			ok = json_refuse_member(j, &v, "span",
			                        "is no larger multiple of the span before, %lld",
			                        (long long)link[-1].span);
		}
	}
	return ok;
}

static bool read_collective(const struct json *j, const struct json_value *v, enum collective *out)
{
	const char *name;
	if (!json_text(j, v, "collective", &name))
		return false;
	return collective_find(name, out) ||
	       json_refuse_member(j, v, "collective", "is no collective: '%s'", name);
}

static bool read_table(struct reader *r, const struct json_value *v, struct cluster_table *t)
{
	const struct json *j = &r->j;
	if (!json_is_object(j, v))
		return false;
	bool ok = json_known(j, v, "collective ranks span bytes_ns");
	ok &= read_collective(j, v, &t->collective);
	ok &= json_int(j, v, "ranks", 2, CLUSTER_MAX_SPAN, &t->ranks);
	if (!json_int(j, v, "span", 1, CLUSTER_MAX_SPAN, &t->span))
		return false;
	bool known = false;
	for (uint32_t k = 0; k < r->c->network.link_n; k++)
		known |= r->c->network.link[k].span == t->span;
	if (!known)
		ok = json_refuse_member(j, v, "span", "is the span of no link");
	else if (t->ranks > t->span)
		ok = json_refuse_member(j, v, "ranks", "are more than the span, %lld", (long long)t->span);
	return read_points(r, v, "bytes_ns", &t->points) && ok;
}

/* Returns true if both tables are of the same collective, ranks and span. */
static bool same_table(const struct cluster_table *a, const struct cluster_table *b)
{
	return a->collective == b->collective && a->ranks == b->ranks && a->span == b->span;
}

static bool read_tables(struct reader *r, const struct json_value *root)
{
	struct json_value list, v;
	const struct json *j = &r->j;
	if (!json_array(j, root, "collectives", CLUSTER_MAX_TABLES, &list))
		return false;
	struct cluster_table *t = arena_new_array(r->c->arena, struct cluster_table, json_count(&list));
	bool ok = true;
	r->c->network.table = t;
	for (bool go = json_first(&list, &v); go; go = json_next(&v), r->c->network.table_n++) {
		struct cluster_table *x = &t[r->c->network.table_n];
		bool read = read_table(r, &v, x);
		for (uint32_t k = 0; k < r->c->network.table_n && read && ok; k++)
			if (same_table(&t[k], x))
				read = json_refuse(j, &v, "is for the same teams as 'collectives[%u]'", k);
		ok &= read;
	}
	return ok;
}

static bool read_per_mille(const struct json *j, const struct json_value *v, int64_t *compute, int64_t *comm)
{
	bool ok = json_int(j, v, "compute_per_mille", SCHED_ALONE, MOST_PER_MILLE, compute);
	return json_int(j, v, "comm_per_mille", SCHED_ALONE, MOST_PER_MILLE, comm) && ok;
}

/* Reads the contention of collectives that state their own. */
static bool read_contentions(struct reader *r, const struct json_value *in)
{
	struct json_value list, v;
	const struct json *j = &r->j;
	enum collective kind;
	if (!json_array(j, in, "collectives", COLLECTIVE_COUNT, &list))
		return false;
	bool ok = true;
	for (bool go = json_first(&list, &v); go; go = json_next(&v)) {
		struct cluster_contention x = {0};
		bool read = json_is_object(j, &v);
		read = read && json_known(j, &v, "collective compute_per_mille comm_per_mille");
		read = read && read_collective(j, &v, &kind) && read_per_mille(j, &v, &x.compute, &x.comm);
		if (read && r->c->network.contention[kind].compute)
			read = json_refuse_member(j, &v, "collective", "has contention already: '%s'",
			                          collective_key(kind));
		if (read)
			r->c->network.contention[kind] = x;
		ok &= read;
	}
	return ok;
}

static bool read_contention(struct reader *r, const struct json_value *root)
{
	struct json_value v;
	const struct json *j = &r->j;
	struct cluster_network *n = &r->c->network;
	if (!json_object(j, root, "contention", &v))
		return false;
	bool ok = json_known(j, &v, "compute_per_mille comm_per_mille collectives");
	ok &= read_per_mille(j, &v, &n->compute_per_mille, &n->comm_per_mille);
	if (json_has(&v, "collectives"))
		ok &= read_contentions(r, &v);
	return ok;
}

/* Reads links, collectives and contention. */
static bool read_network(struct reader *r, const struct json_value *in)
{
	bool ok = read_links(r, in);
	if (ok && json_has(in, "collectives"))
		ok = read_tables(r, in);
	if (json_has(in, "contention"))
		ok &= read_contention(r, in);
	return ok;
}

/* Reads the figures of one more transport, whose name must be new. */
static bool read_other(struct reader *r, const struct json_value *in)
{
	struct cluster *c = r->c, own = {.arena = c->arena,
	                                 .network.compute_per_mille = 1000,
	                                 .network.comm_per_mille = 1000};
	struct reader of_other = {.j = r->j, .c = &own};
	if (!json_is_object(&r->j, in))
		return false;
	bool ok = json_known(&r->j, in, "transport links collectives contention");
	ok &= read_name(r, in, "transport", &own.network.transport);
	ok &= read_network(&of_other, in);
	if (!ok)
		return false;
	bool there = !strcmp(own.network.transport, c->network.transport);
	for (uint32_t k = 0; k < c->other_n; k++)
		there |= !strcmp(own.network.transport, c->other[k].transport);
	if (there)
		return json_refuse_member(&r->j, in, "transport", "has figures already: '%s'",
		                          own.network.transport);
	c->other[c->other_n++] = own.network;
	return true;
}

static bool read_others(struct reader *r, const struct json_value *root)
{
	struct json_value list, v;
	if (!json_array(&r->j, root, "transports", CLUSTER_MAX_TRANSPORTS, &list))
		return false;
	if (!r->c->network.transport)
		return json_has(root, "transport") ||
		       json_refuse(&r->j, &list, "are others than 'transport', which is missing");
	r->c->other = arena_new_array(r->c->arena, struct cluster_network, json_count(&list));
	bool ok = true;
	for (bool go = json_first(&list, &v); go; go = json_next(&v))
		ok &= read_other(r, &v);
	return ok;
}

/* Reads the times of calls. Those of kernels may be 0; 0 says that another one is not stated. */
static bool read_calls(struct reader *r, const struct json_value *root)
{
	struct cluster *c = r->c;
	bool ok = true;
	for (enum driver_call k = 0; k < CALL_COUNT; k++) {
		const char *issue = cluster_call_key(k, false), *node = cluster_call_key(k, true);
		if (k == CALL_KERNEL || json_has(root, issue))
			ok &= json_int(&r->j, root, issue, k != CALL_KERNEL, CLUSTER_MAX_TIME, &c->issue[k]);
		if (node && json_has(root, node))
			ok &= json_int(&r->j, root, node, 1, CLUSTER_MAX_TIME, &c->node[k]);
	}
	return ok;
}

static bool read_all(struct reader *r)
{
	struct json_value root;
	const struct json *j = &r->j;
	struct cluster *c = r->c;
	int64_t version;
	if (!json_root(j, &root) || !json_int(j, &root, "version", 0, CLUSTER_MAX_NUMBER, &version))
		return false;
	if (version != CLUSTER_VERSION)
		return json_refuse_member(j, &root, "version",
		                          "%lld is not known; this hirc reads version %d", (long long)version,
		                          CLUSTER_VERSION);
	bool ok = json_known(j, &root,
#define CALL(id, issue, node, meaning) issue " " node " "
	                     "version name "
#include "base/driver_calls.def"
	                     "device transport links collectives contention transports");
#undef CALL
	ok &= read_name(r, &root, "name", &c->name);
	if (json_has(&root, "transport"))
		ok &= read_name(r, &root, "transport", &c->network.transport);
	ok &= read_calls(r, &root);
	ok &= read_device(r, &root);
	ok &= read_network(r, &root);
	if (json_has(&root, "transports"))
		ok &= read_others(r, &root);
	return ok;
}

struct cluster *cluster_read(struct diag *d, struct source *s)
{
	struct reader r = {0};
	struct source *outer = diag_set_source(d, s);
	bool ok = false;
	if (s->size > CLUSTER_MAX_BYTES)
		diag_error(d, E_FILE_TOO_LARGE, DIAG_NOWHERE,
		           "'%s' is larger than a cluster file may be (limit %d bytes)", s->name,
		           CLUSTER_MAX_BYTES);
	else if (json_parse(d, s, "the cluster", &r.j)) {
		r.c = mem_zalloc(sizeof *r.c);
		*r.c = (struct cluster){
		    .arena = arena_new(), .network.compute_per_mille = 1000, .network.comm_per_mille = 1000};
		ok = read_all(&r);
		json_free(&r.j);
	}
	diag_set_source(d, outer);
	if (ok)
		return r.c;
	cluster_free(r.c);
	return NULL;
}

#else

struct cluster *cluster_read(struct diag *d, struct source *s)
{
	diag_error(d, E_WITHOUT_LIBRARY, DIAG_NOWHERE,
	           "'%s' cannot be read: this hirc was built without cJSON", s->name);
	diag_note(d, DIAG_NOWHERE, "install libcjson-dev and build again; " CLUSTER_BUILTINS " need no file");
	return NULL;
}

#endif
