"""How well questions find their passages and sentences, with and without the floors: `python -m benchmarks.retrieval`.

Measured on the questions about the sample documents, and on folders in BEIR's form (`corpus.jsonl`, `queries.jsonl`,
`qrels.tsv` or `qrels/test.tsv`), with the embedding model that the retrieval process would use.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import tempfile
import uuid
from collections import defaultdict
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import islice
from math import log2
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from migrations import upgrade
from policies.labels import Label
from policies.language import detect
from retrieval import chunk, quotes
from retrieval.client import Excerpt, IngestRequest, SentencesRequest
from retrieval.fusion import fuse, rank
from retrieval.ingest import BATCH, Ingest
from retrieval.opening import opened
from retrieval.parse.blocks import Block, Parsed
from retrieval.registry import chunks
from retrieval.search import DEPTH
from retrieval.store import Entry, Reach
from retrieval.store.edge import EdgeStore
from tests.retrieval.questions import ACROSS_LANGUAGES, BY_NAME, UNRELATED, WITHIN_A_LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from retrieval.registry.chunks import Answering
    from retrieval.runtime import Runtime
    from retrieval.store import Legs

    Ranking = list[tuple[str, float]]
    Order = Callable[[Legs, str | None, Mapping[str | None, float]], Ranking]
    Asked = tuple[str, str, str]

_PACK = Path(__file__).resolve().parents[1] / "policies" / "packs" / "home"
_EVERYTHING = Reach(None, None, frozenset())
_CUTOFF = 10
_QUOTED_FROM, _QUOTED = 5, 3


@dataclass(frozen=True)
class Question:
    """A question and how much each document or passage that answers it is worth."""

    text: str
    gains: Mapping[str, int]


@dataclass(frozen=True)
class Found:
    """What an order of search finds for a set of questions; None where nothing could be right."""

    questions: str
    order: str
    count: int
    answered: int
    first: int | None
    ndcg: float | None
    recall: float | None


@dataclass(frozen=True)
class Quoted:
    """How many questions have the right file, and the answer, in their quotes."""

    questions: str
    floors: str
    count: int
    answered: int
    file: int | None
    first: int | None
    any: int | None


def main() -> None:
    """Measure and print two tables, or both as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("--beir", type=Path, nargs="*", default=[], metavar="DIR", help="folders in BEIR's form")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args()
    found, quoted = asyncio.run(measure(arguments.beir))
    if arguments.json:
        print(json.dumps({"search": [asdict(row) for row in found], "quotes": [asdict(row) for row in quoted]}))
        return
    console = Console()
    console.print(_table("search", _SEARCH_HEADINGS, found), _table("quotes", _QUOTES_HEADINGS, quoted))


async def measure(folders: Sequence[Path]) -> tuple[list[Found], list[Quoted]]:
    """Measure on each folder and on the samples, in a data directory made for it."""
    with tempfile.TemporaryDirectory() as place, Progress(console=Console(stderr=True)) as progress:
        data = Path(place)
        upgrade("registry", f"sqlite:///{data / 'registry.db'}")
        loading = progress.add_task("loading the embedding model", total=None)
        with opened(data, _PACK) as runtime:
            progress.remove_task(loading)
            found = [row for folder in folders for row in await on_folder(runtime, folder, data, progress)]
            await _take_in_samples(runtime)
            on_samples, quoted = await _on_samples(runtime, progress)
            return [*found, *on_samples], quoted


async def on_folder(runtime: Runtime, folder: Path, data: Path, progress: Progress) -> list[Found]:
    """What each order finds in a folder's documents."""
    with closing(EdgeStore(data / "folders" / folder.name, len(await runtime.turns.question("?")))) as store:
        runtime = replace(runtime, store=store)
        documents = await _index(runtime, folder, progress)
        questions = list(_questions(folder))
        rankings = await _rankings(runtime, questions, progress, folder.name)
    by_document = {name: [_by_document(one, documents) for one in each] for name, each in rankings.items()}
    return [_found(folder.name, name, questions, each) for name, each in by_document.items()]


async def _index(runtime: Runtime, folder: Path, progress: Progress) -> dict[str, str]:
    """Embed and store a corpus; the document of each passage."""
    documents: dict[str, str] = {}
    entries = [_passages(line, runtime.turns.count) for line in _lines(folder / "corpus.jsonl")]
    for batch in progress.track(list(_batches(entries)), description=f"{folder.name}: documents"):
        vectors = await runtime.turns.documents([entry.text for _, entry in batch])
        runtime.store.add([replace(entry, dense=vector) for (_, entry), vector in zip(batch, vectors, strict=True)])
        documents |= {entry.chunk: document for document, entry in batch}
    return documents


def _passages(line: Mapping[str, str], count: Callable[[str], int]) -> list[tuple[str, Entry]]:
    """A document of a corpus, cut as a file of the house would be; its vectors are still to be made."""
    pieces = chunk.split(Parsed(line.get("title") or None, (Block(line["text"]),)), count)
    return [
        (
            line["_id"],
            Entry(str(uuid.uuid4()), "v", "beir", Label(), detect(piece.indexed), piece.indexed, ()),
        )
        for piece in pieces
    ]


def _batches(entries: Iterable[list[tuple[str, Entry]]]) -> Iterator[list[tuple[str, Entry]]]:
    flat = (entry for of_document in entries for entry in of_document)
    while batch := list(islice(flat, BATCH)):
        yield batch


def _questions(folder: Path) -> Iterator[Question]:
    """The folder's questions that some document answers."""
    places = (folder / "qrels.tsv", folder / "qrels" / "test.tsv")
    place = next((path for path in places if path.exists()), None)
    if place is None:
        raise SystemExit(f"{folder} has no judgements: one of {', '.join(map(str, places))} is needed")
    gains: defaultdict[str, dict[str, int]] = defaultdict(dict)
    with place.open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["score"]) > 0:
                gains[row["query-id"]][row["corpus-id"]] = int(row["score"])
    for line in _lines(folder / "queries.jsonl"):
        if line["_id"] in gains:
            yield Question(line["text"], gains[line["_id"]])


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return [json.loads(line) for line in file]


async def _rankings(
    runtime: Runtime, questions: Sequence[Question], progress: Progress, name: str
) -> dict[str, list[Ranking]]:
    """For each order, what it makes of each question."""
    rankings: dict[str, list[Ranking]] = {name: [] for name in ORDERS}
    for question in progress.track(questions, description=f"{name}: questions"):
        for order, ranking in (await _asked(runtime, question.text)).items():
            rankings[order].append(ranking)
    return rankings


async def _asked(runtime: Runtime, text: str) -> dict[str, Ranking]:
    vector = await runtime.turns.question(text)
    legs = runtime.store.search(text, vector, _EVERYTHING, DEPTH)
    unrelated = runtime.background.near(vector)
    return {name: order(legs, detect(text), unrelated) for name, order in ORDERS.items()}


def _by_document(ranking: Ranking, documents: Mapping[str, str]) -> Ranking:
    """Each document at the place of its best passage."""
    best: dict[str, float] = {}
    for passage, score in ranking:
        best.setdefault(documents[passage], score)
    return list(best.items())


async def _take_in_samples(runtime: Runtime) -> None:
    ingest = Ingest(runtime)
    worker = asyncio.create_task(ingest.work())
    async for status in ingest.submit(IngestRequest(str(_PACK / "samples"), "samples", None)):
        if status.status != "live":
            raise SystemExit(f"{status.path} was not taken in: {status.reason}")
    worker.cancel()


async def _on_samples(runtime: Runtime, progress: Progress) -> tuple[list[Found], list[Quoted]]:
    with runtime.engine.connect() as connection:
        versions = runtime.store.versions()
        passages = {one.chunk.id: one for version in versions for one in chunks.of(connection, version)}
    found, quoted = [], []
    for name, asked in _SAMPLES.items():
        questions = [Question(text, _answers(passages, file, words)) for text, file, words in asked]
        rankings = await _rankings(runtime, questions, progress, name)
        found += [_found(name, order, questions, each) for order, each in rankings.items()]
        for floors, order, floor in (("yes", "fused, floor", quotes.FLOOR), ("no", "fused, no floor", 0.0)):
            picked = [
                await _quotes(runtime, text, [(passages[one], score) for one, score in ranking[:_QUOTED_FROM]], floor)
                for (text, _, _), ranking in zip(asked, rankings[order], strict=True)
            ]
            quoted.append(_quoted(name, floors, asked, picked))
    return found, quoted


def _answers(passages: Mapping[str, Answering], file: str, words: str) -> dict[str, int]:
    return {name: 1 for name, one in passages.items() if one.file == file and words and words in one.chunk.text}


async def _quotes(
    runtime: Runtime, question: str, passages: Sequence[tuple[Answering, float]], floor: float
) -> list[tuple[str, str]]:
    """The quoted sentences, each with its file."""
    excerpts = tuple(Excerpt(one.chunk.text, one.chunk.anchor.heading, score) for one, score in passages)
    ranked = await quotes.rank(runtime, SentencesRequest(question, excerpts, _QUOTED))
    return [(one.text, passages[one.passage][0].file) for one in quotes.pick(ranked, _QUOTED, floor)]


def _found(name: str, order: str, questions: Sequence[Question], rankings: Sequence[Ranking]) -> Found:
    answered = sum(map(bool, rankings))
    judged = [(question.gains, ranking[:_CUTOFF]) for question, ranking in zip(questions, rankings, strict=True)]
    if not any(gains for gains, _ in judged):
        return Found(name, order, len(questions), answered, None, None, None)
    return Found(
        name,
        order,
        len(questions),
        answered,
        first=sum(ranking[0][0] in gains for gains, ranking in judged if ranking),
        ndcg=mean(ndcg(ranking, gains) for gains, ranking in judged),
        recall=mean(sum(one in gains for one, _ in ranking) / len(gains) for gains, ranking in judged),
    )


def ndcg(ranking: Ranking, gains: Mapping[str, int]) -> float:
    """The discounted gain of the ranking over that of the best one, as trec_eval defines it."""
    got = sum(gains.get(one, 0) / log2(place + 2) for place, (one, _) in enumerate(ranking))
    best = sorted(gains.values(), reverse=True)[:_CUTOFF]
    return got / sum(gain / log2(place + 2) for place, gain in enumerate(best))


def _quoted(name: str, floors: str, asked: Sequence[Asked], picked: Sequence[list[tuple[str, str]]]) -> Quoted:
    answered = sum(map(bool, picked))
    if not any(words for _, _, words in asked):
        return Quoted(name, floors, len(asked), answered, None, None, None)
    judged = list(zip(asked, picked, strict=True))
    return Quoted(
        name,
        floors,
        len(asked),
        answered,
        file=sum(any(found == file for _, found in sentences) for (_, file, _), sentences in judged),
        first=sum(words in sentences[0][0] for (_, _, words), sentences in judged if sentences),
        any=sum(any(words in text for text, _ in sentences) for (_, _, words), sentences in judged),
    )


def by_ranks(legs: Legs, asked: str | None, _unrelated: Mapping[str | None, float]) -> Ranking:
    """Reciprocal rank fusion with weights by language, the usual way, to compare with."""
    scores: defaultdict[str, float] = defaultdict(float)
    for leg, hits in (("dense", legs.dense), ("pt", legs.portuguese.hits), ("en", legs.english.hits)):
        for place, hit in enumerate(hits):
            scores[hit.chunk] += _rank_weight(leg, asked, hit.language) / (1 + place / _RRF_DEPTH)
    return sorted(scores.items(), key=lambda item: -item[1])


def _rank_weight(leg: str, asked: str | None, written: str | None) -> float:
    asked, written = asked or written, written or asked
    if asked != written:
        return 0.8 if leg == "dense" else 0.1
    meaning = 0.4 if asked == "pt" else 0.5
    if leg == "dense":
        return meaning
    return 1 - meaning if leg == asked else 0.0


_RRF_DEPTH = 10
ORDERS: Mapping[str, Order] = {"fused, floor": fuse, "fused, no floor": rank, "ranks (RRF)": by_ranks}
_SAMPLES: Mapping[str, Sequence[Asked]] = {
    "samples, within a language": WITHIN_A_LANGUAGE,
    "samples, across languages": ACROSS_LANGUAGES,
    "samples, names": BY_NAME,
    "samples, unrelated": [(text, "", "") for text in UNRELATED],
}
_SEARCH_HEADINGS = ("questions", "order", "asked", "find something", "first is right", "nDCG@10", "recall@10")
_QUOTES_HEADINGS = ("questions", "floors", "asked", "quote something", "right file", "answer first", "answer in three")


def _table(title: str, headings: Sequence[str], rows: Sequence[Found] | Sequence[Quoted]) -> Table:
    table = Table(*headings, title=title)
    for row in rows:
        table.add_row(*(_cell(value) for value in asdict(row).values()))
    return table


def _cell(value: str | float | None) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
