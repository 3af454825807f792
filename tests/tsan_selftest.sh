#!/bin/sh
# tsan_selftest.sh COMPILER SOURCE_ROOT GENERATED: tests that ThreadSanitizer finds the errors that the tsan preset relies on.
#
# Builds the runtime with one release store made relaxed (HIRC_TSAN_SELFTEST) and runs the transport's
# test with ranks as threads: a build without a report would mean that a clean tsan run proves nothing.
set -u
compiler=$1 root=$2 generated=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'int main(void) { return 0; }' >"$scratch/probe.c"
if ! "$compiler" -fsanitize=thread "$scratch/probe.c" -o "$scratch/probe" 2>/dev/null; then
	echo "skipped: $compiler has no ThreadSanitizer"
	exit 77
fi
for define in "" -DHIRC_TSAN_SELFTEST; do
	"$compiler" -std=c17 -D_GNU_SOURCE -g -O1 -fsanitize=thread $define -I"$root/src" -I"$generated" -I"$root/tests/unit" \
		"$root"/src/base/*.c "$root"/src/rt/*.c "$root/tests/unit/test_rt_transport.c" \
		-o "$scratch/test$define" -lm -pthread || exit 1
done
run="setarch -R"
command -v setarch >/dev/null || run=
export TSAN_OPTIONS="halt_on_error=1:exitcode=66"
if ! $run "$scratch/test" >"$scratch/clean" 2>&1; then
	echo "failed: the unchanged runtime is not clean"
	tail -n 20 "$scratch/clean"
	exit 1
fi
if $run "$scratch/test-DHIRC_TSAN_SELFTEST" >"$scratch/racy" 2>&1 || ! grep -q 'ThreadSanitizer: data race' "$scratch/racy"; then
	echo "failed: a relaxed store in place of a release store was not reported"
	tail -n 20 "$scratch/racy"
	exit 1
fi
echo "ok: the relaxed store is reported"
