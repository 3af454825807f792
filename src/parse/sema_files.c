/* sema_files: declarations of a program of several files (ir/ir_files.h).
 *
 * Meshes, groups, the cluster and params of one name are one thing, and must be alike in all files. */
#include "parse/sema_internal.h"
#include <string.h>

bool sema_is_own(const struct sema *s, uint32_t at)
{
	return at >= s->begin;
}

void sema_report_unlike(struct sema *s, const char *kind, name_id name, uint32_t at, uint32_t other)
{
	const char *text = names_text(s->m->names, name);
	diag_error_span(s->d, E_FILES_UNLIKE, at, (uint32_t)strlen(text),
	                "%s '%s' differs from the one in '%s'", kind, text, source_name(s->a->source, other));
	diag_note(s->d, other, "it is declared here, too: declare it alike in both files, or rename one");
}

param_id sema_add_param(struct sema *s, const struct param *p, name_id name)
{
	for (param_id k = 1; k < s->m->param.n; k++) {
		const struct param *o = &s->m->param.at[k];
		if (sema_is_own(s, o->at) || o->name != p->name || (!p->name && o->number != p->number))
			continue;
		if (o->has_value != p->has_value || (o->has_value && o->value != p->value))
			sema_report_unlike(s, "param", name, p->at, o->at);
		return k;
	}
	param_id k = ir_param_add(s->m, p->name, p->at);
	s->m->param.at[k] = *p;
	return k;
}
