/* Compares random texts line by line: the edits lead from one to the other, are as few as a full table finds,
 * and the unified diff gives them back. */
#include "check.h"
#include "golden/golden_compare.h"
#include "golden/golden_output.h"
#include <stdlib.h>

enum { MOST = 40 };

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Draws a test that expects n lines of few letters, and m lines of output. */
static void draw(uint64_t *seed, struct golden_test *t, struct golden_lines *output)
{
	static const char *const line[] = {"a", "b", "c", "{{[ab]}}", "{{0 1}{2 3}}"};
	uint32_t n = (uint32_t)(random_next(seed) % MOST), m = (uint32_t)(random_next(seed) % MOST);
	for (uint32_t i = 0; i < n; i++) {
		const char *text = line[random_next(seed) % 5];
		vec_push(&t->expected, (struct golden_line){text, (uint32_t)strlen(text)});
	}
	for (uint32_t j = 0; j < m; j++)
		vec_push(&output->at, (struct golden_line){line[random_next(seed) % 3], 1});
}

static bool match(struct golden_line a, struct golden_line b)
{
	return (a.n == 1 && *a.at == *b.at) || (a.n == 8 && *b.at != 'c');
}

static uint32_t fewest(const struct golden_test *t, const struct golden_lines *output)
{
	uint32_t edits[MOST + 1][MOST + 1];
	for (uint32_t i = 0; i <= t->expected.n; i++)
		for (uint32_t j = 0; j <= output->at.n; j++) {
			uint32_t least = i + j;
			if (i && j && match(t->expected.at[i - 1], output->at.at[j - 1]))
				least = edits[i - 1][j - 1];
			if (i && edits[i - 1][j] + 1 < least)
				least = edits[i - 1][j] + 1;
			if (j && edits[i][j - 1] + 1 < least)
				least = edits[i][j - 1] + 1;
			edits[i][j] = least;
		}
	return edits[t->expected.n][output->at.n];
}

/* Compares the lines that a diff removes and adds with those of the edits. */
static void check_diff(const struct golden_test *t, const struct golden_lines *output,
                       const struct golden_edits *e)
{
	struct buf diff = {0};
	struct golden_lines line = {0};
	uint32_t different = 0, hunks = 0;
	golden_put_diff(t, output, e, &diff);
	golden_lines_cut(diff.at, diff.n, &line);
	for (uint32_t i = 2; i < line.at.n; i++) {
		char sign = *line.at.at[i].at;
		different += sign == '-' || sign == '+';
		hunks += sign == '@';
	}
	CHECK_EQ(different, e->edits.different);
	CHECK((hunks > 0) == (e->edits.different > 0));
	buf_free(&diff);
	vec_free(&line.at);
}

static void test_edits(void)
{
	uint64_t seed = 7;
	for (unsigned round = 0; round < 500; round++) {
		struct golden_test t = {.comment = "#"};
		struct golden_lines output = {0};
		struct golden_edits e = {0};
		uint32_t i = 0, j = 0;
		draw(&seed, &t, &output);
		golden_compare(&t, &output, &e);
		for (uint32_t k = 0; k < e.edits.kind.n; k++) {
			if (e.edits.kind.at[k] == EDIT_KEEP && i < t.expected.n && j < output.at.n)
				CHECK(match(t.expected.at[i], output.at.at[j]));
			i += e.edits.kind.at[k] != EDIT_INSERT;
			j += e.edits.kind.at[k] != EDIT_DELETE;
		}
		CHECK_EQ(i, t.expected.n);
		CHECK_EQ(j, output.at.n);
		CHECK_EQ(e.edits.different, fewest(&t, &output));
		CHECK_EQ(e.note.n, 0);
		check_diff(&t, &output, &e);
		golden_edits_free(&e);
		vec_free(&t.expected);
		vec_free(&output.at);
	}
}

/* With more lines than the search allows, all are removed and added, quickly. */
static void test_nothing_alike(void)
{
	enum { N = 20000 };
	struct golden_test t = {.comment = "#"};
	struct golden_lines output = {0};
	struct golden_edits e = {0};
	for (unsigned i = 0; i < N; i++) {
		vec_push(&t.expected, (struct golden_line){"a", 1});
		vec_push(&output.at, (struct golden_line){i == 0 || i == N - 1 ? "a" : "b", 1});
	}
	golden_compare(&t, &output, &e);
	CHECK_EQ(e.edits.different, 2 * (N - 2));
	CHECK_EQ(e.edits.kind.n, 2 * N - 2);
	golden_edits_free(&e);
	vec_free(&t.expected);
	vec_free(&output.at);
}

static void test_output(void)
{
	struct buf text = {0}, cut = {0};
	golden_put_text(&text, "a\xff\xc3\xa4\0z", 6);
	CHECK_STR(text.at, "a\\xff\xc3\xa4\\x00z\n");
	golden_put_text(&text, "", 0);
	golden_put_text(&text, "/tmp/x/y /tmp/x/temporary/z\n", 28);
	struct golden_cut cuts[2] = {{.instead = ""}, {.instead = "%t"}};
	buf_puts(&cuts[0].from, "/tmp/x/");
	buf_puts(&cuts[1].from, "/tmp/x/temporary");
	golden_put_cut(&text, cuts, 2, &cut);
	CHECK_STR(cut.at, "a\\xff\xc3\xa4\\x00z\ny %t/z\n");
	buf_free(&cuts[0].from);
	buf_free(&cuts[1].from);
	buf_free(&text);
	buf_free(&cut);
}

int main(void)
{
	test_edits();
	test_nothing_alike();
	test_output();
	return check_result();
}
