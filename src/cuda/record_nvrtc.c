/* record_nvrtc: calls of the compiler. A compiled image is the kernel's title: the first line of its source,
 * a comment with its computation. */
#include "cuda/record_calls.h"
#include <stdio.h>
#include <string.h>

static nvrtcResult record_nvrtcVersion(int *major, int *minor)
{
	*major = *minor = 0;
	return NVRTC_SUCCESS;
}

static const char *record_nvrtcGetErrorString(nvrtcResult r)
{
	return "";
}

static nvrtcResult record_nvrtcCreateProgram(nvrtcProgram *p, const char *source, const char *name,
                                             int headers, const char *const *header,
                                             const char *const *include)
{
	struct record_handle *h = record_handle_new(0);
	snprintf(h->title, sizeof h->title, "%.*s", (int)strcspn(source, "\n"), source);
	*p = (nvrtcProgram)h;
	return NVRTC_SUCCESS;
}

static nvrtcResult record_nvrtcDestroyProgram(nvrtcProgram *p)
{
	*p = NULL;
	return NVRTC_SUCCESS;
}

static nvrtcResult record_nvrtcCompileProgram(nvrtcProgram p, int options, const char *const *option)
{
	return NVRTC_SUCCESS;
}

static nvrtcResult record_nvrtcGetProgramLogSize(nvrtcProgram p, size_t *bytes)
{
	*bytes = 1;
	return NVRTC_SUCCESS;
}

static nvrtcResult record_nvrtcGetProgramLog(nvrtcProgram p, char *log)
{
	*log = '\0';
	return NVRTC_SUCCESS;
}

static nvrtcResult record_nvrtcGetCUBINSize(nvrtcProgram p, size_t *bytes)
{
	*bytes = RECORD_TITLE_BYTES;
	return NVRTC_SUCCESS;
}

static nvrtcResult record_nvrtcGetCUBIN(nvrtcProgram p, char *image)
{
	memcpy(image, ((struct record_handle *)p)->title, RECORD_TITLE_BYTES);
	return NVRTC_SUCCESS;
}

void record_nvrtc(struct cuda_api *api)
{
	CUDA_NVRTC_CALLS(RECORD_ENTRY)
}
