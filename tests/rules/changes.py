"""Small changes of a program of rules.py, made so that most are still programs."""
import re

TYPED = re.compile(r"\s*(?:input|output)? ?\w+: ")
STATEMENT = re.compile(r"\s+(?!input|schedule|for|if|mesh|program)[^{}]+$")
FAMILIES = ["sum max min prod mean", "add sub mul maximum minimum", "relu abs neg exp tanh sigmoid sin",
            "allreduce reduce", "layernorm rmsnorm softmax", "gt lt ge le eq"]


def places(text, pattern, keep=lambda line: True):
    """Returns the spans of the last group of the pattern, in lines that `keep` takes."""
    at, found = 0, []
    for line in text.splitlines(True):
        matches = re.finditer(pattern, line) if keep(line) else []
        found += [(at + m.start(m.lastindex), at + m.end(m.lastindex)) for m in matches]
        at += len(line)
    return found


def put(text, span, new):
    return text[:span[0]] + new + text[span[1]:]


def other_number(r, text):
    """Changes an argument, an index or a bound."""
    span = r.choice(places(text, r"(?:=|\.\.|, |\+ |\()(\d+)(?=[^.\d@]|$)", lambda line: not TYPED.match(line)
                           or "= allocate" not in line and "input" not in line))
    n = int(text[span[0]:span[1]])
    return put(text, span, str(r.choice([n + 1, max(0, n - 1), n + 2])))


def other_factor(r, text):
    span = r.choice(places(text, r"(\d+\.\d+)"))
    return put(text, span, r.choice(["1.0", "3.0", "0.5"]))


def other_operand(r, text):
    heads = re.findall(r"^\s*(?:input |output )?(\w[^=<{(]*?)(?: = | <- |$)", text, re.M)
    names = sorted({name for head in heads for name in re.findall(r"(?:^|, )([A-Za-z]\w*)(?=:|,|$)", head)})
    span = r.choice(places(text, r"[(,] ?(%s)(?=[,)\]])" % "|".join(names)))
    return put(text, span, r.choice([x for x in names if x != text[span[0]:span[1]]]))


def swap_operands(r, text):
    span = r.choice(places(text, r"\((\w+, \w+)[,)]"))
    return put(text, span, ", ".join(reversed(text[span[0]:span[1]].split(", "))))


def other_place(r, text):
    """Takes a placement out, moves it to another axis, or takes another mesh axis."""
    known = sorted(set(re.findall(r"@\w+(?:\(\w+\))?", text)))
    span = r.choice(places(text, r"(@\w+(?:\(\w+\))?)"))
    return put(text, span, r.choice([x for x in known + [""] if x != text[span[0]:span[1]]]))


def move_place(r, text):
    span = r.choice(places(text, r"\[([^\]]*@[^\]]*)\]"))
    axes = text[span[0]:span[1]].split(", ")
    from_ = r.choice([k for k, axis in enumerate(axes) if "@" in axis])
    to = r.choice([k for k in range(len(axes)) if k != from_])
    extent, _, place = axes[from_].partition("@")
    axes[from_], axes[to] = extent, axes[to] + "@" + place
    return put(text, span, ", ".join(axes))


def add_copies(r, text):
    """Gives inputs whole to the ranks along a mesh axis."""
    axis = r.choice(sorted(set(re.findall(r"@[xy]\b", text))))
    return "".join(line.replace(axis, "") if line.lstrip().startswith("input") else line
                   for line in text.splitlines(True))


def drop(r, text):
    lines = text.splitlines(True)
    k = r.choice([k for k, line in enumerate(lines) if STATEMENT.match(line)])
    return "".join(lines[:k] + lines[k + 1:])


def twice(r, text):
    lines = text.splitlines(True)
    k = r.choice([k for k, line in enumerate(lines) if STATEMENT.match(line) and "<-" in line and " as " not in line])
    return "".join(lines[:k + 1] + lines[k:])


def other_flag(r, text):
    span = r.choice(places(text, r"(true|false)"))
    return put(text, span, {"true": "false", "false": "true"}[text[span[0]:span[1]]])


def add_flag(r, text):
    span = r.choice(places(text, r"(?:allocate\(|<- matmul\([^=()]*|<- linear\([^=()]*)(\))"))
    return put(text, span, "zero_init=true)" if text[span[0] - 1] == "(" else ", accumulate=true)")


def other_operation(r, text):
    words = {w: family.split() for family in FAMILIES for w in family.split()}
    span = r.choice(places(text, r"\b(%s)(?=\()" % "|".join(words)))
    word = text[span[0]:span[1]]
    return put(text, span, r.choice([x for x in words[word] if x != word]))


def other_sign(r, text):
    span = r.choice(places(text, r" ([-+*]) (?=\w+$)"))
    return put(text, span, r.choice([x for x in "+-*" if x != text[span[0]:span[1]]]))


def other_reduction(r, text):
    kinds = ["sum", "max", "min", "prod", "avg"]
    span = r.choice(places(text, r"(?:op=|partial )(%s)" % "|".join(kinds)))
    return put(text, span, r.choice(kinds))


def other_rank(r, text):
    """Changes a number that depends on the rank."""
    span = r.choice(places(text, r"(rank|axis_index\(\w+\))"))
    return put(text, span, r.choice(["0", "1", "(%s + 1)" % text[span[0]:span[1]]]))


def other_order(r, text):
    span = r.choice(places(text, r"(?:allocation|permute\(\w+,) \(([\d, ]+)\)"))
    order = text[span[0]:span[1]].split(", ")
    r.shuffle(order)
    return put(text, span, ", ".join(order))


def add_order(r, text):
    """Lets a tensor lie in memory in another order."""
    lines = text.splitlines(True)
    typed = re.compile(r"(\s*)(?:input |output )?(\w+): \w+\[([^\]]*,[^\]]*)\]")
    k = r.choice([k for k, line in enumerate(lines) if typed.match(line)])
    m = typed.match(lines[k])
    order = list(range(len(re.findall(r"[,@]", m[3])) + 1))
    r.shuffle(order)
    made = "%sschedule %s { allocation (%s) }\n" % (m[1], m[2], ", ".join(map(str, order)))
    return "".join(lines[:k + 1] + [made] + lines[k + 1:])


KINDS = [other_number, other_number, other_number, other_factor, other_operand, other_operand, swap_operands,
         other_place, move_place, add_copies, drop, twice, other_flag, add_flag, other_operation, other_sign,
         other_reduction, other_rank, other_order, add_order]


def change(r, text):
    """Returns the kind of change and the text; None: there is no place for it."""
    for _ in range(4):
        kind = r.choice(KINDS)
        try:
            changed = kind(r, text)
        except (IndexError, ValueError):  # nothing to choose from
            continue
        if changed != text:
            return kind.__name__, changed
    return None
