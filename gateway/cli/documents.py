"""`soleira ingest`, `search` and `docs`: documents go in, are found, and go out."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from gateway.cli import options, retriever
from gateway.settings import Settings
from retrieval.client import Scope

if TYPE_CHECKING:
    from policies.labels import Label
    from retrieval.client import DocumentInfo, FileStatus, Passage

app = typer.Typer()
docs = typer.Typer(help="The documents of the house.", no_args_is_help=True)
app.add_typer(docs, name="docs")

Collection = Annotated[str, typer.Option("--collection", help="The collection.")]
Clearance = Annotated[str, typer.Option(help="Look as a reader with this clearance would. [default: as the owner]")]


@app.command()
def ingest(
    path: Annotated[Path, typer.Argument(exists=True, resolve_path=True, help="A file or a folder.")],
    collection: Collection,
    label: Annotated[str, typer.Option(help="What its text counts as. [default: the collection's, else private]")] = "",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Take documents into a collection; returns when they can be found. Fails if a file could not be read."""
    chosen = options.label(label) if label else None
    outcomes = asyncio.run(_ingest(Settings.from_environment(data, pack), path, collection, chosen))
    if as_json:
        options.print_json([asdict(outcome) for outcome in outcomes])
    else:
        _summarize(outcomes, collection)
    if not outcomes or any(outcome.status == "failed" for outcome in outcomes):
        raise typer.Exit(1)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    collection: Collection,
    top: Annotated[int, typer.Option(min=1, max=100, help="How many passages at most.")] = 10,
    clearance: Clearance = "",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Find passages in a collection, best first."""
    scope = _scope((collection,), clearance)
    passages = asyncio.run(_search(Settings.from_environment(data, pack), query, scope, top))
    if as_json:
        return options.print_json([_shown(passage) for passage in passages])
    for number, passage in enumerate(passages, 1):
        typer.echo(f"{number}. {_place(passage)}  ({passage.label}, {passage.score:.3f})\n{_indented(passage.text)}\n")
    if not passages:
        typer.echo(f"Nothing near enough was found in {collection!r}.")


@docs.command("list")
def list_documents(
    collection: Annotated[str, typer.Option(help="Only this collection.")] = "",
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """List the documents, those that could not be read included."""
    scope = _scope((collection,) if collection else None, "")
    documents = asyncio.run(_documents(Settings.from_environment(data, pack), scope))
    if as_json:
        return options.print_json([{**asdict(document), "label": str(document.label)} for document in documents])
    for document in documents:
        why = f": {document.reason}" if document.reason else ""
        typer.echo(
            f"{document.document}  {document.collection}/{document.file}  {document.label}  {document.state}{why}"
        )


@docs.command()
def delete(
    document: Annotated[str, typer.Argument(help="The document's id, as 'docs list' shows it.")],
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Delete a document; from then on it never answers again."""
    if not asyncio.run(_delete(Settings.from_environment(data, pack), document)):
        typer.echo(f"soleira: there is no document {document!r}; 'soleira docs list' shows them", err=True)
        raise typer.Exit(1)
    if as_json:
        return options.print_json({"document": document, "state": "deleted"})
    typer.echo(f"{document} is deleted.")


async def _ingest(settings: Settings, path: Path, collection: str, label: Label | None) -> list[FileStatus]:
    async with retriever.opened(settings, _say) as client:
        outcomes = []
        with _progress() as progress:
            task = progress.add_task("Reading", total=_count(path))
            async for outcome in client.ingest(path, collection, label):
                outcomes.append(outcome)
                progress.advance(task)
        return outcomes


async def _search(settings: Settings, query: str, scope: Scope, top: int) -> list[Passage]:
    async with retriever.opened(settings, _say) as client:
        return await client.search(query, scope, top)


async def _documents(settings: Settings, scope: Scope) -> list[DocumentInfo]:
    async with retriever.opened(settings, _say) as client:
        return await client.documents(scope)


async def _delete(settings: Settings, document: str) -> bool:
    async with retriever.opened(settings, _say) as client:
        return await client.delete(document, Scope.owner())


def _scope(collections: tuple[str, ...] | None, clearance: str) -> Scope:
    return Scope(collections, options.mark(clearance) if clearance else None)


def _say(line: str) -> None:
    typer.echo(line, err=True)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())


def _count(path: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(path)) if path.is_dir() else 1


def _summarize(outcomes: list[FileStatus], collection: str) -> None:
    by_status = {status: [o for o in outcomes if o.status == status] for status in ("live", "unchanged", "failed")}
    chunks = sum(outcome.chunks for outcome in by_status["live"])
    typer.echo(
        f"{collection}: {options.counted(len(by_status['live']), 'file')} read ({options.counted(chunks, 'passage')}), "
        f"{len(by_status['unchanged'])} unchanged, {len(by_status['failed'])} failed"
    )
    for outcome in by_status["failed"]:
        typer.echo(f"  {outcome.path}: {outcome.reason}", err=True)
    if not outcomes:
        typer.echo("  There was no file to read.", err=True)


def _shown(passage: Passage) -> dict[str, Any]:
    return {
        "document": passage.document,
        "chunk": passage.chunk,
        "score": passage.score,
        "text": passage.text,
        "file": passage.file,
        "collection": passage.collection,
        "page": passage.anchor.page,
        "line": passage.anchor.line,
        "heading": passage.anchor.heading,
        "label": str(passage.label),
    }


def _place(passage: Passage) -> str:
    anchor = passage.anchor
    if anchor.page is not None:
        return f"{passage.file}, page {anchor.page}"
    return f"{passage.file}, line {anchor.line}" if anchor.line is not None else passage.file


def _indented(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
