"""Schemas that are large, deep or nasty: a result or a typed error within ten seconds and 1 GB, in a child.

The child has the limits of the machine, not of a test: a crash, a hang or a hunger for memory fails here.
What is compiled is also read: some tokens are drawn from its masks.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MEMORY = 2_500_000_000  # of address space, of which libraries reserve much; what is used is measured
USED_MEGABYTES = 1_000
SECONDS = 10.0  # of the processor: the machine may be busy with something else

CHILD = """
import json, random, sys, time
import minidecoder as md
from minidecoder.cli.bench_memory import memory_peak
from minidecoder.compiling import compile_json_schema

def nested(times, wrap, schema):
    for _ in range(times):
        schema = wrap(schema)
    return schema

schema = eval(sys.stdin.read())
vocabulary = md.Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), "</s>"], eos=256)
begin = time.process_time()
try:
    constraint = compile_json_schema(schema, vocabulary)
    outcome = "compiled"
except md.MiniDecoderError as fault:
    constraint, outcome = None, type(fault).__name__ + ": " + str(fault)[:200]
compiled = time.process_time() - begin
written, pick = 0, random.Random(1)
if constraint is not None:
    matcher = constraint.matcher()
    try:
        while written < 60 and not matcher.is_terminated and time.process_time() - begin < 10:
            allowed = matcher.allowed_token_ids()
            assert len(allowed), "an empty mask"
            assert matcher.accept_token(int(pick.choice(allowed)))
            written += 1
    except md.ConstraintTooLargeError as fault:
        outcome = "late " + str(fault)
used = (memory_peak() or 0) / 1e6  # its own: getrusage would also count what the parent held at the fork
print(json.dumps({"outcome": outcome, "compiled": compiled, "written": written, "megabytes": used}))
"""

COMPILED, TOO_LARGE = "compiled", "ConstraintTooLargeError"
CYCLE = "SchemaError: the schema needs .* for the same value, and so itself"
DEEP = "SchemaError: the schema is nested deeper than 500 levels"
NOTHING = "UnsatisfiableConstraintError"
EITHER = f"{COMPILED}|{TOO_LARGE}|late"

# A schema as Python would write it, and what must come of it.
CASES = {
    "nested 100,000 deep, as text": ("'{\"items\":' * 100_000 + '{}' + '}' * 100_000", DEEP),
    "nested 100,000 deep": ("nested(100_000, lambda s: {'items': s}, {})", DEEP),
    "allOf 200 deep": ("nested(200, lambda s: {'allOf': [s]}, {'type': 'integer'})", COMPILED),
    "not 240 deep": ("nested(240, lambda s: {'not': s}, {'type': 'integer'})", COMPILED),
    "anyOf 200 deep": ("nested(200, lambda s: {'anyOf': [s, {'type': 'string'}]}, {'type': 'integer'})", COMPILED),
    "properties 230 deep": ("nested(230, lambda s: {'type': 'object', 'properties': {'a': s}, 'required': ['a']}, {'type': 'null'})", COMPILED),
    "if 100 deep": ("nested(100, lambda s: {'if': {'required': ['a']}, 'then': s, 'else': {'required': ['b']}}, {'type': 'object'})", COMPILED),
    "oneOf that doubles 12 times": ("nested(12, lambda s: {'oneOf': [s, {'type': 'array', 'items': s}]}, {'type': 'integer'})", EITHER),
    "oneOf of 30 overlapping objects": ("{'oneOf': [{'type': 'object', 'properties': {f'p{j}': {'type': ['string', 'integer']} for j in range(i, i + 5)}, 'required': [f'p{i}']} for i in range(30)]}", EITHER),
    "oneOf of 30 open objects": ("{'oneOf': [{'properties': {f'p{j}': {'type': 'string'} for j in range(30) if j != i}, 'required': [f'p{i}']} for i in range(30)]}", EITHER),
    "oneOf of 30 patterns": ("{'oneOf': [{'pattern': f'a.{{{i}}}b'} for i in range(30)]}", EITHER),
    "oneOf of 30 intervals": ("{'oneOf': [{'type': 'integer', 'minimum': i, 'maximum': i + 10} for i in range(30)]}", COMPILED),
    "allOf of 30 patterns": ("{'allOf': [{'pattern': f'x{i}.*y'} for i in range(30)]}", EITHER),
    "unevaluated behind 15 choices": ("{'anyOf': [{'properties': {f'p{i}': True}, 'required': [f'p{i}']} for i in range(15)], 'unevaluatedProperties': False}", EITHER),
    "a schema that is itself": ("{'$ref': '#'}", CYCLE),
    "two that are each other": ("{'$defs': {'a': {'allOf': [{'$ref': '#/$defs/b'}]}, 'b': {'anyOf': [{'$ref': '#/$defs/a'}, {}]}}, '$ref': '#/$defs/a'}", CYCLE),
    "a chain of 5,000 references": ("{'$defs': {**{f'd{i}': {'$ref': f'#/$defs/d{i + 1}'} for i in range(5_000)}, 'd5000': {'type': 'integer'}}, '$ref': '#/$defs/d0'}", COMPILED),
    "5 MB of properties": ("json.dumps({'type': 'object', 'properties': {f'name_{i}': {'type': 'object', 'properties': {f'f{j}': {'type': 'string', 'maxLength': j + 1, 'description': 'x' * 40} for j in range(8)}, 'required': ['f0']} for i in range(6_500)}})", EITHER),
    "5 MB of description": ("{'description': 'x' * 5_000_000, 'type': 'integer'}", COMPILED),
    "5 MB of values": ("{'enum': [f'{i * 7919 % 1000003:032}' for i in range(130_000)]}", EITHER),
    "a pattern of 2^41 states": ("{'pattern': '(a|b)*a(a|b){40}'}", TOO_LARGE),
    "a pattern of a million letters": ("{'pattern': '^((a{1,100}){1,100}){1,100}$'}", TOO_LARGE),
    "names of a pattern that explodes": ("{'propertyNames': {'pattern': '(a|b)*a(a|b){40}'}, 'minProperties': 1}", EITHER),
    "14 patterns of names": ("{'patternProperties': {f'a.{{{i}}}b': {'type': 'integer'} for i in range(6)}, 'additionalProperties': False}", EITHER),
    "20 overlapping patterns of names": ("{'patternProperties': {chr(97 + i): {'minimum': i} for i in range(20)}}", EITHER),
    "minItems of a billion": ("{'type': 'array', 'minItems': 10**9}", COMPILED),
    "maxItems of a billion": ("{'type': 'array', 'maxItems': 10**9, 'items': {'type': 'integer'}}", COMPILED),
    "minLength of a billion": ("{'type': 'string', 'minLength': 10**9}", COMPILED),
    "maxLength of a billion": ("{'type': 'string', 'maxLength': 10**9}", COMPILED),
    "lengths of a pattern": ("{'type': 'string', 'pattern': '^(a{7}|b{11}|c{13})*$', 'maxLength': 10**6, 'minLength': 10**6 - 1}", COMPILED),
    "minContains of a billion": ("{'type': 'array', 'contains': {'const': 1}, 'minContains': 10**9}", COMPILED),
    "maxProperties of a billion": ("{'type': 'object', 'maxProperties': 10**9}", COMPILED),
    "12 values to contain": ("{'type': 'array', 'allOf': [{'contains': {'const': i}} for i in range(12)]}", EITHER),
    "10,000 places of a tuple": ("{'type': 'array', 'prefixItems': [{'type': 'integer'}] * 10_000}", EITHER),
    "10,000 properties": ("{'type': 'object', 'properties': {f'p{i}': {'type': 'integer'} for i in range(10_000)}}", EITHER),
    "1,000 properties": ("{'type': 'object', 'properties': {f'p{i}': {'type': 'integer'} for i in range(1_000)}}", COMPILED),
    "1,000 required names": ("{'type': 'object', 'required': [f'r{i}' for i in range(1_000)]}", COMPILED),
    "20 required names, others closed": ("{'type': 'object', 'required': [f'r{i}' for i in range(20)], 'additionalProperties': {'type': 'integer'}}", COMPILED),
    "required names that cannot be": ("{'type': 'object', 'required': [f'r{i}' for i in range(100)], 'additionalProperties': False}", NOTHING),
    "20 names that need each other": ("{'type': 'object', 'dependentRequired': {f'p{i}': [f'p{j}' for j in range(20) if j != i] for i in range(20)}}", EITHER),
    "an enum of 10,000 texts": ("{'enum': [f'value number {i} of many' for i in range(10_000)]}", COMPILED),
    "an enum of 10,000 numbers": ("{'enum': [i * 7919 for i in range(10_000)]}", COMPILED),
    "an enum of 3,000 objects": ("{'enum': [{'k': i} for i in range(3_000)]}", EITHER),
    "all but 10,000 texts": ("{'type': 'string', 'not': {'enum': [f'value number {i}' for i in range(10_000)]}}", COMPILED),
    "a text of a million letters": ("{'const': 'c' * 1_000_000}", EITHER),
    "multiples of a large prime": ("{'type': 'integer', 'multipleOf': 10**40 + 1}", TOO_LARGE),
    "multiples of six primes": ("{'type': 'integer', 'allOf': [{'multipleOf': p} for p in (7, 11, 13, 17, 19, 23)]}", EITHER),
    "a bound of a billion digits": ("'{\"maximum\": 1e999999999}'", TOO_LARGE),
    "a bound of 401 digits": ("'{\"type\": \"integer\", \"maximum\": 1e400}'", COMPILED),
    "20 different values, each once": ("{'type': 'array', 'items': {'enum': list(range(20))}, 'uniqueItems': True}", EITHER),
    "21 different values of 20": ("{'type': 'array', 'items': {'enum': list(range(20))}, 'uniqueItems': True, 'minItems': 21}", f"{TOO_LARGE}|{NOTHING}"),
    "a tree without end": ("{'$defs': {'n': {'type': 'object', 'properties': {'c': {'$ref': '#/$defs/n'}}, 'required': ['c']}}, '$ref': '#/$defs/n'}", NOTHING),
    "a choice that is a puzzle": ("{'type': 'object', 'properties': {f'x{i}': {'type': 'boolean'} for i in range(20)}, 'required': [f'x{i}' for i in range(20)], 'additionalProperties': False, 'allOf': [{'anyOf': [{'properties': {f'x{(k * 7 + j * 5) % 20}': {'const': (k + j) % 2 == 0}}} for j in range(3)]} for k in range(60)]}", EITHER),
}  # fmt: skip


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.mark.parametrize("name", CASES)
def test_it_ends_in_time_and_within_memory(name: str) -> None:
    schema, expected = CASES[name]
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=schema,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=200,
        check=False,
        preexec_fn=limited,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    found = json.loads(done.stdout)
    assert re.match(expected, found["outcome"]), found
    assert found["compiled"] < SECONDS * 1.2, found
    assert 0 < found["megabytes"] < USED_MEGABYTES, found
    assert found["written"] or found["outcome"] != COMPILED
