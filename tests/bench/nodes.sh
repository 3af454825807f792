#!/bin/sh
# nodes.sh HIRC [N]: a recorded graph of N nodes (a million) is read, scheduled, and compiled as a program.
set -eu
hirc=$1 nodes=${2:-1000000}
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
measure()
{
	echo "$1:"
	shift
	time -p "$@" >"$folder/out"
	sed -n '1,2p' "$folder/out" | cut -c1-100
}

"$tools/gen_graph" --nodes "$nodes" >"$folder/long.graph"
measure "$nodes nodes, as they stand" "$hirc" sim "$folder/long.graph" --passes=
measure "$nodes nodes, scheduled" "$hirc" sim "$folder/long.graph" --effort=1
measure "$nodes nodes, as a program" "$hirc" import "$folder/long.graph"
