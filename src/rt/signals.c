/* signals: see signals.h. The handlers call only functions that are allowed in handlers: rt_report.h,
 * kill, sigaction. */
#include "rt/signals.h"
#include "rt/rt_report.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STACK_BYTES = 256 << 10 /* stack of a handler, since the normal stack may be full */ };

/* Crashes, then the signals that tell a process to end. */
static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGTERM, SIGINT, SIGHUP};

enum { CRASHES = 4, CAUGHT = sizeof caught / sizeof *caught };

/* The data of the handlers, which have no other argument. */
static struct {
	struct rt_board *_Atomic board; /* NULL: print nothing */
	int rank;
	struct sigaction before[CAUGHT];
	void *stack;
} state;

static int place_of(int signal)
{
	int k = 0;
	while (caught[k] != signal)
		k++;
	return k;
}

static void report_signal(int signal)
{
	struct rt_board *b = atomic_load(&state.board);
	char text[128] = "";
	struct rt_text t = {.file = -1};
	const char *name = sigdescr_np(signal);
	if (!b)
		return;
	rt_text_puts(&t, "ended by signal ");
	rt_text_int(&t, signal);
	rt_text_puts(&t, " (");
	rt_text_puts(&t, name ? name : "?");
	rt_text_puts(&t, ")");
	memcpy(text, t.at, t.n < sizeof text ? t.n : sizeof text - 1);
	rt_report(b, state.rank, text, STATUS_INTERNAL);
}

static void handle_signal(int signal)
{
	report_signal(signal);
	sigaction(signal, &state.before[place_of(signal)], NULL);
	raise(signal); /* takes effect when the handler returns */
}

static void forward_signal(int signal)
{
	const struct rt_board *b = atomic_load(&state.board);
	if (b)
		kill(atomic_load_explicit(&b->launcher, memory_order_relaxed), signal);
}

static bool is_heard(int signal)
{
	struct sigaction now;
	return sigaction(signal, NULL, &now) == 0 && now.sa_handler != SIG_IGN;
}

void rt_signals_add_ends(sigset_t *out)
{
	for (int k = CRASHES; k < CAUGHT; k++)
		if (is_heard(caught[k]))
			sigaddset(out, caught[k]);
}

int rt_signals_find_end(const sigset_t *set)
{
	for (int k = CRASHES; k < CAUGHT; k++)
		if (sigismember(set, caught[k]))
			return caught[k];
	return 0;
}

/* Returns true if a signal has a handler already: a sanitizer tells more about a crash than the default. */
static bool is_taken(int signal)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	struct sigaction now;
	return sigaction(signal, NULL, &now) != 0 || now.sa_handler != SIG_DFL;
#else
	(void)signal;
	return false;
#endif
}

void rt_signals_begin(struct rt_board *b, int rank)
{
	struct sigaction a = {.sa_handler = handle_signal, .sa_flags = SA_ONSTACK};
	stack_t now;
	state.rank = rank;
	atomic_store(&state.board, b);
	if (!state.stack && sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_DISABLE) {
		void *at =
		    mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at != MAP_FAILED &&
		    sigaltstack(&(stack_t){.ss_sp = at, .ss_size = STACK_BYTES}, NULL) == 0)
			state.stack = at;
	}
	for (int k = 0; k < CRASHES; k++)
		if (!is_taken(caught[k]))
			sigaction(caught[k], &a, &state.before[k]);
	for (int k = CRASHES; k < CAUGHT; k++)
		if (is_heard(caught[k]))
			sigaction(caught[k], &a, &state.before[k]);
}

static void put_back(int signal)
{
	struct sigaction now;
	if (sigaction(signal, NULL, &now) == 0 && now.sa_handler == handle_signal)
		sigaction(signal, &state.before[place_of(signal)], NULL);
}

void rt_signals_end(void)
{
	atomic_store(&state.board, NULL);
	for (int k = 0; k < CAUGHT; k++)
		put_back(caught[k]);
	if (state.stack) {
		sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
		munmap(state.stack, STACK_BYTES);
		state.stack = NULL;
	}
}

void rt_signals_forward(struct rt_board *b)
{
	const struct sigaction a = {.sa_handler = forward_signal, .sa_flags = SA_RESTART};
	atomic_store(&state.board, b);
	for (int k = CRASHES; k < CAUGHT; k++)
		if (is_heard(caught[k]))
			sigaction(caught[k], &a, &state.before[k]);
}
