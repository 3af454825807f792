#!/bin/sh
# foreign_memory.sh HIRC LIBRARY: ranks of mpirun open each other's memory through /proc/PID. Where a number means another
# process, its files are not touched, and a message says why. LIBRARY is that of other_pid.c: rank 0 gives the number of
# a process that has its own file under every number. In the second run, each rank has process numbers of its own.
set -u
hirc=$1 library=$2
"$hirc" --version | grep -q 'features:.* mpi' && command -v mpirun >/dev/null || { echo "skipped: there is no MPI"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"; kill $holder 2>/dev/null' EXIT
cat >"$scratch/sum.hir" <<'END'
mesh m(x = 2)
program total on m {
  input A: f64[64@x]
  output S = sum(A)
}
END

fail() {
	echo "failed: $*"
	cat "$scratch/out"
	exit 1
}

# stops MESSAGE WORD…: mpirun with these words ends with an error, which has the message.
stops() {
	message=$1
	shift
	timeout 60 mpirun --mca btl self,tcp -np 2 "$@" >"$scratch/out" 2>&1 && fail "exit code 0"
	grep -q "hirc: rank 1: error: no shared memory for the start of all ranks: $message" "$scratch/out" || fail "no message"
}

head -c 8M /dev/zero >"$scratch/file"
cksum <"$scratch/file" >"$scratch/before"
python3 -c '
import os, sys, time
file = os.open(sys.argv[1], os.O_RDWR)
for number in range(3, 250):
    if number != file:
        os.dup2(file, number)
open(sys.argv[1] + ".held", "w").close()
time.sleep(120)' "$scratch/file" &
holder=$!
while ! [ -e "$scratch/file.held" ]; do sleep 0.05; done
stops '/proc shows another file than rank 0 of this host offers' sh -c "
	[ \$OMPI_COMM_WORLD_RANK = 0 ] && export OTHER_PID=$holder LD_PRELOAD=$library
	exec $hirc run --check --timeout=20 $scratch/sum.hir"
cksum <"$scratch/file" | cmp -s - "$scratch/before" || fail "the file of another process has changed"

if unshare --pid --fork --mount-proc true 2>/dev/null; then
	stops 'ranks of this host are in different PID name spaces, as those of containers are; start them in one' \
		unshare --pid --fork --mount-proc "$hirc" run --check --timeout=20 "$scratch/sum.hir"
fi
echo "ok: ranks open the offered memory alone"
