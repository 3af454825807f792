/* Tests of src/exec: generators, and the elements of a tensor that a rank holds. */
#include "check.h"
#include "exec/check_outputs.h"
#include "exec/data.h"
#include "parse/ast.h"
#include "parse/sema.h"
#include "rt/rows.h"
#include <math.h>
#include <stdlib.h>

/* ---- generators */

/* Stores elements side by side, and loads them again: floats into f, others into i. */
static void generate_values(const struct generate *g, enum dtype t, const int64_t *linear, unsigned n,
                            double *f, int64_t *i)
{
	int64_t offset[DATA_BATCH], stored[DATA_BATCH];
	for (unsigned k = 0; k < n; k++)
		offset[k] = k;
	generate_elements(g, t, linear, offset, n, stored);
	if (dtype_is_float(t))
		rt_row_load_f64(t, stored, 1, f, n);
	else
		rt_row_load_i64(t, stored, 1, i, n);
}

static void test_random(void)
{
	for (int t = 0; t < DTYPE_COUNT; t++) {
		struct generate g = {.kind = GENERATE_RANDOM, .seed = 7, .f = 1};
		int64_t linear[DATA_BATCH], i[DATA_BATCH], other[DATA_BATCH];
		double f[DATA_BATCH], fo[DATA_BATCH];
		unsigned seen = 0, same = 0;
		for (unsigned k = 0; k < DATA_BATCH; k++)
			linear[k] = k;
		generate_values(&g, t, linear, DATA_BATCH, f, i);
		bool is_float = dtype_is_float(t);
		for (unsigned k = 0; k < DATA_BATCH; k++) {
			int64_t v = is_float ? (int64_t)(f[k] * 8) : i[k];
			seen |= 1u << (v + 8);
			if (is_float) { /* exact in every float type */
				CHECK(f[k] == (double)v / 8 && v >= -8 && v <= 8);
			} else {
				int64_t lo = t == DTYPE_BOOL || t == DTYPE_U8 ? 0 : -4,
				        hi = t == DTYPE_BOOL ? 1
				             : t == DTYPE_U8 ? 8
				                             : 4;
				CHECK(v >= lo && v <= hi);
			}
		}
		CHECK_EQ(__builtin_popcount(seen), is_float ? 17 : t == DTYPE_BOOL ? 2 : 9);
		/* a value depends only on its index */
		for (unsigned k = 0; k < DATA_BATCH; k++)
			linear[k] = 255 - k;
		generate_values(&g, t, linear, DATA_BATCH, fo, other);
		for (unsigned k = 0; k < DATA_BATCH; k++)
			CHECK(is_float ? fo[k] == f[255 - k] : other[k] == i[255 - k]);
		/* and on the seed */
		g.seed = 8;
		generate_values(&g, t, linear, DATA_BATCH, fo, other);
		for (unsigned k = 0; k < DATA_BATCH; k++)
			same += is_float ? fo[k] == f[255 - k] : other[k] == i[255 - k];
		CHECK(same < DATA_BATCH * 3 / 4);
	}
	CHECK(generate_seed("X") != generate_seed("Y"));
	CHECK(generate_seed("X") == generate_seed("X"));
}

static void test_others(void)
{
	int64_t linear[3] = {0, 5, 1000000}, i[3];
	double f[3];
	struct generate g = {.kind = GENERATE_IOTA};
	generate_values(&g, DTYPE_F32, linear, 3, f, i);
	CHECK(f[0] == 0 && f[1] == 5 && f[2] == 1000000);
	generate_values(&g, DTYPE_I64, linear, 3, f, i);
	CHECK(i[0] == 0 && i[1] == 5 && i[2] == 1000000);
	g = (struct generate){.kind = GENERATE_FULL, .f = 2.5, .i = 2};
	generate_values(&g, DTYPE_BF16, linear, 1, f, i);
	generate_values(&g, DTYPE_I8, linear, 1, f, i);
	CHECK(f[0] == 2.5 && i[0] == 2);
	g = (struct generate){.kind = GENERATE_ZEROS, .f = 1, .i = 1};
	generate_values(&g, DTYPE_F16, linear, 1, f, i);
	generate_values(&g, DTYPE_I32, linear, 1, f, i);
	CHECK(f[0] == 0 && i[0] == 0);
}

/* ---- maps */

static struct module *parse(const char *text)
{
	struct diag *d = diag_new(stdout, DIAG_TEXT, 0);
	struct source *s = source_from_text("test.hir", text, (uint32_t)strlen(text));
	diag_set_source(d, s);
	struct ast *a = ast_parse(d, s);
	struct sema_options options = {0};
	struct module *m = sema_build(d, a, &options);
	CHECK(m != NULL);
	ast_free(a);
	diag_free(d);
	return m;
}

static void module_end(struct module *m)
{
	struct source *s = m->source;
	module_free(m);
	source_free(s);
}

/* Checks `0:0 1:2 …`: index and place in memory of every element that a rank holds of input k. */
static void check_map(const char *declaration, int64_t rank, const char *want)
{
	char text[1000];
	snprintf(text, sizeof text,
	         "mesh g(y = 2, x = 2)\nmesh m(x = 2)\nprogram p on m {\n  %s\n  output Z = X\n}\n",
	         declaration);
	struct module *m = parse(text);
	struct data_map map;
	struct data_cursor c = {0};
	struct data_batch b;
	struct buf got = {0};
	if (!m)
		return;
	CHECK(data_map_make(m, m->value.at[m->input.at[0].value].type, rank, &map));
	int64_t count = 0;
	while (data_map_next(&map, &c, 3, &b)) {
		for (unsigned k = 0; k < b.n; k++) {
			buf_printf(&got, count++ ? " %lld:%lld" : "%lld:%lld", (long long)b.linear[k],
			           (long long)b.offset[k]);
			CHECK(!b.even || b.offset[k] == b.offset[0] + (int64_t)k * b.stride);
		}
	}
	CHECK_EQ(map.count, count);
	CHECK_STR(got.at ? got.at : "", want);
	data_map_free(&map);
	buf_free(&got);
	module_end(m);
}

static void test_maps(void)
{
	check_map("input X: f32[6]", 1, "0:0 1:1 2:2 3:3 4:4 5:5");
	check_map("input X: f32[5@x]", 0, "0:0 1:1 2:2");
	check_map("input X: f32[5@x]", 1, "3:0 4:1");
	check_map("input X: f32[5@x]", 2, ""); /* outside the mesh */
	check_map("input X: f32[2, 4@x]", 1, "2:0 3:1 6:2 7:3");
	check_map("input X: f32[]", 1, "0:0");
	check_map("input X: f32[0, 3]", 0, "");
	/* inner split: every second element */
	check_map("input X: f32[6]\n  schedule X { split 0 inner 2; parallelize 1 x }", 1, "1:0 3:1 5:2");
	/* streams are whole, inputs allocate without the split */
	check_map("input X: f32[4@x@stream(2)]", 1, "2:0 3:1");
	check_map("input X: f32[8@stream(2)@x]", 1, "2:0 3:1 6:2 7:3");
	/* memory order */
	check_map("input X: f32[2, 3]\n  schedule X { allocation (1, 0) }", 0, "0:0 1:2 2:4 3:1 4:3 5:5");
	/* blocks that two mesh axes share, uneven at each split */
	check_map("input X: f32[7@y@x] on g", 0, "0:0 1:1");
	check_map("input X: f32[7@y@x] on g", 1, "2:0 3:1");
	check_map("input X: f32[7@y@x] on g", 3, "6:0");
	/* merged axes */
	check_map("input X: f32[2, 3]\n  schedule X { merge 0; split 0 outer 2; parallelize 0 x }", 1,
	          "3:0 4:1 5:2");
}

static void test_fill(void)
{
	struct module *m = parse(
	    "mesh m(x = 2)\nprogram p on m {\n  input X: f32[4, 6@x] = iota()\n  input Y: i8[3] = full(-2)\n"
	    "  input P: bf16[5] = full(0.3)\n  output Z = X\n}\n");
	struct diag *d = diag_new(stdout, DIAG_TEXT, 0);
	struct data_source *s = data_sources_open(m, d, &(struct data_paths){0}, NULL, 0);
	struct data_map map;
	struct buf why = {0};
	float x[12];
	CHECK(s != NULL);
	data_map_make(m, m->value.at[m->input.at[0].value].type, 1, &map);
	CHECK(data_fill(&s[0], DTYPE_F32, &map, x, &why));
	for (int r = 0; r < 4; r++)
		for (int c = 0; c < 3; c++)
			CHECK(x[r * 3 + c] == (float)(r * 6 + 3 + c));
	data_map_free(&map);
	double f[24];
	int64_t i[24];
	CHECK(data_whole(&s[0], DTYPE_F32, 24, f, NULL, &why) && f[23] == 23);
	CHECK(data_whole(&s[1], DTYPE_I8, 3, NULL, i, &why) && i[2] == -2);
	CHECK(data_whole(&s[2], DTYPE_BF16, 5, f, NULL, &why) && f[4] == 0.30078125); /* the nearest bf16 */
	data_sources_close(s, 3);
	struct data_file unknown = {.name = "W", .path = "w.npy"};
	FILE *sink = fopen("/dev/null", "w");
	struct diag *quiet = diag_new(sink, DIAG_TEXT, 0);
	CHECK(!data_sources_open(m, quiet, &(struct data_paths){0}, &unknown, 1));
	CHECK_EQ(diag_error_count(quiet), 1);
	diag_free(quiet);
	fclose(sink);
	diag_free(d);
	module_end(m);
}

int main(void)
{
	test_random();
	test_others();
	test_maps();
	test_fill();
	return check_result();
}
