"""Free text in the arguments of a function, whole and in pieces."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.responses.freetext import FreeText, arguments_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n👋é/u'))


def read(*pieces: str) -> str:
    free = FreeText()
    told = "".join([*map(free.add, pieces), free.end()])
    assert told == free.text
    return told


def cut(text: str, places: list[int]) -> list[str]:
    bounds = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


@given(TEXT, st.booleans(), st.lists(st.integers(0, 10_000), max_size=6))
def test_a_text_is_the_same_wherever_its_arguments_are_cut(text: str, escaped: bool, places: list[int]) -> None:
    arguments = json.dumps({"input": text}) if escaped else arguments_of(text)

    assert read(*cut(arguments, places)) == text
    assert read(*arguments) == text


@given(st.text('{}":, \\uinptd83cx\n', max_size=40), st.lists(st.integers(0, 10_000), max_size=4))
def test_whatever_comes_is_text_that_can_be_sent(arguments: str, places: list[int]) -> None:
    read(*cut(arguments, places)).encode()


def test_a_text_is_told_as_it_comes() -> None:
    free = FreeText()

    pieces = ['{ "input" :', ' "a\\', "n\\ud83d", "\\udc4b", "b", '", "more": 1}', "}"]

    assert [free.add(piece) for piece in pieces] == ["", "a", "\n", "👋", "b", "", ""]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("*** Begin Patch", "*** Begin Patch"),
        ('"a\\nb"', "a\nb"),
        ('{"why": "so", "input": "a"}', "a"),
        ('{"patch": "a"}', '{"patch": "a"}'),
        ("", ""),
        ("[" * 5000, "[" * 5000),
        ('{"input": "a\nb"}', "a\nb"),
        ('{"input": "\\d+ \\u00zz"}', "\\d+ \\u00zz"),
        ('{"input": "half \\ud83d"}', "half \ufffd"),
        ('{"input": "half \\u00', "half "),
        ('{"why": 1, "input": "\\ud83d"}', "\ufffd"),
    ],
)
def test_arguments_of_other_forms_lose_nothing_of_the_text(arguments: str, text: str) -> None:
    assert read(arguments) == text
    assert read(*arguments) == text
