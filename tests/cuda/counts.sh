#!/bin/sh
# Compares the calls that `hirc compile --dump-plan` shows for all ranks with those that a run makes on the mock.
#
#     counts.sh TRANSPORT RANKS PROGRAM [OPTION...]
#
# Prints the number of each kind: kernels, products, copies, events, waits for events, waits for words, writes of words,
# calls of NCCL; and the nodes of each graph that a second run replays. A graph has no nodes for events. With cuda-ipc it has
# one more, and three for each other rank with which it exchanges signals. The first messages of NCCL are not in a graph.
set -eu
transport=$1 ranks=$2 program=$3
shift 3
export HIRC_MOCK_SHARED_GPU=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
rank=0
while [ $rank -lt "$ranks" ]; do
	hirc compile "$program" --target=cuda --transport="$transport" --dump-plan --rank=$rank "$@" >>"$folder/plan"
	rank=$((rank + 1))
done
HIRC_MOCK_LOG=$folder/log hirc run "$program" --np="$ranks" --target=cuda --transport="$transport" --no-check "$@" >"$folder/out"
counts=
for call in cuLaunchKernel cublasLtMatmul cuMemcpyDtoDAsync cuEventRecord cuStreamWaitEvent cuStreamWaitValue32 \
	cuStreamWriteValue32 'nccl(All|Reduce|Broadcast|Send|Recv)[A-Za-z]*'; do
	planned=$(grep -cE "^$call " "$folder/plan" || true)
	made=$(grep -cE "^$call( |\$)" "$folder/log" || true)
	test "$planned" = "$made" || echo "$call: $planned in the plans, $made in the run"
	counts="$counts $planned"
done
HIRC_MOCK_LOG=$folder/replayed hirc run "$program" --np="$ranks" --target=cuda --transport="$transport" --no-check --repeat=2 \
	"$@" >"$folder/out"
nodes=$(sed -n 's/^cuGraphInstantiate.* nodes//p' "$folder/replayed" | sort -n | tr -d '\n')
echo "$(basename "$program") $transport:$counts; nodes$nodes"
