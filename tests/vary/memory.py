#!/usr/bin/env python3
"""Draws programs with several streams and checks where the plan puts their buffers.

    memory.py --hirc build/dev/hirc --count 100         programs 0 … 99 of seed 1
    memory.py --hirc build/dev/hirc --show 17           prints program 17
    memory.py --hirc build/dev/hirc --only 17           runs it alone

A program allocates, computes and gathers on random streams, with no more synchronisation than its values need,
straight on or in a loop. Lifetimes are short or long, waits come early or late, some iterations later, which
takes copies of the buffer. The script builds the
graph of what is ordered before what, iteration by iteration, and looks at the places that `--dump-plan`
shows: two buffers whose bytes overlap must be used one wholly before the other. Then the numbers must be
those of the reference, and the memory used what was planned. In the sum of all programs sharing must save
a third of the bytes.
"""
import random
import re
import sys

import drawn

SIZES = [16, 48, 256, 1000, 4096]
UNARY = ["neg", "abs", "sin", "exp"]
BINARY = ["add", "sub", "maximum"]


class Graph:
    """Events, each with the set of events before it, as a bit mask."""

    def __init__(self):
        self.before = []
        self.last = {}  # by stream

    def event(self, after):
        mask = 0
        for k in after:
            mask |= self.before[k] | 1 << k
        self.before.append(mask)
        return len(self.before) - 1

    def on(self, stream, after=()):
        """Adds an event of a stream."""
        made = self.event([self.last[s] for s in [stream] if s in self.last] + list(after))
        self.last[stream] = made
        return made


class Program:
    def __init__(self, number, seed):
        self.r = random.Random("%d/%d" % (seed, number))
        self.streams = self.r.choice([1, 2, 3, 4])
        self.trips = self.r.choice([0, 0, 2, 5, 9])  # 0: no loop
        self.inputs = [("X%d" % k, size, self.r.random() < 0.6) for k, size in enumerate(self.r.sample(SIZES, 2))]
        self.steps = []  # statements of the body: (kind, ...)
        self.outputs = []
        self.made_on = {}  # by name: the stream where the buffer is allocated
        self.late = None  # (place in the body, iterations) of a wait for a gather of an earlier iteration
        self.draw()

    def draw(self):
        r, made, open_gathers, wide = self.r, list(self.inputs), [], []
        stream = 0 if self.trips else None  # in a loop: distance from the iteration's stream
        holder = {name: None for name, _, _ in self.inputs}  # stream on which the value is known; None: all
        for k in range(r.randint(6, 24)):
            if stream is None or r.random() < (0.1 if self.trips else 0.25):
                stream = r.randrange(self.streams)
                self.steps.append(("stream", stream))
            while open_gathers and r.random() < 0.35:
                name = open_gathers.pop(r.randrange(len(open_gathers)))
                self.steps.append(("wait", name))
                holder[name] = stream
            self.made_on["T%d" % k] = stream
            ready = [v for v in made if v[0] not in open_gathers]
            recent = ready[-3:] if r.random() < 0.7 else ready
            a = r.choice(recent)
            same = [v for v in ready if v[1:] == a[1:]]
            reads = [a, r.choice(same)] if r.random() < 0.5 else [a]
            for name, _, _ in reads:
                if holder[name] not in (None, stream):
                    self.steps.append(("sync", holder[name]))
            name = "T%d" % k
            if a[2] and r.random() < 0.3:
                self.steps.append(("gather", name, a[0]))
                made.append((name, a[1], False))
                open_gathers.append(name)
            else:
                function = r.choice(BINARY if len(reads) == 2 else UNARY)
                self.steps.append(("compute", name, function, [v[0] for v in reads]))
                made.append((name, a[1], a[2]))
            holder[name] = stream
        for name in open_gathers:
            self.steps.append(("wait", name))
            holder[name] = stream
        self.size = {name: (size, cut) for name, size, cut in made}
        chosen = r.sample([v for v in made if v not in self.inputs], 2)
        for k, v in enumerate(chosen):
            if holder[v[0]] not in (None, stream):
                self.steps.append(("sync", holder[v[0]]))
            self.outputs.append(("Y%d" % k, v[0]))

        cut = [v for v in made if v[2] and v not in self.inputs]
        if self.trips and cut and r.random() < 0.7:
            source = r.choice(cut)
            self.size["L"] = source[1:]
            self.size["G"] = (source[1], False)
            self.steps.append(("compute", "L", "neg", [source[0]]))
            if holder[source[0]] not in (None, stream):
                self.steps.insert(-1, ("sync", holder[source[0]]))
            self.made_on["L"] = stream
            self.late = r.randrange(len(self.steps) + 1), r.randint(1, 3)

    def type_of(self, name):
        size, cut = self.size[name]
        return "f32[%d%s]" % (size, "@x" if cut else "")

    def stream_text(self, stream):
        return "(i + %d) %% %d" % (stream, self.streams) if self.trips else str(stream)

    def text(self):
        lines = ["mesh m(x = 2)", "program drawn on m {"]
        lines += ["  input %s: %s" % (name, self.type_of(name)) for name, _, _ in self.inputs]
        if self.trips:
            for y, v in self.outputs:
                lines.append("  output %s: %s = allocate()" % (y, self.type_of(v).replace("[", "[%d, " % self.trips)))
        if self.late:
            lines.append("  output Z: %s = allocate()" % self.type_of("G").replace("[", "[%d, " % self.trips))
        lines.append("  main = get_current_stream()")
        body = []
        for at, step in enumerate(self.steps + [("end",)]):
            if self.late and self.late[0] == at:
                body += ["if i >= %d {" % self.late[1], "  wait(late)", "}"]
            if step[0] == "end":
                break
            if step[0] == "stream":
                body += ["set_stream(%s)" % self.stream_text(step[1]), "synchronize(main)"]
            elif step[0] == "sync":
                body.append("synchronize(%s)" % self.stream_text(step[1]))
            elif step[0] == "wait":
                body.append("wait(c%s)" % step[1])
            else:
                body.append("%s: %s = allocate()" % (step[1], self.type_of(step[1])))
                if step[0] == "gather":
                    body.append("%s <- allgather(%s, axis=x) as c%s" % (step[1], step[2], step[1]))
                else:
                    body.append("%s <- %s(%s)" % (step[1], step[2], ", ".join(step[3])))
        if not self.trips:
            for y, v in self.outputs:
                body += ["output %s: %s = allocate()" % (y, self.type_of(v)), "%s <- set(%s)" % (y, v)]
            return "\n".join(lines + ["  " + b for b in body] + ["}", ""])
        for y, v in self.outputs:
            body += ["part%s = select(%s, axis=0, index=i)" % (y, y), "part%s <- set(%s)" % (y, v)]
        if self.late:
            body += ["partZ = select(Z, axis=0, index=i)", "partZ <- allgather(L, axis=x) as late"]
        lines += ["  for i in 0..%d {" % self.trips, "    set_stream(i %% %d)" % self.streams, "    synchronize(main)"]
        lines += ["    " + b for b in body]
        lines.append("  }")
        if self.late:
            lines += ["  for j in 0..%d {" % min(self.late[1], self.trips), "    wait(late)", "  }"]
        lines += ["  set_stream(main)", "  for j in 0..%d {" % self.streams, "    synchronize(j)", "  }", "}", ""]
        return "\n".join(lines)

    def uses(self, slots):
        """Returns the graph, and the events of each lifetime of each slot: {(name, slot): {lifetime: [events]}}."""
        g, lives, late = Graph(), {}, []
        start = g.event([])

        def use(name, slot, life, event):
            lives.setdefault((name, slot), {}).setdefault(life, []).append(event)

        known = {name for name, _, _ in self.inputs}
        for i in range(max(self.trips, 1)):
            stream_of = lambda k: (i + k) % self.streams if self.trips else k
            stream, gathers = stream_of(0) if self.trips else None, {}

            def spot(name):
                if name in known:
                    return name, 0, 0
                if not self.trips:
                    return name, 0, 0
                last = self.made_on[name] + self.trips - 1
                base = min(last + 1, self.streams)
                copies = max(slots.get(name, 1) // base, 1)
                return name, stream_of(self.made_on[name]) + i // base % copies * base, i

            def wait_late():
                event, source = late.pop(0)
                done = g.on(stream, [event])
                use(*source, done)
                use("Z", 0, 0, done)

            for at, step in enumerate(self.steps + [("end",)]):
                if self.late and self.late[0] == at and i >= self.late[1]:
                    wait_late()
                if step[0] == "end":
                    break
                if step[0] == "stream":
                    stream = stream_of(step[1])
                elif step[0] == "sync":
                    other = stream_of(step[1])
                    g.on(stream, [g.last[other]] if other in g.last else [])
                elif step[0] == "wait":
                    event, reads = gathers[step[1]]
                    done = g.on(stream, [event])
                    use(*spot(reads), done)
                    use(*spot(step[1]), done)
                elif step[0] == "gather":
                    event = g.event([g.last[stream]] if stream in g.last else [start])
                    gathers[step[1]] = event, step[2]
                    use(*spot(step[2]), event)
                    use(*spot(step[1]), event)
                else:
                    event = g.on(stream, [start])
                    for name in step[3] + [step[1]]:
                        use(*spot(name), event)
            for y, v in self.outputs:
                event = g.on(stream, [start])
                use(*spot(v), event)
                use(y, 0, 0, event)
            if self.late:
                event = g.event([g.last[stream]])
                late.append((event, spot("L")))
                use(*spot("L"), event)
                use("Z", 0, 0, event)
        while late:
            wait_late()
        end = g.event(list(g.last.values()))
        for name in list(known) + [y for y, _ in self.outputs] + ["Z"] * bool(self.late):
            use(name, 0, 0, end)
        for name in known:
            use(name, 0, 0, start)
        return g, lives


def places(plan):
    """Returns {(name, slot): (first byte, end)} of rank 0, and the bytes of its memory."""
    found = {}
    for m in re.finditer(r"^  buffer (\w+): (\d+) of f32(?:, \d+ slots)?(?:, input)?, at ([\d ]+)$", plan, re.M):
        size = (int(m.group(2)) * 4 + 63) // 64 * 64
        for slot, at in enumerate(m.group(3).split()):
            if (m.group(1), slot) in found:
                raise ValueError("two buffers for '%s'" % m.group(1))
            found[m.group(1), slot] = int(at), int(at) + size
    return found, int(re.search(r"^  memory: (\d+) bytes$", plan, re.M).group(1))


def ordered(g, first, second):
    return all(g.before[b] >> a & 1 for a in first for b in second)


def wrong_places(program, plan):
    """Returns what is wrong with the places, or None; the bytes of memory, and those of all slots."""
    found, memory = places(plan)
    slots = {}
    for name, _ in found:
        slots[name] = slots.get(name, 0) + 1
    g, lives = program.uses(slots)
    used = [k for k in lives if k in found]
    if len(used) != len(lives):
        return "no place of %s" % (set(lives) - set(found)), 0, 0
    for k, a in enumerate(used):
        if found[a][1] > memory:
            return "%s ends after the memory" % (a,), 0, 0
        for b in used[k:]:
            if a != b and (found[a][1] <= found[b][0] or found[b][1] <= found[a][0]):
                continue
            for i, x in lives[a].items():
                for j, y in lives[b].items():
                    if (a, i) != (b, j) and not ordered(g, x, y) and not ordered(g, y, x):
                        return "%s of iteration %d and %s of iteration %d overlap" % (a, i, b, j), 0, 0
    return None, memory, sum(found[k][1] - found[k][0] for k in used)


def run(hirc, text, *options):
    code, out, err = drawn.call([hirc, "run", "-", *options], text)
    return code, out + err


def wrong(hirc, program):
    code, out = run(hirc, program.text(), "--dump-plan", "--stats", "--no-check", "--check", "--bootstrap=thread",
                    "--streams=%d" % program.streams)
    if code:
        return "exit code %d\n%s" % (code, out[-2000:]), 0, 0
    rows = re.findall(r"^ +\d+ +\d+ +\d+ +\d+ +\d+ +\d+ +(\d+) +(\d+)$", out, re.M)
    if len(rows) != 2 or any(a != b for a, b in rows):
        return "memory used is not as planned\n" + out, 0, 0
    return wrong_places(program, out)


def main():
    o = drawn.options(__doc__, 100, lambda seed, number: Program(number, seed).text())
    shared = apart = failed = 0
    for number in o.numbers:
        why, memory, slots = wrong(o.hirc, Program(number, o.seed))
        shared, apart = shared + memory, apart + slots
        if why:
            failed += 1
            print("program %d (--show %d): %s" % (number, number, why))
    print("%d programs, %d wrong; %d bytes of memory for %d bytes of buffers" % (o.count, failed, shared, apart))
    if o.only is None and not failed and shared * 3 > apart * 2:
        print("wrong: sharing saves less than a third")
        failed = 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
