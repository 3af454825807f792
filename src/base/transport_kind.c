/* transport_kind: see transport_kind.h. */
#include "base/transport_kind.h"
#include <string.h>

#define DEVICE_ANY 0
#define DEVICE_CPU TRANSPORT_ON_CPU
#define DEVICE_GPU TRANSPORT_ON_GPU

static const struct {
	const char *name;
	unsigned traits;
} rows[TRANSPORT_COUNT] = {
#define TRANSPORT(id, device, name, traits, meaning) [TRANSPORT_##id] = {name, DEVICE_##device | (traits)},
#include "base/transports.def"
#undef TRANSPORT
};

const char *transport_kind_name(enum transport_kind k)
{
	return k < TRANSPORT_COUNT ? rows[k].name : "?";
}

enum transport_kind transport_kind_find(const char *name)
{
	enum transport_kind k = 0;
	while (k < TRANSPORT_COUNT && strcmp(rows[k].name, name) != 0)
		k++;
	return k;
}

bool transport_kind_has(enum transport_kind k, unsigned traits)
{
	return k < TRANSPORT_COUNT && (rows[k].traits & traits) == traits;
}

void transport_kind_put(struct buf *out, unsigned traits, const char *word)
{
	int left = 0;
	for (enum transport_kind k = 0; k < TRANSPORT_COUNT; k++)
		left += transport_kind_has(k, traits);
	for (enum transport_kind k = 0; k < TRANSPORT_COUNT; k++) {
		if (!transport_kind_has(k, traits))
			continue;
		buf_puts(out, rows[k].name);
		if (--left > 0)
			buf_printf(out, left > 1 ? ", " : " %s ", word);
	}
}

const char transport_kind_list[] =
#define TRANSPORT(id, device, name, traits, meaning) "|" name
#include "base/transports.def"
#undef TRANSPORT
    ;

#define VALUE_ANY(name)
#define VALUE_CPU(name)
#define VALUE_GPU(name) "|" name
const char transport_kind_list_gpu[] =
#define TRANSPORT(id, device, name, traits, meaning) VALUE_##device(name)
#include "base/transports.def"
#undef TRANSPORT
    ;
