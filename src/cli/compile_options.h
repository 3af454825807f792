/* compile_options: the options of commands that compile a program. */
#ifndef HIRC_CLI_COMPILE_OPTIONS_H
#define HIRC_CLI_COMPILE_OPTIONS_H
#include "cli/options_shared.h"
#include "cost/cluster.h"
#include "ir/ir_files.h"
#include "parse/sema.h"
#include "pass/pipeline.h"

enum { COMPILE_TRANSFORMS = 3 };

/* A word of --transform, and its pass. */
struct compile_transform {
	const char *word;
	enum pass_id pass;
};
extern const struct compile_transform compile_transform[COMPILE_TRANSFORMS];

/* Two rows, -D and --np. offset: of the struct compile_options in the table's values. */
#define DEFINE_OPTIONS(offset)                                                                               \
	{.letter = 'D',                                                                                      \
	 .kind = OPTION_CALL,                                                                                \
	 .at = (offset),                                                                                     \
	 .call = compile_options_define,                                                                     \
	 .value = "NAME=TEXT",                                                                               \
	 .help = "give a param, const or scalar its value"},                                                 \
	    {.name = "np",                                                                                   \
	     .alias = "-np",                                                                                 \
	     .kind = OPTION_INT,                                                                             \
	     .at = (offset) + offsetof(struct compile_options, np),                                          \
	     .value = "N",                                                                                   \
	     .max = IR_MAX_DEVICES,                                                                          \
	     .help = "number of ranks; 0: as the file says"},                                                \
	{                                                                                                    \
		.name = "paired-axes", .kind = OPTION_CALL,                                                  \
		.at = (offset) + offsetof(struct compile_options, paired), .call = compile_options_paired,   \
		.value = "halves|own|twice|first|second", .words = "halves|own|twice|first|second",          \
		.help = "read parallel axes of a listing as halves of one axis, as axes of their own, as "   \
		        "split twice, or in the first or second way that a warning shows"                    \
	}

/* One row; the field is a bool. */
#define REMARKS_OPTION(type, field, on_at_first)                                                             \
	{                                                                                                    \
		.name = "remarks", .kind = OPTION_SWITCH, .at = offsetof(type, field),                       \
		.init.on = (on_at_first),                                                                    \
		.help = "print a line for each change that a pass made or left out"                          \
	}

struct progress;
struct compile_options {
	VEC(struct sema_define) define; /* -D */
	int64_t np;                     /* --np; 0: the file's default */
	enum sema_paired paired;        /* --paired-axes */
	const char *steps;              /* --pipeline; NULL: the layouts decide */
	bool offset_streams, inter_stream_sync, zero_copy;
	bool is_cuda;               /* the program is for GPUs; set by compile_options_target */
	const char *fuse_pointwise; /* --fuse-pointwise: a number or `no`; NULL: the pass's default */
	const char *effort, *bucket_mode, *memory_limit; /* for schedule-overlap; NULL: not given */
	const char *transform;   /* --transform: `all`, `no` or a list; NULL: all from --effort=2 on */
	const char *passes;      /* --passes; NULL: the default pipeline */
	const char *diagnostics; /* text or json */
	const char *color;       /* auto, always or never */
	const char *cluster_name;
	bool replayed;           /* statements begin as in a replayed graph */
	struct cluster *cluster; /* set by compile_cluster; NULL before */
	const char *transport;   /* its figures in a cluster file count; NULL: those of the first transport */
	bool threads;            /* ranks are threads, so `auto` may choose a transport of threads */
	struct cluster *cluster_of_first; /* rank 0's, used instead of `cluster`; owned by the run */
	bool defaults_are_open; /* without -D the params' values need not fit, since they are not used */
	bool verify_roundtrip;
	bool prove;                /* the compiled program must compute the same function as the source */
	struct progress *progress; /* of passes that try changes; NULL: not shown */
	struct pipeline_options pipeline;
	struct pipeline run;        /* the passes of `passes`; set by compile_options_finish */
	VEC(char *) owned;          /* names of -D */
	VEC(struct ir_ranks) ranks; /* of the files, if the program has several (rank_files.h) */
	VEC(const char *) group;    /* --group of hirc import */
};

/* Sets the defaults, for commands that have only DEFINE_OPTIONS. */
void compile_options_init(struct compile_options *o);
/* Reads -D into a struct compile_options, for DEFINE_OPTIONS. */
bool compile_options_define(void *compile_options, const char *text);
/* Reads --paired-axes into an enum sema_paired, for DEFINE_OPTIONS. */
bool compile_options_paired(void *paired, const char *text);
void compile_options_free(struct compile_options *o);
struct option_table compile_options_table(struct compile_options *o);
/* Sets the target, after the command line was read. For a GPU, figures of GPUs count unless --cluster is
 * given. */
void compile_options_target(struct compile_options *o, const struct command_line *line, const char *target);
/* Sets the program's transport, after the command line was read: its figures count if a cluster file has
 * those of several transports. */
void compile_options_transport(struct compile_options *o, const char *transport, bool threads);
/* Reads the options about passes. False after reporting; exit with STATUS_USAGE then. */
bool compile_options_finish(struct compile_options *o, struct diag *d);
/* Returns the list of --transform, or its default: `all`, `no` or a list. */
const char *compile_transform_list(const struct compile_options *o);
/* Returns a diag for standard error, set up by --diagnostic-format and --color. */
struct diag *compile_diag(const struct compile_options *o);
/* Returns the same for `out`, whose text is printed to standard error later. */
struct diag *compile_diag_to(const struct compile_options *o, FILE *out);
/* Returns the number of ranks that --np or -D np asks for; 0: neither does. */
int64_t compile_asked_ranks(const struct compile_options *o);
/* Prints a note if --np or -D np is another number than that of the program's ranks. For commands that start
 * no ranks. */
void compile_note_ranks(const struct compile_options *o, struct module *m);
/* Warns of each -D whose name no program had. */
void compile_warn_unused(struct diag *d, const struct compile_options *o);

#endif
