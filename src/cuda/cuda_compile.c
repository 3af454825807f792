/* cuda_compile: see cuda_compile.h.
 *
 * A file of the cache is a line `hirc kernel 1 <bytes> <hash of the cubin>` and the cubin. */
#include "cuda/cuda_compile.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/vec.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct hash {
	uint64_t a, b;
};

struct entry {
	struct hash hash;
	struct cuda_cubin cubin;
};

/* Data of the process, protected by the lock. Cubins remain until it ends. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static VEC(struct entry) kept;

/* Two hashes: FNV-1a, and a variant with another start value, another factor and a rotation. */
static struct hash hash_part(struct hash h, const void *at, size_t n)
{
	h.a = hash_bytes(h.a, at, n);
	for (const unsigned char *p = at, *end = p + n; p < end; p++)
		h.b = ((h.b << 5 | h.b >> 59) ^ *p) * 0x9e3779b97f4a7c15;
	return h;
}

static struct hash hash_start(void)
{
	return (struct hash){HASH_START, 0x84222325cbf29ce4};
}

/* ---- files */

static bool make_folder(char *path)
{
	for (char *p = path + 1;; p++) {
		if (*p && *p != '/')
			continue;
		char end = *p;
		*p = 0;
		bool ok = mkdir(path, 0777) == 0 || errno == EEXIST;
		*p = end;
		if (!ok || !end)
			return ok;
	}
}

bool cuda_cache_folder(struct buf *out)
{
	const char *said = getenv("HIRC_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	if (said && !strcmp(said, "off"))
		return false;
	if (cache && cache[0] == '/')
		buf_printf(out, "%s/hirc/kernels", cache);
	else if (home && home[0] == '/')
		buf_printf(out, "%s/.cache/hirc/kernels", home);
	else
		return false;
	return make_folder(out->at);
}

/* Finds the path of a cubin in the cache. Returns false if there is no folder. */
static bool path_of(struct hash h, struct buf *out)
{
	if (!cuda_cache_folder(out))
		return false;
	buf_printf(out, "/%016llx%016llx.cubin", (unsigned long long)h.a, (unsigned long long)h.b);
	return true;
}

static struct buf header(const void *cubin, size_t bytes)
{
	struct buf b = {0};
	struct hash h = hash_part(hash_start(), cubin, bytes);
	buf_printf(&b, "hirc kernel 1 %zu %016llx%016llx\n", bytes, (unsigned long long)h.a,
	           (unsigned long long)h.b);
	return b;
}

static bool read_file(const char *path, struct cuda_cubin *out)
{
	FILE *f = fopen(path, "rb");
	char line[96];
	size_t bytes = 0;
	struct stat is;
	if (!f)
		return false;
	bool ok = fgets(line, sizeof line, f) && sscanf(line, "hirc kernel 1 %zu ", &bytes) == 1 &&
	          fstat(fileno(f), &is) == 0 && (uint64_t)is.st_size == strlen(line) + bytes;
	void *at = ok ? mem_alloc(bytes + 1) : NULL;
	ok = ok && fread(at, 1, bytes, f) == bytes;
	if (ok) {
		struct buf want = header(at, bytes);
		ok = !strcmp(want.at, line);
		buf_free(&want);
	}
	fclose(f);
	if (ok)
		*out = (struct cuda_cubin){at, bytes};
	else
		free(at);
	return ok;
}

/* A cache that cannot be written is not an error: the next process compiles again. */
static void write_file(const char *path, struct cuda_cubin cubin)
{
	struct buf head = header(cubin.at, cubin.bytes);
	file_replace(path, (struct file_part[]){{head.at, head.n}, {cubin.at, cubin.bytes}}, 2);
	buf_free(&head);
}

/* ---- NVRTC */

/* Reports that NVRTC refuses a kernel, with the first lines of its log. hirc wrote the source, so it is
 * hirc's error. It prints one message, since no second one of a failed rank is printed. */
static bool report_refused_kernel(struct cuda *c, nvrtcProgram program)
{
	size_t n = 0;
	char *log = NULL;
	if (c->api->nvrtcGetProgramLogSize(program, &n) == NVRTC_SUCCESS && n > 0) {
		log = mem_zalloc(n + 1);
		if (c->api->nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS)
			*log = '\0';
	}
	rt_job_error_at(c->base.job, c->at, "nvrtcCompileProgram: NVRTC: %s, of a kernel of hirc%s%.1500s",
	                c->api->nvrtcGetErrorString(NVRTC_ERROR_COMPILATION), log && *log ? ": " : "",
	                log ? log : "");
	rt_job_fail(c->base.job, STATUS_DIAGNOSTICS);
	free(log);
	return false;
}

static bool run_nvrtc(struct cuda *c, nvrtcProgram program, const char *architecture, struct cuda_cubin *out)
{
	const char *option[] = {architecture, "--std=c++17", "--fmad=false", "--disable-warnings"};
	nvrtcResult r = c->api->nvrtcCompileProgram(program, sizeof option / sizeof *option, option);
	size_t bytes;
	if (r == NVRTC_ERROR_COMPILATION)
		return report_refused_kernel(c, program);
	if (!cuda_check_nvrtc(c, r, "nvrtcCompileProgram") ||
	    !cuda_call_nvrtc(c, nvrtcGetCUBINSize, program, &bytes))
		return false;
	char *at = mem_alloc(bytes + 1);
	if (!cuda_call_nvrtc(c, nvrtcGetCUBIN, program, at)) {
		free(at);
		return false;
	}
	*out = (struct cuda_cubin){at, bytes};
	return true;
}

static bool compile_cuda_program(struct cuda *c, const char *source, const char *architecture,
                                 struct cuda_cubin *out)
{
	nvrtcProgram program;
	struct cuda_cubin made = {0};
	if (!cuda_call_nvrtc(c, nvrtcCreateProgram, &program, source, "kernel.cu", 0, NULL, NULL))
		return false;
	bool ok = run_nvrtc(c, program, architecture, &made);
	ok = cuda_call_nvrtc(c, nvrtcDestroyProgram, &program) && ok;
	if (ok)
		*out = made;
	else
		free((void *)made.at);
	return ok;
}

static bool find_or_make(struct cuda *c, const char *source, const char *architecture, struct hash h,
                         struct cuda_cubin *out)
{
	struct buf path = {0};
	bool keeps = !c->record && path_of(h, &path), ok = keeps && read_file(path.at, out);
	if (!ok && (ok = compile_cuda_program(c, source, architecture, out)) && keeps)
		write_file(path.at, *out);
	buf_free(&path);
	return ok;
}

enum status cuda_compile(struct cuda *c, const char *source, struct cuda_cubin *out)
{
	char architecture[64], version[32];
	int major = 0, minor = 0;
	if (!cuda_call_nvrtc(c, nvrtcVersion, &major, &minor))
		return rt_job_status(c->base.job);
	/* sm_90a has wgmma, which later GPUs lack */
	snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d%s", c->major, c->minor,
	         c->major == 9 && c->minor == 0 ? "a" : "");
	int n = snprintf(version, sizeof version, " %d.%d", major, minor);
	struct hash h = hash_part(hash_start(), source, strlen(source));
	h = hash_part(hash_part(h, architecture, strlen(architecture)), version, (size_t)n);
	pthread_mutex_lock(&lock);
	for (uint32_t k = 0; k < kept.n; k++)
		if (kept.at[k].hash.a == h.a && kept.at[k].hash.b == h.b) {
			*out = kept.at[k].cubin;
			pthread_mutex_unlock(&lock);
			return STATUS_OK;
		}
	struct entry made = {.hash = h};
	bool ok = find_or_make(c, source, architecture, h, &made.cubin);
	if (ok) {
		vec_push(&kept, made);
		*out = made.cubin;
	}
	pthread_mutex_unlock(&lock);
	return ok ? STATUS_OK : rt_job_status(c->base.job);
}
