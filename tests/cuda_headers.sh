#!/bin/sh
# cuda_headers.sh: where there are no headers of CUDA one skipped test says which and how to get them; a folder of
# wheels is taken for a toolkit, unless it lacks one or is of another version. Nothing is built.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# configure OPTION...: headers are looked for in the scratch folder alone
configure()
{
	cmake -S "$root" -B "$scratch/build" -G Ninja -DCMAKE_FIND_ROOT_PATH="$scratch" \
		-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY "$@" >"$scratch/out" 2>&1
}

# CMake breaks lines.
says()
{
	tr -s '\n ' '  ' <"$scratch/out" | grep -q -e "$1"
}

wrong()
{
	echo "not so: $1"
	tail -n 20 "$scratch/out"
	exit 1
}

# The one test labelled cuda is skipped, for this reason.
is_skipped()
{
	ctest --test-dir "$scratch/build" -L cuda -V >"$scratch/out" 2>&1 || wrong "a skipped test is no failure"
	for text in 'cuda/toolkit (Skipped)' 'passed, 0 tests failed out of 1 ' "$1"; do
		says "$text" || wrong "it says: $text"
	done
}

# header WHEEL NAME [TEXT]: in a folder as pip makes it
header()
{
	mkdir -p "$scratch/wheels/nvidia/$1/include/$(dirname "$2")"
	echo "${3-}" >"$scratch/wheels/nvidia/$1/include/$2"
}

configure || wrong "it is configured without headers"
is_skipped 'no cuda.h, crt/host_defines.h, nv/target, cublasLt.h, nvrtc.h, nccl.h\. .* pip install nvidia-cuda-runtime~=13\.0 '

if configure -DHIRC_CUDA_WHEELS="$scratch"; then wrong "a folder without wheels is refused"; fi
says 'there is no folder nvidia in it' || wrong "it says why"

header cu13 cuda.h '#define CUDA_VERSION 12080'
header cu13 crt/host_defines.h
header cu13 cccl/nv/target
header cu13 cublasLt.h
header cu13 nvrtc.h
configure -DHIRC_CUDA_WHEELS="$scratch/wheels" || wrong "it is configured without one header"
is_skipped 'there is no nccl.h\. .* pip install nvidia-nccl-cu13 '

header nccl nccl.h
configure || wrong "it is configured with headers of CUDA 12"
is_skipped 'cuda.h is not of CUDA 13 (it has 12080)'

header cu13 cuda.h '#define CUDA_VERSION 13000'
header nccl nccl.h '#define NCCL_MAJOR 2
#define NCCL_MINOR 27'
configure || wrong "it is configured with an old header of NCCL"
is_skipped 'nccl.h is of NCCL 2.27: hirc needs the header of 2.28'

header nccl nccl.h '#define NCCL_MAJOR 2
#define NCCL_MINOR 28'
configure || wrong "it is configured with wheels"
says 'features: [a-z;]*cuda' || wrong "the device is built"

configure -DHIRC_CUDA=OFF || wrong "it is configured without the device"
is_skipped 'configured with -DHIRC_CUDA=OFF'
echo ok
