/* fuzz: what the targets share.
 *
 * A target is a file fuzz_NAME.c with LLVMFuzzerTestOneInput. It ends the process (abort, an assert, a
 * sanitizer's report) where hirc has a bug; what hirc refuses with a message is right. libFuzzer and AFL++
 * drive it with -DHIRC_FUZZ=ON; replay.c runs it on files in any build. */
#ifndef HIRC_TESTS_FUZZ_H
#define HIRC_TESTS_FUZZ_H
#include "base/diag.h"
#include "base/str.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
/* Of targets whose input is text: mutate.c. `at` holds n bytes and has room for `room`; the new length. */
size_t LLVMFuzzerCustomMutator(uint8_t *at, size_t n, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t an, const uint8_t *b, size_t bn, uint8_t *out,
                                 size_t room, unsigned seed);
/* libFuzzer's; NULL with other drivers. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *at, size_t n, size_t room);

/* Messages that are formatted and go nowhere. */
struct diag *fuzz_diag(void);
/* What hirc reads where a file holds these bytes: NULL where it refuses them. */
struct source *fuzz_source(struct diag *d, const uint8_t *data, size_t n);
_Noreturn void fuzz_fail(const char *what, const char *text);

/* Parser, formatter, semantic step, both printers: what is printed is the same program again, and what is
 * formatted is formatted. */
void fuzz_front(const uint8_t *data, size_t n);
/* A program, its passes, `hirc check`, and the plans of some ranks. Comments that are lines `# --name=value`
 * of the text are options of the command line (fuzz_options). */
void fuzz_pipeline(const uint8_t *data, size_t n);
/* A program that hirc has made from data: parses, and is the same in both surfaces. */
struct module;
void fuzz_printed(struct module *m);

/* drawn.c: a program of well-typed statements, each choice made by a byte of data. */
void fuzz_draw(const uint8_t *data, size_t n, struct buf *out);

/* How far inputs went; printed at the end where HIRC_FUZZ_STATS is set. */
enum fuzz_stage {
	FUZZ_INPUTS,
	FUZZ_PARSED,  /* the program is one */
	FUZZ_PASSED,  /* all passes ran */
	FUZZ_CHECKED, /* `hirc check` found nothing */
	FUZZ_PLANNED, /* each rank has a plan */
	FUZZ_STAGES
};
void fuzz_reached(enum fuzz_stage stage);

#endif
