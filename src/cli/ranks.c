/* ranks: --target, --graph, --bootstrap, --transport, --p2p-protocol, --p2p-transport,
 * --mover, --engine, --streams, --timeout, --allow-path. */
#include "cli/ranks.h"
#include "cli/options_shared.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_TIMEOUT = 30, MAX_TIMEOUT = 1000000 };

void rank_options_free(struct rank_options *o)
{
	vec_free(&o->allow_path);
}

static bool allow_folder(void *to, const char *folder)
{
	struct rank_options *o = to;
	if (access(folder, F_OK) < 0) {
		fprintf(stderr, "hirc: error: --allow-path: '%s': %s\n", folder, strerror(errno));
		return false;
	}
	vec_push(&o->allow_path, folder);
	return true;
}

static const struct option rows[] = {
    TARGET_OPTION(struct rank_options, target, "the device of a rank: cores of its host, or a GPU"),
    {.name = "graph",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct rank_options, replay),
     .init.on = true,
     .help = "replay a graph in runs after the first, where one can be made, with --target=cuda"},
    {.name = "bootstrap",
     .kind = OPTION_TEXT,
     .at = offsetof(struct rank_options, bootstrap),
     .value = "auto|fork|thread|mpi",
     .init.text = "auto",
     .help = "how ranks are started; auto: mpi under a launcher, else fork"},
    {.name = "transport",
     .kind = OPTION_TEXT,
     .at = offsetof(struct rank_options, transport),
     .value = transport_kind_values,
     .init.text = "auto",
     .help = "how data moves between ranks"},
    P2P_OPTIONS(struct rank_options, p2p_protocol, p2p_transport),
    MOVER_OPTION(struct rank_options, mover),
    {.name = "engine",
     .kind = OPTION_TEXT,
     .at = offsetof(struct rank_options, engine),
     .value = "auto|inline|lanes",
     .init.text = "auto",
     .help = "the threads that do a rank's work: its own, or two more; auto: inline"},
    STREAMS_OPTION(struct rank_options, streams),
    {.name = "timeout",
     .kind = OPTION_INT,
     .at = offsetof(struct rank_options, timeout),
     .value = "SECONDS",
     .max = MAX_TIMEOUT,
     .init.number = DEFAULT_TIMEOUT,
     .help = "end a job in which nothing moves for so long; 0: never"},
    {.name = "allow-path",
     .kind = OPTION_CALL,
     .call = allow_folder,
     .value = "DIR",
     .help = "programs may read files below DIR, too, not only below their own folder; `/`: any"},
};

struct option_table rank_options_table(struct rank_options *o)
{
	return OPTION_TABLE("Ranks", rows, o);
}

void rank_options_init(struct rank_options *o)
{
	const struct option_table table = rank_options_table(o);
	*o = (struct rank_options){0};
	options_set_defaults(&table);
}

struct rt_launch_options rank_options_launch(const struct rank_options *o)
{
	struct rt_launch_options launch = {.timeout_ms = o->timeout * 1000};
	bool known = rt_boot_parse(o->bootstrap, &launch.kind); /* options_parse refuses other names */
	assert(known);
	(void)known;
	launch.kind = rt_boot_choose(launch.kind);
	return launch;
}

enum transport_kind rank_options_transport(const struct rank_options *o)
{
	return transport_kind_find(o->transport);
}

bool rank_options_are_cuda(const struct rank_options *o)
{
	return strcmp(o->target, "cuda") == 0;
}

bool rank_options_see_memory(const struct rank_options *o)
{
	return !rank_options_are_cuda(o) ||
	       transport_kind_has(rank_options_transport(o), TRANSPORT_HAS_VIEWS);
}

static bool is_auto(const char *value)
{
	return strcmp(value, "auto") == 0;
}

bool rank_options_check(const struct rank_options *o, bool zero_copy, struct diag *d)
{
	if (!gpu_options_check(&o->gpu, o->target, d))
		return false;
	if (zero_copy && !rank_options_see_memory(o)) {
		struct buf names = {0};
		transport_kind_put(&names, TRANSPORT_ON_GPU | TRANSPORT_HAS_VIEWS, "and");
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--zero-copy with --target=cuda is of --transport=%s: with %s "
		           "ranks do not see the memory of each other's GPU",
		           names.at, o->transport);
		buf_free(&names);
		return false;
	}
	if (!o->replay && !rank_options_are_cuda(o)) {
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--no-graph is of --target=cuda: on the cpu no run is a replay");
		return false;
	}
	if (!is_auto(o->engine) && rank_options_are_cuda(o)) {
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--engine is of --target=cpu: the streams of a GPU do the work of its rank");
		return false;
	}
	bool ipc = rank_options_are_cuda(o) &&
	           transport_kind_has(rank_options_transport(o), TRANSPORT_HAS_P2P_OPTIONS);
	if (!ipc && (!is_auto(o->p2p_protocol) || !is_auto(o->p2p_transport))) {
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--p2p-%s is of --target=cuda with --transport=%s",
		           is_auto(o->p2p_protocol) ? "transport" : "protocol",
		           transport_kind_name(TRANSPORT_CUDA_IPC));
		return false;
	}
	if (mover_find(o->mover) != MOVER_TRANSPORT && !rank_options_are_cuda(o)) {
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--mover is of --target=cuda: on the cpu the transport moves all data");
		return false;
	}
	return true;
}

struct exec_options rank_options_exec(const struct rank_options *o, const char *pipeline)
{
	struct exec_options e = gpu_options_exec(&o->gpu);
	e.transport = rank_options_transport(o);
	e.device = o->target;
	e.engine = o->engine;
	e.p2p_put = is_auto(o->p2p_protocol) ? pipeline && !strcmp(pipeline, "p2p-put")
	                                     : !strcmp(o->p2p_protocol, "put");
	e.p2p_by_kernel = !strcmp(o->p2p_transport, "kernel");
	e.p2p_asked = !is_auto(o->p2p_protocol) || !is_auto(o->p2p_transport);
	e.mover = mover_find(o->mover);
	return e;
}
