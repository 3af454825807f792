/* nvrtc: the mock compiler of kernels. The host's compiler compiles a source as C, with -DHIRC_HOST; the
 * shared object is the cubin. A compiled source is kept as long as the process. */
#include "mock.h"
#include <errno.h>
#include <nvrtc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MOCK_CC
#define MOCK_CC "cc"
#endif

extern char **environ;

struct compiled {
	char *source;
	char *image, *log; /* image NULL: it does not compile; log ends with a NUL */
	size_t bytes;      /* of the image */
	struct compiled *next;
};

struct _nvrtcProgram {
	struct mock_object object;
	char *source;
	const struct compiled *result; /* NULL: not compiled yet */
};

static struct compiled *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all data; held while a source is compiled */

static void *must(void *at)
{
	if (!at)
		mock_abort("nvrtc", "the host has no memory");
	return at;
}

/* ---- compilation */

/* The files of a compilation are memory, so that a process that is killed leaves none. */
struct files {
	int source, object, log;
};

static int open_memory(void)
{
	int file = memfd_create("hirc-mock-nvrtc", MFD_CLOEXEC);
	if (file < 0)
		mock_abort("nvrtcCompileProgram", "memfd_create: %s", strerror(errno));
	return file;
}

static void write_text(int file, const char *text)
{
	const size_t n = strlen(text);
	if (write(file, text, n) != (ssize_t)n || lseek(file, 0, SEEK_SET) != 0)
		mock_abort("nvrtcCompileProgram", "cannot write the source: %s", strerror(errno));
}

/* Reads a file, closes it, and adds a NUL. */
static char *read_and_close(int file, size_t *bytes)
{
	struct stat about;
	if (fstat(file, &about) != 0)
		mock_abort("nvrtcCompileProgram", "fstat: %s", strerror(errno));
	*bytes = (size_t)about.st_size;
	char *text = must(calloc(1, *bytes + 1));
	if (pread(file, text, *bytes, 0) != (ssize_t)*bytes)
		mock_abort("nvrtcCompileProgram", "a file is short");
	close(file);
	return text;
}

/* Runs the compiler, to which the object is the descriptor 3. */
static bool run_compiler(const struct files *f)
{
	char *argument[] = {MOCK_CC, "-shared",   "-fPIC", "-pipe",           "-O1", "-w",  "-x", "c",
	                    "-D",    "HIRC_HOST", "-o",    "/proc/self/fd/3", "-",   "-lm", NULL};
	posix_spawn_file_actions_t actions;
	pid_t child;
	int status;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, f->source, 0);
	posix_spawn_file_actions_adddup2(&actions, f->log, 1);
	posix_spawn_file_actions_adddup2(&actions, f->log, 2);
	posix_spawn_file_actions_adddup2(&actions, f->object, 3);
	int failure = posix_spawnp(&child, MOCK_CC, &actions, NULL, argument, environ);
	if (failure)
		mock_abort("nvrtcCompileProgram", "%s: %s", MOCK_CC, strerror(failure));
	posix_spawn_file_actions_destroy(&actions);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			mock_abort("nvrtcCompileProgram", "waitpid: %s", strerror(errno));
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Writes a source to a file named by its hash, so that processes do not disturb each other. */
static void keep_source(const char *folder, const char *source)
{
	char path[512];
	uint64_t h = 0xcbf29ce484222325;
	for (const char *p = source; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3;
	snprintf(path, sizeof path, "%s/%016llx.cu", folder, (unsigned long long)h);
	FILE *file = fopen(path, "we");
	if (!file || fputs(source, file) < 0 || fclose(file) != 0)
		mock_abort("nvrtcCompileProgram", "%s: %s", path, strerror(errno));
}

/* Replaces a kernel that must not run. */
static const char idle[] =
    "const unsigned long hirc_kernel_argument_bytes = 0;\n"
    "void hirc_kernel_run(unsigned grid, unsigned block, unsigned shared, const void *at) { }\n";

/* The caller holds the lock. */
static const struct compiled *compile(const char *source)
{
	size_t n;
	for (struct compiled *c = all; c; c = c->next)
		if (strcmp(c->source, source) == 0)
			return c;
	struct compiled *c = must(calloc(1, sizeof *c));
	const struct files f = {open_memory(), open_memory(), open_memory()};
	write_text(f.source, source);
	const bool compiles = run_compiler(&f);
	close(f.source);
	c->image = read_and_close(f.object, &c->bytes);
	c->log = read_and_close(f.log, &n);
	if (!compiles) {
		free(c->image);
		c->image = NULL;
	}
	c->source = must(strdup(source));
	c->next = all;
	all = c;
	return c;
}

/* ---- entry points */

static struct _nvrtcProgram *get(const char *call, nvrtcProgram p)
{
	return mock_object_get(call, MOCK_OTHER, p);
}

const char *nvrtcGetErrorString(nvrtcResult r)
{
	static const char *const text[] = {
	    [NVRTC_SUCCESS] = "NVRTC_SUCCESS",
	    [NVRTC_ERROR_OUT_OF_MEMORY] = "NVRTC_ERROR_OUT_OF_MEMORY",
	    [NVRTC_ERROR_INVALID_INPUT] = "NVRTC_ERROR_INVALID_INPUT",
	    [NVRTC_ERROR_INVALID_PROGRAM] = "NVRTC_ERROR_INVALID_PROGRAM",
	    [NVRTC_ERROR_INVALID_OPTION] = "NVRTC_ERROR_INVALID_OPTION",
	    [NVRTC_ERROR_COMPILATION] = "NVRTC_ERROR_COMPILATION",
	};
	return (size_t)r < sizeof text / sizeof *text && text[r] ? text[r] : "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcVersion(int *major, int *minor)
{
	MOCK_ENTER(NVRTC_ERROR_INVALID_INPUT, NULL);
	*major = 13;
	*minor = 0;
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name, int headers,
                               const char *const *header, const char *const *include)
{
	(void)header;
	(void)include;
	MOCK_ENTER(NVRTC_ERROR_OUT_OF_MEMORY, "%s", name ? name : "default_program");
	if (!source || headers)
		return NVRTC_ERROR_INVALID_INPUT;
	struct _nvrtcProgram *p = must(calloc(1, sizeof *p));
	p->source = must(strdup(source));
	mock_object_add(&p->object, MOCK_OTHER);
	*out = p;
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *p)
{
	MOCK_ENTER(NVRTC_ERROR_INVALID_PROGRAM, NULL);
	struct _nvrtcProgram *program = get(__func__, *p);
	mock_object_end(__func__, MOCK_OTHER, program);
	free(program->source);
	program->source = NULL;
	*p = NULL;
	return NVRTC_SUCCESS;
}

/* Options for compiling a kernel; an option with a value ends with '='. */
static bool is_option(const char *text)
{
	static const char *const known[] = {
	    "--gpu-architecture=sm_",
	    "-arch=sm_",
	    "--std=",
	    "-std=",
	    "--fmad=",
	    "-fmad=",
	    "--ftz=",
	    "--prec-div=",
	    "--prec-sqrt=",
	    "--maxrregcount=",
	    "--define-macro=",
	    "-D",
	    "--device-int128",
	    "--device-as-default-execution-space",
	    "-default-device",
	    "--restrict",
	    "--extra-device-vectorization",
	    "--generate-line-info",
	    "-lineinfo",
	    "--disable-warnings",
	    "-w",
	};
	for (size_t k = 0; k < sizeof known / sizeof *known; k++)
		if (strncmp(text, known[k], strlen(known[k])) == 0)
			return true;
	return false;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int options, const char *const *option)
{
	bool has_architecture = false;
	MOCK_ENTER(NVRTC_ERROR_COMPILATION, "%s", options ? option[0] : "");
	struct _nvrtcProgram *p = get(__func__, program);
	for (int k = 0; k < options; k++) {
		if (!is_option(option[k]))
			return NVRTC_ERROR_INVALID_OPTION;
		has_architecture |= strstr(option[k], "=sm_") != NULL;
	}
	if (!has_architecture)
		mock_abort(__func__, "no --gpu-architecture=sm_NN: there would be no cubin");
	const struct mock_settings *settings = mock_settings();
	pthread_mutex_lock(&lock);
	if (settings->sources)
		keep_source(settings->sources, p->source);
	p->result = compile(settings->idle ? idle : p->source);
	pthread_mutex_unlock(&lock);
	return p->result->image ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

/* Counts the NUL, as the real one does. */
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *out)
{
	MOCK_ENTER(NVRTC_ERROR_INVALID_PROGRAM, NULL);
	struct _nvrtcProgram *p = get(__func__, program);
	*out = (p->result ? strlen(p->result->log) : 0) + 1;
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *out)
{
	MOCK_ENTER(NVRTC_ERROR_INVALID_PROGRAM, NULL);
	struct _nvrtcProgram *p = get(__func__, program);
	strcpy(out, p->result ? p->result->log : "");
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *out)
{
	MOCK_ENTER(NVRTC_ERROR_INVALID_PROGRAM, NULL);
	struct _nvrtcProgram *p = get(__func__, program);
	if (!p->result || !p->result->image)
		return NVRTC_ERROR_INVALID_PROGRAM;
	*out = p->result->bytes;
	return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *out)
{
	MOCK_ENTER(NVRTC_ERROR_INVALID_PROGRAM, NULL);
	struct _nvrtcProgram *p = get(__func__, program);
	if (!p->result || !p->result->image)
		return NVRTC_ERROR_INVALID_PROGRAM;
	memcpy(out, p->result->image, p->result->bytes);
	return NVRTC_SUCCESS;
}
