#!/usr/bin/env python3
"""Writes a Chakra execution trace from its description, without a library for Protocol Buffers.

    chakra.py FILE.txt [OUT]

A line is a node, fields separated by blanks; ~ stands for a blank within a field:

    node ID NAME TYPE [dur=US] [data=ID,…] [ctrl=ID,…] [attr.NAME=VALUE] [in=V;S;T] [out=V;S;T]

TYPE is a number or its name in the schema. An attribute is an int64, a string (in quotes), a bool, a list of
bools, or a double; attr.NAME:KIND=VALUE is of the named kind. in and out are the lists of values, shapes and
types, each evaluated in Python with T(storage, elements, bytes[, device]) as the value of a tensor.
"""
import struct
import sys

TYPES = ["INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL"]
KINDS = {"double": 3, "float": 5, "int32": 7, "int64": 9, "uint32": 11, "uint64": 13, "sint64": 17,
         "fixed64": 21, "bool": 27, "bools": 28, "string": 29}


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 0x7F:
        out.append(v & 0x7F | 0x80)
        v >>= 7
    return bytes(out + bytes([v]))


def number(field, v):
    return varint(field << 3) + varint(v) if v else b""


def data(field, v):
    v = v.encode() if isinstance(v, str) else v
    return varint(field << 3 | 2) + varint(len(v)) + v


def attribute(name, kind, v):
    if kind is None:
        kind = {bool: "bool", int: "int64", float: "double", str: "string", list: "bools"}[type(v)]
    field = KINDS[kind]
    if kind == "string":
        value = data(field, v)
    elif kind == "bools":
        value = data(field, data(1, bytes(v)))
    elif kind in ("double", "float", "fixed64"):
        value = varint(field << 3 | (5 if kind == "float" else 1))
        value += struct.pack({"double": "<d", "float": "<f", "fixed64": "<Q"}[kind], v)
    else:
        value = varint(field << 3) + varint(v << 1 ^ v >> 63 if kind == "sint64" else v)
    return data(1, name) + value


def tensor(storage, elements, size, device="cuda:0"):
    return [storage * 10, storage, 0, elements, size, device]


def lists(text):
    parts = [str(eval(part, {"T": tensor})) for part in text.split(";")]
    return b"".join(data(k + 1, part) for k, part in enumerate(parts))


def node(words):
    words = [word.replace("~", " ") for word in words]
    kind = int(words[3]) if words[3].isdigit() else TYPES.index(words[3])
    out = number(1, int(words[1])) + (data(2, words[2]) if words[2] != "-" else b"") + number(3, kind)
    for word in words[4:]:
        key, value = word.split("=", 1)
        if key in ("data", "ctrl"):
            out += data(4 + (key == "data"), b"".join(varint(int(i)) for i in value.split(",")))
        elif key == "dur":
            out += number(7, int(value))
        elif key in ("in", "out"):
            out += data(8 + (key == "out"), lists(value))
        else:
            name, _, of = key.removeprefix("attr.").partition(":")
            out += data(10, attribute(name, of or None, eval(value)))
    return out


def trace(text):
    messages = [data(1, "0.0.4")]
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            messages.append(node(line.split()))
    return b"".join(varint(len(m)) + m for m in messages)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") if sys.argv[1] != "-" else sys.stdin as file:
        made = trace(file.read())
    with open(sys.argv[2], "wb") if len(sys.argv) > 2 else sys.stdout.buffer as file:
        file.write(made)
