#!/bin/sh
# generated.sh: the sources that `tools/gpu-acceptance --prepare` writes build without Bison,
# re2c and MPI; sources of another grammar are refused.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
made=$scratch/made

# configure FOLDER OPTION...
configure()
{
	folder=$1
	shift
	cmake -S "$root" -B "$scratch/$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DHIRC_MPI=OFF \
		-DCMAKE_DISABLE_FIND_PACKAGE_BISON=ON -DRE2C=RE2C-NOTFOUND -DCMAKE_PROGRAM_PATH= "$@" >"$scratch/out" 2>&1
}

# CMake breaks lines.
says()
{
	tr -s '\n ' '  ' <"$scratch/out" | grep -q -e "$1"
}

wrong()
{
	echo "$1"
	tail -n 20 "$scratch/out"
	exit 1
}

if configure without; then wrong "without Bison there is nothing to build"; fi
says 'tools/gpu-acceptance --prepare DIR' || wrong "the way out is named"

mkdir "$scratch/empty"
if configure none -DHIRC_GENERATED="$scratch/empty"; then wrong "an empty folder is refused"; fi
says 'was not made of this grammar' || wrong "it says why"

python3 "$root/tools/gpu-acceptance" --prepare "$made"
configure with -DHIRC_GENERATED="$made" || wrong "what was prepared is taken"
cmake --build "$scratch/with" --parallel 2 --target hirc_parse >"$scratch/out" 2>&1 || wrong "it builds"
grep -qi -e bison -e re2c "$scratch/out" && wrong "neither Bison nor re2c runs"

sed 's/^./x/' "$made/grammar.sha256" >"$scratch/other"
mv "$scratch/other" "$made/grammar.sha256"
if configure stale -DHIRC_GENERATED="$made"; then wrong "what was made of another grammar is refused"; fi
says 'was not made of this grammar' || wrong "it says why"
echo ok
