/* Memory of the mock driver that is mapped separately from its addresses: one memory at several addresses,
 * another process's memory beside one's own, and calls that are refused. LABELS: tsan */
#include "test_mock_ipc.h"
#include <sys/socket.h>

enum { UNIT = 2 << 20 };

static CUmemAllocationProp property(void)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	                             .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
	                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
}

static CUresult allow(CUdeviceptr at, size_t bytes)
{
	const CUmemAccessDesc d = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
	                           .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	return api.cuMemSetAccess(at, bytes, &d, 1);
}

static void begin(void)
{
	mock_begin();
	MOCK_OPEN("libcuda.so.1", CUDA_HEAP_CALLS);
}

static CUmemGenericAllocationHandle make(size_t bytes)
{
	CUmemGenericAllocationHandle h = 0;
	const CUmemAllocationProp p = property();
	size_t unit;
	CHECK_EQ(api.cuMemGetAllocationGranularity(&unit, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
	         CUDA_SUCCESS);
	CHECK_EQ(unit, UNIT);
	CHECK_EQ(api.cuMemCreate(&h, bytes, &p, 0), CUDA_SUCCESS);
	return h;
}

static CUdeviceptr reserve(size_t bytes)
{
	CUdeviceptr at = 0;
	CHECK_EQ(api.cuMemAddressReserve(&at, bytes, UNIT, 0, 0), CUDA_SUCCESS);
	CHECK_EQ(at % UNIT, 0);
	return at;
}

static void set(CUdeviceptr at, unsigned char value, size_t bytes, CUstream s)
{
	CHECK_EQ(api.cuMemsetD8Async(at, value, bytes, s), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
}

static int byte_of(CUdeviceptr at, CUstream s)
{
	unsigned char value;
	mock_read(&value, (const char *)at, 1, s);
	return value;
}

/* Maps two pieces in both orders; the handles are released while they are mapped. */
static void side_by_side(void)
{
	begin();
	CUstream s = mock_stream();
	CUmemGenericAllocationHandle h[2] = {make(UNIT), make(2 * UNIT)}, again;
	CUdeviceptr one = reserve(3 * UNIT), other = reserve(3 * UNIT);
	CHECK_EQ(api.cuMemMap(one, UNIT, 0, h[0], 0), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemMap(one + UNIT, 2 * UNIT, 0, h[1], 0), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemMap(other, 2 * UNIT, 0, h[1], 0), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemMap(other + 2 * UNIT, UNIT, 0, h[0], 0), CUDA_SUCCESS);
	CHECK_EQ(allow(one, 3 * UNIT), CUDA_SUCCESS);
	CHECK_EQ(allow(other, 3 * UNIT), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemRetainAllocationHandle(&again, (void *)(other + UNIT)), CUDA_SUCCESS);
	CHECK_EQ(again, h[1]);
	CHECK_EQ(api.cuMemRelease(h[0]), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemRelease(h[1]), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemRelease(again), CUDA_SUCCESS);
	set(one, 1, UNIT, s);
	set(one + UNIT, 2, 2 * UNIT, s);
	CHECK_EQ(byte_of(other + 2 * UNIT, s), 1);
	CHECK_EQ(byte_of(other + 2 * UNIT - 1, s), 2);
	CHECK_EQ(api.cuMemUnmap(one, UNIT), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemUnmap(one + UNIT, 2 * UNIT), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemAddressFree(one, 3 * UNIT), CUDA_SUCCESS);
	CHECK_EQ(byte_of(other, s), 2);
}

static void send_file(int to, int file)
{
	char data = 0, control[CMSG_SPACE(sizeof file)] = {0};
	struct iovec one = {&data, 1};
	struct msghdr m = {
	    .msg_iov = &one, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof file);
	memcpy(CMSG_DATA(c), &file, sizeof file);
	CHECK_EQ(sendmsg(to, &m, 0), 1);
}

static int receive_file(int from)
{
	int file = -1;
	char data, control[CMSG_SPACE(sizeof file)];
	struct iovec one = {&data, 1};
	struct msghdr m = {
	    .msg_iov = &one, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	CHECK_EQ(recvmsg(from, &m, 0), 1);
	memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof file);
	return file;
}

/* One process maps memory of another beside its own. */
static void shared(void)
{
	int pair[2], file;
	char go = 0;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	struct other o = other_begin();
	begin();
	CUstream s = mock_stream();
	CUmemGenericAllocationHandle own = make(UNIT), there;
	CUdeviceptr at = reserve(2 * UNIT);
	CHECK_EQ(api.cuMemMap(at, UNIT, 0, own, 0), CUDA_SUCCESS);
	if (o.process) {
		CHECK_EQ(allow(at, UNIT), CUDA_SUCCESS);
		set(at, 5, UNIT, s);
		CHECK_EQ(
		    api.cuMemExportToShareableHandle(&file, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
		    CUDA_SUCCESS);
		send_file(pair[0], file);
		close(file);
		other_receive(&o, &go, 1);
		CHECK_EQ(byte_of(at + UNIT - 1, s), 6);
	} else {
		file = receive_file(pair[1]);
		CHECK_EQ(api.cuMemImportFromShareableHandle(&there, (void *)(intptr_t)file,
		                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
		         CUDA_SUCCESS);
		close(file);
		CHECK_EQ(api.cuMemMap(at + UNIT, UNIT, 0, there, 0), CUDA_SUCCESS);
		CHECK_EQ(allow(at, 2 * UNIT), CUDA_SUCCESS);
		CHECK_EQ(byte_of(at + UNIT, s), 5);
		set(at, 6, 2 * UNIT, s);
		other_send(&o, &go, 1);
	}
	other_end(&o);
}

static void refused(void)
{
	const CUmemAllocationProp p = property();
	CUmemGenericAllocationHandle h, big;
	begin();
	CHECK_EQ(api.cuMemCreate(&h, UNIT / 2, &p, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(api.cuMemCreate(&h, 4 * UNIT, &p, 0), CUDA_ERROR_OUT_OF_MEMORY);
	h = make(UNIT);
	big = make(2 * UNIT);
	CUdeviceptr at = reserve(2 * UNIT);
	CHECK_EQ(api.cuMemMap(at, UNIT, 0, big, 0), CUDA_ERROR_INVALID_VALUE);    /* only a part of the
	                                                                             handle */
	CHECK_EQ(api.cuMemMap(at, UNIT, UNIT, big, 0), CUDA_ERROR_INVALID_VALUE); /* an offset */
	CHECK_EQ(api.cuMemMap(at + UNIT, 2 * UNIT, 0, big, 0), CUDA_ERROR_INVALID_VALUE); /* beyond */
	CHECK_EQ(api.cuMemMap(at, UNIT, 0, h, 0), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemMap(at, UNIT, 0, h, 0), CUDA_ERROR_INVALID_VALUE); /* mapped already */
	CHECK_EQ(allow(at, 2 * UNIT), CUDA_ERROR_INVALID_VALUE);             /* half of it is not mapped */
}

static void unmapped(void)
{
	begin();
	CUmemGenericAllocationHandle h = make(UNIT);
	CUdeviceptr at = reserve(UNIT);
	CHECK_EQ(api.cuMemMap(at, UNIT, 0, h, 0), CUDA_SUCCESS);
	api.cuMemsetD8Async(at, 0, UNIT, mock_stream()); /* access was not allowed */
}

static void still_mapped(void)
{
	begin();
	CUmemGenericAllocationHandle h = make(UNIT);
	CUdeviceptr at = reserve(UNIT);
	CHECK_EQ(api.cuMemMap(at, UNIT, 0, h, 0), CUDA_SUCCESS);
	api.cuMemAddressFree(at, UNIT);
}

int main(void)
{
	MOCK_CASE(side_by_side, "");
	MOCK_CASE(shared, "");
	MOCK_CASE(refused, "HIRC_MOCK_MEMORY=7340032");
	CHECK(mock_status(unmapped, "") < 0);
	CHECK(mock_status(still_mapped, "") < 0);
	return check_result();
}
