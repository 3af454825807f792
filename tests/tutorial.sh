#!/bin/sh
# tutorial.sh HIRC: tests of the programs of examples/tutorial that the tutorial leaves out: their spelling, their
# proof, and their results on several numbers of ranks, with sizes that do not divide. Only
# 08_race must be refused; 11_torch is scheduled, not run.
set -u
hirc=$1
tutorial=$(cd "$(dirname "$0")/../examples/tutorial" && pwd)
failed=0

must() {
	"$@" >/dev/null 2>&1 && return
	failed=$((failed + 1))
	echo "failed: $*"
	"$@" 2>&1 | tail -n 5
}

run() {
	must "$hirc" run --bootstrap=thread --check "$@"
}

must "$hirc" fmt --check "$tutorial"/*.hir
for program in "$tutorial"/*.hir; do
	case $program in
	*/08_race.hir)
		if "$hirc" check "$program" >/dev/null 2>&1; then
			failed=$((failed + 1))
			echo "failed: check finds no race in 08_race.hir"
		fi
		continue
		;;
	*/11_*) must "$hirc" sim "$program" --effort=2 --cluster=h100 ;; # a recorded graph, which no rank runs
	*/01_*) run "$program" -D t=7 ;;
	*/09_*) run "$program" -D dp=3 -D tp=1 -D t=35 && run "$program" -D dp=1 -D tp=2 ;;
	*/10_*) run "$program" -D dp=1 -D tp=4 -D b=3 && run "$program" -D tp=1 ;;
	*) run "$program" --np=1 && run "$program" --np=3 -D t=35 ;;
	esac
	must "$hirc" check "$program"
done
[ "$failed" = 0 ]
