/* pipeline: runs passes, with dumps, checks and times in between. */
#include "pass/pipeline.h"
#include "base/file.h"
#include "base/str.h"
#include "base/table.h"
#include "ir/number.h"
#include "ir/print.h"
#include "pass/guard.h"
#include "pass/pass_option.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

const struct pass_info pass_info[PASS_COUNT] = {
#define PASS(id, name, function, requires, establishes, help)                                                \
	[PASS_##id] = {name, function, requires, establishes, help},
#include "pass/passes.def"
#undef PASS
};

/* The default pipeline. Other passes run if --passes names them or an option asks for them. */
static const enum pass_id default_pipeline[] = {
    PASS_PROPAGATE_SHARDINGS,   /* every tensor has a layout */
    PASS_DECOMPOSE_RESHARDINGS, /* only sets change layouts */
    PASS_FUSE_ALLGATHERS,       /* a chain of collectives is one */
    PASS_STREAM_LOOPS,          /* slices are computed in loops */
    PASS_LOWER_COLLECTIVES,     /* sets over devices are Communications */
    PASS_FUSE_POINTWISE,        /* large pointwise operations are one kernel */
    PASS_ALLOCATE,              /* every result has a buffer */
    PASS_ASSIGN_STREAMS,        /* iterations run on streams */
};

/* ---- names and options */

enum pass_id pass_find(const char *name, size_t n)
{
	unsigned i = 0;
	while (i < PASS_COUNT && (strlen(pass_info[i].name) != n || memcmp(pass_info[i].name, name, n)))
		i++;
	return (enum pass_id)i;
}

static void unknown_pass(struct diag *d, const char *name, const char *word, const char *other)
{
	struct suggest s = suggest_start(name);
	diag_error(d, E_PASS_UNKNOWN, DIAG_NOWHERE, "unknown pass '%s'", name);
	for (unsigned i = 0; i < PASS_COUNT; i++)
		suggest_try(&s, pass_info[i].name);
	suggest_try(&s, word);
	suggest_try(&s, other);
	if (s.best)
		diag_suggest(d, &s);
	else
		diag_note(d, DIAG_NOWHERE, "`hirc compile --list-passes` lists the passes");
}

static bool add_pass(struct diag *d, struct pipeline *out, enum pass_id id)
{
	if (out->n == PIPELINE_MAX) {
		diag_error(d, E_PASS_LIST, DIAG_NOWHERE, "more than %d passes", PIPELINE_MAX);
		return false;
	}
	memset(&out->at[out->n], 0, sizeof *out->at);
	out->at[out->n].pass = id;
	pass_option_defaults(id, out->at[out->n].option);
	out->n++;
	return true;
}

/* Reads `{a=1;b=2}`; *text moves past the brace. */
static bool read_options(struct diag *d, const char **text, enum pass_id pass, int64_t *option)
{
	const char *s = *text + 1;
	while (*s && *s != '}') {
		size_t n = strcspn(s, ",;}");
		if (!pass_option_set(d, pass, s, n, option))
			return false;
		s += n;
		s += *s == ',' || *s == ';';
	}
	if (!*s) {
		diag_error(d, E_PASS_LIST, DIAG_NOWHERE, "'%s' lacks a closing brace", *text);
		return false;
	}
	*text = s + 1;
	return true;
}

bool pipeline_parse(struct diag *d, const char *text, struct pipeline *out)
{
	out->n = 0;
	if (!text) {
		for (unsigned i = 0; i < sizeof default_pipeline / sizeof *default_pipeline; i++)
			add_pass(d, out, default_pipeline[i]);
		return true;
	}
	while (*text) {
		size_t n = strcspn(text, ",{");
		enum pass_id id = pass_find(text, n);
		if (id == PASS_COUNT) {
			struct buf name = {0};
			buf_putn(&name, text, n);
			unknown_pass(d, name.at, pass_info[0].name, pass_info[0].name);
			buf_free(&name);
			return false;
		}
		if (!add_pass(d, out, id))
			return false;
		text += n;
		if (*text == '{' && !read_options(d, &text, id, out->at[out->n - 1].option))
			return false;
		if (*text && *text != ',') {
			diag_error(d, E_PASS_LIST, DIAG_NOWHERE,
			           "passes are separated by commas, not by '%s'", text);
			return false;
		}
		text += *text == ',';
	}
	return true;
}

bool pipeline_add_before(struct diag *d, struct pipeline *p, enum pass_id pass, enum pass_id before)
{
	unsigned at = 0;
	for (unsigned i = 0; i < p->n; i++)
		if (p->at[i].pass == pass)
			return true;
	while (at < p->n && p->at[at].pass != before)
		at++;
	if (at == p->n) {
		diag_error(d, E_PASS_ABSENT, DIAG_NOWHERE, "%s runs right before %s, which does not run",
		           pass_info[pass].name, pass_info[before].name);
		return false;
	}
	if (!add_pass(d, p, pass))
		return false;
	struct pipeline_pass added = p->at[p->n - 1];
	memmove(&p->at[at + 1], &p->at[at], sizeof *p->at * (p->n - 1 - at));
	p->at[at] = added;
	return true;
}

void pipeline_remove(struct pipeline *p, enum pass_id pass)
{
	unsigned n = 0;
	for (unsigned i = 0; i < p->n; i++)
		if (p->at[i].pass != pass)
			p->at[n++] = p->at[i];
	p->n = n;
}

bool pipeline_set(struct diag *d, struct pipeline *p, enum pass_id pass, const char *option)
{
	bool found = false;
	for (unsigned i = 0; i < p->n; i++) {
		if (p->at[i].pass != pass)
			continue;
		found = true;
		if (!pass_option_set(d, pass, option, strlen(option), p->at[i].option))
			return false;
	}
	if (!found) {
		diag_error(d, E_PASS_ABSENT, DIAG_NOWHERE, "'%s' is an option of %s, which does not run",
		           option, pass_info[pass].name);
	}
	return found;
}

void pipeline_list(struct buf *out)
{
	for (unsigned i = 0; i < PASS_COUNT; i++) {
		buf_printf(out, "%-22s %s\n", pass_info[i].name, pass_info[i].help);
		for (unsigned k = 0; k < PASS_OPTION_COUNT; k++) {
			if (pass_option_info[k].pass != i)
				continue;
			buf_printf(out, "%-22s   {%s=", "", pass_option_info[k].name);
			pass_option_put_values(k, out);
			buf_puts(out, "} ");
			pass_option_put_help(k, out);
			buf_putc(out, '\n');
		}
	}
}

/* The options of a pass: a default that is a number, and the largest, or words, of which the first is the
 * default. */
static void add_options(enum pass_id pass, struct table *to)
{
	static const struct table_column column[] = {
	    {.name = "name"}, {.name = "default"}, {.name = "most"}, {.name = "words"}, {.name = "help"}};
	struct table t = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	struct buf text = {0}, words = {0};
	t.in_line = true;
	for (unsigned k = 0; k < PASS_OPTION_COUNT; k++) {
		const struct pass_option_info *o = &pass_option_info[k];
		if (o->pass != pass)
			continue;
		table_add_text(&t, o->name);
		if (o->words) {
			table_add_text(&t, o->words[0]);
			table_add_none(&t);
		} else {
			table_add_int(&t, o->first);
			table_add_int(&t, o->most);
		}
		for (unsigned i = 0; o->words && o->words[i]; i++)
			buf_printf(&words, "%s\"%s\"", i ? ", " : "[", o->words[i]);
		buf_puts(&words, o->words ? "]" : "null");
		table_add_json(&t, &words);
		words.n = 0;
		table_add_text(&t, o->help);
	}
	table_put(&t, &text);
	table_add_json(to, &text);
	table_close(&t);
	buf_free(&words);
	buf_free(&text);
}

void pipeline_list_json(struct buf *out)
{
	static const struct table_column column[] = {{.name = "name"}, {.name = "help"}, {.name = "options"}};
	struct table t = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	for (unsigned i = 0; i < PASS_COUNT; i++) {
		table_add_text(&t, pass_info[i].name);
		table_add_text(&t, pass_info[i].help);
		add_options(i, &t);
	}
	table_put(&t, out);
	table_close(&t);
}

/* Returns true if a name is one of the pipeline's passes or one of two words. */
static bool check_name(struct diag *d, const struct pipeline *p, const char *name, const char *word,
                       const char *other)
{
	if (!name || !strcmp(name, word) || !strcmp(name, other))
		return true;
	enum pass_id id = pass_find(name, strlen(name));
	if (id == PASS_COUNT) {
		unknown_pass(d, name, word, other);
		return false;
	}
	for (unsigned i = 0; i < p->n; i++)
		if (p->at[i].pass == id)
			return true;
	diag_error(d, E_PASS_ABSENT, DIAG_NOWHERE, "%s is not among the passes that run", name);
	return false;
}

bool pipeline_options_check(struct diag *d, const struct pipeline *p, const struct pipeline_options *o)
{
	return check_name(d, p, o->print_before, "all", "all") &&
	       check_name(d, p, o->print_after, "all", "changed") &&
	       check_name(d, p, o->stop_after, "parse", "parse");
}

/* ---- remarks */

/* ` (foo.hir:12)` and the end of the line. */
static void end_line(const struct module *m, uint32_t at)
{
	uint32_t line, column;
	if (m->source && at != DIAG_NOWHERE) {
		source_position(m->source, at, &line, &column);
		fprintf(stderr, " (%s:%u)", source_name(m->source, at), line);
	}
	fputc('\n', stderr);
}

void pipeline_remark(const struct pipeline_options *o, const struct module *m, const char *pass, uint32_t at,
                     const char *text)
{
	if (o && o->remark) {
		o->remark(o->remark_to, pass, at, text);
	} else {
		fprintf(stderr, "%s: %s", pass, text);
		end_line(m, at);
	}
}

void pass_remark(struct pass_context *cx, const struct module *m, uint32_t at, const char *format, ...)
{
	if (!cx->remarks)
		return;
	va_list args;
	struct buf text = {0};
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	pipeline_remark(cx->options, m, cx->pass->name, at, text.at);
	buf_free(&text);
}

bool pass_may_change(struct pass_context *cx, const struct module *m, uint32_t at, const char *format, ...)
{
	if (!cx->options || !cx->options->changes.given)
		return true;
	if (++cx->changes > cx->options->changes.most)
		return false;
	va_list args;
	fprintf(stderr, "change %lld: %s: ", (long long)cx->changes, cx->pass->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	end_line(m, at);
	return true;
}

void pass_put_name(struct module *m, value_id v, struct buf *out)
{
	op_id def = m->value.at[v].def;
	while (!m->value.at[v].name && def && op_traits(m, def) & TRAIT_VIEW) {
		v = op_read(m, def, 0);
		def = m->value.at[v].def;
	}
	if (m->value.at[v].name)
		ir_print_value_name(m, v, out);
	else
		buf_printf(out, "a %s", def ? op_info[m->op.at[def].kind].hir : "tensor");
}

/* ---- running */

struct times {
	double ms, cpu_ms; /* cpu: of all processors */
};

struct run {
	struct module *m;
	struct diag *d;
	const struct pipeline_options *o;
	struct pass_context cx;
	struct buf text; /* the program after the last pass, for `changed` */
	struct times took[PIPELINE_MAX];
	bool has_text;
	bool guarded; /* guard is on, see guard.h */
};

static void print_module(struct run *r, struct buf *out)
{
	if (!r->o->concise)
		ir_print_nvfuser(r->m, out);
	else
		ir_print_hir(r->m, out);
}

static bool write_dump(struct run *r, unsigned number, const char *name)
{
	struct buf path = {0}, text = {0};
	buf_printf(&path, "%s/%02u-%s.%s", r->o->dump_dir, number, name, r->o->concise ? "hir" : "hostir");
	if (mkdir(r->o->dump_dir, 0777) && errno != EEXIST)
		errno = errno ? errno : EIO;
	print_module(r, &text);
	bool ok = file_replace(path.at, &(struct file_part){text.at, text.n}, 1);
	if (!ok)
		diag_error(r->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", path.at,
		           strerror(errno));
	buf_free(&path);
	buf_free(&text);
	return ok;
}

/* --print-before. */
static void print_before(struct run *r, const char *name)
{
	const char *before = r->o->print_before;
	struct buf text = {0};
	if (!before || (strcmp(before, "all") && strcmp(before, name)))
		return;
	print_module(r, &text);
	fprintf(stderr, "# before %s\n%s", name, text.at);
	buf_free(&text);
}

/* --print-after and --dump-dir. */
static bool show_program(struct run *r, unsigned number, const char *name)
{
	const char *after = r->o->print_after;
	bool changed = after && !strcmp(after, "changed");
	if (r->o->dump_dir && !write_dump(r, number, name))
		return false;
	if (!after || (!changed && (!number || (strcmp(after, "all") && strcmp(after, name)))))
		return true;
	struct buf text = {0};
	print_module(r, &text);
	if (number && !(changed && r->has_text && !strcmp(text.at, r->text.at)))
		fprintf(stderr, "# after %s\n%s", name, text.at);
	buf_free(&r->text);
	r->text = text;
	r->has_text = true;
	return true;
}

/* Checks that the program after a pass fulfils the contract of the pass. */
static bool check_pass(struct run *r, const char *name)
{
	unsigned before = diag_error_count(r->d);
	/* A pass that was kept from a change may not have come as far as it promises. */
	bool whole = name && !(r->o->changes.given && r->cx.changes > r->o->changes.most);
	bool ok =
	    !r->o->verify_each || (ir_verify(r->m, r->d) && (!whole || pass_check_establishes(r->m, &r->cx)));
	if (ok && r->o->verify_each && !name)
		r->guarded = guard_starts(r->m);
	else if (ok && r->guarded)
		ok = guard_check(r->m, r->d);
	if (ok && r->o->after) { /* `after` prints, but must not decide the numbers in the final dump */
		struct ir_numbers *saved = ir_numbers_save(r->m);
		ok = r->o->after(r->o->after_to, r->m, name);
		ir_numbers_restore(r->m, saved);
	}
	if (!ok)
		diag_note(r->d, DIAG_NOWHERE, "this is a bug in %s", name ? name : "reading the program");
	return ok && diag_error_count(r->d) == before;
}

static double read_ms(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static struct times read_times(void)
{
	return (struct times){read_ms(CLOCK_MONOTONIC), read_ms(CLOCK_PROCESS_CPUTIME_ID)};
}

static void print_times(const struct run *r, const struct pipeline *p, unsigned n)
{
	bool json = !strcmp(r->o->timing, "json");
	struct times sum = {0};
	if (json)
		fputs("{\"version\":1,\"passes\":[", stderr);
	for (unsigned i = 0; i < n; i++) {
		sum.ms += r->took[i].ms;
		sum.cpu_ms += r->took[i].cpu_ms;
		fprintf(stderr,
		        json ? "%s{\"pass\":\"%s\",\"ms\":%.3f,\"cpu_ms\":%.3f}"
		             : "%s%-22s %10.3f ms, cpu %10.3f ms\n",
		        json && i ? "," : "", pass_info[p->at[i].pass].name, r->took[i].ms,
		        r->took[i].cpu_ms);
	}
	fprintf(stderr,
	        json ? "],\"ms\":%.3f,\"cpu_ms\":%.3f}\n"
	             : "total                  %10.3f ms, cpu %10.3f ms\n",
	        sum.ms, sum.cpu_ms);
}

static enum status run_pass(struct run *r, const struct pipeline *p, unsigned i)
{
	const struct pass_info *info = &pass_info[p->at[i].pass];
	r->cx.pass = info;
	r->cx.pipeline = p;
	r->cx.at = i;
	memcpy(r->cx.option, p->at[i].option, sizeof r->cx.option);
	if (r->o->changes.given)
		fprintf(stderr, "pass %s\n", info->name);
	print_before(r, info->name);
	struct times start = read_times();
	bool ok = pass_check_requires(r->m, &r->cx) && info->run(r->m, &r->cx);
	struct times end = read_times();
	r->took[i] = (struct times){end.ms - start.ms, end.cpu_ms - start.cpu_ms};
	if (!ok)
		return STATUS_DIAGNOSTICS;
	if (!check_pass(r, info->name))
		return STATUS_INTERNAL;
	return show_program(r, i + 1, info->name) ? STATUS_OK : STATUS_DIAGNOSTICS;
}

enum status pipeline_run(struct module *m, struct diag *d, const struct pipeline *p,
                         const struct pipeline_options *o)
{
	struct run r = {.m = m,
	                .d = d,
	                .o = o,
	                .cx = {.d = d, .remarks = o->remarks, .cluster = o->cluster, .options = o}};
	struct source *outer = diag_set_source(d, m->source);
	enum status status = check_pass(&r, NULL) ? STATUS_OK : STATUS_INTERNAL;
	unsigned n = 0;
	if (status == STATUS_OK && !show_program(&r, 0, "parse"))
		status = STATUS_DIAGNOSTICS;
	bool stop = o->stop_after && !strcmp(o->stop_after, "parse");
	while (status == STATUS_OK && !stop && n < p->n) {
		status = run_pass(&r, p, n);
		stop = o->stop_after && !strcmp(o->stop_after, pass_info[p->at[n].pass].name);
		n++;
	}
	if (o->timing)
		print_times(&r, p, n);
	diag_set_source(d, outer);
	vec_free(&r.cx.allocated);
	buf_free(&r.text);
	return status;
}
