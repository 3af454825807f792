#!/bin/sh
# clean.sh HIRC: `hirc check` finds nothing in programs that run: the examples and the variations' programs
# under --strict, on several numbers of ranks and streams, and the tests of `hirc run` and of passes. HIRC_FEW=1:
# fewer of them, for slow builds.
set -u
hirc=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 count=0

# check EXIT-CODES FILE OPTION...: other exit codes fail.
check() {
	codes=$1
	shift
	"$hirc" check "$@" >"$scratch/out" 2>&1
	code=$?
	count=$((count + 1))
	case " $codes " in *" $code "*) return ;; esac
	failed=$((failed + 1))
	echo "failed ($code): hirc check $*"
	head -n 8 "$scratch/out"
}

sizes="1 2 3 4 8" lanes="0 1 3 4"
[ "${HIRC_FEW:-}" ] && sizes=3 lanes="0 3"
for np in $sizes; do
	for file in "$root"/examples/*.hir "$root"/tests/vary/programs/*.hir; do
		for streams in $lanes; do # 2: the program needs more ranks
			check "0 2" "$file" --np=$np --streams=$streams --strict
		done
	done
done
for s in 1 2 3 4 8; do
	check 0 "$root/examples/row_parallel_linear.hir" --strict -D s=$s -D t=13 -D h=3
done
for kind in broadcast permute collective p2p p2p-put; do
	for np in 1 2 3 8; do
		for name in ag_matmul matmul_reduce_scatter column_parallel_ring; do
			check 0 "$root/examples/$name.hir" --strict --np=$np --pipeline=$kind
			check 0 "$root/examples/$name.hir" --strict --np=$np --pipeline=$kind -D t=13 --inter-stream-sync
		done
	done
done
check 0 "$root/examples/ag_matmul.hir" --strict --np=4 --offset-streams --streams=2
for size in "2 2" "2 4" "4 2"; do
	for name in fsdp_mlp_backward transformer_layer; do
		check 0 "$root/examples/$name.hir" --strict -D dp="${size% *}" -D tp="${size#* }"
	done
done
# Tests with one program. Programs that cannot run are left out; the first line of the message has the reason.
for file in "$root"/tests/run/*.hir "$root"/tests/compile/*.hir; do
	case $(basename "$file") in
	exec_far_ahead.hir) check 1 "$file"; check 0 "$file" --queue=100000 ;; # streams hold so much
	exec_index.hir) check 1 "$file" ;;                      # it leaves its axis
	memory_unwritten.hir | exec_unwritten.hir | check_never_written.hir) check 1 "$file" ;; # on purpose
	bench_json_error.hir) check 1 "$file" ;;                # it names an axis that is none
	proof.hir | proof_mpi.hir) check 1 "$file" ;;          # they race, on purpose
	bench_proof.hir | deadlock_many.hir) check 1 "$file" ;;                     # its ranks wait for each other
	exec_wait_twice.hir) check 1 "$file" ;;                 # its second wait is wrong
	accumulate_steps.hir) check 1 "$file" ;;                # it sums a part in each step
	check_sets_of_other_layouts.hir) check 1 "$file" ;;    # its ranks meet in sets of other layouts
	memory_copies.hir | memory_copies_limit.hir) check 1 "$file" ;; # right only with copies of a buffer
	exec_no_value.hir | nvfuser_old_forms.hir | check_chunk_of_operand.hir) check 1 "$file" ;; # params without a value
	index_expressions.hir) check 1 "$file" ;;               # so has an index on one rank
	exec_gather_order.hir | pending_other.hir) check 1 "$file" ;; # hirc run refuses it
	exec_pending_elsewhere.hir) check 1 "$file" --passes= ;; # likewise
	collectives.hir | gate.hir) check 1 "$file" ;;          # likewise
	tensor_named_as_axis.hir) check 0 "$file" --np=2 ;;     # it names device 1
	*) if grep -q '^program\|HostIrContainer' "$file" && ! grep -q '^# -----' "$file"; then check 0 "$file"; fi ;;
	esac
done
for file in row_parallel_linear_new_forms row_parallel_linear_old_forms; do
	check 0 "$root/tests/dumps/$file.hostir" -D i0=7 --strict
done
echo "$((count - failed)) passed, $failed failed"
[ $failed = 0 ]
