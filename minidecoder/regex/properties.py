r"""Unicode properties, `\p{Lu}`, from the running Python's `unicodedata`.

General categories by their short and long names, also as `gc=` or `General_Category=`, and `Any`,
`ASCII`, `Assigned`. Left out: scripts, blocks and other properties that `unicodedata` does not know.
Cost: one pass over all characters (0.2 s) when the first property is asked for.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Final

from minidecoder.regex.charset import ANY, Ranges, make_ranges, negate

__all__ = ["property_ranges"]

_LONG: Final = {
    "Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt", "Modifier_Letter": "Lm", "Other_Letter": "Lo",
    "Mark": "M", "Combining_Mark": "M", "Nonspacing_Mark": "Mn", "Spacing_Mark": "Mc", "Enclosing_Mark": "Me",
    "Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl", "Other_Number": "No",
    "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd",
    "Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi",
    "Final_Punctuation": "Pf", "Other_Punctuation": "Po",
    "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk",
    "Other_Symbol": "So",
    "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
    "Other": "C", "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co",
    "Unassigned": "Cn",
}  # fmt: skip
_CASED: Final = ("Lu", "Ll", "Lt")


def property_ranges(name: str) -> Ranges | None:
    """The characters with the property; None where the name is none that is known here."""
    key, equals, value = name.rpartition("=")
    if key not in ("gc", "General_Category") and equals:
        return None
    if not key and value in ("Any", "ASCII", "Assigned"):
        return {"Any": ANY, "ASCII": ((0, 127),), "Assigned": negate(_categories().get("Cn", ()))}[value]
    short = _LONG.get(value, value)
    known = set(_LONG.values())
    if short not in known:
        return None
    wanted = _CASED if short == "LC" else tuple(c for c in _categories() if c.startswith(short))
    return make_ranges(pair for category in wanted for pair in _categories().get(category, ()))


@cache
def _categories() -> dict[str, Ranges]:
    runs: dict[str, list[tuple[int, int]]] = {}
    for code_point in range(0x110000):
        pairs = runs.setdefault(unicodedata.category(chr(code_point)), [])
        if pairs and pairs[-1][1] == code_point - 1:
            pairs[-1] = (pairs[-1][0], code_point)
        else:
            pairs.append((code_point, code_point))
    return {category: make_ranges(pairs) for category, pairs in runs.items()}
