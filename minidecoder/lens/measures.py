"""What the mask did to a run, in figures: how much of the model's probability it kept, and what it cost.

At one step the constraint keeps the mass Z of the model's distribution p and gives q = p / Z on what is
legal. The Kullback-Leibler divergence D(q ‖ p) = sum of q ln(q / p) is then -ln Z: 0 where the model would
have obeyed by itself. (D(p ‖ q) is infinite as soon as anything is blocked.) Over a run the divergences add
up and the masses multiply, to p(text) / q(text); at temperature 1 the mean of that ratio over many runs is
the share of the model's own texts that are legal.

Left out: what sampling steps other than the mask do. Cost: O(T).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from minidecoder.decoding.loop import Step
from minidecoder.errors import UsageError
from minidecoder.tokens.checks import listed

__all__ = ["Measures", "measure"]


@dataclass(frozen=True)
class Measures:
    """`feasible_mass` and `kl` (in nats): one entry a step, None where the token was forced, as the model was
    not asked. `blocked`: steps in which its favourite was blocked; `seconds`: of all steps together."""

    feasible_mass: tuple[float | None, ...]
    kl: tuple[float | None, ...]
    blocked: int
    seconds: float

    @property
    def tokens(self) -> int:
        return len(self.feasible_mass)

    @property
    def model_calls(self) -> int:
        return sum(mass is not None for mass in self.feasible_mass)

    @property
    def model_calls_saved(self) -> int:
        """Forced tokens: each would have been a call."""
        return self.tokens - self.model_calls

    @property
    def forced_share(self) -> float | None:
        """Of all tokens; None for a run of none."""
        return _share(self.model_calls_saved, self.tokens)

    @property
    def blocked_share(self) -> float | None:
        """The steps whose favourite was blocked, of those in which the model was asked; None for none."""
        return _share(self.blocked, self.model_calls)

    @property
    def total_kl(self) -> float:
        """The sum over the run, in nats; inf where a step kept no mass that a float can hold."""
        return math.fsum(kl for kl in self.kl if kl is not None)

    @property
    def log_feasible_mass(self) -> float:
        """The natural logarithm of the product of the masses: `-total_kl`."""
        return 0.0 - self.total_kl

    @property
    def total_feasible_mass(self) -> float:
        """The product of the masses of all steps, 0..1."""
        return math.exp(self.log_feasible_mass)

    @property
    def tokens_per_second(self) -> float | None:
        """None where no time was measured."""
        return self.tokens / self.seconds if self.seconds > 0 else None

    def __str__(self) -> str:
        """A plain table, a line for each figure."""
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)

    def _rows(self) -> list[tuple[str, str]]:
        asked = [mass for mass in self.feasible_mass if mass is not None]
        least = f", {min(asked):.3g} at the least" if asked else ""
        return [
            ("tokens", f"{self.tokens:,}"),
            ("model calls", f"{self.model_calls:,}, {self.model_calls_saved:,} saved"),
            ("forced", _percent(self.forced_share, "of the tokens")),
            ("favourite blocked", _percent(self.blocked_share, f"of the steps ({self.blocked:,})")),
            ("feasible mass", f"{self.total_feasible_mass:.3g} in all{least}"),
            ("KL, constrained from free", f"{self.total_kl:.3f} nats in all"),
            (
                "tokens per second",
                "–" if self.tokens_per_second is None else f"{self.tokens_per_second:,.1f}",
            ),
        ]


def measure(steps: Sequence[Step]) -> Measures:
    """The measures of a run's steps, with or without their rows of logits."""
    taken = listed(steps, "steps")
    for step in taken:
        if not isinstance(step, Step):
            raise UsageError(f"measure takes the steps of a run (run.steps), not a {type(step).__name__}")
    # subtle: rounding may leave a mass of 1.0000000002, which is no probability and a divergence below 0.
    masses = tuple(None if s.feasible_mass is None else min(s.feasible_mass, 1.0) for s in taken)
    return Measures(
        feasible_mass=masses,
        kl=tuple(None if mass is None else _divergence(mass) for mass in masses),
        blocked=sum(step.favourite_blocked for step in taken),
        seconds=math.fsum(step.seconds for step in taken),
    )


def _divergence(mass: float) -> float:
    return math.inf if mass <= 0 else max(0.0, -math.log(mass))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _percent(share: float | None, of: str) -> str:
    return "–" if share is None else f"{100 * share:.1f} % {of}"
