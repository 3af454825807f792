/* cmd_doctor: hirc doctor: prints the features of this machine, one on each line, and how to install missing
 * parts and speed up slow ones. */
#include "base/finding.h"
#include "base/json_put.h"
#include "cli/commands.h"
#include "cli/embedded.h"
#include "cli/options_shared.h"
#include "cli/output.h"
#include "cli/version.h"
#include "rt/doctor.h"
#ifdef HIRC_HAVE_CUDA
#include "cuda/open.h"
#endif
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAUNCH_SECONDS = 30 };

enum { DOCTOR_VERSION = 1 /* of --json */ };

struct doctor_command {
	const char *target;
	bool launch, json;
	int gpus; /* usable GPUs */
	struct findings found;
};

/* Runs two ranks that sum their shards and check the sum. */
static void try_launcher(struct doctor_command *c)
{
	const char *folder = getenv("TMPDIR");
	struct buf path = {0};
	char self[4096];
	size_t bytes = strlen(cli_doctor_hir);
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	buf_printf(&path, "%s/hirc-doctor-XXXXXX", folder && *folder ? folder : "/tmp");
	int file = n > 0 ? mkstemp(path.at) : -1;
	bool written = file >= 0 && write(file, cli_doctor_hir, bytes) == (ssize_t)bytes;
	if (file >= 0)
		close(file);
	if (written) {
		self[n] = '\0';
		rt_doctor_launcher(&c->found, (char *[]){self, "run", "--check", path.at, NULL},
		                   LAUNCH_SECONDS);
	} else {
		finding_add(&c->found, FINDING_WARNING, "launcher",
		            "export TMPDIR=/a/folder/that/can/be/written",
		            "not tried: '%s' cannot be written: %s", path.at, strerror(errno));
	}
	if (file >= 0)
		unlink(path.at);
	buf_free(&path);
}

static void examine(struct doctor_command *c)
{
	struct findings *f = &c->found;
	finding_add(f, FINDING_OK, "hirc", NULL, "%s: %s", version_text(), version_features());
	rt_doctor_machine(f);
	rt_doctor_libraries(f);
	if (c->launch)
		try_launcher(c);
#ifdef HIRC_HAVE_CUDA
	cuda_doctor(f, &c->gpus);
#else
	finding_add(f, FINDING_MISSING, "cuda",
	            "pip install --target DIR nvidia-cuda-{runtime,crt,cccl,nvrtc} nvidia-cublas "
	            "nvidia-nccl-cu13, then "
	            "build hirc with -DHIRC_CUDA_WHEELS=DIR",
	            "this hirc was built without CUDA's headers: --target=cuda is not there");
#endif
}

static const char *const state_name[] = {"ok", "warning", "missing"};

static void put_text(const struct doctor_command *c, struct buf *out)
{
	unsigned n[3] = {0};
	for (uint32_t k = 0; k < c->found.at.n; k++) {
		const struct finding *f = &c->found.at.at[k];
		n[f->state]++;
		buf_printf(out, "%-7s  %-9s  %s\n", state_name[f->state], f->subject, f->text);
		if (f->fix)
			buf_printf(out, "%20s%s\n", "", f->fix);
	}
	buf_printf(out, "%u warning%s, %u missing\n", n[FINDING_WARNING], n[FINDING_WARNING] == 1 ? "" : "s",
	           n[FINDING_MISSING]);
}

static void put_json(const struct doctor_command *c, struct buf *out)
{
	json_put_start(out, DOCTOR_VERSION, "doctor");
	json_put_more(out, "hirc", version_text());
	json_put_int(out, "gpus", c->gpus);
	buf_puts(out, ", \"findings\": [");
	for (uint32_t k = 0; k < c->found.at.n; k++) {
		const struct finding *f = &c->found.at.at[k];
		buf_printf(out, "%s\n{\"state\":\"%s\",\"subject\":\"%s\",\"text\":", k ? "," : "",
		           state_name[f->state], f->subject);
		json_put_string(out, f->text);
		buf_puts(out, ",\"fix\":");
		json_put_string(out, f->fix);
		buf_putc(out, '}');
	}
	buf_puts(out, "\n]}\n");
}

static enum status doctor(struct doctor_command *c)
{
	struct buf text = {0};
	examine(c);
	if (c->json)
		put_json(c, &text);
	else
		put_text(c, &text);
	bool asks_gpu = !strcmp(c->target, "cuda");
	enum status status = asks_gpu && c->gpus == 0 ? STATUS_ABSENT : STATUS_OK;
	/* a GPU needs all of its libraries */
	for (uint32_t k = 0; k < c->found.at.n && asks_gpu; k++) {
		const struct finding *f = &c->found.at.at[k];
		if (f->state == FINDING_MISSING &&
		    (!strcmp(f->subject, "cublaslt") || !strcmp(f->subject, "nvrtc")))
			status = STATUS_ABSENT;
	}
	if (!output_write(&text))
		status = STATUS_DIAGNOSTICS;
	buf_free(&text);
	findings_free(&c->found);
	return status;
}

static const struct option rows[] = {
    TARGET_OPTION(struct doctor_command, target,
                  "the target to look at: with cuda, exit code 5 if no GPU can be used"),
    {.name = "launch",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct doctor_command, launch),
     .init.on = true,
     .help = "start 2 ranks with mpirun or srun, as a test"},
    JSON_OPTION(struct doctor_command, json),
};

int cmd_doctor(int argc, char **argv)
{
	struct doctor_command c = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…]",
	    .about =
	        "Prints the parts of this machine that ranks use: cores, memory, BLAS and its kernels, MPI\n"
	        "and its launcher, GPUs and their libraries. Below a missing or slow part, prints the\n"
	        "command that installs or mends it.\n"
	        "Exit code: 0; 2 for a wrong command line; 5 if --target's device is missing.",
	    .table = {OPTION_TABLE("Options", rows, &c)},
	    .table_n = 1,
	    .no_files = true,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		if (line.file.n) {
			fprintf(stderr, "hirc doctor: error: '%s': it reads no files\n", line.file.at[0]);
			status = STATUS_USAGE;
		} else {
			status = doctor(&c);
		}
	}
	options_free(&line);
	return status;
}
