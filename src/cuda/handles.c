/* handles: passes open files from process to process through sockets.
 *
 * Each rank has a socket with a name that the kernel chose. An allgather tells the others the name, and a
 * random number that only the ranks know. Each rank sends its files to each other rank, as many at once as
 * fit into a packet:
 *
 *     packet   { number of the receiver, rank of the sender, first file, count }  files
 *
 * Nothing blocks: while a rank waits for room in another's queue, it takes the packets that have arrived. A
 * packet from another user, or without the number, is closed and ignored. */
#include "cuda/handles.h"
#include "base/arena.h"
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PACKET_FILES = 64, LOOK_MS = 5, REFUSED_LOOKS = 60 /* tries until a rank has surely ended */ };

struct peer_socket {
	uint64_t number; /* in each packet for this rank; only the ranks know it */
	socklen_t bytes; /* length of the name */
	struct sockaddr_un name;
};

struct packet {
	uint64_t number;
	int64_t rank;
	uint32_t first, count;
};

struct exchange {
	struct rt_job *job;
	int socket;
	struct peer_socket *peer; /* by rank */
	const int *own;
	uint32_t n;
	int *all;
	uint32_t *sent; /* by rank: number of files sent */
	uint64_t missing;
	int refused; /* number of tries in which another rank's socket did not exist */
};

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(PACKET_FILES * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

static enum status report_failed_exchange(struct exchange *x, const char *what, int error)
{
	const char *hint = error == EMFILE || error == ENFILE ? "; `ulimit -n` allows more open files" : "";
	rt_job_error(x->job, "ranks cannot show each other the memory of their GPUs: %s: %s%s", what,
	             strerror(error), hint);
	return rt_job_fail(x->job, STATUS_ABSENT);
}

static enum status open_socket(struct exchange *x)
{
	struct peer_socket own = {.bytes = sizeof own.name};
	const struct sockaddr_un any = {.sun_family = AF_UNIX};
	int yes = 1;
	x->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (x->socket < 0 || bind(x->socket, (const struct sockaddr *)&any, sizeof(sa_family_t)) != 0 ||
	    setsockopt(x->socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0 ||
	    getsockname(x->socket, (struct sockaddr *)&own.name, &own.bytes) != 0)
		return report_failed_exchange(x, "a socket", errno);
	if (getrandom(&own.number, sizeof own.number, 0) != (ssize_t)sizeof own.number)
		return report_failed_exchange(x, "a random number", errno);
	return rt_job_allgather(x->job, "the sockets", &own, sizeof own, x->peer);
}

/* ---- sending */

/* Sends one packet to a rank. *moved: it was sent. */
static enum status send_some(struct exchange *x, int rank, bool *moved)
{
	const struct peer_socket *to = &x->peer[rank];
	uint32_t left = x->n - x->sent[rank], count = left < PACKET_FILES ? left : PACKET_FILES;
	struct packet p = {
	    .number = to->number, .rank = x->job->rank, .first = x->sent[rank], .count = count};
	union control control = {0};
	struct iovec data = {.iov_base = &p, .iov_len = sizeof p};
	struct msghdr m = {.msg_name = (void *)&to->name,
	                   .msg_namelen = to->bytes,
	                   .msg_iov = &data,
	                   .msg_iovlen = 1,
	                   .msg_control = &control,
	                   .msg_controllen = CMSG_SPACE(count * sizeof(int))};
	struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	*head = (struct cmsghdr){
	    .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(count * sizeof(int))};
	memcpy(CMSG_DATA(head), x->own + p.first, count * sizeof(int));
	if (sendmsg(x->socket, &m, MSG_NOSIGNAL) == (ssize_t)sizeof p) {
		x->sent[rank] += count;
		*moved = true;
		return STATUS_OK;
	}
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == EINTR ||
	    errno == ETOOMANYREFS)
		return STATUS_OK; /* until others have taken the packets that were sent */
	if (errno == ECONNREFUSED && ++x->refused < REFUSED_LOOKS)
		return STATUS_OK; /* that rank has ended, which will be reported */
	return report_failed_exchange(x, "a socket of another rank", errno);
}

/* ---- receiving */

/* Returns the files that came with a packet. *trusted: the sender is this user. */
static uint32_t files_of(struct msghdr *m, int *file, bool *trusted)
{
	uint32_t n = 0;
	*trusted = false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS) {
			n = (uint32_t)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
			memcpy(file, CMSG_DATA(c), n * sizeof(int));
		} else if (c->cmsg_type == SCM_CREDENTIALS) {
			struct ucred who;
			memcpy(&who, CMSG_DATA(c), sizeof who);
			*trusted = who.uid == geteuid();
		}
	}
	return n;
}

static bool is_expected(const struct exchange *x, const struct packet *p, uint32_t files)
{
	const struct rt_job *job = x->job;
	if (p->number != x->peer[job->rank].number || p->rank < 0 || p->rank >= job->size ||
	    p->rank == job->rank || p->count != files || p->first > x->n || files > x->n - p->first)
		return false;
	bool fresh = true;
	for (uint32_t k = 0; k < files; k++)
		fresh = fresh && x->all[(size_t)p->rank * x->n + p->first + k] < 0;
	return fresh;
}

/* Receives one packet. *moved: there was one. */
static enum status receive_some(struct exchange *x, bool *moved)
{
	struct packet p;
	union control control;
	int file[PACKET_FILES];
	bool trusted;
	struct iovec data = {.iov_base = &p, .iov_len = sizeof p};
	struct msghdr m = {
	    .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	ssize_t bytes = recvmsg(x->socket, &m, MSG_CMSG_CLOEXEC);
	if (bytes < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR
		           ? STATUS_OK
		           : report_failed_exchange(x, "the own socket", errno);
	uint32_t n = files_of(&m, file, &trusted);
	*moved = true;
	bool named = trusted && bytes == (ssize_t)sizeof p && p.number == x->peer[x->job->rank].number;
	if (named && m.msg_flags & MSG_CTRUNC) {
		while (n)
			close(file[--n]);
		return report_failed_exchange(x, "the files of another rank", EMFILE);
	}
	if (!named || !is_expected(x, &p, n)) {
		while (n)
			close(file[--n]);
		return STATUS_OK;
	}
	memcpy(x->all + (size_t)p.rank * x->n + p.first, file, n * sizeof(int));
	x->missing -= n;
	return STATUS_OK;
}

/* ---- both */

static enum status exchange_descriptors(struct exchange *x)
{
	struct rt_job *job = x->job;
	struct rt_watch watch = {0};
	enum status status = open_socket(x);
	for (uint64_t left = 1; status == STATUS_OK && (left || x->missing);) {
		bool moved = false;
		left = 0;
		for (int k = 1; k < job->size && status == STATUS_OK; k++) {
			int rank = (job->rank + k) % job->size;
			if (x->sent[rank] < x->n)
				status = send_some(x, rank, &moved);
			left += x->n - x->sent[rank];
		}
		if (status == STATUS_OK && x->missing)
			status = receive_some(x, &moved);
		if (status == STATUS_OK)
			status = rt_job_status(job);
		if (moved || status != STATUS_OK || !(left || x->missing))
			continue;
		if (rt_watch_expired(&watch, job))
			status = rt_job_stuck(job, "the memory of another rank's GPU does not come");
		struct pollfd look = {.fd = x->socket, .events = POLLIN};
		poll(&look, 1, LOOK_MS);
	}
	return status;
}

enum status cuda_handles_exchange(struct rt_job *job, const int *own, uint32_t n, int *all)
{
	size_t ranks = (size_t)job->size;
	struct exchange x = {
	    .job = job, .socket = -1, .own = own, .n = n, .all = all, .missing = (uint64_t)(ranks - 1) * n};
	for (size_t k = 0; k < ranks * n; k++)
		all[k] = -1;
	x.peer = mem_zalloc(ranks * sizeof *x.peer);
	x.sent = mem_zalloc(ranks * sizeof *x.sent);
	x.sent[job->rank] = n;
	enum status status = exchange_descriptors(&x);
	for (size_t k = 0; k < ranks * n && status != STATUS_OK; k++) {
		if (all[k] >= 0)
			close(all[k]);
		all[k] = -1;
	}
	if (x.socket >= 0)
		close(x.socket);
	free(x.peer);
	free(x.sent);
	return status;
}
