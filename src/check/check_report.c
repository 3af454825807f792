/* check_report: messages about accesses and waits.
 *
 *     f.hir:12:5: error: race: linear reads 'H' on stream 1, not ordered after relu on stream 0, which
 *     writes it (rank 0, i = 1)
 *     f.hir:9:5: note: relu writes it here (rank 0, i = 0)
 *     note: `synchronize(0)` before the linear orders them                                        */
#include "check/check_report.h"
#include "check/check_symmetric.h"
#include "check/checker.h"
#include "check/words.h"
#include "ir/coalesce.h"
#include "ir/number.h"
#include "ir/print.h"
#include <string.h>

enum { MAX_REPORTS = 4 * DIAG_MAX_ERRORS }; /* later reports are counted as found, but not kept */

static bool is_reported(const struct checker *c, const char *what, op_id a, op_id b)
{
	for (uint32_t k = 0; k < c->reported.n; k++) {
		const struct reported *r = &c->reported.at[k];
		if (r->a == a && r->b == b && !strcmp(r->what, what))
			return true;
	}
	return false;
}

/* Adds a report; returns false if there is one of its kind about the two statements. */
static bool add_report(struct checker *c, const char *what, op_id a, op_id b)
{
	if (is_reported(c, what, a, b) || c->reported.n == MAX_REPORTS)
		return false;
	vec_push(&c->reported, (struct reported){a, b, what});
	return true;
}

bool report_own(struct checker *c, const char *what, op_id a, op_id b)
{
	if (c->status == CHECK_CLEAN) {
		c->status = CHECK_WRONG;
		c->most = c->most - c->work < CHECK_MORE_WORK ? c->most : c->work + CHECK_MORE_WORK;
	}
	if (!add_report(c, what, a, b))
		return false;
	if (c->o->witness && c->o->witness->kind == WITNESS_NONE) {
		c->o->witness->kind = WITNESS_MISMATCH; /* other reports set their own kind */
		c->o->witness->error = c->reported.n;
	}
	return true;
}

bool report_once(struct checker *c, const char *what, op_id a, op_id b)
{
	c->unlike = true;
	return report_own(c, what, a, b);
}

bool report_own_warning(struct checker *c, const char *what, op_id a, op_id b)
{
	return add_report(c, what, a, b);
}

bool report_warns(struct checker *c, const char *what, op_id a, op_id b)
{
	c->unlike = true;
	return add_report(c, what, a, b);
}

struct witness_access {
	op_id op;
	enum access_kind kind;
	int64_t rank;
	uint32_t iteration;
};

/* ---- words */

/* Returns the statement that a wait for op must name: for a Communication of a group, the end of the
 * group. */
static op_id waited_for(const struct module *m, op_id op)
{
	return m->op.at[op].flags & OP_GROUPED ? ir_coalesce_end(m, op) : op;
}

/* Returns the handle of a stream, or NULL. */
static const struct handle *handle_of(const struct rank_check *w, int64_t stream)
{
	for (handle_id h = 1; h < w->m->handle.n && stream == WALK_FIRST_STREAM; h++)
		if (w->walker.handle[h] == 0)
			return &w->m->handle.at[h];
	return NULL;
}

/* Appends the operand of synchronize for a stream: main, 2. */
static void put_stream_name(const struct rank_check *w, int64_t stream, struct buf *out)
{
	const struct handle *h = handle_of(w, stream);
	if (h && h->name)
		buf_puts(out, names_text(w->m->names, h->name));
	else if (stream == WALK_FIRST_STREAM)
		ir_put_default_name('m', h ? h->number : 1, out);
	else
		buf_puti(out, stream);
}

/* Appends `main` or `stream 2`. */
static void put_stream(const struct rank_check *w, int64_t stream, struct buf *out)
{
	if (stream == WALK_FIRST_STREAM && !handle_of(w, stream)) {
		buf_puts(out, "the initial stream");
		return;
	}
	if (stream != WALK_FIRST_STREAM)
		buf_puts(out, "stream ");
	put_stream_name(w, stream, out);
}

/* Appends ` (rank 0, i = 1)`. */
static void put_place(const struct rank_check *w, uint32_t iteration, struct buf *out)
{
	words_place(w->c, (uint32_t)w->rank, iteration, out);
}

static const char *name_access(enum access_kind kind)
{
	static const char *const text[] = {
	    [ACCESS_READ] = "reads", [ACCESS_WRITE] = "writes",     [ACCESS_ALLOCATE] = "makes",
	    [ACCESS_FREE] = "frees", [ACCESS_PROVIDE] = "provides", [ACCESS_TAKE] = "may use",
	    [ACCESS_VIEW] = "shows"};
	return text[kind];
}

static uint32_t place_of(const struct rank_check *w, op_id op)
{
	return op ? w->m->op.at[op].at : DIAG_NOWHERE;
}

/* ---- orders */

/* Writes the witness of two accesses: the one that was issued first is held back until the other is done. */
static void witness_accesses(struct checker *c, bool life, const struct witness_access *first,
                             const struct witness_access *last)
{
	bool called = !first->op || !last->op;
	enum witness_kind kind = called ? WITNESS_CALLER : life ? WITNESS_LIFETIME : WITNESS_RACE;
	bool result = first->op && c->m->op.at[first->op].flags & OP_ASYNC && first->kind == ACCESS_WRITE;
	bool received = first->op && c->m->op.at[first->op].kind == OP_RECV;
	if (!witness_is_wanted(c, kind))
		return;
	witness_add(c,
	            called               ? WITNESS_ROLE_STANDS
	            : result || received ? WITNESS_ROLE_HOLD_RESULT
	                                 : WITNESS_ROLE_HOLD,
	            first->op, first->rank, first->iteration);
	witness_add(c, called ? WITNESS_ROLE_STANDS : WITNESS_ROLE_UNTIL, last->op, last->rank,
	            last->iteration);
}

/* ---- races */

/* Appends ` on stream 2`; nothing for a Communication. */
static void put_thread(const struct rank_check *w, uint32_t thread, struct buf *out)
{
	const struct thread *t = thread == CHECK_NONE ? NULL : &w->thread.at[thread];
	if (t && t->op)
		return;
	buf_puts(out, " on ");
	put_stream(w, t ? t->stream : WALK_FIRST_STREAM, out);
}

/* Adds a note with the statement that would order the two accesses. */
static void note_order(struct rank_check *w, op_id op, const struct record *before)
{
	const struct thread *t = &w->thread.at[before->thread];
	const char *later = op ? op_info[w->m->op.at[op].kind].hir : "end of the program";
	bool started = t->op && t->busy && t->step == before->step;
	struct buf text = {0};
	if (started)
		words_statement_name(w->c, waited_for(w->m, before->op), &text);
	else
		put_stream_name(w, t->stream, &text);
	if (started && op && waited_for(w->m, op) == waited_for(w->m, before->op))
		diag_note(w->c->d, DIAG_NOWHERE, "both are of group %s, which starts them together", text.at);
	else if (!started && t->stream == WALK_FIRST_STREAM && !handle_of(w, WALK_FIRST_STREAM))
		diag_note(w->c->d, DIAG_NOWHERE,
		          "`%s = get_current_stream()` before the %s, and `synchronize(%s)` before the %s",
		          text.at, before->op ? op_info[w->m->op.at[before->op].kind].hir : "first statement",
		          text.at, later);
	else
		diag_note(w->c->d, DIAG_NOWHERE, "`%s(%s)` before the %s orders them",
		          started ? "wait" : "synchronize", text.at, later);
	if (!op && w->c->o->strict)
		diag_note(w->c->d, DIAG_NOWHERE, "--strict: the caller's work is on the initial stream");
	buf_free(&text);
}

void report_race(struct rank_check *w, const struct storage *storage, op_id op, enum access_kind kind,
                 uint32_t thread, const struct record *before)
{
	bool life = kind == ACCESS_FREE || kind == ACCESS_ALLOCATE || before->kind == ACCESS_FREE ||
	            before->kind == ACCESS_ALLOCATE;
	struct buf text = {0};
	if (!report_own(w->c, "race", op, before->op))
		return;
	words_statement(w->c, op, &text);
	buf_printf(&text, " %s ", name_access(kind));
	words_value(w->c, storage->value, &text);
	if (op || w->c->o->strict)
		put_thread(w, thread, &text);
	buf_puts(&text, ", not ordered after ");
	words_statement(w->c, before->op, &text);
	put_thread(w, before->thread, &text);
	buf_printf(&text, ", which %s it ", name_access((enum access_kind)before->kind));
	put_place(w, w->now, &text);
	diag_error(w->c->d, life ? E_LIFETIME : E_RACE, place_of(w, op ? op : before->op), "%s: %s",
	           life ? "lifetime" : "race", text.at);
	witness_accesses(
	    w->c, life,
	    &(struct witness_access){before->op, (enum access_kind)before->kind, w->rank, before->iteration},
	    &(struct witness_access){op, kind, w->rank, w->now});
	if (op && before->op) {
		text.n = 0;
		words_statement(w->c, before->op, &text);
		buf_printf(&text, " %s it here ", name_access((enum access_kind)before->kind));
		put_place(w, before->iteration, &text);
		diag_note(w->c->d, place_of(w, before->op), "%s", text.at);
	}
	buf_free(&text);
	note_order(w, op, before);
}

/* ---- races of ranks */

/* Appends ` through 'G'`; nothing for an access to the rank's own buffer. */
static void put_view(const struct rank_check *w, uint32_t symmetric, struct buf *out)
{
	if (!symmetric)
		return;
	buf_puts(out, " through ");
	words_value(w->c, w->symmetric.at[symmetric].value, out);
}

/* Adds a note about the missing fence, at which all ranks would wait for each other. */
static void missing_fence(struct rank_check *w, op_id op, const struct access *a, const struct record *before)
{
	const struct symmetric *s = &w->symmetric.at[before->symmetric];
	const char *later = op ? op_info[w->m->op.at[op].kind].hir : "end of the program";
	struct buf name = {0};
	words_value(w->c, w->symmetric.at[before->symmetric ? before->symmetric : a->view.symmetric].value,
	            &name);
	if (before->symmetric && s->freed)
		diag_note(w->c->d, place_of(w, s->freed),
		          "no synchronize or wait puts this fence between the %s and the %s",
		          op_info[w->m->op.at[before->op].kind].hir, later);
	else if (!before->symmetric)
		diag_note(w->c->d, DIAG_NOWHERE,
		          "a symmetric_view that makes %s after the %s is a fence: all ranks come to it",
		          name.at, op_info[w->m->op.at[before->op].kind].hir);
	else if (!a->view.symmetric)
		diag_note(w->c->d, DIAG_NOWHERE,
		          "a deallocate of %s before the %s is a fence: all ranks come to it", name.at,
		          later);
	else
		diag_note(w->c->d, DIAG_NOWHERE,
		          "a deallocate of %s and another symmetric_view between them are fences: all ranks "
		          "come to them",
		          name.at);
	buf_free(&name);
}

void report_race_of_ranks(struct rank_check *w, const struct storage *storage, op_id op,
                          const struct access *a, uint32_t thread, const struct record *before,
                          const uint32_t *who)
{
	struct buf text = {0};
	op_id first = op < before->op ? op : before->op, last = op < before->op ? before->op : op;
	if (!report_once(w->c, "race", last, first)) /* either of the two may come first */
		return;
	words_statement(w->c, op, &text);
	buf_printf(&text, " %s ", name_access(a->kind));
	words_value(w->c, storage->value, &text);
	put_view(w, a->view.symmetric, &text);
	if (op)
		put_thread(w, thread, &text);
	buf_puts(&text, op ? ", with no fence after " : " with no fence after ");
	words_statement(w->c, before->op, &text);
	buf_printf(&text, ", which on rank %u %s it", who[0], name_access((enum access_kind)before->kind));
	put_view(w, before->symmetric, &text);
	buf_putc(&text, ' ');
	words_place(w->c, who[1], w->now, &text);
	diag_error(w->c->d, E_RACE, place_of(w, op ? op : before->op), "race: %s", text.at);
	witness_accesses(
	    w->c, false,
	    &(struct witness_access){before->op, (enum access_kind)before->kind, who[0], before->iteration},
	    &(struct witness_access){op, a->kind, who[1], w->now});
	if (op && before->op) {
		text.n = 0;
		words_statement(w->c, before->op, &text);
		buf_printf(&text, " %s it here ", name_access((enum access_kind)before->kind));
		words_place(w->c, who[0], before->iteration, &text);
		diag_note(w->c->d, place_of(w, before->op), "%s", text.at);
	}
	buf_free(&text);
	missing_fence(w, op, a, before);
}

void report_race_with_itself(struct rank_check *w, const struct storage *storage, op_id op,
                             const struct access *a, const struct access *b, const uint32_t *who)
{
	bool turn = b->kind == ACCESS_READ; /* the message begins with the write */
	const struct access *x = turn ? a : b, *y = turn ? b : a;
	struct buf text = {0};
	if (!report_once(w->c, "race", op, op))
		return;
	words_statement(w->c, op, &text);
	buf_printf(&text, " %s a part of ", name_access(x->kind));
	words_value(w->c, storage->value, &text);
	put_view(w, x->view.symmetric, &text);
	buf_printf(&text, " that it %s on rank %u%s ", name_access(y->kind), who[turn], turn ? "" : ", too");
	words_place(w->c, who[!turn], w->now, &text);
	diag_error(w->c->d, E_RACE, place_of(w, op), "race: %s", text.at);
	witness_accesses(w->c, false, &(struct witness_access){op, y->kind, who[turn], w->now},
	                 &(struct witness_access){op, x->kind, who[!turn], w->now});
	diag_note(w->c->d, DIAG_NOWHERE,
	          "ranks that write at once write different parts, as block (axis_index(x) + i) %% size(x)");
	buf_free(&text);
}

/* ---- lifetimes */

/* Writes the witness of a buffer freed while another rank uses it: that rank's last use is held until the
 * free. */
static void witness_shown(struct rank_check *w, const struct symmetric *s, op_id op)
{
	const struct storage *x = &w->storage.at[s->storage];
	const struct walk_slice *slice = &w->c->walk_program.slice.at[s->slice];
	const struct record *use = NULL;
	for (uint32_t k = 0; k < x->record.n; k++)
		if (x->record.at[k].symmetric && x->record.at[k].kind != ACCESS_VIEW &&
		    &w->symmetric.at[x->record.at[k].symmetric] == s)
			use = &x->record.at[k];
	int64_t other = slice->n > 1 ? slice->device[slice->device[0] == w->rank] : w->rank;
	if (use)
		witness_accesses(
		    w->c, true,
		    &(struct witness_access){use->op, (enum access_kind)use->kind, other, use->iteration},
		    &(struct witness_access){op, ACCESS_FREE, w->rank, w->now});
	else if (witness_is_wanted(w->c, WITNESS_LIFETIME))
		witness_add(w->c, WITNESS_ROLE_STANDS, op, w->rank, w->now);
}

void report_shown(struct rank_check *w, const struct symmetric *s, op_id op)
{
	struct buf text = {0};
	op_id made = w->m->value.at[s->value].def;
	if (!report_once(w->c, "shown", op, made))
		return;
	buf_puts(&text, "deallocate frees ");
	words_value(w->c, w->storage.at[s->storage].value, &text);
	buf_puts(&text, ", which other ranks may use through ");
	words_value(w->c, s->value, &text);
	buf_putc(&text, ' ');
	put_place(w, w->now, &text);
	diag_error(w->c->d, E_LIFETIME, place_of(w, op), "lifetime: %s", text.at);
	witness_shown(w, s, op);
	text.n = 0;
	words_value(w->c, s->value, &text);
	buf_puts(&text, " is made here ");
	put_place(w, s->iteration, &text);
	diag_note(w->c->d, place_of(w, made), "%s", text.at);
	diag_note(w->c->d, DIAG_NOWHERE, "deallocate the view before: all ranks come to that");
	buf_free(&text);
}

void report_freed(struct rank_check *w, value_id v, op_id freed, uint32_t freed_iteration, op_id op,
                  enum access_kind kind)
{
	struct buf text = {0};
	if (!report_own(w->c, "freed", op, freed))
		return;
	words_statement(w->c, op, &text);
	buf_printf(&text, " %s ", name_access(kind));
	words_value(w->c, v, &text);
	buf_printf(&text, ", which is deallocated %s", kind == ACCESS_FREE ? "already " : "");
	put_place(w, w->now, &text);
	diag_error(w->c->d, E_LIFETIME, place_of(w, op ? op : freed), "lifetime: %s", text.at);
	if (op)
		witness_accesses(w->c, true, &(struct witness_access){op, kind, w->rank, w->now},
		                 &(struct witness_access){freed, ACCESS_FREE, w->rank, freed_iteration});
	else if (witness_is_wanted(w->c, WITNESS_LIFETIME))
		witness_add(w->c, WITNESS_ROLE_STANDS, freed, w->rank, freed_iteration);
	if (op) {
		text.n = 0;
		put_place(w, freed_iteration, &text);
		diag_note(w->c->d, place_of(w, freed), "it is deallocated here %s", text.at);
	}
	if (kind == ACCESS_FREE)
		diag_note(w->c->d, DIAG_NOWHERE, "deallocate a buffer once, on one path");
	else
		diag_note(w->c->d, DIAG_NOWHERE,
		          op ? "deallocate it after its last use"
		             : "the program returns this buffer: remove its deallocate");
	buf_free(&text);
}

/* Appends `element [3, 0] of 'Y'`; with index NULL `elements of 'Y'`. */
static void put_element(const struct checker *c, value_id v, const int64_t *index, struct buf *out)
{
	const unsigned n = value_domain(c->m, v)->rank;
	buf_puts(out, !index ? "elements of " : n ? "element [" : "");
	for (unsigned k = 0; index && k < n; k++)
		buf_printf(out, "%s%lld", k ? ", " : "", (long long)index[k]);
	buf_puts(out, index && n ? "] of " : "");
	words_value(c, v, out);
}

void report_unwritten(struct rank_check *w, op_id op, value_id v, const int64_t *index)
{
	struct buf text = {0};
	op_id made = w->m->value.at[v].def;
	if (!report_own(w->c, "unwritten", op, made))
		return;
	words_statement(w->c, op, &text);
	witness_is_wanted(w->c, WITNESS_UNWRITTEN);
	buf_puts(&text, " reads ");
	put_element(w->c, v, index, &text);
	buf_puts(&text, ", which nothing has written ");
	put_place(w, w->now, &text);
	diag_error(w->c->d, E_UNWRITTEN_READ, place_of(w, op), "lifetime: %s", text.at);
	text.n = 0;
	words_value(w->c, v, &text);
	diag_note(w->c->d, place_of(w, made), "%s is made here; zero_init=true fills it", text.at);
	buf_free(&text);
}

void report_incomplete(struct checker *c, const struct incomplete *x)
{
	struct buf text = {0};
	op_id made = c->m->value.at[x->value].def;
	if (!report_own(c, "incomplete", made, 0))
		return;
	witness_is_wanted(c, WITNESS_UNWRITTEN);
	put_element(c, x->value, x->index, &text);
	buf_puts(&text, " is an output, but nothing has written it ");
	words_place(c, x->rank, 0, &text);
	diag_error(c->d, E_UNWRITTEN_READ, c->m->op.at[made].at, "lifetime: %s", text.at);
	diag_note(c->d, DIAG_NOWHERE,
	          "write all of it on each rank of its mesh, or fill it by zero_init=true");
	buf_free(&text);
}

void report_leak(struct rank_check *w, value_id v, op_id made)
{
	struct buf text = {0};
	if (!report_own_warning(w->c, "leak", made, 0))
		return;
	words_value(w->c, v, &text);
	diag_warning(w->c->d, W_LEAK, place_of(w, made), "lifetime: %s is never deallocated", text.at);
	buf_free(&text);
}

void report_handle(struct rank_check *w, op_id transfer, value_id v, const struct announced *a)
{
	struct buf text = {0};
	if (!report_own(w->c, "handle", transfer, a->op))
		return;
	words_statement(w->c, transfer, &text);
	buf_puts(&text, " moves ");
	words_value(w->c, v, &text);
	buf_puts(&text,
	         a->op ? ", which is not the memory that was announced " : ", which was not announced ");
	put_place(w, w->now, &text);
	diag_error(w->c->d, E_LIFETIME, place_of(w, transfer), "lifetime: %s", text.at);
	if (a->op) {
		text.n = 0;
		buf_puts(&text, "share_mem_handles announces it here ");
		put_place(w, a->iteration, &text);
		diag_note(w->c->d, place_of(w, a->op), "%s", text.at);
	}
	diag_note(w->c->d, DIAG_NOWHERE, "announce it after its allocate, before the transfer");
	buf_free(&text);
}

static void report_wait(struct rank_check *w, op_id wait, op_id started)
{
	struct buf text = {0}, place = {0};
	if (!report_own(w->c, "wait", wait, started))
		return;
	words_statement(w->c, started, &text);
	put_place(w, w->now, &place);
	diag_error(w->c->d, E_WAIT_NOTHING, place_of(w, wait), "wait: no %s is left to wait for %s", text.at,
	           place.at);
	diag_note(w->c->d, place_of(w, started), "each start of this Communication takes one wait");
	buf_free(&text);
	buf_free(&place);
}

static void report_post(struct rank_check *w, op_id post, op_id message)
{
	if (!report_own(w->c, "post", post, message))
		return;
	diag_error(w->c->d, E_WAIT_NOTHING, w->m->op.at[post].at,
	           "mismatch: rank %lld has not come to the %s that is posted", (long long)w->rank,
	           op_info[w->m->op.at[message].kind].hir);
	diag_note(w->c->d, w->m->op.at[message].at, "it stands here");
}

void report_not_started(struct rank_check *w, op_id by, op_id named)
{
	if (w->m->op.at[by].kind == OP_WAIT)
		report_wait(w, by, named);
	else
		report_post(w, by, named);
}

void report_not_waited(struct rank_check *w, const struct transfer *t)
{
	struct buf text = {0}, place = {0};
	if (is_reported(w->c, "race", 0, t->op) || !report_own_warning(w->c, "not waited", t->op, 0))
		return;
	words_statement(w->c, t->op, &text);
	put_place(w, t->iteration, &place);
	diag_warning(w->c->d, W_NOT_WAITED, place_of(w, t->op), "wait: nothing waits for the %s %s", text.at,
	             place.at);
	buf_free(&text);
	buf_free(&place);
}
