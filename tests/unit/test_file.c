/* Tests of src/base/file: a file is written whole or not changed, and no other file is left beside it. */
#include "base/file.h"
#include "base/str.h"
#include "check.h"
#include "exec/npy.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/hirc-test-file-XXXXXX";

static unsigned count_files(void)
{
	unsigned n = 0;
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void check_holds(const char *path, const char *want)
{
	char text[64] = "";
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	CHECK(f != NULL);
	if (f)
		fclose(f);
	text[n] = '\0';
	CHECK_STR(text, want);
}

static bool put(const char *path, const char *text)
{
	return file_replace(path, &(struct file_part){text, strlen(text)}, 1);
}

static void limit(rlim_t bytes)
{
	struct rlimit l;
	CHECK(getrlimit(RLIMIT_FSIZE, &l) == 0);
	l.rlim_cur = bytes;
	CHECK(setrlimit(RLIMIT_FSIZE, &l) == 0);
}

/* A disk with space for 16 more bytes. */
static void test_full(void)
{
	struct file_writer w;
	struct buf why = {0};
	float x[64] = {0};
	CHECK(put("a", "old") && put("x.npy", "old"));
	limit(16);
	CHECK(!put("a", "more than there is room for"));
	CHECK_EQ(errno, EFBIG);
	check_holds("a", "old");
	CHECK(!put("new", "more than there is room for"));
	CHECK(access("new", F_OK) < 0);
	CHECK(!npy_write("x.npy", DTYPE_F32, 1, (const int64_t[]){64}, x, &why));
	CHECK_STR(why.at, "'x.npy': cannot be written: File too large");
	check_holds("x.npy", "old");
	CHECK(file_begin(&w, "a"));
	for (unsigned k = 0; k < 10000; k++)
		fputs("piece by piece", w.to);
	CHECK(!file_end(&w, true));
	CHECK_EQ(errno, EFBIG);
	check_holds("a", "old");
	limit(RLIM_INFINITY);
	CHECK_EQ(count_files(), 2);
	buf_free(&why);
}

static void test_pieces(void)
{
	struct file_writer w;
	CHECK(file_begin(&w, "a"));
	fputs("new", w.to);
	check_holds("a", "old");
	CHECK(file_end(&w, true));
	check_holds("a", "new");
	CHECK(file_begin(&w, "a"));
	fputs("unwanted", w.to);
	CHECK(file_end(&w, false));
	check_holds("a", "new");
	CHECK(file_end(&w, true)); /* no file was begun */
	CHECK(!file_begin(&w, "no/such/folder"));
	CHECK_EQ(errno, ENOENT);
	CHECK(put("a", ""));
	check_holds("a", "");
	CHECK_EQ(count_files(), 2);
}

static void test_others(void)
{
	struct stat is;
	struct buf shared = {0};
	CHECK(symlink("a", "link") == 0 && put("link", "through a link"));
	check_holds("a", "through a link");
	CHECK(lstat("link", &is) == 0 && S_ISLNK(is.st_mode));
	CHECK(symlink("there", "nowhere") == 0 && put("nowhere", "made"));
	check_holds("there", "made");
	CHECK(put("/dev/null", "gone") && !put("/dev/full", "gone"));
	CHECK_EQ(errno, ENOSPC);
	if (access("/dev/shm", W_OK) == 0) { /* a file system like any */
		buf_printf(&shared, "/dev/shm/hirc-test-file-%ld", (long)getpid());
		CHECK(file_try_replace(shared.at) && access(shared.at, F_OK) != 0 &&
		      put(shared.at, "memory"));
		check_holds(shared.at, "memory");
		unlink(shared.at);
		buf_free(&shared);
	}
	CHECK(!put(".", "a folder") && !file_try_replace(".") && !file_try_replace("no/such/folder"));
	CHECK(file_try_replace("a") && file_try_replace("other") && file_try_replace("/dev/full"));
	check_holds("a", "through a link");
	CHECK_EQ(count_files(), 5);
}

/* Links that another program made, to have hirc overwrite the file "victim". */
static void test_planted(void)
{
	char name[64];
	struct file_writer w;
	struct stat is;
	CHECK(mkdir("all", 0777) == 0 && put("victim", "kept"));
	snprintf(name, sizeof name, "all/out.%ld.tmp", (long)getpid()); /* a name that can be guessed */
	CHECK(symlink("../victim", name) == 0);
	CHECK(put("all/out", "written") && file_try_replace("all/out"));
	check_holds("all/out", "written");
	check_holds("victim", "kept");
	CHECK(file_begin(&w, "all/out") && lstat(w.side, &is) == 0 && S_ISREG(is.st_mode));
	CHECK(!strncmp(w.side, "all/out.", 8) && strcmp(w.side, name) != 0); /* in the folder of the file */
	char *first = strdup(w.side);
	CHECK(file_end(&w, false) && file_begin(&w, "all/out") && strcmp(w.side, first) != 0);
	CHECK(file_end(&w, false));
	free(first);
	unlink(name);
	/* two links, and the second one leads nowhere */
	CHECK(symlink("second", "all/first") == 0 && symlink("../victim2", "all/second") == 0);
	CHECK(put("all/first", "made"));
	check_holds("victim2", "made");
	CHECK(symlink("round", "all/round") == 0 && !put("all/round", "no end"));
	CHECK_EQ(errno, ELOOP);
	if (geteuid() == 0) { /* the only user who can make a link of another user */
		CHECK(symlink("../victim", "all/out.json") == 0 && symlink("out.json", "all/own") == 0);
		CHECK(lchown("all/out.json", 65534, 65534) == 0);
		CHECK(put("all/out.json", "the folder is not for all"));
		CHECK(chmod("all", 01777) == 0 && !put("all/out.json", "planted"));
		CHECK_EQ(errno, EACCES);
		CHECK(!put("all/own", "planted") && !file_try_replace("all/out.json"));
		check_holds("victim", "the folder is not for all");
		unlink("all/out.json");
		unlink("all/own");
	}
	for (const char *const *at = (const char *const[]){"victim", "victim2", "all/out", "all/first",
	                                                   "all/second", "all/round", NULL};
	     *at; at++)
		unlink(*at);
	CHECK(rmdir("all") == 0);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	if (!mkdtemp(folder) || chdir(folder) < 0)
		return 1;
	test_full();
	test_pieces();
	test_others();
	test_planted();
	for (const char *const *name = (const char *const[]){"a", "x.npy", "link", "nowhere", "there", NULL};
	     *name; name++)
		unlink(*name);
	CHECK(chdir("/") == 0 && rmdir(folder) == 0);
	return check_result();
}
