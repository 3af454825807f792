/* doctor_libraries: finds BLAS and its running kernels, oneDNN, and MPI. */
#include "rt/cores.h"
#include "rt/doctor.h"
#include <stdlib.h>
#ifdef HIRC_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif
#ifdef HIRC_HAVE_MPI
#include <mpi.h>
#endif

#ifdef HIRC_HAVE_BLAS
#include "rt/cpu_blas.h"

/* Instruction sets for products of matrices; each level includes the ones before it. */
enum level { SSE, AVX, AVX2, AVX512, UNKNOWN };
static const char *const level_name[] = {"SSE", "AVX", "AVX2", "AVX-512"};

/* Returns the level of OpenBLAS's kernels from the name of the core. */
static enum level level_of(const char *core)
{
	static const struct {
		const char *core;
		enum level level;
	} known[] = {
	    {"Prescott", SSE},
	    {"Core2", SSE},
	    {"Penryn", SSE},
	    {"Dunnington", SSE},
	    {"Nehalem", SSE},
	    {"Atom", SSE},
	    {"Athlon", SSE},
	    {"Opteron", SSE},
	    {"Opteron_SSE3", SSE},
	    {"Barcelona", SSE},
	    {"Bobcat", SSE},
	    {"Katmai", SSE},
	    {"Coppermine", SSE},
	    {"Northwood", SSE},
	    {"Banias", SSE},
	    {"Nano", SSE},
	    {"Sandybridge", AVX},
	    {"Bulldozer", AVX},
	    {"Piledriver", AVX},
	    {"Steamroller", AVX},
	    {"Excavator", AVX2},
	    {"Haswell", AVX2},
	    {"Zen", AVX2},
	    {"SkylakeX", AVX512},
	    {"Cooperlake", AVX512},
	    {"Sapphirerapids", AVX512},
	    {"SapphireRapids", AVX512},
	};
	for (unsigned k = 0; k < sizeof known / sizeof *known; k++)
		if (!strcmp(known[k].core, core))
			return known[k].level;
	return UNKNOWN;
}

/* Returns the level of this CPU. */
static enum level level_here(void)
{
#if defined __x86_64__ && defined __GNUC__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return AVX2;
	return __builtin_cpu_supports("avx") ? AVX : SSE;
#else
	return UNKNOWN;
#endif
}

static void examine_openblas(struct findings *f, const struct cpu_blas *blas)
{
	const char *core = blas->core_name(), *config = blas->config(), *said = getenv("OPENBLAS_CORETYPE");
	enum level level = level_of(core), here = level_here();
	int words = (int)strcspn(config, " "); /* `OpenBLAS 0.3.21 …` */
	words += config[words] == ' ';
	words += (int)strcspn(config + words, " ");
	if (level < here && here != UNKNOWN)
		finding_add(f, FINDING_WARNING, "blas",
		            said             ? "unset OPENBLAS_CORETYPE"
		            : here == AVX512 ? "export OPENBLAS_CORETYPE=SkylakeX"
		                             : "export OPENBLAS_CORETYPE=Haswell",
		            "%.*s computes with the kernels of %s, which are of %s%s, and this CPU has %s",
		            words, config, core, level_name[level],
		            said ? ", as OPENBLAS_CORETYPE says" : ", its own choice", level_name[here]);
	else
		finding_add(f, FINDING_OK, "blas", NULL, "%.*s, kernels of %s%s", words, config, core,
		            said ? ", as OPENBLAS_CORETYPE says" : "");
}

static void examine_threads(struct findings *f)
{
	const char *said = getenv("OPENBLAS_NUM_THREADS");
	int threads = said ? atoi(said) : 0, cores = rt_cores();
	if (!said)
		finding_add(f, FINDING_OK, "threads", NULL,
		            "BLAS gets one thread in each rank, or one for each core if there is one rank");
	else if (threads > 1 && cores > 1)
		finding_add(f, FINDING_WARNING, "threads", "unset OPENBLAS_NUM_THREADS",
		            "OPENBLAS_NUM_THREADS=%d is for each rank: more than %d ranks share %d cores",
		            threads, cores / threads, cores);
	else if (threads == 1 && cores > 1)
		finding_add(f, FINDING_OK, "threads", NULL,
		            "OPENBLAS_NUM_THREADS=1: a rank that is alone has one of %d cores, too", cores);
	else
		finding_add(f, FINDING_OK, "threads", NULL, "OPENBLAS_NUM_THREADS=%s", said);
}
#endif

static void examine_blas(struct findings *f)
{
#ifdef HIRC_HAVE_BLAS
	struct buf why = {0};
	const struct cpu_blas *blas = cpu_blas_open(1, &why);
	if (!blas)
		finding_add(
		    f, FINDING_MISSING, "blas",
		    "install it, or build hirc with -DHIRC_BLAS=OFF: products then take ten times as long",
		    "no product of matrices can be computed: %s", why.at);
	buf_free(&why);
	if (!blas)
		return;
	if (!blas->core_name || !blas->config) {
		finding_add(f, FINDING_WARNING, "blas",
		            "apt-get install libopenblas-dev, then build hirc again",
		            "a BLAS that is not OpenBLAS: hirc does not set its threads, so that ranks may "
		            "share cores");
		return;
	}
	examine_openblas(f, blas);
	examine_threads(f);
#else
	finding_add(f, FINDING_MISSING, "blas", "apt-get install libopenblas-dev, then build hirc again",
	            "this hirc was built without: products take about ten times as long");
#endif
}

static void examine_onednn(struct findings *f)
{
#ifdef HIRC_HAVE_ONEDNN
	const dnnl_version_t *v = dnnl_version();
	const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
	const char *said = getenv("DNNL_MAX_CPU_ISA"), *name = "less than AVX-512";
	bool bf16 = (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
	if (bf16)
		name = "AVX-512 with bf16";
	else if ((isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core)
		name = "AVX-512";
	finding_add(f, said && !bf16 ? FINDING_WARNING : FINDING_OK, "onednn",
	            said && !bf16 ? "unset DNNL_MAX_CPU_ISA" : NULL, "oneDNN %d.%d.%d, %s%s%s", v->major,
	            v->minor, v->patch, name, said ? ", at most DNNL_MAX_CPU_ISA=" : "", said ? said : "");
#else
	finding_add(f, FINDING_MISSING, "onednn", "apt-get install libdnnl-dev, then build hirc again",
	            "this hirc was built without: products of bf16 are slow");
#endif
}

static void examine_mpi(struct findings *f)
{
#ifdef HIRC_HAVE_MPI
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int n;
	if (MPI_Get_library_version(text, &n) != MPI_SUCCESS) {
		finding_add(f, FINDING_WARNING, "mpi", NULL, "MPI does not say its version");
		return;
	}
	text[strcspn(text, ",\n")] = '\0'; /* `Open MPI v4.1.4, package: …` */
	finding_add(f, FINDING_OK, "mpi", NULL, "%s", text);
#else
	finding_add(f, FINDING_MISSING, "mpi",
	            "apt-get install libopenmpi-dev openmpi-bin, then build hirc again",
	            "this hirc was built without: ranks are of one host");
#endif
}

void rt_doctor_libraries(struct findings *f)
{
	examine_blas(f);
	examine_onednn(f);
	examine_mpi(f);
}
