/* tune_candidate: compiles a program with its choices, and predicts its time. */
#include "base/hash.h"
#include "cli/params.h"
#include "cli/simulated.h"
#include "cli/tune.h"
#include "cost/cost.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "sim/sim.h"
#include "sim/sim_run.h"
#include <stdlib.h>
#include <string.h>

/* ---- messages */

void tune_messages_open(struct tune *t, struct tune_messages *x)
{
	*x = (struct tune_messages){0};
	x->f = open_memstream(&x->text, &x->n);
	x->d = diag_new(x->f, DIAG_TEXT, 0);
	diag_set_source(x->d, t->source);
}

const char *tune_messages_close(struct tune *t, struct tune_messages *x)
{
	static const char error[] = "error: ";
	const char *reason = NULL;
	diag_finish(x->d);
	diag_free(x->d);
	fclose(x->f);
	const char *at = x->text ? strstr(x->text, error) : NULL;
	if (at) {
		at += strlen(error);
		reason = arena_strndup(t->arena, at, strcspn(at, "\n"));
	}
	free(x->text);
	return reason;
}

/* ---- options */

static bool set_choice(const struct tune_axis *x, const char *value, struct diag *d,
                       struct compile_options *o, int64_t *streams)
{
	switch ((enum tune_axis_kind)x->kind) {
	case TUNE_CHUNKS:
		vec_push(&o->define, (struct sema_define){.name = x->name, .text = value});
		break;
	case TUNE_PIPELINE:
		o->steps = value;
		break;
	case TUNE_OFFSET_STREAMS:
		o->offset_streams = true;
		break;
	case TUNE_ZERO_COPY:
		o->zero_copy = true;
		break;
	case TUNE_FUSE:
		o->fuse_pointwise = !strcmp(value, "no") ? value : "0";
		break;
	case TUNE_OVERLAP:
		o->effort = tune_effort(value);
		o->bucket_mode = tune_bucket_mode(value);
		break;
	case TUNE_STREAMS:
		if (!str_parse_size(value, streams)) {
			diag_error(d, E_DEFINE_VALUES, DIAG_NOWHERE, "'%s' streams", value);
			return false;
		}
		break;
	case TUNE_TRANSFORM:
		o->transform = value;
		break;
	case TUNE_KINDS:
		break;
	}
	return true;
}

bool tune_options_make(struct tune *t, const struct tune_candidate *c, struct diag *d,
                       struct compile_options *out, int64_t *streams)
{
	bool ok = true;
	*streams = t->ranks.streams;
	*out = t->compile;
	memset(&out->define, 0, sizeof out->define);
	memset(&out->owned, 0, sizeof out->owned);
	out->pipeline.remarks = false; /* --remarks of tune is about candidates, not passes */
	for (uint32_t k = 0; k < t->compile.define.n; k++)
		vec_push(&out->define, t->compile.define.at[k]);
	for (uint32_t k = 0; k < t->axis_n && ok; k++)
		if (c->choice[k])
			ok = set_choice(&t->axis[k], t->axis[k].value[c->choice[k]], d, out, streams);
	return ok && compile_options_finish(out, d);
}

void tune_options_free(struct tune *t, struct compile_options *o)
{
	for (uint32_t k = 0; k < t->compile.define.n; k++)
		t->compile.define.at[k].used |= o->define.at[k].used;
	vec_free(&o->define);
}

/* ---- compiling */

static struct module *compile_candidate(struct tune *t, struct compile_options *o, struct diag *d,
                                        enum status *status)
{
	struct source *s = source_copy(t->source);
	struct module *m = compile_source(d, s, o, true, status);
	struct source *outer = m ? diag_set_source(d, m->source) : NULL;
	bool ok = m && params_check(m, d);
	if (m)
		diag_set_source(d, outer);
	if (m && !ok) {
		compile_free(m);
		*status = STATUS_DIAGNOSTICS;
	}
	return ok ? m : NULL;
}

/* ---- effects of the choices */

/* Returns the upper bound of a statement's stream index: a number + 1, or the end of a loop around the
 * statement. INT64_MAX: not known. */
static int64_t streams_below(const struct module *m, op_id op)
{
	const struct expr_env env = {.rank = -1};
	expr_id e = op_scalar_expr(m, op, 0);
	int64_t n;
	if (expr_is_const(m, e, &n))
		return n + 1;
	for (region_id r = m->op.at[op].parent; r; r = m->op.at[m->region.at[r].owner].parent) {
		op_id owner = m->region.at[r].owner;
		if (!owner)
			break;
		if (m->op.at[owner].kind == OP_FOR && m->expr.at[e].kind == EXPR_INDEX &&
		    m->expr.at[e].k == m->region.at[r].index &&
		    expr_eval(m, op_scalar_expr(m, owner, 1), &env, &n, NULL) == EXPR_OK)
			return n;
	}
	return INT64_MAX;
}

/* Returns the most streams that a program can use. */
static int64_t most_streams(struct module *m)
{
	int64_t most = 0;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		enum op_kind kind = (enum op_kind)m->op.at[op].kind;
		if ((kind != OP_SET_CURRENT_STREAM && kind != OP_SYNCHRONIZE) ||
		    !op_role_count(m, op, ROLE_SCALAR))
			continue;
		int64_t n = streams_below(m, op);
		most = n > most ? n : most;
	}
	return most;
}

static uint64_t hash_module(struct module *m)
{
	struct buf text = {0};
	ir_print_hir(m, &text);
	uint64_t h = hash_bytes(HASH_START, text.at, text.n);
	buf_free(&text);
	return h ? h : 1;
}

uint64_t tune_program_hash(struct tune *t, struct compile_options *o, struct diag *d)
{
	enum status status;
	struct module *m = compile_candidate(t, o, d, &status);
	uint64_t h = m ? hash_module(m) : 0;
	compile_free(m);
	return h;
}

void tune_candidate_hash(struct tune_candidate *c, int64_t streams)
{
	int64_t used = streams && streams < c->streams ? streams : c->streams;
	c->hash = hash_bytes(c->program, &used, sizeof used);
}

/* Predicts the time on ranks, simulating one of each class; -1 after reporting. */
static int64_t time_on_devices(struct module *m, const struct cost *cost, int64_t streams, struct diag *d)
{
	struct sim_simulation s;
	if (!simulated_devices(m, cost, &(struct sim_settings){.streams = streams}, d, &s))
		return -1;
	int64_t time = s.run.events.runtime;
	sim_simulation_close(&s);
	return time;
}

/* Predicts the step time of a program; -1 after reporting why there is none. */
static int64_t predict_time(struct tune *t, struct module *m, int64_t streams, struct diag *d)
{
	struct arena *a = arena_new();
	struct cost *cost = cost_new(m, t->cluster, d);
	struct timeline line;
	struct sim *of;
	int64_t time = -1;
	if (cost)
		cost_set_streams(cost, streams);
	if (cost && !sim_is_recorded(m)) {
		time = time_on_devices(m, cost, streams, d);
	} else if (cost && sim_recorded_run(m, cost, d, a, &line, &of)) {
		time = line.runtime;
		timeline_close(&line);
	}
	cost_free(cost);
	arena_free(a);
	return time;
}

void tune_candidate_evaluate(struct tune *t, struct tune_candidate *c)
{
	struct tune_messages x;
	struct compile_options o;
	enum status status;
	int64_t streams;
	tune_messages_open(t, &x);
	c->state = TUNE_REFUSED;
	c->predicted = -1;
	c->measured = -1;
	struct module *m =
	    tune_options_make(t, c, x.d, &o, &streams) ? compile_candidate(t, &o, x.d, &status) : NULL;
	if (m) {
		struct source *outer = diag_set_source(x.d, m->source);
		c->state = TUNE_GOOD;
		c->program = hash_module(m);
		c->streams = most_streams(m);
		tune_candidate_hash(c, streams);
		c->predicted = predict_time(t, m, streams, x.d);
		diag_set_source(x.d, outer);
	}
	compile_free(m);
	tune_options_free(t, &o);
	c->reason = tune_messages_close(t, &x);
	if (!c->reason && c->state == TUNE_REFUSED)
		c->reason = "it does not compile";
}
