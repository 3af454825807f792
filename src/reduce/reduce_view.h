/* reduce_view: one text as parts that can be left out: tokens, statements, and the parsed program.
 *
 * The fault may be in the parser itself. So the parser first reads the text in a child process; if the child
 * dies or hangs, there is no tree. */
#ifndef HIRC_REDUCE_REDUCE_VIEW_H
#define HIRC_REDUCE_REDUCE_VIEW_H
#include "ir/ir.h"
#include "parse/ast.h"

enum reduce_token_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_QUOTED, TOKEN_COMMENT, TOKEN_SIGN };

struct reduce_token {
	enum reduce_token_kind kind;
	uint32_t at, end;   /* bytes */
	uint32_t word;      /* of a word: its id in view.word */
	uint32_t next;      /* the next token with the same word; REDUCE_NO_TOKEN: none */
	uint32_t statement; /* the statement whose own text contains the token; REDUCE_NO_TOKEN: none */
};

#define REDUCE_NO_TOKEN UINT32_MAX

struct reduce_statement {
	ast_id id;
	uint32_t cut_at, cut_end; /* bytes to cut: whole lines, if nothing else is on them */
	uint32_t own_end;         /* the end of its own text, before its first block */
	bool frame;               /* a program or container, which is never left out */
};

struct reduce_view {
	const struct buf *text; /* not owned */
	struct source *source;
	struct ast *ast;       /* NULL: the parser died */
	bool broken;           /* the parser reported an error, or died */
	struct module *module; /* built from a second tree; NULL: the program has errors */
	struct source *module_source;
	VEC(struct reduce_token) token;
	struct names *word;  /* owned */
	VEC(uint32_t) first; /* by word: its first token; REDUCE_NO_TOKEN: none */
	VEC(struct reduce_statement)
	statement; /* in the order of the text; a block comes before its statements */
};

void reduce_view_make(struct reduce_view *v, const struct buf *text);
void reduce_view_free(struct reduce_view *v);
/* Returns the first token with this word, whose `next` leads to the others; REDUCE_NO_TOKEN: none. */
uint32_t reduce_word_first(const struct reduce_view *v, const char *word);
/* Returns the first token that begins at `at` or later; v->token.n: there is none. */
uint32_t reduce_token_from(const struct reduce_view *v, uint32_t at);
/* Appends the node's text. */
void reduce_put_node(const struct reduce_view *v, ast_id id, struct buf *out);

#endif
