/* options_shared: rows that several commands share, each declared once.
 *
 *     static const struct option rows[] = {
 *             STREAMS_OPTION(struct sim_command, streams),
 *
 * TYPE is the struct of the table's values; FIELD is its member that the option sets. Rows with code of their
 * own are declared beside that code: CLUSTER_OPTION, PROGRESS_OPTION, DEFINE_OPTIONS, P2P_OPTIONS. */
#ifndef HIRC_CLI_OPTIONS_SHARED_H
#define HIRC_CLI_OPTIONS_SHARED_H
#include "base/transport_kind.h"
#include "cli/options.h"
#include "ir/ir.h"

/* int64_t */
#define STREAMS_OPTION(type, field)                                                                          \
	{                                                                                                    \
		.name = "streams", .kind = OPTION_INT, .at = offsetof(type, field), .value = "N",            \
		.max = MAX_STREAMS, .init.number = DEFAULT_STREAMS,                                          \
		.help = "take stream indices modulo N; 0: as they are"                                       \
	}

/* const char *; text_of_help: differs, since each command uses the device for another purpose */
#define TARGET_OPTION(type, field, text_of_help)                                                             \
	{                                                                                                    \
		.name = "target", .kind = OPTION_TEXT, .at = offsetof(type, field), .value = "cpu|cuda",     \
		.init.text = "cpu", .help = (text_of_help)                                                   \
	}

/* const char *: a transport, or auto */
#define FIGURES_OPTION(type, field)                                                                          \
	{                                                                                                    \
		.name = "transport", .kind = OPTION_TEXT, .at = offsetof(type, field),                       \
		.value = transport_kind_values, .init.text = "auto",                                         \
		.help = "use the figures of this transport in the cluster file; auto: the first one there"   \
	}

/* bool */
#define REPLAYED_OPTION(type, field)                                                                         \
	{                                                                                                    \
		.name = "graph", .kind = OPTION_SWITCH, .at = offsetof(type, field),                         \
		.help = "predict a replay of a graph, as runs after the first are on a GPU"                  \
	}

/* bool */
#define JSON_OPTION(type, field)                                                                             \
	{                                                                                                    \
		.name = "json", .kind = OPTION_SWITCH, .at = offsetof(type, field), .help = "print JSON"     \
	}
#define CSV_OPTION(type, field)                                                                              \
	{                                                                                                    \
		.name = "csv", .kind = OPTION_SWITCH, .at = offsetof(type, field), .help = "print CSV"       \
	}
#define NO_CHECK_OPTION(type, field)                                                                         \
	{                                                                                                    \
		.name = "no-check", .kind = OPTION_SWITCH, .at = offsetof(type, field),                      \
		.help = "run without the proof of `hirc check` before it; --check still compares the "       \
		        "numbers"                                                                            \
	}
/* const char *, for color_setting_find */
#define COLOR_OPTION(type, field)                                                                            \
	{                                                                                                    \
		.name = "color", .kind = OPTION_TEXT, .at = offsetof(type, field),                           \
		.value = "auto|always|never", .init.text = "auto",                                           \
		.help = "use colours; auto: on a terminal"                                                   \
	}
/* bool */
#define SPLIT_OPTION(type, field)                                                                            \
	{                                                                                                    \
		.name = "split-input-file", .kind = OPTION_SWITCH, .at = offsetof(type, field),              \
		.help = "handle the programs between lines `# -----` one by one"                             \
	}

#endif
