/* bench_cluster_results: passes the measured times of rank 0 through a file, in their binary form. */
#include "cli/bench_cluster.h"
#include "cli/output.h"
#include <stdlib.h>
#include <string.h>

struct head {
	char transport[16], model[96];
	struct cluster_contention contention[COLLECTIVE_COUNT];
	struct cuda_call_times calls;
	int64_t ranks, memory, sharers, devices, inner;
	uint32_t teams;
};

enum status bench_measured_write(struct rt_job *job, const struct bench_cluster *o,
                                 const struct bench_measured *x)
{
	const struct bench *b = o->collectives.b;
	struct head head = {.calls = x->calls,
	                    .ranks = x->ranks,
	                    .memory = x->memory,
	                    .sharers = x->sharers,
	                    .devices = x->devices,
	                    .inner = x->inner,
	                    .teams = x->team.n};
	memcpy(head.transport, x->transport, sizeof head.transport);
	memcpy(head.model, x->model, sizeof head.model);
	memcpy(head.contention, x->contention, sizeof head.contention);
	enum status status = bench_results_write(job, b, &head, sizeof head);
	if (status == STATUS_OK)
		status = bench_results_write(job, b, x->probe, sizeof *x->probe * o->probe.n);
	for (uint32_t t = 0; t < x->team.n; t++) {
		const struct bench_team_points *team = &x->team.at[t];
		const int64_t which[] = {team->ranks, team->span};
		if (status == STATUS_OK)
			status = bench_results_write(job, b, which, sizeof which);
		for (unsigned k = 0; k < COLLECTIVE_COUNT && status == STATUS_OK; k++) {
			const struct bench_points *p = &team->of[k];
			status = bench_results_write(job, b, &p->point.n, sizeof p->point.n);
			if (status == STATUS_OK)
				status = bench_results_write(job, b, p->point.at,
				                             sizeof *p->point.at * p->point.n);
		}
	}
	return status;
}

static bool read_points(FILE *f, struct bench_points *out)
{
	uint32_t n;
	if (fread(&n, sizeof n, 1, f) != 1 || n > CLUSTER_MAX_POINTS)
		return false;
	for (uint32_t k = 0; k < n; k++) {
		struct cluster_point point;
		if (fread(&point, sizeof point, 1, f) != 1)
			return false;
		vec_push(&out->point, point);
	}
	return true;
}

bool bench_measured_read(FILE *f, const struct bench_cluster *o, struct bench_measured *out)
{
	struct head head;
	*out = (struct bench_measured){.probe = mem_zalloc(sizeof *out->probe * o->probe.n)};
	if (fread(&head, sizeof head, 1, f) != 1 ||
	    fread(out->probe, sizeof *out->probe, o->probe.n, f) != o->probe.n)
		return false;
	out->calls = head.calls;
	out->ranks = head.ranks;
	out->memory = head.memory;
	out->sharers = head.sharers;
	out->devices = head.devices;
	out->inner = head.inner;
	memcpy(out->transport, head.transport, sizeof out->transport);
	memcpy(out->model, head.model, sizeof out->model);
	memcpy(out->contention, head.contention, sizeof out->contention);
	for (uint32_t t = 0; t < head.teams; t++) {
		int64_t which[2];
		struct bench_team_points team = {0};
		bool ok = fread(which, sizeof which, 1, f) == 1;
		for (unsigned k = 0; k < COLLECTIVE_COUNT && ok; k++)
			ok = read_points(f, &team.of[k]);
		team.ranks = which[0];
		team.span = which[1];
		vec_push(&out->team, team);
		if (!ok)
			return false;
	}
	return true;
}

void bench_measured_free(struct bench_measured *x)
{
	for (uint32_t t = 0; t < x->team.n; t++)
		for (unsigned k = 0; k < COLLECTIVE_COUNT; k++)
			vec_free(&x->team.at[t].of[k].point);
	vec_free(&x->team);
	free(x->probe);
}

/* ---- side by side */

static void add_lines(const struct bench_cluster *o, const struct bench_measured *x, bench_lines *out)
{
	int64_t size = (int64_t)dtype_bytes(o->collectives.dtype);
	for (uint32_t t = 0; t < x->team.n; t++)
		for (unsigned k = 0; k < COLLECTIVE_COUNT; k++) {
			const struct bench_points *p = &x->team.at[t].of[k];
			for (uint32_t i = 0; i < p->point.n; i++) {
				struct bench_line line = {
				    .kind = (enum collective)k,
				    .members = (int)x->team.at[t].ranks,
				    .size = p->point.at[i].size,
				    .count = p->point.at[i].size / size,
				    .out_of_place = {
				        .us = (double)p->point.at[i].time / 1e3, .wrong = -1, .there = true}};
				memcpy(line.transport, x->transport, sizeof line.transport);
				vec_push(out, line);
			}
		}
}

void bench_cluster_beside(const struct bench_cluster *o, const struct bench_outcome *of,
                          const struct bench_measured *x, uint32_t n)
{
	const struct bench_collectives *c = &o->collectives;
	bench_lines *line = mem_zalloc(sizeof *line * (n + 1));
	struct buf text = {0}, names = {0};
	bool to_file = strcmp(o->output, "-") != 0;
	for (uint32_t t = 0; t < n; t++) {
		add_lines(o, &x[t], &line[t]);
		buf_printf(&names, "%s%s", t ? ", " : "", x[t].transport);
	}
	bench_collective_header(c, c->b->launch.np, n ? names.at : "none", &text);
	for (uint32_t t = 0; t < c->b->transport.n; t++) {
		bench_collective_absent(c, &of[t], &text);
		if (!to_file && !bench_outcome_is_measured(&of[t]))
			fprintf(stderr, "hirc bench: note: %s is not measured: %s\n", of[t].transport,
			        of[t].why.at);
	}
	bench_collective_beside(c, line, n, &text);
	if (to_file)
		output_write(&text);
	for (uint32_t t = 0; t < n; t++)
		vec_free(&line[t]);
	free(line);
	buf_free(&names);
	buf_free(&text);
}
