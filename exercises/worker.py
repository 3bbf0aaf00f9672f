"""The child process: reads one solution file, then answers calls until its input ends.

    python worker.py PATH STAND_IN

In: pickled (function name, arguments), from the checks' side, which we trust. Out: one line for
each message, the `repr` of a dict of plain values, which the checks' side reads with
`ast.literal_eval`: nothing that a student's object does can run over there.

STAND_IN may be empty, or `module:function`: a right function that takes the place of the student's own,
so that what builds on it can be judged by itself. No expected value comes here.

What the student prints travels as messages of its own, in order, so a hung call's output is not
lost. Left out: protection from a hostile solution; nothing worth stealing is in this process.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import os
import pickle
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

PRINTED_CHARACTERS = 2_000  # for each call: a print in an endless loop must not fill the pipe
ANSWER_CHARACTERS = 1_000_000

_NAMES_ENCODING = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")  # as PEP 263 has it

Message = dict[str, Any]
Send = Callable[[Message], None]


class NotPlainError(Exception):
    """A returned value that is, or holds, something else than plain data; the message names its type."""


class Prints(io.TextIOBase):
    """Stands in for `sys.stdout` and `sys.stderr`."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.left = PRINTED_CHARACTERS

    def write(self, text: str) -> int:
        if kept := text[: self.left]:
            self.left -= len(kept)
            self.send({"printed": kept})
        return len(text)


def main(path: str, stand_in: str = "") -> None:
    requests, replies = _take_pipes()

    def send(message: Message) -> None:
        replies.write(repr(message).encode("utf-8", "backslashreplace") + b"\n")
        replies.flush()

    prints = Prints(send)
    sys.stdout = sys.stderr = prints
    module, trouble = _load(path)
    if stand_in and not trouble:
        home, _, name = stand_in.partition(":")
        setattr(module, name, getattr(importlib.import_module(home), name))
    send(trouble or {"loaded": True})
    while True:
        try:
            function, arguments = pickle.load(requests)
        except EOFError:
            return
        prints.left = PRINTED_CHARACTERS
        send(trouble or _answer(module, path, function, pickle.dumps(arguments)))


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Our two pipes, moved away from 0 and 1: `input()` meets an end of file, a stray write nobody."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    return requests, replies


def _load(path: str) -> tuple[ModuleType, Message | None]:
    spec = importlib.util.spec_from_file_location("solution", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["solution"] = module
    sys.path.append(str(Path(path).parent))  # a solution may have helper files beside it
    if unreadable := _not_text(Path(path)):
        return module, {"kind": "load", "type": "SyntaxError", **unreadable}
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        return module, {"kind": "load", **_describe(error, path)}
    return module, None


def _not_text(path: Path) -> Message | None:
    """What is wrong where `python FILE` would refuse the bytes; the import system lets some of them pass."""
    lines = path.read_bytes().split(b"\n")
    if any(_NAMES_ENCODING.match(line) for line in lines[:2]):
        return None  # the import system then reads the file as `python FILE` does
    for number, line in enumerate(lines, 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            message = f"byte {line[error.start]:#04x} is not UTF-8. Save the file in the encoding UTF-8."
            return {"message": message, "line": number, "source": line.decode("utf-8", "replace").strip()}
    return None


def _answer(module: ModuleType, path: str, name: str, pickled: bytes) -> Message:
    arguments, untouched = pickle.loads(pickled), pickle.loads(pickled)
    function = getattr(module, name, None)
    if function is None:
        return {"kind": "missing"}
    if not callable(function):
        return {"kind": "not callable", "type": type(function).__name__}
    if not _takes(function, arguments):
        return {"kind": "signature", "signature": name + _names_of_arguments(function)}
    try:
        value = plain(function(*arguments))
    except NotPlainError as error:
        return {"kind": "not plain", "type": str(error)}
    except BaseException as error:  # SystemExit and KeyboardInterrupt too: they would end the worker
        return {"kind": "raised", **_describe(error, path)}
    for place, (now, before) in enumerate(zip(arguments, untouched, strict=True)):
        if isinstance(before, list | dict | set) and now != before:
            return {"kind": "changed", "argument": place}
    if len(repr(value)) > ANSWER_CHARACTERS:
        return {"kind": "unreadable"}
    return {"kind": "answer", "value": value}


def _takes(function: Callable[..., object], arguments: tuple[object, ...]) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    return True


def _names_of_arguments(function: Callable[..., object]) -> str:
    signature, empty = inspect.signature(function), inspect.Parameter.empty
    names = [parameter.replace(annotation=empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=names, return_annotation=empty))


def plain(value: object) -> object:
    """`value` in built-in types alone, so that its `repr` can be read back: defaultdict → dict, and so on."""
    if value is None or type(value) in (bool, int, float, str, bytes):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    for container in (list, tuple, set):
        if isinstance(value, container):
            return container(map(plain, value))
    raise NotPlainError(f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins."))


def _describe(error: BaseException, path: str) -> Message:
    """Type, text, and the deepest line of the student's own file that was running."""
    found: Message = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, SyntaxError) and error.filename == path:
        return {**found, "message": error.msg, "line": error.lineno, "source": (error.text or "").strip()}
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            found |= {"line": frame.lineno, "source": frame.line or ""}
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
