/* bench_cluster_file: makes a cluster file from the measured times.
 *
 * A link's latency is the time of the smallest message of send_recv between two ranks; its rate is the rate
 * of the largest message. The rate of products or memory is the best one measured. */
#include "base/file.h"
#include "cli/bench_cluster.h"
#include "cli/output.h"
#include "sched/contention.h"
#include <errno.h>
#include <string.h>

static int64_t round_figure(double x)
{
	return x < 1 ? 1 : x > (double)CLUSTER_MAX_TIME ? CLUSTER_MAX_TIME : (int64_t)(x + 0.5);
}

/* Rounds a contention to per mille; with one rank nothing is sent. */
static int64_t per_mille(double contention, int64_t ranks)
{
	return contention < 1000 || ranks == 1 ? 1000 : round_figure(contention < 1e6 ? contention : 1e6);
}

/* Returns the file's name without folders and suffix. */
static const char *name_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
	size_t n = strcspn(from, ".");
	return !strcmp(path, "-") || !n ? "measured" : arena_strndup(a, from, n);
}

static struct cluster_points find_far(struct cluster *c, const struct bench_cluster *o, enum dtype t,
                                      const int64_t *time)
{
	struct cluster_point *point = arena_new_array(c->arena, struct cluster_point, o->probe.n);
	uint32_t n = 0;
	for (uint32_t k = 0; k < o->probe.n; k++) {
		const struct bench_probe *p = &o->probe.at[k];
		if (p->far > 1 && p->dtype == t)
			point[n++] = (struct cluster_point){
			    p->far * (p->m * p->k + p->m * p->n) * (int64_t)dtype_bytes(t), time[k]};
	}
	return (struct cluster_points){point, n};
}

/* Makes a grid for each dtype with products in a grid; the products of a dtype are neighbours. */
static void make_grids(struct cluster *c, const struct bench_cluster *o, const int64_t *time)
{
	const struct bench_extents *x = &o->extents;
	const struct cluster_grid empty = {.axis = {{x->m, x->m_n}, {x->n, x->n_n}, {x->n, x->n_n}}};
	struct cluster_grid *grid = arena_new_array(c->arena, struct cluster_grid, DTYPE_COUNT);
	c->grid = grid;
	for (uint32_t k = 0; k < o->probe.n; k++) {
		if (!o->probe.at[k].in_grid)
			continue;
		grid[c->grid_n] = empty;
		grid[c->grid_n].dtype = o->probe.at[k].dtype;
		grid[c->grid_n].time = time + k;
		grid[c->grid_n].far = find_far(c, o, grid[c->grid_n].dtype, time);
		k += (uint32_t)cluster_grid_size(&grid[c->grid_n++]) - 1;
	}
}

/* Sets the contention of a transport; with one rank nothing is sent. */
static void make_contention(const struct bench_cluster *o, const struct bench_measured *x,
                            struct cluster_network *out)
{
	for (uint32_t k = 0; k < o->probe.n; k++)
		if (o->probe.at[k].beside && !o->probe.at[k].traced)
			out->compute_per_mille = out->comm_per_mille = per_mille(x->probe[k], x->ranks);
}

/* Sets the times of calls that were measured. That of a kernel's issue is measured as a statement. */
static void make_calls(struct cluster *c, const struct cuda_call_times *x)
{
	for (enum driver_call k = 0; k < CALL_COUNT; k++) {
		if (x->issue[k] > 0)
			c->issue[k] = round_figure(x->issue[k]);
		if (x->node[k] > 0)
			c->node[k] = round_figure(x->node[k]);
	}
}

static void make_device(struct cluster *c, const struct bench_cluster *o, const struct bench_measured *x)
{
	struct cluster_point *touch = arena_new_array(c->arena, struct cluster_point, o->probe.n);
	struct cluster_product *product = arena_new_array(c->arena, struct cluster_product, o->probe.n);
	struct cluster_function *function = arena_new_array(c->arena, struct cluster_function, o->probe.n);
	int64_t *times = arena_new_array(c->arena, int64_t, o->probe.n);
	c->memory = x->memory;
	if (x->sharers > 1) { /* all ranks work at the same time */
		c->devices = x->devices;
		c->measured_ranks = x->sharers;
	}
	c->device = *x->model ? x->model : NULL;
	c->issue[CALL_KERNEL] = round_figure(x->probe[0]);
	make_calls(c, &x->calls);
	for (uint32_t k = 1; k < o->probe.n; k++) {
		const struct bench_probe *p = &o->probe.at[k];
		if (p->beside)
			continue;
		int64_t time = times[k] = round_figure(p->far ? x->probe[k] : x->probe[k] - x->probe[0]);
		if (p->far)
			continue;
		if (p->op) {
			function[c->function_n++] = (struct cluster_function){
			    p->kind, p->dtype, round_figure((double)p->n * 1e9 / (double)time)};
			continue;
		}
		double work = p->k ? 2.0 * (double)p->m * (double)p->n * (double)p->k : 8.0 * (double)p->n;
		int64_t rate = round_figure(work * 1e9 / (double)time),
		        *best = p->k ? &c->flops_rate[p->dtype] : &c->memory_rate;
		if (p->k && !p->in_grid)
			product[c->product_n++] = (struct cluster_product){p->dtype, p->m, p->n, p->k, time};
		else if (!p->k)
			touch[c->touch.n++] = (struct cluster_point){(int64_t)work, time};
		if (p->k ? rate > *best : true) /* memory: use the largest size, which fits in no cache */
			*best = rate;
	}
	make_grids(c, o, times);
	c->touch.at = touch;
	c->product = product;
	c->function = function;
}

static struct cluster_link make_link(const struct bench_measured *x, int64_t span)
{
	struct cluster_link link = {.span = span, .rate = CLUSTER_MAX_NUMBER};
	for (uint32_t t = 0; t < x->team.n; t++) {
		const struct bench_team_points *team = &x->team.at[t];
		const struct bench_points *p = &team->of[COLLECTIVE_SEND_RECV];
		if (team->span != span || !p->point.n)
			continue;
		const struct cluster_point *first = &p->point.at[0], *last = &p->point.at[p->point.n - 1];
		link.alpha = first->time;
		link.rate = round_figure((double)last->size * 1e9 /
		                         (double)round_figure((double)(last->time - first->time)));
		break; /* the first team has two ranks */
	}
	return link;
}

static void make_links(struct arena *a, const struct bench_measured *x, struct cluster_network *out)
{
	struct cluster_link *link = arena_new_array(a, struct cluster_link, 2);
	if (x->inner > 1 || x->ranks == 1)
		link[out->link_n++] = make_link(x, x->inner);
	if (x->ranks > x->inner)
		link[out->link_n++] = make_link(x, x->ranks);
	out->link = link;
}

static void make_tables(struct arena *a, const struct bench_measured *x, struct cluster_network *out)
{
	struct cluster_table *table =
	    arena_new_array(a, struct cluster_table, (size_t)x->team.n * COLLECTIVE_COUNT);
	for (uint32_t t = 0; t < x->team.n; t++)
		for (unsigned k = 0; k < COLLECTIVE_COUNT; k++) {
			const struct bench_team_points *team = &x->team.at[t];
			table[out->table_n++] =
			    (struct cluster_table){.collective = (enum collective)k,
			                           .ranks = team->ranks,
			                           .span = team->span,
			                           .points = {team->of[k].point.at, team->of[k].point.n}};
		}
	out->table = table;
}

static struct cluster_network make_network(struct arena *a, const struct bench_cluster *o,
                                           const struct bench_measured *x)
{
	struct cluster_network n = {.transport = x->transport};
	make_contention(o, x, &n);
	if (x->ranks > 1)
		memcpy(n.contention, x->contention, sizeof n.contention);
	make_links(a, x, &n);
	make_tables(a, x, &n);
	return n;
}

static void make_networks(struct cluster *c, const struct bench_cluster *o, const struct bench_measured *x,
                          uint32_t n)
{
	c->network = make_network(c->arena, o, x);
	c->other = arena_new_array(c->arena, struct cluster_network, n);
	for (uint32_t k = 1; k < n; k++)
		c->other[c->other_n++] = make_network(c->arena, o, &x[k]);
}

/* Puts a line with the times of calls besides the launch, if the cluster states any. */
static void put_calls(const char *path, const struct cluster *c, struct buf *out)
{
	const char *before = ": ";
	for (unsigned k = 0; k < 2 * CALL_COUNT; k++) {
		enum driver_call call = k % CALL_COUNT;
		bool in_graph = k >= CALL_COUNT;
		int64_t ns = in_graph ? c->node[call] : call == CALL_KERNEL ? 0 : c->issue[call];
		if (!ns)
			continue;
		buf_printf(out, "%s%s%s %lld", *before == ':' ? path : "", before,
		           cluster_call_key(call, in_graph), (long long)ns);
		before = ", ";
	}
	if (*before == ',')
		buf_putc(out, '\n');
}

static bool write_cluster(const char *path, const struct buf *text, const struct cluster *c)
{
	struct buf note = {0};
	if (!strcmp(path, "-"))
		return output_write(text);
	if (!file_replace(path, &(struct file_part){text->at, text->n}, 1))
		return false;
	buf_printf(&note,
	           "%s: launch %lld ns, memory %.1f GB/s, f32 %.1f Gflop/s, %u tables of collectives\n", path,
	           (long long)c->issue[CALL_KERNEL], (double)c->memory_rate / 1e9,
	           (double)c->flops_rate[DTYPE_F32] / 1e9, c->network.table_n);
	if (c->devices)
		buf_printf(&note, "%s: measured by %lld ranks on a device\n", path,
		           (long long)c->measured_ranks);
	put_calls(path, c, &note);
	for (unsigned k = 0; k < COLLECTIVE_COUNT; k++) {
		const struct cluster_contention *x = &c->network.contention[k];
		if (x->compute)
			buf_printf(&note,
			           "%s: beside %s a product takes %.3f times as long, and %s beside it %.3f "
			           "times\n",
			           path, collective_key((enum collective)k), (double)x->compute / SCHED_ALONE,
			           collective_key((enum collective)k), (double)x->comm / SCHED_ALONE);
	}
	bool ok = output_write(&note);
	buf_free(&note);
	return ok;
}

enum status bench_cluster_file(const struct bench_cluster *o, const struct bench_measured *x, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if (bench_report_implausible(o, &x[k], k > 0))
			return STATUS_DIAGNOSTICS;
	struct cluster c = {.arena = arena_new()};
	struct buf text = {0};
	c.name = name_of(c.arena, o->output);
	make_device(&c, o, x);
	make_networks(&c, o, x, n);
	cluster_write(&c, &text);
	errno = 0;
	bool ok = write_cluster(o->output, &text, &c);
	if (!ok && errno)
		fprintf(stderr, "hirc bench: error: cannot write '%s': %s\n", o->output, strerror(errno));
	buf_free(&text);
	arena_free(c.arena);
	return ok ? STATUS_OK : STATUS_DIAGNOSTICS;
}
