/* run_cluster: gives all ranks the figures of rank 0's cluster file, under a launcher.
 *
 * Every rank reads a cluster file of its own, and schedules depend on its figures, so all ranks must use the
 * same figures. Ranks compare hashes; if one differs, rank 0 sends its figures as the text of a file. */
#include "cli/run.h"
#include <string.h>

enum { PIECE = 4096 }; /* bytes of text in one message */

struct opinion { /* the figures of a rank */
	uint64_t hash;
	int64_t size;  /* bytes of their text */
	int32_t found; /* 1: the rank could read them */
};

/* Collective. Copies rank 0's text of `size` bytes into `text` of all others. */
static enum status send_text(struct rt_job *job, char *text, int64_t size)
{
	char piece[PIECE], *all = mem_alloc((size_t)PIECE * (size_t)job->size);
	enum status status = STATUS_OK;
	for (int64_t at = 0; at < size && status == STATUS_OK; at += PIECE) {
		size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
		memset(piece, 0, sizeof piece);
		if (job->rank == 0)
			memcpy(piece, text + at, n);
		status = rt_job_allgather(job, "the figures of the machine", piece, PIECE, all);
		memcpy(text + at, all, n);
	}
	free(all);
	return status;
}

/* Collective. *out becomes a copy of rank 0's figures. */
static enum status send_figures(struct rt_job *job, struct diag *d, struct buf *text, int64_t size,
                                uint64_t hash, struct cluster **out)
{
	char *received = mem_zalloc((size_t)size + 1);
	if (job->rank == 0)
		memcpy(received, text->at, (size_t)size);
	enum status status = send_text(job, received, size);
	if (status == STATUS_OK && job->rank > 0) {
		struct source *s = source_from_text("<figures of rank 0>", received, (uint32_t)size);
		*out = cluster_read(d, s);
		source_free(s);
		status = *out ? STATUS_OK : STATUS_DIAGNOSTICS;
		if (*out && cluster_hash(*out) != hash) {
			diag_error(d, E_CLUSTER_SENT, DIAG_NOWHERE,
			           "the figures of rank 0 did not arrive as they were sent");
			status = STATUS_INTERNAL;
		}
	}
	free(received);
	return status;
}

static void warn_cluster_ranks(struct diag *d, const struct opinion *all, int ranks)
{
	int differ = 0, first = 0;
	for (int k = ranks - 1; k > 0; k--)
		if (!all[k].found || all[k].hash != all[0].hash) {
			first = k;
			differ++;
		}
	if (all[first].found)
		diag_warning(d, W_CLUSTER_RANKS, DIAG_NOWHERE,
		             "--cluster: rank %d has figures (%016llx) other than rank 0 (%016llx)", first,
		             (unsigned long long)all[first].hash, (unsigned long long)all[0].hash);
	else
		diag_warning(d, W_CLUSTER_RANKS, DIAG_NOWHERE, "--cluster: rank %d cannot read its figures",
		             first);
	if (differ > 1)
		diag_note(d, DIAG_NOWHERE, "%d ranks differ; they use the figures of rank 0", differ);
	else
		diag_note(d, DIAG_NOWHERE, "it uses the figures of rank 0");
}

enum status run_agree_on_cluster(struct rt_job *job, struct run *r, struct diag *d)
{
	struct opinion mine = {0}, *all = mem_zalloc(sizeof *all * (size_t)job->size);
	struct buf text = {0};
	enum status own = STATUS_OK;
	struct diag *unheard = diag_new(NULL, DIAG_TEXT, 0);
	const struct cluster *c = compile_cluster(job->rank ? unheard : d, &r->compile, &own);
	diag_free(unheard);
	if (c) {
		cluster_write(c, &text);
		mine = (struct opinion){cluster_hash(c), (int64_t)text.n, true};
	}
	enum status status = rt_job_allgather(job, "the hash of the figures", &mine, sizeof mine, all);
	bool differ = false;
	for (int k = 1; k < job->size; k++)
		differ |= !all[k].found || all[k].hash != all[0].hash;
	if (status == STATUS_OK && !all[0].found) /* rank 0 has reported the error */
		status = job->rank ? STATUS_DIAGNOSTICS : own;
	else if (status == STATUS_OK && differ) {
		if (job->rank == 0)
			warn_cluster_ranks(d, all, job->size);
		status = send_figures(job, d, &text, all[0].size, all[0].hash, &r->compile.cluster_of_first);
	}
	buf_free(&text);
	free(all);
	return status;
}
