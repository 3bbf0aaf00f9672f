"""Resident memory of a process: now, and at its highest.

Linux says both in `/proc`. Elsewhere only a process itself can ask for its highest, and Windows has
neither without a further package: None, and no limit.
"""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["memory_peak", "memory_used"]


def memory_used(pid: int | None = None) -> int | None:
    """Resident bytes of a process, this one by default; None where the system does not say."""
    return _status("VmRSS", pid)


def memory_peak() -> int | None:
    """The most resident bytes that this process ever had."""
    # subtle: on Linux getrusage's ru_maxrss also counts what the parent held when it started us.
    if (peak := _status("VmHWM", None)) is not None:
        return peak
    if sys.platform == "darwin":
        import resource

        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return None


def _status(key: str, pid: int | None) -> int | None:
    try:
        lines = Path(f"/proc/{pid or 'self'}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines.splitlines() if line.startswith(key)), None)
