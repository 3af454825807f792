/* fuzz_import: graphs of other tools; an accepted graph must give a valid program. */
#include "fuzz.h"
#include "import/import.h"
#include "ir/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const group[] = {"world:4"};
	struct diag *d = fuzz_diag();
	struct source *s = fuzz_source(d, data, n);
	fuzz_reached(FUZZ_INPUTS);
	if (s && import_knows(s)) {
		struct source *outer = diag_set_source(d, s);
		bool trace = import_knows_bytes(s->text, s->size);
		struct module *m = import_read_groups(d, s, group, trace);
		if (m) {
			fuzz_reached(FUZZ_PARSED);
			fuzz_printed(m);
		} else if (!diag_error_count(d)) {
			fuzz_fail("refused without a reason", "");
		}
		module_free(m);
		diag_set_source(d, outer);
	}
	source_free(s);
	diag_finish(d);
	diag_free(d);
	return 0;
}
