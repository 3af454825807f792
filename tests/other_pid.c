/* other_pid: a library to be preloaded; the process gives OTHER_PID as its number. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

pid_t getpid(void)
{
	const char *other = getenv("OTHER_PID");
	return other ? (pid_t)atoi(other) : (pid_t)syscall(SYS_getpid);
}
