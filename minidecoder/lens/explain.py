"""Why a token is blocked, or that it is not: one verdict with its evidence and a sentence.

    `50` dies at byte 2 of 2: `5` moves s3 → s4, where only the end may follow.

Everything said is read off the machine: which byte dies, in which state, and what would have lived there;
of a grammar, in which rule, where that stands in its text, and which pieces of it may follow.

Left out: verdicts that need more than the machine and the vocabulary: budgets, bans and cuts made by the
sampling (`explain_step`). Cost: O(L) for a token; a search for the completion after EOS_TOO_EARLY.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from minidecoder.automaton import DEAD, State
from minidecoder.decoding.constraint import Constraint
from minidecoder.decoding.matcher import Matcher
from minidecoder.errors import UsageError
from minidecoder.lens.completion import shortest_completion
from minidecoder.lens.labels import show_bytes, show_token
from minidecoder.lens.place import Place, path_of
from minidecoder.lens.verdict import Kind, Verdict
from minidecoder.tokens.checks import whole_number
from minidecoder.tokens.vocabulary import Vocabulary

__all__ = ["Explainer", "Kind", "Verdict", "explain", "explain_at", "shortest_completion"]

_MOST_PLACES: Final = 1_000
_MOST_KEYWORDS: Final = 3  # named in a sentence
_LONGEST_WALK: Final = 7  # states named in a sentence
_LONGEST_TEXT: Final = 40  # characters of a token or a completion in a sentence


def explain(matcher: Matcher, token_id: int) -> Verdict:
    """Why `matcher` would take or refuse the token now. What is no whole number raises `UsageError`.

    Of a JSON Schema the verdict also has the `keywords` each of which, removed alone, would let the token
    pass; finding them compiles the schema again for each keyword, some milliseconds a time.
    """
    if not isinstance(matcher, Matcher):
        raise UsageError(f"explain needs a matcher (constraint.matcher()), not {type(matcher).__name__}")
    token_id = whole_number(token_id, "token_id")
    if matcher.is_terminated:
        return Verdict(Kind.TERMINATED, "The text has ended with EOS: nothing may follow.")
    verdict = explain_at(matcher.constraint, matcher.state, token_id)
    return _with_keywords(matcher, token_id, verdict)


def _with_keywords(matcher: Matcher, token_id: int, verdict: Verdict) -> Verdict:
    words = getattr(matcher.constraint.automaton, "words", None)
    blame = getattr(words, "blame", None)
    if blame is None or verdict.kind not in (Kind.DEAD_AT_BYTE, Kind.EOS_TOO_EARLY, Kind.ONLY_EOS_LEFT):
        return verdict
    token = matcher.constraint.vocabulary.token_bytes[token_id] or None  # None: EOS
    pointers = tuple(pointer for pointer, _ in blame(matcher.text, token).keywords)
    if not pointers:
        return verdict
    named = " or ".join(f"`{pointer}`" for pointer in pointers[:_MOST_KEYWORDS])
    more = f" or {len(pointers) - _MOST_KEYWORDS} others" if len(pointers) > _MOST_KEYWORDS else ""
    sentence = f"{verdict.sentence} Without {named}{more} it would be allowed."
    return replace(verdict, sentence=sentence, keywords=pointers)


def explain_at(constraint: Constraint, state: State, token_id: int) -> Verdict:
    """The same for any live state of the constraint."""
    return Explainer(constraint).at(state, whole_number(token_id, "token_id"))


def without_text(vocabulary: Vocabulary, token_id: int) -> Verdict | None:
    """The verdict on an id that no text reaches, whatever the constraint; None for text and for EOS."""
    if not 0 <= token_id < len(vocabulary):
        sentence = f"{token_id} is no id of this vocabulary: ids are 0 to {len(vocabulary) - 1:,}."
        return Verdict(Kind.NOT_A_TOKEN, sentence)
    if vocabulary.token_bytes[token_id] or token_id in vocabulary.eos_ids:
        return None
    label = label_of(vocabulary, token_id)
    if token_id in vocabulary.special_text:
        return Verdict(Kind.SPECIAL_TOKEN, f"{label} is a special token: text never contains it.")
    return Verdict(Kind.NOT_A_TOKEN, f"{label} stands for no text, so it can never be drawn.")


def label_of(vocabulary: Vocabulary, token_id: int) -> str:
    """A token in a sentence: `50`."""
    return f"`{_cut(show_token(vocabulary, token_id))}`"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


class Explainer:
    """Verdicts on the tokens of one constraint, with what was found out about the latest states kept."""

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self._places: dict[State, Place] = {}
        self._labels: dict[int, str] = {}

    def place(self, state: State) -> Place:
        """What there is to say about a state."""
        if state not in self._places:
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
            self._places[state] = Place(self.constraint, state)
        return self._places[state]

    def name(self, state: State) -> str:
        """The name of a state, dead or alive."""
        return "dead" if state == DEAD else self.place(state).name

    def at(self, state: State, token_id: int) -> Verdict:
        """The first verdict that applies to the token in a live state."""
        vocabulary = self.constraint.vocabulary
        if (verdict := without_text(vocabulary, token_id)) is not None:
            return verdict
        if token_id not in self._labels:
            self._labels[token_id] = label_of(vocabulary, token_id)
        here, label = self.place(state), self._labels[token_id]
        if token_id in vocabulary.eos_ids:
            return _explain_eos(here, label)
        if not here.live_bytes:
            return Verdict(Kind.ONLY_EOS_LEFT, f"{label} is blocked: in {here.name} only the end may follow.")
        data = vocabulary.token_bytes[token_id]
        path, held = path_of(self.constraint, state, data)
        return replace(self._of_path(here, path, data, label), path=path, _held=held)

    def _of_path(self, here: Place, path: tuple[State, ...], data: bytes, label: str) -> Verdict:
        if path[-1] == DEAD:
            return self._dead_at_byte(here, path, data, label)
        moves = self.moves((here.state, *path))
        if not self.constraint.index.is_alive(path[-1]):
            return Verdict(Kind.DEAD_END, f"{label} moves {moves}, from where no tokens reach the end.")
        return Verdict(Kind.ALLOWED, f"{label} is allowed: {moves}.")

    def _dead_at_byte(self, here: Place, path: tuple[State, ...], data: bytes, label: str) -> Verdict:
        died = self.place(path[-2]) if len(path) > 1 else here
        sentence = f"{label} dies at byte {len(path)} of {len(data)}: "
        before = f"`{_cut(show_bytes(data[: len(path) - 1]))}`"
        if len(path) == 1:
            sentence += f"in {died.where} only {died.follows} may follow."
        elif died.expected:
            sentence += f"after {before}, in {died.where} only {died.follows} may follow."
        else:
            moves = self.moves((here.state, *path[:-1]))
            sentence += f"{before} moves {moves}, where only {died.follows} may follow."
        return Verdict(Kind.DEAD_AT_BYTE, sentence, live_bytes=died.live_bytes, expected=died.expected)

    def moves(self, states: Sequence[State]) -> str:
        """`s0 → s1 → s3`; of a long walk the beginning and the end."""
        names = list(map(self.name, states))
        return " → ".join(names if len(names) <= _LONGEST_WALK else [*names[:2], "…", *names[-2:]])


def _explain_eos(here: Place, label: str) -> Verdict:
    if here.accepting:
        return Verdict(
            Kind.ALLOWED, f"{label} is allowed: {here.name} is accepting, the text is a whole match."
        )
    state = "the text is no whole match yet" if here.expected else f"{here.name} does not accept"
    if here.completion:
        ending = f"`{_cut(show_bytes(here.completion))}` would complete it"
    else:
        ending = f"in {here.where} only {here.follows} may follow"
    sentence = f"{label} comes too early: {state}; {ending}."
    return Verdict(Kind.EOS_TOO_EARLY, sentence, completion=here.completion, expected=here.expected)
