/* check: macros for unit tests.
 *
 *     int main(void)
 *     {
 *             CHECK(1 + 1 == 2);
 *             CHECK_EQ(strlen("ab"), 2);
 *             CHECK_STR(name, "x");
 *             return check_result();
 *     }
 *
 * A failed check prints its place and its text, and the test continues. */
#ifndef HIRC_TESTS_CHECK_H
#define HIRC_TESTS_CHECK_H
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned check_failures;

#define CHECK(condition) check_that((condition), __FILE__, __LINE__, #condition)
/* For integers. */
#define CHECK_EQ(got, want)                                                                                  \
	check_equal((long long)(got), (long long)(want), __FILE__, __LINE__, #got " == " #want)
#define CHECK_STR(got, want) check_text((got), (want), __FILE__, __LINE__, #got)

static inline void check_that(bool ok, const char *file, int line, const char *text)
{
	if (!ok) {
		printf("%s:%d: failed: %s\n", file, line, text);
		check_failures++;
	}
}

static inline void check_equal(long long got, long long want, const char *file, int line, const char *text)
{
	check_that(got == want, file, line, text);
	if (got != want)
		printf("    got %lld, want %lld\n", got, want);
}

static inline void check_text(const char *got, const char *want, const char *file, int line, const char *text)
{
	bool ok = got && strcmp(got, want) == 0;
	check_that(ok, file, line, text);
	if (!ok)
		printf("--- got:\n%s\n--- want:\n%s\n", got ? got : "(none)", want);
}

static inline int check_result(void)
{
	if (check_failures)
		printf("%u checks failed\n", check_failures);
	return check_failures != 0;
}

#endif
