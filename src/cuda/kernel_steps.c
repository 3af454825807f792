/* kernel_steps: see kernel_steps.h. */
#include "cuda/kernel_steps.h"
#include <assert.h>
#include <stdlib.h>

/* ---- the steps of a task */

static int count_step_operands(const struct rt_task *t)
{
	return t->kernel == RT_TASK_POINTWISE ? pointwise_operands(t->op)
	       : t->kernel == RT_TASK_NORM    ? 3
	                                      : t->kernel != RT_TASK_FILL && t->kernel != RT_TASK_IOTA;
}

static bool same_window(const struct rt_view *a, const struct rt_view *b)
{
	if (a->data != b->data || a->dtype != b->dtype)
		return false;
	for (int d = 0; d < a->nd; d++)
		if (a->n[d] > 1 && a->stride[d] != b->stride[d])
			return false;
	return true;
}

static int add_view(struct kernel_writer *w, struct kernel_steps *s, const struct rt_view *v, bool loads)
{
	for (int k = 0; k < s->views; k++)
		if (same_window(s->view[k], v)) {
			s->loads[k] |= loads;
			return k;
		}
	if (s->views == KERNEL_VIEWS - KERNEL_REDUCTIONS) {
		w->too_large = true;
		return 0;
	}
	s->view[s->views] = v;
	s->loads[s->views] = loads;
	return s->views++;
}

/* Returns the last step before `end` that wrote to the view's memory; -1: none. */
static int writer_of(const struct kernel_steps *s, const struct rt_view *v, unsigned end)
{
	for (unsigned k = end; k-- > 0;)
		if (s->step[k].out >= 0 && same_window(s->view[s->step[k].out], v))
			return (int)k;
	return -1;
}

static void add_step(struct kernel_writer *w, struct kernel_steps *s, const struct rt_task *t,
                     const uint8_t *local, int *writer)
{
	unsigned k = s->steps++;
	struct kernel_step *step = &s->step[k];
	*step = (struct kernel_step){.t = t, .out = -1};
	for (int i = 0; i < count_step_operands(t); i++) {
		int from = local && local[i + 1] ? writer[local[i + 1]] : -1;
		step->kind[i] = KERNEL_VALUE;
		if (t->scalars >> i & 1 && t->kernel == RT_TASK_NORM) {
			step->kind[i] = KERNEL_NONE;
			continue;
		}
		if (t->scalars >> i & 1 && t->kernel == RT_TASK_POINTWISE) {
			step->kind[i] = KERNEL_SCALAR;
			continue;
		}
		if (from < 0)
			from = writer_of(s, &t->in[i], k);
		if (from < 0) {
			step->kind[i] = KERNEL_LOADED;
			from = add_view(w, s, &t->in[i], true);
		}
		step->from[i] = (uint8_t)from;
	}
	if (t->kernel == RT_TASK_IOTA) {
		s->numbers = t->out;
		s->numbers.data = NULL;
		s->numbers.dtype = DTYPE_I64;
		for (int d = 0; d < t->out.nd; d++)
			s->numbers.stride[d] = d == (int)t->axes;
		step->kind[0] = KERNEL_LOADED;
		step->from[0] = (uint8_t)add_view(w, s, &s->numbers, true);
	}
	if (t->kernel == RT_TASK_NORM) {
		s->norm = s->steps;
		s->removed = 1u << t->axes;
	}
	if (t->kernel == RT_TASK_REDUCE) {
		s->removed |= t->axes;
		if (s->reductions == KERNEL_REDUCTIONS)
			w->too_large = true;
		else
			s->reduction[s->reductions++] = k;
	} else if (local && local[0]) {
		writer[local[0]] = (int)k;
	} else {
		step->out = add_view(w, s, &t->out, false);
	}
}

bool kernel_steps_of(struct kernel_writer *w, const struct rt_task *t, struct kernel_steps *s)
{
	int writer[256];
	s->steps = s->reductions = s->removed = s->norm = s->from = 0;
	s->row_again = false;
	s->views = 0;
	if (t->kernel != RT_TASK_UNIT) {
		add_step(w, s, t, NULL, NULL);
	} else {
		for (unsigned k = 0; k < t->unit->steps && k < KERNEL_STEPS; k++)
			add_step(w, s, &t->unit->step[k].task, t->unit->step[k].local, writer);
		w->too_large |= t->unit->steps > KERNEL_STEPS;
	}
	s->to = s->steps;
	if (w->too_large)
		snprintf(w->why, RT_WHY_BYTES,
		         "too many operands for one kernel: let fewer operations be a unit");
	return !w->too_large;
}

/* ---- vectors and arguments */

int kernel_steps_vector(const struct kernel_steps *s, const struct kernel_axes *x, bool tail)
{
	int least = 8, most = 1, per;
	for (int k = 0; k < s->views; k++) {
		int size = (int)dtype_bytes(s->view[k]->dtype);
		if (kernel_axes_inner(x, k) == 0 || !s->view[k]->data)
			continue;
		least = size < least ? size : least;
		most = size > most ? size : most;
	}
	per = 16 / least < 8 || most == 1 ? 16 / least : 8;
	per = per > 16 / most ? per : 16 / most;
	for (; per > 1; per /= 2) {
		bool ok = x->nd > 0 && (tail || x->n[x->nd - 1] % per == 0);
		for (int k = 0; k < s->views && ok; k++)
			ok = kernel_axes_take_vectors(x, k, s->view[k], per);
		if (ok)
			break;
	}
	return per;
}

int kernel_steps_vector_apart(const struct kernel_steps *s, const struct kernel_axes *x,
                              const struct kernel_axes *other)
{
	int per = kernel_steps_vector(s, x, false);
	for (int k = 0; k < s->views && per > 1; k++) {
		int64_t size = (int64_t)dtype_bytes(s->view[k]->dtype), inner = kernel_axes_inner(x, k);
		for (int d = 0; d < other->nd && inner; d++)
			while (per > 1 && other->stride[k][d] * size % (per * size < 16 ? per * size : 16))
				per /= 2;
	}
	return per;
}

/* Returns the wide type that the operands decide, with the rule of the CPU's kernel. */
static enum dtype common_wide(const struct rt_task *t)
{
	bool any = false;
	enum dtype wide = DTYPE_I64;
	for (int k = t->op == POINTWISE_WHERE; k < pointwise_operands(t->op); k++) {
		if (t->scalars >> k & 1)
			continue;
		wide = dtype_common(wide, t->in[k].dtype);
		any = true;
	}
	wide = any ? wide : dtype_wide(t->out.dtype);
	return pointwise_class(t->op) == CLASS_REAL && wide == DTYPE_I64 ? DTYPE_F64 : wide;
}

/* Returns the wide type in which an operand is read. */
static enum dtype operand_wide(const struct rt_task *t, int k)
{
	bool scalar = t->scalars >> k & 1, condition = t->op == POINTWISE_WHERE && k == 0;
	if (scalar)
		return condition ? DTYPE_F64 : common_wide(t);
	return condition || pointwise_class(t->op) == CLASS_LOGICAL ? dtype_wide(t->in[k].dtype)
	                                                            : common_wide(t);
}

static unsigned scalar_argument(struct kernel_writer *w, enum dtype wide, struct rt_scalar s)
{
	return wide == DTYPE_I64 ? kernel_i64(w, s.i) : kernel_f64(w, s.f);
}

static void scalar_arguments(struct kernel_writer *w, struct kernel_step *step)
{
	const struct rt_task *t = step->t;
	if (t->kernel == RT_TASK_FILL) {
		int64_t bits = 0;
		if (dtype_is_float(t->out.dtype))
			rt_store_f64(t->out.dtype, &bits, t->scalar[0].f);
		else
			rt_store_i64(t->out.dtype, &bits, t->scalar[0].i);
		step->scalar[0] = kernel_i64(w, bits);
	}
	for (int i = 0; i < 3 && t->kernel == RT_TASK_UNIFORM; i++)
		step->scalar[i] = kernel_i64(w, t->scalar[i].i);
	if (t->kernel == RT_TASK_IOTA) {
		enum dtype wide = dtype_is_float(t->out.dtype) ? DTYPE_F64 : DTYPE_I64;
		step->scalar[0] = scalar_argument(w, wide, t->scalar[0]);
		step->scalar[1] = scalar_argument(w, wide, t->scalar[1]);
	}
	for (int i = 0; i < 3; i++)
		if (step->kind[i] == KERNEL_SCALAR)
			step->scalar[i] = scalar_argument(w, operand_wide(t, i), t->scalar[i]);
}

void kernel_steps_arguments(struct kernel_writer *w, struct kernel_steps *s, const struct kernel_axes *x)
{
	kernel_key(w, (unsigned)s->views);
	for (int k = 0; k < s->views; k++) {
		int64_t inner = kernel_axes_inner(x, k);
		unsigned pointer = kernel_pointer(w, s->view[k]->data, s->view[k]->dtype);
		assert(pointer == (unsigned)k);
		(void)pointer;
		s->inner[k] = inner != 0;
		kernel_key(w, s->view[k]->dtype * 4u + s->loads[k] * 2u + s->inner[k]);
		kernel_key(w, s->view[k]->data != NULL);
	}
	kernel_key(w, s->steps);
	for (unsigned k = 0; k < s->steps; k++) {
		struct kernel_step *step = &s->step[k];
		const struct rt_task *t = step->t;
		kernel_key(w, t->kernel);
		kernel_key(w, t->kernel == RT_TASK_POINTWISE ? t->op
		              : t->kernel == RT_TASK_REDUCE  ? t->reduce
		              : t->kernel == RT_TASK_NORM    ? t->norm
		                                             : 0);
		kernel_key(w, t->out.dtype);
		kernel_key(w, (unsigned)(step->out + 1));
		for (int i = 0; i < 3; i++) {
			kernel_key(w, step->kind[i]);
			kernel_key(w, step->from[i]);
			kernel_key(w, step->kind[i] == KERNEL_LOADED || step->kind[i] == KERNEL_VALUE
			                  ? t->in[i].dtype % DTYPE_COUNT
			                  : 0);
		}
		scalar_arguments(w, step);
	}
}

/* ---- text */

/* Returns true if the part to write loads a view. The first operand of the norm belongs to the part before
 * it. */
static bool is_loaded(const struct kernel_steps *s, int view)
{
	if (!s->loads[view] || !s->norm)
		return s->loads[view];
	for (unsigned k = s->from; k <= s->to && k < s->steps; k++)
		for (unsigned i = 0; i < 3; i++) {
			bool row = k == s->norm - 1 && i == 0;
			if (row ? k == s->to || s->row_again : k < s->to)
				if (s->step[k].kind[i] == KERNEL_LOADED && s->step[k].from[i] == view)
					return true;
		}
	return false;
}

void kernel_steps_declare(struct kernel_writer *w, const struct kernel_steps *s, int per, int unroll)
{
	for (int k = 0; k < s->views; k++)
		if (is_loaded(s, k))
			kernel_text(w, "ALIGNED %s in%d[%d][%d];\n", kernel_bits(s->view[k]->dtype), k,
			            unroll, s->inner[k] ? per : 1);
}

void kernel_steps_load(struct kernel_writer *w, const struct kernel_steps *s, int per, const char *name,
                       const char *more, bool tail)
{
	for (int k = 0; k < s->views; k++) {
		if (!is_loaded(s, k))
			continue;
		kernel_text(w, "{ offset o = AT_%s%d", name, k);
		if (more)
			kernel_text(w, " + AT_%s%d", more, k);
		kernel_text(w, ";\n");
		bool vector = s->inner[k] && per > 1;
		int bytes = per * (int)dtype_bytes(s->view[k]->dtype);
		if (!s->view[k]->data && vector)
			kernel_text(w, "LOOP (e, %d) in%d[u][e] = (u64)(o + e); }\n", per, k);
		else if (!s->view[k]->data)
			kernel_text(w, "in%d[u][0] = (u64)o; }\n", k);
		else if (!vector)
			kernel_text(w, "in%d[u][0] = arg.x%d[o]; }\n", k, k);
		else if (!tail)
			kernel_text(w, "MOVE(%d, in%d[u], arg.x%d + o); }\n", bytes, k, k);
		else
			kernel_text(
			    w,
			    "if (left >= %d) MOVE(%d, in%d[u], arg.x%d + o);\n"
			    "else LOOP (e, %d) in%d[u][e] = arg.x%d[o + (e < left ? e : left - 1)]; }\n",
			    per, bytes, k, k, per, k, k);
	}
}

/* Writes the bits of an operand. */
static void operand_bits(struct kernel_writer *w, const struct kernel_steps *s,
                         const struct kernel_step *step, int i)
{
	if (step->kind[i] == KERNEL_VALUE)
		kernel_text(w, "r%d", step->from[i]);
	else
		kernel_text(w, "in%d[u][%s]", step->from[i], s->inner[step->from[i]] ? "e" : "0");
}

static void write_operand(struct kernel_writer *w, const struct kernel_steps *s,
                          const struct kernel_step *step, int i, enum dtype wide)
{
	if (step->kind[i] == KERNEL_SCALAR) {
		kernel_text(w, "(%s)arg.x%u", dtype_name(wide), step->scalar[i]);
		return;
	}
	kernel_text(w, "load_%s_%s(", dtype_name(step->t->in[i].dtype), dtype_name(wide));
	operand_bits(w, s, step, i);
	kernel_text(w, ")");
}

void kernel_steps_row(struct kernel_writer *w, const struct kernel_steps *s)
{
	operand_bits(w, s, &s->step[s->norm - 1], 0);
}

static void write_norm(struct kernel_writer *w, const struct kernel_steps *s, const struct kernel_step *step)
{
	const struct rt_task *t = step->t;
	enum dtype wide = dtype_wide(t->in[0].dtype);
	kernel_text(w, "store_%s_%s(NORM(d)", dtype_name(t->out.dtype), dtype_name(wide));
	for (int i = 1; i < 3; i++) {
		if (step->kind[i] == KERNEL_NONE)
			continue;
		kernel_text(w, i == 1 ? " * " : " + ");
		write_operand(w, s, step, i, wide);
	}
	kernel_text(w, ")");
}

/* Returns the last part of a function's name: the type in which it computes, or near, see functions.cuh. */
static const char *function_suffix(const struct rt_task *t, enum dtype wide)
{
	bool near = pointwise_class(t->op) == CLASS_REAL && wide == DTYPE_F32 &&
	            dtype_is_float(t->out.dtype) && dtype_bytes(t->out.dtype) < 4;
	return near ? "near" : dtype_name(wide);
}

static void pointwise(struct kernel_writer *w, const struct kernel_steps *s, const struct kernel_step *step)
{
	const struct rt_task *t = step->t;
	enum pointwise_class class = pointwise_class(t->op);
	enum dtype wide = common_wide(t),
	           result = class == CLASS_COMPARE || class == CLASS_LOGICAL ? DTYPE_I64 : wide;
	int n = pointwise_operands(t->op);
	kernel_text(w, "store_%s_%s(", dtype_name(t->out.dtype), dtype_name(result));
	if (t->op == POINTWISE_WHERE || class == CLASS_LOGICAL) {
		for (int i = 0; i < n; i++) {
			bool truth = class == CLASS_LOGICAL || (t->op == POINTWISE_WHERE && i == 0);
			const char *between = t->op == POINTWISE_WHERE ? (i == 1 ? " ? " : " : ")
			                      : t->op == POINTWISE_AND ? " && "
			                                               : " || ";
			kernel_text(w, "%s",
			            i                          ? between
			            : t->op == POINTWISE_NOT   ? "!"
			            : t->op == POINTWISE_WHERE ? ""
			                                       : "(");
			kernel_text(w, "%s", truth ? "(" : "");
			write_operand(w, s, step, i, operand_wide(t, i));
			kernel_text(w, "%s", truth ? " != 0)" : "");
		}
		kernel_text(w, "%s", t->op == POINTWISE_NOT || t->op == POINTWISE_WHERE ? ")" : "))");
		return;
	}
	bool faults = wide == DTYPE_I64 && (t->op == POINTWISE_DIV || t->op == POINTWISE_MOD ||
	                                    t->op == POINTWISE_FMOD || t->op == POINTWISE_POW);
	kernel_text(w, "%s_%s(%s", pointwise_name(t->op), function_suffix(t, wide),
	            faults ? "&arg.head, " : "");
	for (int i = 0; i < n; i++) {
		kernel_text(w, "%s", i ? ", " : "");
		write_operand(w, s, step, i, wide);
	}
	kernel_text(w, "))");
}

static void write_step_copy(struct kernel_writer *w, const struct kernel_steps *s,
                            const struct kernel_step *step)
{
	const struct rt_task *t = step->t;
	enum dtype wide = dtype_wide(t->in[0].dtype);
	bool cast = t->kernel == RT_TASK_COPY && t->in[0].dtype != t->out.dtype;
	if (cast) {
		kernel_text(w, "store_%s_%s(", dtype_name(t->out.dtype), dtype_name(wide));
		write_operand(w, s, step, 0, wide);
		kernel_text(w, ")");
	} else {
		operand_bits(w, s, step, 0);
	}
}

static void write_step_iota(struct kernel_writer *w, const struct kernel_steps *s,
                            const struct kernel_step *step)
{
	const char *type = dtype_name(step->t->out.dtype);
	const char *wide = dtype_is_float(step->t->out.dtype) ? "f64" : "i64";
	kernel_text(w, "store_%s_%s(add_%s(arg.x%u, mul_%s(arg.x%u, (%s)", type, wide, wide, step->scalar[0],
	            wide, step->scalar[1], wide);
	operand_bits(w, s, step, 0);
	kernel_text(w, ")))");
}

static void write_step_uniform(struct kernel_writer *w, const struct kernel_steps *s,
                               const struct kernel_step *step)
{
	enum dtype type = step->t->out.dtype, wide = dtype_wide(type);
	kernel_text(w, "store_%s_%s(uniform_%s(&words%u, (u64)arg.x%u + ", dtype_name(type), dtype_name(wide),
	            dtype_name(wide), (unsigned)(step - s->step), step->scalar[0]);
	operand_bits(w, s, step, 0);
	kernel_text(w, ", (u64)arg.x%u, (u64)arg.x%u", step->scalar[1], step->scalar[2]);
	kernel_text(w, wide == DTYPE_F32 ? ", %d))" : "))", (int)dtype_exact(type));
}

void kernel_steps_compute(struct kernel_writer *w, const struct kernel_steps *s)
{
	unsigned reductions = 0;
	for (unsigned k = s->from; k < s->to; k++) {
		const struct kernel_step *step = &s->step[k];
		const struct rt_task *t = step->t;
		if (t->kernel == RT_TASK_REDUCE) {
			enum dtype wide = dtype_is_float(t->in[0].dtype) ? DTYPE_F64 : DTYPE_I64;
			kernel_text(w, "%s x%u = ", dtype_name(wide), reductions++);
			write_operand(w, s, step, 0, wide);
			kernel_text(w, ";\n");
			continue;
		}
		kernel_text(w, "%s r%u = ", kernel_bits(t->out.dtype), k);
		if (t->kernel == RT_TASK_POINTWISE)
			pointwise(w, s, step);
		else if (t->kernel == RT_TASK_FILL)
			kernel_text(w, "(%s)arg.x%u", kernel_bits(t->out.dtype), step->scalar[0]);
		else if (t->kernel == RT_TASK_IOTA)
			write_step_iota(w, s, step);
		else if (t->kernel == RT_TASK_UNIFORM)
			write_step_uniform(w, s, step);
		else if (t->kernel == RT_TASK_NORM)
			write_norm(w, s, step);
		else
			write_step_copy(w, s, step);
		kernel_text(w, ";\n");
	}
}

/* Returns the last step of the part that writes to a view; -1: none. */
static int last_writer(const struct kernel_steps *s, int view)
{
	for (unsigned k = s->to; k-- > s->from;)
		if (s->step[k].out == view)
			return (int)k;
	return -1;
}

void kernel_steps_open(struct kernel_writer *w, const struct kernel_steps *s, int per)
{
	for (int k = 0; k < s->views; k++)
		if (last_writer(s, k) >= 0)
			kernel_text(w, "ALIGNED %s out%d[%d];\n", kernel_bits(s->view[k]->dtype), k, per);
	for (unsigned k = s->from; k < s->to; k++)
		if (s->step[k].t->kernel == RT_TASK_UNIFORM)
			kernel_text(w, "struct words words%u = {NO_GROUP};\n", k);
}

void kernel_steps_keep(struct kernel_writer *w, const struct kernel_steps *s)
{
	for (int k = 0; k < s->views; k++)
		if (last_writer(s, k) >= 0)
			kernel_text(w, "out%d[e] = r%d;\n", k, last_writer(s, k));
}

void kernel_steps_store(struct kernel_writer *w, const struct kernel_steps *s, int per, const char *name,
                        const char *more, bool tail)
{
	for (int k = 0; k < s->views; k++) {
		if (last_writer(s, k) < 0)
			continue;
		int bytes = per * (int)dtype_bytes(s->view[k]->dtype);
		kernel_text(w, "{ offset o = AT_%s%d", name, k);
		if (more)
			kernel_text(w, " + AT_%s%d", more, k);
		kernel_text(w, ";\n");
		if (per == 1)
			kernel_text(w, "arg.x%d[o] = out%d[0]; }\n", k, k);
		else if (!tail)
			kernel_text(w, "MOVE(%d, arg.x%d + o, out%d); }\n", bytes, k, k);
		else
			kernel_text(w,
			            "if (left >= %d) MOVE(%d, arg.x%d + o, out%d);\n"
			            "else LOOP (e, %d) if (e < left) arg.x%d[o + e] = out%d[e]; }\n",
			            per, bytes, k, k, per, k, k);
	}
}
