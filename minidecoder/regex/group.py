"""A group while the parser reads it: its finished alternatives, and the sequence that is being read.

The whole pattern is a group too, the outermost. Groups leave no trace in the tree but look-aheads, which
become a `Look`. Left out: reading (`syntax`). Cost: O(number of items).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minidecoder.regex.flags import Flags
from minidecoder.regex.tree import Choice, Concat, Look, Node, width

__all__ = ["Group"]


@dataclass(slots=True)
class Group:
    """A group that is still open: its finished alternatives and the sequence being read."""

    opened_at: int
    flags: Flags
    number: int = 0  # 0: not capturing
    look: str = ""  # "=" or "!" for a look-ahead
    options: list[Node] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)
    behind: bool = False  # a lookbehind, which `re` wants to be of one width
    most_options: int | None = None  # 2 for a conditional
    captures_before: int = 0  # the groups opened before this one
    no_repeat: str = "nothing to repeat"  # why the last item may take no quantifier; "" if it may

    def add(self, node: Node, *, no_repeat: str = "") -> None:
        self.items.append(node)
        self.no_repeat = no_repeat

    def end_option(self) -> None:
        self.options.append(self.items[0] if len(self.items) == 1 else Concat(tuple(self.items)))
        self.items = []
        self.no_repeat = "nothing to repeat"

    def close(self) -> Node:
        self.end_option()
        node = self.options[0] if len(self.options) == 1 else Choice(tuple(self.options))
        return Look(node, self.look == "!", self.opened_at) if self.look else node

    def fault(self, node: Node) -> str:
        """What `re` has against the finished group, `node`; `""` if nothing."""
        if self.most_options and len(self.options) > self.most_options:
            return "a conditional has two branches at the most"
        if self.behind and len(set(width(node))) > 1:
            return "a lookbehind must be of one width"
        return ""
