/* collective: see collective.h. */
#include "base/collective.h"
#include <stdint.h>
#include <string.h>

enum root { ROOT_0, ROOT_FROM, ROOT_TO };
enum reduces { REDUCES_0, REDUCES_REDUCES };

static const struct {
	const char *name, *key;
	uint8_t root, reduces, in, out;
} rows[COLLECTIVE_COUNT] = {
#define COLLECTIVE(id, operation, hir, nvfuser, name, root, reduces, in, out, ...)                           \
	[COLLECTIVE_##id] = {#nvfuser, #name, ROOT_##root, REDUCES_##reduces, PART_##in, PART_##out},
#include "base/collectives.def"
#undef COLLECTIVE
};

const char *collective_name(enum collective c)
{
	return c < COLLECTIVE_COUNT ? rows[c].name : "?";
}

const char *collective_key(enum collective c)
{
	return c < COLLECTIVE_COUNT ? rows[c].key : "?";
}

bool collective_find(const char *key, enum collective *out)
{
	for (enum collective c = 0; c < COLLECTIVE_COUNT; c++)
		if (!strcmp(key, rows[c].key)) {
			*out = c;
			return true;
		}
	return false;
}

enum collective_part collective_in(enum collective c)
{
	return c < COLLECTIVE_COUNT ? rows[c].in : PART_NONE;
}

enum collective_part collective_out(enum collective c)
{
	return c < COLLECTIVE_COUNT ? rows[c].out : PART_NONE;
}

bool collective_reduces(enum collective c)
{
	return c < COLLECTIVE_COUNT && rows[c].reduces;
}

bool collective_is_rooted(enum collective c)
{
	return c < COLLECTIVE_COUNT && rows[c].root;
}

bool collective_is_to_root(enum collective c)
{
	return c < COLLECTIVE_COUNT && rows[c].root == ROOT_TO;
}

bool collective_has_blocks(enum collective c)
{
	return collective_in(c) == PART_EACH || collective_out(c) == PART_EACH;
}

bool collective_exchanges(enum collective c)
{
	return collective_in(c) == PART_EACH && collective_out(c) == PART_EACH;
}

bool collective_gives(enum collective c, int root, int from, int to)
{
	if (collective_in(c) == PART_NONE || (c == COLLECTIVE_SEND_RECV && to == from))
		return false;
	return !collective_is_rooted(c) || (collective_is_to_root(c) ? to : from) == root;
}

double collective_bus(enum collective c, double n)
{
#define COLLECTIVE(id, operation, hir, nvfuser, name, root, reduces, in, out, bus, ...)                      \
	[COLLECTIVE_##id] = bus,
	const double factor[COLLECTIVE_COUNT] = {
#include "base/collectives.def"
	};
#undef COLLECTIVE
	return factor[c];
}
