/* Tests of src/base: arenas, names, checked arithmetic, words, transports, positions, messages. */
#include "base/arena.h"
#include "base/checked.h"
#include "base/diag.h"
#include "base/json_put.h"
#include "base/source.h"
#include "base/source_read.h"
#include "base/str.h"
#include "base/transport_kind.h"
#include "base/vec.h"
#include "check.h"
#include <stdlib.h>
#include <unistd.h>

/* xorshift64: the same numbers on each run. */
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void test_arena(void)
{
	struct arena *a = arena_new();
	uint64_t seed = 1;
	VEC(char *) blocks = {0};
	VEC(uint32_t) sizes = {0};
	for (unsigned i = 0; i < 2000; i++) {
		uint32_t n = (uint32_t)(random_next(&seed) % (i % 50 == 0 ? 100000 : 100));
		char *p = arena_alloc(a, n);
		CHECK(p && (uintptr_t)p % _Alignof(max_align_t) == 0);
		for (uint32_t k = 0; k < n; k++)
			if (p[k]) {
				CHECK(!"a block is zeroed");
				break;
			}
		memset(p, (int)(i % 255) + 1, n);
		vec_push(&blocks, p);
		vec_push(&sizes, n);
	}
	size_t total = 0;
	for (unsigned i = 0; i < blocks.n; i++) {
		total += sizes.at[i];
		for (uint32_t k = 0; k < sizes.at[i]; k++)
			if ((unsigned char)blocks.at[i][k] != i % 255 + 1) {
				CHECK(!"blocks do not overlap");
				break;
			}
	}
	CHECK(arena_bytes(a) >= total);
	CHECK_STR(arena_strndup(a, "abc", 2), "ab");
	CHECK_STR(arena_strndup(a, NULL, 0), "");
	CHECK_STR(arena_printf(a, "%d-%s", 7, "x"), "7-x");
	CHECK_STR(arena_printf(a, "%s", ""), "");
	for (int n = 250; n < 260; n++) { /* some are longer than its own buffer */
		const char *text = arena_printf(a, "%*d|", n, 7);
		CHECK(strlen(text) == (size_t)n + 1 && text[n - 1] == '7' && text[n] == '|');
	}
	vec_free(&blocks);
	vec_free(&sizes);
	arena_free(a);
	arena_free(NULL);
}

static void test_buf(void)
{
	struct buf b = {0};
	static const int64_t numbers[] = {0, 7, -7, 10, 99, 100, 1234567890123, INT64_MAX, INT64_MIN};
	for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		char want[32];
		snprintf(want, sizeof want, "%lld", (long long)numbers[i]);
		b.n = 0;
		buf_puti(&b, numbers[i]);
		CHECK_STR(b.at, want);
		b.n = 0;
		buf_printf(&b, "%d%lld%s", 5, (long long)numbers[i], "x");
		CHECK(b.at[0] == '5' && !strncmp(b.at + 1, want, strlen(want)) && b.at[b.n - 1] == 'x');
	}
	b.n = 0;
	buf_puts(&b, "ab");
	buf_putc(&b, 'c');
	buf_putn(&b, "defg", 2);
	buf_putn(&b, NULL, 0);
	buf_pad(&b, '.', 3);
	buf_printf(&b, "%s", "!");
	CHECK_STR(b.at, "abcde...!");
	b.n = 0;
	buf_printf(&b, "%0500d", 1); /* longer than the free space */
	CHECK_EQ(b.n, 500);
	CHECK_EQ(strlen(b.at), 500);
	buf_free(&b);
	CHECK(!b.at);
}

static void check_json(const char *text, const char *want)
{
	struct buf b = {0};
	json_put_string(&b, text);
	CHECK_STR(b.at, want);
	buf_free(&b);
}

static void test_json(void)
{
	check_json(NULL, "null");
	check_json("", "\"\"");
	check_json("plain ~text", "\"plain ~text\"");
	check_json("\"a\"b\\", "\"\\\"a\\\"b\\\\\"");
	check_json("a\nb\tc\033[m\177", "\"a\\nb\\tc\\u001b[m\\u007f\"");
	check_json("\xc3\xa4x\xe2\x80\xaey", "\"\xc3\xa4x\\u202ey\"");
	check_json("x\xff"
	           "y\xc3",
	           "\"x\xef\xbf\xbdy\xef\xbf\xbd\"");
}

static void test_names(void)
{
	struct names *t = names_new();
	CHECK_EQ(names_count(t), 1);
	CHECK_EQ(names_intern(t, "", 0), 0);
	CHECK_STR(names_text(t, 0), "");
	CHECK_EQ(names_find(t, "x", 1), 0);
	uint32_t x = names_intern_z(t, "x");
	CHECK(x != 0);
	CHECK_EQ(names_intern(t, "xy", 1), x);
	CHECK(names_intern_z(t, "xy") != x);
	CHECK_EQ(names_find(t, "x", 1), x);

	enum { COUNT = 70000 };
	uint32_t first = names_count(t);
	const char *kept = names_text(t, x);
	char text[64];
	for (unsigned i = 0; i < COUNT; i++) {
		snprintf(text, sizeof text, "value_%u", i);
		if (names_intern_z(t, text) != first + i)
			CHECK(!"new names get the next ids");
	}
	unsigned wrong = 0;
	for (unsigned i = 0; i < COUNT; i++) {
		int n = snprintf(text, sizeof text, "value_%u", i);
		wrong += names_intern_z(t, text) != first + i;
		wrong += names_find(t, text, (size_t)n) != first + i;
		wrong += strcmp(names_text(t, first + i), text) != 0;
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(names_count(t), first + COUNT);
	CHECK(names_text(t, x) == kept);
	size_t indexed = names_bytes(t);
	names_drop_index(t); /* names keep their ids when the index is made again */
	CHECK(names_bytes(t) + (size_t)8 * COUNT < indexed);
	CHECK_EQ(names_find(t, "n1", 2), 0);
	CHECK_EQ(names_intern_z(t, "another name"), first + COUNT);
	CHECK_EQ(names_intern_z(t, names_text(t, first + COUNT / 2)), first + COUNT / 2);
	CHECK(names_bytes(t) >= indexed);

	char *huge = malloc(100000);
	memset(huge, 'h', 100000);
	uint32_t h = names_intern(t, huge, 100000);
	CHECK_EQ(names_intern(t, huge, 100000), h);
	CHECK_EQ(strlen(names_text(t, h)), 100000);
	free(huge);
	CHECK(names_bytes(t) > 100000);
	names_free(t);
	names_free(NULL);
}

/* Draws interesting values often: near 0, near the ends, powers of two. */
static int64_t random_int(uint64_t *seed)
{
	uint64_t kind = random_next(seed) % 5, r = random_next(seed);
	int64_t small = (int64_t)(r % 17) - 8;
	switch (kind) {
	case 0:
		return small;
	case 1:
		return small < 0 ? INT64_MAX + small : INT64_MIN + small;
	case 2:
		return (int64_t)((uint64_t)1 << r % 64);
	case 3:
		return (int64_t)(r >> 32) - (INT64_C(1) << 31);
	default:
		return (int64_t)r;
	}
}

__extension__ typedef __int128 wide;

static wide floor_div(wide a, wide b)
{
	wide q = a / b;
	return q - (a % b != 0 && (a < 0) != (b < 0));
}

typedef bool checked_function(int64_t a, int64_t b, int64_t *out);

/* Compares one function's result with the exact one. defined: a result exists. */
static unsigned is_wrong(checked_function *f, int64_t a, int64_t b, bool defined, wide exact)
{
	bool fits = defined && exact >= INT64_MIN && exact <= INT64_MAX;
	int64_t got = 42;
	bool ok = f(a, b, &got);
	return ok != fits || got != (fits ? (int64_t)exact : 42);
}

static void test_checked(void)
{
	uint64_t seed = 2024;
	unsigned wrong[6] = {0};
	for (unsigned i = 0; i < 300000; i++) {
		int64_t a = random_int(&seed), b = random_int(&seed);
		wide wa = a, wb = b, floor = b ? floor_div(wa, wb) : 0, ceil = b ? -floor_div(-wa, wb) : 0;
		wrong[0] += is_wrong(checked_add, a, b, true, wa + wb);
		wrong[1] += is_wrong(checked_sub, a, b, true, wa - wb);
		wrong[2] += is_wrong(checked_mul, a, b, true, wa * wb);
		wrong[3] += is_wrong(checked_floor_div, a, b, b != 0, floor);
		wrong[4] += is_wrong(checked_ceil_div, a, b, b != 0, ceil);
		wrong[5] += is_wrong(checked_mod, a, b, b != 0, wa - wb * floor);
	}
	for (unsigned i = 0; i < 6; i++)
		CHECK_EQ(wrong[i], 0);
}

static void test_words(void)
{
	CHECK_EQ(str_distance("abc", "abc", 3), 0);
	CHECK_EQ(str_distance("", "abc", 3), 3);
	CHECK_EQ(str_distance("abc", "abd", 3), 1);
	CHECK_EQ(str_distance("abc", "acb", 3), 1);
	CHECK_EQ(str_distance("kitten", "sitting", 9), 3);
	CHECK_EQ(str_distance("kitten", "sitting", 2), 3);
	CHECK_EQ(str_distance("a", "abcdefgh", 2), 3);

	int64_t v = 42;
	CHECK(str_parse_size("0", &v) && v == 0);
	CHECK(str_parse_size("8K", &v) && v == 8192);
	CHECK(str_parse_size("32M", &v) && v == INT64_C(32) << 20);
	CHECK(str_parse_size("8G", &v) && v == INT64_C(8) << 30);
	CHECK(str_parse_size("9223372036854775807", &v) && v == INT64_MAX);
	static const char *const none[] = {"",
	                                   "K",
	                                   "-1",
	                                   "+1",
	                                   " 1",
	                                   "1 ",
	                                   "1KB",
	                                   "1X",
	                                   "1.5",
	                                   "0x10",
	                                   "9223372036854775808",
	                                   "9007199254740992K"};
	v = 42;
	for (unsigned i = 0; i < sizeof none / sizeof *none; i++)
		CHECK(!str_parse_size(none[i], &v) && v == 42);
}

static const char *best_of(const char *word)
{
	static const char *const candidates[] = {"all_gather", "all_reduce", "relu", "x"};
	struct suggest s = suggest_start(word);
	for (unsigned i = 0; i < 4; i++)
		suggest_try(&s, candidates[i]);
	return s.best ? s.best : "(none)";
}

static void test_suggest(void)
{
	CHECK_STR(best_of("allgather"), "all_gather");
	CHECK_STR(best_of("all_reduec"), "all_reduce");
	CHECK_STR(best_of("RELU"), "relu");
	CHECK_STR(best_of("y"), "(none)");
	CHECK_STR(best_of("X"), "x");
	CHECK_STR(best_of("matmul"), "(none)");
	CHECK_STR(best_of(""), "(none)");
}

static void check_position(struct source *s, uint32_t offset, uint32_t line, uint32_t column)
{
	uint32_t l, c;
	source_position(s, offset, &l, &c);
	CHECK_EQ(l, line);
	CHECK_EQ(c, column);
}

static void test_transports(void)
{
	struct buf names = {0};
	for (enum transport_kind k = 0; k < TRANSPORT_COUNT; k++) {
		CHECK_EQ(transport_kind_find(transport_kind_name(k)), k);
		CHECK_EQ(transport_kind_has(k, TRANSPORT_ON_CPU) + transport_kind_has(k, TRANSPORT_ON_GPU),
		         k != TRANSPORT_AUTO);
	}
	CHECK_EQ(transport_kind_find("ncll"), TRANSPORT_COUNT);
	CHECK(!transport_kind_has(TRANSPORT_COUNT, 0));
	CHECK(!strcmp(transport_kind_values, "auto|shm|mpi|mixed|nccl|peers|cuda-ipc"));
	CHECK(!strcmp(transport_kind_values_gpu, "nccl|peers|cuda-ipc"));
	transport_kind_put(&names, TRANSPORT_ON_GPU, "and");
	buf_putc(&names, ';');
	transport_kind_put(&names, TRANSPORT_ON_GPU | TRANSPORT_HAS_VIEWS, "or");
	buf_putc(&names, ';');
	transport_kind_put(&names, TRANSPORT_NEEDS_THREADS, "or");
	CHECK(!strcmp(names.at, "nccl, peers and cuda-ipc;peers or cuda-ipc;peers"));
	buf_free(&names);
}

static void test_positions(void)
{
	struct source *s = source_from_text("a.hir", "ab\n\ncd", 6);
	check_position(s, 0, 1, 1);
	check_position(s, 2, 1, 3);
	check_position(s, 3, 2, 1);
	check_position(s, 4, 3, 1);
	check_position(s, 6, 3, 3);
	check_position(s, 1000, 3, 3);
	CHECK_EQ(s->line_count, 3);
	source_free(s);
	s = source_from_text("empty", "", 0);
	check_position(s, 0, 1, 1);
	source_free(s);
	source_free(NULL);
}

static void test_several_files(void)
{
	struct source *of[] = {source_from_text("a.hir", "ab\ncd", 5),
	                       source_from_text("b.hir", "ef\ngh\n", 6)};
	struct diag *d = diag_new(NULL, DIAG_TEXT, COLOR_NEVER);
	struct source *joined = source_join(d, of, 2), *s = source_copy(joined);
	source_free(joined);
	CHECK_EQ(s->file_n, 2);
	CHECK(!strcmp(s->text + s->file[0].at, "ab\ncd") && s->text[s->file[0].end] == '\0');
	CHECK(!strcmp(s->text + s->file[1].at, "ef\ngh\n") && s->file[1].end == s->size);
	check_position(s, 4, 2, 2);
	CHECK(!strcmp(source_name(s, 4), "a.hir"));
	check_position(s, s->file[1].at, 1, 1);
	check_position(s, s->file[1].at + 4, 2, 2);
	CHECK(!strcmp(source_name(s, s->file[1].at), "b.hir"));
	CHECK(!strcmp(source_name(s, s->size), "b.hir"));
	source_free(s);
	diag_free(d);
}

/* A diag and the text that it printed. */
struct capture {
	struct diag *d;
	FILE *f;
	char *text;
	size_t n;
};

static void capture_start(struct capture *c, enum diag_format format)
{
	c->f = open_memstream(&c->text, &c->n);
	c->d = diag_new(c->f, format, 0);
}

static void capture_end(struct capture *c, const char *want)
{
	diag_finish(c->d);
	diag_free(c->d);
	fclose(c->f);
	CHECK_STR(c->text, want);
	free(c->text);
}

static void test_messages(void)
{
	struct capture c;
	static const char text[] = "mesh\n\tinput X: f32[8@y]\n\xc3\xa4 bad\n\n";
	struct source *s = source_from_text("foo.hir", text, sizeof text - 1);

	capture_start(&c, DIAG_TEXT);
	diag_error(c.d, E_AXIS_UNKNOWN, DIAG_NOWHERE, "no input");
	CHECK(!diag_set_source(c.d, s));
	diag_error(c.d, E_AXIS_UNKNOWN, 21, "unknown mesh axis '%c'", 'y');
	struct suggest suggest = suggest_start("rwo");
	suggest_try(&suggest, "row");
	diag_suggest(c.d, &suggest);
	diag_error_span(c.d, E_RACE, 6, 5, "a span");
	diag_warning(c.d, W_LEAK, 27, "behind UTF-8, and \033 is no color");
	diag_note(c.d, 0, "declared here");
	diag_error(c.d, E_AXIS_UNKNOWN, 31, "an empty line");
	CHECK_EQ(diag_error_count(c.d), 4);
	CHECK_EQ(diag_warning_count(c.d), 1);
	capture_end(&c, "hirc: error: no input [E0203]\n"
	                "foo.hir:2:17: error: unknown mesh axis 'y' [E0203]\n"
	                "  \tinput X: f32[8@y]\n"
	                "  \t               ^\n"
	                "note: did you mean 'row'?\n"
	                "foo.hir:2:2: error: a span [E0601]\n"
	                "  \tinput X: f32[8@y]\n"
	                "  \t^~~~~\n"
	                "foo.hir:3:4: warning: behind UTF-8, and \\x1b is no color [W0612]\n"
	                "  \xc3\xa4 bad\n"
	                "    ^\n"
	                "foo.hir:1:1: note: declared here\n"
	                "  mesh\n"
	                "  ^\n"
	                "foo.hir:4:1: error: an empty line [E0203]\n");

	capture_start(&c, DIAG_JSON);
	diag_set_source(c.d, s);
	diag_error(c.d, E_AXIS_UNKNOWN, 5, "say \"%s\"\n", "x");
	diag_note(c.d, DIAG_NOWHERE, "one");
	diag_note(c.d, 0, "two");
	diag_warning(c.d, W_LEAK, DIAG_NOWHERE, "w");
	capture_end(&c,
	            "{\"file\":\"foo.hir\",\"line\":2,\"column\":1,\"severity\":\"error\",\"code\":\"E0203\","
	            "\"message\":\"say \\\"x\\\"\\n\",\"notes\":[{\"message\":\"one\"},"
	            "{\"file\":\"foo.hir\",\"line\":1,\"column\":1,\"message\":\"two\"}]}\n"
	            "{\"severity\":\"warning\",\"code\":\"W0612\",\"message\":\"w\"}\n");

	capture_start(&c, DIAG_TEXT);
	char want[2000];
	int n = 0;
	for (int i = 0; i < DIAG_MAX_ERRORS + 3; i++) {
		diag_error(c.d, E_AXIS_UNKNOWN, DIAG_NOWHERE, "e%d", i);
		diag_note(c.d, DIAG_NOWHERE, "n%d", i);
		if (i < DIAG_MAX_ERRORS)
			n += sprintf(want + n, "hirc: error: e%d [E0203]\nnote: n%d\n", i, i);
	}
	sprintf(want + n, "3 more errors not shown\n");
	capture_end(&c, want);
	source_free(s);
}

static void test_long_line(void)
{
	struct capture c;
	char *text = malloc(100000);
	memset(text, 'a', 100000);
	text[50000] = 'B';
	struct source *s = source_from_text("long.hir", text, 100000);
	capture_start(&c, DIAG_TEXT);
	diag_set_source(c.d, s);
	diag_error_span(c.d, E_RACE, 50000, 100000, "long");
	fflush(c.f);
	CHECK(c.n < 600);
	const char *b = strchr(c.text, 'B'), *caret = strchr(c.text, '^');
	CHECK(b && caret && strchr(b, '\n') < caret);
	const char *line = b, *below = caret;
	while (line[-1] != '\n')
		line--;
	while (below[-1] != '\n')
		below--;
	CHECK_EQ(b - line, caret - below);
	char *all = mem_strdup(c.text);
	capture_end(&c, all);
	free(all);
	source_free(s);
	free(text);
}

/* Writes a file, reads it as a source, and compares the messages. */
static void check_read(const char *bytes, size_t n, bool ok, const char *want)
{
	char path[] = "/tmp/hirc-test-XXXXXX", full[256] = "";
	int fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	close(fd);
	struct capture c;
	struct source *s = NULL;
	capture_start(&c, DIAG_TEXT);
	CHECK_EQ(source_read(c.d, path, &s), ok ? STATUS_OK : STATUS_DIAGNOSTICS);
	CHECK_EQ(s != NULL, ok);
	if (s)
		CHECK(s->size == n && memcmp(s->text, bytes, n) == 0 && s->text[n] == '\0');
	if (!ok)
		snprintf(full, sizeof full, "hirc: error: '%s' is not text: %s [E0805]\n", path, want);
	capture_end(&c, full);
	source_free(s);
	unlink(path);
}

static void test_read(void)
{
	check_read("", 0, true, "");
	check_read("a\n\xe2\x86\x90", 5, true, "");
	check_read("a\0b", 3, false, "NUL byte at offset 1");
	check_read("ab\xff", 3, false, "invalid UTF-8 at offset 2");
	check_read("\xc0\xaf", 2, false, "invalid UTF-8 at offset 0");
	check_read("\xed\xa0\x80", 3, false, "invalid UTF-8 at offset 0");
	check_read("a\xe2\x86", 3, false, "invalid UTF-8 at offset 1");

	struct capture c;
	struct source *s = NULL;
	capture_start(&c, DIAG_TEXT);
	CHECK(source_read(c.d, "/", &s) && source_read(c.d, "/no/such.hir", &s) &&
	      source_read(c.d, "/dev/zero", &s));
	CHECK(!s);
	capture_end(&c, "hirc: error: cannot read '/': it is a directory [E0801]\n"
	                "hirc: error: cannot open '/no/such.hir': No such file or directory [E0801]\n"
	                "hirc: error: '/dev/zero' is not text: NUL byte at offset 0 [E0805]\n");
}

/* The text of a file leaves the memory and comes back for a message, unless the file has changed. */
static void test_release(void)
{
	enum { LINES = 300000, LINE = 10 };
	char path[] = "/tmp/hirc-test-XXXXXX", want[256];
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	for (unsigned k = 1; k <= LINES; k++)
		fprintf(f, "%09u\n", k);
	fclose(f);
	struct capture c;
	struct source *s = NULL;
	capture_start(&c, DIAG_TEXT);
	CHECK(!source_read(c.d, path, &s));
	diag_set_source(c.d, s);
	source_release(s, s->size);
	CHECK(!s->released); /* it is not allowed */
	source_allow_release(s);
	source_release(s, 1000);
	CHECK(!s->released); /* too little */
	source_release(s, s->size / 2);
	CHECK(s->released > s->size / 3 && s->released <= s->size / 2 && s->text[8192] == '\0');
	source_release(s, s->size);
	CHECK(s->released > s->size - 10000);
	diag_error(c.d, E_RACE, 199999 * LINE, "here");
	CHECK(!s->released && source_text(s) == s->text && !strncmp(s->text, "000000001\n", LINE));
	source_free(s);
	CHECK(!source_read(c.d, path, &s));
	diag_set_source(c.d, s);
	source_allow_release(s);
	source_release(s, s->size);
	f = fopen(path, "a");
	fprintf(f, "more\n");
	fclose(f);
	diag_error(c.d, E_RACE, 199999 * LINE, "it has changed");
	CHECK(!source_text(s));
	snprintf(want, sizeof want,
	         "%s:200000:1: error: here [E0601]\n  000200000\n  ^\n%s: error: it has changed [E0601]\n",
	         path, path);
	capture_end(&c, want);
	source_free(s);
	unlink(path);
}

int main(void)
{
	test_arena();
	test_buf();
	test_json();
	test_names();
	test_checked();
	test_words();
	test_suggest();
	test_transports();
	test_positions();
	test_several_files();
	test_release();
	test_messages();
	test_long_line();
	test_read();
	return check_result();
}
