#!/bin/sh
# kill.sh HIRC: a rank that is killed or crashes ends the job within a second, or two under mpirun,
# with one table of the statement of each rank and of the waits between ranks; no process and no shared memory is left.
# The same holds if hirc itself or mpirun is killed, asked to end or interrupted. A rank that is stopped is named.
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

# slow WHAT: notes that the machine was too busy for a test of time; `try` repeats the test.
slow() {
	echo "slow: $*"
	pkill -9 -f "$scratch/stuck.hir"
	exit 3
}

# try SCENARIO…: a function, three times at most where it was slow.
try() {
	for attempt in 1 2 3; do
		("$@")
		got=$?
		[ $got = 3 ] || break
		sleep 2
	done
	[ $got = 0 ] || exit 1
}

# table FIRST: it was printed once, under a line with FIRST, with all ranks, idle ones too.
table() {
	[ "$(grep -c '^hirc: .*error' "$scratch/out")" = 1 ] || fail "there is more than one report, or none"
	grep -q "$1" "$scratch/out" || fail "no line says: $1"
	for rank in 0 1 3; do
		grep -q "^rank $rank: waiting for the end of the run" "$scratch/out" || fail "rank $rank is not named"
	done
	grep -q '^rank 2 main: waiting in  wait(never)  (.*stuck.hir:7)  for  recv.*stuck.hir:6)' "$scratch/out" || {
		[ $attempt -lt 3 ] && slow "rank 2 was not yet in its receive"
		fail "the table does not say where rank 2 stood"
	}
	grep -q '^ranks 0 1 3 wait for rank 2$' "$scratch/out" || fail "the table does not say who waits for rank 2"
	grep -q '^rank 2 waits for rank 1$' "$scratch/out" || fail "the table does not say for whom rank 2 waits"
}

# start: runs the job in the background and waits until rank 2 stands in its receive; the ranks are
# the children of $job, in order.
start() {
	env --default-signal=INT,HUP "$hirc" run --no-check --np=4 "$@" "$scratch/stuck.hir" >"$scratch/out" 2>&1 &
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

rank_2() {
	echo $ranks | cut -d' ' -f3
}

# ended_within SECONDS: the job's exit code in $code. A job that ends later has been slow; one that does not end at all
# is wrong.
ended_within() {
	started=$(date +%s%N)
	while kill -0 $job 2>/dev/null; do
		[ "$(date +%s%N)" -lt $((started + ($1 + 10) * 1000000000)) ] || fail "the job did not end"
		sleep 0.02
	done
	if [ "$(date +%s%N)" -gt $((started + $1 * 1000000000)) ]; then
		[ $attempt -lt 3 ] && slow "the job went on for more than $1 s"
		fail "the job went on for more than $1 s"
	fi
	wait $job
	code=$?
	[ -z "$(pgrep -f "$scratch/stuck.hir")" ] || fail "processes stayed behind"
	[ "$(shared_memory)" = "$shm_before" ] || fail "shared memory stayed behind in /dev/shm"
}

killed_rank() {
	start
	kill -9 "$(rank_2)"
	ended_within 1
	[ $code = 70 ] || fail "exit code $code after a rank was killed"
	table 'rank 2 was killed by signal 9'
	grep -q '^rank 2: dead' "$scratch/out" || fail "rank 2 is not said to be dead"
}

killed_launcher() {
	start
	kill -9 $job
	ended_within 1
}

ended_launcher() {
	start
	kill -$1 $job
	ended_within 1
	[ $code -gt 128 ] || fail "exit code $code after SIG$1"
	table 'ended by signal'
}

stopped_rank() {
	start --timeout=2
	kill -STOP "$(rank_2)"
	ended_within 4
	[ $code = 4 ] || fail "exit code $code after a rank was stopped"
	table 'for rank 2 to come to: the end of the run'
	grep -q '^rank 2: stopped' "$scratch/out" || fail "rank 2 is not said to be stopped"
}

# Ranks that are threads: one process, which tells of itself. A sanitizer tells of crashes otherwise.
ended_threads() {
	env --default-signal=INT,HUP "$hirc" run --no-check --np=4 --bootstrap=thread "$scratch/stuck.hir" >"$scratch/out" 2>&1 &
	job=$!
	sleep 1
	kill -$1 $job
	ended_within 1
	[ $code != 0 ] || fail "exit code 0 after SIG$1"
	grep -q 'Sanitizer' "$scratch/out" || table 'ended by signal'
}

# start_mpi TRANSPORT: under mpirun, whose children the ranks are.
start_mpi() {
	mpirun -np 4 "$hirc" run --no-check --transport=$1 --timeout=${2:-60} "$scratch/stuck.hir" >"$scratch/out" 2>&1 &
	job=$!
	for i in $(seq 400); do
		ranks=$(pgrep -P $job -f "$scratch/stuck.hir" | sort -n)
		[ "$(echo "$ranks" | wc -w)" = 4 ] && all_share_memory && break
		sleep 0.05
	done
	sleep 1
}

# They are past MPI_Init, before whose end mpirun gives the others a second to follow.
all_share_memory() {
	for rank in $ranks; do
		grep -q memfd:hirc "/proc/$rank/maps" || return 1
	done
}

# killed_rank_mpi TRANSPORT (first|later): mpirun notices the death at once, or later than the ranks, as it is stopped for
# a while. The exit code is the same.
killed_rank_mpi() {
	start_mpi $1
	[ $2 = first ] || kill -STOP $job
	kill -9 "$(rank_2)"
	[ $2 = first ] || { sleep 0.3 && kill -CONT $job; }
	ended_within 2 # mpirun gives the others a second
	[ $code = 137 ] || fail "exit code $code after a rank of mpirun was killed"
	table 'the process of rank 2 has died'
}

crashed_rank_mpi() {
	start_mpi shm
	kill -SEGV "$(rank_2)"
	ended_within 2
	grep -q 'Sanitizer' "$scratch/out" && return
	[ $code = 139 ] || fail "exit code $code after a rank of mpirun crashed"
	table 'rank 2: error: ended by signal 11'
}

ended_mpirun() {
	start_mpi shm
	kill -TERM $job # it gives its ranks a second
	ended_within 5
	table 'ended by signal 15'
}

stopped_rank_mpi() {
	start_mpi shm 2
	kill -STOP "$(rank_2)"
	ended_within 6
	table 'waited 2.0 s for the other ranks to come to: the end of the run'
	grep -q '^rank 2: stopped' "$scratch/out" || fail "rank 2 of mpirun is not said to be stopped"
}

try killed_rank
try killed_launcher
try ended_launcher TERM
try ended_launcher INT
try ended_launcher HUP
try stopped_rank
try ended_threads SEGV
try ended_threads TERM
try ended_threads HUP
if "$hirc" --version | grep -q 'features:.* mpi' && command -v mpirun >/dev/null; then
	for transport in shm mpi; do
		try killed_rank_mpi $transport first
		try killed_rank_mpi $transport later
	done
	try crashed_rank_mpi
	try ended_mpirun
	try stopped_rank_mpi
fi
echo "ok: killed ranks and launchers leave nothing behind"
