/* tune_transform: which transformations of collectives a program has something for.
 *
 * The program as it stands is compiled with each of them, which is told to do its work even where that is
 * slower: if the result is the same as without it, no candidate needs it. */
#include "cli/tune.h"

/* Set for each pass that tries changes: a few trials say as much as many. */
static bool insist(struct compile_options *o, const struct compile_transform *x, struct diag *d)
{
	return pipeline_set(d, &o->run, x->pass, "always=1") &&
	       pipeline_set(d, &o->run, x->pass, "trials=16") &&
	       (x->pass != PASS_CHUNK_COLLECTIVES || pipeline_set(d, &o->run, x->pass, "exposed=0"));
}

/* The program's hash with one of them; x NULL: with none. 0: it does not compile. */
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
