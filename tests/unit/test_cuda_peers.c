/* LABELS: tsan
 * The transport between ranks that are threads and share a GPU. */
#include "test_cuda_transport.h"

int main(void)
{
	static const int sizes[] = {1, 2, 4};
	struct named peers = {"peers", "peers"}, any = {"auto", "peers"}, other = {"shm", ""};
	struct captured c;
	setenv("HIRC_MOCK_DELAY_US", "30", 0);
	if (TEST_FORK) {
		launch_captured(RT_BOOT_FORK, 2, 5000, named, &peers, &c);
		CHECK_EQ(c.status, STATUS_ABSENT);
		CHECK(has(c.text,
		          "transport peers needs ranks that are threads of one process and share a GPU"));
	}
	CHECK_EQ(launch(RT_BOOT_THREAD, CHAIN_RANKS, 30000, chain_main, "peers"), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_THREAD, KINDS_RANKS, 30000, kinds_main, "peers"), STATUS_OK);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		CHECK_EQ(launch(RT_BOOT_THREAD, sizes[i], 30000, cuda_transport_main, "peers"), STATUS_OK);
	disagreement_suite(RT_BOOT_THREAD, staged_open, "peers", "(a block of 12 bytes)");
	uneven_suite(RT_BOOT_THREAD, "peers");
	CHECK_EQ(launch(RT_BOOT_THREAD, 2, 5000, crossed, "peers"), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_THREAD, 3, 5000, one_fails, "peers"), STATUS_WRONG);
	CHECK_EQ(launch(RT_BOOT_THREAD, 2, 5000, named, &any), STATUS_OK);
	launch_captured(RT_BOOT_THREAD, 2, 5000, named, &other, &c);
	CHECK_EQ(c.status, STATUS_ABSENT);
	CHECK(has(c.text, "the device cuda has no transport 'shm': it has nccl, peers and cuda-ipc\n"));
	return check_result();
}
