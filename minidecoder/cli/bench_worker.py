"""A process per engine: it serves cases over a pipe, and is killed where it passes a limit.

An index can take minutes and many gigabytes, inside a call that nothing interrupts. So the engine lives
in a child, the parent waits with a clock and an eye on its memory, and the next question after a kill
gets a fresh child. The child ignores Ctrl-C, which is the parent's to handle, and dies with it.

Left out: which questions are asked (`bench`). Cost: a child starts in some seconds, for its imports.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from time import monotonic, perf_counter
from typing import Any, Final, Literal, TypeAlias

from minidecoder.cli.bench_engines import Engine
from minidecoder.cli.bench_measure import CaseFailed, check, measure
from minidecoder.cli.bench_memory import memory_peak, memory_used
from minidecoder.cli.bench_vocabulary import BenchVocabulary

__all__ = ["Failed", "Loader", "Prepared", "Worker"]

Loader: TypeAlias = Callable[[], BenchVocabulary]
Status: TypeAlias = Literal["failed", "timeout", "memory", "died"]

START_LIMIT_S: Final = 300.0
"""The time a child has for its imports and its vocabulary, which `--limit` does not count."""
_LOOK_EVERY_S: Final = 0.05


class Failed(Exception):
    """No result. `status`: "failed" (the engine says so); "timeout", "memory", "died": the child is gone."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status


@dataclass(frozen=True)
class Prepared:
    """`seconds`: what the engine does once per vocabulary. Bytes in memory, None where the system does not
    say: `loaded` with library and token bytes, `ready` after preparing."""

    seconds: float
    loaded: int | None
    ready: int | None
    width: int


class Worker:
    """The parent's side: one engine, and its child while there is one."""

    def __init__(self, engine: type[Engine], load: Loader, memory_limit: int) -> None:
        self.engine = engine
        self.peak: int | None = None
        """The most bytes that any child of this engine held."""
        self._load, self._memory_limit = load, memory_limit
        self._process: Any = None
        self._pipe: Connection | None = None

    def start(self) -> None:
        """Start the child; it loads while others are asked."""
        if self._process is not None:
            return
        context = multiprocessing.get_context("spawn")  # a fork would hand on the parent's memory
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.engine, self._load), daemon=True)
        with _ctrl_c_ignored():
            self._process.start()
        theirs.close()

    def prepare(self) -> Prepared:
        """Wait until the child has loaded, then let it prepare the vocabulary."""
        self.start()
        try:
            self._answer(START_LIMIT_S)
            prepared: Prepared = self._ask(("prepare",), START_LIMIT_S)
        except Failed:
            self.close()
            raise
        return prepared

    def ask(self, *question: Any, limit_s: float) -> Any:
        """An answer of the child, a fresh one where there is none. Raises `Failed`."""
        if self._process is None:
            self.prepare()
        return self._ask(question, limit_s)

    def _ask(self, question: tuple[Any, ...], limit_s: float) -> Any:
        assert self._pipe is not None
        try:
            self._pipe.send(question)
        except OSError:
            raise self._lost("died", f"the process ended between two cases{self._exit()}") from None
        return self._answer(limit_s)

    def _answer(self, limit_s: float) -> Any:
        assert self._pipe is not None
        try:
            self._wait(limit_s)
            ok, value, peak = self._pipe.recv()
        except (EOFError, OSError):
            raise self._lost("died", f"the process ended{self._exit()}") from None
        self._note_peak(peak)
        if not ok:
            raise Failed("failed", value)
        return value

    def _wait(self, limit_s: float) -> None:
        """Until there is an answer, or the child's end."""
        assert self._pipe is not None
        end = monotonic() + limit_s
        while not self._pipe.poll(_LOOK_EVERY_S):
            used = memory_used(self._process.pid)
            self._note_peak(used)
            if used is not None and used > self._memory_limit:
                raise self._lost("memory", f"took more than {self._memory_limit / 1e9:.3g} GB")
            if monotonic() > end:
                raise self._lost("timeout", f"took more than {limit_s:.3g} s")

    def _note_peak(self, used: int | None) -> None:
        if used is not None:
            self.peak = max(used, self.peak or 0)

    def _exit(self) -> str:
        self._process.join(timeout=5)
        code = self._process.exitcode
        if code is None:
            return ""
        return f" with {signal.Signals(-code).name}" if code < 0 else f" with exit code {code}"

    def _lost(self, status: Status, reason: str) -> Failed:
        self.close()
        return Failed(status, reason)

    def close(self) -> None:
        """End the child, whatever it is doing. A second call does nothing."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.join()
        if self._pipe is not None:
            self._pipe.close()


@contextlib.contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """A child that starts in here ignores Ctrl-C from its first instruction on."""
    if threading.current_thread() is not threading.main_thread():  # pragma: no cover
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _serve(pipe: Connection, engine_class: type[Engine], load: Loader) -> None:
    """The child: load, then answer until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it is not inherited
    _die_with_parent()
    _print_nothing()
    with contextlib.suppress(EOFError, OSError):
        loaded = _reply(pipe, lambda: (_loaded(engine_class), load()), shown=lambda _: None)
        while loaded is not None:
            _reply(pipe, partial(_answer_to, pipe.recv(), *loaded))


def _loaded(engine_class: type[Engine]) -> Engine:
    import_module(engine_class.module)
    return engine_class()


def _reply(pipe: Connection, work: Callable[[], Any], shown: Callable[[Any], Any] = lambda v: v) -> Any:
    """Send (whether it went well, the value or the reason, peak bytes)."""
    try:
        value = work()
    except CaseFailed as fault:
        pipe.send((False, str(fault), memory_peak()))
    # subtle: a Rust library's panic is a BaseException, and an engine may not take the benchmark with it.
    except BaseException as fault:
        pipe.send((False, f"{type(fault).__name__}: {_first_line(fault)}", memory_peak()))
    else:
        pipe.send((True, shown(value), memory_peak()))
        return value
    return None


def _first_line(fault: BaseException) -> str:
    return next(iter(str(fault).splitlines()), "")[:200]


def _answer_to(question: tuple[Any, ...], engine: Engine, vocabulary: BenchVocabulary) -> Any:
    match question:
        case ("prepare",):
            return _prepared(engine, vocabulary)
        case ("check", case):
            return check(engine, case, vocabulary)
        case ("measure", case, masks):
            return measure(engine, case, masks)
    raise AssertionError(question)


def _prepared(engine: Engine, vocabulary: BenchVocabulary) -> Prepared:
    loaded, start = memory_used(), perf_counter()
    engine.prepare(vocabulary)
    return Prepared(perf_counter() - start, loaded, memory_used(), len(vocabulary.token_bytes))


def _print_nothing() -> None:
    """Libraries print and log; the terminal is the parent's."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


def _die_with_parent() -> None:
    """Even a killed parent leaves no child behind in the middle of a long call; elsewhere, at its end."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
