/* drawn: writes programs in which every statement has the right types; bytes of the input decide all choices.
 *
 *     mesh m(a0 = 2, a1 = 3)
 *     program p on m {
 *       input V0: f32[6@a0, 4@stream(2)]
 *       input V1: f32[4, 8]
 *       V2: f32[6@a1, 8] = matmul(V0, V1)
 *       ...
 *     }
 *     # --pipeline=p2p
 *
 * Each choice takes a byte; missing bytes are 0. So a short input is a short program, and a change of one
 * byte mostly changes one statement. Layouts are drawn for every tensor; movement between ranks and loops are
 * left to the passes. */
#include "fuzz.h"
#include <stdio.h>

enum { MOST_AXES = 3, MOST_DIMS = 4, MOST_TENSORS = 40, MOST_STATEMENTS = 14 };

struct tensor {
	unsigned nd, dtype;
	long n[MOST_DIMS];
	bool bound; /* may be written */
};

struct drawn {
	const uint8_t *at, *end;
	struct buf *out, *inputs; /* inputs come before everything else */
	long mesh[MOST_AXES];
	unsigned axes, loops, depth;
	long loop[2];
	struct tensor tensor[MOST_TENSORS];
	unsigned tensors, known; /* known: tensors outside closed blocks */
	unsigned names;
	unsigned number[MOST_TENSORS]; /* Vn by tensor */
};

static unsigned draw(struct drawn *x, unsigned n)
{
	return x->at < x->end && n ? *x->at++ % n : 0;
}

static const long extents[] = {4, 6, 8, 2, 3, 1, 12, 5, 9, 7, 16, 24};
static const char *const dtypes[] = {"f32", "bf16", "f64", "f16", "i32", "i64", "bool", "u8", "f8e4m3"};
enum { F32, BF16, F64, F16, I32, I64, BOOL, U8, F8, DTYPES };

static long extent(struct drawn *x)
{
	return extents[draw(x, sizeof extents / sizeof *extents)];
}

static bool is_float(unsigned dtype)
{
	return dtype <= F16 || dtype == F8;
}

/* ---- types */

static void put_places(struct drawn *x, unsigned *free_axes, unsigned *free_loops)
{
	for (unsigned most = 3; most; most--) {
		unsigned what = draw(x, 12), k = draw(x, 4);
		if (what < 4)
			return;
		if (what < 9 && k < x->axes && *free_axes & 1u << k) {
			*free_axes &= ~(1u << k);
			buf_printf(x->out, what == 8 ? "@swizzle1d(a%u)" : "@a%u", k);
			if (what == 8)
				return;
		} else if (what < 11 && k / 2 < x->loops && *free_loops & 1u << k / 2) {
			*free_loops &= ~(1u << k / 2);
			buf_printf(x->out, "@%s(%ld)", k & 1 ? "serial" : "stream", x->loop[k / 2]);
		} else if (what == 11) {
			buf_printf(x->out, "@block(%u)", 2 + (k & 1));
		}
	}
}

static void put_type(struct drawn *x, const struct tensor *t, bool whole)
{
	unsigned axes = (1u << x->axes) - 1, loops = (1u << x->loops) - 1;
	buf_printf(x->out, "%s[", dtypes[t->dtype]);
	for (unsigned k = 0; k < t->nd; k++) {
		buf_printf(x->out, "%s%ld", k ? ", " : "", t->n[k]);
		if (!whole)
			put_places(x, &axes, &loops);
	}
	buf_putc(x->out, ']');
	if (!whole && draw(x, 16) == 15 && axes)
		buf_printf(x->out, " partial(a%d)", __builtin_ctz(axes));
}

static void indent(struct drawn *x)
{
	buf_pad(x->out, ' ', 2 + 2 * x->depth);
}

/* ---- statements */

static unsigned new_tensor(struct drawn *x, struct tensor t)
{
	unsigned k = x->known < MOST_TENSORS ? x->known++ : MOST_TENSORS - 1;
	x->tensor[k] = t;
	x->number[k] = x->names++;
	return k;
}

static unsigned any(struct drawn *x)
{
	return draw(x, x->known);
}

/* Returns a tensor with these properties; a new input if there is none. */
static unsigned input(struct drawn *x, struct tensor t);

static unsigned same_shape(struct drawn *x, const struct tensor *t, unsigned dtype)
{
	unsigned first = any(x);
	struct tensor wanted = *t;
	for (unsigned k = 0; k < x->known; k++) {
		const struct tensor *o = &x->tensor[(first + k) % x->known];
		if (o->nd == t->nd && o->dtype == dtype && !memcmp(o->n, t->n, sizeof *t->n * t->nd))
			return (first + k) % x->known;
	}
	wanted.dtype = dtype;
	return input(x, wanted);
}

static unsigned input(struct drawn *x, struct tensor t)
{
	static const char *const data[] = {
	    "", "", "", " = iota()", " = zeros()", " = full(2)", " = random(seed=3)"};
	struct buf *out = x->out;
	t.bound = true;
	unsigned k = new_tensor(x, t);
	x->out = x->inputs;
	buf_printf(x->out, "  %s V%u: ", draw(x, 12) == 11 ? "inout" : "input", x->number[k]);
	put_type(x, &t, false);
	buf_printf(x->out, "%s\n", data[draw(x, sizeof data / sizeof *data)]);
	x->out = out;
	return k;
}

static const char *name(struct drawn *x, unsigned k)
{
	static char text[4][16];
	static unsigned turn;
	turn = (turn + 1) % 4;
	snprintf(text[turn], sizeof text[turn], "V%u", x->number[k]);
	return text[turn];
}

/* Begins `Vn: T = `, `Vn = ` or a write. must: the type cannot be inferred. */
static void define(struct drawn *x, struct tensor t, bool must, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void define(struct drawn *x, struct tensor t, bool must, const char *format, ...)
{
	unsigned how = draw(x, 8), to = MOST_TENSORS;
	va_list args;
	for (unsigned k = 0; k < x->known && how == 7 && to == MOST_TENSORS; k++) {
		const struct tensor *o = &x->tensor[k];
		if (o->bound && o->nd == t.nd && o->dtype == t.dtype &&
		    !memcmp(o->n, t.n, sizeof *t.n * t.nd))
			to = k;
	}
	indent(x);
	if (to < MOST_TENSORS) {
		buf_printf(x->out, "%s <- ", name(x, to));
	} else {
		t.bound = false;
		buf_printf(x->out, "V%u", x->names);
		if (must || how > 2) {
			buf_puts(x->out, ": ");
			put_type(x, &t, false);
		}
		buf_puts(x->out, " = ");
	}
	va_start(args, format);
	buf_vprintf(x->out, format, args);
	va_end(args);
	buf_putc(x->out, '\n');
	if (to == MOST_TENSORS)
		new_tensor(x, t);
}

static struct tensor without(struct tensor t, unsigned axis)
{
	for (unsigned k = axis; k + 1 < t.nd; k++)
		t.n[k] = t.n[k + 1];
	t.nd--;
	return t;
}

static struct tensor with(struct tensor t, unsigned axis, long n)
{
	t.n[axis] = n;
	return t;
}

static void pointwise(struct drawn *x, unsigned v)
{
	static const char *const one[] = {"relu", "neg", "abs", "gelu", "exp", "tanh", "silu", "sqrt", "sin"};
	static const char *const two[] = {"add", "mul", "sub", "maximum", "minimum", "div"};
	static const char *const compare[] = {"lt", "ge", "eq", "ne"};
	struct tensor t = x->tensor[v], b = t;
	unsigned kind = draw(x, 8), which = draw(x, 36);
	b.dtype = BOOL;
	if (t.dtype == BOOL) {
		define(x, t, false, "logical_not(%s)", name(x, v));
	} else if (kind < 3) {
		define(x, t, false, "%s(%s)", one[which % (is_float(t.dtype) ? 9 : 3)], name(x, v));
	} else if (kind < 5) {
		unsigned other = same_shape(x, &t, t.dtype);
		define(x, t, false, "%s(%s, %s)", two[which % 6], name(x, v), name(x, other));
	} else if (kind == 5) {
		unsigned other = same_shape(x, &t, t.dtype);
		define(x, b, false, "%s(%s, %s)", compare[which % 4], name(x, v), name(x, other));
	} else if (kind == 6) {
		unsigned c = same_shape(x, &t, BOOL), other = same_shape(x, &t, t.dtype);
		define(x, t, false, "where(%s, %s, %s)", name(x, c), name(x, v), name(x, other));
	} else {
		t.dtype = which % DTYPES;
		define(x, t, true, "cast(%s)", name(x, v));
	}
}

static void shape(struct drawn *x, unsigned v)
{
	struct tensor t = x->tensor[v];
	unsigned kind = draw(x, 9), axis = draw(x, t.nd);
	long n = t.n[axis];
	if (kind == 0 && t.nd > 1) {
		unsigned other = (axis + 1) % t.nd, place[MOST_DIMS] = {0, 1, 2, 3};
		struct buf dims = {0};
		place[axis] = other, place[other] = axis;
		t.n[axis] = t.n[other], t.n[other] = n;
		for (unsigned k = 0; k < t.nd; k++)
			buf_printf(&dims, "%s%u", k ? ", " : "", place[k]);
		define(x, t, false, "permute(%s, (%s))", name(x, v), dims.at);
		buf_free(&dims);
	} else if (kind == 1 && t.nd > 1) {
		struct tensor r = without(t, axis);
		r.n[axis ? axis - 1 : 0] *= n;
		if (axis + 1 < t.nd && !axis)
			r.n[0] = t.n[1] * n;
		struct buf text = {0};
		for (unsigned k = 0; k < r.nd; k++)
			buf_printf(&text, "%s%ld", k ? ", " : "", r.n[k]);
		define(x, r, false, "reshape(%s, [%s])", name(x, v), text.at);
		buf_free(&text);
	} else if (kind == 2 && t.nd < MOST_DIMS && n % 2 == 0) {
		struct tensor r = t;
		struct buf text = {0};
		for (unsigned k = t.nd; k > axis + 1; k--)
			r.n[k] = t.n[k - 1];
		r.nd++, r.n[axis] = 2, r.n[axis + 1] = n / 2;
		for (unsigned k = 0; k < r.nd; k++)
			buf_printf(&text, "%s%ld", k ? ", " : "", r.n[k]);
		define(x, r, false, "reshape(%s, [%s])", name(x, v), text.at);
		buf_free(&text);
	} else if (kind == 3) {
		long start = draw(x, (unsigned)n), stop = start + 1 + draw(x, (unsigned)(n - start));
		define(x, with(t, axis, stop - start), false, "slice(%s, axis=%u, start=%ld, stop=%ld)",
		       name(x, v), axis, start, stop);
	} else if (kind == 4) {
		long before = draw(x, 3), after = draw(x, 3);
		define(x, with(t, axis, n + before + after), false, "pad(%s, axis=%u, before=%ld, after=%ld)",
		       name(x, v), axis, before, after);
	} else if (kind == 5) {
		unsigned other = same_shape(x, &t, t.dtype);
		define(x, with(t, axis, 2 * n), false, "cat(%s, %s, axis=%u)", name(x, v), name(x, other),
		       axis);
	} else if (kind == 6 && n % 2 == 0) {
		indent(x);
		buf_printf(x->out, "V%u, V%u = split(%s, axis=%u)\n", x->names, x->names + 1, name(x, v),
		           axis);
		t.n[axis] = n / 2, t.bound = false;
		new_tensor(x, t);
		new_tensor(x, t);
	} else if (kind == 7 && t.nd < MOST_DIMS) {
		struct tensor index = {.nd = 1, .n = {extent(x)}, .dtype = I32};
		unsigned at = same_shape(x, &index, I32);
		define(x, with(t, axis, index.n[0]), false, "gather(%s, %s, axis=%u)", name(x, v),
		       name(x, at), axis);
	} else {
		struct tensor r = {.nd = 2, .dtype = t.dtype, .n = {extent(x), t.n[t.nd - 1]}};
		if (t.nd == 1)
			define(x, r, true, "broadcast(%s)", name(x, v));
		else
			define(x, t, true, "set(%s)", name(x, v));
	}
}

static void reduce(struct drawn *x, unsigned v)
{
	static const char *const how[] = {"sum", "max", "min", "mean", "prod"};
	struct tensor t = x->tensor[v];
	unsigned axis = draw(x, t.nd), which = draw(x, 5), keep = draw(x, 3);
	if (t.dtype == BOOL)
		which = 1;
	if (which == 3 && !is_float(t.dtype))
		which = 0;
	if (keep == 2 || t.nd == 1)
		define(x, with(t, axis, 1), false, "%s(%s, axis=%u, keepdims=true)", how[which], name(x, v),
		       axis);
	else
		define(x, without(t, axis), false, "%s(%s, axis=%u)", how[which], name(x, v), axis);
}

static void contract(struct drawn *x, unsigned v)
{
	struct tensor t = x->tensor[v], w = {.nd = 2, .dtype = t.dtype, .n = {t.n[t.nd - 1], extent(x)}};
	if (t.nd < 2 || !is_float(t.dtype) || t.dtype == F8) {
		reduce(x, v);
		return;
	}
	struct tensor r = with(t, t.nd - 1, w.n[1]);
	if (draw(x, 2)) {
		w.n[0] = r.n[t.nd - 1], w.n[1] = t.n[t.nd - 1];
		unsigned k = same_shape(x, &w, t.dtype);
		define(x, r, false, "linear(%s, %s)", name(x, v), name(x, k));
	} else {
		unsigned k = same_shape(x, &w, t.dtype);
		if (t.dtype == BF16 && draw(x, 2))
			r.dtype = F32;
		define(x, r, r.dtype != t.dtype, "matmul(%s, %s)", name(x, v), name(x, k));
	}
}

static void norm(struct drawn *x, unsigned v)
{
	struct tensor t = x->tensor[v], w = {.nd = 1, .dtype = t.dtype, .n = {t.n[t.nd - 1]}};
	unsigned kind = draw(x, 5);
	if (!is_float(t.dtype) || t.dtype == F8) {
		pointwise(x, v);
	} else if (kind < 2) {
		define(x, t, false, "softmax(%s, axis=%u)", name(x, v), draw(x, t.nd));
	} else if (kind < 4) {
		unsigned k = same_shape(x, &w, t.dtype);
		define(x, t, false, "%s(%s, %s)", kind == 2 ? "layernorm" : "rmsnorm", name(x, v),
		       name(x, k));
	} else if (t.nd == 4) {
		unsigned k = same_shape(x, &t, t.dtype), u = same_shape(x, &t, t.dtype);
		define(x, t, false, "sdpa(%s, %s, %s, causal=%s)", name(x, v), name(x, k), name(x, u),
		       draw(x, 2) ? "true" : "false");
	} else {
		unsigned axis = draw(x, t.nd);
		long most = 1 + draw(x, (unsigned)t.n[axis]);
		struct tensor index = with(t, axis, most);
		indent(x);
		buf_printf(x->out, "V%u, V%u = topk(%s, k=%ld, axis=%u)\n", x->names, x->names + 1,
		           name(x, v), most, axis);
		new_tensor(x, index);
		index.dtype = I64;
		new_tensor(x, index);
	}
}

static void statement(struct drawn *x);

/* Writes for i in 0..n { a = select(V, axis=0, index=i); …; b = select(B, axis=0, index=i); b <- … } with a
 * buffer B. */
static void loop(struct drawn *x, unsigned v)
{
	struct tensor t = x->tensor[v];
	if (t.nd < 2 || x->depth > 1 || x->known + 6 > MOST_TENSORS) {
		shape(x, v);
		return;
	}
	struct tensor part = without(t, 0);
	struct tensor whole = t;
	bool is_bool = t.dtype == BOOL;
	unsigned buffer, slice, id = x->names;
	indent(x);
	whole.bound = true;
	buffer = new_tensor(x, whole);
	buf_printf(x->out, "%s: ", name(x, buffer));
	put_type(x, &whole, draw(x, 2));
	buf_printf(x->out, " = allocate(%s)\n", draw(x, 2) ? "zero_init=true" : "");
	unsigned known = x->known;
	indent(x);
	buf_printf(x->out, "for i%u in 0..%ld%s {\n", id, t.n[0], draw(x, 3) == 2 ? " parallel(stream)" : "");
	x->depth++;
	part.bound = x->tensor[v].bound;
	slice = new_tensor(x, part);
	indent(x);
	buf_printf(x->out, "%s = select(%s, axis=0, index=i%u)\n", name(x, slice), name(x, v), id);
	for (unsigned k = draw(x, 3); k && x->known + 6 < MOST_TENSORS; k--)
		statement(x);
	unsigned from = x->known - 1;
	part = without(t, 0);
	if (x->tensor[from].nd != part.nd || x->tensor[from].dtype != part.dtype ||
	    memcmp(x->tensor[from].n, part.n, sizeof *part.n * part.nd) != 0)
		from = slice;
	part.bound = true;
	unsigned to = new_tensor(x, part);
	indent(x);
	buf_printf(x->out, "%s = select(%s, axis=0, index=i%u)\n", name(x, to), name(x, buffer), id);
	indent(x);
	if (draw(x, 4) == 3)
		buf_printf(x->out, "if i%u > 0 { %s <- %s(%s) }\n", id, name(x, to), is_bool ? "set" : "relu",
		           name(x, from));
	else
		buf_printf(x->out, "%s <- %s(%s)\n", name(x, to), is_bool ? "set" : "neg", name(x, from));
	x->depth--;
	indent(x);
	buf_puts(x->out, "}\n");
	x->known = known;
}

/* Writes a collective as an operation, or with a start and a wait. */
static void communicate(struct drawn *x, unsigned v)
{
	static const char *const how[] = {"allgather", "set", "all_to_allv", "broadcast_from"};
	struct tensor t = x->tensor[v];
	unsigned kind = draw(x, 4), axis = draw(x, x->axes);
	if (kind == 1 || t.dtype == BOOL) {
		define(x, t, true, "set(%s)", name(x, v));
		return;
	}
	indent(x);
	buf_printf(x->out, "V%u: ", x->names);
	put_type(x, &t, kind == 0);
	t.bound = false;
	buf_printf(x->out, " = %s(%s, axis=a%u)\n", how[kind], name(x, v), axis);
	new_tensor(x, t);
}

static void statement(struct drawn *x)
{
	if (x->known + 6 > MOST_TENSORS)
		return;
	unsigned kind = draw(x, 16), v = any(x);
	if (kind < 4)
		pointwise(x, v);
	else if (kind < 7)
		contract(x, v);
	else if (kind < 10)
		shape(x, v);
	else if (kind < 12)
		reduce(x, v);
	else if (kind == 12)
		norm(x, v);
	else if (kind == 13)
		define(x, x->tensor[v], true, "set(%s)", name(x, v));
	else if (kind == 14)
		loop(x, v);
	else
		communicate(x, v);
}

/* ---- programs */

static void put_options(struct buf *out, unsigned k)
{
	static const char *const options[] = {"--pipeline=p2p",
	                                      "--pipeline=p2p-put",
	                                      "--pipeline=broadcast",
	                                      "--pipeline=permute",
	                                      "--pipeline=collective",
	                                      "--zero-copy",
	                                      "--effort=1",
	                                      "--bucket-mode=coalesced",
	                                      "--fuse-pointwise",
	                                      "--transform=all",
	                                      "--inter-stream-sync",
	                                      "--offset-streams",
	                                      "--memory-limit=1K",
	                                      "--effort=2",
	                                      "--pipeline=p2p\n# --effort=1",
	                                      "--zero-copy\n# --fuse-pointwise"};
	if (k < sizeof options / sizeof *options)
		buf_printf(out, "# %s\n", options[k]);
}

void fuzz_draw(const uint8_t *data, size_t n, struct buf *out)
{
	struct buf body = {0}, inputs = {0};
	struct drawn x = {.at = data, .end = data + n, .out = out, .inputs = &inputs};
	x.axes = 1 + draw(&x, MOST_AXES);
	x.loops = draw(&x, 3);
	unsigned options = draw(&x, 64);
	for (unsigned k = 0; k < x.axes; k++)
		x.mesh[k] = 2 + (draw(&x, 8) == 7 ? 1 : 0) - (draw(&x, 16) == 15 ? 1 : 0);
	for (unsigned k = 0; k < x.loops; k++)
		x.loop[k] = 2 + draw(&x, 3);
	x.out = &body;
	for (unsigned k = 1 + draw(&x, 2); k; k--) {
		struct tensor t = {.nd = 1 + (1 + draw(&x, MOST_DIMS)) % MOST_DIMS,
		                   .dtype = draw(&x, 3) == 2 ? draw(&x, DTYPES) : F32};
		for (unsigned a = 0; a < t.nd; a++)
			t.n[a] = extent(&x);
		input(&x, t);
	}
	for (unsigned k = 0; k < MOST_STATEMENTS && (!k || x.at < x.end); k++)
		statement(&x);
	unsigned last = x.known - 1;
	buf_puts(&body, "  output Y: ");
	put_type(&x, &x.tensor[last], false);
	buf_printf(&body, " = set(%s)\n}\n", name(&x, last));

	buf_puts(out, "mesh m(");
	for (unsigned k = 0; k < x.axes; k++)
		buf_printf(out, "%sa%u = %ld", k ? ", " : "", k, x.mesh[k]);
	buf_puts(out, ")\nprogram p on m {\n");
	buf_putn(out, inputs.at, inputs.n);
	buf_putn(out, body.at, body.n);
	put_options(out, options);
	buf_free(&body);
	buf_free(&inputs);
}
