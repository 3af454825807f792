/* tune_transform: finds the transformations of collectives that apply to a program.
 *
 * The unchanged program is compiled with each transformation, which must do its work even if the result is
 * slower. If the result is the same as without the transformation, no candidate needs it. */
#include "cli/tune.h"

/* Sets the options that make a pass do its work; a few trials tell as much as many. */
static bool insist(struct compile_options *o, const struct compile_transform *x, struct diag *d)
{
	return pipeline_set(d, &o->run, x->pass, "always=1") &&
	       pipeline_set(d, &o->run, x->pass, "trials=16") &&
	       (x->pass != PASS_CHUNK_COLLECTIVES || pipeline_set(d, &o->run, x->pass, "exposed=0"));
}

/* Returns the program's hash with transformation x; x NULL: without any. 0: it does not compile. */
static uint64_t hash_with(struct tune *t, const struct compile_transform *x)
{
	const struct tune_candidate stands = {0};
	const char *given = t->compile.transform;
	struct compile_options o;
	struct tune_messages messages;
	int64_t streams;
	uint64_t h = 0;
	tune_messages_open(t, &messages);
	t->compile.transform = x ? x->word : "no";
	if (tune_options_make(t, &stands, messages.d, &o, &streams) && (!x || insist(&o, x, messages.d)))
		h = tune_program_hash(t, &o, messages.d);
	tune_options_free(t, &o);
	t->compile.transform = given;
	tune_messages_close(t, &messages);
	return h;
}

void tune_transforms_find(struct tune *t, bool *possible)
{
	uint64_t without = hash_with(t, NULL), with;
	for (unsigned k = 0; k < COMPILE_TRANSFORMS; k++) {
		with = without ? hash_with(t, &compile_transform[k]) : 0;
		possible[k] = with && with != without;
	}
}
