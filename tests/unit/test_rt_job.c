/* LABELS: tsan
 * Starting ranks, their exchange, and how a job ends when one of them fails. */
#include "rt/bell.h"
#include "rt/compare.h"
#include "rt/cores.h"
#include "rt/environment.h"
#include "rt/rt_region.h"
#include "test_rt.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static const enum rt_boot_kind kinds[] = {RT_BOOT_THREAD, RT_BOOT_FORK};

static int exchange(struct rt_job *job, void *arg)
{
	(void)arg;
	enum { LARGE = 5000 };
	char mine[LARGE], *all = malloc((size_t)job->size * LARGE);
	int bad = 0;
	for (int round = 0; round < 50; round++) {
		int small = job->rank * 100 + round, *out = malloc((size_t)job->size * sizeof *out);
		bad |= rt_job_allgather(job, "numbers", &small, sizeof small, out) != STATUS_OK;
		for (int r = 0; r < job->size; r++)
			bad |= out[r] != r * 100 + round;
		free(out);
	}
	memset(mine, 'a' + job->rank, LARGE);
	bad |= rt_job_allgather(job, "letters", mine, LARGE, all) != STATUS_OK;
	for (int i = 0; i < job->size * LARGE; i++)
		bad |= all[i] != 'a' + i / LARGE;
	free(all);
	/* shared memory, twice */
	for (int round = 0; round < 2; round++) {
		struct rt_region region;
		bad |= job->boot->share(job, "cells", 10000, &region) != STATUS_OK;
		_Atomic int *cell = region.at;
		bad |= cell[job->rank] != 0;
		cell[job->rank] = job->rank + 1;
		bad |= rt_job_barrier(job, "cells") != STATUS_OK;
		for (int r = 0; r < job->size; r++)
			bad |= cell[r] != r + 1;
		job->boot->unshare(job, &region);
	}
	return bad ? STATUS_WRONG : STATUS_OK;
}

static int rank_fails(struct rt_job *job, void *arg)
{
	if (job->rank == 1) {
		rt_job_error(job, "no luck with %s", (const char *)arg);
		rt_job_fail(job, STATUS_DIAGNOSTICS);
		return STATUS_DIAGNOSTICS;
	}
	return rt_job_barrier(job, "what never comes");
}

static int rank_returns(struct rt_job *job, void *arg)
{
	(void)arg;
	return job->rank == 2 ? STATUS_WRONG : rt_job_barrier(job, "what never comes");
}

static int rank_missing(struct rt_job *job, void *arg)
{
	(void)arg;
	if (job->rank == 1) {
		while (rt_job_status(job) == STATUS_OK)
			usleep(1000);
		return rt_job_status(job);
	}
	return rt_job_barrier(job, "the plan's hash");
}

static int rank_dies(struct rt_job *job, void *arg)
{
	int signal = *(int *)arg;
	int line = rt_board_line_new(job, "stream 1");
	struct rt_origin at = {rt_label_add(job, "recv(b, peer=1)", "two_streams.hir:12"), 3};
	rt_board_set(job, line, RT_LINE_WAITING, at, 0);
	if (rt_job_barrier(job, "the last statement") != STATUS_OK)
		return STATUS_INTERNAL;
	if (job->rank == 2) {
		if (signal)
			raise(signal);
		exit(9);
	}
	for (;;)
		pause();
}

static int rank_ok(struct rt_job *job, void *arg)
{
	(void)arg;
	return job->rank < 0;
}

/* Sets the variables of launchers to "NAME=value NAME=value", and unsets the others. */
static void launched_with(const char *variables)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_SIZE",
	                                    "OMPI_COMM_WORLD_RANK",
	                                    "PMIX_SIZE",
	                                    "PMIX_RANK",
	                                    "PMI_SIZE",
	                                    "PMI_RANK",
	                                    "FLUX_JOB_SIZE",
	                                    "FLUX_TASK_RANK",
	                                    "SLURM_NTASKS",
	                                    "SLURM_PROCID"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unsetenv(names[i]);
	char text[256], *rest = text;
	snprintf(text, sizeof text, "%s", variables);
	for (char *v = strtok_r(rest, " ", &rest); v; v = strtok_r(rest, " ", &rest)) {
		char *value = strchr(v, '=');
		*value++ = 0;
		setenv(v, value, 1);
	}
}

/* The variables of launchers for rank 3 of 4; and of processes that are not ranks, or with variables of
 * another launcher. */
static void test_environment(void)
{
	static const struct {
		const char *variables;
		int size, rank;
		bool launched;
	} cases[] = {
	    {"", -1, -1, false},
	    {"SLURM_NTASKS=4", -1, -1, false}, /* in a batch script */
	    {"OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 PMIX_RANK=3", 4, 3, true},
	    {"PMIX_SIZE=4 PMIX_RANK=3", 4, 3, true},
	    {"PMIX_RANK=3", -1, 3, true},
	    {"PMI_SIZE=4 PMI_RANK=3", 4, 3, true},
	    {"PMIX_RANK=3 SLURM_NTASKS=4 SLURM_PROCID=3", 4, 3, true}, /* srun --mpi=pmix */
	    {"PMI_SIZE=4 PMI_RANK=3 SLURM_NTASKS=4 SLURM_PROCID=3", 4, 3, true},
	    {"PMI_SIZE=4 PMI_RANK=3 FLUX_JOB_SIZE=4 FLUX_TASK_RANK=3", 4, 3, true},
	    {"PMIX_RANK=3 FLUX_JOB_SIZE=4 FLUX_TASK_RANK=3", 4, 3, true}, /* flux run -o pmi=pmix */
	    /* mpirun and Flux inside srun: their daemons were tasks of srun */
	    {"OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 PMIX_RANK=3 SLURM_NTASKS=2 SLURM_PROCID=1", 4, 3,
	     true},
	    {"FLUX_JOB_SIZE=4 FLUX_TASK_RANK=3 SLURM_NTASKS=2 SLURM_PROCID=0", 4, 3, true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		launched_with(cases[i].variables);
		CHECK_EQ(rt_env_size(), cases[i].size);
		CHECK_EQ(rt_env_rank(), cases[i].rank);
		CHECK_EQ(rt_boot_choose(RT_BOOT_AUTO), cases[i].launched ? RT_BOOT_MPI : RT_BOOT_FORK);
		const struct rt_env_said said = rt_env_read();
		struct buf text = {0};
		CHECK(rt_env_check(&text));
		CHECK(!cases[i].launched || rt_env_agrees(&said, 4, 3, &text));
		CHECK_EQ(text.n, 0);
		CHECK(rt_env_agrees(&said, 4, 2, &text) == !cases[i].launched);
		buf_free(&text);
	}
	enum rt_boot_kind k;
	CHECK(rt_boot_parse("thread", &k) && k == RT_BOOT_THREAD);
	CHECK(!rt_boot_parse("threads", &k));
}

/* Variables that no launcher sets, and contradictions of MPI: {size, rank} from MPI; 0: it is not asked. */
static void test_contradictions(void)
{
	static const struct {
		const char *variables;
		int size, rank;
		const char *says;
	} cases[] = {
	    {"SLURM_NTASKS=4 SLURM_PROCID=4", 0, 0,
	     "the environment has SLURM_PROCID=4 and SLURM_NTASKS=4: ranks count from 0 to the size less 1; "
	     "unset "
	     "both if no launcher has started hirc"},
	    {"PMI_SIZE=two PMI_RANK=1", 0, 0,
	     "PMI_SIZE=two in the environment is no number: a launcher sets it; unset it if none has started "
	     "hirc"},
	    {"PMIX_RANK=-1", 0, 0,
	     "PMIX_RANK=-1 in the environment is no number: a launcher sets it; unset it if none has started "
	     "hirc"},
	    {"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 PMIX_RANK=3 SLURM_NTASKS=4 SLURM_PROCID=3", 0, 0,
	     "the environment speaks of two ranks, OMPI_COMM_WORLD_RANK=0 and PMIX_RANK=3: one of them is of "
	     "another "
	     "job; unset it before this one is launched"},
	    {"SLURM_NTASKS=4 SLURM_PROCID=3", 1, 0,
	     "the launcher has started 4 ranks (SLURM_NTASKS), but MPI knows of this one alone: their "
	     "launcher is not of the MPI that hirc was built with, or does not support it; take its mpirun, "
	     "`srun "
	     "--mpi=pmix` or "
	     "`flux run -o pmi=pmix`; for a single process in a shell that a launcher has started, "
	     "--bootstrap=fork"},
	    {"PMIX_RANK=2", 1, 0,
	     "the environment says rank 2 (PMIX_RANK), but MPI rank 0 of 1: the variable is of another job, "
	     "or the "
	     "launcher does not support this MPI"},
	    {"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1", 4, 1,
	     "the environment says rank 1 of 2 (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE), but MPI rank 1 "
	     "of 4: the "
	     "variables are of another job; unset them before this one is launched"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		launched_with(cases[i].variables);
		CHECK_EQ(rt_boot_choose(RT_BOOT_AUTO), RT_BOOT_MPI);
		const struct rt_env_said said = rt_env_read();
		struct buf text = {0};
		CHECK(rt_env_check(&text) == (cases[i].size > 0));
		if (cases[i].size)
			CHECK(!rt_env_agrees(&said, cases[i].size, cases[i].rank, &text));
		CHECK_STR(text.at, cases[i].says);
		buf_free(&text);
	}
	launched_with("");
}

static void test_failures(enum rt_boot_kind kind)
{
	struct captured c;
	launch_captured(kind, 3, 10000, rank_fails, "dice", &c);
	CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
	CHECK_STR(c.text, "hirc: rank 1: error: no luck with dice\n");
	launch_captured(kind, 3, 10000, rank_returns, NULL, &c);
	CHECK_EQ(c.status, STATUS_WRONG);
	CHECK_STR(c.text, "");
	launch_captured(kind, 3, 600, rank_missing, NULL, &c);
	CHECK_EQ(c.status, STATUS_STUCK);
	CHECK(has(c.text, "waited 0.6 s for rank 1 to come to: the plan's hash\n"));
	CHECK(
	    has(c.text,
	        "rank 0: waiting for the plan's hash\nrank 1: idle\nrank 2: waiting for the plan's hash\n"));
	launch_captured(kind, 5000, 0, rank_ok, NULL, &c);
	CHECK_EQ(c.status, STATUS_USAGE);
}

/* Fails, or sees that another rank has failed, and then stays in a call that no signal ends. */
static int cannot_end(struct rt_job *job, void *arg)
{
	sigset_t all;
	(void)arg;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (rt_job_barrier(job, "what all come to") != STATUS_OK)
		return STATUS_INTERNAL;
	if (job->rank == 1) {
		rt_job_error(job, "no luck");
		rt_job_fail(job, STATUS_WRONG);
	}
	for (;;)
		pause();
}

static void test_stuck_ends(void)
{
	struct captured c;
	int64_t start = rt_clock_us();
	launch_captured(RT_BOOT_FORK, 3, 0, cannot_end, NULL, &c);
	CHECK_EQ(c.status, STATUS_WRONG);
	CHECK(rt_clock_us() - start < 1500000);
	CHECK_STR(c.text, "hirc: rank 1: error: no luck\n");
}

/* Ranks 0 and 1 have the first text, the others the second. */
struct texts {
	const char *first, *other, *want; /* want: NULL if the texts are the same */
	int64_t line;
};

static int compares(struct rt_job *job, void *arg)
{
	const struct texts *t = arg;
	struct rt_difference x;
	struct buf text = {0};
	if (rt_job_compare(job, "texts", job->rank < 2 ? t->first : t->other, &x) != STATUS_OK)
		return STATUS_INTERNAL;
	bool ok = x.rank == (t->want ? 2 : -1);
	if (ok && t->want) {
		rt_difference_put(&x, &text);
		ok = x.line == t->line && strcmp(text.at, t->want) == 0;
		if (!ok)
			printf("line %lld: %s\n", (long long)x.line, text.at);
	}
	buf_free(&text);
	return ok ? STATUS_OK : STATUS_WRONG;
}

static void test_compare(enum rt_boot_kind kind)
{
	char many[2][3000], line[2][400];
	memset(many, 'x', sizeof many);
	memset(line, 'y', sizeof line);
	for (int k = 0; k < 2; k++) {
		for (int i = 50; i < 3000; i += 51)
			many[k][i] = '\n';
		many[k][2999] = line[k][399] = 0;
		memcpy(line[k] + 196, "ääää", 8);
	}
	many[1][2700] = 'z';
	line[1][205] = 'z';
	many[0][2650] = many[1][2650] = ' ';
	const struct texts cases[] = {
	    {"", "", NULL, 0},
	    {many[0], many[0], NULL, 0},
	    {"a\nb\n", "a\n  c\n", "c,  not  b", 2},
	    {"a\n", "a\nb\n", "b  as well", 2},
	    {"a\nb\n", "a\n", "without  b", 2},
	    {many[0], many[1],
	     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxzx,  not  "
	     "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	     53},
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
		CHECK_EQ(launch(kind, 4, 20000, compares, (void *)&cases[k]), STATUS_OK);
	struct texts lines = {line[0], line[1], NULL, 1};
	char want[400];
	snprintf(want, sizeof want, "…%.31sääääyz%.112s…,  not  …%.31sääääyy%.112s…", line[0], line[0],
	         line[0], line[0]);
	lines.want = want;
	CHECK_EQ(launch(kind, 4, 20000, compares, &lines), STATUS_OK);
}

static void test_deaths(void)
{
	struct captured c;
	int how = SIGKILL;
	int64_t start = rt_clock_us();
	launch_captured(RT_BOOT_FORK, 4, 0, rank_dies, &how, &c);
	CHECK_EQ(c.status, STATUS_INTERNAL);
	CHECK(rt_clock_us() - start < 1000000);
	CHECK_STR(c.text, "hirc: error: rank 2 was killed by signal 9 (Killed)\n"
	                  "rank 0 stream 1: waiting in  recv(b, peer=1)  (two_streams.hir:12) iteration 3\n"
	                  "rank 1 stream 1: waiting in  recv(b, peer=1)  (two_streams.hir:12) iteration 3\n"
	                  "rank 2: dead\n"
	                  "rank 2 stream 1: waiting in  recv(b, peer=1)  (two_streams.hir:12) iteration 3\n"
	                  "rank 3 stream 1: waiting in  recv(b, peer=1)  (two_streams.hir:12) iteration 3\n");
	how = 0;
	launch_captured(RT_BOOT_FORK, 4, 0, rank_dies, &how, &c);
	CHECK_EQ(c.status, STATUS_INTERNAL);
	CHECK(has(c.text, "rank 2 ended with exit code 9 before the program was over\nrank 0 stream 1: "));
}

static int sleeper(struct rt_job *job, void *arg)
{
	int pid = getpid();
	(void)job;
	if (write(*(int *)arg, &pid, sizeof pid) != sizeof pid)
		return 1;
	for (;;)
		pause();
}

/* No rank survives a launcher that is killed. */
static void test_orphans(void)
{
	int ends[2];
	CHECK(pipe(ends) == 0);
	pid_t launcher = fork();
	if (launcher == 0) {
		close(ends[0]);
		_exit((int)launch(RT_BOOT_FORK, 3, 0, sleeper, &ends[1]));
	}
	close(ends[1]);
	for (int r = 0; r < 3; r++) {
		int pid;
		CHECK(read(ends[0], &pid, sizeof pid) == sizeof pid);
	}
	kill(launcher, SIGKILL);
	waitpid(launcher, NULL, 0);
	char end;
	CHECK(read(ends[0], &end, 1) == 0); /* no writer is left */
	close(ends[0]);
}

static struct rt_bell bell;
static _Atomic int ball;

static void *player(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++)
		for (;;) {
			uint32_t seen = rt_bell_read(&bell);
			if (atomic_load(&ball) == 2 * i + 1) {
				atomic_store(&ball, 2 * i + 2);
				rt_bell_ring(&bell);
				break;
			}
			rt_bell_wait(&bell, seen, -1);
		}
	return NULL;
}

/* A lost ring would hang here. */
static void test_bell(void)
{
	pthread_t t;
	pthread_create(&t, NULL, player, NULL);
	for (int i = 0; i < 2000; i++) {
		atomic_store(&ball, 2 * i + 1);
		rt_bell_ring(&bell);
		for (;;) {
			uint32_t seen = rt_bell_read(&bell);
			if (atomic_load(&ball) == 2 * i + 2)
				break;
			rt_bell_wait(&bell, seen, -1);
		}
	}
	pthread_join(t, NULL);
}

/* Runs on one of the available processors. */
static int on_one_core(struct rt_job *job, void *arg)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set))
		return STATUS_INTERNAL;
	int before = rt_processors(), first = 0;
	bool right = before == CPU_COUNT(&set) && rt_cores() >= 1 && rt_cores() <= before;
	while (!CPU_ISSET(first, &set))
		first++;
	CPU_ZERO(&set);
	CPU_SET(first, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		return STATUS_INTERNAL;
	rt_cores_warn(job, *(int *)arg);
	return right && rt_processors() == 1 && rt_cores() == 1 ? STATUS_OK : STATUS_WRONG;
}

/* Tests ranks bound as the digits say: "01 2" are two ranks, the first on processors 0 and 1. */
static bool suffice(const char *processors, int own)
{
	cpu_set_t bound[4];
	int ranks = 0;
	CPU_ZERO(&bound[0]);
	for (const char *p = processors; *p; p++)
		if (*p == ' ')
			CPU_ZERO(&bound[++ranks]);
		else
			CPU_SET(*p - '0', &bound[ranks]);
	return rt_cores_suffice(bound, ranks + 1, own);
}

static void test_cores_suffice(void)
{
	CHECK(suffice("01 01", 0));
	CHECK(!suffice("01 01 01", 2));
	CHECK(suffice("0 1", 0)); /* as `mpirun --bind-to core` does */
	CHECK(suffice("0 1", 1));
	CHECK(!suffice("0 0", 1));
	CHECK(suffice("01 1 23", 2));
	CHECK(!suffice("01 1 0", 0));
	CHECK(suffice("0  ", 0)); /* the other ranks are on another host */
	CHECK(!suffice(" 0", 0)); /* not known */
}

static void test_cores(void)
{
	static const char warning[] = "hirc: warning: the 2 threads of a rank share one core, to which it is "
	                              "bound (`mpirun --bind-to none` binds none)\n";
	struct captured c;
	for (int threads = 1; threads <= 2; threads++) {
		launch_captured(RT_BOOT_FORK, 2, 20000, on_one_core, &threads, &c);
		CHECK_EQ(c.status, STATUS_OK);
		CHECK(strcmp(c.text, threads > 1 && sysconf(_SC_NPROCESSORS_ONLN) > 1 ? warning : "") == 0);
	}
}

int main(void)
{
	test_environment();
	test_contradictions();
	for (int k = 0; k <= TEST_FORK; k++) {
		for (int np = 1; np <= 8; np *= 2)
			CHECK_EQ(launch(kinds[k], np, 20000, exchange, NULL), STATUS_OK);
		test_failures(kinds[k]);
		test_compare(kinds[k]);
	}
	if (TEST_FORK) {
		test_deaths();
		test_stuck_ends();
		test_orphans();
		test_cores();
	}
	test_cores_suffice();
	test_bell();
	return check_result();
}
