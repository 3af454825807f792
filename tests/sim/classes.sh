#!/bin/sh
# classes.sh HIRC [MAX]: every example, after the whole pipeline and after parts of it, on up to MAX ranks: ranks that
# behave alike give the same results whether they are simulated once or one by one. All figures, times and memory are
# compared.
hirc=$1 most=${2:-64}
root=$(cd "$(dirname "$0")/../.." && pwd)
at=$(mktemp -d) || exit 1
trap 'rm -rf "$at"' EXIT
bad=0 compared=0

# compare NAME ARGUMENT…
compare()
{
	case=$1
	shift
	if ! "$hirc" sim "$@" --json="$at/once" --trace="$at/once.trace" > /dev/null 2> "$at/error"; then
		"$hirc" check "$@" > /dev/null 2>&1 || return 0 # not a program on so many ranks
		sed -n 1p "$at/error"
		echo "$case: not simulated"
		bad=$((bad + 1))
		return
	fi
	"$hirc" sim "$@" --classes=no --json="$at/each" --trace="$at/each.trace" > /dev/null
	compared=$((compared + 1))
	if ! cmp -s "$at/once" "$at/each" || ! cmp -s "$at/once.trace" "$at/each.trace"; then
		echo "$case: differs"
		diff "$at/once" "$at/each" | head -n 4
		bad=$((bad + 1))
	fi
}

for example in "$root"/examples/*.hir; do
	name=$(basename "$example" .hir)
	np=1
	while [ $np -le "$most" ]; do
		compare "$name --np=$np" "$example" --np=$np --cluster=h100
		np=$((np * 8))
	done
	compare "$name" "$example"
	for pipeline in broadcast permute p2p p2p-put; do
		compare "$name --pipeline=$pipeline" "$example" --np=8 --pipeline=$pipeline
	done
	for pass in parse stream-loops lower-collectives allocate; do
		compare "$name --stop-after=$pass" "$example" --stop-after=$pass
	done
	compare "$name --zero-copy" "$example" --zero-copy
	compare "$name, contention" "$example" --np=16 --slow=5:1.25 --cluster="$root/tests/sim/contended.json"
	compare "$name --delay" "$example" --np=8 --pipeline=p2p --delay=0:5000 --cluster=h100
	compare "$name --slow" "$example" --np=16 --slow=3:1.5 --cluster=h100
done
echo "$compared compared, $bad bad"
[ $bad = 0 ]
