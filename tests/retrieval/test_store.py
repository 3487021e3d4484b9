"""The store finds within reach, and forgets."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from policies.labels import Label
from retrieval.store import Entry, Legs, Reach
from retrieval.store.bm25 import ENCODERS, coverage
from retrieval.store.edge import EdgeStore

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

EVERYTHING = Reach(None, None, frozenset())
NAMES: dict[str, str] = {}


@pytest.fixture
def store(tmp_path: Path) -> Generator[EdgeStore, None, None]:
    opened = EdgeStore(tmp_path / "vectors", 2)
    yield opened
    opened.close()


def entry(name: str, text: str, *, collection: str = "a", label: str = "public", version: str = "v1") -> Entry:
    chunk = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    NAMES[chunk] = name
    return Entry(chunk, version, collection, Label.parse(label), "pt", text, [1.0, 0.1])


def found(legs: Legs) -> set[str]:
    return {NAMES[hit.chunk] for leg in (legs.dense, legs.portuguese.hits, legs.english.hits) for hit in leg}


@pytest.mark.parametrize(
    ("reach", "expected"),
    [
        (EVERYTHING, {"plain", "health", "both", "secret", "elsewhere"}),
        (Reach(("a",), 2, frozenset()), {"plain"}),
        (Reach(("a",), 2, frozenset({"health"})), {"plain", "health"}),
        (Reach(("a",), 3, frozenset({"health", "work"})), {"plain", "health", "both", "secret"}),
        (Reach(("a",), 0, frozenset()), set()),
        (Reach(("b", "none"), 3, frozenset()), {"elsewhere"}),
        (Reach((), 3, frozenset()), set()),
    ],
)
def test_every_leg_stays_within_reach(store: EdgeStore, reach: Reach, expected: set[str]) -> None:
    store.add(
        [
            entry("plain", "inundação na rua", label="private"),
            entry("health", "inundação na rua", label="private+health"),
            entry("both", "inundação na rua", label="private+health+work"),
            entry("secret", "inundação na rua", label="secret"),
            entry("elsewhere", "inundação na rua", collection="b"),
        ]
    )

    assert found(store.search("inundação", [1.0, 0.0], reach, 10)) == expected


def test_words_of_what_may_not_be_read_do_not_show_in_scores(store: EdgeStore) -> None:
    store.add([entry("mine", "contrato de aluguel"), entry("mine too", "receita de bolo")])
    reach = Reach(("a",), 0, frozenset())
    before = store.search("contrato", [1.0, 0.0], reach, 10)

    store.add([entry(f"theirs {number}", "contrato secreto", collection="b") for number in range(20)])

    assert store.search("contrato", [1.0, 0.0], reach, 10) == before


def test_accents_and_plurals_meet(store: EdgeStore) -> None:
    store.add([entry("flood", "As inundações da cidade"), entry("room", "O salão de festas")])

    for query, expected in (("inundação", "flood"), ("inundacoes", "flood"), ("salao", "room")):
        (hit,) = store.search(query, [1.0, 0.0], EVERYTHING, 10).portuguese.hits
        assert NAMES[hit.chunk] == expected


def test_coverage_is_the_part_of_the_words_that_the_best_hit_has(store: EdgeStore) -> None:
    store.add([entry("half", "festa junina"), entry("none", "outra coisa")])

    assert store.search("festa natalina", [1.0, 0.0], EVERYTHING, 10).portuguese.coverage == pytest.approx(0.5)
    assert coverage(ENCODERS["pt"], "quando é a festa", "a festa junina") == 1.0
    assert coverage(ENCODERS["en"], "the of and", "anything") == 0.0


def test_a_dropped_version_is_gone_and_others_stay(store: EdgeStore) -> None:
    store.add([entry("old", "texto"), entry("new", "texto", version="v2"), entry("new too", "texto", version="v2")])

    store.drop("v1")

    assert store.versions() == {"v2": 2}
    assert found(store.search("texto", [1.0, 0.0], EVERYTHING, 10)) == {"new", "new too"}


def test_entries_are_there_after_closing_and_opening(tmp_path: Path) -> None:
    first = EdgeStore(tmp_path / "vectors", 2)
    first.add([entry("kept", "texto")])
    first.close()

    second = EdgeStore(tmp_path / "vectors", 2)

    assert second.versions() == {"v1": 1}
    second.close()


def test_a_shard_whose_making_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "half").write_text("an interrupted start")

    store = EdgeStore(tmp_path / "vectors", 2)

    assert store.versions() == {}
    store.close()
