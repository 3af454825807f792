/* run_prove: the proof of `hirc check`, before the ranks start.
 *
 * The proof takes at most RUN_PROOF_WORK steps, some tenths of a second. A program that needs more steps runs without
 * a proof, or without that of its contents, and a note says so. */
#include "cli/gate.h"
#include "cli/run.h"

/* Proves the program as gate_prove does. */
static enum check_status prove_program(const struct run *r, struct diag *d, struct check_result *out)
{
	const struct check_options o = {
	    .ranks = r->needed, .streams = r->ranks.streams, .queue = CHECK_QUEUE, .work = RUN_PROOF_WORK};
	return gate_prove(r->m, d, &o, out);
}

/* Proves the program without messages, since a run of a right program prints no warnings of `hirc check`. */
static enum check_status prove_silently(const struct run *r, struct check_result *out)
{
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, 0);
	enum check_status status = prove_program(r, nowhere, out);
	diag_free(nowhere);
	return status;
}

bool run_prove(const struct run *r, struct diag *d)
{
	struct check_result x;
	if (!r->proves ||
	    r->replay) /* a plan that is refused is reported before the reference evaluates it */
		return !r->check || gate_accepts(r->m, d, r->needed, r->ranks.streams);
	switch (prove_silently(r, &x)) {
	case CHECK_CLEAN:
		if (x.too_long)
			diag_note(
			    d, DIAG_NOWHERE,
			    "the program runs without the proof of its contents: it takes more than %d steps",
			    RUN_PROOF_WORK / GATE_CONTENTS);
		return true;
	case CHECK_UNKNOWN:
		diag_note(d, x.at, "the program runs without the proof of `hirc check`: %s", x.what);
		return true;
	case CHECK_TOO_LONG:
		diag_note(d, DIAG_NOWHERE,
		          "the program runs without the proof of `hirc check`: it takes more than %d steps",
		          RUN_PROOF_WORK);
		return true;
	case CHECK_WRONG:
		break;
	}
	prove_program(r, d, &x);
	if (!x.refused)
		diag_note(d, DIAG_NOWHERE, "`--no-check` runs the program without this proof");
	return false;
}
