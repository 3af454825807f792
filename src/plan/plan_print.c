/* plan_print: prints a plan for --dump-plan and goldens. */
#include "ir/expr.h"
#include "ir/print.h"
#include "ir/spelling.h"
#include "plan/plan.h"
#include <string.h>

static const char *const code_text[] = {
#define PLAN_CODE_TEXT(code, text, meaning) text,
    PLAN_CODES(PLAN_CODE_TEXT)
#undef PLAN_CODE_TEXT
};

enum { MAX_PLACES = 16 }; /* most slots whose places are shown */

struct printer {
	const struct plan *p;
	const struct module *m;
	struct buf *out;
	bool *changes; /* by register: an instruction writes it */
};

/* Prints a constant as its value, and another register as its name. */
static void put_reg(struct printer *x, plan_reg r)
{
	if (x->changes[r])
		buf_printf(x->out, "r%u", r);
	else if (x->p->reg.at[r] == PLAN_UNDEFINED)
		buf_puts(x->out, "undefined");
	else
		buf_puti(x->out, x->p->reg.at[r]);
}

static void put_name(struct printer *x, value_id v)
{
	const struct value *o = &x->m->value.at[v];
	if (o->name)
		spelling_put_name(x->out, names_text(x->m->names, o->name));
	else if (o->number >= 0)
		buf_printf(x->out, "T%d", o->number);
	else
		buf_printf(x->out, "t%u", v);
}

/* Prints name#slot[offset; n:stride n:stride]. */
static void put_view(struct printer *x, const struct plan_view *v)
{
	const struct plan_buffer *buffer = &x->p->buffer.at[v->buffer];
	put_name(x, buffer->value);
	if (buffer->local)
		return;
	if (v->bytes && buffer->dtype != DTYPE_U8)
		buf_puts(x->out, ".u8");
	if (buffer->slots > 1) {
		buf_putc(x->out, '#');
		put_reg(x, v->slot);
	}
	buf_putc(x->out, '[');
	put_reg(x, v->offset);
	buf_putc(x->out, ';');
	for (unsigned k = 0; k < v->nd; k++) {
		buf_putc(x->out, ' ');
		put_reg(x, v->n[k]);
		buf_printf(x->out, ":%lld", (long long)v->stride[k]);
	}
	buf_putc(x->out, ']');
}

static const char *task_name(const struct plan_task *t)
{
	switch ((enum rt_kernel)t->kernel) {
	case RT_TASK_COPY:
		return "copy";
	case RT_TASK_FILL:
		return "fill";
	case RT_TASK_IOTA:
		return "iota";
	case RT_TASK_UNIFORM:
		return "uniform";
	case RT_TASK_POINTWISE:
		return pointwise_name(t->op);
	case RT_TASK_REDUCE:
		return reduce_op_name(t->op);
	case RT_TASK_SCAN:
		return "scan";
	case RT_TASK_SOFTMAX:
		return "softmax";
	case RT_TASK_NORM:
		return t->op == RT_NORM_LAYER ? "layernorm" : "rmsnorm";
	case RT_TASK_ATTENTION:
		return "attention";
	case RT_TASK_GRADIENT:
		return t->op == RT_GRADIENT_Q   ? "gradient of q"
		       : t->op == RT_GRADIENT_K ? "gradient of k"
		                                : "gradient of v";
	case RT_TASK_GRADIENT_SUMS:
		return "gradient sums";
	case RT_TASK_BITCAST:
		return "bitcast";
	case RT_TASK_GATHER:
		return "gather";
	case RT_TASK_TOPK:
		return "topk";
	case RT_TASK_PUT:
		return "put";
	case RT_TASK_ACCUMULATE:
		return "accumulate";
	case RT_TASK_GROUPED:
		return "grouped";
	case RT_TASK_ROUTE:
		return "route";
	case RT_TASK_COUNT:
		return "count";
	case RT_TASK_SCATTER:
		return "scatter";
	case RT_TASK_GEMM:
		return t->accumulate ? "gemm added" : "gemm";
	default:
		return "call";
	}
}

static void put_task(struct printer *x, const struct plan_task *t)
{
	if (t->kernel == RT_TASK_UNIT) {
		buf_puts(x->out, "unit {");
		for (uint32_t k = t->first; k < t->first + t->steps; k++) {
			buf_puts(x->out, k == t->first ? " " : "; ");
			put_task(x, &x->p->step.at[k]);
		}
		buf_puts(x->out, " }");
		return;
	}
	put_view(x, &t->out);
	buf_puts(x->out, " = ");
	if (t->kernel == RT_TASK_GEMM && t->function)
		buf_printf(x->out, "%s of ", pointwise_name((t->function - 1)));
	if (t->kernel == RT_TASK_GEMM && t->saturates)
		buf_puts(x->out, "clamped ");
	buf_puts(x->out, task_name(t));
	if (t->kernel == RT_TASK_REDUCE) {
		buf_puts(x->out, " over");
		for (unsigned k = 0; k < 32; k++)
			if (t->axes >> k & 1)
				buf_printf(x->out, " %u", k);
	}
	if (t->kernel == RT_TASK_SCAN || t->kernel == RT_TASK_ACCUMULATE)
		buf_printf(x->out, " by %s", reduce_op_name(t->op));
	if (t->kernel == RT_TASK_IOTA || t->kernel == RT_TASK_SCAN || t->kernel == RT_TASK_PUT ||
	    t->kernel == RT_TASK_ACCUMULATE || t->kernel == RT_TASK_TOPK || t->kernel == RT_TASK_SOFTMAX ||
	    t->kernel == RT_TASK_NORM)
		buf_printf(x->out, " along %u", t->axes);
	for (unsigned k = 0; t->kernel == RT_TASK_UNIFORM && k < t->in[0].nd; k++)
		buf_printf(x->out, k ? " %lld" : " by %lld", (long long)t->in[0].stride[k]);
	buf_putc(x->out, '(');
	for (unsigned k = 0; k < t->in_n; k++) {
		buf_puts(x->out, k + t->scales == t->in_n && k ? "; scaled by " : k ? ", " : "");
		if (!(t->scalars >> k & 1))
			put_view(x, &t->in[k]);
		else if (t->scalar[k].is_reg)
			put_reg(x, t->scalar[k].reg);
		else
			buf_printf(x->out, "%.9g", t->scalar[k].literal);
	}
	if (t->kernel == RT_TASK_NORM)
		buf_printf(x->out, ", eps %.9g", t->scalar[0].literal);
	buf_putc(x->out, ')');
}

static void put_team(struct printer *x, uint32_t team)
{
	const struct plan_team *t = &x->p->team.at[team];
	buf_puts(x->out, " team (");
	for (uint32_t k = 0; k < t->n; k++)
		buf_printf(x->out, k ? " %u" : "%u", t->rank[k]);
	buf_putc(x->out, ')');
}

static void put_blocks(struct printer *x, const char *what, const plan_reg *counts, const plan_reg *offsets,
                       uint32_t n)
{
	buf_puts(x->out, what);
	for (uint32_t k = 0; k < n; k++) {
		buf_putc(x->out, ' ');
		put_reg(x, counts[k]);
		buf_putc(x->out, '@');
		put_reg(x, offsets[k]);
	}
}

static void put_collective(struct printer *x, const struct plan_collective *c)
{
	buf_puts(x->out, collective_name((enum collective)c->kind));
	if (collective_reduces((enum collective)c->kind))
		buf_printf(x->out, " %s", reduce_op_name(c->reduce));
	put_team(x, c->team);
	if (collective_is_rooted((enum collective)c->kind)) {
		buf_puts(x->out, " root ");
		put_reg(x, c->root);
	}
	if (!c->members && !c->is_late) {
		buf_puts(x->out, " count ");
		put_reg(x, c->count);
	}
	if (c->has_in) {
		buf_puts(x->out, " from ");
		put_view(x, &c->in);
	}
	if (c->has_out) {
		buf_puts(x->out, " to ");
		put_view(x, &c->out);
	}
	for (unsigned k = 0; k < 2 && c->is_late; k++) {
		buf_puts(x->out, k ? " of counts " : " counts ");
		put_view(x, &c->late[k]);
		buf_puts(x->out, " x ");
		put_reg(x, c->late_unit);
	}
	if (!c->members)
		return;
	put_blocks(x, " blocks", c->counts, c->offsets, c->members);
	if (c->send_counts)
		put_blocks(x, " of blocks", c->send_counts, c->send_offsets, c->members);
}

static void put_message(struct printer *x, const struct plan_message *m)
{
	buf_puts(x->out, m->send ? "send " : "recv ");
	put_view(x, &m->data);
	buf_puts(x->out, m->send ? " to " : " from ");
	put_reg(x, m->peer);
	if (m->channel)
		buf_printf(x->out, " channel %u", m->channel);
}

static void put_scalar(struct printer *x, const struct plan_instruction *i)
{
	static const char *const text[EXPR_KIND_COUNT] = {[EXPR_ADD] = "+",
	                                                  [EXPR_SUB] = "-",
	                                                  [EXPR_MUL] = "*",
	                                                  [EXPR_DIV] = "/",
	                                                  [EXPR_FLOOR_DIV] = "floorDiv",
	                                                  [EXPR_CEIL_DIV] = "ceilDiv",
	                                                  [EXPR_MOD] = "%",
	                                                  [EXPR_MIN] = "min",
	                                                  [EXPR_MAX] = "max",
	                                                  [EXPR_EQ] = "==",
	                                                  [EXPR_NE] = "!=",
	                                                  [EXPR_LT] = "<",
	                                                  [EXPR_LE] = "<=",
	                                                  [EXPR_GT] = ">",
	                                                  [EXPR_GE] = ">=",
	                                                  [EXPR_AND] = "and",
	                                                  [EXPR_OR] = "or"};
	buf_printf(x->out, "r%u = ", i->a);
	if (i->op == PLAN_LOOKUP) {
		buf_printf(x->out, "table %u at ", i->c);
		put_reg(x, i->b);
		return;
	}
	if (i->op == EXPR_NOT) {
		buf_puts(x->out, "not ");
		put_reg(x, i->b);
		return;
	}
	put_reg(x, i->b);
	buf_printf(x->out, " %s ", text[i->op]);
	put_reg(x, i->c);
}

static void put_stream(struct printer *x, const struct plan_instruction *i)
{
	if (i->op) {
		buf_puts(x->out, " index ");
		put_reg(x, i->a);
	} else {
		buf_printf(x->out, " handle %u", i->a);
	}
}

/* Prints the text of a check with the registers that it shows. */
static void put_text(struct printer *x, const struct plan_text *t)
{
	unsigned k = 0;
	for (const char *c = t->text; *c; c++)
		if (*c == PLAN_VALUE[0] && k < t->values)
			put_reg(x, t->value[k++]);
		else
			buf_putc(x->out, *c);
}

static void put_instruction(struct printer *x, const struct plan_instruction *i)
{
	const struct plan *p = x->p;
	buf_puts(x->out, code_text[i->code]);
	switch ((enum plan_code)i->code) {
	case PLAN_LET:
		buf_putc(x->out, ' ');
		put_scalar(x, i);
		break;
	case PLAN_CHECK:
		buf_putc(x->out, ' ');
		put_reg(x, i->a);
		buf_puts(x->out, ": ");
		put_text(x, &p->text.at[i->b]);
		break;
	case PLAN_FOR:
		buf_printf(x->out, " r%u = ", i->a);
		put_reg(x, i->b);
		buf_puts(x->out, " .. ");
		put_reg(x, i->c);
		buf_printf(x->out, ", else %u", i->to);
		break;
	case PLAN_NEXT:
		buf_printf(x->out, " r%u, back to %u", i->a, i->to);
		break;
	case PLAN_IF:
		buf_putc(x->out, ' ');
		put_reg(x, i->a);
		buf_printf(x->out, ", else %u", i->to);
		break;
	case PLAN_GOTO:
		buf_printf(x->out, " %u", i->to);
		break;
	case PLAN_HANDLE:
		buf_printf(x->out, " %u = current stream", i->a);
		break;
	case PLAN_STREAM:
	case PLAN_SYNC:
		put_stream(x, i);
		break;
	case PLAN_TASK:
		buf_putc(x->out, ' ');
		put_task(x, &p->task.at[i->a]);
		break;
	case PLAN_COLLECTIVE:
		buf_putc(x->out, ' ');
		put_collective(x, &p->collective.at[i->a]);
		break;
	case PLAN_MESSAGE:
		buf_putc(x->out, ' ');
		put_message(x, &p->message.at[i->a]);
		break;
	case PLAN_WAIT:
		buf_printf(x->out, " %u", i->a);
		break;
	default:
		break;
	}
	bool issues = i->code == PLAN_COLLECTIVE || i->code == PLAN_MESSAGE || i->code == PLAN_END_GROUP;
	if (issues && i->b != PLAN_NO_QUEUE)
		buf_printf(x->out, " as %u", i->b);
}

static void put_buffers(struct printer *x)
{
	for (uint32_t k = 0; k < x->p->buffer.n; k++) {
		const struct plan_buffer *buffer = &x->p->buffer.at[k];
		if (buffer->local)
			continue;
		buf_puts(x->out, "  buffer ");
		put_name(x, buffer->value);
		buf_printf(x->out, ": %lld of %s", (long long)buffer->elements, dtype_name(buffer->dtype));
		if (buffer->slots > 1)
			buf_printf(x->out, ", %lld slots", (long long)buffer->slots);
		if (buffer->input >= 0)
			buf_puts(x->out, ", input");
		if (buffer->view) {
			buf_puts(x->out, ", side by side:");
			put_team(x, buffer->team);
			buf_puts(x->out, " of ");
			put_name(x, x->p->buffer.at[buffer->of].value);
			buf_printf(x->out, ", %lld bytes apart\n", (long long)buffer->block_bytes);
			continue;
		}
		buf_puts(x->out, buffer->symmetric ? ", symmetric, at" : ", at");
		for (int64_t s = 0; s < buffer->slots && s < MAX_PLACES; s++)
			buf_printf(x->out, " %lld", (long long)x->p->slot.at[buffer->first_slot + s]);
		buf_puts(x->out, buffer->slots > MAX_PLACES ? " ...\n" : "\n");
	}
}

void plan_print(const struct plan *p, const struct module *m, struct buf *out)
{
	struct printer x = {.p = p, .m = m, .out = out, .changes = mem_zalloc(p->reg.n + 1)};
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_LET || p->code.at[k].code == PLAN_FOR)
			x.changes[p->code.at[k].a] = true;
	buf_printf(out, "plan of rank %lld of %lld%s\n", (long long)p->rank, (long long)p->ranks,
	           p->idle ? ", idle" : "");
	put_buffers(&x);
	for (uint32_t k = 0; k < p->pack.n; k++) {
		buf_printf(out, "  pack %u: %lld bytes at %lld, for products with ", k,
		           (long long)p->pack.at[k].bytes, (long long)p->pack.at[k].at);
		put_name(&x, p->buffer.at[p->pack.at[k].buffer].value);
		buf_putc(out, '\n');
	}
	buf_printf(out, "  memory: %lld bytes\n", (long long)p->bytes);
	for (uint32_t k = 0; k < p->table.n; k++) {
		buf_printf(out, "  table %u:", k);
		for (uint32_t i = 0; i < p->table.at[k].n; i++)
			buf_printf(out, " %u", p->table.at[k].at[i]);
		buf_putc(out, '\n');
	}
	for (uint32_t k = 0; k < p->code.n; k++) {
		buf_printf(out, "%4u  ", k);
		buf_pad(out, ' ', 2u * p->code.at[k].depth);
		put_instruction(&x, &p->code.at[k]);
		buf_putc(out, '\n');
	}
	free(x.changes);
}
