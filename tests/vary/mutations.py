"""Small changes of a compiled program, as `hirc compile --dump=hir` prints it. The result may be right, refused, or
not a program. verdicts.py draws them."""
import re

STATEMENT = re.compile(r"^\s+[^{}]+$")
DECLARED = re.compile(r"\s*(input|inout|output|mesh|param|const|program|group)\b")
NUMBER = re.compile(r"\b\d+\b")


def statements(lines):
    """Returns the numbers of the lines that are single statements."""
    return [k for k, line in enumerate(lines) if STATEMENT.match(line) and not DECLARED.match(line)]


def drop(r, lines):
    k = r.choice(statements(lines))
    return lines[:k] + lines[k + 1:]


def drop_wait(r, lines):
    k = r.choice([k for k in statements(lines) if re.match(r"\s*(wait|synchronize|set_stream)\(", lines[k])])
    return lines[:k] + lines[k + 1:]


def swap(r, lines):
    """Swaps two neighbours of one block."""
    known = statements(lines)
    k = r.choice([k for k in known if k + 1 in known])
    return lines[:k] + [lines[k + 1], lines[k]] + lines[k + 2:]


def swap_far(r, lines):
    """Swaps two statements of the same depth, a few lines apart, with no brace between."""
    known = set(statements(lines))
    pairs = [(k, j) for k in known for j in range(k + 2, k + 6) if known.issuperset(range(k, j + 1))]
    k, j = r.choice(sorted(pairs))
    return lines[:k] + [lines[j]] + lines[k + 1:j] + [lines[k]] + lines[j + 1:]


def replace(r, lines, pattern, change, takes=lambda k: True):
    """Replaces the group of one match of the pattern, in one of the lines that `takes` allows."""
    places = [(k, m) for k, line in enumerate(lines) if takes(k) for m in re.finditer(pattern, line)]
    k, m = r.choice(places)
    begin, end = m.span(m.lastindex)
    return lines[:k] + [lines[k][:begin] + change(lines[k][begin:end]) + lines[k][end:]] + lines[k + 1:]


def other_number(r, text):
    """Returns the text with one of its numbers changed, or with 1 added."""
    found = list(NUMBER.finditer(text))
    if not found or r.random() < 0.3:
        return "(%s + 1)" % text
    m = r.choice(found)
    n = r.choice([int(m[0]) + 1, max(0, int(m[0]) - 1), 0])
    return text[:m.start()] + str(n) + text[m.end():]


def change_peer(r, lines, names="peer|send_peer|recv_peer"):
    return replace(r, lines, r"\b(?:%s)=((?:[^(),]|\((?:[^()]|\([^()]*\))*\))+)" % names,
                   lambda text: r.choice(["rank", "0", other_number(r, text)]))


def change_root(r, lines):
    return change_peer(r, lines, "root")


def change_bound(r, lines):
    def other(text):
        first, last = text.split("..")
        return r.choice(["%s..%s + 1", "%s..%s - 1", "%s + 1..%s"]) % (first, last)
    return replace(r, lines, r"\bfor \w+ in (.+?) (?:parallel\(stream\) )?\{", other)


def change_stream(r, lines):
    return replace(r, lines, r"\b(?:set_stream|synchronize)\((.*)\)$",
                   lambda text: r.choice(["0", "main", "%s + 1" % text]))


def change_index(r, lines):
    """Changes the index of a part: a block of a stream axis, an element of an axis."""
    return replace(r, lines, r"(?:\bshard_by_stream\(\w+, |\bselect\(\w+, axis=\d+, index=)(.*)\)$",
                   lambda text: r.choice(["0", "1", other_number(r, text)]))


def change_block(r, lines):
    """Changes a placement in a type, the ends of a slice, or the number of packed blocks."""
    placements = sorted(set(re.findall(r"@\w+(?:\(\w+\))?", "\n".join(lines)))) + [""]
    known = set(statements(lines))
    return replace(r, lines, r"(@\w+(?:\(\w+\))?|(?<=start=)[^,)]+|(?<=stop=)[^,)]+|(?<=blocks=)\d+)",
                   lambda text: r.choice(placements) if text[0] == "@" else other_number(r, text),
                   lambda k: k in known)


def change_accumulate(r, lines):
    """Lets a product add to its buffer or replace it, or lets a buffer begin with zeros or not."""
    def other(text):
        return {"true": "false", "false": "true", ")": ", accumulate=true)", "()": "(zero_init=true)"}[text]
    return replace(r, lines, r"(?:accumulate=|zero_init=)(true|false)|<- (?:matmul|linear)\([^=()]*(\))$|allocate(\(\))$",
                   other)


def change_tensor(r, lines):
    """Replaces one tensor by another of the program."""
    names = sorted(set(re.findall(r"^\s+(?:input |inout |output )?(\w+)(?:: [^=]*)?(?: =|$)", "\n".join(lines), re.M)))
    return replace(r, lines, r"[(,] ?(%s)\b" % "|".join(map(re.escape, names)), lambda _: r.choice(names))


KINDS = [drop, drop_wait, swap, swap_far, change_peer, change_root, change_bound, change_stream, change_index, change_block,
         change_accumulate, change_tensor]


def mutant(r, lines):
    """Returns the change and the program; None: there is no place for the change."""
    kind = r.choice(KINDS)
    try:
        changed = kind(r, lines)
    except IndexError:  # nothing to choose from
        return None
    return None if changed == lines else (kind.__name__, changed)
