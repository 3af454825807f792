/* ranks: options for commands that start ranks. */
#ifndef HIRC_CLI_RANKS_H
#define HIRC_CLI_RANKS_H
#include "base/mover.h"
#include "base/transport_kind.h"
#include "base/vec.h"
#include "cli/gpu.h"
#include "rt/bootstrap.h"

/* Two rows; the fields are const char *. */
#define P2P_OPTIONS(type, protocol, transport)                                                               \
	{.name = "p2p-protocol",                                                                             \
	 .kind = OPTION_TEXT,                                                                                \
	 .at = offsetof(type, protocol),                                                                     \
	 .value = "auto|get|put",                                                                            \
	 .init.text = "auto",                                                                                \
	 .help =                                                                                             \
	     "rank that copies a message of cuda-ipc: the receiver gets, the sender puts; auto: put with "   \
	     "--pipeline=p2p-put, else get"},                                                                \
	{                                                                                                    \
		.name = "p2p-transport", .kind = OPTION_TEXT, .at = offsetof(type, transport),               \
		.value = "auto|copy-engine|kernel", .init.text = "auto",                                     \
		.help = "engine that copies messages of cuda-ipc; auto: copy-engine"                         \
	}

/* One row; the field is a const char *. */
#define MOVER_OPTION(type, field)                                                                            \
	{                                                                                                    \
		.name = "mover", .kind = OPTION_TEXT, .at = offsetof(type, field), .value = mover_list,      \
		.init.text = "transport",                                                                    \
		.help = "who moves the data of collectives, with --target=cuda; auto: by size and team"      \
	}

struct rank_options {
	const char *target;     /* "cpu", "cuda" */
	bool replay;            /* for cuda: runs after the first one are a graph, if possible */
	struct gpu_options gpu; /* in a table of its own */
	const char *bootstrap, *transport, *engine;
	const char *p2p_protocol, *p2p_transport; /* "auto": not given */
	const char *mover;                        /* of mover_list */
	int64_t streams, timeout;                 /* timeout in seconds */
	VEC(const char *) allow_path;             /* folders in which programs may read files */
};

/* Sets the defaults, for ranks without a command line. */
void rank_options_init(struct rank_options *o);
void rank_options_free(struct rank_options *o);
/* Returns the options' table. It points into o: do not move o while the command line is read. */
struct option_table rank_options_table(struct rank_options *o);
/* Returns the options for starting ranks; the caller sets the number of ranks. */
struct rt_launch_options rank_options_launch(const struct rank_options *o);
/* Returns the options for running. pipeline: the program's --pipeline; NULL: none. */
struct exec_options rank_options_exec(const struct rank_options *o, const char *pipeline);
enum transport_kind rank_options_transport(const struct rank_options *o);
bool rank_options_are_cuda(const struct rank_options *o);
/* Returns true if the options allow ranks to see each other's memory. */
bool rank_options_see_memory(const struct rank_options *o);
/* Returns false after reporting features that the target does not have. */
bool rank_options_check(const struct rank_options *o, bool zero_copy, struct diag *d);

#endif
