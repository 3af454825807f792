#!/bin/bash
# many_hosts.sh HIRC N: N hosts, each a network name space with a name, /dev/shm and address of its own, joined by a
# bridge at 1 Gbit/s. mpirun starts four ranks on them from one more such host: programs that use every path of
# data give right numbers. If a link goes down during a run, the job ends within seconds with an exit code other than 0,
# and no rank or daemon is left on any host. On 2 hosts the ranks' own time limit ends the job, each rank names itself
# and its host, and the system soon gives up sending data of mpirun to the host that is cut off. On 4 hosts mpirun,
# which tests idle connections, is first, and names that host.
# The test has its own process name space: however it ends, its processes and hosts end with it.
set -u
hirc=$(realpath "$1") hosts=$2
root=$(dirname "$(dirname "$(realpath "$0")")")

skip() {
	echo "skipped: $*"
	exit 77
}

fail() {
	echo "failed: $*"
	[ -f "$scratch/out" ] && cat "$scratch/out"
	exit 1
}

scratch=/mnt # memory that only the test sees
if [ "${3:-}" != inside ]; then
	"$hirc" --version | grep -q 'features:.* mpi' || skip "built without MPI"
	for tool in mpirun ip tc unshare nsenter setpriv; do
		command -v $tool >/dev/null || skip "there is no $tool"
	done
	apart="unshare --net --uts --pid --mount --ipc --fork --kill-child=KILL --mount-proc"
	[ "$(id -u)" = 0 ] || apart="unshare --map-root-user ${apart#unshare }"
	$apart sh -c "mount -t tmpfs none $scratch && ip link add name bridge type bridge &&
		ip link add one type veth peer name other &&
		tc qdisc add dev one root tbf rate 1gbit burst 256kb latency 50ms" 2>/dev/null ||
		skip "CAP_NET_ADMIN for name spaces with bridges, virtual links and tbf is not to be had"
	trap 'kill -KILL $job 2>/dev/null; exit 143' HUP INT TERM
	setpriv --pdeathsig KILL $apart "$0" "$hirc" "$hosts" inside &
	job=$!
	wait $job
	exit $?
fi

# The hosts host1 … and their links link1 …; $scratch/hostN is the process that holds host N.
mount -t tmpfs none $scratch && hostname launching || fail "no folder"
patience=true
[ "$hosts" = 2 ] && patience="echo 3 >/proc/sys/net/ipv4/tcp_retries2" # 3 s for what nobody acknowledges
sh -c "$patience"
export TMPDIR=$scratch
ip link set lo up
ip link add name bridge type bridge
ip address add 10.77.0.254/24 dev bridge
ip link set bridge up
shape="root tbf rate 1gbit burst 256kb latency 50ms"
for i in $(seq "$hosts"); do
	unshare --net --uts --mount --ipc sh -c "hostname host$i && mount -t tmpfs none /dev/shm && touch $scratch/ready$i &&
		exec sleep 600" &
	echo $! >"$scratch/host$i"
done
for i in $(seq "$hosts"); do
	for wait in $(seq 100); do
		[ -f "$scratch/ready$i" ] && break
		sleep 0.05
	done
	[ -f "$scratch/ready$i" ] || fail "host$i did not start"
	holder=$(cat "$scratch/host$i")
	ip link add "link$i" type veth peer name eth0 netns "$holder" &&
		ip link set "link$i" master bridge up &&
		tc qdisc add dev "link$i" $shape &&
		nsenter --target "$holder" --net sh -c "$patience; ip link set lo up && ip address add 10.77.0.$i/24 dev eth0 &&
			ip link set eth0 up && tc qdisc add dev eth0 $shape" || fail "host$i has no link"
done
cat >"$scratch/agent" <<END
#!/bin/sh
host=\$1
shift
exec nsenter --target \$(cat $scratch/\$host) --net --uts --mount --ipc -- sh -c "\$*"
END
chmod +x "$scratch/agent"

# On 2 hosts the environment alone names agent and hosts, as it does in a Kubernetes MPIJob.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launch="mpirun -np 4 --mca rmaps_base_oversubscribe 1 --mca mpi_yield_when_idle 1"
if [ "$hosts" = 2 ]; then
	printf '%s slots=2\n' host1 host2 >"$scratch/hosts"
	export OMPI_MCA_plm_rsh_agent=$scratch/agent OMPI_MCA_orte_default_hostfile=$scratch/hosts
else
	launch="$launch --mca plm_rsh_agent $scratch/agent --host host1,host2,host3,host4 \
		--mca oob_tcp_keepalive_time 1 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3"
fi

right() {
	timeout -k 1 60 $launch "$hirc" run --check "$@" >"$scratch/out" 2>&1 || fail "$*"
	grep -q '^ok: 4 ranks' "$scratch/out" || fail "$*"
}

ranks_left() {
	pgrep -c -x "$(basename "$hirc")"
}

if [ "$hosts" = 2 ]; then
	for program in column_parallel_ring mlp_tensor_parallel moe_layer pipeline_stages; do
		right "$root/examples/$program.hir"
	done
	right "$root/examples/matmul_reduce_scatter.hir" --transport=mpi
else
	right "$root/examples/moe_layer.hir"
	right "$root/examples/matmul_reduce_scatter.hir" --pipeline=permute
fi
right "$root/examples/ag_matmul.hir" --pipeline=p2p --engine=lanes

cat >"$scratch/long.hir" <<'END'
mesh m(x = 4)
program long on m {
  input X: f32[65536@x]
  output Y: f32[65536] = allgather(X, axis=x)
}
END

# received INTERFACE: the bytes that host 1 has received there.
received() {
	nsenter --target "$(cat "$scratch/host1")" --net cat /proc/net/dev | sed -n "s/^ *$1: *//p" | cut -d" " -f1
}

# Where hosts have two networks, the parameters that hirc-run(1) names keep all data on one.
if [ "$hosts" = 2 ]; then
	ip link add name second type bridge && ip address add 10.78.0.254/24 dev second && ip link set second up
	for i in $(seq "$hosts"); do
		holder=$(cat "$scratch/host$i")
		ip link add "more$i" type veth peer name eth1 netns "$holder" && ip link set "more$i" master second up &&
			nsenter --target "$holder" --net sh -c "ip address add 10.78.0.$i/24 dev eth1 && ip link set eth1 up" ||
			fail "host$i has no second link"
	done
	export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_oob_tcp_if_include=10.77.0.0/24
	right --repeat=20 "$scratch/long.hir"
	[ "$(received eth1)" -lt 20000 ] || fail "$(received eth1) bytes came over the other network"
	unset OMPI_MCA_btl_tcp_if_include OMPI_MCA_oob_tcp_if_include
	ip link delete more1 && ip link delete more2 && ip link delete second
fi

# One link goes down while data go round.
limit=2
[ "$hosts" = 4 ] && limit=12 # mpirun must be first
at_start=$(received eth0)
$launch "$hirc" run --timeout=$limit --repeat=1000000 "$scratch/long.hir" >"$scratch/out" 2>&1 &
job=$!
for wait in $(seq 200); do
	[ "$(ranks_left)" = 4 ] && break
	sleep 0.05
done
[ "$(ranks_left)" = 4 ] || fail "four ranks did not start"
for wait in $(seq 200); do # data of the program go round, more than what starts it
	[ "$(received eth0)" -gt $((at_start + 10000000)) ] && break
	sleep 0.05
done
kill -0 $job 2>/dev/null || fail "the job ended before a link went down"
ip link set "link$hosts" down
begin=$(date +%s)

# until_true WHAT COMMAND…: fails if the command is not true within 15 s from begin.
until_true() {
	what=$1
	shift
	until "$@"; do
		[ $(($(date +%s) - begin)) -lt 15 ] || fail "15 s after a link went down $what"
		sleep 0.1
	done
}
job_is_over() { ! kill -0 $job 2>/dev/null; }
none_left() { [ "$(ranks_left)" = 0 ] && ! pgrep -x orted >/dev/null; }
until_true "the job goes on" job_is_over
wait $job
code=$?
[ $code != 0 ] || fail "exit code 0 after a link went down"
[ "$hosts" = 4 ] || grep -q 'hirc: rank [0-3]: error: .* (on host[1-4])' "$scratch/out" ||
	fail "no rank says on which host it waits"
[ "$hosts" = 2 ] || grep -q "on node host$hosts" "$scratch/out" || fail "the host that is cut off is not named"
until_true "ranks or daemons are left" none_left
echo "ok: $hosts hosts; exit code $code, $(($(date +%s) - begin)) s after a link went down"
