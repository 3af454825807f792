"""Layouts of a form: the placement and the extent of each axis.

A layout gives placements to letters, for operands and for results; extents of letters; which operands have a pending
sum, and whether the result keeps it. The names, which `--only` uses:

    whole  sharded:a  uneven:a  empty:a  zero:a  one:a  stream:a  both:a  across  gathered  scattered  turned
    pending:0  kept:0  kept:a  unit  unit:a
"""


class Layout:
    def __init__(self, name, operands=None, results=None, extents=None, pending=(), kept=False, unit=False):
        """operands, results: a dict from letters to placements for all of them, or a list with one for each."""
        self.name, self.extents, self.pending, self.kept, self.unit = name, extents or {}, tuple(pending), kept, unit
        self.operands, self.results = operands or {}, results or {}

    def place(self, of, k, letter):
        places = self.operands if of == "operand" else self.results
        return (places[k] if isinstance(places, list) else places).get(letter, "")


FEWER = {1: 1, 2: 1, 3: 4, 4: 5}  # number of elements that leaves some ranks without any: 1, 0; 2, 2, 0; 2, 2, 1, 0
EVEN, UNEVEN = 12, 7


def everywhere(name, places, **more):
    return Layout(name, places, places, **more)


def of(form, ranks):
    """Returns the layouts of a form on a number of ranks."""
    if form.is_placed:
        yield from of_placed(form, ranks)
        return
    letters = form.letters
    free = [x for x in form.letters if x not in form.fixed and x not in form.derived]
    yield Layout("whole")
    if not form.few:
        for x in free:
            yield Layout(f"zero:{x}", extents={x: 0})
            yield Layout(f"one:{x}", extents={x: 1})
    outside = [x for x in (form.results[0].letters if form.results else []) if x in letters]
    if outside:
        yield everywhere(f"stream:{outside[0]}", {outside[0]: "@stream(2)"})
    if form.unit:
        yield Layout("unit", unit=True)
    if ranks > 1:
        yield from of_ranks(form, ranks, letters, free, outside)


def of_ranks(form, ranks, letters, free, outside):
    def extent(x, n):
        return {x: n} if x in free else {}
    first = [*letters[:1], *(form.contracted if form.sums else [])] if form.few else letters
    for x in first:
        yield everywhere(f"sharded:{x}", {x: "@x"}, extents=extent(x, EVEN))
    if form.few:
        return
    for x in letters:
        if x in free:
            yield everywhere(f"uneven:{x}", {x: "@x"}, extents={x: UNEVEN})
            yield everywhere(f"empty:{x}", {x: "@x"}, extents={x: FEWER[ranks]})
            yield everywhere(f"zero:{x}@x", {x: "@x"}, extents={x: 0})
        if form.unit and x in outside and not (x in form.contracted):
            yield everywhere(f"unit:{x}", {x: "@x"}, extents=extent(x, UNEVEN), unit=True)
    for x in outside:
        yield everywhere(f"both:{x}", {x: "@stream(2)@x"}, extents=extent(x, EVEN))
    if len(letters) > 1:
        inner, outer = letters[1], letters[0]
        yield everywhere("across", {outer: "@stream(2)", inner: "@x"})
        yield Layout("turned", [{letters[(k + 1) % len(letters)]: "@x"} for k in range(len(form.operands))],
                     {outer: "@x"})
    if outside and form.operands:
        yield Layout("gathered", {outside[0]: "@x"}, {}, extents=extent(outside[0], UNEVEN))
        yield Layout("scattered", {}, {outside[-1]: "@x"}, extents=extent(outside[-1], UNEVEN))
    for k, operand in enumerate(form.operands):
        if operand.make is None and operand.dtype is None:
            yield Layout(f"pending:{k}", pending=[k])
    for kept in form.keeps:
        yield Layout("kept:" + "".join(map(str, kept)), pending=kept, kept=True)
    for x in form.contracted:
        if form.sums and form.keeps:
            yield Layout(f"kept:{x}", {x: "@x"}, {}, extents=extent(x, EVEN), kept=True)


def of_placed(form, ranks):
    """Returns the layouts that the form states, with different extents."""
    placed = [letter for t in form.operands + form.results for letter, place in t.axes if place]
    placed = [x for x in dict.fromkeys(placed) if x not in form.fixed and x not in form.derived]
    yield Layout("even", extents={x: EVEN for x in placed})
    for x in placed:
        yield Layout(f"zero:{x}", extents={**{y: EVEN for y in placed}, x: 0})
        if ranks > 1:
            yield Layout(f"uneven:{x}", extents={**{y: EVEN for y in placed}, x: UNEVEN})
            yield Layout(f"empty:{x}", extents={**{y: EVEN for y in placed}, x: FEWER[ranks]})
