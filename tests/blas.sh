#!/bin/sh
# blas.sh HIRC: BLAS is loaded by the first product, and by nothing else; where a process may not map the memory that
# BLAS maps (ulimit -v), commands without a product work, and a product is an error.
set -u
hirc=$1
"$hirc" --version | grep -q 'features:.* blas' || { echo "skipped: this hirc was built without BLAS"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/product.hir" <<'END'
mesh m(x = 2)
program product on m {
  input A: f64[64@x, 64]
  input B: f64[64, 64]
  output C = matmul(A, B)
}
END
sed 's/x = 2/x = 3/; s/64@x, 64/96@x, 64/' "$scratch/product.hir" >"$scratch/three.hir"
cat >"$scratch/none.hir" <<'END'
mesh m(x = 2)
program none on m {
  input A: f64[64@x]
  output S = sum(A)
}
END
unset OPENBLAS_NUM_THREADS

fail() {
	echo "failed: $*"
	cat "$scratch/out"
	exit 1
}

# loads EXPECTED COMMAND…: the command ends with 0, and has loaded BLAS or not.
loads() {
	want=$1
	shift
	LD_DEBUG=files LD_DEBUG_OUTPUT="$scratch/debug" timeout 60 "$hirc" "$@" >"$scratch/out" 2>&1 || fail "hirc $*"
	found=no
	grep -qs 'file=lib[a-z]*blas[^ ]* .*generating link map' "$scratch"/debug.* && found=yes
	rm -f "$scratch"/debug.*
	[ $found = "$want" ] || fail "hirc $* loads BLAS: $found"
}

# limited KIB CODE COMMAND…: ends with this exit code.
limited() {
	limit=$1 want=$2
	shift 2
	(ulimit -v "$limit" && exec timeout -s KILL 60 "$hirc" "$@") >"$scratch/out" 2>&1
	code=$?
	[ $code = "$want" ] || fail "under ulimit -v $limit, hirc $* exits with $code"
}

loads no --version
loads no check "$scratch/product.hir"
loads no compile "$scratch/product.hir"
loads no sim "$scratch/product.hir"
loads no run --check "$scratch/none.hir"
loads yes run --check "$scratch/product.hir"

limited 130000 0 check "$scratch/product.hir"
limited 130000 0 run --check "$scratch/none.hir"
limited 130000 5 run --check "$scratch/product.hir"
grep -q 'a product needs BLAS: it maps 200 MiB, and the process has no room' "$scratch/out" || fail "no message"
# Each thread may take an arena of 64 MiB, as the threads happen to run.
limited 270000 0 run --check --bootstrap=thread "$scratch/none.hir"
limited 270000 5 run --check --bootstrap=thread "$scratch/product.hir"
# A rank that is a thread needs a buffer of its own for a product beside the others'.
for room in 460000 500000 540000 580000; do
	(ulimit -v $room && exec timeout -s KILL 60 "$hirc" run --check --bootstrap=thread "$scratch/three.hir") >"$scratch/out" 2>&1
	code=$?
	[ $code = 0 ] || [ $code = 5 ] || fail "under ulimit -v $room, three threads exit with $code"
done
limited 130000 0 doctor --no-launch
grep -q '^missing  blas  *no product of matrices can be computed: it maps 200 MiB' "$scratch/out" || fail "no finding"
# Room for one thread of BLAS, which is all that each of two ranks has.
limited 400000 0 run --check "$scratch/product.hir"
echo "ok: BLAS is loaded where it is needed"
