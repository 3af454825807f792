#!/bin/sh
# delays.sh HIRC: streams of the GPU that come late at random: what waits too little, or for the wrong thing, is seen.
set -u
hirc=$1 root=$(cd "$(dirname "$0")/../.." && pwd) failed=0
once() {
	timeout 60 "$@" >/dev/null 2>&1 && return
	failed=$((failed + 1))
	echo "failed: HIRC_MOCK_SEED=$HIRC_MOCK_SEED $*"
}
export HIRC_MOCK_DELAY_US=2000 HIRC_MOCK_SEED
for HIRC_MOCK_SEED in 1 2 3; do
	for options in "row_parallel_linear.hir -D t=12" "ag_matmul.hir --pipeline=p2p -D t=8" "pipeline_stages.hir -D t=8" \
		"moe_layer.hir -D t=8"; do
		# shellcheck disable=SC2086
		set -- $options
		program=$root/examples/$1
		shift
		ranks=--np=2
		test "${program##*/}" = pipeline_stages.hir && ranks=
		HIRC_MOCK_DEVICES=4 once "$hirc" run "$program" "$@" $ranks --target=cuda --transport=nccl --check --repeat=3
		once "$hirc" run "$program" "$@" $ranks --target=cuda --bootstrap=thread --check --repeat=3
	done
	for boot in thread fork; do
		once "$hirc" run "$root/tests/cuda/seen.txt" --target=cuda --bootstrap=$boot --check --repeat=2
		once "$hirc" run "$root/examples/zero_copy.hir" --target=cuda --bootstrap=$boot --zero-copy --check --repeat=3 -D t=9
		HIRC_MOCK_QUEUES=1 once "$hirc" run "$root/examples/ag_matmul.hir" --np=3 --target=cuda --bootstrap=$boot \
			--zero-copy --check -D t=7
	done
done
for HIRC_MOCK_SEED in 1 2 3 4 5 6 7 8 9 10; do
	for HIRC_MOCK_DELAY_US in 500 3000; do
		late=$root/tests/cuda/late.txt
		HIRC_MOCK_DEVICES=2 once "$hirc" run "$late" --np=2 --target=cuda --transport=nccl --check --repeat=2
		once "$hirc" run "$late" --np=2 --target=cuda --bootstrap=thread --check --repeat=2
	done
done
test $failed = 0
