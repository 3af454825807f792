/* peers_graph: one graph for the runs of all ranks that are threads and share a GPU.
 *
 *     begin   rank 0 begins the capture; the others' streams wait for its event, and so are part of it
 *     end     rank 0 waits for the streams of all ranks, and ends the capture
 *     replay  rank 0 launches the graph; the others' streams wait for its end
 *
 * What a rank gives to the GPU for another one is in the same graph, so nothing has to be matched again when it
 * is replayed. The ranks meet when the graph is made. At a replay rank 0 waits until the others have called it, and they
 * wait until rank 0 has launched it. */
#ifndef HIRC_CUDA_PEERS_GRAPH_H
#define HIRC_CUDA_PEERS_GRAPH_H
#include "cuda/cuda.h"

struct peers_graph; /* of all ranks */
struct peers_graph *peers_graph_new(int ranks);
void peers_graph_free(struct peers_graph *g); /* after all ranks have closed what they made with it */

/* The rank's part. */
struct peers_graph_rank {
	struct peers_graph *all;
	uint64_t met; /* number of times it has met the others */
	uint64_t replays;
};

/* Collective. After begin, work of the stream is captured, with that of streams that wait for it. Before end, the
 * stream has to wait for all of them. *graph is not NULL, the same for all ranks. */
enum status peers_graph_begin(struct cuda *c, struct peers_graph_rank *r, CUstream stream);
enum status peers_graph_end(struct cuda *c, struct peers_graph_rank *r, CUstream stream, void **graph);
/* Collective: the work of no rank begins before all have called it. */
enum status peers_graph_replay(struct cuda *c, struct peers_graph_rank *r, CUstream stream, void *graph);
/* Ends a capture after a failure. Prints nothing. Until it returns, streams may be part of the capture, and must
 * not be destroyed. */
void peers_graph_drop(struct cuda *c, struct peers_graph_rank *r, CUstream stream);
/* Ends the use of a graph. Each rank calls it, when its streams are idle. */
void peers_graph_end_use(struct cuda *c, void *graph);

#endif
