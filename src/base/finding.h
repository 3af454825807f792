/* finding: facts about a machine, one line each: in order, slower than possible, or absent.
 *
 *     warning  openblas   kernels for Haswell, and this CPU has AVX-512   unset OPENBLAS_CORETYPE */
#ifndef HIRC_BASE_FINDING_H
#define HIRC_BASE_FINDING_H
#include "base/str.h"
#include "base/vec.h"

enum finding_state { FINDING_OK, FINDING_WARNING, FINDING_MISSING };

struct finding {
	enum finding_state state;
	const char *subject; /* one word; constant */
	char *text;          /* owned */
	const char *fix;     /* a command that mends it; constant; NULL: none is known */
};
struct findings {
	VEC(struct finding) at;
};

void finding_add(struct findings *f, enum finding_state state, const char *subject, const char *fix,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
void findings_free(struct findings *f);

#endif
