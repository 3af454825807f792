/* ir_files: one program of several, each the program of some ranks.
 *
 *     A.hir, for ranks 0 and 1       if rank >= 0 and rank <= 1 { the statements of A.hir }
 *     B.hir, for rank 2          →   if rank == 2 { the statements of B.hir }
 *
 * The module holds one program after the other: it is read, passes run, and ir_files_take puts it aside.
 * ir_files_join makes one program of all. So passes see whole programs, and readers of the joined one see
 * conditions. Meshes, groups, params and types are shared by all. Everything else is a program's own. Its inputs are
 * on its ranks alone (struct input), and its outputs are defined in its block. */
#ifndef HIRC_IR_IR_FILES_H
#define HIRC_IR_IR_FILES_H
#include "ir/ir.h"

struct ir_ranks { /* the ranks from first to last run a file of the source */
	int64_t first, last;
	uint32_t file;
};

struct ir_files {
	VEC(op_id) branch; /* the condition around each program; in no region before they are joined */
	VEC(struct input) input;
	VEC(value_id) output;
	uint32_t input_param_n; /* params among the inputs of the programs so far */
	/* where the tables ended after the last program */
	value_id value;
	op_id op;
	index_id index;
	bool deallocates;     /* all programs do */
	mesh_id default_mesh; /* of all programs; 0: they differ */
};

/* Puts the program aside that the module holds, and leaves the module without one. ranks: no rank twice. */
void ir_files_take(struct ir_files *f, struct module *m, const struct ir_ranks *ranks, uint32_t ranks_n);
/* Makes one program of all, and frees f. */
void ir_files_join(struct ir_files *f, struct module *m);

#endif
