/* The lexer of both surfaces, over a whole source that ends with a NUL.
 *
 * It knows characters, words and comments. Line ends come out as they stand; which of them end a
 * statement, and what indentation and brackets mean, is for src/parse/lines.c. Which token a word is
 * stands in src/parse/lex_word.c. Forms that the nvFuser surface spells in several words are taken as
 * one token here where only the characters after them tell what they are (`Outer split:`, `iS8{`,
 * `T0_g_float[`). */
#include "base/word.h"
#include "parse/lex.h"
#include "parse/lex_token.h"
#include "parse/other_names.h"
#include "hir_parser.h"
#include <string.h>

static int64_t scan_int(struct parser *p, const unsigned char *start, struct parse_span at)
{
	int64_t value = 0;
	for (const unsigned char *c = start; lex_is_digit(*c); c++)
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *c - '0', &value)) {
			lex_report(p, E_NUMBER_TOO_LARGE, at, "this number does not fit in 64 bits", "");
			return 0;
		}
	return value;
}

/* Returns true if a `-` after the token is a difference. */
static bool ends_operand(int token)
{
	return token == TOK_INT || token == TOK_FLOAT || token == TOK_NAME || token == TOK_RPAREN || token == TOK_RBRACKET ||
	       token == TOK_MESH_AGAIN || token == TOK_TENSOR_AGAIN;
}

/* The contents of the string between the quotes, interned. */
static int64_t scan_string(struct parser *p, const unsigned char *start, const unsigned char *end)
{
	if (!memchr(start, '\\', (size_t)(end - start)))
		return lex_intern(p, start, (size_t)(end - start));
	struct buf b = {0};
	for (const unsigned char *c = start; c < end; c++) {
		if (*c != '\\') {
			buf_putc(&b, *c);
			continue;
		}
		static const char escapes[] = "n\nt\t\\\\\"\"";
		const char *e = escapes;
		for (c++; *e && *e != *c;)
			e += 2;
		if (*e)
			buf_putc(&b, e[1]);
		else
			lex_report(p, E_STRING_ESCAPE, (struct parse_span){(uint32_t)(c - 1 - p->text), (uint32_t)(c + 1 - p->text)},
			       "unknown escape in a string", "; there are \\\\ \\\" \\n and \\t");
	}
	uint32_t name = lex_intern(p, (const unsigned char *)b.at, b.n);
	buf_free(&b);
	return name;
}

static void add_comment(struct parser *p, const unsigned char *start, const unsigned char *end)
{
	while (end > start && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	vec_push(&p->ast->comments,
		 (struct ast_comment){.at = (uint32_t)(start - p->text), .end = (uint32_t)(end - p->text)});
}

/* The token */

int lex_scan(struct parser *p, struct parse_token *out)
{
	const unsigned char *start, *marker, *cursor = p->cursor;
	bool body = p->mode == MODE_BODY, sections = p->mode == MODE_SECTIONS && p->at_lead;

	/*!re2c
	re2c:define:YYCTYPE = "unsigned char";
	re2c:define:YYCURSOR = cursor;
	re2c:define:YYLIMIT = p->limit;
	re2c:define:YYMARKER = marker;
	re2c:yyfill:enable = 0;
	re2c:eof = 0;

	blank   = [ \t\r];
	digits  = [0-9]+;
	exp     = [eE] [+-]? digits;
	word    = [A-Za-z_] [A-Za-z0-9_]*;
	memory  = "g" | "l" | "s" | "t" | "sym";
	complex = "std::complex<" ("float" | "double") ">";
	idkind  = [irbsnv?];
	ctype   = "float" | "double" | "bool" | "int" | ("u"? "int" ("8" | "16" | "32" | "64") "_t") | "nvfuser_index_t";
	*/

again:
	start = cursor;
#define AT ((struct parse_span){(uint32_t)(start - p->text), (uint32_t)(cursor - p->text)})
#define PLACE() (p->cursor = cursor, out->span = AT, out->line_start = p->line_start)
#define TOKEN(t) return PLACE(), (t)
#define VALUE(v, t) return PLACE(), out->value = (int64_t)(v), (t)
#define NAMED(text, t) VALUE(names_intern_z(p->ast->names, (text)), (t))
	/*!re2c
	$           { TOKEN(0); }
	blank+      { goto again; }
	"\n"        {
		PLACE();
		p->line_start = out->span.end;
		return TOK_NEWLINE;
	}
	"#" [^\n]*  { add_comment(p, start, cursor); goto again; }
	"//" [^\n]* {
		if (p->mode == MODE_HIR)
			lex_refuse_comment(p, start, "//");
		else
			add_comment(p, start, cursor);
		goto again;
	}
	"/*" {
		if (p->mode != MODE_HIR) {
			cursor = start + 1;
			TOKEN(TOK_SLASH);
		}
		lex_refuse_comment(p, start, "/*");
		for (; cursor < p->limit && (cursor[0] != '*' || cursor[1] != '/'); cursor++)
			if (*cursor == '\n')
				p->line_start = (uint32_t)(cursor + 1 - p->text);
		cursor += cursor < p->limit ? 2 : 0;
		goto again;
	}

	word        { goto plain_word; }
	"`" [^`\n]+ "`" {
		VALUE(lex_intern(p, start + 1, (size_t)(cursor - start - 2)) |
		      PARSE_QUOTED, TOK_NAME);
	}
	"`" [^`\n]* "`"? {
		PLACE();
		lex_report(p, E_QUOTE_UNCLOSED, out->span, "a name in backquotes is empty or does not end on its line", "");
		return TOK_HIR_error;
	}
	["] ([^"\\\n] | "\\" [^\n])* ["] { VALUE(scan_string(p, start + 1, cursor - 1), TOK_STRING); }
	["] ([^"\\\n] | "\\" [^\n])* {
		PLACE();
		lex_report(p, E_QUOTE_UNCLOSED, out->span, "a string does not end on its line", "");
		return TOK_HIR_error;
	}
	digits      { VALUE(scan_int(p, start, AT), TOK_INT); }
	"0" blank* "]" {
		cursor = start + 1;
		if ((body || p->lead.token == TOK_TENSOR) && p->last->token == TOK_LBRACKET)
			goto again; // until 2023 a tensor without axes is T0_g[ 0 ]
		VALUE(0, TOK_INT);
	}
	digits "." digits exp? | digits exp { TOKEN(TOK_FLOAT); }
	"0x" [0-9a-fA-F]+ {
		VALUE(lex_intern(p, start, (size_t)(cursor - start)), TOK_HANDLE);
	}
	digits word {
		PLACE();
		lex_report(p, E_NUMBER_JOINED, out->span, "a number and a word without a blank between them", "");
		size_t number = strspn((const char *)start, "0123456789");
		if (start[number] == 'x' && lex_is_digit(start[number + 1]) && !p->panic && p->mode == MODE_HIR)
			other_name_note(p->diag, OTHER_SIGN, "4x8");
		return TOK_HIR_error;
	}

	"("  { TOKEN(TOK_LPAREN); }
	")"  { TOKEN(TOK_RPAREN); }
	"["  { TOKEN(TOK_LBRACKET); }
	"]"  { TOKEN(TOK_RBRACKET); }
	"{"  { TOKEN(TOK_LBRACE); }
	"}"  { TOKEN(TOK_RBRACE); }
	","  {
		if (body && p->last->token == TOK_COMMA)
			goto again; /* nvFuser prints two before the scale of a sdpa_bwd */
		TOKEN(TOK_COMMA);
	}
	":"  { TOKEN(TOK_COLON); }
	"="  { TOKEN(TOK_ASSIGN); }
	"==" { TOKEN(TOK_EQ); }
	"!=" { TOKEN(TOK_NE); }
	"!" | "&&" | "||" {
		if (p->mode == MODE_HIR) {
			cursor = start + 1;
			PLACE();
			return lex_take_stray(p, start, out);
		}
		TOKEN(*start == '!' ? TOK_NOT : *start == '&' ? TOK_AND : TOK_OR);
	}
	"&" | "|" | "^" | "~" {
		if (p->mode == MODE_HIR) {
			PLACE();
			return lex_take_stray(p, start, out);
		}
		TOKEN(*start == '&' ? TOK_BIT_AND : *start == '|' ? TOK_BIT_OR : *start == '^' ? TOK_BIT_XOR : TOK_BIT_NOT);
	}
	"<<" | ">>" {
		if (p->mode == MODE_HIR) {
			cursor = start + 1;
			TOKEN(*start == '<' ? TOK_LT : TOK_GT);
		}
		TOKEN(*start == '<' ? TOK_SHIFT_LEFT : TOK_SHIFT_RIGHT);
	}
	"<"  { TOKEN(TOK_LT); }
	"<=" { TOKEN(TOK_LE); }
	">"  { TOKEN(TOK_GT); }
	">=" { TOKEN(TOK_GE); }
	"<-" { TOKEN(TOK_WRITE); }
	"->" { TOKEN(TOK_ARROW); }
	"+"  { TOKEN(TOK_PLUS); }
	"-"  { TOKEN(TOK_MINUS); }
	"-9223372036854775808" { /* the least integer: without its sign it does not fit */
		if (ends_operand(p->last->token) || word_has(*cursor) || *cursor == '.') {
			cursor = start + 1;
			TOKEN(TOK_MINUS);
		}
		VALUE(INT64_MIN, TOK_INT);
	}
	"*"  { TOKEN(TOK_STAR); }
	"/"  { TOKEN(TOK_SLASH); }
	"%"  { TOKEN(TOK_PERCENT); }
	"@"  { TOKEN(TOK_AT); }
	".." { TOKEN(TOK_RANGE); }
	";"  {
		if (p->mode != MODE_HIR && lex_ends_line(cursor))
			goto again; /* the end of a statement that is printed over several lines */
		TOKEN(TOK_SEMICOLON);
	}

	// the nvFuser surface
	"%HostIrContainer" blank* "{" { TOKEN(TOK_CONTAINER); }
	"%HostIrContainer" blank* "{" [ \t\r\n]* "HOST IRS:" { TOKEN(TOK_CONTAINER); } // of July 2024; it ends with END.
	"END." {
		if (p->mode != MODE_BODY)
			goto plain_word;
		TOKEN(TOK_RBRACE);
	}
	"%HostIrContainer" blank* "{" [ \t\r\n]* "HOST FUSION" { TOKEN(TOK_CONTAINER); } // of May 2024; it posts units with their text
	("PostOnStream the operation" | "Execute the following " [A-Za-z0-9 ]*) blank* ":"? blank* "{" {
		if (!body || !p->at_lead)
			goto plain_word;
		TOKEN(TOK_POST);
	}
	"Communication" blank+ [A-Za-z]+ blank* ":" blank* "{" [^{}\x00]* "team:" blank* "{" [^{}\x00]* "}" [^{}\x00]* ("src_bufs:" blank* "{" [^{}\x00]* "}" [^{}\x00]*)? "}" {
		if (!body || !p->in_post)
			goto plain_word;
		TOKEN(TOK_POST_COMM);
	}
	"}" blank* "," blank* "taking inputs:" blank* "{" {
		if (!p->in_post) {
			cursor = start + 1;
			TOKEN(TOK_RBRACE);
		}
		TOKEN(TOK_POST_INPUTS);
	}
	"}" blank* "and outputs:" blank* "{" {
		if (!p->in_post) {
			cursor = start + 1;
			TOKEN(TOK_RBRACE);
		}
		TOKEN(TOK_POST_OUTPUTS);
	}
	"g{(" [a-zA-Z_]+ ")" blank* "\n" | "Segmented_Fusion" blank* "{" blank* "\n" {
		if (p->mode == MODE_BODY || !p->at_lead || p->brackets || (*start == 'S' && p->mode != MODE_HIR))
			goto plain_word;
		cursor--;
		PLACE();
		lex_report(p, E_UNEXPECTED, out->span, "the groups of a segmented fusion are no listings of their own", "");
		diag_note(p->diag, DIAG_NOWHERE, "take the whole fusion, which the dump prints first; or write the group's lists under `Inputs:` and `Outputs:`, indented, and its statements into `%%kernel { … }`");
		cursor = p->limit;
		TOKEN(0);
	}
	"%Kernel" blank* "{" {
		PLACE();
		lex_report(p, E_UNEXPECTED, out->span, "this listing is the IR of a kernel that nvFuser has lowered: it has loops, indices and threads", "");
		diag_note(p->diag, DIAG_NOWHERE, "print the fusion before it is scheduled (NVFUSER_DUMP=fusion_ir_presched), or the host program (NVFUSER_DUMP=host_ir)");
		cursor = p->limit;
		TOKEN(0);
	}
	"%kernel" "_math"? blank* "{" {
		if (!body && (sections || !p->at_lead || p->brackets)) {
			cursor = start + 1;
			TOKEN(TOK_PERCENT);
		}
		TOKEN(TOK_KERNEL); // outside a listing it begins a fusion without lists
	}
	"T" digits ("_" memory ("_" ([A-Za-z0-9_]+ | complex))?)? blank* "[" { // T0[ iS0{4} ] until 2021
		bool old = !memchr(start, '_', (size_t)(cursor - start));
		if (p->mode == MODE_HIR || (old && !body && !p->at_lead))
			goto plain_word;
		uint32_t before = p->ast->shapes ? again_find_tensor(p, start) : 0;
		if (before) {
			cursor = start + again_length(p, before);
			VALUE(before, TOK_TENSOR_AGAIN);
		}
		do
			cursor--;
		while (cursor[-1] == ' ' || cursor[-1] == '\t' || cursor[-1] == '\r');
		TOKEN(TOK_TENSOR);
	}
	idkind [A-Za-z]+ ("." [a-z0-9])? digits "{" {
		if (p->mode == MODE_HIR)
			goto plain_word;
		cursor--;
		TOKEN(TOK_ID);
	}
	"}" ("rf" | "_p" | "_c")+ {
		if (p->mode == MODE_HIR) {
			cursor = start + 1;
			TOKEN(TOK_RBRACE);
		}
		TOKEN(TOK_RBRACE_SUFFIX);
	}
	"(" blank* "DeviceMesh" blank* "{" {
		if (p->mode == MODE_HIR) {
			cursor = start + 1;
			TOKEN(TOK_LPAREN);
		}
		cursor--;
		ast_id before = p->ast->shapes ? again_find_mesh(p, cursor) : 0;
		if (before) {
			cursor += ast_length(p->ast, before) + 1;
			VALUE(before, TOK_MESH_AGAIN);
		}
		TOKEN(TOK_MESH_OPEN);
	}
	"(" ("Avg" | "Var" | "Count") ")" { /* behind the tensors of a Welford */
		if (!body) {
			cursor = start + 1;
			TOKEN(TOK_LPAREN);
		}
		goto again;
	}
	("ca_pos" | "produce_pos" | "compute_with") blank* "(" [^()\n\x00]* ")" { /* ca_pos( 2 ), compute_with( T3, 2 ) */
		if (!body && p->mode != MODE_SECTIONS)
			goto plain_word;
		goto again;
	}
	"ShareMemHandles" blank* "(" {
		if (!body)
			goto plain_word;
		TOKEN(TOK_SHARE);
	}
	"(" ctype ")" blank* "(" { /* a cast, as a name: (float)(T0…) */
		if (!body) {
			cursor = start + 1;
			TOKEN(TOK_LPAREN);
		}
		while (cursor[-1] != ')')
			cursor--;
		VALUE(lex_intern(p, start, (size_t)(cursor - start)), TOK_NAME);
	}
	"Set." word | ("deviceIdx." | "blockDim." | "gridDim.") [a-z0-9]+ {
		if (p->mode == MODE_HIR)
			goto plain_word;
		VALUE(lex_intern(p, start, (size_t)(cursor - start)), TOK_NAME);
	}
	"initial" blank+ "value" {
		if (!body)
			goto plain_word;
		NAMED("initial_value", TOK_NAME);
	}
	"[...]" { /* a text that is left out */
		if (!body) {
			cursor = start + 1;
			TOKEN(TOK_LBRACKET);
		}
		TOKEN(TOK_ELIDED);
	}
	("Group" blank+ "ID" | "Index") blank* ":" { /* Index: of 2025 */
		if (!body || !p->brackets)
			goto plain_word;
		NAMED("group_id", TOK_KEY_COLON);
	}
	"Inputs" blank* ":" {
		if (!body && p->at_lead && !p->brackets && lex_ends_line(cursor)) {
			p->mode = MODE_HIR; // also behind another listing
			TOKEN(TOK_FUSION);
		}
		if (!body || !p->brackets)
			goto plain_word;
		NAMED("inputs", TOK_KEY_COLON);
	}
	"Outputs" blank* ":" {
		if (!body || !p->brackets)
			goto plain_word;
		NAMED("outputs", TOK_KEY_COLON);
	}

	"Device" blank+ "ID" blank* [=:] blank* digits { /* a test prints it before the listing of a device */
		if (p->mode == MODE_BODY || !p->at_lead || p->brackets || !lex_ends_line(cursor))
			goto plain_word;
		add_comment(p, start, cursor);
		goto again;
	}

	"Fusion IR" (blank [^:\n]*)? ":" | "Fusion after pass:" [^\n]* | "===" [^\n]* |
	"Segment the fusion" [^\n]* ":" | "Segmented_Fusion Dump:" [^\n]* "{" {
		/* the title of a fusion; the title and the end of a listing after a pass */
		if (p->mode == MODE_BODY || !p->at_lead || p->brackets || !lex_ends_line(cursor))
			goto plain_word;
		add_comment(p, start, cursor);
		goto again;
	}
	"Segmented_Fusion Dump:" [^\n{]* { // the title of its groups
		if (p->mode != MODE_HIR || !p->at_lead || p->brackets)
			goto plain_word;
		add_comment(p, start, cursor);
		goto again;
	}
	"}" blank* "//" blank* "{" [^{}\n]* "}" { /* the end of a fusion that has a title with a brace */
		if (p->mode != MODE_SECTIONS || !p->at_lead || p->brackets) {
			cursor = start + 1;
			TOKEN(TOK_RBRACE);
		}
		add_comment(p, start, cursor);
		goto again;
	}
	"(" digits ")" blank* "\n" { /* the number of the statement before it, in the dump of a segmented fusion */
		if (!body || !p->at_lead || !p->in_kernel || p->brackets) {
			cursor = start + 1;
			TOKEN(TOK_LPAREN);
		}
		cursor--;
		goto again;
	}

	// the sections after the container
	"Index" blank+ "definitions" blank* ":" {
		if (!sections && (!p->at_lead || p->brackets))
			goto plain_word;
		p->mode = body ? MODE_BODY : MODE_SECTIONS; /* it may stand before the container */
		TOKEN(TOK_INDEX_HEADER);
	}
	"TransformPrinter" blank* ":" {
		if (!sections && !(p->at_lead && p->in_kernel))
			goto plain_word;
		TOKEN(TOK_TRANSFORM_HEADER);
	}
	"Hirc" blank+ digits blank* ":" {
		if (!sections)
			goto plain_word;
		VALUE(scan_int(p, lex_skip_blanks(start + 4), AT), TOK_HIRC_HEADER);
	}
	("logical" | "allocation" | "loop" | "root") blank+ "domain" blank* ":" {
		if (!sections)
			goto plain_word;
		VALUE(lex_intern(p, start, (size_t)(lex_skip_word(start) - start)), TOK_XF_DOMAIN);
	}
	"rfactor" blank+ "domain" blank* ":" { // older names
		if (!sections)
			goto plain_word;
		NAMED("logical", TOK_XF_DOMAIN);
	}
	"leaf" blank+ "domain" blank* ":" {
		if (!sections)
			goto plain_word;
		NAMED("loop", TOK_XF_DOMAIN);
	}
	"alternate" blank+ "loop" blank+ "domain" blank* ":" {
		if (!sections)
			goto plain_word;
		NAMED("alternate-loop", TOK_XF_DOMAIN);
	}
	"contiguity" blank* ":" {
		if (!sections)
			goto plain_word;
		NAMED("contiguity", TOK_XF_CONTIGUITY);
	}
	"Split" blank* ":" {
		if (!sections)
			goto plain_word;
		NAMED("split", TOK_XF_SPLIT);
	}
	"Outer" blank+ "split" blank* ":" {
		if (!sections)
			goto plain_word;
		NAMED("outer-split", TOK_XF_SPLIT);
	}
	"Merge" blank* ":" {
		if (!sections)
			goto plain_word;
		NAMED("merge", TOK_XF_MERGE);
	}
	"Resize" blank* ":" {
		if (!sections)
			goto plain_word;
		NAMED("resize", TOK_XF_RESIZE);
	}
	"," blank* "start offset:" blank* "0," blank* "stop offset:" blank* "0" { /* of a split, until 2024 */
		if (!sections && p->mode != MODE_SECTIONS) {
			cursor = start + 1;
			TOKEN(TOK_COMMA);
		}
		goto again;
	}
	"by" blank+ "factor" {
		if (p->mode != MODE_SECTIONS || p->at_lead)
			goto plain_word;
		TOKEN(TOK_BY_FACTOR);
	}

	*    {
		PLACE();
		return lex_take_stray(p, start, out);
	}
	*/

plain_word:
	if (!word_starts_with(*start)) {
		cursor = start + 1;
		PLACE();
		return lex_take_stray(p, start, out);
	}
	out->line_start = p->line_start;
	int token = lex_take_word(p, start, out);
	cursor = p->cursor;
	out->span = AT;
	return token;
}

const unsigned char *lex_peek_line(const struct parser *p, uint32_t *column)
{
	const unsigned char *c = p->cursor, *line = p->text + p->line_start;
	for (;; c++) {
		if (*c == '\n') {
			line = c + 1;
		} else if (*c == '#' || (*c == '/' && c[1] == '/' && p->mode != MODE_HIR)) {
			while (c < p->limit && c[1] != '\n' && c + 1 < p->limit)
				c++;
		} else if (*c != ' ' && *c != '\t' && *c != '\r') {
			*column = (uint32_t)(c - line);
			return c;
		}
	}
}
