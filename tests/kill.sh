#!/bin/sh
# kill.sh HIRC: a rank that is killed ends the job within a second, with its number and the line it
# stood at; no process and no shared memory stays behind. Then the same for hirc itself, killed and asked to end, and
# for a rank of mpirun, which tells of it.
set -u
hirc=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/stuck.hir" <<'END'
mesh m(x = 4)
program stuck on m {
  input X: f32[8]
  output Y: f32[8] = allocate(zero_init=true)
  if rank == 2 {
    recv(Y, peer=1) as never
    wait(never)
  }
}
END
# Open MPI keeps files of its own jobs there; ours would be new ones of any other name.
shared_memory() {
	ls /dev/shm 2>/dev/null | grep -v -e vader_segment -e ompi -e sm_segment
}
shm_before=$(shared_memory)

fail() {
	echo "failed: $*"
	cat "$scratch/out"
	pkill -9 -f "$scratch/stuck.hir"
	exit 1
}

# start: runs the job in the background and waits until rank 2 stands in its receive; the ranks are
# the children of $job, in order.
start() {
	"$hirc" run --np=4 --timeout=60 "$scratch/stuck.hir" >"$scratch/out" 2>&1 &
	job=$!
	ranks=
	for i in $(seq 100); do
		ranks=$(pgrep -P $job | sort -n | head -n 4)
		[ "$(echo "$ranks" | wc -w)" = 4 ] && break
		sleep 0.05
	done
	[ "$(echo "$ranks" | wc -w)" = 4 ] || fail "the ranks did not start"
	sleep 0.5
}

# ended_within SECONDS: the job's exit code in $code.
ended_within() {
	limit=$(($(date +%s%N) + $1 * 1000000000))
	while kill -0 $job 2>/dev/null; do
		[ "$(date +%s%N)" -lt $limit ] || fail "the job went on for more than $1 s"
		sleep 0.02
	done
	wait $job
	code=$?
	[ -z "$(pgrep -f "$scratch/stuck.hir")" ] || fail "processes stayed behind"
	[ "$(shared_memory)" = "$shm_before" ] || fail "shared memory stayed behind in /dev/shm"
}

start
kill -9 "$(echo $ranks | cut -d' ' -f3)"
ended_within 1
[ $code != 0 ] || fail "exit code 0 after a rank was killed"
grep -q 'rank 2' "$scratch/out" || fail "the message does not name the rank"
grep -q 'stuck.hir:[67]' "$scratch/out" || fail "the message does not name the line"

start
kill -9 $job
ended_within 1

start
kill -TERM $job
ended_within 1
[ $code != 0 ] || fail "exit code 0 after SIGTERM"
# Under mpirun ranks are its children; it looks after the dead once a second.
if "$hirc" --version | grep -q 'features:.* mpi' && command -v mpirun >/dev/null; then
	for transport in shm mpi; do
		mpirun -np 4 "$hirc" run --transport=$transport --timeout=60 "$scratch/stuck.hir" >"$scratch/out" 2>&1 &
		job=$!
		for i in $(seq 100); do
			ranks=$(pgrep -P $job -f "$scratch/stuck.hir" | sort -n)
			[ "$(echo "$ranks" | wc -w)" = 4 ] && break
			sleep 0.05
		done
		sleep 1
		kill -9 "$(echo $ranks | cut -d' ' -f3)"
		ended_within 10
		[ $code != 0 ] || fail "exit code 0 after a rank of mpirun was killed"
		grep -q 'signal 9' "$scratch/out" || fail "mpirun does not say that a rank was killed"
	done
fi
echo "ok: killed ranks and launchers leave nothing behind"
