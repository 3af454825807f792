/* LABELS: cuda
 * The kernels of the device "cuda", compiled by NVRTC for two architectures; no GPU is needed. The
 * environment variable HIRC_NVRTC names its library; else it is the one that the dynamic loader finds. */
#include "test_cuda_cases.h"
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>

enum { SOURCES_A_PROGRAM = 64 };

#define CALLS(X)                                                                                             \
	X(nvrtcCreateProgram)                                                                                \
	X(nvrtcDestroyProgram)                                                                               \
	X(nvrtcCompileProgram)                                                                               \
	X(nvrtcGetProgramLogSize)                                                                            \
	X(nvrtcGetProgramLog)                                                                                \
	X(nvrtcGetCUBINSize)                                                                                 \
	X(nvrtcGetCUBIN)

#define MEMBER(name) static __typeof__(&name) call_##name;
CALLS(MEMBER)
#undef MEMBER

static bool open_nvrtc(void)
{
	const char *name = getenv("HIRC_NVRTC");
	void *library = dlopen(name ? name : "libnvrtc.so.13", RTLD_NOW);
	if (!library)
		return false;
#define OPEN(name) *(void **)&call_##name = dlsym(library, #name);
	CALLS(OPEN)
#undef OPEN
	return true;
}

/* Returns true if the result is machine code of a GPU. */
static bool is_cubin(nvrtcProgram program)
{
	size_t n = 0;
	Elf64_Ehdr head = {.e_machine = EM_NONE};
	CHECK_EQ(call_nvrtcGetCUBINSize(program, &n), NVRTC_SUCCESS);
	char *image = mem_zalloc(n + 1);
	CHECK_EQ(call_nvrtcGetCUBIN(program, image), NVRTC_SUCCESS);
	if (n > sizeof head)
		memcpy(&head, image, sizeof head);
	free(image);
	return memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_machine == EM_CUDA;
}

static void compile(const char *source, const char *architecture)
{
	const char *option[] = {architecture, "--std=c++17", "--fmad=false", "--disable-warnings"};
	nvrtcProgram program;
	size_t n = 0;
	CHECK_EQ(call_nvrtcCreateProgram(&program, source, "kernels.cu", 0, NULL, NULL), NVRTC_SUCCESS);
	nvrtcResult r = call_nvrtcCompileProgram(program, 4, option);
	CHECK_EQ(r, NVRTC_SUCCESS);
	if (r != NVRTC_SUCCESS && call_nvrtcGetProgramLogSize(program, &n) == NVRTC_SUCCESS) {
		char *log = mem_zalloc(n + 1);
		call_nvrtcGetProgramLog(program, log);
		printf("%.4000s\n", log);
		free(log);
	} else {
		CHECK(is_cubin(program));
	}
	call_nvrtcDestroyProgram(&program);
}

/* Returns true if NVRTC should compile the k-th source of a kind; some take it seconds. Units of all
 * operations that compute several elements in a row are left out: their text is the same. So are reductions
 * other than sums, and iotas: they go through the same types and layouts. */
static bool is_taken(const char *kind, unsigned k)
{
	static const char *const many[] = {"prod", "min", "max", "avg", "arrays", "iota"};
	for (size_t i = 0; i < sizeof many / sizeof *many; i++)
		if (!strcmp(kind, many[i]))
			return k % 4 == 0;
	return strcmp(kind, "pointwise") != 0;
}

/* Compiles a source for one of two architectures in turn, since no text depends on them; the first source of
 * a kind for both. */
static void compile_for(const char *architecture, unsigned turn)
{
	VEC(const char *) kind = {0};
	VEC(unsigned) seen = {0}; /* number of sources of each kind */
	VEC(uint32_t) chosen = {0};
	for (uint32_t s = 0; s < sources.n; s++) {
		const char *name = first_of.at[s]->name;
		uint32_t at = 0;
		while (at < kind.n && strcmp(kind.at[at], name) != 0)
			at++;
		if (at == kind.n) {
			vec_push(&kind, name);
			vec_push(&seen, 0);
		}
		unsigned k = seen.at[at]++;
		if (is_taken(name, k) && (k == 0 || s % 2 == turn))
			vec_push(&chosen, s);
	}
	printf("%u kernels, %s\n", chosen.n, architecture);
	for (uint32_t first = 0; first < chosen.n && !check_failures; first += SOURCES_A_PROGRAM) {
		struct buf all = {0};
		scene_put_prelude(&all);
		for (uint32_t k = first; k < chosen.n && k < first + SOURCES_A_PROGRAM; k++)
			scene_put_source(&all, chosen.at[k]);
		compile(all.at, architecture);
		buf_free(&all);
	}
	vec_free(&kind);
	vec_free(&seen);
	vec_free(&chosen);
}

int main(void)
{
	if (!open_nvrtc()) {
		printf("no NVRTC: %s; the CUDA toolkit 13 has it, and the wheel nvidia-cuda-nvrtc~=13.0\n",
		       dlerror());
		return 77;
	}
	all_cases();
	compile_for("--gpu-architecture=sm_80", 0);
	compile_for("--gpu-architecture=sm_90a", 1);
	return check_result();
}
