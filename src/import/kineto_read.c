/* kineto_read: reads the events of a trace of PyTorch's profiler, see kineto.h. */
#include "base/source.h"
#include "base/str.h"
#include "base/utf8.h"
#include "import/chakra_kinds.h"
#include "import/kineto.h"
#include "ir/ir.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#ifdef HIRC_HAVE_CJSON
#include <cJSON.h>
#endif

bool kineto_is(const char *text, size_t n)
{
	while (n && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n'))
		text++, n--;
	return n && *text == '{' && strstr(text, "\"traceEvents\"");
}

#ifdef HIRC_HAVE_CJSON
enum { MOST_LANES = 4096 };
static const double MOST_MICROS = 9e15; /* of a time stamp, so that its ns fit */

struct lane_name {
	double pid, tid;
};

struct launch {
	int64_t correlation, begin;
};

struct reader {
	struct diag *d;
	struct kineto k;
	const cJSON *events;
	bool devices; /* the trace has kernels */
	VEC(struct lane_name) lane;
	VEC(struct launch) launch; /* by correlation, once sorted */
};

static bool refuse(struct reader *r, uint32_t index, const char *name, const char *message)
{
	diag_error(r->d, E_TRACE_FIELD, DIAG_NOWHERE, "'%s', event %" PRIu32 " (%s): %s", r->k.t->file, index,
	           name, message);
	return false;
}

/* ---- values */

static const char *text_of(const cJSON *object, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

/* Returns a number, also one that is written as a string, as ids of processes and ranks are in some versions. */
static bool number_of(const cJSON *object, const char *key, double *out)
{
	const cJSON *x = cJSON_GetObjectItemCaseSensitive(object, key);
	char *end;
	if (cJSON_IsNumber(x)) {
		*out = x->valuedouble;
		return true;
	}
	if (!cJSON_IsString(x) || !*x->valuestring)
		return false;
	*out = strtod(x->valuestring, &end);
	return !*end;
}

static int64_t integer_of(const cJSON *object, const char *key, int64_t otherwise)
{
	double x;
	return number_of(object, key, &x) && x == floor(x) && fabs(x) < 0x1p53 ? (int64_t)x : otherwise;
}

/* Copies a text so that it can stand in backquotes and in a string. */
static const char *sanitize_text(struct reader *r, const char *text)
{
	char *copy = arena_strndup(r->k.t->arena, text, strlen(text)), *end = copy + strlen(text);
	for (char *p = copy; *p;) {
		unsigned n = utf8_length(p, (size_t)(end - p));
		if (!n || (unsigned char)*p < ' ' || *p == 0x7f || *p == '`') {
			*p = '_';
			n = 1;
		}
		p += n;
	}
	return copy;
}

static uint32_t find_lane(struct reader *r, double pid, double tid)
{
	for (uint32_t k = 0; k < r->lane.n; k++)
		if (r->lane.at[k].pid == pid && r->lane.at[k].tid == tid)
			return k;
	if (r->lane.n == MOST_LANES)
		return KINETO_NO_LANE;
	vec_push(&r->lane, ((struct lane_name){pid, tid}));
	return r->lane.n - 1;
}

/* Returns the bytes of an element: `float`, `c10::BFloat16`, `Long`. 0: hirc has no such dtype. */
static int64_t element_bytes(const char *name)
{
	static const char *const bytes[] = {"byte", "char", "float8"};
	name = !strncmp(name, "c10::", 5) ? name + 5 : name;
	for (unsigned k = 0; k < sizeof bytes / sizeof *bytes; k++)
		if (!strncasecmp(name, bytes[k], strlen(bytes[k])))
			return 1;
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		for (const char *at = dtype_torch_names(t); *at; at += *at == ' ') {
			size_t n = strcspn(at, " "), i = 0;
			const char *known = !strncmp(at, "c10::", 5) ? at + 5 : at;
			size_t length = n - (size_t)(known - at);
			while (i < length && tolower((unsigned char)(known[i] == '|' ? ' ' : known[i])) ==
			                         tolower((unsigned char)name[i]))
				i++;
			if (i == length && !name[i])
				return (int64_t)dtype_bytes(t);
			at += n;
		}
	return 0;
}

/* Returns the bytes of the first operand: `"Input Dims": [[4, 8]], "Input type": ["float"]`; -1: not stated. */
static int64_t operand_bytes(const cJSON *args)
{
	const cJSON *dims = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(args, "Input Dims"), 0);
	const char *type =
	    cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(args, "Input type"), 0));
	double bytes = type ? (double)element_bytes(type) : 0;
	const cJSON *dim;
	if (!cJSON_IsArray(dims) || bytes == 0)
		return -1;
	cJSON_ArrayForEach(dim, dims)
	{
		if (!cJSON_IsNumber(dim) || dim->valuedouble < 0)
			return -1;
		bytes *= dim->valuedouble;
	}
	return bytes < 0x1p50 ? (int64_t)bytes : -1;
}

/* ---- groups */

static void add_members(struct chakra *t, const cJSON *ranks, struct chakra_group *g)
{
	bool *seen = mem_zalloc(IR_MAX_DEVICES);
	const cJSON *rank;
	g->member = t->members.n;
	cJSON_ArrayForEach(rank, ranks)
	{
		double x = cJSON_IsNumber(rank) ? rank->valuedouble : -1;
		if (x < 0 || x >= IR_MAX_DEVICES || seen[(int64_t)x])
			break;
		seen[(int64_t)x] = true;
		vec_push(&t->members, (int64_t)x);
	}
	g->member_n = t->members.n - g->member;
	if (rank)
		g->member_n = 0; /* they are no list of ranks */
	free(seen);
}

/* Reads the process groups of distributedInfo. */
static void read_groups(struct reader *r, const cJSON *root)
{
	struct chakra *t = r->k.t;
	const cJSON *info = cJSON_GetObjectItemCaseSensitive(root, "distributedInfo"), *config;
	int64_t world = integer_of(info, "world_size", 0);
	cJSON_ArrayForEach(config, cJSON_GetObjectItemCaseSensitive(info, "pg_config"))
	{
		const char *name = text_of(config, "pg_name");
		struct chakra_group g = {.size = integer_of(config, "pg_size", 0)};
		if (!name || !*name)
			continue;
		g.name = sanitize_text(r, name);
		add_members(t, cJSON_GetObjectItemCaseSensitive(config, "ranks"), &g);
		g.size = g.member_n ? g.member_n : g.size;
		if (g.size > 0 && g.size <= IR_MAX_DEVICES && !chakra_has_group(t, g.name))
			vec_push(&t->group, g);
	}
	if (world > 0 && world <= IR_MAX_DEVICES && !chakra_has_group(t, "world"))
		vec_push(&t->group, ((struct chakra_group){.name = "world", .size = world}));
}

/* ---- events */

static bool is_device_category(const char *category)
{
	return !strcmp(category, "kernel") || !strcmp(category, "gpu_memcpy") ||
	       !strcmp(category, "gpu_memset");
}

static bool is_runtime_category(const char *category)
{
	return !strcmp(category, "cuda_runtime") || !strcmp(category, "cuda_driver") ||
	       !strcmp(category, "hip_runtime") || !strcmp(category, "runtime");
}

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncasecmp(text, prefix, strlen(prefix));
}

/* Returns true if an event of that name is a communication on its lane: a kernel of NCCL, or work of a thread of
 * another backend. */
static bool is_communication(const struct reader *r, const char *name, const cJSON *args)
{
	if (r->devices)
		return has_prefix(name, "nccl") || has_prefix(name, "rccl") ||
		       text_of(args, "Collective name");
	return has_prefix(name, "gloo:") || has_prefix(name, "mpi:") || has_prefix(name, "ucc:");
}

/* Reads begin and duration. Returns false after reporting. */
static bool read_times(struct reader *r, const cJSON *event, uint32_t index, const char *name, int64_t *begin,
                       int64_t *end)
{
	double ts, dur = 0;
	if (!number_of(event, "ts", &ts) || !(fabs(ts) < MOST_MICROS))
		return refuse(r, index, name, "ts is no time in us");
	number_of(event, "dur", &dur);
	if (!(dur >= 0 && dur <= 1e12))
		return refuse(r, index, name, "dur is no duration in us of at most eleven days");
	*begin = llround(ts * 1000);
	*end = *begin + llround(dur * 1000);
	return true;
}

static void read_communication(struct reader *r, const cJSON *args, struct chakra_node *n)
{
	const char *collective = text_of(args, "Collective name"),
	           *group = text_of(args, "Process Group Name"), *type = text_of(args, "dtype");
	int64_t elements = integer_of(args, "In msg nelems", -1), size = type ? element_bytes(type) : 0;
	n->kind = CHAKRA_COMM_COLL;
	n->collective = chakra_kinds_of_name(collective ? collective : n->name);
	if (n->collective < -1) {
		n->kind = n->collective == CHAKRA_NAMES_SEND ? CHAKRA_COMM_SEND : CHAKRA_COMM_RECV;
		n->collective = -1;
	}
	n->comm_size =
	    elements >= 0 && elements < (INT64_C(1) << 44) && size ? elements * size : operand_bytes(args);
	n->group = group && *group                  ? sanitize_text(r, group)
	           : r->k.t->group.n && !r->devices ? r->k.t->group.at[0].name /* the default group */
	                                            : NULL;
	n->from = integer_of(args, "Src Rank", -1);
	n->to = integer_of(args, "Dst Rank", -1);
	n->from = n->from <= INT32_MAX ? n->from : -1;
	n->to = n->to <= INT32_MAX ? n->to : -1;
}

/* Returns the peer of `c10d::send(tensors, group, peer, tag)`; -1: another operation. */
static int64_t peer_of(const cJSON *args)
{
	const char *text = cJSON_GetStringValue(
	    cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(args, "Concrete Inputs"), 2));
	char *end;
	long long peer = text ? strtoll(text, &end, 10) : -1;
	return text && end != text && !*end && peer >= 0 && peer <= INT32_MAX ? peer : -1;
}

static bool read_event(struct reader *r, const cJSON *event, uint32_t index)
{
	const char *name = text_of(event, "name"), *category = text_of(event, "cat"),
	           *phase = text_of(event, "ph");
	const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
	double pid = -1, tid = -1;
	if (!name || !category || !phase || strcmp(phase, "X"))
		return true;
	bool communicates = is_communication(r, name, args);
	if (r->devices
	        ? !is_device_category(category)
	        : strcmp(category, "cpu_op") && !(communicates && !strcmp(category, "user_annotation")))
		return true;
	struct kineto_event e = {.node = {.name = sanitize_text(r, *name ? name : "event"),
	                                  .kind = CHAKRA_COMP,
	                                  .collective = -1,
	                                  .comm_size = -1,
	                                  .tensor_size = -1,
	                                  .operations = -1,
	                                  .from = -1,
	                                  .to = -1,
	                                  .tag = -1,
	                                  .on_host = -1},
	                         .communicates = communicates,
	                         .launches = -1};
	if (!read_times(r, event, index, e.node.name, &e.begin, &e.end))
		return false;
	number_of(event, "pid", &pid);
	number_of(event, "tid", &tid);
	e.lane = find_lane(r, pid, tid);
	if (e.lane == KINETO_NO_LANE)
		return refuse(r, index, e.node.name, "the trace has more than 4096 streams and threads");
	e.node.time = e.end - e.begin;
	e.launch = e.begin;
	if (communicates)
		read_communication(r, args, &e.node);
	if (!r->devices && has_prefix(name, "c10d::")) {
		e.launches = chakra_kinds_of_name(name);
		e.node.to = e.node.from = peer_of(args);
	}
	if (r->devices) { /* until its launch is known: its correlation */
		e.node.id = (uint64_t)integer_of(args, "correlation", -1);
	}
	vec_push(&r->k.event, e);
	return true;
}

/* ---- launches, and waits of streams */

static int by_correlation(const void *a, const void *b)
{
	const struct launch *x = a, *y = b;
	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Returns the time when the host made a call; `otherwise` if it is not recorded. */
static int64_t launch_of(const struct reader *r, int64_t correlation, int64_t otherwise)
{
	uint32_t low = 0, high = r->launch.n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (r->launch.at[middle].correlation < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->launch.n && r->launch.at[low].correlation == correlation ? r->launch.at[low].begin
	                                                                         : otherwise;
}

static bool read_launches(struct reader *r)
{
	const cJSON *event;
	uint32_t index = 0;
	cJSON_ArrayForEach(event, r->events)
	{
		const char *category = text_of(event, "cat");
		const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
		struct launch x = {.correlation = integer_of(args, "correlation", -1)};
		int64_t end;
		index++;
		if (!category || !is_runtime_category(category) || x.correlation < 0)
			continue;
		if (!read_times(r, event, index - 1, "launch", &x.begin, &end))
			return false;
		vec_push(&r->launch, x);
	}
	if (r->launch.n)
		qsort(r->launch.at, r->launch.n, sizeof *r->launch.at, by_correlation);
	for (uint32_t k = 0; k < r->k.event.n; k++) {
		struct kineto_event *e = &r->k.event.at[k];
		int64_t launch = launch_of(r, (int64_t)e->node.id, e->begin);
		e->launch = launch < e->begin ? launch : e->begin;
	}
	return true;
}

/* Reads the waits of streams for events, which traces have if they are recorded with synchronisation. */
static bool read_syncs(struct reader *r)
{
	const cJSON *event;
	uint32_t index = 0;
	cJSON_ArrayForEach(event, r->events)
	{
		const char *category = text_of(event, "cat");
		const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
		int64_t begin, end, stream = integer_of(args, "stream", -1),
		                    other = integer_of(args, "wait_on_stream", -1),
		                    record = integer_of(args, "wait_on_cuda_event_record_corr_id", -1);
		double pid = -1;
		index++;
		if (!category || strcmp(category, "cuda_sync") || stream < 0 || other < 0 || record < 0)
			continue;
		if (!read_times(r, event, index - 1, "wait", &begin, &end))
			return false;
		number_of(event, "pid", &pid);
		struct kineto_sync s = {.launch = launch_of(r, integer_of(args, "correlation", -1), begin),
		                        .record = launch_of(r, record, INT64_MIN),
		                        .lane = find_lane(r, pid, (double)stream),
		                        .other = find_lane(r, pid, (double)other)};
		if (s.lane != KINETO_NO_LANE && s.other != KINETO_NO_LANE && s.lane != s.other)
			vec_push(&r->k.sync, s);
	}
	return true;
}

/* ---- the whole */

static bool find_devices(const cJSON *events)
{
	const cJSON *event;
	cJSON_ArrayForEach(event, events)
	{
		const char *category = text_of(event, "cat");
		if (category && is_device_category(category))
			return true;
	}
	return false;
}

static bool read_events(struct reader *r)
{
	const cJSON *event;
	uint32_t index = 0;
	r->devices = find_devices(r->events);
	cJSON_ArrayForEach(event, r->events)
	{
		if (!read_event(r, event, index++))
			return false;
	}
	return !r->devices || (read_launches(r) && read_syncs(r));
}

bool kineto_read(struct diag *d, const char *name, const char *text, size_t n, struct chakra *out)
{
	struct reader r = {.d = d, .k.t = out};
	const char *end = text;
	*out = (struct chakra){.file = name, .arena = arena_new()};
	cJSON *root = cJSON_ParseWithLengthOpts(text, n + 1, &end, 1);
	r.events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents");
	bool ok = root && cJSON_IsArray(r.events);
	if (!root)
		diag_error(d, E_JSON, DIAG_NOWHERE, "'%s', byte %zu: %s", name, (size_t)(end - text),
		           (size_t)(end - text) < n ? "this is not JSON"
		                                    : "the text ends in the middle of a value");
	else if (!ok)
		diag_error(d, E_TRACE_FIELD, DIAG_NOWHERE, "'%s': traceEvents is no list of events", name);
	if (ok)
		read_groups(&r, root);
	ok = ok && read_events(&r);
	if (ok && !r.k.event.n) {
		diag_error(d, E_TRACE_FIELD, DIAG_NOWHERE,
		           "'%s' has no event of a device or an operation: profile the CPU or a device",
		           name);
		ok = false;
	}
	if (ok) {
		r.k.lanes = r.lane.n;
		kineto_order(&r.k);
	}
	cJSON_Delete(root);
	vec_free(&r.k.event);
	vec_free(&r.k.sync);
	vec_free(&r.lane);
	vec_free(&r.launch);
	if (!ok)
		chakra_free(out);
	return ok;
}
#else
bool kineto_read(struct diag *d, const char *name, const char *text, size_t n, struct chakra *out)
{
	(void)text, (void)n;
	*out = (struct chakra){0};
	diag_error(d, E_WITHOUT_LIBRARY, DIAG_NOWHERE,
	           "'%s' is a trace of PyTorch's profiler, and hirc is built without cJSON", name);
	diag_note(d, DIAG_NOWHERE, "tools/install-deps installs it; then configure the build anew");
	return false;
}
#endif
