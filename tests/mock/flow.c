/* flow: see flow.h. */
#include "flow.h"
#include "mock.h"
#include <stdlib.h>
#include <string.h>

void flows_add(struct flows *f, struct pipe *pipe, int peer, bool is_send, struct flow_head head, void *data)
{
	int before = f->n - 1;
	if (f->n == f->room) {
		f->room = f->room ? 2 * f->room : 16;
		f->flow = realloc(f->flow, (size_t)f->room * sizeof *f->flow);
		if (!f->flow)
			mock_abort("nccl", "the host has no memory");
	}
	while (before >= 0 && (f->flow[before].pipe != pipe || f->flow[before].is_send != is_send))
		before--;
	f->flow[f->n++] = (struct flow){
	    .pipe = pipe, .peer = peer, .is_send = is_send, .head = head, .data = data, .before = before};
}

void flows_free(struct flows *f)
{
	free(f->flow);
	*f = (struct flows){0};
}

/* Moves the rest of a part of `bytes` that begins at byte `begin` of the flow. Returns true if all of it has
 * moved. */
static bool move(struct flow *f, char *part, uint64_t begin, uint64_t bytes)
{
	while (f->at < begin + bytes) {
		char *from = part + (f->at - begin);
		size_t left = (size_t)(begin + bytes - f->at);
		size_t n = f->is_send ? pipe_write(f->pipe, from, left) : pipe_read(f->pipe, from, left);
		f->at += n;
		if (!n)
			return false;
	}
	return true;
}

static void go_on(struct flow *f)
{
	struct flow_head *head = f->is_send ? &f->head : &f->got;
	if (!move(f, (char *)head, 0, sizeof *head))
		return;
	if (!f->is_send && memcmp(&f->head, &f->got, sizeof f->got) != 0) {
		f->is_stuck = true;
		mock_log("nccl: kind %u type %u reduction %u root %u of %llu bytes meets kind %u type %u "
		         "reduction %u root %u of %llu",
		         f->head.kind, f->head.type, f->head.reduction, f->head.root,
		         (unsigned long long)f->head.bytes, f->got.kind, f->got.type, f->got.reduction,
		         f->got.root, (unsigned long long)f->got.bytes);
		return;
	}
	f->is_moved = move(f, f->data, sizeof *head, f->head.bytes);
	if (f->is_moved)
		f->end = atomic_load(&f->pipe->written);
}

bool flows_progress(struct flows *flows, struct segment *s, bool *moved)
{
	bool all = true;
	for (int k = 0; k < flows->n; k++) {
		struct flow *f = &flows->flow[k];
		uint64_t at = f->at;
		if (f->is_done)
			continue;
		if (!f->is_moved && !f->is_stuck && (f->before < 0 || flows->flow[f->before].is_moved))
			go_on(f);
		if (f->at != at) {
			segment_ring(s, f->peer);
			*moved = true;
		}
		f->is_done = f->is_moved && (!f->is_send || atomic_load(&f->pipe->taken) >= f->end);
		*moved |= f->is_done;
		all &= f->is_done;
	}
	return all;
}
