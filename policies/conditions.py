"""A rule's `when` as a tree of conditions that are true, false, or not known.

Not known stays not known under `not`: a rule applies only if what it asks for was found out and is so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from policies.labels import Label, Sensitivity
    from policies.schema import HourCondition, LabelCondition, SizeCondition, When
    from policies.signals import Signals

Truth = bool | None


class Condition(Protocol):
    def truth(self, signals: Signals) -> Truth:
        """True or False, or None if a signal it needs was not evaluated."""

    def failure(self, signals: Signals) -> str | None:
        """The first part that is not true, in words; None if all are."""


def compiled(when: When | None) -> Condition:
    """Read a `when`; none at all is always true."""
    return All(tuple(_parts(when)) if when is not None else ())


@dataclass(frozen=True, slots=True)
class Question:
    """One thing asked of one signal."""

    words: str
    check: Callable[[Signals], Truth]

    def truth(self, signals: Signals) -> Truth:
        return self.check(signals)

    def failure(self, signals: Signals) -> str | None:
        truth = self.check(signals)
        if truth is None:
            return f"{self.words} (not evaluated)"
        return None if truth else self.words


@dataclass(frozen=True, slots=True)
class All:
    """True if every part is."""

    parts: tuple[Condition, ...]

    def truth(self, signals: Signals) -> Truth:
        return _all(part.truth(signals) for part in self.parts)

    def failure(self, signals: Signals) -> str | None:
        return next(_failures(self.parts, signals), None)


@dataclass(frozen=True, slots=True)
class Any:
    """True if some part is."""

    parts: tuple[Condition, ...]

    def truth(self, signals: Signals) -> Truth:
        truths = [part.truth(signals) for part in self.parts]
        return _not(_all(_not(truth) for truth in truths))

    def failure(self, signals: Signals) -> str | None:
        if self.truth(signals):
            return None
        return "any of: " + "; ".join(_failures(self.parts, signals))


@dataclass(frozen=True, slots=True)
class Not:
    """True if its part is known to be false."""

    words: str
    part: Condition

    def truth(self, signals: Signals) -> Truth:
        return _not(self.part.truth(signals))

    def failure(self, signals: Signals) -> str | None:
        truth = self.truth(signals)
        if truth is None:
            return f"not ({self.part.failure(signals)})"
        return None if truth else self.words


def _all(truths: Iterable[Truth]) -> Truth:
    known = True
    for truth in truths:
        if truth is False:
            return False
        known = known and truth is not None
    return True if known else None


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _failures(parts: Iterable[Condition], signals: Signals) -> Iterator[str]:
    return (failure for part in parts if (failure := part.failure(signals)) is not None)


def _parts(when: When) -> Iterator[Condition]:
    """One condition for each key, in the order of the schema."""
    if when.label is not None:
        yield from _label_tests(when.label)
    yield from _word_tests(when)
    if when.size is not None:
        yield from _size_tests(when.size)
    if when.hour is not None:
        yield _hour_test(when.hour)
    yield from _unevaluated(when)
    if when.all is not None:
        yield All(tuple(map(compiled, when.all)))
    if when.any is not None:
        yield Any(tuple(map(compiled, when.any)))
    if when.not_ is not None:
        yield Not(f"not {written(when.not_)}", compiled(when.not_))


def written(when: When) -> str:
    """A `when` on one line, as it was written."""
    return str(when.model_dump(mode="json", by_alias=True, exclude_unset=True))


def _label_tests(wanted: LabelCondition) -> Iterator[Question]:
    if (least := wanted.at_least) is not None:
        yield Question(f"label is at least {least}", lambda signals: _covers(signals.label, least))
    if (most := wanted.at_most) is not None:
        yield Question(f"label is at most {most}", lambda signals: _within(signals.label, most))
    if (exact := wanted.is_) is not None:
        yield Question(
            f"label is {exact}", lambda signals: _covers(signals.label, exact) and _within(signals.label, exact)
        )
    if (words := wanted.compartment) is not None:
        yield Question(
            f"label has compartment {_or(words)}", lambda signals: not signals.label.compartments.isdisjoint(words)
        )


def _covers(label: Label, mark: Sensitivity) -> bool:
    return label.level >= mark.level and label.compartments >= mark.compartments


def _within(label: Label, mark: Sensitivity) -> bool:
    """Naming no compartments covers all of them, as in the clearance of a zone."""
    return label.level <= mark.level and (not mark.compartments or label.compartments <= mark.compartments)


def _word_tests(when: When) -> Iterator[Question]:
    if (models := when.model) is not None:
        yield Question(f"model is {_or(models)}", lambda signals: signals.model in models)
    if (names := when.principal) is not None:
        yield Question(f"principal is {_or(names)}", lambda signals: signals.principal in names)
    if (groups := when.groups) is not None:
        yield Question(f"groups include {_or(groups)}", lambda signals: not signals.groups.isdisjoint(groups))
    if (collections := when.collections) is not None:
        yield Question(
            f"collections include {_or(collections)}", lambda signals: _shared(signals.collections, collections)
        )
    if (languages := when.language) is not None:
        yield Question(f"language is {_or(languages)}", lambda signals: _one_of(signals.language, languages))
    if (needs := when.needs) is not None:
        yield Question(f"needs include {', '.join(needs)}", lambda signals: signals.needs.issuperset(needs))
    if (kinds := when.findings) is not None:
        yield Question(f"findings include {_or(kinds)}", lambda signals: not signals.findings.isdisjoint(kinds))


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return not frozenset(one).isdisjoint(other)


def _one_of(word: str | None, words: tuple[str, ...]) -> Truth:
    return None if word is None else word in words


def _size_tests(wanted: SizeCondition) -> Iterator[Question]:
    if (above := wanted.above) is not None:
        yield Question(f"size is above {above} tokens", lambda signals: signals.size > above)
    if (below := wanted.below) is not None:
        yield Question(f"size is below {below} tokens", lambda signals: signals.size < below)


def _hour_test(wanted: HourCondition) -> Question:
    def check(signals: Signals) -> Truth:
        if signals.hour is None:
            return None
        if wanted.from_ <= wanted.to:
            return wanted.from_ <= signals.hour < wanted.to
        return signals.hour >= wanted.from_ or signals.hour < wanted.to

    return Question(f"hour is from {wanted.from_} to before {wanted.to}", check)


def _unevaluated(when: When) -> Iterator[Question]:
    """Questions that packs may already ask although nothing answers them yet."""
    for key in UNEVALUATED:
        if getattr(when, key) is not None:
            yield Question(f"{key} is as wanted", lambda _: None)


UNEVALUATED = ("task", "budget", "load", "time")


def _or(words: tuple[str, ...]) -> str:
    return " or ".join(words)
