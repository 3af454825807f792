/* diag: messages about the user's input, collected and printed in order.
 *
 *     foo.hir:3:12: error: unknown mesh axis 'y' [E0203]
 *       input X: f32[8@y]
 *                      ^
 *     note: did you mean 'x'?
 *
 * The first function that detects a failure reports it; its callers only
 * propagate it. After DIAG_MAX_ERRORS errors, further ones are only counted. */
#ifndef HIRC_BASE_DIAG_H
#define HIRC_BASE_DIAG_H
#include "base/color.h"
#include "base/diagnostics.h"
#include "base/source.h"
#include "base/str.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { DIAG_MAX_ERRORS = 20 };
enum diag_format { DIAG_TEXT, DIAG_JSON };

#define DIAG_NOWHERE UINT32_MAX

struct diag;

/* Messages are printed to `out`, usually standard error. NULL: they are only counted. */
struct diag *diag_new(FILE *out, enum diag_format format, enum color_setting color);
void diag_free(struct diag *d);

/* Sets the source of the offsets in later messages; NULL: none. Returns the previous source. */
struct source *diag_set_source(struct diag *d, struct source *s);

/* Makes errors in the bytes from `from` to `to` of the current source appear at `at`, where the same text is
 * written; only the copy at `from` was parsed. 0, 0, 0: turns this off. */
void diag_set_moved(struct diag *d, uint32_t from, uint32_t to, uint32_t at);

/* Each reports one message. code: E_… for an error, W_… for a warning. at: a byte offset in the current
 * source, or DIAG_NOWHERE. length: the bytes to underline; 0 and 1 give one caret. A note belongs to the
 * error or warning before it and is dropped together with it. */
void diag_error(struct diag *d, enum diagnostic code, uint32_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_error_span(struct diag *d, enum diagnostic code, uint32_t at, uint32_t length, const char *format,
                     ...) __attribute__((format(printf, 5, 6)));
void diag_warning(struct diag *d, enum diagnostic code, uint32_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_note(struct diag *d, uint32_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* One message for a sink; its text is valid only during the call. */
struct diag_message {
	enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE } severity;
	const struct source *source; /* NULL: none */
	uint32_t at, length;         /* at: DIAG_NOWHERE if the message has no place */
	const char *text;
	const char *number; /* "E0203"; NULL: a note */
};
/* Passes messages to a function instead of printing them. After DIAG_MAX_ERRORS it gets no more errors. */
void diag_set_sink(struct diag *d, void (*sink)(void *to, const struct diag_message *message), void *to);

/* Also appends each message as a member of a JSON array, whose brackets the caller puts; NULL: turns this
 * off. Call diag_finish before you use the array. */
void diag_set_copy(struct diag *d, struct buf *members);

unsigned diag_error_count(const struct diag *d);
unsigned diag_warning_count(const struct diag *d);
/* Sets the function that is called before each message, to erase a progress line; NULL: none. */
void diag_set_before(struct diag *d, void (*call)(void *to), void *to);
/* Prints `N more errors not shown` if there were more than DIAG_MAX_ERRORS. */
void diag_finish(struct diag *d);

/* Collects candidates and keeps the one nearest to a misspelt word.
 *     struct suggest s = suggest_start("yy"); suggest_try(&s, "x"); …; diag_suggest(d, &s);     */
struct suggest {
	const char *word, *best;
	unsigned distance;
};
struct suggest suggest_start(const char *word);
void suggest_try(struct suggest *s, const char *candidate);
/* Adds the note `did you mean 'best'?` if a candidate is near enough. */
void diag_suggest(struct diag *d, const struct suggest *s);

#endif
