"""Words that come back are known again, whatever stands around them and whatever was done to their form."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.privacy.fingerprints import Fingerprints, last_sentence_end, words_of

PRINTS = Fingerprints(b"k" * 32)
WORDS = st.text("abcdefghijklmnopqrstuvwxyzãéíçô", min_size=1, max_size=9)
TEXTS = st.lists(WORDS, max_size=40)


@given(TEXTS, st.lists(WORDS, min_size=11, max_size=30), TEXTS, TEXTS, TEXTS)
def test_eleven_words_in_a_row_are_known_again_in_any_surroundings(
    before: list[str], said: list[str], after: list[str], other: list[str], more: list[str]
) -> None:
    kept = PRINTS.of(" ".join([*before, *said, *after]))

    again = PRINTS.of(" ".join([*other, *said, *more]))

    assert kept & again


@given(st.lists(WORDS, min_size=5, max_size=30), TEXTS, TEXTS)
def test_a_sentence_of_five_words_is_known_again_within_a_longer_text(
    said: list[str], before: list[str], after: list[str]
) -> None:
    sentence = " ".join(said)

    assert PRINTS.of(f"{sentence}.") & PRINTS.of(f"{' '.join(before)}. {sentence}! {' '.join(after)}")


@given(st.lists(WORDS, min_size=1, max_size=30), st.sampled_from([" ", "\n", " **", "_ ", "\u200b ", "\u00a0", " > "]))
def test_form_is_no_difference(said: list[str], between: str) -> None:
    assert PRINTS.of(between.join(said).upper()) >= {PRINTS.whole(words_of(" ".join(said)))}


@given(st.lists(WORDS, min_size=12, max_size=30), st.lists(WORDS, min_size=12, max_size=30))
def test_texts_without_a_shared_word_share_nothing(one: list[str], other: list[str]) -> None:
    assert not PRINTS.of(" ".join(f"x{word}" for word in one)) & PRINTS.of(" ".join(f"y{word}" for word in other))


def test_another_key_knows_nothing() -> None:
    said = "o código do cofre do sítio é jabuticaba madura"

    assert not PRINTS.of(said) & Fingerprints(b"j" * 32).of(said)


def test_citations_and_small_numbers_are_no_words_but_sums_are() -> None:
    assert words_of("Vence no dia 8 [1]. Custa R$ 2450,00 ¹") == ["vence", "no", "dia", "custa", "r", "2450"]


def test_only_a_sentence_that_something_follows_is_complete() -> None:
    text = "Um fim. Outro fim! O resto"

    assert text[last_sentence_end(text, 0) :] == " O resto"
    assert last_sentence_end("Um fim.", 0) == 0
