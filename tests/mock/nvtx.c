/* nvtx: a tool that NVTX finds through NVTX_INJECTION64_PATH. It writes the names of ranges to the log of the
 * mock. */
#include "mock.h"
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Names exist until the process ends. */
struct name {
	struct name *next;
	char text[];
};
static struct name *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *keep(const char *text)
{
	struct name *n = malloc(sizeof *n + strlen(text) + 1);
	if (!n)
		mock_abort("nvtx", "the host has no memory");
	strcpy(n->text, text);
	pthread_mutex_lock(&lock);
	n->next = all;
	all = n;
	pthread_mutex_unlock(&lock);
	return n->text;
}

static nvtxDomainHandle_t domain_new(const char *name)
{
	mock_log("nvtx domain %s", name);
	return keep(name);
}

static nvtxStringHandle_t string_new(nvtxDomainHandle_t domain, const char *text)
{
	(void)domain;
	return keep(text);
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
	(void)domain;
	if (a->version != NVTX_VERSION || a->size != NVTX_EVENT_ATTRIB_STRUCT_SIZE ||
	    a->messageType != NVTX_MESSAGE_TYPE_REGISTERED)
		mock_abort("nvtxDomainRangePushEx", "attributes of another form");
	mock_log("nvtx begin %s", (const char *)a->message.registered);
	return 0;
}

static int pop(nvtxDomainHandle_t domain)
{
	(void)domain;
	mock_log("nvtx end");
	return 0;
}

/* Puts the tool's function into a table, which has a place for each call. */
static void set(NvtxFunctionTable table, unsigned place, void (*function)(void))
{
	memcpy(table[place], &function, sizeof function);
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
	const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
	NvtxFunctionTable table;
	unsigned n;
	if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &n))
		return 0;
	set(table, NVTX_CBID_CORE2_DomainCreateA, (void (*)(void))domain_new);
	set(table, NVTX_CBID_CORE2_DomainRegisterStringA, (void (*)(void))string_new);
	set(table, NVTX_CBID_CORE2_DomainRangePushEx, (void (*)(void))push);
	set(table, NVTX_CBID_CORE2_DomainRangePop, (void (*)(void))pop);
	return 1;
}
