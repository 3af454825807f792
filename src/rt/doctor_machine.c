/* doctor_machine: examines cores, memory and the limits of this process. */
#include "rt/cores.h"
#include "rt/doctor.h"
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define GIB (1024.0 * 1024 * 1024)
#define LEAST_SHM ((int64_t)256 << 20) /* bytes; Docker gives 64 MiB */
#define LEAST_FILES 1024

/* Reads the first word of a file. Returns false if there is none. */
static bool read_word(const char *path, char word[64])
{
	FILE *f = fopen(path, "r");
	bool ok = f && fscanf(f, "%63s", word) == 1;
	if (f)
		fclose(f);
	return ok;
}

static bool read_number(const char *path, int64_t *out)
{
	char word[64], *end;
	if (!read_word(path, word))
		return false;
	*out = strtoll(word, &end, 10);
	return !*end;
}

static int count_nodes(void)
{
	DIR *folder = opendir("/sys/devices/system/node");
	int n = 0, number;
	for (struct dirent *e; folder && (e = readdir(folder));)
		n += sscanf(e->d_name, "node%d", &number) == 1;
	if (folder)
		closedir(folder);
	return n > 0 ? n : 1;
}

/* Returns the number of processors to which the quota of the cgroup amounts; 0: there is no quota. */
static double quota(void)
{
	long long most, period;
	FILE *f = fopen("/sys/fs/cgroup/cpu.max", "r");
	bool ok = f && fscanf(f, "%lld %lld", &most, &period) == 2 && most > 0 && period > 0;
	int64_t quota_us, period_us;
	if (f)
		fclose(f);
	if (ok)
		return (double)most / (double)period;
	ok = read_number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota_us) && quota_us > 0 &&
	     read_number("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period_us) && period_us > 0;
	return ok ? (double)quota_us / (double)period_us : 0;
}

static void examine_cores(struct findings *f)
{
	int processors = rt_processors(), cores = rt_cores(), nodes = count_nodes();
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	double most = quota();
	if (most > 0 && most < cores)
		finding_add(
		    f, FINDING_WARNING, "cores", "docker run --cpus=N",
		    "%d cores, and the control group gives %.3g of them: more ranks than that wait for each "
		    "other",
		    cores, most);
	else if (processors < online)
		finding_add(f, FINDING_WARNING, "cores", "taskset -c 0-N hirc",
		            "bound to %d of %ld processors, which are %d core%s: as many ranks fit",
		            processors, online, cores, cores == 1 ? "" : "s");
	else
		finding_add(f, FINDING_OK, "cores", NULL,
		            "%d core%s, %d processor%s, %d NUMA node%s: %d rank%s fit%s", cores,
		            cores == 1 ? "" : "s", processors, processors == 1 ? "" : "s", nodes,
		            nodes == 1 ? "" : "s", cores, cores == 1 ? "" : "s", cores == 1 ? "s" : "");
}

static void examine_memory(struct findings *f)
{
	int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), most;
	bool limited = read_number("/sys/fs/cgroup/memory.max", &most) ||
	               read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", &most);
	if (limited && most > 0 && most < all)
		finding_add(f, FINDING_WARNING, "memory", "docker run --memory=SIZE",
		            "%.1f GiB, of which the control group gives %.1f", (double)all / GIB,
		            (double)most / GIB);
	else
		finding_add(f, FINDING_OK, "memory", NULL, "%.1f GiB", (double)all / GIB);
}

/* The shared memory of hirc itself is anonymous; MPI and NCCL use files here. */
static void examine_shared(struct findings *f)
{
	struct statvfs s;
	if (statvfs("/dev/shm", &s) < 0) {
		finding_add(f, FINDING_MISSING, "/dev/shm", "mount -t tmpfs tmpfs /dev/shm",
		            "not there: MPI and NCCL share memory by files in it");
		return;
	}
	int64_t size = (int64_t)(s.f_blocks * s.f_frsize);
	bool small = size < LEAST_SHM;
	finding_add(f, small ? FINDING_WARNING : FINDING_OK, "/dev/shm",
	            small ? "mount -o remount,size=50% /dev/shm, or docker run --shm-size=8g" : NULL,
	            small ? "%.2f GiB: MPI and NCCL share memory by files in it, and may find none"
	                  : "%.1f GiB",
	            (double)size / GIB);
}

static void examine_limits(struct findings *f)
{
	struct rlimit locked, files;
	if (getrlimit(RLIMIT_MEMLOCK, &locked) < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	if (locked.rlim_cur == RLIM_INFINITY)
		finding_add(f, FINDING_OK, "locked", NULL, "memory may be locked without limit");
	else
		finding_add(f, FINDING_OK, "locked", NULL,
		            "%lld KiB of memory may be locked; only InfiniBand needs more",
		            (long long)locked.rlim_cur / 1024);
	if (files.rlim_cur < LEAST_FILES)
		finding_add(f, FINDING_WARNING, "files", "ulimit -n 4096", "%lld may be open at once",
		            (long long)files.rlim_cur);
}

static void examine_speed(struct findings *f)
{
	char governor[64];
	double load;
	int processors = rt_processors();
	if (read_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor)) {
		bool slow = !strcmp(governor, "powersave") || !strcmp(governor, "conservative");
		/* powersave is the usual governor of intel_pstate, where it does not keep the frequency
		 * low */
		char driver[64] = "";
		read_word("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", driver);
		slow = slow && strcmp(driver, "intel_pstate") != 0 && strncmp(driver, "amd-pstate", 10) != 0;
		finding_add(f, slow ? FINDING_WARNING : FINDING_OK, "governor",
		            slow ? "cpupower frequency-set -g performance    (apt-get install linux-cpupower)"
		                 : NULL,
		            slow ? "%s keeps the frequency of cores low" : "%s", governor);
	}
	if (getloadavg(&load, 1) == 1)
		finding_add(f, load > 0.5 * processors ? FINDING_WARNING : FINDING_OK, "load", NULL,
		            load > 0.5 * processors
		                ? "%.1f others run on %d processors: times that are measured vary"
		                : "%.1f on %d processors",
		            load, processors);
}

void rt_doctor_machine(struct findings *f)
{
	examine_cores(f);
	examine_memory(f);
	examine_shared(f);
	examine_limits(f);
	examine_speed(f);
}
