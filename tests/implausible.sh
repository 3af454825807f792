#!/bin/sh
# implausible.sh HIRC LIBRARY: figures that no machine has are measured again, and then refused; a machine whose cores
# other programs have is said to be loaded. LIBRARY is that of clock.c. Ranks share a core, so that they do not wait for
# a moment of the slow clock.
hirc=$1 library=$2
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
command -v taskset >/dev/null || { echo "skipped: no taskset"; exit 77; }
core=$(awk '/^Cpus_allowed_list/ { split($2, a, /[-,]/); print a[1] }' /proc/self/status)
bench() { taskset -c "$core" "$hirc" bench --collectives --quick -e 64 --np=2 -o "$1" >out 2>err; }

fail() {
	echo "$*"
	cat out err
	exit 1
}

echo old >file
CLOCK_SLOW=1000 LD_PRELOAD=$library bench file && fail "figures of a slow clock were written"
grep -q '^hirc bench: error: [0-9]* figures are impossible, the first is .* at [0-9.e+]* .*: no file is written$' err ||
	fail "no error"
grep -qx 'note: measure again when no other programs run' err || fail "no note"
test "$(cat file)" = old || fail "a file was written"

bench file || fail "not measured"
grep -qx 'hirc bench: note: the machine is loaded: a rank gets [0-9]* % of a core, times come out too long' err ||
	fail "two ranks on one core are no load"
