/* ref_experts: dispatch and combine on logical tensors.
 *
 * The rows of a rank are the choices (token, k) whose expert is on that rank, in order of tokens, then of k.
 * This is also the order of the ranks that hold the tokens, since they hold them in blocks. */
#include "ir/expr.h"
#include "ref/ref_internal.h"
#include <math.h>
#include <string.h>

struct routing {
	int64_t tokens, choices, ranks, room; /* room: rows of a rank */
	int64_t each;                         /* number of experts of a rank */
	const struct ref_array *expert;
	bool sure; /* no rounding error can change an expert */
	uint8_t state;
};

static bool extent_of(struct ref_context *c, value_id v, unsigned axis, uint32_t at, int64_t *out)
{
	const struct expr_env env = {.rank = -1};
	expr_id offending;
	enum expr_status status =
	    expr_eval(c->m, value_domain(c->m, v)->axis[axis].extent, &env, out, &offending);
	if (status != EXPR_OK)
		ref_report_expr(c, status, offending, at);
	return status == EXPR_OK;
}

static bool read_routing(struct ref_context *c, const struct ref_call *call,
                         const struct ref_array *const *in, struct routing *r)
{
	const struct op *op = ir_op(c->m, call->op);
	int64_t rows, counts, experts;
	*r = (struct routing){.expert = in[1], .sure = true, .state = REF_DEFINED};
	if (!extent_of(c, op_result(c->m, call->op, 0), 0, op->at, &rows) ||
	    !extent_of(c, op_result(c->m, call->op, 4), 0, op->at, &counts) ||
	    !ref_attr_int(c, call, "num_experts", 0, &experts))
		return false;
	r->tokens = in[0]->n[0];
	r->choices = in[1]->n[1];
	r->ranks = llround(sqrt((double)counts));
	r->room = r->tokens * r->choices;
	if (in[1]->n[0] != r->tokens || in[2]->n[0] != r->tokens || in[2]->n[1] != r->choices ||
	    rows != r->ranks * r->room || counts != r->ranks * r->ranks)
		return ref_refuse_shapes(c, op);
	if (experts <= 0 || experts % r->ranks) {
		diag_error(c->d, E_EXPERTS, op->at,
		           "dispatch: %lld experts cannot be spread evenly over %lld ranks",
		           (long long)experts, (long long)r->ranks);
		return false;
	}
	r->each = experts / r->ranks;
	for (int64_t i = 0; i < r->room; i++) {
		r->sure = r->sure && in[1]->error[i] == 0;
		r->state = in[1]->state[i] < r->state ? in[1]->state[i] : r->state;
		if (in[1]->state[i] == REF_DEFINED && (in[1]->ints[i] < 0 || in[1]->ints[i] >= experts)) {
			diag_error(c->d, E_EXPERTS, op->at,
			           "dispatch: expert %lld is not below %lld, the number of experts",
			           (long long)in[1]->ints[i], (long long)experts);
			return false;
		}
	}
	return true;
}

/* Returns the rank that holds a token; ranks hold tokens in blocks. */
static int64_t home(const struct routing *r, int64_t token)
{
	return token / ((r->tokens + r->ranks - 1) / r->ranks);
}

/* Sets row `row` of a result to choice i. */
static void put_row(const struct routing *r, unsigned result, const struct ref_array *const *in,
                    struct ref_array *out, int64_t row, int64_t i)
{
	int64_t token = i / r->choices, width = r->tokens ? ref_array_count(in[0]) / r->tokens : 0;
	switch (result) {
	case 0:
		for (int64_t k = 0; k < width; k++)
			ref_copy(out, row * width + k, in[0], token * width + k);
		break;
	case 2:
		ref_copy(out, row, in[2], i);
		break;
	default:
		ref_store_int(out, row, result == 1 ? r->expert->ints[i] : token);
	}
}

bool ref_dispatch(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                  struct ref_array *out)
{
	struct routing r;
	int64_t count = ref_array_count(out);
	if (!read_routing(c, call, in, &r))
		return false;
	for (int64_t i = 0; i < count; i++) {
		ref_store_int(out, i, call->result == 1 || call->result == 3 ? -1 : 0);
		out->state[i] = r.state;
	}
	if (r.state != REF_DEFINED)
		return true;
	for (int64_t rank = 0; rank < r.ranks; rank++) {
		int64_t row = rank * r.room;
		for (int64_t i = 0; i < r.room; i++) {
			int64_t from = home(&r, i / r.choices);
			if (r.expert->ints[i] / r.each != rank)
				continue;
			if (call->result < 4)
				put_row(&r, call->result, in, out, row++, i);
			else
				ref_store_int(
				    out, call->result == 4 ? from * r.ranks + rank : rank * r.ranks + from,
				    out->ints[call->result == 4 ? from * r.ranks + rank
				                                : rank * r.ranks + from] +
				        1);
		}
	}
	for (int64_t i = 0; i < count && !r.sure; i++)
		out->error[i] = INFINITY;
	return true;
}

/* A term in the sum of an element. */
struct term {
	double value, magnitude, passed;
	int64_t n;
	uint8_t state;
};

bool ref_combine(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                 struct ref_array *out)
{
	const struct ref_array *rows = in[0], *weight = in[1], *source = in[2];
	int64_t tokens = out->n[0], n = rows->n[0], count = ref_array_count(out),
	        width = tokens ? count / tokens : 0;
	enum dtype sum = weight->dtype == DTYPE_F64 ? DTYPE_F64 : rows->dtype;
	if (weight->n[0] != n || source->n[0] != n || (n && ref_array_count(rows) / n != width && tokens))
		return ref_refuse_shapes(c, ir_op(c->m, call->op));
	struct term *term = mem_zalloc(sizeof *term * (size_t)(count + 1));
	bool sure = true;
	for (int64_t i = 0; i < count; i++)
		term[i].state = REF_DEFINED;
	for (int64_t j = 0; j < n; j++) {
		int64_t to = source->ints[j];
		sure = sure && source->error[j] == 0 && source->state[j] == REF_DEFINED;
		for (int64_t k = 0; k < width && to >= 0 && to < tokens; k++) {
			struct term *t = &term[to * width + k];
			double x = rows->data[j * width + k], w = weight->data[j],
			       ex = rows->error[j * width + k], ew = weight->error[j];
			uint8_t state = rows->state[j * width + k] < weight->state[j]
			                    ? rows->state[j * width + k]
			                    : weight->state[j];
			t->state = state < t->state ? state : t->state;
			t->value += x * w;
			t->magnitude += fabs(x * w);
			t->passed += fabs(w) * ex + fabs(x) * ew + ex * ew;
			t->n++;
		}
	}
	for (int64_t i = 0; i < count; i++) {
		ref_store(out, i, term[i].value);
		out->state[i] = term[i].state;
		ref_set_error(out, i, term[i].value, sure ? term[i].passed : INFINITY,
		              term[i].magnitude * ref_sum_error(sum, term[i].n + 1));
	}
	free(term);
	return true;
}
