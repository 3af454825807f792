#!/usr/bin/env python3
"""Traces with mistakes, and traces with damaged bytes: tests the messages of hirc."""
import gzip
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from chakra import attribute, data, number, trace, varint  # noqa: E402

ONE = "node 1 a COMP dur=1\n"
HEAD = trace("")


CASES = [
    ('a cycle',
     'node 1 a COMP dur=1 data=2\n'
     'node 2 b COMP dur=1 data=1\n'),
    ('itself',
     'node 1 a COMP dur=1 data=1\n'),
    ('a missing node',
     'node 1 a COMP dur=1 data=7\n'),
    ('a cycle, with a dependency for the order that is dropped',
     'node 1 a COMP dur=1 data=2 ctrl=3\n'
     'node 2 b COMP dur=1 data=1\n'
     'node 3 c COMP dur=1 ctrl=2\n'),
    ('two of one id',
     'node 1 a COMP dur=1\n'
     'node 1 b COMP dur=1\n'),
    ('a type',
     'node 1 a 0 dur=1\n'),
    ('a type that is not known',
     'node 1 a 99 dur=1\n'),
    ('no time',
     'node 1 a COMP\n'),
    ('no time of a collective',
     'node 1 a COMM_COLL attr.comm_type=0\n'),
    ('no time of a message',
     'node 1 a COMM_SEND\n'),
    ('too long',
     'node 1 a COMP dur=1000000000001\n'),
    ('no kind of collective',
     'node 1 a COMM_COLL dur=1 attr.comm_size=8\n'),
    ('another kind of collective',
     'node 1 a COMM_COLL dur=1 attr.comm_type=10\n'),
    ('a negative size',
     'node 1 a COMM_COLL dur=1 attr.comm_type=0 attr.comm_size=-8\n'),
    ('a size that is no number',
     'node 1 a COMM_COLL dur=1 attr.comm_type=0 attr.comm_size="8"\n'),
    ('too large',
     'node 1 a COMM_COLL dur=1 attr.comm_type=2 attr.comm_size=2000000000000000\n'),
    ('half an operation',
     'node 1 a COMP attr.num_ops=0.5\n'),
    ('more operations than there are',
     'node 1 a COMP attr.num_ops:uint64=2**64-1\n'),
    ('a group of unknown size',
     'node 1 a COMM_COLL attr.comm_type=0 attr.comm_size=8 attr.pg_name="dp"\n'),
    ('no list',
     'node 1 a COMP dur=1 in=5;[];[]\n'),
    ('shapes that are no list',
     'node 1 a COMP dur=1 in=[5];5;[]\n'),
    ('a negative tensor',
     "node 1 a COMP dur=1 out=[T(1,-4,2)];[[4]];['Tensor(float)']\n"),
    ('a large tensor',
     "node 1 a COMP dur=1 out=[T(1,2**62,4)];[[4]];['Tensor(float)']\n"),
    ('many tensors',
     'node 1 a COMP dur=1 out=[[T(1,4,4)]*257];[];[]\n'),
    ('a size of a group',
     'node 1 ##~process_group:init~## METADATA in=[\'[{"pg_name":"dp","ranks":[],"group_size":999999}]\'];[[]];[\'String\']\n'),
    ('ranks of a group',
     'node 1 ##~process_group:init~## METADATA in=[\'[{"pg_name":"dp","ranks":[0,-1]}]\'];[[]];[\'String\']\n'),
    ('groups that do not end',
     'node 1 ##~process_group:init~## METADATA in=[\'[{"pg_name":"dp"\'];[[]];[\'String\']\n'),
]


def message(content):
    return varint(len(content)) + content


def say(what, content):
    with open("x.et", "wb") as file:
        file.write(content)
    done = subprocess.run(["hirc", "import", "--group=world:4", "x.et"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    print(f"{what}:\n{done.stdout}", end="")
    if done.returncode != 1:
        print(f"exit code {done.returncode}")


for name, text in CASES:
    say(name, trace(text))
say("cut off", trace(ONE)[:-1])
say("cut off in a length", HEAD + b"\x80")
say("a huge length", HEAD + b"\xff" * 9 + b"\x01")
say("a length that is no number", HEAD + b"\xff" * 11)
say("metadata that is none", message(b"\x0a\x09\x01"))
say("contention that is neither 0 nor 1", message(data(2, attribute("contended", "int64", 2))))
say("contention that is a text", message(data(2, attribute("contended", "string", "1"))))
say("a field that is longer than the node", HEAD + message(number(1, 5) + b"\x12\x7fabc"))
say("an id that does not end", HEAD + message(b"\x08\xff"))
say("an id of more than 64 bits", HEAD + message(b"\x08" + b"\xff" * 9 + b"\x02"))
say("an id that is a text", HEAD + message(data(1, "1")))
say("dependencies that do not end", HEAD + message(number(1, 5) + data(5, b"\x01\x80")))
say("a field without number", HEAD + message(b"\x02\x00"))
say("a group of fields", HEAD + message(b"\x0b\x0c"))
say("a double that is cut off", HEAD + message(data(10, data(1, "num_ops") + b"\x19\x00\x00")))
say("values that are longer than what holds them", HEAD + message(number(1, 5) + data(8, b"\x0a\x05[]")))
say("an empty node", HEAD + message(b""))
say("compressed, cut off", gzip.compress(trace(ONE), mtime=0)[:-12])
say("compressed, damaged", gzip.compress(trace(ONE), mtime=0)[:10] + b"\xff" * 20)
say("compressed, something else", gzip.compress(b"hircgraph 1\n", mtime=0))
say("zeros", bytes(100))
