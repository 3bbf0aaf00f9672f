"""Formats: against `datetime`, `ipaddress`, `uuid`, jsonschema's checkers and, where it is, the public suite."""

from __future__ import annotations

import calendar
import datetime
import ipaddress
import json
import os
import random
import re
import string
import uuid
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minidecoder.errors import UsageError
from minidecoder.regex.dfa import DFA
from minidecoder.regex.members import random_member
from minidecoder.schema.atoms import Format, Length
from minidecoder.schema.formats import FORMATS, format_dfa, format_lengths
from minidecoder.schema.formula import Formulas
from minidecoder.schema.lengths import ALL, contains
from minidecoder.schema.strings import StringLanguage, string_language
from tests.optional import need

CHECKER = jsonschema.Draft202012Validator.FORMAT_CHECKER
NEEDS = {
    "time": "rfc3339_validator",
    "date-time": "rfc3339_validator",
    "duration": "isoduration",
    "hostname": "fqdn",
    "uri": "rfc3986_validator",
}
NOISE = '0123456789abcdfgTtZzPYMDWHS:.-+@[]/?#% \n"\\xé٣'


def accepts(name: str, text: str) -> bool:
    return format_dfa(name).accepts(text) and contains(format_lengths(name), len(text))


def language(name: str, *lengths: Length) -> StringLanguage:
    arena = Formulas()
    return string_language(arena.and_(map(arena.atom, [Format(name), *lengths])))


def mutated(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    middle = chance.choice(
        ["", chance.choice(NOISE), text[at : at + 1] * 2, chance.choice(string.digits) + text[at + 2 :]]
    )
    return text[:at] + middle + text[at + chance.randrange(2) :]


def near_misses(name: str, number: int, seed: int = 0) -> list[str]:
    """Members, and what one or two small changes make of them."""
    chance, dfa = random.Random(seed), format_dfa(name)
    found = []
    for _ in range(number):
        text = random_member(dfa, chance, mean_length=chance.choice([3, 10, 30]))
        once = mutated(text, chance)
        found += [text, once, mutated(once, chance)]
    return found


# -- dates and times ----------------------------------------------------------------------------------


def test_every_day_of_ten_thousand_years_is_a_date_and_no_other() -> None:
    dfa = format_dfa("date")
    for year in [*range(1, 3000), *range(9000, 10_000)]:
        state = dfa.walk(f"{year:04}-")[-1]
        february = 29 if calendar.isleap(year) else 28
        for text in (f"02-{february}", "12-31", "01-01"):
            assert ends_well(dfa, int(state), text), (year, text)
        for text in (f"02-{february + 1}", "04-31", "00-10", "13-10", "10-00", "1-01"):
            assert not ends_well(dfa, int(state), text), (year, text)
    assert not accepts("date", "0000-01-01")


def ends_well(dfa: DFA, state: int, text: str) -> bool:
    for char in text:
        state = int(dfa.step(state, char))  # type: ignore[arg-type]
    return bool(dfa.accepting[state])


@pytest.mark.parametrize("year", [1900, 2000, 2023, 2024, 2100])
def test_every_month_and_day_is_as_datetime_says(year: int) -> None:
    for month in range(14):
        for day in range(33):
            text = f"{year}-{month:02}-{day:02}"
            try:
                expected = datetime.date(year, month, day).isoformat() == text
            except ValueError:
                expected = False
            assert accepts("date", text) == expected, text


@settings(max_examples=300, deadline=None)
@given(
    st.datetimes(
        timezones=st.integers(-1439, 1439).map(
            lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
        )
    )
)
def test_every_moment_that_datetime_writes_is_a_date_time(moment: datetime.datetime) -> None:
    text = moment.isoformat()
    assert accepts("date-time", text)
    assert accepts("date-time", text.replace("T", "t"))
    assert accepts("time", text[11:])
    assert accepts("date", text[:10])
    assert not accepts("date-time", text.replace("T", " "))
    assert not accepts("time", moment.replace(tzinfo=None).isoformat()[11:])


def test_what_is_accepted_datetime_reads_back() -> None:
    chance = random.Random(0)
    for _ in range(400):
        text = random_member(format_dfa("date-time"), chance)
        if ":60" in text[10:]:  # a leap second, or an hour and minute of an offset that no clock has
            continue
        plain = re.sub(r"\.[0-9]+", "", text).upper()
        assert datetime.datetime.fromisoformat(plain).tzinfo is not None


def test_a_second_is_the_sixtieth_only_where_it_is_a_minute_to_midnight_in_utc() -> None:
    for quarter in range(-95, 96):
        sign, minutes = "-" if quarter < 0 else "+", abs(quarter) * 15
        offset = f"{sign}{minutes // 60:02}:{minutes % 60:02}"
        midnight = datetime.datetime(2016, 12, 31, 23, 59) + datetime.timedelta(minutes=quarter * 15)
        for late in (-60, -1, 0, 1, 60):
            clock = (midnight + datetime.timedelta(minutes=late)).strftime("%H:%M")
            assert accepts("time", f"{clock}:60{offset}") == (late == 0)
            assert accepts("time", f"{clock}:60.5{offset}") == (late == 0)
            assert accepts("time", f"{clock}:59{offset}")
    assert accepts("time", "23:59:60Z")
    assert accepts("time", "23:59:60-00:00")
    assert not accepts("time", "00:00:60+00:01"), (
        "no zone has had such an offset since there are leap seconds"
    )


@pytest.mark.parametrize(
    "text",
    ["P1Y", "P1M", "P1Y2M", "P1Y2M3D", "P2W", "PT1H", "PT1M2S", "P1DT12H", "P0D", "P10Y10M10DT10H10M10S"],
)
def test_durations_of_rfc_3339(text: str) -> None:
    assert accepts("duration", text)


@pytest.mark.parametrize(
    "text",
    [
        "P",
        "PT",
        "P1YT",
        "P1Y2D",
        "P1W1D",
        "PT1H2S",
        "PT0.5S",
        "P-1D",
        "-P1D",
        "p1d",
        "P1D ",
        "P1H",
        "PT1D",
        "P1Y2M3W",
    ],
)
def test_no_durations_of_rfc_3339(text: str) -> None:
    assert not accepts("duration", text)


# -- addresses ----------------------------------------------------------------------------------------


def is_address(text: str, kind: type) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return "%" not in text  # a zone


@pytest.mark.parametrize(("name", "kind"), [("ipv4", ipaddress.IPv4Address), ("ipv6", ipaddress.IPv6Address)])
def test_addresses_are_those_of_ipaddress(name: str, kind: type) -> None:
    texts = near_misses(name, 1500)
    chance = random.Random(7)
    for _ in range(4000):
        parts = [
            chance.choice(["", "0", "1", "ff", "12345", "abcd", "1.2.3.4", "255.0.0.256", "01"])
            for _ in range(chance.randrange(1, 10))
        ]
        texts.append((":" if name == "ipv6" else ".").join(parts))
    answers = [accepts(name, text) for text in texts]
    assert answers == [is_address(text, kind) for text in texts]
    assert 500 < sum(answers) < len(texts) - 500


@given(st.ip_addresses(v=6))
def test_every_spelling_of_an_ipv6_address_is_one(address: ipaddress.IPv6Address) -> None:
    assert accepts("ipv6", str(address))
    assert accepts("ipv6", address.exploded)
    assert accepts("ipv6", address.exploded.upper())
    assert not accepts("ipv6", str(address) + "%eth0")


@given(st.ip_addresses(v=4))
def test_every_ipv4_address_is_one(address: ipaddress.IPv4Address) -> None:
    assert accepts("ipv4", str(address))
    assert accepts("ipv6", f"::ffff:{address}")
    assert not accepts("ipv6", str(address))


@given(st.uuids(), st.data())
def test_a_uuid_is_as_python_writes_it_in_either_case(value: uuid.UUID, data: st.DataObject) -> None:
    text = str(value)
    assert accepts("uuid", text)
    assert accepts("uuid", text.upper())
    assert not accepts("uuid", value.hex)
    assert not accepts("uuid", f"{{{text}}}")
    at = data.draw(st.integers(0, 35))
    assert not accepts("uuid", text[:at] + "g" + text[at + 1 :])


# -- names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("a" * 63, True),
        ("a" * 64, False),
        ("a", True),
        ("a-", False),
        ("-a", False),
        ("a-b", True),
        ("a--b", True),
        ("aa--b", False),  # a label that RFC 5891 reserves
        ("xn--bcher-kva", False),  # a name, but which of these are is not regular
        ("aa-", False),
        ("aa-b", True),
        ("a.b.c", True),
        ("a..b", False),
        ("a.", False),
        ("1.2", True),
        ("a_b", False),
        ("é", False),
        (".".join(["a" * 63] * 3 + ["a" * 61]), True),
        (".".join(["a" * 63] * 3 + ["a" * 62]), False),
    ],
)
def test_host_names_have_labels_of_63_and_253_characters_in_all(text: str, valid: bool) -> None:
    assert accepts("hostname", text) == valid
    assert language("hostname").accepts(text) == valid


@settings(max_examples=300, deadline=None)
@given(st.text("ab1-.", max_size=12))
def test_short_host_names_are_labels_joined_by_dots(text: str) -> None:
    labels = text.split(".")
    expected = all(re.fullmatch("[ab1](?:[ab1-]*[ab1])?", label) and label[2:4] != "--" for label in labels)
    assert accepts("hostname", text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a@b",
        "first.last+tag@example.com",
        '"a b"@example.com',
        '"a@b"@c',
        r'"a\"b\\"@c',
        "a@[127.0.0.1]",
        "a@[IPv6:::1]",
        "!#$%&'*+-/=?^_`{|}~@x",
        "a" * 64 + "@b",
        '"' + "@" * 62 + '"@b',
        "a@" + "b" * 63 + ".c",
    ],
)
def test_mailboxes_of_rfc_5321(text: str) -> None:
    assert accepts("email", text)
    assert CHECKER.conforms(text, "email")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "@b",
        "a@",
        ".a@b",
        "a.@b",
        "a..b@c",
        "a b@c",
        'a"b"@c',
        '"a"b@c',
        '"a@b',
        "a@b@c",
        "a@-b",
        "a@b_c",
        "a@[256.0.0.1]",
        "a@[::1]",
        "a@b.",
        "a" * 65 + "@b",
        '"' + "@" * 63 + '"@b',
        "a@" + "b" * 64,
        "é@b",
        "a@é",
        '"a\nb"@c',
        "a@b\n",
    ],
)
def test_no_mailboxes_of_rfc_5321(text: str) -> None:
    assert not accepts("email", text)


def test_an_email_has_254_characters_at_most() -> None:
    label = "b" * 61
    host = f"{label}.{label}.{label}"
    assert accepts("email", "a" * 64 + f"@{host}.cc")
    assert len("a" * 64 + f"@{host}.ccc") == 254
    assert accepts("email", "a" * 64 + f"@{host}.ccc")
    assert not accepts("email", "a" * 64 + f"@{host}.cccc")
    assert language("email").counts, "the length is counted beside the automaton"


@pytest.mark.parametrize(
    "text",
    [
        "http://a",
        "http://a:80/b?c#d",
        "http://u:p@a/",
        "http://[::1]:8/",
        "http://[v1.a:b]",
        "mailto:a@b",
        "urn:a:b",
        "a:",
        "a:/",
        "a:/b//c",
        "a+b-c.d:e",
        "file:///x",
        "http://a?b/c?d",
        "http://%41/%2f",
        "http://a:",
    ],
)
def test_uris_of_rfc_3986(text: str) -> None:
    assert accepts("uri", text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "//a",
        "/a",
        "1a:b",
        "a b:c",
        "http://a b",
        "http://é",
        "http://a/%4",
        "http://a/%4g",
        "http://[::1",
        "http://[1]",
        "http:/[::1]",
        "http://a:b",
        "http://a#b#c",
        "a:\\b",
        "a:<b>",
        'a:"',
        "a:b^c",
        "http://a@b@c",
    ],
)
def test_no_uris_of_rfc_3986(text: str) -> None:
    assert not accepts("uri", text)


# -- others' checkers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_whatever_is_accepted_jsonschema_accepts(name: str) -> None:
    if name in NEEDS:
        need(NEEDS[name], "dev")
    chance = random.Random(3)
    for _ in range(300):
        text = random_member(format_dfa(name), chance, mean_length=chance.choice([5, 40]))
        leap_second = name in ("time", "date-time") and ":60" in text  # jsonschema knows none
        if contains(format_lengths(name), len(text)) and not leap_second:
            assert CHECKER.conforms(text, name), text


@pytest.mark.parametrize("name", ["date", "ipv4", "ipv6", "uuid"])
def test_what_jsonschema_refuses_and_accepts_is_the_same_near_every_border(name: str) -> None:
    for text in near_misses(name, 700, seed=5):
        expected = CHECKER.conforms(text, name)
        if name == "uuid":  # jsonschema looks for four hyphens only, and takes any digit that `int` takes
            hyphens = [at for at, char in enumerate(text) if char == "-"]
            expected = expected and text.isascii() and hyphens == [8, 13, 18, 23]
        assert accepts(name, text) == expected, text


SUITE = (
    Path(os.environ.get("MINIDECODER_SUITES", ""))
    / "json-schema-test-suite/tests/draft2020-12/optional/format"
)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_public_suite_agrees(name: str) -> None:
    if not os.environ.get("MINIDECODER_SUITES"):
        pytest.skip("MINIDECODER_SUITES does not name the folder of the public suites")
    groups = json.loads((SUITE / f"{name}.json").read_text(encoding="utf-8"))
    tests = [test for group in groups for test in group["tests"] if isinstance(test["data"], str)]
    wrong = [test["data"] for test in tests if accepts(name, test["data"]) != test["valid"]]
    assert [text for text in wrong if not text.startswith("xn--")] == []
    assert not any(accepts(name, text) for text in wrong), "refused by choice, never accepted by mistake"
    assert len(tests) > 15


# -- as parts of formulas -------------------------------------------------------------------------------


def test_the_machines_are_small() -> None:
    sizes = {name: len(format_dfa(name)) for name in FORMATS}
    assert sizes["date"] < 40
    assert sizes["date-time"] - sizes["time"] < 40
    assert max(sizes.values()) < 1_000


def test_a_format_meets_a_length() -> None:
    assert not language("date", Length(0, 10)).counts
    assert language("date", Length(11, None)).is_empty
    assert language("hostname", Length(254, None)).is_empty
    assert len(language("uri", Length(0, 2_000)).dfa) == len(format_dfa("uri"))
    assert len(language("uri", Length(12, 2_000)).shortest()) == 12
    assert format_lengths("date") == ALL


def test_a_format_that_is_not_known_is_named() -> None:
    for function in (format_dfa, format_lengths):
        with pytest.raises(UsageError, match="format='iri'"):
            function("iri")
