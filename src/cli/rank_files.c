/* rank_files: see rank_files.h. */
#include "cli/rank_files.h"
#include "analysis/recorded_classes.h"
#include "base/source_read.h"
#include "cli/rank_graphs.h"
#include "import/import.h"
#include "ir/build.h"
#include "ir/ir_files.h"
#include "parse/sema.h"
#include <inttypes.h>
#include <stdlib.h>

const char *rank_files_name(const char *word)
{
	const char *c = word;
	do {
		size_t n = strspn(c, "0123456789");
		if (!n)
			return NULL;
		c += n;
		if (*c == '-') {
			n = strspn(++c, "0123456789");
			if (!n)
				return NULL;
			c += n;
		}
	} while (*c++ == ',');
	return c[-1] == ':' && *c ? c : NULL;
}

static bool add_ranks(struct diag *d, struct compile_options *o, const char *word, const struct ir_ranks *r)
{
	if (r->first > r->last || r->last >= IR_MAX_DEVICES) {
		diag_error(d, E_FILES_RANKS, DIAG_NOWHERE, "'%s': ranks rise, from 0 to %d", word,
		           IR_MAX_DEVICES - 1);
		return false;
	}
	for (uint32_t k = 0; k < o->ranks.n; k++) {
		const struct ir_ranks *x = &o->ranks.at[k];
		if (r->first > x->last || r->last < x->first)
			continue;
		diag_error(d, E_FILES_RANKS, DIAG_NOWHERE,
		           "rank %" PRId64 " has two files: '%s' gives it one more",
		           r->first > x->first ? r->first : x->first, word);
		return false;
	}
	vec_push(&o->ranks, *r);
	return true;
}

/* Reads the ranks of a word with ranks. */
static bool read_ranks(struct diag *d, struct compile_options *o, const char *word, uint32_t file)
{
	const char *c = word;
	do {
		char *end;
		struct ir_ranks r = {.file = file};
		r.first = r.last = strtoll(c, &end, 10);
		if (*end == '-')
			r.last = strtoll(end + 1, &end, 10);
		if (!add_ranks(d, o, word, &r))
			return false;
		c = end;
	} while (*c++ == ',');
	return true;
}

/* Returns the number of ranks that have a file, if no rank below the last one lacks it; otherwise reports it and
 * returns 0. */
static int64_t count_ranks(struct diag *d, const struct compile_options *o)
{
	int64_t ranks = 0;
	for (uint32_t k = 0; k < o->ranks.n;)
		if (o->ranks.at[k].first <= ranks && o->ranks.at[k].last >= ranks) {
			ranks = o->ranks.at[k].last + 1;
			k = 0;
		} else {
			k++;
		}
	for (uint32_t k = 0; k < o->ranks.n; k++)
		if (o->ranks.at[k].last >= ranks) {
			diag_error(d, E_FILES_RANKS, DIAG_NOWHERE, "rank %" PRId64 " has no file", ranks);
			diag_note(d, DIAG_NOWHERE,
			          "write it among the ranks of a file, as in %" PRId64 ":FILE", ranks);
			return 0;
		}
	return ranks;
}

/* Finds the ranks of all words. */
static bool find_ranks(struct diag *d, struct compile_options *o, const char *const *word, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		if (!rank_files_name(word[0]) != !rank_files_name(word[k])) {
			diag_error(d, E_FILES_RANKS, DIAG_NOWHERE, "'%s' names its ranks, '%s' does not",
			           word[rank_files_name(word[0]) ? 0 : k],
			           word[rank_files_name(word[0]) ? k : 0]);
			diag_note(d, DIAG_NOWHERE,
			          "write the ranks before each file, as in 0-3:A.hir 4-7:B.hir");
			return false;
		}
		if (rank_files_name(word[k]) ? !read_ranks(d, o, word[k], k)
		                             : !add_ranks(d, o, word[k], &(struct ir_ranks){k, k, k}))
			return false;
	}
	int64_t ranks = count_ranks(d, o), asked = compile_asked_ranks(o);
	if (ranks && asked && asked != ranks)
		diag_error(d, E_FILES_RANKS, DIAG_NOWHERE,
		           "the files are for %" PRId64 " ranks, --np gives %" PRId64, ranks, asked);
	if (ranks && !asked)
		o->np = ranks;
	return ranks && (!asked || asked == ranks);
}

/* Joins the files, after recorded graphs among them became programs. */
static enum status join(struct diag *d, struct compile_options *o, struct source **of, uint32_t n,
                        struct source **out)
{
	if (!rank_graphs_import(d, o, of, &n)) {
		for (uint32_t k = 0; k < n; k++)
			source_free(of[k]);
		return STATUS_DIAGNOSTICS;
	}
	*out = source_join(d, of, n);
	return *out ? STATUS_OK : STATUS_DIAGNOSTICS;
}

bool rank_files_allow(struct diag *d, const struct source *s, bool is_given, const char *option)
{
	if (s->file && is_given)
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "%s needs a program of one file: leave it away", option);
	return !s->file || !is_given;
}

enum status rank_files_read(struct diag *d, struct compile_options *o, const struct command_line *line,
                            struct source **out)
{
	const char *const *word = line->file.at;
	const uint32_t n = line->file.n;
	VEC(struct source *) of = {0};
	enum status status = STATUS_OK;
	if (n == 1 && !rank_files_name(word[0]))
		return source_read_bytes(d, word[0], import_knows_bytes, out);
	if (!find_ranks(d, o, word, n))
		return STATUS_USAGE;
	for (uint32_t k = 0; k < n; k++) {
		const char *name = rank_files_name(word[k]);
		struct source *s = NULL;
		enum status read = source_read_bytes(d, name ? name : word[k], import_knows_bytes, &s);
		if (read)
			status = read;
		else
			vec_push(&of, s);
	}
	if (status == STATUS_OK)
		status = join(d, o, of.at, of.n, out);
	else
		for (uint32_t k = 0; k < of.n; k++)
			source_free(of.at[k]);
	vec_free(&of);
	if (status == STATUS_OK && !rank_files_allow(d, *out, o->pipeline.dump_dir, "--dump-dir")) {
		source_free(*out);
		status = STATUS_USAGE;
	}
	return status;
}

/* Lists the members of groups of all ranks. */
static void list_members(struct module *m, int64_t ranks)
{
	uint32_t n = (uint32_t)ranks, *device = mem_alloc(sizeof *device * n);
	for (uint32_t k = 0; k < n; k++)
		device[k] = k;
	for (group_id g = 1; g < m->group.n; g++)
		if (!m->group.at[g].members && m->group.at[g].size == n)
			m->group.at[g].members = ir_team_make(m, 1, (uint32_t[]){0, n}, device);
	free(device);
}

/* Checks that the meshes have a device for each rank that has a file, and for no other. */
static bool check_ranks(struct diag *d, struct module *m, const struct compile_options *o)
{
	int64_t given = 0, needed = module_ranks(m);
	for (uint32_t k = 0; k < o->ranks.n; k++)
		given = o->ranks.at[k].last >= given ? o->ranks.at[k].last + 1 : given;
	if (given > needed && recorded_has_classes(m)) { /* groups of graphs may list no members */
		list_members(m, given);
		m->file_ranks = needed = given;
	}
	if (given == needed)
		return true;
	diag_error(d, E_FILES_RANKS, DIAG_NOWHERE,
	           "the program needs %" PRId64 " rank%s, the files are for %" PRId64, needed,
	           needed == 1 ? "" : "s", given);
	diag_note(d, DIAG_NOWHERE,
	          "give a file for each rank, or write the ranks of a file before its name, as in 0-3:%s",
	          m->source->file[0].name);
	return false;
}

static bool check_memory_kinds(struct diag *d, const struct module *m)
{
	for (value_id v = 1; v < m->value.n && m->source->file_n > 1; v++) {
		if (value_type(m, v)->memory != MEMORY_SYMMETRIC)
			continue;
		diag_error(d, E_FILES_SYMMETRIC, m->value.at[v].at,
		           "symmetric memory is shared by all ranks, and this program has several files");
		diag_note(d, DIAG_NOWHERE, "write one file, with `if rank == 0 { … }` where ranks differ");
		return false;
	}
	return true;
}

static bool runs_pass(const struct compile_options *o, enum pass_id pass)
{
	for (unsigned k = 0; k < o->run.n; k++)
		if (o->run.at[k].pass == pass)
			return true;
	return false;
}

/* Returns true if the program that the module holds is a recorded graph. */
static bool is_graph(const struct module *m)
{
	region_each (m, op, m->body)
		if (m->op.at[op].kind == OP_EXTERN && op_attr(m, op, "kind"))
			return true;
	return false;
}

/* Runs the passes on the joined program of n files, graph_n of which are recorded graphs. */
static enum status finish_graphs(struct diag *d, struct module *m, struct compile_options *o, uint32_t n,
                                 uint32_t graph_n)
{
	if (graph_n == n) {
		rank_graphs_rename(m);
		return compile_finish(d, m, o, true);
	}
	diag_error(d, E_RECORDED_GRAPH, DIAG_NOWHERE,
	           "schedule-overlap: %u of %u files are recorded graphs, which are scheduled together",
	           graph_n, n);
	diag_note(d, DIAG_NOWHERE, "give recorded graphs for all ranks, or leave the pass away");
	return STATUS_DIAGNOSTICS;
}

struct module *rank_files_compile(struct diag *d, struct source *s, struct compile_options *o, bool passes,
                                  enum status *status)
{
	const struct sema_options options = compile_sema_options(o);
	struct module *m = NULL;
	struct ir_files files = {0};
	const bool together = passes && runs_pass(o, PASS_SCHEDULE_OVERLAP);
	uint32_t graph_n = 0;
	*status = STATUS_OK;
	for (uint32_t k = 0; k < s->file_n; k++) {
		unsigned errors = diag_error_count(d);
		m = sema_build_file(d, s, k, m, &options);
		if (diag_error_count(d) > errors)
			*status = STATUS_DIAGNOSTICS; /* go on to the errors of other files */
		else if (together && is_graph(m))
			graph_n++;
		else if (*status == STATUS_OK)
			*status = compile_finish(d, m, o, passes);
		ir_files_take(&files, m, o->ranks.at, o->ranks.n);
	}
	ir_files_join(&files, m);
	if (*status == STATUS_OK && (!check_ranks(d, m, o) || !check_memory_kinds(d, m)))
		*status = STATUS_DIAGNOSTICS;
	if (*status == STATUS_OK && graph_n)
		*status = finish_graphs(d, m, o, s->file_n, graph_n);
	if (*status == STATUS_OK)
		return m;
	module_free(m);
	return NULL;
}
