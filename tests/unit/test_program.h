/* test_program: parses programs, for tests that inspect the IR. */
#ifndef HIRC_TEST_PROGRAM_H
#define HIRC_TEST_PROGRAM_H
#include "check.h"
#include "parse/ast.h"
#include "parse/sema.h"
#include <string.h>

struct program {
	struct source *source;
	struct diag *d;
	struct module *m;
};

static inline struct program program_of(const char *text)
{
	struct program p = {.source = source_from_text("p.hir", text, (uint32_t)strlen(text))};
	struct sema_options sema = {0};
	p.d = diag_new(stderr, DIAG_TEXT, 0);
	diag_set_source(p.d, p.source);
	struct ast *a = ast_parse(p.d, p.source);
	p.m = sema_build(p.d, a, &sema);
	CHECK(p.m != NULL);
	ast_free(a);
	return p;
}

static inline void program_free(struct program *p)
{
	module_free(p->m);
	diag_free(p->d);
	source_free(p->source);
}

#endif
