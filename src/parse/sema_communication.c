/* sema_communication: Communications, transfers and the statements that name them, in %HostIrContainer.
 *
 *     ShareMemHandles(P2PCommunication 37 (type=recv, …), P2PCommunication 38 (type=send, …),
 *     P2PCommunication 38 (type=send, …)
 *     Wait(Communication 38)
 *
 * A Communication is issued where it is printed as a statement. A transfer that is printed first in
 * ShareMemHandles is declared there, and posted where it is printed later; the same holds for a transfer
 * printed as a statement several times. `issue=` in the section `Hirc 1 :` corrects this guess. */
#include "base/collective.h"
#include "ir/edit.h"
#include "ir/keeps_index.h"
#include "ir/team_root.h"
#include "parse/nvfuser.h"
#include <string.h>

static void number_statement(struct nv_reader *r, struct nv_statement *x, op_id op)
{
	struct op *o = nv_op(r, op);
	o->flags |= OP_ASYNC;
	o->number = x->number >= 0 && x->number <= INT32_MAX / 2 ? (int32_t)x->number : -1;
	o->name = x->given;
	x->op = op;
}

static attrs_id statement_attrs(struct nv_reader *r, const struct nv_statement *x, op_id op, ast_id comm)
{
	static const char *const but[] = {"issue", "buffer", "by_place", NULL};
	attrs_id attrs = x->attrs ? nv_attrs(r, (enum op_kind)nv_op(r, op)->kind, x->attrs, but) : 0;
	ast_id backend = nv_key(r, comm, "backend");
	if (backend && nv_is(r, backend, AST_NAME) && !nv_is_name(r, backend, "NCCL"))
		attrs = nv_with_name(r, attrs, "backend", ast_at(r->s->a, backend)->name);
	return attrs;
}

/* nvFuser's transfers copy memory, so some are by place if no line says otherwise. */
static void state_by_place(struct nv_reader *r, const struct nv_statement *x, op_id op)
{
	ast_id stated = x->attrs ? nv_key(r, x->attrs, "by_place") : 0;
	if (stated ? !nv_is_name(r, stated, "true") : !ir_is_printed_by_place(r->s->m, op))
		return;
	attrs_id attrs =
	    nv_with_name(r, nv_op(r, op)->attrs, "by_place", names_intern_z(r->s->m->names, "true"));
	nv_op(r, op)->attrs = attrs;
}

bool nv_check_keys(struct nv_reader *r, ast_id comm, const char *const *known)
{
	ast_each (r->s->a, key, comm) {
		const char *const *k = known;
		while (*k && strcmp(*k, ast_text(r->s->a, key)))
			k++;
		if (!*k || !nv_is(r, key, AST_KEY)) {
			diag_error(r->s->d, E_ATTRIBUTE_UNKNOWN, ast_at(r->s->a, key)->at, "%s has no '%s'",
			           ast_text(r->s->a, comm), ast_text(r->s->a, key));
			return false;
		}
	}
	return true;
}

ast_id nv_need_key(struct nv_reader *r, ast_id comm, const char *key)
{
	ast_id value = nv_key(r, comm, key);
	if (!value)
		diag_error(r->s->d, E_ATTRIBUTE_MISSING, ast_at(r->s->a, comm)->at,
		           "%s needs %s=", ast_text(r->s->a, comm), key);
	return value;
}

static op_id transfer(struct nv_reader *r, struct nv_statement *x, ast_id comm)
{
	static const char *const known[] = {"type", "buffer", "peer", "backend", NULL};
	struct sema *s = r->s;
	ast_id type = nv_need_key(r, comm, "type"), buffer = nv_need_key(r, comm, "buffer"),
	       peer = nv_need_key(r, comm, "peer");
	if (!type || !buffer || !peer || !nv_check_keys(r, comm, known))
		return 0;
	bool send = nv_is_name(r, type, "send");
	if (!send && !nv_is_name(r, type, "recv")) {
		nv_refuse(r, E_COMMUNICATION_KIND, type, "a P2PCommunication is a send or a recv");
		return 0;
	}
	value_id v = nv_operand(r, buffer);
	scalar_id to = v ? nv_scalar(r, peer) : 0;
	if (!to)
		return 0;
	if (!x->whole)
		v = nv_device_block(r, ast_at(s->a, comm)->at, v);
	struct ir_use use[2] = {{ROLE_READ, v}, {ROLE_SCALAR, to}};
	if (!send) {
		use[0] = use[1];
		use[1] = (struct ir_use){ROLE_WRITE, v};
	}
	if (!send && !ir_is_bound(s->m, v)) {
		nv_refuse(r, E_WRITE_TARGET, buffer, "a recv writes a buffer, and this is none");
		return 0;
	}
	op_id op = ir_op_new(s->m, send ? OP_SEND : OP_RECV, ast_at(s->a, comm)->at, use, 2);
	nv_append(r, op);
	nv_op(r, op)->attrs = statement_attrs(r, x, op, comm);
	state_by_place(r, x, op);
	number_statement(r, x, op);
	return op;
}

/* Returns true if an extent is a number, or a param that has a value. */
static bool is_known(const struct module *m, expr_id extent, int64_t *n)
{
	const struct expr *e = &m->expr.at[extent];
	if (e->kind != EXPR_PARAM || !m->param.at[e->k].has_value)
		return expr_is_const(m, extent, n);
	*n = m->param.at[e->k].value;
	return true;
}

/* Returns the type of the result of a scatter or reduce_scatter that is printed with the shape of one device:
 *
 *     Communication 1 (type=ReduceScatter, input=T2[iS4{8}, iS5{3}], output=T3[iS7{2}, iS8{3}])
 *
 * No device has the same block of T3 as another one, so T3 is f32[8@x, 3]. Otherwise returns the printed type. */
static type_id scattered_type(struct nv_reader *r, enum op_kind kind, team_id team, value_id from,
                              type_id printed)
{
	struct module *m = r->s->m;
	const struct type t = m->type.at[printed];
	uint8_t axis = 0;
	struct sugar s;
	unsigned offending;
	domain_id d;
	enum collective c;
	bool scatters =
	    op_collective(kind, &c) && collective_in(c) == PART_EACH && collective_out(c) == PART_OWN;
	if (!scatters || r->has_facts || !t.mesh || m->mesh.at[t.mesh].rank != 1 ||
	    ir_team_of_mesh(m, t.mesh, &axis, 1) != team)
		return printed;
	const struct domain *x = value_domain(m, from), *y = ir_domain(m, t.domain);
	bool whole = x->rank == y->rank && x->rank > 0;
	for (unsigned i = 0; i < y->axis_n; i++)
		whole &= y->axis[i].place == PLACE_NONE && y->axis[i].kind != AXIS_PARTIAL;
	int64_t block, all;
	if (whole && is_known(m, y->axis[0].extent, &block) && is_known(m, x->axis[0].extent, &all))
		whole = block != all && block * m->mesh.at[t.mesh].size[0] == all;
	if (!whole)
		return printed;
	s = (struct sugar){.rank = x->rank, .axis_n = x->rank};
	for (unsigned i = 0; i < x->rank; i++)
		s.axis[i].extent = x->axis[i].extent;
	s.axis[0].place_n = 1;
	s.axis[0].place[0] = (struct sugar_place){.kind = SUGAR_MESH};
	if (sugar_expand(m, &s, t.mesh, false, &d, &offending))
		return printed;
	return type_make(m, (enum dtype)t.dtype, (enum memory)t.memory, t.mesh, d);
}

/* Adds the operation of a reduction, which nvFuser does not print: the one that is pending in its operand. */
static attrs_id with_pending(struct nv_reader *r, attrs_id attrs, enum op_kind kind, value_id from)
{
	struct module *m = r->s->m;
	const struct domain *d = value_domain(m, from);
	if (r->has_facts || !(op_info[kind].traits & TRAIT_REDUCES) || attrs_find(m, attrs, "op"))
		return attrs;
	for (unsigned i = 0; i < d->axis_n; i++)
		if (d->axis[i].kind == AXIS_PARTIAL && d->axis[i].reduce != REDUCE_SUM)
			return nv_with_name(
			    r, attrs, "op",
			    names_intern_z(m->names, reduce_op_name((enum reduce_op)d->axis[i].reduce)));
	return attrs;
}

/* Adds the scalar operands of a Communication to n others. Returns their number; 0 after reporting. */
static unsigned read_scalars(struct nv_reader *r, ast_id comm, enum op_kind kind, team_id members,
                             mesh_id mesh, struct ir_use *use, unsigned n)
{
	struct module *m = r->s->m;
	expr_id of[OP_MAX_SCALARS];
	unsigned count = 0;
	for (; count < OP_MAX_SCALARS && op_info[kind].scalar[count]; count++) {
		const char *key = op_info[kind].scalar[count];
		ast_id e = nv_need_key(r, comm, key);
		expr_id x = e ? sema_expr(r->s, e) : 0;
		if (x && !strcmp(key, "root") && !(x = team_root_index(m, members, x)))
			nv_refuse(r, E_PEER, e, "root= is a device of the team");
		if (!x)
			return 0;
		of[count] = x;
	}
	if (kind == OP_COLLECTIVE_PERMUTE)
		nv_ring_peers(r, members, mesh, &of[0], &of[1]);
	for (unsigned k = 0; k < count; k++)
		use[n++] = (struct ir_use){ROLE_SCALAR, ir_scalar_expr(m, of[k])};
	return n;
}

/* Returns true if a buffer is neither read nor written yet. */
static bool is_unused(const struct module *m, value_id v)
{
	for (uint32_t i = m->value.at[v].first_use; i; i = m->operand.at[i].next_use)
		if (m->operand.at[i].role != ROLE_DEF)
			return false;
	return !ir_is_part(m, v);
}

static void set_type(struct module *m, value_id v, type_id type)
{
	if (m->value.at[v].type != type)
		m->value.at[v].axis_base = -1; /* it has other axes */
	m->value.at[v].type = type;
}

/* Reads Communication N (type=Allreduce, …) or CollectivePermute N (…). */
static void read_communication(struct nv_reader *r, struct nv_statement *x, ast_id comm)
{
	static const char *const known[] = {"type",    "team",      "root",      "input", "output",
	                                    "backend", "send_peer", "recv_peer", NULL};
	struct sema *s = r->s;
	ast_id type = nv_key(r, comm, "type"), input = nv_need_key(r, comm, "input"),
	       output = nv_need_key(r, comm, "output"), team = nv_key(r, comm, "team");
	enum op_kind kind = OP_COLLECTIVE_PERMUTE;
	if (strcmp(ast_text(s->a, comm), "CollectivePermute"))
		kind = nv_is(r, type, AST_NAME) ? op_by_nvfuser(ast_text(s->a, type)) : OP_NONE;
	if (!input || !output || !nv_check_keys(r, comm, known))
		return;
	if (!(op_info[kind].traits & TRAIT_COLLECTIVE)) {
		nv_refuse(r, E_COMMUNICATION_KIND, type ? type : comm,
		          "type= is Allgather, Allreduce, ReduceScatter, Reduce, Broadcast, Gather, Scatter, "
		          "SendRecv, AllToAll or CollectivePermute");
		return;
	}
	struct ir_use use[5];
	unsigned n = 1;
	struct nv_tensor *t =
	    nv_is(r, input, AST_TENSOR) ? nv_find_tensor(r, ast_at(s->a, input)->name) : NULL;
	if (t)
		nv_allocate_elsewhere(r, t, ast_at(s->a, input)->at);
	value_id bound, from = nv_operand(r, input);
	team_id members = 0;
	if (!from || !nv_result(r, output, &t, &bound) || (team && !sema_team(s, team, &members)))
		return;
	if (!r->has_facts && members && s->a->source->file_n <= 1 && printed_team_is_slice(kind))
		members = infer_whole_team(s->m, value_type(s->m, from)->mesh, members);
	if (!bound && op_info[kind].scalar[0])
		bound = nv_allocate_received(r, t, ast_at(s->a, output)->at);
	if (kind == OP_REDUCE && bound)
		bound = nv_root_block(r, comm, from, bound);
	type_id printed = bound ? s->m->value.at[bound].type : t->type;
	if (op_info[kind].traits & TRAIT_REDUCES)
		from = nv_reduced_operand(r, x, comm, members, from, printed);
	if (kind == OP_BROADCASTS)
		from = nv_sent_block(r, comm, from, printed);
	use[n++] = (struct ir_use){ROLE_READ, from};
	n = read_scalars(r, comm, kind, members, s->m->type.at[printed].mesh, use, n);
	if (!n)
		return;
	uint32_t at = ast_at(s->a, comm)->at;
	if (bound)
		use[n++] = (struct ir_use){ROLE_WRITE, bound};
	else
		use[0] = (struct ir_use){ROLE_DEF, nv_define(r, t, ast_at(s->a, output)->at)};
	type_id result = scattered_type(r, kind, members, from, bound ? s->m->value.at[bound].type : t->type);
	if (bound && is_unused(s->m, bound))
		set_type(s->m, bound, result);
	else if (bound)
		result = s->m->value.at[bound].type;
	op_id op = ir_op_new(s->m, kind, at, bound ? use + 1 : use, bound ? n - 1 : n);
	nv_append(r, op);
	if (!bound) { /* the dump does not show the reductions that it does */
		s->m->value.at[t->value].type = result;
		type_id type = infer_reduce_axes(s->m, op, result);
		s->m->value.at[t->value].type = type;
	}
	nv_op(r, op)->team = members;
	attrs_id attrs = statement_attrs(r, x, op, comm);
	attrs = with_pending(r, attrs, kind, from);
	nv_op(r, op)->attrs = attrs;
	state_by_place(r, x, op);
	number_statement(r, x, op);
	infer_check(s->m, s->d,
	            &(struct infer_draft){.kind = kind,
	                                  .operand = &from,
	                                  .operand_n = 1,
	                                  .attrs = nv_op(r, op)->attrs,
	                                  .team = members,
	                                  .result_n = 1,
	                                  .stated = result,
	                                  .at = at});
}

static void add_post(struct nv_reader *r, op_id transfer, uint32_t at)
{
	nv_append(r, ir_op_new(r->s->m, OP_POST, at, &(struct ir_use){ROLE_STATEMENT, transfer}, 1));
}

/* Reads a Communication that stands as a statement. */
void nv_communication(struct nv_reader *r, ast_id comm)
{
	struct sema *s = r->s;
	const struct ast_node *n = ast_at(s->a, comm);
	const char *name = ast_text(s->a, comm);
	struct nv_statement *x = nv_find_statement(r, n->value.i);
	bool is_transfer = !strcmp(name, "P2PCommunication");
	if (x->op && is_transfer && op_info[nv_op(r, x->op)->kind].traits & TRAIT_P2P) {
		add_post(r, x->op, n->at);
		return;
	}
	if (x->op) {
		diag_error(s->d, E_DEFINED_TWICE, n->at, "%s %lld stands twice", name, (long long)n->value.i);
		diag_note(s->d, nv_op(r, x->op)->at, "the first is here");
		return;
	}
	if (is_transfer) {
		op_id op = transfer(r, x, comm);
		if (op && x->count > 1 && x->issue == ISSUE_BY_TEXT)
			add_post(r, op, n->at);
	} else if (!strcmp(name, "EndCoalescing")) {
		op_id op = ir_op_new(s->m, OP_END_COALESCING, n->at, NULL, 0);
		nv_append(r, op);
		nv_op(r, op)->attrs = statement_attrs(r, x, op, comm);
		number_statement(r, x, op);
	} else if (!strcmp(name, "Communication") || !strcmp(name, "CollectivePermute")) {
		read_communication(r, x, comm);
	} else if (!strcmp(name, "Dispatch")) {
		nv_dispatch(r, comm);
	} else {
		nv_combine(r, comm);
	}
}

/* Reads the operands of Wait, post and ShareMemHandles, which are statements. */
void nv_naming_call(struct nv_reader *r, ast_id call, enum op_kind kind)
{
	struct sema *s = r->s;
	VEC(struct ir_use) use = {0};
	VEC(struct nv_pending) pending = {0};
	bool ok = true;
	ast_each (s->a, child, call) {
		const struct ast_node *n = ast_at(s->a, child);
		if (n->kind != AST_COMM && n->kind != AST_COMM_REF) {
			ok = nv_refuse(r, E_OPERAND_NAME, child, "a Communication is expected here");
			break;
		}
		struct nv_statement *x = nv_find_statement(r, n->value.i);
		if (!x->op && n->kind == AST_COMM && kind == OP_SHARE_MEM_HANDLES &&
		    x->issue == ISSUE_BY_TEXT && !(ok = transfer(r, x, child) != 0))
			break;
		if (!x->op)
			vec_push(&pending, (struct nv_pending){use.n, (uint32_t)(x - r->statement.at)});
		vec_push(&use, (struct ir_use){ROLE_STATEMENT, x->op});
	}
	if (ok && !use.n)
		ok = nv_refuse(r, E_OPERAND_COUNT, call, "this names at least one Communication");
	if (ok && use.n <= IR_MAX_OPERANDS) {
		op_id op = ir_op_new(s->m, kind, ast_at(s->a, call)->at, use.at, use.n);
		nv_append(r, op);
		for (uint32_t i = 0; i < pending.n; i++) {
			pending.at[i].operand += nv_op(r, op)->operand;
			vec_push(&r->pending, pending.at[i]);
		}
		if (kind == OP_WAIT && !r->has_facts)
			nv_deallocate_after_wait(r, op);
	}
	vec_free(&use);
	vec_free(&pending);
}

void nv_resolve_pending(struct nv_reader *r)
{
	struct module *m = r->s->m;
	for (uint32_t i = 0; i < r->pending.n; i++) {
		struct operand *o = &m->operand.at[r->pending.at[i].operand];
		const struct nv_statement *x = &r->statement.at[r->pending.at[i].statement];
		o->id = x->op;
		/* if it stands as a statement, the error was reported there; a Dispatch is no Communication */
		if (!x->op && (!x->count || diag_error_count(r->s->d) == r->s->errors))
			diag_error(r->s->d, E_STATEMENT_UNKNOWN, m->op.at[o->op].at,
			           "no statement is Communication %lld", (long long)x->number);
	}
}
