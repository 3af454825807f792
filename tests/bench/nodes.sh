#!/bin/sh
# nodes.sh HIRC [N]: a recorded graph of N nodes (a million) is read, scheduled, and compiled as a program. A million
# nodes take at most 400 bytes each at effort 2.
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

echo "$nodes nodes, scheduled with effort 2:"
python3 - "$nodes" "$hirc" sim "$folder/long.graph" --effort=2 <<'EOF'
import resource
import subprocess
import sys

nodes, command = int(sys.argv[1]), sys.argv[2:]
subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
each = used.ru_maxrss * 1024 / nodes
print(f"user {used.ru_utime:.2f}, {each:.0f} bytes a node at the peak")
sys.exit(nodes >= 1000000 and each > 400)
EOF
