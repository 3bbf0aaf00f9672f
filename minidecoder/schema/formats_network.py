r"""Addresses and names of the internet as regular expressions.

hostname: RFC 1123, labels of 1 to 63 letters, digits and hyphens. Narrower: no label with `--` as its third
and fourth character; RFC 5891 reserves those, and which `xn--` labels are names no automaton can say.
email: `Mailbox` of RFC 5321, quoted or not, at a host name as above or at an IPv4 or IPv6 address in
brackets. ipv4: decimal, without leading zeros. ipv6: every form of RFC 4291, without zones.
uri: RFC 3986, with a scheme. uuid: 8-4-4-4-12 hexadecimal digits of either case, any version.

Left out: the longest length of the whole, which `formats` says beside the expression.
"""

from __future__ import annotations

from typing import Final

__all__ = ["EMAIL_LOCAL", "EMAIL_REST", "HOSTNAME", "IPV4", "IPV6", "URI", "UUID"]

# -- addresses ----------------------------------------------------------------------------------------

_OCTET: Final = "(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])"
_GROUP: Final = "[0-9A-Fa-f]{1,4}"

IPV4: Final = rf"{_OCTET}(?:\.{_OCTET}){{3}}"


def _groups(count: int) -> str:
    """Exactly `count` groups; the last two may be an IPv4 address."""
    if count < 2:
        return _GROUP if count else ""
    return f"(?:{_GROUP}:){{{count - 2}}}(?:{_GROUP}:{_GROUP}|{IPV4})"


def _shortened(left: int) -> str:
    """`left` groups, `::` for one group at least, and up to 7 - left groups."""
    front = f"(?:{_GROUP}:){{{left - 1}}}{_GROUP}" if left else ""
    rest = "|".join(_groups(right) for right in range(1, 8 - left))
    return f"{front}::(?:{rest})?" if rest else f"{front}::"


IPV6: Final = f"(?:{_groups(8)}|{'|'.join(map(_shortened, range(8)))})"

# -- names --------------------------------------------------------------------------------------------

_ALNUM: Final = "[A-Za-z0-9]"
_LDH: Final = "[A-Za-z0-9-]"  # letters, digits, hyphens


# 1 to 63 characters, with no hyphen at either end, nor in the third and the fourth place at once.
_LONG: Final = f"{_LDH}(?:{_ALNUM}{_LDH}|-{_ALNUM}){_LDH}{{0,58}}{_ALNUM}"
_LABEL: Final = f"{_ALNUM}(?:{_LDH}{{0,2}}{_ALNUM}|{_LONG})?"

HOSTNAME: Final = rf"{_LABEL}(?:\.{_LABEL})*"

_ATOM: Final = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_DOTTED: Final = rf"{_ATOM}(?:\.{_ATOM})*"
_QUOTED: Final = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_LITERAL: Final = rf"\[(?:{IPV4}|IPv6:{IPV6})\]"

EMAIL_LOCAL: Final = f"(?:{_DOTTED}|{_QUOTED})"  # at most 64 characters of it
EMAIL_REST: Final = f"@(?:{HOSTNAME}|{_LITERAL})"

# -- URIs and UUIDs -------------------------------------------------------------------------------------

_ESCAPE: Final = "%[0-9A-Fa-f]{2}"
_PLAIN: Final = r"A-Za-z0-9\-._~!$&'()*+,;="  # unreserved characters and sub-delims
_PCHAR: Final = f"(?:[{_PLAIN}:@]|{_ESCAPE})"
_USER: Final = f"(?:[{_PLAIN}:]|{_ESCAPE})*@"
_FUTURE: Final = rf"[vV][0-9A-Fa-f]+\.[{_PLAIN}:]+"
_HOST: Final = rf"(?:\[(?:{IPV6}|{_FUTURE})\]|(?:[{_PLAIN}]|{_ESCAPE})*)"
_AUTHORITY: Final = f"//(?:{_USER})?{_HOST}(?::[0-9]*)?(?:/{_PCHAR}*)*"
_ROOTLESS: Final = f"{_PCHAR}+(?:/{_PCHAR}*)*"
_TAIL: Final = f"(?:{_PCHAR}|[/?])*"  # of a query, of a fragment

_HIERARCHY: Final = f"(?:{_AUTHORITY}|/(?:{_ROOTLESS})?|{_ROOTLESS}|)"

URI: Final = rf"[A-Za-z][A-Za-z0-9+.\-]*:{_HIERARCHY}(?:\?{_TAIL})?(?:#{_TAIL})?"

_HEX: Final = "[0-9A-Fa-f]"

UUID: Final = f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
