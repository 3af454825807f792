/* Cubins of the device "cuda" on disk, made by functions that replace NVRTC's. */
#include "cuda/cuda_compile.h"
#include "test_rt.h"
#include <glob.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int compiled;   /* number of programs compiled by this process */
static bool refuses;   /* refuse the next program */
static int major = 13; /* version of NVRTC */

static nvrtcResult version(int *a, int *b)
{
	*a = major, *b = 1;
	return NVRTC_SUCCESS;
}

static nvrtcResult create(nvrtcProgram *p, const char *source, const char *name, int headers,
                          const char *const *header, const char *const *include)
{
	(void)name, (void)headers, (void)header, (void)include;
	*p = (nvrtcProgram)strdup(source);
	return NVRTC_SUCCESS;
}

static nvrtcResult destroy(nvrtcProgram *p)
{
	free(*p);
	return NVRTC_SUCCESS;
}

static nvrtcResult compile_program(nvrtcProgram p, int options, const char *const *option)
{
	(void)p;
	CHECK(options > 0 && !strcmp(option[0], "--gpu-architecture=sm_90a"));
	compiled++;
	return refuses ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}

static nvrtcResult size_of(nvrtcProgram p, size_t *bytes)
{
	*bytes = strlen((const char *)p) + 1;
	return NVRTC_SUCCESS;
}

static nvrtcResult text_of(nvrtcProgram p, char *out)
{
	strcpy(out, (const char *)p);
	return NVRTC_SUCCESS;
}

static const char *error_text(nvrtcResult r)
{
	(void)r;
	return "NVRTC_ERROR_COMPILATION";
}

static const struct cuda_api api = {.nvrtcVersion = version,
                                    .nvrtcGetErrorString = error_text,
                                    .nvrtcCreateProgram = create,
                                    .nvrtcDestroyProgram = destroy,
                                    .nvrtcCompileProgram = compile_program,
                                    .nvrtcGetProgramLogSize = size_of,
                                    .nvrtcGetProgramLog = text_of,
                                    .nvrtcGetCUBINSize = size_of,
                                    .nvrtcGetCUBIN = text_of};

/* Asks for two cubins, one of them twice. Returns the number of compilations. */
static int ask(struct rt_job *job, void *arg)
{
	struct cuda c = {.api = &api, .major = 9, .at = {.iteration = -1}};
	struct cuda_cubin cubin = {0};
	const char *const source[] = {"one", "the other", "one"};
	(void)arg;
	c.base.job = job;
	for (int k = 0; k < 3; k++) {
		if (cuda_compile(&c, source[k], &cubin) != STATUS_OK)
			return rt_job_status(job);
		CHECK_EQ(cubin.bytes, strlen(source[k]) + 1);
		CHECK_STR(cubin.at, source[k]);
	}
	return STATUS_OK;
}

/* The same in a new process, which has nothing in memory. */
static int compiled_anew(void)
{
	int status;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		CHECK_EQ(launch(RT_BOOT_THREAD, 1, 0, ask, NULL), STATUS_OK);
		fflush(stdout);
		_exit(check_failures ? 99 : compiled);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Counts the files of the cache; cuts each to `bytes`, or changes one of its bytes. */
static size_t damage(const char *folder, long bytes, long change)
{
	char pattern[256];
	glob_t found;
	snprintf(pattern, sizeof pattern, "%s/hirc/kernels/*", folder);
	if (glob(pattern, 0, NULL, &found))
		return 0;
	for (size_t k = 0; k < found.gl_pathc; k++) {
		FILE *f = fopen(found.gl_pathv[k], "r+");
		if (bytes >= 0)
			CHECK_EQ(ftruncate(fileno(f), bytes), 0);
		if (change) {
			fseek(f, -change, SEEK_END);
			fputc('?', f);
		}
		fclose(f);
	}
	size_t n = found.gl_pathc;
	globfree(&found);
	return n;
}

static bool same_key(struct cuda_cache_key a, struct cuda_cache_key b)
{
	return a.a == b.a && a.b == b.b;
}

/* The key depends on everything that the compiler reads, and on where one word ends. */
static void test_keys(void)
{
	static const char *const option[][2] = {{"-a", "-b"}, {"-a", "-c"}, {"-a-", "b"}, {"-b", "-a"}};
	struct cuda_cache_key first = cuda_cache_key("source", 2, option[0], 13, 1);
	CHECK(same_key(first, cuda_cache_key("source", 2, option[0], 13, 1)));
	for (int k = 1; k < 4; k++)
		CHECK(!same_key(first, cuda_cache_key("source", 2, option[k], 13, 1)));
	CHECK(!same_key(first, cuda_cache_key("source", 1, option[0], 13, 1)));
	CHECK(!same_key(first, cuda_cache_key("source-", 2, option[0], 13, 1)));
	CHECK(!same_key(first, cuda_cache_key("source", 2, option[0], 13, 2)));
	CHECK(!same_key(first, cuda_cache_key("source", 2, option[0], 1, 31)));
}

static const char *in(const char *folder, const char *name)
{
	static char path[256];
	snprintf(path, sizeof path, "%s%s", folder, name);
	return path;
}

static mode_t mode_of(const char *path)
{
	struct stat is = {0};
	CHECK_EQ(stat(path, &is), 0);
	return is.st_mode & 07777;
}

/* A folder that other users may write, or own. */
static void test_others(const char *folder)
{
	static const char *const part[] = {"/hirc", "/hirc/kernels"};
	CHECK_EQ(mode_of(in(folder, "/hirc/kernels")), 0700);
	CHECK_EQ(chmod(in(folder, "/hirc/kernels"), 0755), 0);
	CHECK_EQ(compiled_anew(), 0);
	CHECK_EQ(mode_of(in(folder, "/hirc/kernels")), 0700);
	for (int k = 0; k < 2; k++) {
		CHECK_EQ(chmod(in(folder, part[k]), 0720), 0);
		CHECK_EQ(compiled_anew(), 2);
		CHECK_EQ(mode_of(in(folder, part[k])), 0720);
		CHECK_EQ(chmod(in(folder, part[k]), 01702), 0); /* the sticky bit does not help */
		CHECK_EQ(compiled_anew(), 2);
		CHECK_EQ(chmod(in(folder, part[k]), 0700), 0);
		CHECK_EQ(compiled_anew(), 0);
		if (geteuid() != 0) /* alone can give a folder away */
			continue;
		CHECK_EQ(chown(in(folder, part[k]), 65534, 65534), 0);
		CHECK_EQ(compiled_anew(), 2);
		CHECK_EQ(chown(in(folder, part[k]), 0, 0), 0);
	}
	CHECK_EQ(chmod(folder, 0777), 0);
	CHECK_EQ(compiled_anew(), 2);
	CHECK_EQ(chmod(folder, 01777), 0); /* as /tmp */
	CHECK_EQ(compiled_anew(), 0);
	CHECK_EQ(chmod(folder, 0700), 0);
}

int main(void)
{
	test_keys();
	char folder[] = "/tmp/hirc_cache_XXXXXX", command[64];
	CHECK(mkdtemp(folder) != NULL);
	setenv("XDG_CACHE_HOME", folder, 1);
	setenv("HIRC_CACHE", "off", 1);
	CHECK_EQ(compiled_anew(), 2);
	CHECK_EQ(damage(folder, -1, 0), 0);
	unsetenv("HIRC_CACHE");
	CHECK_EQ(compiled_anew(), 2);
	CHECK_EQ(damage(folder, -1, 0), 2); /* two files, unchanged */
	CHECK_EQ(compiled_anew(), 0);
	damage(folder, -1, 2); /* inside the cubin */
	CHECK_EQ(compiled_anew(), 2);
	CHECK_EQ(compiled_anew(), 0);
	damage(folder, 20, 0);
	CHECK_EQ(compiled_anew(), 2);
	damage(folder, 0, 0);
	CHECK_EQ(compiled_anew(), 2);
	CHECK_EQ(compiled_anew(), 0);
	test_others(folder);
	major = 12; /* another version of NVRTC uses other files */
	CHECK_EQ(compiled_anew(), 2);
	CHECK_EQ(damage(folder, -1, 0), 4);
	setenv("XDG_CACHE_HOME", "/dev/null", 1); /* no file can be written there */
	CHECK_EQ(compiled_anew(), 2);
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", folder, 1);
	CHECK_EQ(compiled_anew(), 2);
	strcat(strcpy(command, folder), "/.cache");
	CHECK_EQ(damage(command, -1, 0), 2);
	struct captured out;
	setenv("HIRC_CACHE", "off", 1);
	refuses = true;
	launch_captured(RT_BOOT_THREAD, 1, 0, ask, NULL, &out);
	CHECK_EQ(out.status, STATUS_DIAGNOSTICS);
	CHECK(has(out.text, "of a kernel of hirc: one"));
	snprintf(command, sizeof command, "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
	return check_result();
}
