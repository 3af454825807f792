/* finding: see finding.h. */
#include "base/finding.h"
#include <stdlib.h>

void finding_add(struct findings *f, enum finding_state state, const char *subject, const char *fix,
                 const char *format, ...)
{
	struct buf text = {0};
	va_list args;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	vec_push(&f->at, ((struct finding){state, subject, text.at, fix}));
}

void findings_free(struct findings *f)
{
	for (uint32_t k = 0; k < f->at.n; k++)
		free(f->at.at[k].text);
	vec_free(&f->at);
}
