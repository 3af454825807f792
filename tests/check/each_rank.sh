#!/bin/sh
# each_rank.sh HIRC: a check of ranks that stand for others (classes.c) reports the same as a check of all ranks.
# Programs: the examples and the variations, on several numbers of ranks, and the same without one of their waits.
set -u
hirc=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 count=0

# same FILE OPTION...: messages, figures and exit codes.
same() {
	"$hirc" check "$@" >"$scratch/few" 2>&1
	echo "exit $?" >>"$scratch/few"
	"$hirc" check "$@" --each-rank >"$scratch/each" 2>&1
	echo "exit $?" >>"$scratch/each"
	count=$((count + 1))
	cmp -s "$scratch/few" "$scratch/each" && return
	failed=$((failed + 1))
	echo "failed: hirc check $*"
	diff "$scratch/each" "$scratch/few" | head -n 8
}

sizes="3 4 8" kinds="broadcast permute collective p2p p2p-put"
[ "${HIRC_FEW:-}" ] && sizes=4 kinds="permute p2p"
for np in $sizes; do
	for file in "$root"/examples/*.hir "$root"/tests/vary/programs/*.hir; do
		same "$file" --np=$np
	done
	for kind in $kinds; do
		for name in ag_matmul matmul_reduce_scatter column_parallel_ring; do
			same "$root/examples/$name.hir" --np=$np --pipeline=$kind
			same "$root/examples/$name.hir" --np=$np --pipeline=$kind -D t=13
		done
		"$hirc" compile "$root/examples/ag_matmul.hir" --np=$np --pipeline=$kind --dump=hir -D t=48 >"$scratch/all.hir"
		for line in $(grep -nE '^ *(wait|synchronize)\(' "$scratch/all.hir" | cut -d: -f1); do
			sed "${line}d" "$scratch/all.hir" >"$scratch/less.hir"
			same "$scratch/less.hir" --passes=
		done
	done
done
for file in "$root"/tests/run/*.hir "$root"/tests/compile/*.hir; do
	if grep -q '^program\|HostIrContainer' "$file"; then same "$file" --split-input-file; fi
done
echo "$((count - failed)) passed, $failed failed"
[ $failed = 0 ]
