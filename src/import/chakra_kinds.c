/* chakra_kinds: see chakra_kinds.h. */
#include "import/chakra_kinds.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = -1 };

/* The first of these words that a name contains tells what it is. Names are compared in small letters without _.
 * NCCL's kernel of an all_to_all is called SendRecv. */
static const struct {
	const char *word;
	int is; /* comm_type, or a message */
} words[] = {{"allreduce", 0},
             {"reducescatter", 7},
             {"allgather", 2},
             {"alltoall", 6},
             {"sendrecv", 6},
             {"broadcast", 5},
             {"barrier", CHAKRA_BARRIER},
             {"gather", 3},
             {"scatter", 4},
             {"reduce", 1},
             {"send", CHAKRA_NAMES_SEND},
             {"recv", CHAKRA_NAMES_RECV},
             {"receive", CHAKRA_NAMES_RECV}};

int chakra_kinds_of_name(const char *name)
{
	struct buf plain = {0};
	int found = UNKNOWN;
	for (const char *p = name; *p; p++)
		if (*p != '_')
			buf_printf(&plain, "%c", tolower((unsigned char)*p));
	for (unsigned k = 0; plain.at && k < sizeof words / sizeof *words && found == UNKNOWN; k++)
		if (strstr(plain.at, words[k].word))
			found = words[k].is;
	buf_free(&plain);
	return found;
}

/* Reads the peer in `nccl:send 0->1` or `nccl:recv 0<-1`. */
static void find_peer(struct chakra_node *n)
{
	int64_t *peer = n->kind == CHAKRA_COMM_SEND ? &n->to : &n->from;
	const char *arrow = strstr(n->name, n->kind == CHAKRA_COMM_SEND ? "->" : "<-");
	char *end;
	if (!arrow || *peer >= 0 || !isdigit((unsigned char)arrow[2]))
		return;
	long long rank = strtoll(arrow + 2, &end, 10);
	if (rank <= INT32_MAX)
		*peer = rank;
}

static bool is_message(const struct chakra_node *n)
{
	return n->kind == CHAKRA_COMM_SEND || n->kind == CHAKRA_COMM_RECV;
}

void chakra_kinds_find(struct chakra *t)
{
	for (uint32_t k = 0; k < t->node.n; k++)
		t->on_devices |= t->node.at[k].kind == CHAKRA_COMP && !t->node.at[k].on_host;
	for (uint32_t k = 0; k < t->node.n; k++) {
		struct chakra_node *n = &t->node.at[k];
		bool starts_kernel = t->on_devices && n->on_host == 1;
		if (n->kind == CHAKRA_COMM_COLL && n->collective < 0) {
			int is = chakra_kinds_of_name(n->name);
			n->kind = is == CHAKRA_NAMES_SEND   ? CHAKRA_COMM_SEND
			          : is == CHAKRA_NAMES_RECV ? CHAKRA_COMM_RECV
			                                    : CHAKRA_COMM_COLL;
			n->collective = is < 0 ? UNKNOWN : is;
			if (starts_kernel)
				n->kind = CHAKRA_COMP;
		}
		if (is_message(n) && starts_kernel && n->comm_size < 0)
			n->kind = CHAKRA_COMP;
		if (is_message(n))
			find_peer(n);
	}
}
