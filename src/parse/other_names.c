/* other_names: see other_names.h. */
#include "parse/other_names.h"
#include "base/dtype.h"
#include "hir_parser.h"
#include "parse/lex.h"
#include <string.h>
#include <strings.h>

static const struct {
	enum other_kind kind;
	const char *there, *here;
} others[] = {
#define OTHER(kind, there, here) {OTHER_##kind, there, here},
#include "parse/other_names.def"
};

static const char *const forms[OP_KIND_COUNT] = {
#define FORM(operation, form) [OP_##operation] = form,
#include "parse/other_names.def"
};

/* Returns true if a name is one of PyTorch's for a dtype. */
static bool is_torch_name(enum dtype t, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = dtype_torch_names(t); *at;) {
		size_t length = strcspn(at, " ");
		if (length == n && strncasecmp(at, name, n) == 0)
			return true;
		at += length + (at[length] == ' ');
	}
	return false;
}

const char *other_name_find(enum other_kind kind, const char *name)
{
	for (unsigned t = 0; kind == OTHER_DTYPE && t < DTYPE_COUNT; t++)
		if (is_torch_name(t, name))
			return dtype_name(t);
	for (unsigned k = 0; k < sizeof others / sizeof *others; k++)
		if (others[k].kind == kind && strcasecmp(others[k].there, name) == 0)
			return others[k].here;
	return NULL;
}

/* Returns true if a text is nothing but code in backquotes. */
static bool is_code(const char *text)
{
	const char *end = *text == '`' ? strchr(text + 1, '`') : NULL;
	return end && !end[1];
}

bool other_name_note(struct diag *d, enum other_kind kind, const char *name)
{
	const char *here = other_name_find(kind, name);
	if (!here)
		return false;
	enum op_kind op = kind == OTHER_OPERATION && lex_is_word(here) ? op_by_hir(here) : OP_NONE;
	if (op != OP_NONE && forms[op])
		diag_note(d, DIAG_NOWHERE, "here it is called `%s`: `%s`", here, forms[op]);
	else if (lex_is_word(here))
		diag_note(d, DIAG_NOWHERE, "here it is called `%s`", here);
	else
		diag_note(d, DIAG_NOWHERE, "%s%s", is_code(here) ? "write " : "", here);
	return true;
}

bool other_name_show_form(struct diag *d, enum op_kind kind)
{
	if (forms[kind])
		diag_note(d, DIAG_NOWHERE, "write `%s`", forms[kind]);
	return forms[kind];
}

bool other_name_show_line(struct diag *d, int token)
{
	static const struct {
		int token;
		const char *form;
	} lines[] = {
#define LINE(token, form) {TOK_##token, form},
#include "parse/other_names.def"
	};
	for (unsigned k = 0; k < sizeof lines / sizeof *lines; k++)
		if (lines[k].token == token) {
			diag_note(d, DIAG_NOWHERE, "write `%s`", lines[k].form);
			return true;
		}
	return false;
}

void other_name_note_points(struct diag *d, const char *first, const char *last)
{
	bool of_module = other_name_find(OTHER_MODULE, first);
	enum op_kind op = op_by_hir(last);
	enum dtype dtype;
	if (dtype_parse(last, &dtype) || (of_module && op != OP_NONE))
		diag_note(d, DIAG_NOWHERE, "here it is called `%s`", last);
	else if (op != OP_NONE && forms[op])
		diag_note(d, DIAG_NOWHERE, "a tensor is an operand, in parentheses: `%s`", forms[op]);
	else if (op != OP_NONE)
		diag_note(d, DIAG_NOWHERE, "a tensor is an operand, in parentheses: `%s(%s)`", last, first);
	else if (!other_name_note(d, OTHER_OPERATION, last) && !other_name_note(d, OTHER_DTYPE, last))
		diag_note(d, DIAG_NOWHERE, "names have no points");
}
