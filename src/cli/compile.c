/* compile: reading, checking and rewriting a program. */
#include "cli/compile.h"
#include "analysis/extents.h"
#include "analysis/unwritten.h"
#include "base/source_read.h"
#include "cli/cli_cluster.h"
#include "cli/cli_progress.h"
#include "cli/compile_prove.h"
#include "cli/compile_roundtrip.h"
#include "cli/predict.h"
#include "cli/rank_files.h"
#include "import/import.h"
#include "parse/ast.h"
#include "plan/plan_copies.h"

struct after {
	struct diag *d;
	const struct compile_options *o;
	struct compile_prove prove;
};

static bool after_pass(void *to, struct module *m, const char *pass)
{
	struct after *r = to;
	const struct pipeline_options *p = &r->o->pipeline;
	if (r->o->verify_roundtrip &&
	    (!compile_roundtrip(r->d, m, false, r->o->np) || !compile_roundtrip(r->d, m, true, r->o->np)))
		return false;
	if (pass && !compile_prove_pass(&r->prove, m))
		return false;
	return !p->after || p->after(p->after_to, m, pass);
}

static bool has_trait(const char *transport, enum transport_trait trait)
{
	return transport && transport_kind_has(transport_kind_find(transport), trait);
}

/* Chooses the transport whose figures count; for `auto`, the first one that these ranks can use. */
static void choose_transport(struct diag *d, const struct compile_options *o, struct cluster *c)
{
	enum transport_trait never = o->threads ? TRANSPORT_NEEDS_PROCESSES : TRANSPORT_NEEDS_THREADS;
	struct buf names = {0};
	if (transport_kind_find(o->transport) != TRANSPORT_AUTO) {
		if (cluster_use_transport(c, o->transport))
			return;
		buf_puts(&names, c->network.transport);
		for (uint32_t k = 0; k < c->other_n; k++)
			buf_printf(&names, ", %s", c->other[k].transport);
		diag_warning(d, W_CLUSTER_TRANSPORT, DIAG_NOWHERE,
		             "--cluster: '%s' has no figures of the transport %s: those of %s are taken",
		             o->cluster_name, o->transport, c->network.transport);
		diag_note(d, DIAG_NOWHERE, "it has %s; `hirc bench --collectives --transport=%s` measures",
		          names.at, o->transport);
		buf_free(&names);
		return;
	}
	for (uint32_t k = 0; has_trait(c->network.transport, never) && k < c->other_n; k++)
		if (!has_trait(c->other[k].transport, never))
			cluster_use_transport(c, c->other[k].transport);
}

/* Makes statements begin as in a replayed graph. Returns false after reporting a cluster without that figure. */
static bool take_graph_launch(struct diag *d, const struct compile_options *o)
{
	o->cluster->replayed = true;
	if (!o->cluster->node[CALL_KERNEL])
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--graph: '%s' does not state graph_launch_ns, the time that a statement takes to "
		           "begin in a "
		           "replayed graph",
		           o->cluster_name);
	return o->cluster->node[CALL_KERNEL] > 0;
}

const struct cluster *compile_cluster(struct diag *d, struct compile_options *o, enum status *status)
{
	if (o->cluster_of_first)
		return o->cluster_of_first;
	if (!o->cluster) {
		o->cluster = cluster_load(d, o->cluster_name, status);
		if (o->cluster && o->transport)
			choose_transport(d, o, o->cluster);
		if (o->cluster && o->replayed && !take_graph_launch(d, o)) {
			cluster_free(o->cluster);
			o->cluster = NULL;
			*status = STATUS_USAGE;
		}
	}
	return o->cluster;
}

static bool uses_define(const struct module *m)
{
	for (param_id p = 1; p < m->param.n; p++)
		if (m->param.at[p].set_by_user)
			return true;
	return false;
}

struct sema_options compile_sema_options(const struct compile_options *o)
{
	return (struct sema_options){
	    .define = o->define.at, .define_n = o->define.n, .np = o->np, .paired = o->paired};
}

static void show_trials(void *options, const char *pass, double done)
{
	const struct compile_options *o = options;
	if (done < 1)
		progress_show(o->progress, done, "trying changes: %s", pass);
	else
		progress_end(o->progress);
}

enum status compile_finish(struct diag *d, struct module *m, struct compile_options *o, bool passes)
{
	enum status status = STATUS_OK;
	/* with only the defaults, a program whose shapes do not fit still compiles; `run` refuses it */
	if (uses_define(m) && !extents_check(m, d))
		status = STATUS_DIAGNOSTICS;
	if (status == STATUS_OK && (uses_define(m) || !o->defaults_are_open) && !types_check(m, d))
		status = STATUS_DIAGNOSTICS;
	if (status == STATUS_OK && passes) {
		struct after r = {.d = d, .o = o};
		struct pipeline_options p = o->pipeline;
		p.cluster = compile_cluster(d, o, &status);
		p.predict = predict;
		p.progress =
		    o->progress && !p.remarks ? show_trials : NULL; /* remarks are lines of their own */
		p.progress_to = o;
		p.after = after_pass;
		p.after_to = &r;
		if (o->prove || p.verify_each)
			compile_prove_open(&r.prove, d, m, o->prove);
		if (p.cluster)
			status = pipeline_run(m, d, &o->run, &p);
		if (status == STATUS_OK && !p.stop_after && !compile_prove_last(&r.prove, m))
			status = STATUS_DIAGNOSTICS;
		compile_prove_close(&r.prove);
		if (status == STATUS_OK)
			unwritten_outputs_warn(m, d);
	}
	return status;
}

static struct module *read_source(struct diag *d, struct source *s, const struct compile_options *o)
{
	const struct sema_options options = compile_sema_options(o);
	unsigned errors = diag_error_count(d);
	if (import_knows(s))
		return import_read(d, s);
	struct ast *a = ast_parse_shared(d, s);
	struct module *m = diag_error_count(d) == errors ? sema_build(d, a, &options) : NULL;
	ast_free(a);
	return m;
}

struct module *compile_source(struct diag *d, struct source *s, struct compile_options *o, bool passes,
                              enum status *status)
{
	struct source *outer = diag_set_source(d, s);
	struct module *m = s->file ? rank_files_compile(d, s, o, passes, status) : read_source(d, s, o);
	if (!s->file)
		*status = m ? compile_finish(d, m, o, passes) : STATUS_DIAGNOSTICS;
	diag_set_source(d, outer);
	if (*status == STATUS_OK)
		return m;
	module_free(m);
	source_free(s);
	return NULL;
}

struct module *compile_file(struct diag *d, const char *path, struct compile_options *o, enum status *status)
{
	struct source *s;
	*status = source_read_bytes(d, path, import_knows_bytes, &s);
	return *status == STATUS_OK ? compile_source(d, s, o, true, status) : NULL;
}

void compile_free(struct module *m)
{
	struct source *s = m ? m->source : NULL;
	module_free(m);
	source_free(s);
}

/* ---- remarks on a plan */

struct copies {
	const struct compile_options *o;
	const struct module *m;
};

static void remark_copy(void *copies, uint32_t at, const char *text)
{
	const struct copies *x = copies;
	pipeline_remark(&x->o->pipeline, x->m, "plan", at, text);
}

void compile_remark_copies(const struct compile_options *o, struct module *m, const struct plan *p)
{
	struct copies x = {.o = o, .m = m};
	if (o->pipeline.remarks)
		plan_copies_remark(p, m, remark_copy, &x);
}
