#!/bin/sh
# clocks.sh HIRC: ranks of hosts whose clocks are 1000 s apart have one clock in a trace: a collective is under way
# on all of them at once.
set -u
hirc=$1
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/agent" <<'END_OF_AGENT'
#!/bin/sh
host=$1
shift
exec unshare --uts --time --monotonic "${host#h}000" --fork sh -c "hostname $host && exec $*"
END_OF_AGENT
chmod +x "$scratch/agent"
"$hirc" --version | grep -q 'features:.* mpi' || { echo "skipped: hirc was built without MPI"; exit 77; }
command -v mpirun >/dev/null || { echo "skipped: no mpirun"; exit 77; }
"$scratch/agent" h1 true 2>/dev/null || { echo "skipped: there are no name spaces for hosts with clocks"; exit 77; }
mpirun --mca plm_rsh_agent "$scratch/agent" -np 4 --host h1:2,h2:2 "$hirc" run --repeat=3 \
	"$here/../../examples/row_parallel_linear.hir" -D s=4 --trace="$scratch/trace.json" || exit 1
python3 - "$scratch/trace.json" <<'END_OF_CHECK'
import json
import sys

SLACK_US = 5000
ranks = {}
for e in json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]:
    if e["ph"] == "X" and e["cat"] == "collective":
        ranks.setdefault(e["pid"], []).append((e["ts"], e["ts"] + e["dur"]))
if len(ranks) != 4 or len({len(spans) for spans in ranks.values()}) != 1:
    sys.exit(f"ranks and their collectives: { {r: len(s) for r, s in ranks.items()} }")
gap = max(max(begin for begin, _ in spans) - min(end for _, end in spans)
          for spans in zip(*map(sorted, ranks.values())))
if gap > SLACK_US:
    sys.exit(f"{gap} us between the end of a collective on one rank and its begin on another")
print(f"ok: {len(ranks)} ranks have one clock")
END_OF_CHECK
