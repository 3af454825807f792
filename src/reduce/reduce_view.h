/* reduce_view: one text as the parts that may go: words, statements, and the program that they make.
 *
 * The parser itself may be at fault. It first reads the text in a child, and where that dies or hangs there
 * is no tree. */
#ifndef HIRC_REDUCE_REDUCE_VIEW_H
#define HIRC_REDUCE_REDUCE_VIEW_H
#include "ir/ir.h"
#include "parse/ast.h"

enum reduce_token_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_QUOTED, TOKEN_COMMENT, TOKEN_SIGN };

struct reduce_token {
	enum reduce_token_kind kind;
	uint32_t at, end;   /* bytes */
	uint32_t word;      /* of words: its id in view.word */
	uint32_t next;      /* the next token that is this word; REDUCE_NO_TOKEN: none */
	uint32_t statement; /* whose own text it stands in; REDUCE_NO_TOKEN: none */
};

#define REDUCE_NO_TOKEN UINT32_MAX

struct reduce_statement {
	ast_id id;
	uint32_t cut_at, cut_end; /* bytes that go with it: whole lines where it has them alone */
	uint32_t own_end;         /* its text without its blocks ends here */
	bool frame;               /* program or container: it stays */
};

struct reduce_view {
	const struct buf *text; /* not owned */
	struct source *source;
	struct ast *ast;       /* NULL: the parser died */
	bool broken;           /* the parser reported an error, or died */
	struct module *module; /* of a second tree; NULL: the program is not right */
	struct source *module_source;
	VEC(struct reduce_token) token;
	struct names *word;  /* owned */
	VEC(uint32_t) first; /* by word: the first token that is it; REDUCE_NO_TOKEN: none */
	VEC(struct reduce_statement) statement; /* a block before its statements */
};

void reduce_view_make(struct reduce_view *v, const struct buf *text);
void reduce_view_free(struct reduce_view *v);
/* The first token that is this word, from which `next` leads to the others; REDUCE_NO_TOKEN: none. */
uint32_t reduce_word_first(const struct reduce_view *v, const char *word);
/* The first token that begins at `at` or later; v->token.n: none. */
uint32_t reduce_token_from(const struct reduce_view *v, uint32_t at);
/* The node's text. */
void reduce_put_node(const struct reduce_view *v, ast_id id, struct buf *out);

#endif
