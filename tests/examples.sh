#!/bin/sh
# examples.sh HIRC PART: every example with its check, on 1, 2, 4 and 8 ranks, for several chunk counts and for sizes
# that do not divide; or the fixed points of every dump. PART: fork, thread, mpi, cuda (on whatever GPU the libraries
# found show), each also with _pipelines for those and for meshes of two axes; cuda_nccl, for ranks that have a GPU
# each; cuda_ipc, for ranks that are processes and share one; cuda_few, some of cuda and cuda_pipelines; hosts; dumps;
# all, which takes an hour: all of it on 1, 2, 3, 4 and 8 ranks, under each way to start them and each transport.
# HIRC_FEW=1: fewer numbers of ranks, for slow builds.
set -u
hirc=$1 part=$2
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 count=0
unset HIRC_CACHE
export XDG_CACHE_HOME="$scratch" # kernels of a GPU are compiled once

# few THESE OTHERS...: the others, or with HIRC_FEW these.
few() {
	these=$1
	shift
	if [ "${HIRC_FEW:-}" ]; then echo "$these"; else echo "$@"; fi
}

# Each line of --stats says that the rank used the memory that its plan has.
memory_is_as_planned() {
	awk '$1 == "rank" { for (i = 1; i <= NF; i++) column[$i] = i }
		$1 ~ /^[0-9]+$/ && column["rank"] { ranks++; wrong += $column["planned_memory"] != $column["peak_memory"] }
		END { exit wrong || !ranks }' "$scratch/out"
}

# must_be_ok COMMAND...: exit 0, a last line `ok: …`, and memory as planned.
must_be_ok() {
	count=$((count + 1))
	if "$@" --stats >"$scratch/out" 2>&1 && tail -n 1 "$scratch/out" | grep -q '^ok: ' &&
		memory_is_as_planned; then return; fi
	failed=$((failed + 1))
	echo "failed: $*"
	tail -n 8 "$scratch/out"
}

# must_end TEXT COMMAND...: an error that has the text, within 20 s.
must_end() {
	count=$((count + 1)) text=$1
	shift
	timeout -s KILL 20 "$@" >"$scratch/out" 2>&1
	[ $? = 1 ] && grep -q "$text" "$scratch/out" && return
	failed=$((failed + 1))
	echo "failed: $*"
	tail -n 8 "$scratch/out"
}

# Each product of a chain is a sign of life: an event that the device comes to.
signs_of_life() {
	count=$((count + 1))
	printf '%s\n' "mesh m(x = 1)" "program p on m {" "  input X: f32[200, 200]" "  A = matmul(X, X)" \
		"  B = matmul(A, X)" "  output Y = matmul(B, X)" "}" >"$scratch/chain.hir"
	HIRC_MOCK_LOG="$scratch/log" "$hirc" run --target=cuda --bootstrap=thread "$scratch/chain.hir" &&
		[ "$(awk '/^cublasLtMatmul /{ n++ } /^cuEventRecord/ && n { e++ } END { print e + 0 }' \
			"$scratch/log")" -ge 3 ] && return
	failed=$((failed + 1))
	echo "failed: three products without three events"
	tail -n 20 "$scratch/log"
}

# The chunk counts and sizes of one launcher, given as a command prefix.
sizes() {
	must_be_ok "$@" "$root/examples/ag_matmul.hir" --check
	for t in 1 7 13; do
		must_be_ok "$@" "$root/examples/ag_matmul.hir" --check -D t=$t -D n=5 -D k=3
	done
	for s in 1 2 3 4 8; do
		must_be_ok "$@" "$root/examples/row_parallel_linear.hir" --check -D s=$s
		must_be_ok "$@" "$root/examples/row_parallel_linear.hir" --check -D s=$s -D t=13 -D h=3
	done
	for name in column_parallel_ring mlp_tensor_parallel matmul_reduce_scatter moe_layer; do
		must_be_ok "$@" "$root/examples/$name.hir" --check
	done
	for s in 1 2 5; do
		must_be_ok "$@" "$root/examples/ag_matmul_chunks.hir" --check -D s=$s
		must_be_ok "$@" "$root/examples/ag_matmul_chunks.hir" --check -D s=$s -D t=13 -D n=3
	done
	must_be_ok "$@" "$root/examples/mlp_tensor_parallel.hir" --check -D t=7 -D h=9
	for t in 1 13; do
		must_be_ok "$@" "$root/examples/moe_layer.hir" --check -D t=$t -D h=5
	done
}

# Every kind of pipeline, on sizes that divide and that do not.
pipelines() {
	for kind in broadcast permute collective p2p p2p-put; do
		for name in ag_matmul matmul_reduce_scatter; do
			must_be_ok "$@" "$root/examples/$name.hir" --check --pipeline=$kind
			must_be_ok "$@" "$root/examples/$name.hir" --check --pipeline=$kind -D t=13 --inter-stream-sync
		done
	done
	must_be_ok "$@" "$root/examples/ag_matmul.hir" --check --offset-streams --streams=2
	must_be_ok "$@" "$root/examples/ag_linear.hir" --check --pipeline=p2p -D m=4 -D k=8 -D n=6
}

# Programs that read other ranks' memory, with and without gaps between their blocks.
in_place() {
	must_be_ok "$@" "$root/examples/zero_copy.hir" --check
	for t in 1024 1000 777 3; do
		must_be_ok "$@" "$root/examples/zero_copy.hir" --check --zero-copy -D t=$t --repeat=3
	done
	for name in ag_matmul row_parallel_linear mlp_tensor_parallel matmul_reduce_scatter moe_layer; do
		must_be_ok "$@" "$root/examples/$name.hir" --check --zero-copy
	done
}

# dp,tp of the meshes of two axes that examples run on.
mesh_sizes=$(few "1,2 2,2" 1,1 1,2 2,1 2,2 1,4 2,4 4,2)

meshes() {
	for axes in $mesh_sizes; do
		dp=${axes%,*} tp=${axes#*,}
		for name in fsdp_mlp_backward fsdp_transformer_backward transformer_layer; do
			must_be_ok "$@" "$root/examples/$name.hir" --check --np=$((dp * tp)) -D dp=$dp -D tp=$tp
		done
		must_be_ok "$@" "$root/examples/fsdp_mlp_backward.hir" --check --np=$((dp * tp)) -D dp=$dp -D tp=$tp \
			-D t=11 -D h=7 -D f=5
	done
	for s in 1 3 4; do
		must_be_ok "$@" "$root/examples/pipeline_stages.hir" --check -D s=$s -D t=50
	done
	must_be_ok "$@" "$root/examples/mesh_axes.hir" --check
	must_be_ok "$@" "$root/examples/mesh_axes.hir" --check -D n=5
}

meshes_in_place() {
	for axes in $mesh_sizes; do
		dp=${axes%,*} tp=${axes#*,}
		for name in fsdp_mlp_backward fsdp_transformer_backward transformer_layer; do
			must_be_ok "$@" "$root/examples/$name.hir" --check --np=$((dp * tp)) -D dp=$dp -D tp=$tp --zero-copy
		done
	done
}

same() {
	count=$((count + 1))
	cmp -s "$1" "$2" && return
	failed=$((failed + 1))
	echo "failed: $3"
	diff "$1" "$2" | head -n 8
}

# Prints, parses and prints again; both surfaces, and from one into the other.
fixed_points() {
	file=$1 stage=$2
	for surface in nvfuser hir; do
		"$hirc" compile "$file" $stage --dump=$surface >"$scratch/$surface" 2>"$scratch/err" || {
			echo "failed: hirc compile $file $stage --dump=$surface"
			cat "$scratch/err"
			failed=$((failed + 1))
			return
		}
	done
	for from in nvfuser hir; do
		for to in nvfuser hir; do
			"$hirc" compile - --stop-after=parse --dump=$to <"$scratch/$from" >"$scratch/again" 2>&1
			same "$scratch/$to" "$scratch/again" "$file $stage: $from to $to"
		done
	done
}

need_mpi() {
	"$hirc" --version | grep -q 'features:.* mpi' || { echo "skipped: hirc was built without MPI"; exit 77; }
	command -v mpirun >/dev/null || { echo "skipped: no mpirun"; exit 77; }
}

case $part in
fork | thread)
	for n in $(few 4 1 2 4 8); do sizes "$hirc" run --np=$n --bootstrap=$part; done
	for n in $(few 3 1 2 3 8); do in_place "$hirc" run --np=$n --bootstrap=$part; done
	;;
fork_pipelines | thread_pipelines)
	for n in $(few 3 2 3 8); do pipelines "$hirc" run --np=$n --bootstrap=${part%_*}; done
	meshes "$hirc" run --bootstrap=${part%_*}
	meshes_in_place "$hirc" run --bootstrap=${part%_*}
	;;
cuda)
	signs_of_life
	for n in 1 2 4 8; do sizes "$hirc" run --target=cuda --np=$n --bootstrap=thread; done
	must_be_ok "$hirc" run --target=cuda --np=2 --bootstrap=thread "$root/examples/zero_copy.hir" --check
	for n in 1 2 3 8; do in_place "$hirc" run --target=cuda --np=$n --bootstrap=thread; done
	;;
cuda_pipelines)
	for n in 2 3 8; do pipelines "$hirc" run --target=cuda --np=$n --bootstrap=thread; done
	meshes "$hirc" run --target=cuda --bootstrap=thread
	;;
cuda_few)
	signs_of_life
	for n in 2 3; do
		for name in ag_matmul row_parallel_linear column_parallel_ring mlp_tensor_parallel matmul_reduce_scatter \
			ag_matmul_chunks moe_layer; do
			must_be_ok "$hirc" run --target=cuda --np=$n --bootstrap=thread "$root/examples/$name.hir" --check
		done
		for kind in broadcast permute collective p2p p2p-put; do
			must_be_ok "$hirc" run --target=cuda --np=$n --bootstrap=thread "$root/examples/ag_matmul.hir" --check \
				--pipeline=$kind -D t=13 --repeat=3
		done
	done
	for name in fsdp_mlp_backward fsdp_transformer_backward transformer_layer; do
		must_be_ok "$hirc" run --target=cuda --bootstrap=thread "$root/examples/$name.hir" --check --np=4 -D dp=2 -D tp=2
	done
	must_be_ok "$hirc" run --target=cuda --bootstrap=thread "$root/examples/pipeline_stages.hir" --check -D s=3 -D t=50
	must_be_ok "$hirc" run --target=cuda --bootstrap=thread "$root/examples/mesh_axes.hir" --check -D n=5
	must_be_ok "$hirc" run --target=cuda --bootstrap=thread --np=2 "$root/examples/ag_linear.hir" --check -D m=4 -D k=8 \
		-D n=6
	must_be_ok "$hirc" run --target=cuda --bootstrap=thread --np=2 "$root/examples/zero_copy.hir" --check -D t=77
	must_be_ok "$hirc" run --target=cuda --bootstrap=thread --np=3 "$root/examples/zero_copy.hir" --check -D t=77 --zero-copy \
		--repeat=2
	;;
cuda_nccl)
	for n in $(few 3 1 2 4); do
		for name in ag_matmul row_parallel_linear column_parallel_ring mlp_tensor_parallel matmul_reduce_scatter \
			ag_matmul_chunks moe_layer; do
			must_be_ok "$hirc" run --target=cuda --np=$n "$root/examples/$name.hir" --check
			must_be_ok "$hirc" run --target=cuda --np=$n "$root/examples/$name.hir" --check --repeat=3
		done
	done
	for k in 1 2 3; do # collectives that never end, also while the host waits for counts
		must_end ncclCommGetAsyncError env HIRC_MOCK_FAIL=nccl:$k "$hirc" run --target=cuda --np=2 --timeout=5 \
			"$root/examples/moe_layer.hir"
	done
	must_be_ok "$hirc" run --target=cuda "$root/examples/pipeline_stages.hir" --check
	must_be_ok "$hirc" run --target=cuda "$root/examples/mesh_axes.hir" --check
	for name in fsdp_mlp_backward fsdp_transformer_backward transformer_layer; do
		must_be_ok "$hirc" run --target=cuda --np=4 "$root/examples/$name.hir" -D dp=2 -D tp=2 --check
	done
	;;
cuda_ipc)
	for n in $(few 3 2 4); do
		for name in ag_matmul row_parallel_linear column_parallel_ring mlp_tensor_parallel matmul_reduce_scatter \
			ag_matmul_chunks moe_layer; do
			must_be_ok "$hirc" run --target=cuda --np=$n "$root/examples/$name.hir" --check --repeat=3
		done
	done
	for kind in broadcast permute collective p2p p2p-put; do
		must_be_ok "$hirc" run --target=cuda --np=3 "$root/examples/ag_matmul.hir" --check --pipeline=$kind -D t=13 \
			--repeat=3
	done
	must_be_ok "$hirc" run --target=cuda "$root/examples/pipeline_stages.hir" --check -D s=3 -D t=50
	must_be_ok "$hirc" run --target=cuda "$root/examples/mesh_axes.hir" --check
	for name in fsdp_mlp_backward fsdp_transformer_backward transformer_layer; do # also where streams share a queue
		must_be_ok env HIRC_MOCK_QUEUES=1 "$hirc" run --target=cuda --np=4 "$root/examples/$name.hir" -D dp=2 -D tp=2 \
			--check --repeat=3
	done
	must_be_ok env HIRC_MOCK_QUEUES=1 "$hirc" run --target=cuda --np=4 "$root/examples/column_parallel_ring.hir" --check \
		--repeat=3
	in_place "$hirc" run --target=cuda --np=3
	for name in fsdp_mlp_backward transformer_layer; do
		must_be_ok env HIRC_MOCK_QUEUES=1 "$hirc" run --target=cuda --np=4 "$root/examples/$name.hir" -D dp=2 -D tp=2 \
			--check --repeat=3 --zero-copy
	done
	;;
mpi)
	need_mpi
	for n in $(few 3 1 2 4 8); do
		for transport in mpi shm; do
			for name in ag_matmul row_parallel_linear column_parallel_ring mlp_tensor_parallel \
				matmul_reduce_scatter ag_matmul_chunks moe_layer; do
				must_be_ok mpirun -np $n "$hirc" run "$root/examples/$name.hir" --transport=$transport --check
			done
		done
	done
	must_be_ok mpirun -np 4 "$hirc" run "$root/examples/pipeline_stages.hir" --check
	must_be_ok mpirun -np 8 "$hirc" run "$root/examples/mesh_axes.hir" --check
	must_be_ok mpirun -np 4 "$hirc" run "$root/examples/row_parallel_linear.hir" --check -D s=4 -D t=13
	must_be_ok mpirun -np 3 "$hirc" run "$root/examples/ag_matmul.hir" --check -D t=1
	must_be_ok mpirun -np 4 "$hirc" run "$root/examples/moe_layer.hir" --check -D t=13
	;;
mpi_pipelines)
	need_mpi
	few_kinds="collective p2p"
	for n in $(few 3 1 4); do pipelines mpirun -np $n "$hirc" run; done
	in_place mpirun -np 4 "$hirc" run --transport=shm
	for axes in $(few 2x2 1x1 1x2 2x2 2x4); do
		dp=${axes%x*} tp=${axes#*x}
		for name in fsdp_mlp_backward fsdp_transformer_backward transformer_layer; do
			must_be_ok mpirun -np $((dp * tp)) "$hirc" run "$root/examples/$name.hir" -D dp=$dp -D tp=$tp --check
		done
	done
	;;
hosts)
	need_mpi
	"$root/tests/host_agent.sh" --works || { echo "skipped: there are no name spaces for hosts"; exit 77; }
	launch="mpirun --mca plm_rsh_agent $root/tests/host_agent.sh -np 4"
	for name in ag_matmul ag_linear row_parallel_linear column_parallel_ring mlp_tensor_parallel \
		matmul_reduce_scatter moe_layer fsdp_mlp_backward pipeline_stages zero_copy; do
		must_be_ok $launch --host h0:2,h1:2 "$hirc" run "$root/examples/$name.hir" --check
	done
	for name in ag_matmul matmul_reduce_scatter; do
		must_be_ok $launch --host h0:2,h1:2 "$hirc" run "$root/examples/$name.hir" --check --pipeline=permute
		must_be_ok $launch --host h0:3,h1:1 "$hirc" run "$root/examples/$name.hir" --check --pipeline=p2p
	done
	;;
all)
	for n in 1 2 3 4 8; do
		for start in fork thread; do
			sizes "$hirc" run --np=$n --bootstrap=$start
			pipelines "$hirc" run --np=$n --bootstrap=$start
			in_place "$hirc" run --np=$n --bootstrap=$start
		done
		for transport in shm mpi; do
			sizes mpirun -np $n "$hirc" run --transport=$transport
			pipelines mpirun -np $n "$hirc" run --transport=$transport
		done
		in_place mpirun -np $n "$hirc" run --transport=shm
		[ $n = 1 ] && continue
		"$root/tests/host_agent.sh" --works || continue
		on="h0:$(((n + 1) / 2)),h1:$((n / 2))"
		launch="mpirun --mca plm_rsh_agent $root/tests/host_agent.sh -np $n --host $on"
		sizes $launch "$hirc" run --transport=mixed
		pipelines $launch "$hirc" run --transport=mixed
	done
	meshes "$hirc" run
	meshes_in_place "$hirc" run
	;;
dumps)
	for file in "$root"/examples/*.hir; do
		for stage in $(few "parse stream-loops" parse propagate-shardings decompose-reshardings fuse-allgathers \
			stream-loops lower-collectives allocate) ""; do
			fixed_points "$file" "${stage:+--stop-after=$stage}"
		done
	done
	for name in zero_copy transformer_layer; do fixed_points "$root/examples/$name.hir" --zero-copy; done
	;;
*)
	echo "usage: examples.sh HIRC fork|thread|mpi|cuda[_pipelines]|cuda_few|cuda_nccl|cuda_ipc|hosts|dumps|all"
	exit 2
	;;
esac
echo "$((count - failed)) passed, $failed failed"
[ $failed = 0 ]
