/* Tests of src/exec/npy: files are read back, and hostile files are refused. */
#include "check.h"
#include "exec/npy.h"
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/hirc-npy-XXXXXX";
static char path[256];

static const char *in_folder(const char *name)
{
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const void *data, size_t n)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0666);
	CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	close(fd);
}

/* Writes a file of format 1.0 with this header and n bytes of data. */
static void write_npy(const char *name, const char *header, size_t n)
{
	unsigned char file[70000];
	size_t length = strlen(header);
	memcpy(file, "\x93NUMPY\x01\x00", 8);
	file[8] = length & 0xff, file[9] = length >> 8 & 0xff;
	memcpy(file + 10, header, length);
	memset(file + 10 + length, 0, n);
	write_file(name, file, 10 + length + n);
}

/* Opens a file that must be refused; the message must hold want. */
static void refused(const char *name, const char *want)
{
	struct npy f;
	struct buf why = {0};
	bool ok = npy_open(in_folder(name), &f, &why);
	CHECK(!ok);
	if (ok)
		npy_close(&f);
	CHECK(why.at && strstr(why.at, want));
	if (why.at && !strstr(why.at, want))
		printf("    got: %s\n    want: %s\n", why.at, want);
	buf_free(&why);
}

static void broken_header(const char *header, const char *want)
{
	write_npy("broken.npy", header, 100);
	refused("broken.npy", want);
}

static void test_round_trip(void)
{
	static const int64_t shapes[][3] = {{2, 3, 4}, {24, 1, 1}, {1, 1, 24}};
	for (int t = 0; t < DTYPE_COUNT; t++)
		for (int nd = 0; nd <= 3; nd++) {
			unsigned char data[24 * 8], back[24 * 8];
			const int64_t *n = shapes[nd % 3];
			int64_t count = 1;
			struct npy f;
			struct buf why = {0};
			for (int k = 0; k < nd; k++)
				count *= n[k];
			for (size_t k = 0; k < sizeof data; k++)
				data[k] = (unsigned char)(k * 7 + t);
			CHECK(npy_write(in_folder("x.npy"), t, nd, n, data, &why));
			CHECK(npy_open(in_folder("x.npy"), &f, &why));
			CHECK(f.start % 64 == 0);
			CHECK_EQ(f.count, count);
			CHECK(npy_fits(&f, t, nd, n, &why));
			CHECK(npy_read(&f, 0, count, back, &why));
			CHECK(!memcmp(data, back, (size_t)count * dtype_bytes(t)));
			if (count > 2) {
				CHECK(npy_read(&f, 1, 1, back, &why));
				CHECK(!memcmp(data + dtype_bytes(t), back, dtype_bytes(t)));
			}
			CHECK(!npy_read(&f, count, 1, back, &why));
			npy_close(&f);
			buf_free(&why);
		}
}

static void misfit(const struct npy *f, enum dtype t, int nd, const int64_t *n, const char *want)
{
	struct buf why = {0};
	char full[512];
	CHECK(!npy_fits(f, t, nd, n, &why));
	snprintf(full, sizeof full, "'%s': %s", f->path, want);
	CHECK_STR(why.at, full);
	buf_free(&why);
}

static void test_fits(void)
{
	struct npy f;
	struct buf why = {0};
	write_npy("a.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", 48);
	CHECK(npy_open(in_folder("a.npy"), &f, &why));
	misfit(&f, DTYPE_F32, 2, (int64_t[]){2, 3},
	       "its elements are '<f8', f32 is needed; save x.astype('float32')");
	misfit(&f, DTYPE_BF16, 2, (int64_t[]){2, 3},
	       "its elements are '<f8', bf16 is needed; save x.astype(ml_dtypes.bfloat16)");
	misfit(&f, DTYPE_F64, 1, (int64_t[]){6}, "its shape is (2, 3), (6,) is needed");
	misfit(&f, DTYPE_F64, 0, NULL, "its shape is (2, 3), () is needed");
	npy_close(&f);

	/* other spellings of the same header */
	static const struct {
		const char *descr;
		enum dtype t;
		size_t bytes;
	} accepted[] = {{"|V2", DTYPE_BF16, 2},   {"bfloat16", DTYPE_BF16, 2}, {"<V2", DTYPE_BF16, 2},
	                {"|V1", DTYPE_F8E4M3, 1}, {"<f1", DTYPE_F8E5M2, 1},    {"=f4", DTYPE_F32, 4},
	                {"|b1", DTYPE_BOOL, 1},   {"|i1", DTYPE_I8, 1},        {"<u1", DTYPE_U8, 1},
	                {">i1", DTYPE_I8, 1}};
	for (unsigned k = 0; k < sizeof accepted / sizeof *accepted; k++) {
		char header[128];
		snprintf(header, sizeof header, "{\"shape\":(3,),\"fortran_order\":True,\"descr\":\"%s\"}",
		         accepted[k].descr);
		write_npy("b.npy", header, 3 * accepted[k].bytes);
		CHECK(npy_open(in_folder("b.npy"), &f, &why));
		CHECK(npy_fits(&f, accepted[k].t, 1, (int64_t[]){3}, &why));
		npy_close(&f);
	}
	buf_free(&why);
}

static void test_hostile(void)
{
	static const char BROKEN[] = "the header is broken";
	char *long_header = malloc(66000);
	refused("absent.npy", "cannot be opened: No such file");
	refused(".", "this is no regular file");
	CHECK(mkfifo(in_folder("fifo"), 0666) == 0);
	refused("fifo", "this is no regular file");
	write_file("empty.npy", "", 0);
	refused("empty.npy", "this is no .npy file");
	write_file("text.npy", "hello, this is text", 19);
	refused("text.npy", "this is no .npy file");
	write_file("short.npy", "\x93NUMPY\x01\x00\xff\xff{", 11);
	refused("short.npy", "truncated in its header");
	write_file("wide.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff{ }", 15);
	refused("wide.npy", "longer than 65536 bytes");
	write_file("wide2.npy", "\x93NUMPY\x02\x00\x10", 9);
	refused("wide2.npy", "this is no .npy file");
	write_file("wide3.npy", "\x93NUMPY\x02\x00\x10\x00", 10);
	refused("wide3.npy", "truncated in its header");
	write_file("new.npy", "\x93NUMPY\x09\x01\x10\x00", 10);
	refused("new.npy", "format 9.1 is not understood");
	write_file("nul.npy", "\x93NUMPY\x01\x00\x04\x00{}\0\n", 14);
	refused("nul.npy", "NUL byte");

	broken_header("", BROKEN);
	broken_header("{", BROKEN);
	broken_header("{}", BROKEN);
	broken_header("{'descr': '<f4'}", BROKEN);
	broken_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3)", BROKEN);
	broken_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", BROKEN);
	broken_header("{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", BROKEN);
	broken_header("{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (3,)}", BROKEN);
	broken_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", BROKEN);
	broken_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 'x')}", BROKEN);
	broken_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", BROKEN);
	broken_header("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", BROKEN);
	broken_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", BROKEN);
	broken_header("{'descr': '<f4', 'fortran_order': False, 'shape': "
	              "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
	              BROKEN);
	broken_header("{'descr': '<f4f4f4f4f4f4f4f4f4f4f4f4f4f4', 'fortran_order': False, 'shape': (3,)}",
	              BROKEN);
	broken_header("{'descr': '<f4, 'fortran_order': False, 'shape': (3,)}", BROKEN);
	broken_header("__import__('os').system('true')", BROKEN);

	broken_header("{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}",
	              "big-endian ('>f4'); save x.astype('<f4')");
	broken_header("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4)}",
	              "Fortran order; save np.ascontiguousarray(x)");
	broken_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}",
	              "the elements are records");
	broken_header("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
	              "elements of type '|O' are not understood");
	broken_header("{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}",
	              "elements of type '<c8' are not understood");
	broken_header("{'descr': '', 'fortran_order': False, 'shape': (3,)}",
	              "elements of type '' are not understood");
	broken_header("{'descr': '<f0', 'fortran_order': False, 'shape': (3,)}",
	              "elements of type '<f0' are not understood");
	broken_header("{'descr': '<f8', 'fortran_order': False, 'shape': (20,)}",
	              "truncated: its shape needs 160 bytes of data, it has 100");
	broken_header("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
	              "too large for any machine");
	broken_header("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,)}",
	              "too large for any machine");

	memset(long_header, ' ', 66000);
	memcpy(long_header, "\x93NUMPY\x02\x00\xf0\xff\x00\x00", 12);
	static const char text[] =
	    "{'descr': '|u1', 'fortran_order': False, 'shape': (4611686018427387904, 8, 0)}";
	memcpy(long_header + 12, text, sizeof text - 1);
	write_file("large.npy", long_header, 66000);
	struct npy f;
	struct buf why = {0};
	CHECK(npy_open(in_folder("large.npy"), &f, &why)); /* empty */
	CHECK_EQ(f.count, 0);
	npy_close(&f);
	buf_free(&why);
	free(long_header);
}

/* A file that is cut after it was opened is an error, not a crash. */
static void test_cut(void)
{
	struct npy f;
	struct buf why = {0};
	char back[400];
	write_npy("c.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (25,)}", 100);
	CHECK(npy_open(in_folder("c.npy"), &f, &why));
	CHECK(truncate(path, 80) == 0);
	CHECK(!npy_read(&f, 0, 25, back, &why));
	CHECK(strstr(why.at, "cut since it was opened"));
	npy_close(&f);
	buf_free(&why);
}

static void test_write_fails(void)
{
	struct buf why = {0};
	float x = 1;
	CHECK(!npy_write("/nowhere/x.npy", DTYPE_F32, 0, NULL, &x, &why));
	CHECK_STR(why.at, "'/nowhere/x.npy': cannot be written: No such file or directory");
	buf_free(&why);
	/* a folder with that name: nothing is left beside it */
	CHECK(mkdir(in_folder("d.npy"), 0777) == 0);
	CHECK(!npy_write(path, DTYPE_F32, 0, NULL, &x, &why));
	buf_free(&why);
	char pattern[300];
	glob_t beside;
	snprintf(pattern, sizeof pattern, "%s.*", path);
	CHECK_EQ(glob(pattern, 0, NULL, &beside), GLOB_NOMATCH);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	test_round_trip();
	test_fits();
	test_hostile();
	test_cut();
	test_write_fails();
	char command[300];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	CHECK(system(command) == 0);
	return check_result();
}
