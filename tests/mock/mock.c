/* mock: settings, log, failures on request, and handles. See mock.h. */
#include "mock.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct mock_settings settings;
static int log_file = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all of the following */

/* ---- settings */

static unsigned long long number(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);
	char *end;
	if (!text || !*text)
		return otherwise;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	if (*end || errno)
		mock_abort(name, "'%s' is no number", text);
	return n;
}

static void parse_failures(const char *text);

/* Returns the number of devices that CUDA_VISIBLE_DEVICES shows, if it is set. */
static int visible(int devices)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	int listed = list && *list;
	for (; list && *list; list++)
		listed += *list == ',';
	return list && listed < devices ? listed : devices;
}

/* Reads times, separated by commas. */
static void parse_answers(const char *list)
{
	settings.answers = 1;
	for (int k = 0; *list && k < MOCK_MOST_ANSWERS; k++) {
		char *end;
		settings.answer_us[k] = (unsigned)strtoul(list, &end, 10);
		settings.answers = k + 1;
		list = *end == ',' ? end + 1 : "";
	}
}

static void begin(void)
{
	settings.devices = visible((int)number("HIRC_MOCK_DEVICES", 1));
	settings.memory = number("HIRC_MOCK_MEMORY", 4ull << 30);
	settings.version = (int)number("HIRC_MOCK_VERSION", CUDA_VERSION);
	settings.shared_gpu = number("HIRC_MOCK_SHARED_GPU", 0) != 0;
	settings.apart = number("HIRC_MOCK_APART", 0) != 0;
	settings.no_ipc = number("HIRC_MOCK_NO_IPC", 0) != 0;
	settings.flushes = number("HIRC_MOCK_FLUSHES", 0) != 0;
	settings.no_windows = number("HIRC_MOCK_NO_WINDOWS", 0) != 0;
	settings.nccl_version = (int)number("HIRC_MOCK_NCCL_VERSION", 0);
	settings.delay_us = (unsigned)number("HIRC_MOCK_DELAY_US", 0);
	settings.work_us = (unsigned)number("HIRC_MOCK_WORK_US", 0);
	parse_answers(getenv("HIRC_MOCK_ANSWERS") ? getenv("HIRC_MOCK_ANSWERS") : "");
	settings.nccl_us = (unsigned)number("HIRC_MOCK_NCCL_US", 0);
	settings.seed = number("HIRC_MOCK_SEED", 1);
	settings.queues = (unsigned)number("HIRC_MOCK_QUEUES", 0);
	settings.sources = getenv("HIRC_MOCK_SOURCES");
	settings.idle = number("HIRC_MOCK_IDLE", 0) != 0;
	const char *path = getenv("HIRC_MOCK_LOG"), *fail = getenv("HIRC_MOCK_FAIL");
	if (path && *path) {
		log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (log_file < 0)
			mock_abort("HIRC_MOCK_LOG", "%s: %s", path, strerror(errno));
	}
	parse_failures(fail ? fail : "");
}

const struct mock_settings *mock_settings(void)
{
	pthread_once(&once, begin);
	return &settings;
}

/* ---- failures */

struct failure {
	char name[64];
	unsigned which; /* number of the call with that name, from 1; 0: all */
	unsigned seen;
};
static struct failure failure[16];
static unsigned failures;

static void parse_failures(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, ","), name = strcspn(text, ":,");
		if (failures == sizeof failure / sizeof *failure || name >= sizeof failure->name || !name)
			mock_abort("HIRC_MOCK_FAIL", "'%s' is no list of calls", text);
		struct failure *f = &failure[failures++];
		memcpy(f->name, text, name);
		if (name < n) {
			char *end;
			f->which = (unsigned)strtoul(text + name + 1, &end, 10);
			if (end != text + n || !f->which)
				mock_abort("HIRC_MOCK_FAIL", "'%s': after a colon stands which call", text);
		}
		text += n + (text[n] == ',');
	}
}

/* Returns the length of a name without the version that headers add: cuMemAlloc of cuMemAlloc_v2. */
static size_t name_length(const char *name)
{
	size_t n = strlen(name);
	return n > 3 && name[n - 3] == '_' && name[n - 2] == 'v' ? n - 3 : n;
}

bool mock_fails(const char *name)
{
	size_t n = name_length(name);
	bool fails = false;
	mock_settings();
	for (unsigned k = 0; k < failures; k++) {
		struct failure *f = &failure[k];
		if (strlen(f->name) != n || memcmp(f->name, name, n) != 0)
			continue;
		pthread_mutex_lock(&lock);
		f->seen++;
		fails |= !f->which || f->which == f->seen;
		pthread_mutex_unlock(&lock);
	}
	return fails;
}

/* ---- log */

enum { LINE_BYTES = 512 };

static void write_line(char *line, int n)
{
	n = n < LINE_BYTES - 1 ? n : LINE_BYTES - 2;
	line[n++] = '\n';
	if (write(log_file, line, (size_t)n) < 0)
		mock_abort("HIRC_MOCK_LOG", "%s", strerror(errno));
}

void mock_log(const char *format, ...)
{
	char line[LINE_BYTES];
	va_list arguments;
	mock_settings();
	if (log_file < 0)
		return;
	va_start(arguments, format);
	int n = vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	write_line(line, n);
}

bool mock_enter(const char *call, const char *format, ...)
{
	mock_settings();
	if (log_file >= 0) {
		char line[LINE_BYTES];
		int n = snprintf(line, sizeof line, "%.*s", (int)name_length(call), call);
		if (format) {
			va_list arguments;
			line[n++] = ' ';
			va_start(arguments, format);
			n += vsnprintf(line + n, sizeof line - (size_t)n, format, arguments);
			va_end(arguments);
		}
		write_line(line, n);
	}
	return mock_fails(call);
}

void mock_abort(const char *call, const char *format, ...)
{
	va_list arguments;
	fprintf(stderr, "mock: %s: ", call);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\n");
	abort();
}

/* ---- handles */

enum { BUCKETS = 4096 };
static struct mock_object *bucket[BUCKETS];
static unsigned made[MOCK_KINDS], alive[MOCK_KINDS];
static const char *const kind_name[] = {"context",  "stream", "event", "module",
                                        "function", "graph",  "object"};

static struct mock_object **bucket_of(const void *handle)
{
	uint64_t x = (uintptr_t)handle * 0x9e3779b97f4a7c15u;
	return &bucket[x >> 52];
}

void mock_object_add(struct mock_object *o, enum mock_kind kind)
{
	struct mock_object **b = bucket_of(o);
	pthread_mutex_lock(&lock);
	o->kind = kind;
	o->alive = true;
	o->number = ++made[kind];
	o->next = *b;
	*b = o;
	alive[kind]++;
	pthread_mutex_unlock(&lock);
}

/* The caller holds the lock. */
static struct mock_object *find(const char *call, enum mock_kind kind, const void *handle)
{
	struct mock_object *o = *bucket_of(handle);
	while (o && o != handle)
		o = o->next;
	if (!o || o->kind != kind)
		mock_abort(call, "%p is no %s", handle, kind_name[kind]);
	if (!o->alive)
		mock_abort(call, "%s %u is destroyed", kind_name[kind], o->number);
	return o;
}

void *mock_object_get(const char *call, enum mock_kind kind, void *handle)
{
	pthread_mutex_lock(&lock);
	void *o = find(call, kind, handle);
	pthread_mutex_unlock(&lock);
	return o;
}

unsigned mock_object_number(const char *call, enum mock_kind kind, void *handle)
{
	return ((struct mock_object *)mock_object_get(call, kind, handle))->number;
}

void mock_object_end(const char *call, enum mock_kind kind, void *handle)
{
	pthread_mutex_lock(&lock);
	find(call, kind, handle)->alive = false;
	alive[kind]--;
	pthread_mutex_unlock(&lock);
}

unsigned mock_object_count(enum mock_kind kind)
{
	pthread_mutex_lock(&lock);
	unsigned n = alive[kind];
	pthread_mutex_unlock(&lock);
	return n;
}
