/* run_outputs: collects outputs on rank 0, and writes them as files or text.
 *
 *     hirc run f.hir                  all outputs: names, types, and the elements of small ones
 *     hirc run f.hir --output Y=-     all elements of Y
 *     hirc run f.hir --output Y=y.npy */
#include "cli/output.h"
#include "cli/run.h"
#include "exec/exec_gather.h"
#include "exec/tensor_text.h"
#include <stdlib.h>
#include <string.h>

enum { SMALL = 16 }; /* elements of outputs that are printed by default */

enum status run_printed(struct rt_job *job, bool ok)
{
	return ok ? STATUS_OK : rt_job_fail(job, output_status(false));
}

enum status run_download_outputs(struct exec *e, const struct plan *p)
{
	enum status status = STATUS_OK;
	for (uint32_t k = 0; k < p->output.n && status == STATUS_OK; k++)
		if (p->output.at[k].buffer != UINT32_MAX && exec_memory(e, p->output.at[k].buffer))
			status = exec_download(e, p->output.at[k].buffer);
	return status;
}

const void *run_output_memory(struct exec *e, const struct plan *p, uint32_t k)
{
	return p->output.at[k].buffer == UINT32_MAX ? NULL : exec_memory(e, p->output.at[k].buffer);
}

/* Prints an output: its elements, or only its type if `whole` is NULL. */
static bool print_output(const struct run *r, const struct plan_output *o, const struct data_map *map,
                         const void *whole)
{
	char name[DATA_NAME_BYTES];
	enum dtype t = ir_type(r->m, o->type)->dtype;
	struct buf text = {.file = stdout};
	tensor_text_put_head(&text, data_name(r->m, o->value, name), t, map->rank, map->extent);
	if (whole)
		tensor_text_put_elements(&text, t, map->rank, map->extent, whole);
	bool ok = output_write(&text);
	buf_free(&text);
	return ok;
}

/* Writes one output to a file or, with `-`, to standard output; rank 0 writes. */
static enum status write_output(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e,
                                uint32_t k, const struct data_file *file)
{
	const struct plan_output *o = &p->output.at[k];
	struct data_map map;
	struct buf why = {0};
	void *whole;
	int32_t failed = 0, *all = mem_zalloc(sizeof *all * (size_t)job->size);
	enum status status = exec_gather_output(job, r->m, o->type, run_output_memory(e, p, k), &whole);
	if (status == STATUS_OK && whole) {
		data_map_make(r->m, o->type, job->rank, &map);
		if (!strcmp(file->path, "-"))
			failed = (int32_t)output_status(print_output(r, o, &map, whole));
		else if (!npy_write(file->path, ir_type(r->m, o->type)->dtype, (int)map.rank, map.extent,
		                    whole, &why)) {
			rt_job_error(job, "--output %s: %s", file->name, why.at);
			failed = STATUS_DIAGNOSTICS;
		}
		data_map_free(&map);
	}
	if (status == STATUS_OK)
		status = rt_job_allgather(job, "writing an output", &failed, sizeof failed, all);
	if (status == STATUS_OK)
		status = (enum status)all[0];
	free(whole);
	free(all);
	buf_free(&why);
	return status;
}

/* Returns true if the outputs are printed by default: no option prints or writes anything. */
static bool shows_outputs(const struct run *r)
{
	return !r->check && !r->output.n && !r->stats && !r->profile && !r->trace && !r->dump_plan &&
	       !r->replay && !r->json && !r->host_ir.n;
}

static enum status show_output(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e,
                               uint32_t k)
{
	static const struct data_file shown = {.path = "-"};
	const struct plan_output *o = &p->output.at[k];
	struct data_map map;
	bool ok = true;
	if (!data_map_make(r->m, o->type, job->rank, &map))
		return STATUS_OK;
	bool small = map.total <= SMALL;
	if (!small && job->rank == 0)
		ok = print_output(r, o, &map, NULL);
	data_map_free(&map);
	return small ? write_output(job, r, p, e, k, &shown) : run_printed(job, ok);
}

enum status run_write_outputs(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e)
{
	bool shown = shows_outputs(r);
	enum status status = r->output.n || shown ? run_download_outputs(e, p) : STATUS_OK;
	for (uint32_t k = 0; shown && k < p->output.n && status == STATUS_OK; k++)
		status = show_output(job, r, p, e, k);
	for (uint32_t f = 0; f < r->output.n; f++)
		for (uint32_t k = 0; k < p->output.n && status == STATUS_OK; k++)
			if (data_is_named(r->m, p->output.at[k].value, r->output.at[f].name))
				status = write_output(job, r, p, e, k, &r->output.at[f]);
	return status;
}
