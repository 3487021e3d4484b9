"""Passages end where the structure of their file ends."""

from __future__ import annotations

from retrieval.chunk import MOST_TOKENS, split
from retrieval.parse.blocks import Block, Parsed


def words(text: str) -> int:
    return len(text.split())


def test_no_passage_reaches_over_a_heading_or_a_page() -> None:
    blocks = (
        Block("one", ("A",), line=1),
        Block("two", ("A",), line=3),
        Block("three", ("A", "B"), line=7),
        Block("four", (), page=2),
        Block("five", (), page=3),
    )

    pieces = split(Parsed("Title", blocks), words)

    assert [piece.text for piece in pieces] == ["one\n\ntwo", "three", "four", "five"]
    assert [piece.context for piece in pieces] == ["Title > A", "Title > A > B", "Title", "Title"]
    assert [(piece.anchor.line, piece.anchor.page, piece.anchor.heading) for piece in pieces] == [
        (1, None, "A"),
        (7, None, "B"),
        (None, 2, None),
        (None, 3, None),
    ]


def test_the_context_is_indexed_but_not_shown() -> None:
    (piece,) = split(Parsed("Lease", (Block("Due on the 5th.", ("Rent",)),)), words)

    assert piece.text == "Due on the 5th."
    assert piece.indexed == "Lease > Rent\nDue on the 5th."


def test_long_text_is_cut_at_sentences_and_loses_nothing() -> None:
    sentences = [f"Sentence number {number} has seven words." for number in range(200)]

    pieces = split(Parsed(None, (Block(" ".join(sentences)),)), words)

    assert all(words(piece.text) <= MOST_TOKENS for piece in pieces)
    assert all(piece.text.endswith("words.") for piece in pieces)
    assert " ".join(piece.text for piece in pieces).split() == " ".join(sentences).split()


def test_a_long_table_is_cut_between_rows_and_keeps_its_lines() -> None:
    rows = [f"| row {number} | of a long table |" for number in range(100)]

    pieces = split(Parsed(None, (Block("\n".join(rows), line=10),)), words)

    assert len(pieces) > 1
    for piece in pieces:
        first = piece.text.split("\n")[0]
        assert rows.index(first) + 10 == piece.anchor.line


def test_a_text_without_spaces_is_cut_by_length() -> None:
    pieces = split(Parsed(None, (Block("x" * 3000),)), len)

    assert "".join(piece.text for piece in pieces) == "x" * 3000
    assert max(len(piece.text) for piece in pieces) <= MOST_TOKENS
