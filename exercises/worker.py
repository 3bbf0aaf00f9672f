"""The child process: reads one solution file, then answers calls until its input ends.

    python worker.py PATH STAND_IN

In: pickled (number of the call, function name, arguments), from the checks' side, which we trust.
Out: one line for each message, the `repr` of a dict of plain values, which the checks' side reads with
`parsed`: nothing that a student's object does can run over there, and odd messages are "garbled".

STAND_IN may be empty, or `module:function`: a right function that takes the place of the student's own,
so that what builds on it can be judged by itself. No expected value comes here.

What the student prints travels as messages of its own, in order, so a hung call's output is not
lost. Left out: protection from a hostile solution; nothing worth stealing is in this process.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import io
import math
import os
import pickle
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Final

PRINTED_CHARACTERS = 2_000  # for each call: a print in an endless loop must not fill the pipe
ANSWER_CHARACTERS = 1_000_000
_DEEPEST = 90  # lists in lists; Python's own parser gives up at about 200
_TEXT_CHARACTERS = 2_000  # of an exception's message

_SHAPES: Final[dict[str, dict[str, type]]] = {  # what each kind of message holds
    "loaded": {},
    "load": {"type": str, "message": str},
    "printed": {"text": str},  # alone in having no "call"
    "missing": {},
    "not callable": {"type": str},
    "signature": {"signature": str},
    "answer": {"value": object},
    "not plain": {"type": str},
    "unreadable": {},
    "raised": {"type": str, "message": str},
    "changed": {"argument": int},
}

_NAMES_ENCODING = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")  # as PEP 263 has it
_WHERE: Final[dict[str, type]] = {"line": int, "source": str}  # in "load" and "raised", if it is known

Message = dict[str, Any]
Send = Callable[[Message], None]


class NotPlainError(Exception):
    """A returned value that is, or holds, something else than plain data; the message names its type."""


class TooDeepError(Exception):
    """A returned value nested beyond all sense, or one that holds itself."""


def parsed(line: bytes) -> Message:
    """The message in a line; `{"kind": "garbled"}` where a student's code wrote to the pipe itself."""
    try:
        message = ast.literal_eval(line.decode())
        shape = _SHAPES[message["kind"]]
        shape = shape | ({} if message["kind"] == "printed" else {"call": int})
        shape |= {key: type_ for key, type_ in _WHERE.items() if key in message}
        fits = all(isinstance(message[key], type_) for key, type_ in shape.items())
    except Exception:  # whatever reading nonsense may raise: ValueError, RecursionError, MemoryError, …
        fits = False
    return message if fits else {"kind": "garbled"}


class Prints(io.TextIOBase):
    """Stands in for `sys.stdout` and `sys.stderr`."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.left = PRINTED_CHARACTERS

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if kept := text[: self.left]:
            self.left -= len(kept)
            self.send({"kind": "printed", "text": str.__str__(kept)})
        return len(text)


def main(path: str, stand_in: str = "") -> None:
    requests, replies = _take_pipes()
    me = os.getpid()

    def send(message: Message) -> None:
        if os.getpid() != me:  # subtle: a process that the student's code forked returns to here too
            return
        replies.write(repr(message).encode("utf-8", "backslashreplace") + b"\n")
        replies.flush()

    prints = Prints(send)
    sys.stdout = sys.stderr = prints
    module, trouble = _load(path)
    if stand_in and not trouble:
        home, _, name = stand_in.partition(":")
        setattr(module, name, getattr(importlib.import_module(home), name))
    send({**(trouble or {"kind": "loaded"}), "call": 0})
    while os.getpid() == me:
        try:
            call, function, arguments = pickle.load(requests)
        except EOFError:
            return
        prints.left = PRINTED_CHARACTERS
        send({**(trouble or _answer(module, path, function, pickle.dumps(arguments))), "call": call})


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
    try:
        return _verdict(module, name, pickled)
    except NotPlainError as error:
        return {"kind": "not plain", "type": str(error)}
    except TooDeepError:
        return {"kind": "unreadable"}
    except BaseException as error:  # SystemExit and KeyboardInterrupt too: they would end the worker
        return {"kind": "raised", **_describe(error, path)}


def _verdict(module: ModuleType, name: str, pickled: bytes) -> Message:
    """What comes of the call; what the student's code raises passes through."""
    arguments, untouched = pickle.loads(pickled), pickle.loads(pickled)
    function = getattr(module, name, None)
    if function is None:
        return {"kind": "missing"}
    if not callable(function):
        return {"kind": "not callable", "type": type(function).__name__}
    if not _takes(function, arguments):
        return {"kind": "signature", "signature": name + _names_of_arguments(function)}
    value = plain(function(*arguments))
    for place, (now, before) in enumerate(zip(arguments, untouched, strict=True)):
        if isinstance(before, list | dict | set) and now != before:
            return {"kind": "changed", "argument": place}
    return {"kind": "answer", "value": value} if _is_short(value) else {"kind": "unreadable"}


def _is_short(value: object) -> bool:
    try:
        return len(repr(value)) <= ANSWER_CHARACTERS
    except ValueError:  # Python writes no int of more than 4300 digits
        return False


def _takes(function: Callable[..., object], arguments: tuple[object, ...]) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # some built-in functions have no signature to look at: the call will tell
        return True
    return True


def _names_of_arguments(function: Callable[..., object]) -> str:
    signature, empty = inspect.signature(function), inspect.Parameter.empty
    names = [parameter.replace(annotation=empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=names, return_annotation=empty))


def plain(value: object, depth: int = 0) -> object:
    """`value` in built-in types alone, so that its `repr` can be read back: defaultdict → dict, and so on."""
    if depth > _DEEPEST:
        raise TooDeepError
    if isinstance(value, float) and not math.isfinite(value):
        raise NotPlainError(f"float of the value {float.__repr__(value)}")  # it has no literal
    if value is None or type(value) in (bool, int, float, str, bytes):
        return value
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict):
        return {plain(key, depth + 1): plain(item, depth + 1) for key, item in value.items()}
    for container in (list, tuple, set):
        if isinstance(value, container):
            return container(plain(item, depth + 1) for item in value)
    raise NotPlainError(f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins."))


def _describe(error: BaseException, path: str) -> Message:
    """Type, text, and the deepest line of the student's own file that was running."""
    found: Message = {"type": type(error).__name__, "message": _text_of(error)}
    if type(error).__module__ == "builtins" and isinstance(error, SyntaxError) and error.filename == path:
        source = str(error.text or "").strip()
        return {**found, "message": str(error.msg), "line": error.lineno or 0, "source": source}
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            found |= {"line": frame.lineno or 0, "source": frame.line or ""}
    return found


def _text_of(error: BaseException) -> str:
    """`str(error)`, which is the student's own code where the class is."""
    try:
        return str.__str__(str(error))[:_TEXT_CHARACTERS]
    except BaseException:
        return "(its __str__ raises an exception too)"


if __name__ == "__main__":
    main(*sys.argv[1:])
