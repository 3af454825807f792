/* fuzz: functions that the targets share.
 *
 * A target is a file fuzz_NAME.c with LLVMFuzzerTestOneInput. It ends the process (abort, an assert, a
 * sanitizer's report) where hirc has a bug; an input that hirc refuses with a message is not a bug. libFuzzer
 * and AFL++ drive it with -DHIRC_FUZZ=ON; replay.c runs it on files in any build. */
#ifndef HIRC_TESTS_FUZZ_H
#define HIRC_TESTS_FUZZ_H
#include "base/diag.h"
#include "base/str.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
/* For targets with text input: mutate.c. `at` holds n bytes and has room for `room`. Returns the new
 * length. */
size_t LLVMFuzzerCustomMutator(uint8_t *at, size_t n, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t an, const uint8_t *b, size_t bn, uint8_t *out,
                                 size_t room, unsigned seed);
/* Defined by libFuzzer; NULL with other drivers. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *at, size_t n, size_t room);

/* Returns a diag whose messages are formatted and dropped. */
struct diag *fuzz_diag(void);
/* Reads bytes as hirc reads a file. Returns NULL if hirc refuses them. */
struct source *fuzz_source(struct diag *d, const uint8_t *data, size_t n);
_Noreturn void fuzz_fail(const char *what, const char *text);

/* Runs parser, formatter, semantic step and both printers. Printed text must be the same program, and
 * formatted text must not change again. */
void fuzz_front(const uint8_t *data, size_t n);
/* Runs a program's passes, `hirc check`, and the plans of some ranks. A comment line `# --name=value` in the
 * text is a command-line option (fuzz_options). */
void fuzz_pipeline(const uint8_t *data, size_t n);
/* Takes a program that hirc has made from data: its text parses, and both surfaces give the same program. */
struct module;
void fuzz_printed(struct module *m);

/* drawn.c: writes a program of well-typed statements; a byte of data decides each choice. */
void fuzz_draw(const uint8_t *data, size_t n, struct buf *out);

/* How far inputs came; printed at the end if HIRC_FUZZ_STATS is set. */
enum fuzz_stage {
	FUZZ_INPUTS,
	FUZZ_PARSED,  /* the text is a program */
	FUZZ_PASSED,  /* all passes ran */
	FUZZ_CHECKED, /* `hirc check` found nothing */
	FUZZ_PLANNED, /* each rank has a plan */
	FUZZ_STAGES
};
void fuzz_reached(enum fuzz_stage stage);

#endif
