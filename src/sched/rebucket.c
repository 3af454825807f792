/* rebucket: see rebucket.h. */
#include "sched/rebucket.h"
#include <stdlib.h>
#include <string.h>

/* ---- lists with room */

/* Copies the first old_n lists, and adds empty ones. */
static void open_lists(struct sched_rebucket *r, struct sched_rebucket_lists *lists, struct sched_lists *l,
                       uint32_t old_n, uint32_t n)
{
	const struct sched_lists old = *l;
	uint32_t items = old.at[old_n];
	*l = (struct sched_lists){.at = arena_new_array(r->arena, uint32_t, n),
	                          .end = arena_new_array(r->arena, uint32_t, n),
	                          .item = mem_alloc(sizeof *l->item * ((size_t)items + 1))};
	*lists = (struct sched_rebucket_lists){
	    .l = l, .room = arena_new_array(r->arena, uint32_t, n), .used = items, .size = items};
	if (items)
		memcpy(l->item, old.item, sizeof *l->item * items);
	for (uint32_t k = 0; k < old_n; k++) {
		l->at[k] = old.at[k];
		l->end[k] = old.end[k];
		lists->room[k] = old.end[k] - old.at[k];
	}
}

/* Sets list k to r->item. */
static void set_list(struct sched_rebucket *r, struct sched_rebucket_lists *lists, uint32_t k)
{
	struct sched_lists *l = lists->l;
	uint32_t n = sched_list_tidy(r->item.at, r->item.n);
	if (n > lists->room[k]) {
		l->at[k] = lists->used;
		lists->room[k] = n + n / 2;
		lists->used += lists->room[k];
		if (lists->used > lists->size) {
			lists->size = lists->used + lists->used / 2;
			l->item = mem_realloc(l->item, sizeof *l->item * lists->size);
		}
	}
	if (n)
		memcpy(l->item + l->at[k], r->item.at, sizeof *l->item * n);
	l->end[k] = l->at[k] + n;
	r->item.n = 0;
}

/* ---- what a node contributes to its lists, or to those of the part that it is a member of */

/* Returns false if x is a comm and needs a comm that is in its bucket. */
static bool add_needs(struct sched_rebucket *r, uint32_t x)
{
	const struct sched_parts *t = &r->parts;
	bool ok = true;
	for (uint32_t i = t->p->pred.at[x]; i < t->p->pred.end[x]; i++) {
		uint32_t y = t->p->pred.item[i];
		if (t->number[y] != t->number[x])
			vec_push(&r->item, t->result[y]);
		else
			ok = ok && t->p->node[x].kind != SCHED_COMM;
	}
	return ok;
}

static void add_needing(struct sched_rebucket *r, uint32_t x)
{
	const struct sched_parts *t = &r->parts;
	for (uint32_t i = t->p->succ.at[x]; i < t->p->succ.end[x]; i++) {
		uint32_t y = t->p->succ.item[i];
		if (t->number[y] != t->number[x])
			vec_push(&r->item, sched_parts_needing(t, y));
	}
}

/* Adds the storages that x uses, if node `as` uses them in its place. */
static void add_uses(struct sched_rebucket *r, uint32_t x, uint32_t as)
{
	const struct sched_lists *uses = &r->parts.p->uses;
	for (uint32_t i = uses->at[x]; i < uses->end[x]; i++)
		if (sched_parts_user(&r->parts, x, uses->item[i]) == as)
			vec_push(&r->item, uses->item[i]);
}

static void add_made(struct sched_rebucket *r, uint32_t x, uint32_t as)
{
	const struct sched_lists *makes = &r->parts.p->makes;
	for (uint32_t i = makes->at[x]; i < makes->end[x]; i++)
		if (sched_parts_maker(&r->parts, makes->item[i]) == as)
			vec_push(&r->item, makes->item[i]);
}

static uint32_t packed_of(const struct sched_rebucket *r, uint32_t slot)
{
	return r->parts.p->storage_n + 2 * slot;
}

/* Returns the slot of the comm that a wait waits for; SCHED_NONE: none. */
static uint32_t awaited_slot(const struct sched_rebucket *r, uint32_t x)
{
	return r->p.node[x].kind == SCHED_WAIT ? sched_parts_bucket(&r->parts, x) : SCHED_NONE;
}

/* ---- the lists of nodes in no bucket */

/* A chained wait keeps the packed buffer of the comm that it waits for. */
static void make_alone(struct sched_rebucket *r, uint32_t x)
{
	uint32_t slot = awaited_slot(r, x), comm = r->parts.p->node[x].comm;
	if (sched_awaited(&r->p.node[x]) != SCHED_NONE)
		r->p.node[x].comm = r->parts.number[comm];
	add_needs(r, x);
	set_list(r, &r->pred, x);
	add_needing(r, x);
	set_list(r, &r->succ, x);
	add_uses(r, x, x);
	if (slot != SCHED_NONE && r->parts.group[slot].packs)
		vec_push(&r->item, packed_of(r, slot));
	set_list(r, &r->uses, x);
}

/* ---- the lists of parts */

/* Lists the comms or the waits of a slot. */
static void list_joined(struct sched_rebucket *r, uint32_t slot, enum sched_part part)
{
	uint32_t number = sched_part(&r->parts, slot, part);
	r->joined.n = 0;
	for (uint32_t m = r->member.at[slot]; m < r->member.end[slot]; m++)
		for (uint32_t k = r->member.item[m], i = r->moves.at[k]; i < r->moves.end[k]; i++)
			if (r->parts.number[r->moves.item[i]] == number)
				vec_push(&r->joined, r->moves.item[i]);
}

/* Makes the lists of needs of a slot's parts, which follow each other. Returns false if a member needs another one. */
static bool connect_slot(struct sched_rebucket *r, uint32_t slot)
{
	const struct sched_group *g = &r->parts.group[slot];
	bool ok = true;
	for (enum sched_part q = sched_parts_first(g), last = sched_parts_last(g); q <= last; q++) {
		uint32_t y = sched_part(&r->parts, slot, q);
		bool comms = q == sched_parts_first(g), waits = q == SCHED_BUCKET_WAIT;
		if (comms || waits)
			list_joined(r, slot, waits ? SCHED_BUCKET_WAIT : SCHED_BUCKET_COMM);
		for (uint32_t k = 0; k < r->joined.n && (comms || waits); k++)
			ok &= add_needs(r, r->joined.at[k]);
		if (!comms)
			vec_push(&r->item, y - 1);
		set_list(r, &r->pred, y);
		bool sent = q == SCHED_BUCKET_COMM, over = q == last;
		if (sent || over)
			list_joined(r, slot, sent ? SCHED_BUCKET_COMM : SCHED_BUCKET_WAIT);
		for (uint32_t k = 0; k < r->joined.n && (sent || over); k++)
			add_needing(r, r->joined.at[k]);
		if (q < last)
			vec_push(&r->item, y + 1);
		set_list(r, &r->succ, y);
	}
	return ok;
}

/* Makes the lists of storages of one part. */
static void store_part(struct sched_rebucket *r, uint32_t slot, enum sched_part q)
{
	uint32_t y = sched_part(&r->parts, slot, q), packed = packed_of(r, slot), gathered = packed + 1;
	for (uint32_t m = r->member.at[slot]; m < r->member.end[slot]; m++)
		for (uint32_t k = r->member.item[m], i = r->moves.at[k]; i < r->moves.end[k]; i++)
			add_uses(r, r->moves.item[i], y);
	if (q == SCHED_BUCKET_WAIT && r->parts.group[slot].packs)
		vec_push(&r->item, packed);
	if (q == SCHED_UNPACK)
		vec_push(&r->item, gathered);
	set_list(r, &r->uses, y);
	for (uint32_t m = r->member.at[slot]; m < r->member.end[slot]; m++)
		for (uint32_t k = r->member.item[m], i = r->moves.at[k]; i < r->moves.end[k]; i++)
			add_made(r, r->moves.item[i], y);
	for (uint32_t s = packed; s <= gathered; s++)
		if (r->p.storage[s].def == y && r->p.storage[s].bytes)
			vec_push(&r->item, s);
	set_list(r, &r->makes, y);
}

/* Makes the two buffers of a slot, and their lists of users. */
static void make_buffers(struct sched_rebucket *r, uint32_t slot)
{
	uint32_t packed = packed_of(r, slot), gathered = packed + 1;
	const struct sched_group *g = &r->parts.group[slot];
	r->p.storage[packed] = sched_parts_packed(&r->parts, slot);
	r->p.storage[gathered] = sched_parts_gathered(&r->parts, slot);
	for (uint32_t m = r->member.at[slot]; g->packs && m < r->member.end[slot]; m++)
		for (uint32_t k = r->member.item[m], i = r->moves.at[k] + 1; i < r->moves.end[k]; i++)
			vec_push(&r->item, r->parts.number[r->moves.item[i]]);
	r->p.storage[packed].kept = !r->item.n;
	set_list(r, &r->users, packed);
	if (g->unpacks)
		vec_push(&r->item, sched_part(&r->parts, slot, SCHED_UNPACK));
	r->p.storage[gathered].kept = !g->unpacks;
	set_list(r, &r->users, gathered);
}

/* Makes the nodes of a slot, and all lists of its storages. */
static void make_slot(struct sched_rebucket *r, uint32_t slot)
{
	const struct sched_group *g = &r->parts.group[slot];
	uint32_t transfer = r->parts.p->transfer_n + slot;
	make_buffers(r, slot);
	for (enum sched_part q = sched_parts_first(g); g->comms && q <= sched_parts_last(g); q++) {
		struct sched_node *n = &r->p.node[sched_part(&r->parts, slot, q)];
		*n = sched_parts_node(&r->parts, slot, q, &r->p.transfer[transfer]);
		if (n->kind == SCHED_COMM)
			n->transfer = transfer;
		store_part(r, slot, q);
	}
}

/* ---- a change */

static void note(sched_numbers *list, uint32_t *marked, uint32_t marking, uint32_t x)
{
	if (marked[x] == marking)
		return;
	marked[x] = marking;
	vec_push(list, x);
}

static uint32_t count_parts(const struct sched_group *g)
{
	return g->comms ? 1u + sched_parts_last(g) - sched_parts_first(g) : 0;
}

/* Lists the slots that gain or lose members, and the comms and waits that are or were in them. */
static void find_changed(struct sched_rebucket *r, const uint32_t *slot)
{
	uint32_t transfers = r->parts.p->transfer_n;
	for (uint32_t i = 0; i < r->nodes.n; i++)
		r->former_number[r->nodes.at[i]] = r->parts.number[r->nodes.at[i]];
	r->slots.n = r->nodes.n = 0;
	r->marking++;
	for (uint32_t i = 0; i < transfers; i++) {
		uint32_t both[] = {slot[i], r->slot[i]};
		for (unsigned k = 0; k < 2 && slot[i] != r->slot[i]; k++)
			if (both[k] != SCHED_NONE)
				note(&r->slots, r->marked_slot, r->marking, both[k]);
	}
	for (uint32_t i = 0; i < transfers; i++) {
		bool was = r->slot[i] != SCHED_NONE && r->marked_slot[r->slot[i]] == r->marking;
		bool is = slot[i] != SCHED_NONE && r->marked_slot[slot[i]] == r->marking;
		for (uint32_t k = r->moves.at[i]; (was || is) && k < r->moves.end[i]; k++)
			vec_push(&r->nodes, r->moves.item[k]);
	}
}

/* Lists the transfers of the slots. */
static void list_transfers(struct sched_rebucket *r)
{
	uint32_t transfers = r->parts.p->transfer_n, *at = r->member.at;
	memset(at, 0, sizeof *at * ((size_t)r->slot_n + 1));
	for (uint32_t i = 0; i < transfers; i++)
		if (r->slot[i] != SCHED_NONE)
			at[r->slot[i]]++;
	for (uint32_t k = 0; k < r->slot_n; k++)
		at[k + 1] += at[k];
	for (uint32_t i = transfers; i-- > 0;)
		if (r->slot[i] != SCHED_NONE)
			r->member.item[--at[r->slot[i]]] = i;
}

/* Numbers the nodes that change, and counts those of a schedule. */
static void number_nodes(struct sched_rebucket *r)
{
	uint32_t n = r->parts.p->n;
	for (uint32_t i = 0; i < r->slots.n; i++) {
		struct sched_group *g = &r->parts.group[r->slots.at[i]];
		r->p.n -= count_parts(g);
		r->former[r->slots.at[i]] = *g;
		sched_parts_clear(g);
	}
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		uint32_t x = r->nodes.at[i];
		r->p.n += r->parts.number[x] >= n;
		sched_parts_join(&r->parts, x);
		r->p.n -= r->parts.number[x] >= n;
	}
	for (uint32_t i = 0; i < r->slots.n; i++)
		r->p.n += count_parts(&r->parts.group[r->slots.at[i]]);
}

/* Notes the lists of x's neighbours: of nodes in no bucket, or of slots. */
static void note_neighbours(struct sched_rebucket *r, const struct sched_lists *next, uint32_t x,
                            sched_numbers *list, uint32_t *marked)
{
	uint32_t n = r->parts.p->n;
	for (uint32_t i = next->at[x]; i < next->end[x]; i++) {
		uint32_t y = next->item[i];
		if (r->parts.number[y] < n)
			note(list, marked, r->marking, y);
		else
			note(&r->beside, r->marked_slot, r->marking, sched_parts_bucket(&r->parts, y));
	}
}

/* Notes all lists that depend on a node that changes. Slots that change are marked already. */
static void note_lists(struct sched_rebucket *r)
{
	const struct sched_problem *p = r->parts.p;
	r->need.n = r->needing.n = r->storage.n = r->beside.n = 0;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		uint32_t x = r->nodes.at[i];
		note_neighbours(r, &p->succ, x, &r->need, r->marked_need);
		note_neighbours(r, &p->pred, x, &r->needing, r->marked_needing);
		for (uint32_t k = p->uses.at[x]; k < p->uses.end[x]; k++)
			note(&r->storage, r->marked_storage, r->marking, p->uses.item[k]);
		for (uint32_t k = p->makes.at[x]; k < p->makes.end[x]; k++)
			note(&r->storage, r->marked_storage, r->marking, p->makes.item[k]);
	}
}

static void make_storage(struct sched_rebucket *r, uint32_t s)
{
	const struct sched_lists *users = &r->parts.p->users;
	r->p.storage[s].def = sched_parts_maker(&r->parts, s);
	for (uint32_t i = users->at[s]; i < users->end[s]; i++)
		vec_push(&r->item, sched_parts_user(&r->parts, users->item[i], s));
	set_list(r, &r->users, s);
}

bool sched_rebucket(struct sched_rebucket *r, const uint32_t *slot)
{
	bool ok = true;
	find_changed(r, slot);
	memcpy(r->slot, slot, sizeof *slot * r->parts.p->transfer_n);
	list_transfers(r);
	number_nodes(r);
	note_lists(r);
	for (uint32_t i = 0; i < r->storage.n; i++)
		make_storage(r, r->storage.at[i]);
	for (uint32_t i = 0; i < r->nodes.n; i++)
		if (r->parts.number[r->nodes.at[i]] == r->nodes.at[i])
			make_alone(r, r->nodes.at[i]);
	for (uint32_t i = 0; i < r->need.n; i++) {
		add_needs(r, r->need.at[i]);
		set_list(r, &r->pred, r->need.at[i]);
	}
	for (uint32_t i = 0; i < r->needing.n; i++) {
		add_needing(r, r->needing.at[i]);
		set_list(r, &r->succ, r->needing.at[i]);
	}
	for (uint32_t i = 0; i < r->slots.n; i++) {
		make_slot(r, r->slots.at[i]);
		ok &= !r->parts.group[r->slots.at[i]].comms || connect_slot(r, r->slots.at[i]);
	}
	for (uint32_t i = 0; i < r->beside.n; i++)
		ok &= connect_slot(r, r->beside.at[i]);
	return ok;
}

void sched_rebucket_slots(const struct sched_rebucket *r, const uint32_t *bucket, uint32_t bucket_n,
                          uint32_t *slot)
{
	uint32_t transfers = r->parts.p->transfer_n, free_slot = 0;
	uint32_t *now = mem_alloc(sizeof *now * ((size_t)bucket_n + 1)); /* by bucket: its slot */
	uint32_t *left = mem_zalloc(sizeof *left * ((size_t)bucket_n + 1));
	bool *taken = mem_zalloc((size_t)r->slot_n + 1), *changed = mem_zalloc((size_t)bucket_n + 1);
	memset(now, 0xff, sizeof *now * ((size_t)bucket_n + 1));
	for (uint32_t i = 0; i < transfers; i++) {
		uint32_t k = bucket[i];
		if (k == SCHED_NONE)
			continue;
		now[k] = left[k]++ ? now[k] : r->slot[i];
		changed[k] |= now[k] != r->slot[i];
	}
	for (uint32_t k = 0; k < bucket_n; k++) {
		bool stays =
		    left[k] && now[k] != SCHED_NONE && !changed[k] && r->parts.group[now[k]].comms == left[k];
		now[k] = stays ? now[k] : SCHED_NONE;
		taken[stays ? now[k] : r->slot_n] = true;
	}
	for (uint32_t k = 0; k < bucket_n; k++) {
		if (now[k] != SCHED_NONE || !left[k])
			continue;
		while (taken[free_slot])
			free_slot++;
		now[k] = free_slot++;
	}
	for (uint32_t i = 0; i < transfers; i++)
		slot[i] = bucket[i] == SCHED_NONE ? SCHED_NONE : now[bucket[i]];
	free(now);
	free(left);
	free(taken);
	free(changed);
}

/* ---- open and close */

static void list_moves(struct sched_rebucket *r, const struct sched_problem *p)
{
	VEC(struct sched_pair) move = {0};
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t comm = p->node[x].kind == SCHED_COMM ? x : sched_awaited(&p->node[x]);
		if (comm != SCHED_NONE)
			vec_push(&move, (struct sched_pair){x, p->node[comm].transfer});
	}
	r->moves = sched_lists_to(r->arena, move.at, move.n, p->transfer_n);
	vec_free(&move);
}

static void copy_problem(struct sched_rebucket *r, const struct sched_problem *p)
{
	uint32_t numbers = p->n + SCHED_PARTS * r->slot_n, storages = p->storage_n + 2 * r->slot_n;
	r->p = *p;
	r->p.numbers = numbers;
	r->p.transfer_n = p->transfer_n + r->slot_n;
	r->p.storage_n = storages;
	r->p.node = arena_new_array(r->arena, struct sched_node, numbers);
	r->p.transfer = arena_new_array(r->arena, struct sched_transfer, r->p.transfer_n);
	r->p.storage = arena_new_array(r->arena, struct sched_storage, storages);
	memcpy(r->p.node, p->node, sizeof *p->node * p->n);
	if (p->transfer_n)
		memcpy(r->p.transfer, p->transfer, sizeof *p->transfer * p->transfer_n);
	if (p->storage_n)
		memcpy(r->p.storage, p->storage, sizeof *p->storage * p->storage_n);
	for (uint32_t s = p->storage_n; s < storages; s++)
		r->p.storage[s] = (struct sched_storage){.def = SCHED_NONE, .kept = true};
	for (uint32_t x = p->n; x < numbers; x++)
		r->p.node[x] = (struct sched_node){.kind = SCHED_COMPUTE, .comm = SCHED_NONE};
	open_lists(r, &r->pred, &r->p.pred, p->n, numbers);
	open_lists(r, &r->succ, &r->p.succ, p->n, numbers);
	open_lists(r, &r->uses, &r->p.uses, p->n, numbers);
	open_lists(r, &r->makes, &r->p.makes, p->n, numbers);
	open_lists(r, &r->users, &r->p.users, p->storage_n, storages);
}

void sched_rebucket_open(struct sched_rebucket *r, const struct sched_problem *p)
{
	struct arena *a = arena_new();
	*r = (struct sched_rebucket){.arena = a};
	for (uint32_t i = 0; i < p->transfer_n; i++)
		r->slot_n += p->transfer[i].family != SCHED_NONE;
	copy_problem(r, p);
	list_moves(r, p);
	r->slot = arena_new_array(a, uint32_t, p->transfer_n);
	r->member = sched_lists_new(a, r->slot_n, p->transfer_n);
	r->former = arena_new_array(a, struct sched_group, r->slot_n);
	r->former_number = arena_new_array(a, uint32_t, p->n);
	r->marked_need = arena_new_array(a, uint32_t, p->n);
	r->marked_needing = arena_new_array(a, uint32_t, p->n);
	r->marked_storage = arena_new_array(a, uint32_t, p->storage_n);
	r->marked_slot = arena_new_array(a, uint32_t, r->slot_n);
	r->parts = (struct sched_parts){.p = p,
	                                .bucket = r->slot,
	                                .group = arena_new_array(a, struct sched_group, r->slot_n),
	                                .number = arena_new_array(a, uint32_t, p->n),
	                                .result = arena_new_array(a, uint32_t, p->n)};
	memset(r->slot, 0xff, sizeof *r->slot * p->transfer_n);
	for (uint32_t k = 0; k < r->slot_n; k++)
		sched_parts_clear(&r->parts.group[k]);
	for (uint32_t x = 0; x < p->n; x++)
		r->former_number[x] = r->parts.number[x] = r->parts.result[x] = x;
}

void sched_rebucket_close(struct sched_rebucket *r)
{
	struct sched_rebucket_lists *lists[] = {&r->pred, &r->succ, &r->uses, &r->makes, &r->users};
	for (unsigned k = 0; k < sizeof lists / sizeof *lists; k++)
		free(lists[k]->l->item);
	sched_numbers *vec[] = {&r->slots, &r->nodes,   &r->item,    &r->joined,
	                        &r->need,  &r->needing, &r->storage, &r->beside};
	for (unsigned k = 0; k < sizeof vec / sizeof *vec; k++)
		vec_free(vec[k]);
	arena_free(r->arena);
}
