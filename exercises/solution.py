"""The checks' side of a solution: puts calls to a worker process and turns trouble into feedback.

`Worker` owns the child process. `Solution` is what the fixture gives to one check: `answer(call)`
returns a plain value of the right form or raises `Wrong` with words for the student; `refute(call,
yours)` ends the check with Yours, Expected and Why it matters.

A call that does not return within the check's limit has its process killed; the next check gets a
new one. Left out: memory limits and hostile code. Cost: about 0.3 s to start, 0.1 ms for each call.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from exercises.checks import Call, Check, Lines, Task, Wrong
from exercises.worker import ANSWER_CHARACTERS, PRINTED_CHARACTERS, parsed

__all__ = ["Solution", "Worker"]

_ROOT: Final = Path(__file__).resolve().parent.parent
_SHOWN: Final = 200  # characters of a value
_SHOWN_LINES: Final = 5  # of what was printed
_LINE_BYTES: Final = 5 * ANSWER_CHARACTERS  # a line without an end must not fill our memory
_WAITING: Final = 100  # nor must lines without end: they wait in the pipe


class Worker:
    """One child process that has read one solution file; starts at the first call, and again after `stop`.

    `stand_in`: `module:function`, which takes the place of the file's own function of that name."""

    def __init__(self, path: Path, stand_in: str = "") -> None:
        self.path = path.resolve()
        self.stand_in = stand_in
        self.printed = ""
        self._trouble: dict[str, Any] | None = None  # importing the file hangs or ends the process
        self._process: subprocess.Popen[bytes] | None = None
        self.calls = (
            0  # of this process; a reply names its call, so that one too many is not taken for the next
        )
        self._messages: queue.Queue[bytes | None] = queue.Queue()

    def ask(self, function: str, arguments: tuple[Any, ...], seconds: float) -> dict[str, Any]:
        """The worker's reply. `TimeoutError` after `seconds`, `EOFError` where the process has ended."""
        deadline = time.monotonic() + seconds
        if self._process is None and self._trouble is None:
            self._trouble = self._start(deadline, seconds)
        if self._trouble is not None:
            return self._trouble
        assert self._process is not None
        assert self._process.stdin is not None
        self.printed = ""
        self.calls += 1
        try:
            self._process.stdin.write(pickle.dumps((self.calls, function, arguments)))
            self._process.stdin.flush()
        except OSError:  # the process ended between two calls
            raise EOFError from None
        return self._reply(deadline, self.calls)

    def stop(self) -> None:
        """End the process and those it started, whatever they are doing."""
        if self._process is not None:
            _kill_with_children(self._process)
            self._process.wait()
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):  # bytes left over for a process that is gone
                self._process.stdin.close()
            # subtle: `_read` closes the other pipe. Whoever escaped may hold it open, and we would wait.
            self._process = None

    def _start(self, deadline: float, seconds: float) -> dict[str, Any] | None:
        """Start the process and let it import the file; what is wrong, where that never ends well."""
        self._spawn()
        try:
            kind = self._reply(deadline, 0)["kind"]
            if kind in ("load", "loaded"):
                return None  # what is wrong with the file, the worker says at each call
            trouble = f"Importing it {_GARBLED}."
        except TimeoutError:
            trouble = f"Importing it was not over after {seconds:g} seconds."
        except EOFError:
            trouble = "Importing it ended the whole Python process."
        self.stop()
        return {"kind": "load", "type": trouble, "message": ""}

    def _spawn(self) -> None:
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTHONHASHSEED": "0",  # sets come in the same order in every run
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [
            sys.executable,
            "-P",
            str(_ROOT / "exercises" / "worker.py"),
            str(self.path),
            self.stand_in,
        ]
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a process group of its own, for `_kill_with_children`
        )
        self.calls = 0
        self._messages = queue.Queue(_WAITING)
        assert self._process.stdout is not None
        reader = threading.Thread(target=_read, args=(self._process.stdout, self._messages), daemon=True)
        reader.start()

    def _reply(self, deadline: float, call: int) -> dict[str, Any]:
        """The reply to the call of that number; prints are collected on the way."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:  # subtle: a queue that is never empty gives without regard to its timeout
                raise TimeoutError
            try:
                line = self._messages.get(timeout=left)
            except queue.Empty:
                raise TimeoutError from None
            if line is None:
                raise EOFError
            message = parsed(line)
            if message["kind"] != "printed":
                if message.get("call", call) == call:
                    return message
                continue
            self.printed = (self.printed + message["text"])[:PRINTED_CHARACTERS]


def _kill_with_children(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        command = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        with contextlib.suppress(OSError):
            subprocess.run(command, capture_output=True, check=False)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # no one is left
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _read(pipe: IO[bytes], messages: queue.Queue[bytes | None]) -> None:
    # A pipe cannot be read with a time limit on every system; a queue that a thread fills can.
    held = b""
    with pipe, contextlib.suppress(OSError, queue.Full):
        while len(held) <= _LINE_BYTES and (piece := os.read(pipe.fileno(), 1 << 16)):
            *lines, held = (held + piece).split(b"\n")
            for line in lines:
                messages.put(line, timeout=60)  # Full: nobody asks any more, or not for long
        if len(held) > _LINE_BYTES:
            messages.put(b"", timeout=60)  # no message: garbled
        messages.put(None, timeout=60)


class Solution:
    """A student's file, as one check sees it."""

    def __init__(self, worker: Worker, check: Check, *, limit_s: float | None = None) -> None:
        self._worker = worker
        self._check = check
        self._limit = check.limit_s if limit_s is None else limit_s
        self._left = self._limit
        self._last: Any = None

    def answer(self, call: Call) -> Any:
        """What the task's function returns for the call: plain data of the form that the task asks for."""
        started = time.monotonic()
        try:
            reply = self._worker.ask(self._check.task.function, call.arguments, self._left)
        except TimeoutError:
            self._worker.stop()
            self._give_up(call, f"still running after {self._limit:g} seconds, the limit of a check: stopped")
        except EOFError:
            self._worker.stop()
            self._give_up(call, "ended the whole Python process instead of returning")
        finally:
            self._left -= time.monotonic() - started
        if reply["kind"] in ("garbled", "loaded", "printed"):
            self._worker.stop()  # what else is in the pipe, nobody knows
            self._give_up(call, f"no answer: your code {_GARBLED}")
        return self._checked(reply, call)

    def refute(self, call: Call, yours: str, *, hint: str | None = None) -> NoReturn:
        """End the check: the answer to `call` is not the expected one. `hint` in place of the check's own."""
        lines = [*self._lines(call, yours), ("Why it matters", call.why)]
        if self._remembers_earlier_calls(call):
            hint = _MEMORY
        raise Wrong(lines, kind="answer", hint=hint or self._check.hint)

    def _checked(self, reply: dict[str, Any], call: Call) -> Any:
        task, kind = self._check.task, reply["kind"]
        if kind == "answer" and task.form(reply["value"]):
            self._last = reply["value"]
            return self._last
        if kind == "answer" and reply["value"] is None:
            self._give_up(call, "None: is there a `return`?", kind="form")
        if kind == "answer":
            self._give_up(call, repr(reply["value"]), kind="form")
        if kind == "not plain":
            self._give_up(call, f"something that is or holds a {reply['type']}", kind="form")
        if kind == "unreadable":
            self._give_up(call, "an answer too long, or too deeply nested, to be read")
        if kind == "raised" and reply["type"] != "NotImplementedError":
            text, line = _error(reply)
            self._give_up(call, f"raises {text}", extra=line)
        raise _without_answer(reply, self._worker.path.name, task, call)

    def _give_up(
        self, call: Call, yours: str, *, extra: Lines | None = None, kind: str = "answer"
    ) -> NoReturn:
        """End the check where there is no answer to compare; a hint only if the check has one for that."""
        task = self._check.task
        hints = [hint for part, hint in self._check.hint_for.items() if part in yours]
        lines = self._lines(call, yours, extra)
        if kind == "form":
            lines.append(("Form", f"{task.function} returns {task.returns}."))
        raise Wrong(lines, kind=kind, hint=hints[0] if hints else None) from None

    def _lines(self, call: Call, yours: str, extra: Lines | None = None) -> Lines:
        lines = [("Call", self._check.task.function + call.shown), *call.about]
        lines += [("Yours", _short(yours)), *(extra or []), ("Expected", call.expected)]
        printed = self._worker.printed.strip().splitlines()[-_SHOWN_LINES:]
        return lines + ([("You printed", "\n".join(_short(line, 60) for line in printed))] if printed else [])

    def _remembers_earlier_calls(self, call: Call) -> bool:
        """Whether a new process, which has seen no other call, answers this one in another way."""
        if self._worker.calls == 1:
            return False  # there is none to remember
        fresh = Worker(self._worker.path, self._worker.stand_in)
        try:
            reply = fresh.ask(self._check.task.function, call.arguments, self._limit)
        except (TimeoutError, EOFError):
            return False
        finally:
            fresh.stop()
        return bool(reply.get("value", self._last) != self._last)


_GARBLED: Final = "wrote into the pipe that carries its answers to the checks"
_MEMORY: Final = (
    "In a new Python process this call gives another answer, so your code remembers something from earlier "
    "calls. Look for a global variable, or a list or dict as a default argument."
)


def _without_answer(reply: dict[str, Any], file: str, task: Task, call: Call) -> Wrong:
    """What to say where the function could not even be called, or did what no caller may allow."""
    kind, define = reply["kind"], f"Define: def {task.signature}: …"
    if kind == "load":
        text, line = _error(reply)
        return Wrong(
            [("File", f"{file} cannot be imported, so no task can be graded. {text}"), *line], kind="file"
        )
    if kind == "missing":
        return Wrong([("Missing", f"there is no function {task.function} in {file}. {define}")], kind="form")
    if kind == "not callable":
        text = f"{task.function} is a value of type {reply['type']}, not a function. {define}"
        return Wrong([("Missing", text)], kind="form")
    if kind == "signature":
        lines = [
            ("Signature", "the checks cannot call this function."),
            ("Yours", f"def {reply['signature']}"),
        ]
        return Wrong([*lines, ("Expected", f"def {task.signature}")], kind="form")
    if kind == "changed":
        name = dict(enumerate(task.argument_names)).get(reply["argument"], "?")
        text = f"your code changes its argument `{name}`, which belongs to the caller. Work on a copy."
        return Wrong([("Call", task.function + call.shown), ("Side effect", text)], kind="form")
    return Wrong([("To do", f"not written yet: {task.function}, about {task.lines} lines.")], kind="to do")


def _error(reply: dict[str, Any]) -> tuple[str, Lines]:
    """`KeyError: 46`, and the student's own line that was running."""
    text = f"{reply['type']}: {_short(reply['message'], 150)}" if reply["message"] else reply["type"]
    if reply["type"] == "RecursionError":
        text = "RecursionError: the function calls itself without end"
    return text, [(f"Line {reply['line']}", _short(reply["source"], 60))] if reply.get("line") else []


def _short(text: str, most: int = _SHOWN) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
