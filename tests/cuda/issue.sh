#!/bin/sh
# Compares the calls that the cost model counts for the rank that makes most of them with those of each rank's plan, which
# counts.sh compares with a run.
#
#     issue.sh TRANSPORT RANKS PROGRAM [OPTION...]
#
# Prints the number of kernels, products and groups of NCCL, of copies, memory operations, and events: as sim counts them,
# and in the plans; the most of any rank. A time of each call is 12 times a power of a thousand, so that the digits of their
# sum, divided by 12, are the numbers, also where the model takes the average of 2, 3 or 4 iterations. Then the same of a
# replayed graph, which has no events.
set -eu
transport=$1 ranks=$2 program=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/cluster.json" <<END
{"version": 1, "name": "digits", "launch_ns": 12000000000, "copy_ns": 12000000, "memory_op_ns": 12000, "event_ns": 12,
 "graph_launch_ns": 12000000000, "graph_copy_ns": 12000000, "graph_memory_op_ns": 12000, "graph_ns": 12,
 "device": {"memory_bytes": 80000000000, "memory_bytes_per_s": 3000000000000, "flops_per_s": {"f32": 60000000000000, "bf16": 900000000000000}},
 "transport": "$transport", "links": [{"span": 8, "alpha_ns": 1000, "bytes_per_s": 400000000000}]}
END
digits() {
	hirc sim "$program" --cluster="$folder/cluster.json" --transport="$transport" --json "$@" 2>"$folder/errors" |
		sed -n 's/.*"host_ns": \([0-9]*\).*/\1/p' | sort -n | tail -1 |
		awk '{ $1 /= 12; printf "%d %d %d %d", $1 / 1e9, $1 / 1e6 % 1000, $1 / 1000 % 1000, $1 % 1000 }'
}
rank=0
while [ $rank -lt "$ranks" ]; do
	hirc compile "$program" --target=cuda --transport="$transport" --dump-plan --rank=$rank "$@" >"$folder/plan"
	line=
	for call in 'cuLaunchKernel|cublasLtMatmul|ncclGroupEnd' cuMemcpyDtoDAsync \
		'cuStream(Wait|Write)Value32' 'cuEventRecord|cuStreamWaitEvent'; do
		line="$line $(grep -cE "^($call)( |\$)" "$folder/plan" || true)"
	done
	echo "$line" >>"$folder/lines"
	rank=$((rank + 1))
done
most=$(awk '{ for (k = 1; k <= 4; k++) if ($k > n[k]) n[k] = $k } END { print n[1] + 0, n[2] + 0, n[3] + 0, n[4] + 0 }' "$folder/lines")
echo "$(basename "$program") $transport: $(digits "$@"); plans $most; graph $(digits --graph "$@")"
