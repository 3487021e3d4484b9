"""What may be quoted is whole sentences."""

from __future__ import annotations

import pytest

from retrieval.sentences import names, split


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "O Dr. Souza mora na Av. Brasil. Ele paga R$ 2.450,00.",
            ["O Dr. Souza mora na Av. Brasil.", "Ele paga R$ 2.450,00."],
        ),
        ("Is it? Yes! It is… Fine.", ["Is it?", "Yes!", "It is…", "Fine."]),
        ("4 ovos\n3 xícaras de leite", ["4 ovos", "3 xícaras de leite"]),
        ("- um cachorro\n- dois gatos", ["- um cachorro", "- dois gatos"]),
        ("---\n\n***", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_wrapped_lines_are_joined() -> None:
    text = (
        "The rent is due on the first day of every month and it may be paid by bank\n"
        "transfer or in cash. A late fee applies after a grace period of five whole\n"
        "days.\n"
        "Water is included."
    )

    assert split(text) == [
        "The rent is due on the first day of every month and it may be paid by bank transfer or in cash.",
        "A late fee applies after a grace period of five whole days.",
        "Water is included.",
    ]


@pytest.mark.parametrize(
    "line", ["Homeowners insurance policy, summary of coverage", "| Parcela | Vencimento | Valor |", "LARKSPUR MUTUAL"]
)
def test_titles_and_header_rows_only_name(line: str) -> None:
    assert names(line)


@pytest.mark.parametrize(
    "line",
    [
        "Water is included.",
        "(It says: “Yes!”)",
        "4 ovos",
        "| 3 de 6 | 11 de maio |",
        "Owner: Ana Duarte",
        "- milk and bread",
    ],
)
def test_sentences_figures_items_and_named_values_say_something(line: str) -> None:
    assert not names(line)
