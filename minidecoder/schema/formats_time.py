r"""Dates, times and durations of RFC 3339 as regular expressions.

A date is one of the calendar, leap years included: 2100-02-29 is none. A second may be 60 only where it
is 23:59 in UTC, so `15:59:60-08:00` is a time and `15:59:60Z` is not; on which days there was a leap
second is no part of the format.

Two choices, both for fewer strings: no year 0000, which most readers have not (Python's `datetime`
neither), and with a leap second only offsets of whole quarters of an hour, as all zones have had since
there are leap seconds; any other would need a state for each minute of a day.
"""

from __future__ import annotations

from typing import Final

__all__ = ["DATE", "DATE_TIME", "DURATION", "TIME"]

# -- dates --------------------------------------------------------------------------------------------

_YEAR: Final = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_FOURTH: Final = "(?:0[48]|[2468][048]|[13579][26])"  # 04, 08, … 96
_LEAP_YEAR: Final = f"(?:[0-9]{{2}}{_FOURTH}|{_FOURTH}00)"
_DAYS: Final = (
    "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"  # every month has 28
    "|(?:0[13-9]|1[0-2])-(?:29|30)"
    "|(?:0[13578]|1[02])-31)"
)

DATE: Final = f"(?:{_YEAR}-{_DAYS}|{_LEAP_YEAR}-02-29)"

# -- times --------------------------------------------------------------------------------------------

_HOUR: Final = "(?:[01][0-9]|2[0-3])"
_SIXTY: Final = "[0-5][0-9]"
_FRACTION: Final = r"(?:\.[0-9]+)?"
_OFFSET: Final = f"(?:[Zz]|[+-]{_HOUR}:{_SIXTY})"
_DAY: Final = 24 * 60  # minutes


def _clock(minutes: int) -> str:
    return f"{minutes % _DAY // 60:02}:{minutes % 60:02}"


def _leap_second(offset: int) -> str:
    """The times with a 60th second in the zone that is `offset` minutes ahead, a whole number of quarters."""
    utc = "[Zz]|" if offset == 0 else ""
    zone = rf"{utc}\+{_clock(offset)}|-{_clock(-offset)}"
    return f"{_clock(23 * 60 + 59 + offset)}:60{_FRACTION}(?:{zone})"


TIME: Final = (
    f"(?:{_HOUR}:{_SIXTY}:{_SIXTY}{_FRACTION}{_OFFSET}|{'|'.join(map(_leap_second, range(0, _DAY, 15)))})"
)
DATE_TIME: Final = f"{DATE}[Tt]{TIME}"

# -- durations ----------------------------------------------------------------------------------------

# RFC 3339, appendix A: a unit may be followed by the next smaller one alone, weeks by nothing.
_DAY_PART: Final = "[0-9]+D"
_DATE_PART: Final = f"(?:{_DAY_PART}|[0-9]+M(?:{_DAY_PART})?|[0-9]+Y(?:[0-9]+M(?:{_DAY_PART})?)?)"
_MINUTE_PART: Final = "[0-9]+M(?:[0-9]+S)?"
_TIME_PART: Final = f"T(?:[0-9]+S|{_MINUTE_PART}|[0-9]+H(?:{_MINUTE_PART})?)"

DURATION: Final = f"P(?:{_DATE_PART}(?:{_TIME_PART})?|{_TIME_PART}|[0-9]+W)"
