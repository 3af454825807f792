/* ranks: --target, --graph, --bootstrap, --transport, --p2p-protocol, --p2p-transport,
 * --engine, --streams, --timeout, --allow-path. */
#include "cli/ranks.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_TIMEOUT = 30, MAX_TIMEOUT = 1000000 };

void rank_options_init(struct rank_options *o)
{
	*o = (struct rank_options){.target = "cpu",
	                           .replay = true,
	                           .bootstrap = "auto",
	                           .transport = transport_kind_name(TRANSPORT_AUTO),
	                           .p2p_protocol = "auto",
	                           .p2p_transport = "auto",
	                           .engine = "auto",
	                           .streams = DEFAULT_STREAMS,
	                           .timeout = DEFAULT_TIMEOUT};
}

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

struct option_table rank_options_table(struct rank_options *o)
{
	const struct option options[] = {
	    {.name = "target",
	     .kind = OPTION_TEXT,
	     .to = &o->target,
	     .value = "cpu|cuda",
	     .help = "the device of a rank: cores of its host, or a GPU"},
	    {.name = "graph",
	     .kind = OPTION_SWITCH,
	     .to = &o->replay,
	     .help = "of --target=cuda: runs after the first are replays of a graph, where that can be made"},
	    {.name = "bootstrap",
	     .kind = OPTION_TEXT,
	     .to = &o->bootstrap,
	     .value = "auto|fork|thread|mpi",
	     .help = "how ranks are started; auto: mpi under a launcher, else fork"},
	    {.name = "transport",
	     .kind = OPTION_TEXT,
	     .to = &o->transport,
	     .value = transport_kind_values,
	     .help = "how data moves between ranks"},
	    {.name = "p2p-protocol",
	     .kind = OPTION_TEXT,
	     .to = &o->p2p_protocol,
	     .value = "auto|get|put",
	     .help = "of cuda-ipc: the receiver gets a message, or the sender puts it; auto: put with "
	             "--pipeline=p2p-put, else get"},
	    {.name = "p2p-transport",
	     .kind = OPTION_TEXT,
	     .to = &o->p2p_transport,
	     .value = "auto|copy-engine|kernel",
	     .help = "of cuda-ipc: the engine that copies messages; auto: copy-engine"},
	    {.name = "engine",
	     .kind = OPTION_TEXT,
	     .to = &o->engine,
	     .value = "auto|inline|lanes",
	     .help = "the threads that do a rank's work: its own, or two more; auto: inline"},
	    {.name = "streams",
	     .kind = OPTION_INT,
	     .to = &o->streams,
	     .value = "N",
	     .max = MAX_STREAMS,
	     .help = "stream indices are taken modulo N; 0: unbounded"},
	    {.name = "timeout",
	     .kind = OPTION_INT,
	     .to = &o->timeout,
	     .value = "SECONDS",
	     .max = MAX_TIMEOUT,
	     .help = "end a job in which nothing moves for so long; 0: never"},
	    {.name = "allow-path",
	     .kind = OPTION_CALL,
	     .to = o,
	     .call = allow_folder,
	     .value = "DIR",
	     .help = "programs may read files below DIR, too, not only below their own folder; `/`: any"},
	};
	unsigned n = sizeof options / sizeof *options;
	static_assert(sizeof options / sizeof *options <= RANK_OPTIONS, "RANK_OPTIONS is too small");
	memcpy(o->option, options, sizeof options);
	return (struct option_table){.title = "Ranks", .at = o->option, .n = n};
}

struct rt_launch_options rank_options_launch(const struct rank_options *o)
{
	struct rt_launch_options launch = {.timeout_ms = o->timeout * 1000};
	bool known = rt_boot_parse(o->bootstrap, &launch.kind); /* options_parse let no other name through */
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
	return e;
}
