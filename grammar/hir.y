/* The grammar of both surfaces.
 *
 * Each action is one call of a builder (src/parse/ast_build.h). Statements and expressions are the
 * same in both surfaces; the lexer returns the tokens of %HostIrContainer only where they can stand.
 * Line ends arrive as NEWLINE where they end a statement, and BLOCK_OPEN and BLOCK_CLOSE are the
 * braces around statements (LBRACE and RBRACE all others): src/parse/lines.c. It also skips the rest
 * of a statement after an error, so that `error NEWLINE` always is the whole of it. */
%require "3.8"
%define api.pure full
%define api.prefix {hir_}
%define api.token.prefix {TOK_}
%define api.value.type union
%define api.location.type {struct parse_span}
%locations
%param {struct parser *p}
%define parse.error custom
%define lr.type canonical-lr
%define lr.default-reduction consistent
%expect 0

%code requires {
#include "parse/ast_build.h"
}
%code provides {
const char *hir_token_text(int token); /* as its alias below says */
int hir_lex(HIR_STYPE *value, struct parse_span *at, struct parser *p);
}
%code {
#include "parse/parse_report.h"
#include "parse/shape.h"

#define YYMAXDEPTH PARSE_MAX_STACK
#define YYLLOC_DEFAULT(current, rhs, n) \
	((current).at = (n) ? YYRHSLOC(rhs, 1).at : YYRHSLOC(rhs, 0).end, \
	 (current).end = (n) ? YYRHSLOC(rhs, n).end : YYRHSLOC(rhs, 0).end)

#define SPAN(first, last) ((struct parse_span){(first).at, (last).end})

static void hir_error(const struct parse_span *at, struct parser *p, const char *message);
}

/* All values, names and nodes too, are as wide as the widest: the parser copies them whole, and would
 * wait for half of one that was just written. */
/* words of the concise surface */
%token <int64_t>
	PARAM "param" CONST "const" MESH "mesh" GROUP "group" PROGRAM "program" ON "on"
	INPUT "input" OUTPUT "output" INOUT "inout" LET "let" FOR "for" IN "in" PARALLEL "parallel"
	IF "if" ELSE "else" SCHEDULE "schedule" EXTERN "extern" AS "as" AND "and" OR "or" NOT "not"
/* words of some places: src/base/keywords.def */
	NAME_DECL "name " IDS "ids" LOOP "loop" ATTR "attr" CLUSTER "cluster" PARTIAL_DECL "partial " PARTIAL "partial"
	REDUCE "reduce" RF "rf" EX "ex" TEAM "team="
/* words of %HostIrContainer's body */
	BODY_FOR "FOR" BODY_IF "IF" BODY_ELSE "ELSE" MANUAL "Manual" FROM "from" TO "to" INTO "into"
	STREAM "Stream" START_COALESCING "StartCoalescing" END_COALESCING "EndCoalescing"
	DEALLOCATE "Deallocate"
	COMM "a communication" OLD_CALL "a stream operation" OLD_GET "GetCurrentStream"
%token	CONTAINER "%HostIrContainer" FUSION "Inputs:" CONTAINER_CLOSE KERNEL "%kernel" KERNEL_CLOSE SHARE "ShareMemHandles("
	POST "PostOnStream the operation" POST_COMM POST_INPUTS "taking inputs:" POST_OUTPUTS "and outputs:"
	ELIDED "[...]" TENSOR "a tensor" MESH_OPEN "(DeviceMesh" RBRACE_SUFFIX BY_FACTOR "by factor"
	INDEX_HEADER "Index definitions:" TRANSFORM_HEADER "TransformPrinter :"
%token <int64_t> HIRC_HEADER "Hirc 1 :"
	STATEMENT_AGAIN TENSOR_AGAIN MESH_AGAIN /* nodes: src/parse/shape.c, again.c */
%token <int64_t> ID "an axis" KEY_COLON "a key"
	XF_DOMAIN "a domain" XF_CONTIGUITY "contiguity:" XF_SPLIT "Split:" XF_MERGE "Merge:" XF_RESIZE "Resize:"

%token <int64_t> NAME "a name" STRING "a string" HANDLE "a stream handle"
%token <int64_t> INT "a number"
%token FLOAT "a number with a point"
%token	LPAREN "(" RPAREN ")" LBRACKET "[" RBRACKET "]" LBRACE "{" RBRACE "}" BLOCK_OPEN BLOCK_CLOSE
	COMMA "," COLON ":" SEMICOLON ";" ASSIGN "=" WRITE "<-" ARROW "->" RANGE ".." AT "@"
	EQ "==" NE "!=" LT "<" LE "<=" GT ">" GE ">=" PLUS "+" MINUS "-" STAR "*" SLASH "/" PERCENT "%"
	BIT_AND "&" BIT_OR "|" BIT_XOR "^" BIT_NOT "~" SHIFT_LEFT "<<" SHIFT_RIGHT ">>"
	NEWLINE INDENT DEDENT

%left OR
%left AND
%precedence NOT
%left BIT_OR
%left BIT_XOR
%left BIT_AND
%nonassoc EQ NE LT LE GT GE
%left SHIFT_LEFT SHIFT_RIGHT
%left PLUS MINUS
%left STAR SLASH PERCENT
%precedence NEGATE

%nterm <int64_t>
	declarations containers declaration schedule ids_declaration param_value as_opt mesh_axes mesh_axis devices_opt
	devices device_list device device_number reference decl_ref integers axis_numbers axis_number
	program on_mesh block statements statement init_opt attrs_opt targets target parallel_opt
	primitives primitive primitive_args primitive_arg
	type axes axis_list axis suffixes names reduce_axes reduce_axis
	expr exprs call args arg_list key value braces ranges attrs keys key_list team slice
	tensor ids id_list id expanded stream stream_index handle communication
	container container_start tensors tensor_list body body_block body_statements posted_list grouped body_compound body_line unit kernel fusion fusion_list unit_list unit_entry
	old_operand operand unit_transforms section index_lines transform_lines transform contiguity hirc_lines
%nterm <int64_t> key_word keyword operator_name
%start file

%%

/* files */

file:
  declarations			{ ast_finish(p, $1); }
| containers			{ ast_finish(p, $1); }
;
declarations:
  %empty			{ $$ = ast_list(p, AST_FILE, @$, 0); }
| declarations declaration NEWLINE	{ $$ = ast_add(p, $1, $2); }
| declarations program NEWLINE	{ $$ = ast_hold(p, $1, $2); }
| declarations error NEWLINE	{ yyerrok; $$ = $1; }
;
containers:
  declarations container	{ $$ = ast_hold(p, $1, $2); }
| declarations INDEX_HEADER NEWLINE index_lines container
	{ $$ = ast_hold(p, $1, ast_add(p, $5, ast_section(p, @2, "Index definitions", $4))); }
| containers container		{ $$ = ast_hold(p, $1, $2); }
;
declaration:
  PARAM NAME param_value as_opt	{ $$ = ast_make(p, AST_PARAM, @$, $2, $3, $4); }
| CONST NAME ASSIGN expr	{ $$ = ast_make(p, AST_CONST, @$, $2, $4); }
| MESH NAME LPAREN mesh_axes RPAREN devices_opt	{ $$ = ast_make(p, AST_MESH, @$, $2, $4, $6); }
| GROUP NAME LPAREN expr RPAREN devices_opt attrs_opt	{ $$ = ast_make(p, AST_GROUP, @$, $2, $4, $6, $7); }
| CLUSTER NAME attrs		{ $$ = ast_make(p, AST_CLUSTER, @$, $2, $3); }
| NAME_DECL reference ASSIGN NAME	{ $$ = ast_make(p, AST_NAME_DECL, @$, 0, $2, ast_leaf(p, AST_NAME, @4, $4)); }
| ids_declaration
| LOOP NAME NAME		{ $$ = ast_make(p, AST_LOOP_DECL, @$, 0, ast_leaf(p, AST_NAME, @2, $2), ast_leaf(p, AST_NAME, @3, $3)); }
| PARTIAL_DECL NAME operator_name	{ $$ = ast_make(p, AST_PARTIAL_DECL, @$, 0, ast_leaf(p, AST_NAME, @2, $2), ast_leaf(p, AST_NAME, @3, $3)); }
| ATTR decl_ref attrs		{ $$ = ast_make(p, AST_ATTR_DECL, @$, 0, $2, $3); }
| ATTR PROGRAM attrs		{ $$ = ast_make(p, AST_ATTR_DECL, @$, 0, ast_leaf(p, AST_NAME, @2, $2), $3); }
| INPUT NAME ASSIGN expr	{ $$ = ast_make(p, AST_INPUT_DECL, @$, 0, ast_leaf(p, AST_NAME, @2, $2), $4); }
| schedule
;
ids_declaration:
  IDS NAME ASSIGN NAME LBRACKET axis_numbers RBRACKET
	{ $$ = ast_ids(p, @$, ast_leaf(p, AST_NAME, @2, $2), ast_leaf(p, AST_NAME, @4, $4), $6); }
;
param_value:
  %empty			{ $$ = 0; }
| ASSIGN expr			{ $$ = $2; }
;
mesh_axes:
  mesh_axis			{ $$ = ast_list(p, AST_LIST, @$, $1); }
| mesh_axes COMMA mesh_axis	{ $$ = ast_add(p, $1, $3); }
;
mesh_axis:
  NAME				{ $$ = ast_leaf(p, AST_MESH_AXIS, @$, $1); }
| NAME ASSIGN expr		{ $$ = ast_make(p, AST_MESH_AXIS, @$, $1, $3); }
;
devices_opt:
  %empty			{ $$ = 0; }
| ASSIGN devices		{ $$ = $2; }
;
devices:
  LBRACE device_list RBRACE	{ $$ = ast_become(p, $2, AST_DEVICES, @$, 0, 0); }
;
device_list:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| device_list device		{ $$ = ast_add(p, $1, $2); }
| device_list device COMMA	{ $$ = ast_add(p, $1, $2); }
;
device:
  device_number
| device_number RANGE device_number	{ $$ = ast_make(p, AST_RANGE, @$, 0, $1, $3); }
| devices
;
device_number:
  INT				{ $$ = ast_int(p, AST_INT, @$, $1); }
| NAME				{ $$ = ast_leaf(p, AST_NAME, @$, $1); }
| LPAREN expr RPAREN		{ $$ = ast_make(p, AST_PAREN, @$, 0, $2); }
;
reference:
  decl_ref
| HANDLE			{ $$ = ast_leaf(p, AST_HANDLE, @$, $1); }
;
decl_ref:
  NAME				{ $$ = ast_leaf(p, AST_NAME, @$, $1); }
| COMM INT			{ $$ = ast_int(p, AST_COMM_REF, @$, $2); }
;
operator_name:
  NAME | AND | OR
;
/* 7, or b7 for an axis that nvFuser prints as a broadcast */
axis_numbers:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| axis_numbers axis_number	{ $$ = ast_add(p, $1, $2); }
| axis_numbers axis_number COMMA	{ $$ = ast_add(p, $1, $2); }
;
axis_number:
  INT				{ $$ = ast_int(p, AST_INT, @$, $1); }
| NAME				{ $$ = ast_leaf(p, AST_NAME, @$, $1); }
;
integers:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| integers INT			{ $$ = ast_add(p, $1, ast_int(p, AST_INT, @2, $2)); }
| integers INT COMMA		{ $$ = ast_add(p, $1, ast_int(p, AST_INT, @2, $2)); }
;

/* programs */

program:
  PROGRAM NAME on_mesh block	{ $$ = ast_make(p, AST_PROGRAM, @$, $2, $4, $3); }
;
on_mesh:
  %empty			{ $$ = 0; }
| ON NAME			{ $$ = ast_leaf(p, AST_NAME, @2, $2); }
;
block:
  BLOCK_OPEN statements BLOCK_CLOSE	{ $$ = ast_become(p, $2, AST_BLOCK, @$, 0, 0); }
| BLOCK_OPEN statements statement BLOCK_CLOSE	{ $$ = ast_become(p, $2, AST_BLOCK, @$, 0, $3); }
| BLOCK_OPEN statements error BLOCK_CLOSE	{ yyerrok; $$ = ast_become(p, $2, AST_BLOCK, @$, 0, 0); }
;
statements:
  %empty			{ $$ = ast_list(p, AST_BLOCK, @$, 0); }
| statements statement NEWLINE	{ $$ = ast_add(p, $1, shape_keep(p, $2)); }
| statements error NEWLINE	{ yyerrok; $$ = $1; }
;
statement:
  INPUT NAME COLON type attrs_opt init_opt	{ $$ = ast_input(p, @$, $2, $4, $5, $6, 0); }
| INOUT NAME COLON type attrs_opt init_opt	{ $$ = ast_input(p, @$, $2, $4, $5, $6, AST_INOUT); }
| INPUT PARAM NAME		{ $$ = ast_make(p, AST_INPUT_PARAM, @$, 0, ast_leaf(p, AST_NAME, @3, $3)); }
| OUTPUT targets ASSIGN expr as_opt	{ $$ = ast_define(p, @$, $2, $4, $5, AST_OUTPUT); }
| OUTPUT targets		{ $$ = ast_export(p, @$, $2); }
| targets ASSIGN expr as_opt	{ $$ = ast_define(p, @$, $1, $3, $4, 0); }
| targets WRITE expr as_opt	{ $$ = ast_write(p, @$, $1, $3, $4); }
| call as_opt			{ $$ = ast_make(p, AST_DO, @$, 0, $1, $2); }
| LET NAME ASSIGN expr		{ $$ = ast_make(p, AST_LET, @$, $2, $4); }
| FOR NAME IN expr RANGE expr parallel_opt block	{ $$ = ast_make(p, AST_FOR, @$, $2, $4, $6, $8, $7); }
| IF expr block			{ $$ = ast_make(p, AST_IF, @$, 0, $2, $3); }
| IF expr block ELSE block	{ $$ = ast_make(p, AST_IF, @$, 0, $2, $3, $5); }
| NAME block			{ $$ = ast_make(p, AST_UNIT, @$, $1, $2); }
| schedule
| ids_declaration
| STATEMENT_AGAIN
;
init_opt:
  %empty			{ $$ = 0; }
| ASSIGN expr			{ $$ = $2; }
;
attrs_opt:
  %empty			{ $$ = 0; }
| attrs
;
as_opt:
  %empty			{ $$ = 0; }
| AS NAME			{ $$ = ast_as(p, @2, $2); }
;
/* what a statement defines or writes; only the sign after it tells which */
targets:
  target			{ $$ = ast_list(p, AST_LIST, @$, $1); }
| targets COMMA target		{ $$ = ast_add(p, $1, $3); }
;
target:
  NAME				{ $$ = ast_leaf(p, AST_RESULT, @$, $1); }
| NAME COLON type		{ $$ = ast_make(p, AST_RESULT, @$, $1, $3); }
| call
| tensor
| STREAM handle			{ $$ = $2; }
;
parallel_opt:
  %empty			{ $$ = 0; }
| PARALLEL LPAREN NAME RPAREN	{ $$ = ast_leaf(p, AST_NAME, @3, $3); }
;
schedule:
  SCHEDULE NAME BLOCK_OPEN primitives BLOCK_CLOSE	{ $$ = ast_become(p, $4, AST_SCHEDULE, @$, $2, 0); }
| SCHEDULE NAME BLOCK_OPEN primitives primitive BLOCK_CLOSE	{ $$ = ast_become(p, $4, AST_SCHEDULE, @$, $2, $5); }
| SCHEDULE NAME BLOCK_OPEN primitives error BLOCK_CLOSE	{ yyerrok; $$ = ast_become(p, $4, AST_SCHEDULE, @$, $2, 0); }
;
primitives:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| primitives primitive SEMICOLON	{ $$ = ast_add(p, $1, $2); }
| primitives primitive NEWLINE	{ $$ = ast_add(p, $1, $2); }
| primitives error NEWLINE	{ yyerrok; $$ = $1; }
;
primitive:
  NAME primitive_args		{ $$ = ast_become(p, $2, AST_CALL, @$, $1, 0); }
;
primitive_args:
  primitive_arg			{ $$ = ast_list(p, AST_LIST, @$, $1); }
| primitive_args primitive_arg	{ $$ = ast_add(p, $1, $2); }
;
primitive_arg:
  INT				{ $$ = ast_int(p, AST_INT, @$, $1); }
| NAME				{ $$ = ast_leaf(p, AST_NAME, @$, $1); }
| LPAREN exprs RPAREN		{ $$ = ast_parens(p, @$, $2); }
;

/* types */

type:
  NAME LBRACKET axes RBRACKET suffixes
	{ $$ = ast_become_after(p, $3, $5, AST_TYPE, @$, $1); }
;
axes:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| axis_list
;
axis_list:
  axis				{ $$ = ast_list(p, AST_LIST, @$, $1); }
| axis_list COMMA axis		{ $$ = ast_add(p, $1, $3); }
;
axis:
  expr				{ $$ = ast_list(p, AST_AXIS, @$, $1); }
| axis AT NAME			{ $$ = ast_add(p, $1, ast_flag(p, ast_leaf(p, AST_PLACE, SPAN(@2, @3), $3), AST_BARE)); }
| axis AT NAME LPAREN expr RPAREN	{ $$ = ast_add(p, $1, ast_make(p, AST_PLACE, SPAN(@2, @6), $3, $5)); }
;
suffixes:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| suffixes ON NAME		{ $$ = ast_add(p, $1, ast_leaf(p, AST_ON, SPAN(@2, @3), $3)); }
| suffixes PARTIAL LPAREN names RPAREN	{ $$ = ast_add(p, $1, ast_become(p, $4, AST_PARTIAL, SPAN(@2, @5), 0, 0)); }
| suffixes PARTIAL operator_name LPAREN names RPAREN
	{ $$ = ast_add(p, $1, ast_become(p, $5, AST_PARTIAL, SPAN(@2, @6), $3, 0)); }
| suffixes REDUCE LPAREN reduce_axes RPAREN
	{ $$ = ast_add(p, $1, ast_become(p, $4, AST_REDUCE, SPAN(@2, @5), 0, 0)); }
| suffixes NAME			{ $$ = ast_add(p, $1, ast_leaf(p, AST_MEMORY, @2, $2)); }
;
names:
  NAME				{ $$ = ast_list(p, AST_LIST, @$, ast_leaf(p, AST_NAME, @1, $1)); }
| names COMMA NAME		{ $$ = ast_add(p, $1, ast_leaf(p, AST_NAME, @3, $3)); }
;
reduce_axes:
  reduce_axis			{ $$ = ast_list(p, AST_REDUCE, @$, $1); }
| reduce_axes COMMA reduce_axis	{ $$ = ast_add(p, $1, $3); }
;
reduce_axis:
  axis
| RF axis			{ $$ = ast_flag(p, $2, AST_BARE); }
;

/* expressions */

expr:
  NAME				{ $$ = ast_leaf(p, AST_NAME, @$, $1); }
| INT				{ $$ = ast_int(p, AST_INT, @$, $1); }
| FLOAT				{ $$ = ast_float(p, @$); }
| STRING			{ $$ = ast_leaf(p, AST_STRING, @$, $1); }
| LPAREN exprs RPAREN		{ $$ = ast_parens(p, @$, $2); }
| LPAREN RPAREN			{ $$ = ast_leaf(p, AST_TUPLE, @$, 0); }
| LBRACKET axes RBRACKET	{ $$ = ast_become(p, $2, AST_LIST, @$, 0, 0); }
| call
| tensor
| id
| stream
| communication
| expr OR expr			{ $$ = ast_binary(p, "or", $1, $3); }
| expr AND expr			{ $$ = ast_binary(p, "and", $1, $3); }
| NOT expr			{ $$ = ast_unary(p, "not", @$, $2); }
| expr EQ expr			{ $$ = ast_binary(p, "==", $1, $3); }
| expr NE expr			{ $$ = ast_binary(p, "!=", $1, $3); }
| expr LT expr			{ $$ = ast_binary(p, "<", $1, $3); }
| expr LE expr			{ $$ = ast_binary(p, "<=", $1, $3); }
| expr GT expr			{ $$ = ast_binary(p, ">", $1, $3); }
| expr GE expr			{ $$ = ast_binary(p, ">=", $1, $3); }
| expr PLUS expr		{ $$ = ast_binary(p, "+", $1, $3); }
| expr MINUS expr		{ $$ = ast_binary(p, "-", $1, $3); }
| expr STAR expr		{ $$ = ast_binary(p, "*", $1, $3); }
| expr SLASH expr		{ $$ = ast_binary(p, "/", $1, $3); }
| expr PERCENT expr		{ $$ = ast_binary(p, "%", $1, $3); }
| MINUS expr %prec NEGATE	{ $$ = ast_unary(p, "-", @$, $2); }
| expr BIT_AND expr		{ $$ = ast_binary(p, "&", $1, $3); }
| expr BIT_OR expr		{ $$ = ast_binary(p, "|", $1, $3); }
| expr BIT_XOR expr		{ $$ = ast_binary(p, "^", $1, $3); }
| expr SHIFT_LEFT expr		{ $$ = ast_binary(p, "<<", $1, $3); }
| expr SHIFT_RIGHT expr		{ $$ = ast_binary(p, ">>", $1, $3); }
| BIT_NOT expr %prec NEGATE	{ $$ = ast_unary(p, "~", @$, $2); }
;
exprs:
  expr				{ $$ = ast_list(p, AST_LIST, @$, $1); }
| exprs COMMA expr		{ $$ = ast_add(p, $1, $3); }
;
call:
  NAME LPAREN args RPAREN attrs_opt	{ $$ = ast_become(p, $3, AST_CALL, @$, $1, $5); }
| EXTERN STRING LPAREN args RPAREN attrs_opt
	{ $$ = ast_flag(p, ast_become(p, $4, AST_CALL, @$, $2, $6), AST_EXTERN); }
;
args:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| arg_list
| arg_list COMMA
;
arg_list:
  expr				{ $$ = ast_list(p, AST_LIST, @$, $1); }
| key				{ $$ = ast_list(p, AST_LIST, @$, $1); }
| braces			{ $$ = ast_list(p, AST_LIST, @$, $1); }
| LBRACE RBRACE expr	/* full({}double(3)), as nvFuser prints it */
	{ $$ = ast_add(p, ast_list(p, AST_LIST, @$, ast_leaf(p, AST_TUPLE, @1, 0)), $3); }
| arg_list COMMA expr		{ $$ = ast_add(p, $1, $3); }
| arg_list COMMA key		{ $$ = ast_add(p, $1, $3); }
| arg_list COMMA braces		{ $$ = ast_add(p, $1, $3); }
;
key:
  key_word ASSIGN value		{ $$ = ast_make(p, AST_KEY, @$, $1, $3); }
| KEY_COLON value		{ $$ = ast_make(p, AST_KEY, @$, $1, $2); }
| TEAM team			{ $$ = ast_make(p, AST_KEY, @$, $1, $2); }
;
value:
  expr
| keyword			{ $$ = ast_leaf(p, AST_NAME, @$, $1); }
| STAR				{ $$ = ast_leaf(p, AST_NAME, @$, names_intern_z(p->ast->names, "*")); } /* op = * */
| braces
;
/* {4, 8}, and { {0, 4, 1} {2, 6, 1} } */
braces:
  LBRACE RBRACE			{ $$ = ast_leaf(p, AST_TUPLE, @$, 0); }
| LBRACE exprs RBRACE		{ $$ = ast_become(p, $2, AST_TUPLE, @$, 0, 0); }
| LBRACE exprs COMMA RBRACE	{ $$ = ast_become(p, $2, AST_TUPLE, @$, 0, 0); }
| LBRACE ranges RBRACE		{ $$ = ast_become(p, $2, AST_TUPLE, @$, 0, 0); }
;
ranges:
  braces			{ $$ = ast_list(p, AST_LIST, @$, $1); }
| ranges braces			{ $$ = ast_add(p, $1, $2); }
;
key_word:
  NAME
| keyword
;
keyword:
  PARAM | CONST | MESH | GROUP | PROGRAM | ON | INPUT | OUTPUT | INOUT | LET | FOR | IN | PARALLEL | IF | ELSE
| SCHEDULE | EXTERN | AS | AND | OR | NOT | FROM | TO | INTO
;
attrs:
  LBRACE keys RBRACE		{ $$ = ast_become(p, $2, AST_ATTRS, @$, 0, 0); }
;
keys:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| key_list
| key_list COMMA
;
key_list:
  key				{ $$ = ast_list(p, AST_LIST, @$, $1); }
| key_list COMMA key		{ $$ = ast_add(p, $1, $3); }
;
team:
  slice				{ $$ = ast_list(p, AST_TEAM, @$, $1); }
| team slice			{ $$ = ast_add(p, $1, $2); }
;
slice:
  LPAREN integers RPAREN	{ $$ = ast_become(p, $2, AST_TUPLE, @$, 0, 0); }
;

/* tensors, axes and streams of the nvFuser surface */

tensor:
  TENSOR LBRACKET ids RBRACKET	{ $$ = again_keep_tensor(p, ast_tensor(p, @$, @1, $3, 0)); }
| TENSOR LBRACKET ids RBRACKET MESH_OPEN devices RPAREN
	{ $$ = again_keep_tensor(p, ast_tensor(p, @$, @1, $3, again_keep_mesh(p, $6))); }
| TENSOR LBRACKET ids RBRACKET MESH_AGAIN
	{ $$ = again_keep_tensor(p, ast_tensor(p, @$, @1, $3, ast_mesh_again(p, @5, $5))); }
| TENSOR_AGAIN			{ $$ = ast_tensor_again(p, @$, $1); }
;
ids:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| id_list
;
id_list:
  id				{ $$ = ast_list(p, AST_LIST, @$, $1); }
| id_list COMMA id		{ $$ = ast_add(p, $1, $3); }
;
id:
  ID LBRACE expr expanded RBRACE	{ $$ = ast_iterdomain(p, @$, @1, $3, $4, @5); }
| ID LBRACE expr expanded RBRACE_SUFFIX	{ $$ = ast_iterdomain(p, @$, @1, $3, $4, @5); }
;
expanded:
  %empty			{ $$ = 0; }
| EX expr			{ $$ = ast_make(p, AST_KEY, @$, $1, $2); }
;
stream:
  STREAM stream_index		{ $$ = ast_make(p, AST_STREAM, @$, 0, $2); }
;
stream_index:
  NAME				{ $$ = ast_leaf(p, AST_NAME, @$, $1); }
| INT				{ $$ = ast_int(p, AST_INT, @$, $1); }
| HANDLE			{ $$ = ast_leaf(p, AST_HANDLE, @$, $1); }
| LPAREN expr RPAREN		{ $$ = ast_make(p, AST_PAREN, @$, 0, $2); }
;
handle:
  HANDLE			{ $$ = ast_handle(p, @$); }
| INT				{ $$ = ast_handle(p, @$); }
;
communication:
  COMM INT			{ $$ = ast_int(p, AST_COMM_REF, @$, $2); }
| COMM INT LPAREN keys RPAREN	{ $$ = ast_communication(p, @$, $1, $2, $4); }
;

/* the container */

container:
  container_start
| container section		{ $$ = ast_add(p, $1, $2); }
;
container_start:
  CONTAINER LPAREN tensors RPAREN ARROW LPAREN tensors RPAREN COLON NEWLINE body CONTAINER_CLOSE NEWLINE
	{ $$ = ast_container(p, @$, $3, $7, $11); }
| fusion CONTAINER_CLOSE NEWLINE
| fusion TRANSFORM_HEADER NEWLINE transform_lines CONTAINER_CLOSE NEWLINE
	{ $$ = ast_add(p, $1, ast_section(p, SPAN(@2, @4), "TransformPrinter", $4)); }
| KERNEL error CONTAINER_CLOSE NEWLINE	{ yyerrok; $$ = ast_container(p, @$, 0, 0, 0); }
| FUSION error CONTAINER_CLOSE NEWLINE	{ yyerrok; $$ = ast_container(p, @$, 0, 0, 0); }
| CONTAINER error CONTAINER_CLOSE NEWLINE	{ yyerrok; $$ = ast_container(p, @$, 0, 0, 0); }
| container_start error NEWLINE	{ yyerrok; $$ = $1; }
;
/* what nvFuser prints of a fusion that stands alone; older versions print no lists */
fusion:
  FUSION NEWLINE fusion_list NAME COLON NEWLINE fusion_list KERNEL NEWLINE kernel
	{ $$ = ast_fusion(p, @$, @4, $4, $3, $7, $10); }
| KERNEL NEWLINE kernel		{ $$ = ast_bare_fusion(p, @$, @1, $3); }
;
tensors:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| tensor_list
;
tensor_list:
  tensor			{ $$ = ast_list(p, AST_LIST, @$, $1); }
| NAME				{ $$ = ast_list(p, AST_LIST, @$, ast_leaf(p, AST_NAME, @1, $1)); }
| tensor_list COMMA tensor	{ $$ = ast_add(p, $1, $3); }
| tensor_list COMMA NAME	{ $$ = ast_add(p, $1, ast_leaf(p, AST_NAME, @3, $3)); }
;
body:
  body_block
| body unit			{ $$ = ast_add(p, $1, $2); }
| body NAME COLON ELIDED NEWLINE
| body INDEX_HEADER NEWLINE INDENT index_lines DEDENT
	{ $$ = ast_add(p, $1, ast_section(p, @2, "Index definitions", $5)); }
;
/* HostUnit0: Inputs={…} -> Outputs={…}, its inputs and outputs once more, and what it computes */
unit:
  NAME COLON NAME ASSIGN braces ARROW NAME ASSIGN braces unit_lists KERNEL NEWLINE kernel unit_transforms KERNEL_CLOSE NEWLINE
	{ $$ = ast_make(p, AST_UNIT, @$, $1, $13, $5, $9, $14); }
;
unit_transforms:
  %empty			{ $$ = 0; }
| TRANSFORM_HEADER NEWLINE transform_lines	{ $$ = ast_section(p, @$, "TransformPrinter", $3); }
;
unit_lists:
  NEWLINE
| unit_inputs /* nvFuser ends no line after the braces */
| unit_lists unit_inputs
;
unit_inputs:
  NAME COLON NEWLINE
| NAME COLON NEWLINE INDENT unit_list DEDENT
;
/* the lists of a fusion that stands alone */
fusion_list:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| INDENT unit_list DEDENT	{ $$ = $2; }
;
unit_list:
  unit_entry NEWLINE		{ $$ = ast_list(p, AST_LIST, @$, $1); }
| unit_list unit_entry NEWLINE	{ $$ = ast_add(p, $1, $2); }
;
unit_entry:
  tensor
| tensor COMMA NAME		{ $$ = ast_tensor_of(p, $1, @3, $3); } /* an old print has the dtype here */
| NAME				{ $$ = ast_leaf(p, AST_NAME, @1, $1); }
| NAME COMMA NAME		{ $$ = ast_leaf(p, AST_NAME, @1, $1); }
;
kernel:
  body_statements
| INDENT body_statements DEDENT	{ $$ = $2; }
;
body_block:
  %empty			{ $$ = ast_list(p, AST_BLOCK, @$, 0); }
| INDENT body_statements DEDENT	{ $$ = $2; }
;
body_statements:
  %empty			{ $$ = ast_list(p, AST_BLOCK, @$, 0); }
| body_statements body_line NEWLINE	{ $$ = ast_add(p, $1, shape_keep(p, $2)); }
| body_statements body_compound	{ $$ = ast_add(p, $1, $2); }
| body_statements INDEX_HEADER NEWLINE INDENT index_lines DEDENT
	{ $$ = ast_add(p, $1, ast_section(p, @2, "Index definitions", $5)); }
| body_statements POST KERNEL NEWLINE kernel KERNEL_CLOSE NEWLINE POST_INPUTS posted_list POST_OUTPUTS posted_list RBRACE NEWLINE
	{ $$ = ast_posted(p, $1, @2, $5, $9, $11); }
| body_statements POST POST_COMM NEWLINE POST_INPUTS posted_list POST_OUTPUTS posted_list RBRACE NEWLINE
	{ $$ = ast_posted_communication(p, $1, @3, $6, $8); }
| body_statements NAME LPAREN grouped key RPAREN NEWLINE	{ $$ = ast_grouped(p, $1, @2, $2, $4, $5); }
| body_statements error NEWLINE	{ yyerrok; $$ = $1; }
;
posted_list:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| posted_list tensor		{ $$ = ast_add(p, $1, $2); }
| posted_list tensor COMMA	{ $$ = ast_add(p, $1, $2); }
;
/* GroupedReductionOp( T1 = reduction( T0, … ) T2 = reduction( T0, … ) allreduce = false ) */
grouped:
  tensor ASSIGN call		{ $$ = ast_list(p, AST_LIST, @$, ast_define(p, @$, ast_list(p, AST_LIST, @1, $1), $3, 0, 0)); }
| grouped tensor ASSIGN call
	{ $$ = ast_add(p, $1, ast_define(p, SPAN(@2, @4), ast_list(p, AST_LIST, @2, $2), $4, 0, 0)); }
;
body_compound:
  BODY_FOR NAME FROM expr TO expr COLON NEWLINE body_block
	{ $$ = ast_make(p, AST_FOR, @$, $2, $4, $6, $9); }
| BODY_FOR NAME IN id COLON NEWLINE body_block
	{ $$ = ast_flag(p, ast_make(p, AST_FOR, @$, $2, $4, $7), AST_FOR_IN); }
| BODY_IF MANUAL expr COLON NEWLINE body_block	{ $$ = ast_make(p, AST_IF, @$, 0, $3, $6); }
| BODY_IF MANUAL expr COLON NEWLINE body_block BODY_ELSE COLON NEWLINE body_block
	{ $$ = ast_make(p, AST_IF, @$, 0, $3, $6, $10); }
;
body_line:
  targets ASSIGN expr		{ $$ = ast_define(p, @$, $1, $3, 0, 0); }
| targets COMMA ASSIGN expr	{ $$ = ast_define(p, @$, $1, $4, 0, 0); } /* nvFuser's embedding */
| LPAREN targets RPAREN ASSIGN expr	{ $$ = ast_define(p, @$, $2, $5, 0, 0); }
| call				{ $$ = ast_make(p, AST_DO, @$, 0, $1); }
| COMM INT LPAREN keys RPAREN	{ $$ = ast_make(p, AST_DO, @$, 0, ast_communication(p, @$, $1, $2, $4)); }
| START_COALESCING		{ $$ = ast_make(p, AST_DO, @$, 0, ast_leaf(p, AST_CALL, @$, $1)); }
| END_COALESCING INT		{ $$ = ast_make(p, AST_DO, @$, 0, ast_communication(p, @$, $1, $2, 0)); }
| SHARE args			{ $$ = ast_share(p, @$, $2); }
| SHARE args RPAREN		{ $$ = ast_share(p, @$, $2); }
| DEALLOCATE operand		{ $$ = ast_make(p, AST_DEALLOCATE, @$, 0, $2); }
| DEALLOCATE LBRACE operand RBRACE	{ $$ = ast_make(p, AST_DEALLOCATE, @$, 0, $3); }
| OLD_CALL old_operand		{ $$ = ast_old_call(p, @$, $1, $2); }
| OLD_CALL TO old_operand	{ $$ = ast_old_call(p, @$, $1, $3); }
| OLD_GET INTO STREAM handle	{ $$ = ast_old_get(p, @$, $1, $4); }
| STATEMENT_AGAIN
;
old_operand:
  stream
| communication
;
operand:
  tensor
| NAME				{ $$ = ast_leaf(p, AST_NAME, @$, $1); }
;

/* the sections after it */

section:
  INDEX_HEADER NEWLINE index_lines	{ $$ = ast_section(p, @$, "Index definitions", $3); }
| TRANSFORM_HEADER NEWLINE transform_lines	{ $$ = ast_section(p, @$, "TransformPrinter", $3); }
| hirc_header hirc_lines		{ $$ = ast_section(p, @$, "Hirc", $2); }
;
hirc_header:
  HIRC_HEADER NEWLINE		{ ast_hirc_version(p, @1, $1); }
;
index_lines:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| index_lines NAME ASSIGN expr NEWLINE	{ $$ = ast_add(p, $1, ast_make(p, AST_INDEX_DEF, SPAN(@2, @4), $2, $4)); }
| index_lines error NEWLINE	{ yyerrok; $$ = $1; }
;
transform_lines:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| transform_lines tensor NEWLINE	{ $$ = ast_add(p, $1, ast_list(p, AST_TRANSFORMS, @2, $2)); }
| transform_lines transform NEWLINE	{ $$ = ast_transform(p, $1, $2); }
| transform_lines error NEWLINE	{ yyerrok; $$ = $1; }
;
transform:
  XF_DOMAIN LPAREN ids RPAREN	{ $$ = ast_become(p, $3, AST_XF_LINE, @$, $1, 0); }
| XF_CONTIGUITY contiguity	{ $$ = ast_become(p, $2, AST_XF_LINE, @$, $1, 0); }
| XF_SPLIT id BY_FACTOR expr ARROW id COMMA id	{ $$ = ast_make(p, AST_XF_LINE, @$, $1, $2, $4, $6, $8); }
| XF_MERGE id AND id ARROW id	{ $$ = ast_make(p, AST_XF_LINE, @$, $1, $2, $4, $6); }
| XF_RESIZE id NAME expr ARROW id	{ $$ = ast_make(p, AST_XF_LINE, @$, $1, $2, $4, $6); } /* `by 0 and 2` */
| id ASSIGN call		{ $$ = ast_swizzle(p, @$, $1, $3); }
;
contiguity:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| contiguity NAME		{ $$ = ast_add(p, $1, ast_leaf(p, AST_NAME, @2, $2)); }
;
hirc_lines:
  %empty			{ $$ = ast_list(p, AST_LIST, @$, 0); }
| hirc_lines declaration NEWLINE	{ $$ = ast_add(p, $1, shape_keep(p, $2)); }
| hirc_lines STATEMENT_AGAIN NEWLINE	{ $$ = ast_add(p, $1, $2); }
| hirc_lines error NEWLINE	{ yyerrok; $$ = $1; }
;

%%

const char *hir_token_text(int token)
{
	return yysymbol_name(YYTRANSLATE(token));
}

static int yyreport_syntax_error(const yypcontext_t *context, struct parser *p)
{
	int expected[YYNTOKENS], n = 0;
	yysymbol_kind_t kind[YYNTOKENS];
	if (diag_error_count(p->diag) < DIAG_MAX_ERRORS) /* finding them out is slow */
		n = yypcontext_expected_tokens(context, kind, YYNTOKENS);
	bool can_stand[YYNTOKENS] = {false};
	for (int i = 0; i < n; i++)
		can_stand[kind[i]] = true;
	n = 0;
	for (int token = TOK_HIR_UNDEF + 1; token <= YYMAXUTOK; token++)
		if (can_stand[YYTRANSLATE(token)] && (token < TOK_STATEMENT_AGAIN || token > TOK_MESH_AGAIN) &&
		    token != TOK_FUSION && token != TOK_KERNEL && (token != TOK_INDEX_HEADER || p->mode != MODE_HIR))
			expected[n++] = token;
	report_unexpected(p, expected, (unsigned)n);
	lines_panic(p);
	return 0;
}

static void hir_error(const struct parse_span *at, struct parser *p, const char *message)
{
	(void)message; /* only ever that the stack is exhausted */
	report_parser_failure(p, *at);
}
