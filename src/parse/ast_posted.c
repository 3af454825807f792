/* ast_posted: builds what a listing of May 2024 posts, whose text stands in the statement.
 *
 *     PostOnStream the operation :{                    PostOnStream (HostUnit0, Inputs:{T0…}, Outputs:{T1…})
 *     %kernel {                                        …
 *     T1… = relu(T0…);                         →       HostUnit0: Inputs={T0…} -> Outputs={T1…}
 *     }                                                %kernel {
 *     }, taking inputs: {                              T1… = relu(T0…);
 *         T0…                                          }
 *     } and outputs: {
 *         T1…
 *     }
 *
 * A posted `Communication Allgather: { team: {0, 1, } }` becomes a Communication and its Wait: nvFuser waited for it there.
 */
#include "parse/ast_build.h"
#include "parse/lex.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ast_node *get_posted_node(struct parser *p, ast_id id)
{
	return &p->ast->nodes.at[id];
}

static uint32_t intern_text(struct parser *p, const char *text)
{
	return names_intern_z(p->ast->names, text);
}

/* Returns a list of the tensors of another one. A node is in one list only. */
static ast_id copy_tensors(struct parser *p, ast_id list)
{
	ast_id copy = ast_list(
	    p, AST_LIST, (struct parse_span){get_posted_node(p, list)->at, get_posted_node(p, list)->end}, 0);
	for (ast_id id = get_posted_node(p, list)->first; id; id = get_posted_node(p, id)->next) {
		const struct ast_node n = *get_posted_node(p, id);
		ast_id x = ast_leaf(p, AST_TENSOR, (struct parse_span){n.at, n.end}, n.name);
		*get_posted_node(p, x) = n;
		get_posted_node(p, x)->next = 0;
		ast_add(p, copy, x);
	}
	return copy;
}

static ast_id make_key(struct parser *p, struct parse_span at, const char *key, ast_id value)
{
	return ast_make(p, AST_KEY, at, intern_text(p, key), value);
}

static ast_id make_tuple(struct parser *p, struct parse_span at, ast_id tensors)
{
	return ast_become(p, copy_tensors(p, tensors), AST_TUPLE, at, 0, 0);
}

ast_id ast_posted(struct parser *p, ast_id statements, struct parse_span at, ast_id kernel, ast_id inputs,
                  ast_id outputs)
{
	char text[32];
	snprintf(text, sizeof text, "HostUnit%u", p->posted++);
	uint32_t name = intern_text(p, text);
	ast_id unit =
	    ast_make(p, AST_UNIT, at, name, kernel, make_tuple(p, at, inputs), make_tuple(p, at, outputs));
	p->units = ast_add(p, p->units ? p->units : ast_list(p, AST_LIST, at, 0), unit);
	ast_id args = ast_list(p, AST_LIST, at, ast_leaf(p, AST_NAME, at, name));
	ast_add(p, args, make_key(p, at, "inputs", make_tuple(p, at, inputs)));
	ast_add(p, args, make_key(p, at, "outputs", make_tuple(p, at, outputs)));
	ast_id call = ast_become(p, args, AST_CALL, at, intern_text(p, "PostOnStream"), 0);
	return ast_add(p, statements, ast_make(p, AST_DO, at, 0, call));
}

void ast_add_units(struct parser *p, ast_id block)
{
	ast_id unit = p->units ? get_posted_node(p, p->units)->first : 0;
	p->units = 0;
	for (ast_id next; unit; unit = next) {
		next = get_posted_node(p, unit)->next;
		get_posted_node(p, unit)->next = 0;
		ast_add(p, block, unit);
	}
}

/* Returns the place behind a word in a printed Communication; NULL: it has none. */
static const char *find_word(struct parser *p, struct parse_span at, const char *word)
{
	const char *text = (const char *)p->text + at.at,
	           *found = memmem(text, at.end - at.at, word, strlen(word));
	return found ? found + strlen(word) : NULL;
}

/* Reads the devices of `team: {0, 1, }`. */
static ast_id read_team(struct parser *p, struct parse_span at)
{
	ast_id slice = ast_list(p, AST_LIST, at, 0);
	const char *c = strchr(find_word(p, at, "team:"), '{') + 1; /* the lexer has found both */
	for (c += strspn(c, ", \t\r\n"); lex_is_digit(*(const unsigned char *)c);
	     c += strspn(c, ", \t\r\n")) {
		char *end;
		ast_add(p, slice, ast_int(p, AST_INT, at, strtol(c, &end, 10)));
		c = end;
	}
	return ast_list(p, AST_TEAM, at, ast_become(p, slice, AST_TUPLE, at, 0, 0));
}

/* Returns the name of the collective: Allgather, which some versions print in small letters. */
static uint32_t read_type(struct parser *p, struct parse_span at)
{
	const char *word = find_word(p, at, "Communication");
	char type[32];
	word += strspn(word, " \t");
	snprintf(type, sizeof type, "%.*s",
	         (int)strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), word);
	*type = (char)toupper((unsigned char)*type);
	return intern_text(p, type);
}

ast_id ast_posted_communication(struct parser *p, ast_id statements, struct parse_span at, ast_id inputs,
                                ast_id outputs)
{
	int64_t number = (int64_t)p->posted++;
	const char *root = find_word(p, at, "root:");
	ast_id keys =
	    ast_list(p, AST_LIST, at, make_key(p, at, "type", ast_leaf(p, AST_NAME, at, read_type(p, at))));
	ast_add(p, keys, make_key(p, at, "team", read_team(p, at)));
	if (root)
		ast_add(p, keys, make_key(p, at, "root", ast_int(p, AST_INT, at, strtol(root, NULL, 10))));
	ast_id in = get_posted_node(p, copy_tensors(p, inputs))->first,
	       out = get_posted_node(p, copy_tensors(p, outputs))->first;
	if (!in || !out || get_posted_node(p, in)->next || get_posted_node(p, out)->next) {
		diag_error_span(p->diag, E_UNEXPECTED, at.at, at.end - at.at,
		                "a Communication takes one input and has one output");
		return statements;
	}
	ast_add(p, keys, make_key(p, at, "input", in));
	ast_add(p, keys, make_key(p, at, "output", out));
	uint32_t name = intern_text(p, "Communication");
	ast_add(p, statements, ast_make(p, AST_DO, at, 0, ast_communication(p, at, name, number, keys)));
	return ast_add(p, statements,
	               ast_old_call(p, at, intern_text(p, "Wait"), ast_int(p, AST_COMM_REF, at, number)));
}
