"""Programs as HTML: Pygments gives the classes, `site.css` the colours of both themes."""

from __future__ import annotations

from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

__all__ = ["code_block"]


def code_block(source: str, language: str = "python") -> str:
    """A `<pre>` with coloured words; a language that Pygments does not know stays plain."""
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        inside = escape(source.rstrip("\n"))
    else:
        inside = highlight(source.rstrip("\n"), lexer, HtmlFormatter(nowrap=True)).rstrip("\n")
    return f'<pre class="code"><code>{inside}</code></pre>\n'
