/* cluster: the built-in clusters, the choice of a transport, writing, and the hash.
 *
 * cpu: one of two ranks on two cores of a server with AVX-512 and AMX, as `hirc bench --collectives`
 * measured it, rounded. Its link is slower than shared memory between two ranks, as it is between many.
 * h100: the dense peaks of NVIDIA's data sheet of the H100 SXM5; NVLink 4 joins eight devices, and one
 * port of 400 Gbit/s per device joins hosts; the latencies and the launch are assumptions. h200: the
 * same, with the memory of the H200 SXM. All are starting points: measure where it matters. */
#include "cost/cluster.h"
#include "base/hash.h"
#include <stdlib.h>
#include <string.h>

#define GIGA ((int64_t)1000000000)
#define TERA (1000 * GIGA)
#define MEGA ((int64_t)1000000)
#define GIBI ((int64_t)1 << 30)

static const struct cluster_link cpu_link[] = {{256, 2000, 3500000000, false}};
static const struct cluster_function cpu_function[] = {
    {OP_ADD, DTYPE_F32, 7000 * MEGA},      {OP_ADD, DTYPE_BF16, 3200 * MEGA},
    {OP_MUL, DTYPE_F32, 7000 * MEGA},      {OP_MUL, DTYPE_BF16, 3200 * MEGA},
    {OP_DIV, DTYPE_F32, 5200 * MEGA},      {OP_DIV, DTYPE_BF16, 2700 * MEGA},
    {OP_RELU, DTYPE_F32, 7700 * MEGA},     {OP_RELU, DTYPE_BF16, 3800 * MEGA},
    {OP_EXP, DTYPE_F32, 950 * MEGA},       {OP_EXP, DTYPE_BF16, 800 * MEGA},
    {OP_LOG, DTYPE_F32, 870 * MEGA},       {OP_LOG, DTYPE_BF16, 750 * MEGA},
    {OP_SQRT, DTYPE_F32, 4500 * MEGA},     {OP_SQRT, DTYPE_BF16, 3000 * MEGA},
    {OP_RSQRT, DTYPE_F32, 2500 * MEGA},    {OP_RSQRT, DTYPE_BF16, 2000 * MEGA},
    {OP_SIN, DTYPE_F32, 650 * MEGA},       {OP_SIN, DTYPE_BF16, 590 * MEGA},
    {OP_COS, DTYPE_F32, 650 * MEGA},       {OP_COS, DTYPE_BF16, 590 * MEGA},
    {OP_TANH, DTYPE_F32, 600 * MEGA},      {OP_TANH, DTYPE_BF16, 530 * MEGA},
    {OP_SIGMOID, DTYPE_F32, 740 * MEGA},   {OP_SIGMOID, DTYPE_BF16, 660 * MEGA},
    {OP_SILU, DTYPE_F32, 680 * MEGA},      {OP_SILU, DTYPE_BF16, 610 * MEGA},
    {OP_GELU, DTYPE_F32, 450 * MEGA},      {OP_GELU, DTYPE_BF16, 400 * MEGA},
    {OP_GELU_TANH, DTYPE_F32, 680 * MEGA}, {OP_GELU_TANH, DTYPE_BF16, 610 * MEGA},
    {OP_POW, DTYPE_F32, 290 * MEGA},       {OP_POW, DTYPE_BF16, 260 * MEGA},
    {OP_SUM, DTYPE_F32, 3000 * MEGA},      {OP_SUM, DTYPE_BF16, 2800 * MEGA},
    {OP_MAX, DTYPE_F32, 1900 * MEGA},      {OP_MAX, DTYPE_BF16, 1800 * MEGA},
    {OP_SOFTMAX, DTYPE_F32, 520 * MEGA},   {OP_SOFTMAX, DTYPE_BF16, 500 * MEGA},
};
static const struct cluster_link h100_link[] = {{8, 3000, 450 * GIGA, false},
                                                {65536, 8000, 50 * GIGA, false}};

/* GPUs of one architecture that differ only in their memory. */
#define HOPPER(its_name, bytes, rate)                                                                        \
	{                                                                                                    \
		.name = its_name, .issue[CALL_KERNEL] = 2000, .node[CALL_KERNEL] = 770, .memory = (bytes),   \
		.memory_rate = (rate),                                                                       \
		.flops_rate =                                                                                \
		    {[DTYPE_F64] = 67 * TERA,  [DTYPE_F32] = 67 * TERA,      [DTYPE_BF16] = 989 * TERA,      \
		     [DTYPE_F16] = 989 * TERA, [DTYPE_F8E4M3] = 1979 * TERA, [DTYPE_F8E5M2] = 1979 * TERA,   \
		     [DTYPE_I64] = 17 * TERA,  [DTYPE_I32] = 34 * TERA,      [DTYPE_I16] = 34 * TERA,        \
		     [DTYPE_I8] = 1979 * TERA, [DTYPE_U8] = 1979 * TERA,     [DTYPE_BOOL] = 34 * TERA},      \
		.network = {.compute_per_mille = 1000,                                                       \
		            .comm_per_mille = 1000,                                                          \
		            .link = h100_link,                                                               \
		            .link_n = sizeof h100_link / sizeof *h100_link},                                 \
	}

static const struct cluster builtin[] = {
    {.name = "cpu",
     .issue[CALL_KERNEL] = 50,
     .memory = 4 * GIBI,
     .memory_rate = 10 * GIGA,
     .flops_rate = {[DTYPE_F64] = 80 * GIGA,
                    [DTYPE_F32] = 180 * GIGA,
                    [DTYPE_BF16] = 1500 * GIGA,
                    [DTYPE_F16] = 130 * GIGA,
                    [DTYPE_F8E4M3] = 35 * GIGA,
                    [DTYPE_F8E5M2] = 35 * GIGA,
                    [DTYPE_I64] = 5 * GIGA,
                    [DTYPE_I32] = 5 * GIGA,
                    [DTYPE_I16] = 5 * GIGA,
                    [DTYPE_I8] = 5 * GIGA,
                    [DTYPE_U8] = 5 * GIGA,
                    [DTYPE_BOOL] = 5 * GIGA},
     .network = {.compute_per_mille = 2000,
                 .comm_per_mille = 2000,
                 .link = cpu_link,
                 .link_n = sizeof cpu_link / sizeof *cpu_link},
     .function = cpu_function,
     .function_n = sizeof cpu_function / sizeof *cpu_function},
    HOPPER("h100", 80 * GIBI, 3350 * GIGA),
    HOPPER("h200", 140 * GIBI, 4800 * GIGA),
};

struct cluster *cluster_builtin(const char *name)
{
	for (unsigned k = 0; k < sizeof builtin / sizeof *builtin; k++)
		if (!strcmp(builtin[k].name, name)) {
			struct cluster *c = mem_alloc(sizeof *c);
			*c = builtin[k];
			return c;
		}
	return NULL;
}

void cluster_free(struct cluster *c)
{
	if (c)
		arena_free(c->arena);
	free(c);
}

bool cluster_has_rate(enum op_kind kind)
{
	return op_info[kind].form == FORM_CALL &&
	       (op_info[kind].traits & (TRAIT_POINTWISE | TRAIT_REDUCTION) || kind == OP_SOFTMAX);
}

bool cluster_use_transport(struct cluster *c, const char *transport)
{
	if (!c->network.transport || !strcmp(c->network.transport, transport))
		return true;
	for (uint32_t k = 0; k < c->other_n; k++) {
		struct cluster_network n = c->other[k];
		if (strcmp(n.transport, transport))
			continue;
		c->other[k] = c->network;
		c->network = n;
		return true;
	}
	return false;
}

/* ---- the hash: of the numbers, byte by byte from the least on */

static uint64_t mix_number(uint64_t h, int64_t number)
{
	unsigned char byte[8];
	for (unsigned k = 0; k < 8; k++)
		byte[k] = (unsigned char)((uint64_t)number >> 8 * k);
	return hash_bytes(h, byte, sizeof byte);
}

static uint64_t add_points(uint64_t h, const struct cluster_points *p)
{
	h = mix_number(h, p->n);
	for (uint32_t k = 0; k < p->n; k++)
		h = mix_number(mix_number(h, p->at[k].size), p->at[k].time);
	return h;
}

size_t cluster_grid_size(const struct cluster_grid *g)
{
	return (size_t)g->axis[0].n * g->axis[1].n * g->axis[2].n;
}

static uint64_t add_grid(uint64_t h, const struct cluster_grid *g)
{
	h = mix_number(h, g->dtype);
	for (unsigned a = 0; a < 3; a++) {
		h = mix_number(h, g->axis[a].n);
		for (uint32_t k = 0; k < g->axis[a].n; k++)
			h = mix_number(h, g->axis[a].at[k]);
	}
	for (size_t k = 0; k < cluster_grid_size(g); k++)
		h = mix_number(h, g->time[k]);
	return add_points(h, &g->far);
}

static uint64_t add_text(uint64_t h, const char *text)
{
	for (const char *s = text; *s; s++)
		h = mix_number(h, *s);
	return h;
}

static uint64_t add_network(uint64_t h, const struct cluster_network *x)
{
	for (uint32_t k = 0; k < x->link_n; k++)
		h = mix_number(mix_number(mix_number(h, x->link[k].span), x->link[k].alpha), x->link[k].rate);
	for (uint32_t k = 0; k < x->link_n; k++)
		h = x->link[k].shared ? mix_number(h, k) : h;
	for (unsigned k = 0; k < COLLECTIVE_COUNT; k++)
		if (x->contention[k].compute)
			h = mix_number(mix_number(mix_number(h, k), x->contention[k].compute),
			               x->contention[k].comm);
	for (uint32_t k = 0; k < x->table_n; k++) {
		const struct cluster_table *t = &x->table[k];
		h = add_points(mix_number(mix_number(mix_number(h, t->collective), t->ranks), t->span),
		               &t->points);
	}
	return h;
}

uint64_t cluster_hash(const struct cluster *c)
{
	uint64_t h = HASH_START;
	h = mix_number(mix_number(mix_number(h, c->issue[CALL_KERNEL]), c->memory), c->memory_rate);
	if (c->node[CALL_KERNEL])
		h = mix_number(h, c->node[CALL_KERNEL]);
	h = c->replayed ? mix_number(h, c->replayed) : h;
	if (c->devices || c->measured_ranks)
		h = mix_number(mix_number(h, c->devices), c->measured_ranks);
	for (unsigned k = CALL_KERNEL + 1; k < CALL_COUNT; k++)
		if (c->issue[k] || c->node[k])
			h = mix_number(mix_number(mix_number(h, k), c->issue[k]), c->node[k]);
	h = mix_number(mix_number(h, c->network.compute_per_mille), c->network.comm_per_mille);
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		h = mix_number(h, c->flops_rate[t]);
	h = add_points(h, &c->touch);
	h = mix_number(mix_number(mix_number(h, c->product_n), c->network.link_n), c->network.table_n);
	for (uint32_t k = 0; k < c->product_n; k++) {
		const struct cluster_product *p = &c->product[k];
		h = mix_number(mix_number(mix_number(mix_number(mix_number(h, p->dtype), p->m), p->n), p->k),
		               p->time);
	}
	h = mix_number(h, c->grid_n);
	for (uint32_t k = 0; k < c->grid_n; k++)
		h = add_grid(h, &c->grid[k]);
	h = mix_number(h, c->function_n);
	for (uint32_t k = 0; k < c->function_n; k++) {
		h = add_text(h, op_info[c->function[k].op].hir);
		h = mix_number(mix_number(h, c->function[k].dtype), c->function[k].rate);
	}
	h = add_network(h, &c->network);
	for (uint32_t k = 0; k < c->other_n; k++) {
		const struct cluster_network *o = &c->other[k];
		h = mix_number(mix_number(add_text(h, o->transport), o->compute_per_mille),
		               o->comm_per_mille);
		h = add_network(mix_number(mix_number(h, o->link_n), o->table_n), o);
	}
	return h;
}

const char *cluster_call_key(enum driver_call call, bool in_graph)
{
	static const char *const key[][2] = {
#define CALL(id, issue, node, meaning) {issue, node},
#include "base/driver_calls.def"
#undef CALL
	};
	return *key[call][in_graph] ? key[call][in_graph] : NULL;
}

/* ---- writing */

static void put_text(struct buf *out, const char *text)
{
	buf_putc(out, '"');
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		if (*c == '"' || *c == '\\')
			buf_printf(out, "\\%c", *c);
		else if (*c < 0x20)
			buf_printf(out, "\\u%04x", *c);
		else
			buf_putc(out, (char)*c);
	buf_putc(out, '"');
}

/* Writes the members that describe each transport, with `indent` before each. */
static void put_number(struct buf *out, const char *before, const char *key, int64_t number)
{
	buf_printf(out, "%s\"%s\": %lld", before, key, (long long)number);
}

static void put_points(struct buf *out, const char *key, const struct cluster_points *p)
{
	buf_printf(out, "\"%s\": [", key);
	for (uint32_t k = 0; k < p->n; k++)
		buf_printf(out, "%s[%lld, %lld]", k ? ", " : "", (long long)p->at[k].size,
		           (long long)p->at[k].time);
	buf_putc(out, ']');
}

static void put_list(struct buf *out, const char *key, const int64_t *at, size_t n)
{
	buf_printf(out, ", \"%s\": [", key);
	for (size_t k = 0; k < n; k++)
		buf_printf(out, "%s%lld", k ? ", " : "", (long long)at[k]);
	buf_putc(out, ']');
}

static void put_grids(const struct cluster *c, struct buf *out)
{
	static const char *const key[] = {"m", "n", "k"};
	for (uint32_t k = 0; k < c->grid_n; k++) {
		const struct cluster_grid *g = &c->grid[k];
		buf_printf(out, "%s\n      {\"dtype\": \"%s\"", k ? "," : ",\n    \"product_grids\": [",
		           dtype_name(g->dtype));
		for (unsigned a = 0; a < 3; a++)
			put_list(out, key[a], g->axis[a].at, g->axis[a].n);
		put_list(out, "ns", g->time, cluster_grid_size(g));
		if (g->far.n) {
			buf_puts(out, ",\n       ");
			put_points(out, "far_bytes_ns", &g->far);
		}
		buf_puts(out, k + 1 < c->grid_n ? "}" : "}\n    ]");
	}
}

static void put_device(const struct cluster *c, struct buf *out)
{
	const char *between = "";
	buf_puts(out, "  \"device\": {\n");
	if (c->device) {
		buf_puts(out, "    \"name\": ");
		put_text(out, c->device);
		buf_puts(out, ",\n");
	}
	if (c->devices)
		put_number(out, "    ", "devices", c->devices);
	if (c->measured_ranks)
		put_number(out, c->devices ? ", " : "    ", "measured_ranks", c->measured_ranks);
	if (c->devices || c->measured_ranks)
		buf_puts(out, ",\n");
	put_number(out, "    ", "memory_bytes", c->memory);
	put_number(out, ",\n    ", "memory_bytes_per_s", c->memory_rate);
	buf_puts(out, ",\n    \"flops_per_s\": {");
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		if (c->flops_rate[t]) {
			put_number(out, between, dtype_name(t), c->flops_rate[t]);
			between = ", ";
		}
	buf_putc(out, '}');
	if (c->touch.n) {
		buf_puts(out, ",\n    ");
		put_points(out, "touch_bytes_ns", &c->touch);
	}
	for (uint32_t k = 0; k < c->product_n; k++) {
		const struct cluster_product *p = &c->product[k];
		buf_printf(out, "%s\n      {\"dtype\": \"%s\"", k ? "," : ",\n    \"products\": [",
		           dtype_name(p->dtype));
		put_number(out, ", ", "m", p->m);
		put_number(out, ", ", "n", p->n);
		put_number(out, ", ", "k", p->k);
		put_number(out, ", ", "ns", p->time);
		buf_puts(out, k + 1 < c->product_n ? "}" : "}\n    ]");
	}
	put_grids(c, out);
	for (uint32_t k = 0; k < c->function_n; k++) {
		const struct cluster_function *f = &c->function[k];
		buf_printf(out, "%s\n      {\"op\": \"%s\", \"dtype\": \"%s\"",
		           k ? "," : ",\n    \"functions\": [", op_info[f->op].hir, dtype_name(f->dtype));
		put_number(out, ", ", "elements_per_s", f->rate);
		buf_puts(out, k + 1 < c->function_n ? "}" : "}\n    ]");
	}
	buf_puts(out, "\n  },\n");
}

/* Puts the contention of collectives that state their own. */
static void put_contentions(const struct cluster_network *n, const char *indent, struct buf *out)
{
	const char *between = ", \"collectives\": [";
	for (unsigned k = 0; k < COLLECTIVE_COUNT; k++) {
		if (!n->contention[k].compute)
			continue;
		buf_printf(out, "%s\n%s  {\"collective\": \"%s\"", between, indent,
		           collective_key((enum collective)k));
		put_number(out, ", ", "compute_per_mille", n->contention[k].compute);
		put_number(out, ", ", "comm_per_mille", n->contention[k].comm);
		buf_putc(out, '}');
		between = ",";
	}
	if (!between[1])
		buf_printf(out, "\n%s]", indent);
}

/* The members that each transport has, `indent` before each. */
static void put_network(const struct cluster_network *n, const char *indent, struct buf *out)
{
	if (n->transport) {
		buf_printf(out, "%s\"transport\": ", indent);
		put_text(out, n->transport);
		buf_puts(out, ",\n");
	}
	buf_printf(out, "%s\"links\": [", indent);
	for (uint32_t k = 0; k < n->link_n; k++) {
		buf_printf(out, "%s\n%s  {", k ? "," : "", indent);
		put_number(out, "", "span", n->link[k].span);
		put_number(out, ", ", "alpha_ns", n->link[k].alpha);
		put_number(out, ", ", "bytes_per_s", n->link[k].rate);
		buf_puts(out, n->link[k].shared ? ", \"shared\": 1}" : "}");
	}
	buf_printf(out, "\n%s],\n%s\"collectives\": [", indent, indent);
	for (uint32_t k = 0; k < n->table_n; k++) {
		const struct cluster_table *t = &n->table[k];
		buf_printf(out, "%s\n%s  {\"collective\": \"%s\"", k ? "," : "", indent,
		           collective_key(t->collective));
		put_number(out, ", ", "ranks", t->ranks);
		put_number(out, ", ", "span", t->span);
		buf_puts(out, ", ");
		put_points(out, "bytes_ns", &t->points);
		buf_putc(out, '}');
	}
	buf_printf(out, "\n%s],\n%s\"contention\": {", indent, indent);
	put_number(out, "", "compute_per_mille", n->compute_per_mille);
	put_number(out, ", ", "comm_per_mille", n->comm_per_mille);
	put_contentions(n, indent, out);
	buf_putc(out, '}');
}

void cluster_write(const struct cluster *c, struct buf *out)
{
	put_number(out, "{\n  ", "version", CLUSTER_VERSION);
	buf_puts(out, ",\n  \"name\": ");
	put_text(out, c->name);
	for (enum driver_call k = 0; k < CALL_COUNT; k++) {
		if (c->issue[k] || k == CALL_KERNEL)
			put_number(out, ",\n  ", cluster_call_key(k, false), c->issue[k]);
		if (c->node[k])
			put_number(out, ",\n  ", cluster_call_key(k, true), c->node[k]);
	}
	buf_puts(out, ",\n");
	put_device(c, out);
	put_network(&c->network, "  ", out);
	for (uint32_t k = 0; k < c->other_n; k++) {
		buf_puts(out, k ? ",\n    {\n" : ",\n  \"transports\": [\n    {\n");
		put_network(&c->other[k], "      ", out);
		buf_puts(out, "\n    }");
	}
	buf_puts(out, c->other_n ? "\n  ]\n}\n" : "\n}\n");
}
