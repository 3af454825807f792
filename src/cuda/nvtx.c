/* nvtx: ranges of the host's work, for profiling tools. NVTX is a header that looks for a tool, by the
 * environment, at its first call. Without a tool each of its calls only tests a pointer. */
#include "base/arena.h"
#include "cuda/open.h"
#include <stdlib.h>
#ifdef HIRC_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

struct cuda_ranges {
	nvtxDomainHandle_t domain;
};

/* Returns true if the variable is set in which tools name themselves when they start a program. */
static bool has_tool(void)
{
	const char *tool = getenv("NVTX_INJECTION64_PATH");
	return tool && *tool;
}

enum status cuda_ranges_open(struct rt_job *job, bool wanted, struct cuda_ranges **out)
{
	(void)job;
	*out = NULL;
	if (!wanted && !has_tool())
		return STATUS_OK;
	*out = mem_zalloc(sizeof **out);
	(*out)->domain = nvtxDomainCreateA("hirc");
	return STATUS_OK;
}

void *cuda_range_name(struct cuda_ranges *r, const char *text)
{
	return nvtxDomainRegisterStringA(r->domain, text);
}

void cuda_range_begin(struct cuda_ranges *r, void *name)
{
	nvtxEventAttributes_t a = {.version = NVTX_VERSION,
	                           .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
	                           .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
	                           .message.registered = name};
	nvtxDomainRangePushEx(r->domain, &a);
}

void cuda_range_end(struct cuda_ranges *r)
{
	nvtxDomainRangePop(r->domain);
}

/* The domain is not destroyed, since other ranks of the process may have it. */
void cuda_ranges_close(struct cuda_ranges *r)
{
	free(r);
}

#else

enum status cuda_ranges_open(struct rt_job *job, bool wanted, struct cuda_ranges **out)
{
	*out = NULL;
	if (!wanted)
		return STATUS_OK;
	rt_job_error(job, "--nvtx needs a hirc that was built with NVTX's headers (nvtx3/nvToolsExt.h)");
	return rt_job_fail(job, STATUS_ABSENT);
}

void *cuda_range_name(struct cuda_ranges *r, const char *text)
{
	(void)r, (void)text;
	return NULL;
}

void cuda_range_begin(struct cuda_ranges *r, void *name)
{
	(void)r, (void)name;
}

void cuda_range_end(struct cuda_ranges *r)
{
	(void)r;
}

void cuda_ranges_close(struct cuda_ranges *r)
{
	(void)r;
}
#endif
