/* ref_issue: the functions shared by the files that walk the program on one rank.
 *
 *     ref_issue.c      statements, streams
 *     ref_bind.c       buffers and views
 *     ref_meet.c       collectives, messages, waits
 *     ref_symmetric.c  symmetric views */
#ifndef HIRC_REF_REF_ISSUE_H
#define HIRC_REF_REF_ISSUE_H
#include "ref/ref_host.h"

/* Functions that return bool have reported before they return false. */
uint32_t ref_issue_at(struct ref_host *h, op_id op);
struct ref_entry *ref_issue_entry(struct ref_host *h, enum ref_entry_kind kind, op_id op);
void ref_issue_push(struct ref_rank *r, struct ref_entry *e); /* to the current stream */
void ref_issue_hold(struct ref_view *v);                      /* an entry will use it; NULL is allowed */

/* Evaluates the k-th scalar operand now. */
bool ref_issue_scalar(struct ref_host *h, struct ref_rank *r, op_id op, unsigned k, int64_t *out);
struct ref_view *ref_bind_find(struct ref_host *h, struct ref_rank *r, value_id v, op_id op);
struct ref_view *ref_bind_buffer(struct ref_host *h, struct ref_rank *r, value_id v);
/* Finds the buffer that a statement writes: a new one for a DEF, the bound one for a WRITE, NULL for
 * neither. */
bool ref_bind_result(struct ref_host *h, struct ref_rank *r, op_id op, unsigned k, struct ref_view **out);
/* Binds a buffer to the chunk that it holds, when a chunk of another tensor (a shard_by_stream with its own
 * index) is first written to it and both have the same loops. operand: the number of the READ that `in`
 * is. */
void ref_bind_chunk(struct ref_host *h, const struct ref_rank *r, op_id op, unsigned operand,
                    struct ref_view *out, const struct ref_view *in);
bool ref_bind_select(struct ref_host *h, struct ref_rank *r, op_id op);
bool ref_bind_shard(struct ref_host *h, struct ref_rank *r, op_id op);

/* Handles a symmetric_view, or the deallocate of its result. */
bool ref_symmetric_bind(struct ref_host *h, struct ref_rank *r, op_id op);
void ref_symmetric_end(struct ref_host *h, struct ref_rank *r, op_id op, value_id v);

bool ref_meet_collective(struct ref_host *h, struct ref_rank *r, const struct step *s);
bool ref_meet_reshard(struct ref_host *h, struct ref_rank *r, op_id op, unsigned axes);
/* Handles a fence: all ranks of the slice must reach it before one continues. of: the memory seen from there
 * on, or until there. Returns NULL if the rank is in no slice. */
struct ref_event *ref_meet_fence(struct ref_host *h, struct ref_rank *r, op_id op, team_id team,
                                 struct ref_view *of);
bool ref_meet_experts(struct ref_host *h, struct ref_rank *r, op_id op);
/* Issues a message, or prepares it for a post. */
bool ref_meet_message(struct ref_host *h, struct ref_rank *r, const struct step *s);
/* Handles a message of a tensor that the rank does not hold. */
void ref_meet_absent(struct ref_rank *r, const struct step *s);
void ref_meet_end_group(struct ref_host *h, struct ref_rank *r, const struct step *s);
void ref_meet_wait(struct ref_host *h, struct ref_rank *r, const struct step *s);
/* Reports that a wait or post names a statement that the rank has not reached or has already waited for.
 * Returns false. */
bool ref_meet_missing(struct ref_host *h, const struct ref_rank *r, const struct step *s);

#endif
