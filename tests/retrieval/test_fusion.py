"""What meaning and words found, in one order."""

from __future__ import annotations

from retrieval.fusion import FLOOR, fuse
from retrieval.store import Hit, Legs, Words

UNRELATED: dict[str | None, float] = {"pt": 0.78, "en": 0.76, None: 0.77}
NOTHING = Words([], 0.0)


def test_in_portuguese_a_passage_with_the_words_beats_a_slightly_nearer_one() -> None:
    dense = [Hit("near", "pt", 0.86), Hit("worded", "pt", 0.85)]

    ranked = fuse(Legs(dense, Words([Hit("worded", "pt", 9.0)], 0.8), NOTHING), "pt", UNRELATED)

    assert [chunk for chunk, _ in ranked] == ["worded", "near"]


def test_one_shared_word_does_not_hide_the_answer_in_the_other_language() -> None:
    dense = [Hit("chance", "pt", 0.83), Hit("answer", "en", 0.85)]

    ranked = fuse(Legs(dense, Words([Hit("chance", "pt", 3.0)], 0.2), NOTHING), "pt", UNRELATED)

    assert [chunk for chunk, _ in ranked] == ["answer", "chance"]


def test_nothing_is_found_when_the_best_is_no_nearer_than_unrelated_text() -> None:
    dense = [Hit("far", "pt", UNRELATED["pt"] + 0.03)]

    assert fuse(Legs(dense, NOTHING, NOTHING), "pt", UNRELATED) == []


def test_once_something_is_found_weaker_passages_follow_it() -> None:
    dense = [Hit("clear", "en", 0.90), Hit("weak", "en", 0.78)]

    ranked = fuse(Legs(dense, NOTHING, NOTHING), "en", UNRELATED)

    assert [chunk for chunk, _ in ranked] == ["clear", "weak"]
    assert ranked[1][1] < FLOOR < ranked[0][1]


def test_a_number_alone_is_found_by_its_words_in_either_language() -> None:
    dense = [Hit("other", "pt", 0.80), Hit("serial", "en", 0.79)]
    english = Words([Hit("serial", "en", 7.0)], 1.0)

    ranked = fuse(Legs(dense, NOTHING, english), None, UNRELATED)

    assert ranked[0][0] == "serial"
