#!/bin/sh
# Compares the calls that the simulator counts for each rank with those of the rank's plan, which counts.sh compares with a
# run.
#
#     issue.sh TRANSPORT PROGRAM [OPTION...]
#
# Prints the number of kernels, products and groups of NCCL, of copies, memory operations, and events, of each rank; ranks
# with the same numbers have one entry. Where sim and plan differ, prints both. The time of each call is a power of a
# thousand, so that the digits of their sum are the numbers. Then the most of any rank in a replayed graph, which has no
# events.
set -eu
transport=$1 program=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/cluster.json" <<END
{"version": 1, "name": "digits", "launch_ns": 1000000000, "copy_ns": 1000000, "memory_op_ns": 1000, "event_ns": 1,
 "graph_launch_ns": 1000000000, "graph_copy_ns": 1000000, "graph_memory_op_ns": 1000, "graph_ns": 1,
 "device": {"memory_bytes": 80000000000, "memory_bytes_per_s": 3000000000000, "flops_per_s": {"f32": 60000000000000, "bf16": 900000000000000}},
 "transport": "$transport", "links": [{"span": 8, "alpha_ns": 1000, "bytes_per_s": 400000000000}]}
END
# Prints the digits of each rank. A line of the JSON has a class: "ranks": [[0, 1], [3, 3]], …, "host_ns": 1002003
digits() {
	hirc sim "$program" --cluster="$folder/cluster.json" --transport="$transport" --json "$@" 2>"$folder/errors" |
		sed -nE 's/.*"ranks": \[\[(.*)\]\], .*"host_ns": ([0-9]+).*/\2 \1/p' | sed 's/\], \[/ /g; s/, /-/g' | awk '{
			for (k = 2; k <= NF; k++) {
				split($k, ends, "-")
				for (rank = ends[1]; rank <= ends[2]; rank++)
					printf "%d %d %d %d %d\n", rank, $1 / 1e9, $1 / 1e6 % 1000, $1 / 1000 % 1000, $1 % 1000
			} }' | sort -n | cut -d' ' -f2-
}
digits "$@" >"$folder/simulated"
rank=0
while [ $rank -lt "$(wc -l <"$folder/simulated")" ]; do
	hirc compile "$program" --target=cuda --transport="$transport" --dump-plan --rank=$rank "$@" >"$folder/plan"
	line=
	for call in 'cuLaunchKernel|cublasLtMatmul|ncclGroupEnd' cuMemcpyDtoDAsync \
		'cuStream(Wait|Write)Value32' 'cuEventRecord|cuStreamWaitEvent'; do
		line="$line $(grep -cE "^($call)( |\$)" "$folder/plan" || true)"
	done
	echo "${line# }" >>"$folder/planned"
	rank=$((rank + 1))
done
paste -d: "$folder/simulated" "$folder/planned" | awk -F: '{ print $1 == $2 ? $1 : $1 " (plan " $2 ")" }' >"$folder/both"
echo "$(basename "$program") $transport: $(uniq "$folder/both" | paste -sd, | sed 's/,/, /g'); graph $(digits --graph "$@" | sort -k1,1n -k2,2n -k3,3n | tail -1)"
