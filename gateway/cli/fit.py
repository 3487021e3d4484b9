"""`soleira fit`: whether machines can hold a model."""

from __future__ import annotations

import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.catalog.hardware import gpus
from gateway.catalog.models import Use
from gateway.catalog.sheets import bytes_of
from gateway.cli import options
from gateway.owning.fits import fit as fits
from gateway.owning.fits import reasons, this_machine
from gateway.owning.fits.asking import CONCURRENCY, CONTEXT, Question
from gateway.owning.fits.commands import CacheType, Engine
from gateway.owning.fits.places import Given
from gateway.owning.fits.sentences import Sentence, say
from gateway.owning.fits.shown import as_dict
from gateway.owning.written import number, rounded, size
from gateway.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from gateway.economics.fit import Room
    from gateway.owning.fits.commands import Line
    from gateway.owning.fits.fit import Answer
    from gateway.owning.fits.this_machine import Machine

app = typer.Typer()

_WIDTH = 80
_NAMES = 30
_HEADINGS = ("Form", "Memory", "One answer")
_MARKS = {"fine": "✓", "wrong": "✗", "look": "○"}


def _size(text: str) -> int:
    try:
        return bytes_of(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} {error}") from None


def _bandwidth(text: str) -> int:
    return _size(text.strip().removesuffix("/s"))


@app.command()
def fit(
    model: Annotated[str, typer.Option(help="Its short name: kimi-k3, deepseek-r1, ...")] = "kimi-k3",
    gpu: Annotated[
        str | None, typer.Option(help="Its short name: b300, rtx4090, ... [default: this machine's]")
    ] = None,
    count: Annotated[int | None, typer.Option(min=1, max=4096, help="How many accelerators. [default: 1]")] = None,
    quant: Annotated[str, typer.Option(help="The form: native, UD-IQ1_S, ...")] = "native",
    context: Annotated[int, typer.Option(min=1, help="Tokens of one request, the answer included.")] = CONTEXT,
    concurrency: Annotated[int, typer.Option(min=1, max=100_000, help="Requests at once.")] = CONCURRENCY,
    gpu_memory: Annotated[
        int | None, typer.Option(parser=_size, metavar="SIZE", help="Of one, as its driver reports it: 96GB.")
    ] = None,
    gpu_bandwidth: Annotated[
        int | None, typer.Option(parser=_bandwidth, metavar="SIZE/S", help="Of its memory: 1.8TB/s.")
    ] = None,
    host_memory: Annotated[
        int | None, typer.Option(parser=_size, metavar="SIZE", help="Of the computer: 768GB.")
    ] = None,
    host_bandwidth: Annotated[
        int | None, typer.Option(parser=_bandwidth, metavar="SIZE/S", help="Of that memory: 460GB/s.")
    ] = None,
    disk: Annotated[int | None, typer.Option(parser=_size, metavar="SIZE", help="Free: 2TB.")] = None,
    disk_bandwidth: Annotated[
        int | None, typer.Option(parser=_bandwidth, metavar="SIZE/S", help="Reading: 7GB/s.")
    ] = None,
    engine: Annotated[Engine | None, typer.Option(help="[default: the one that is best known to run it there]")] = None,
    cache: Annotated[
        CacheType | None, typer.Option(help="Of attention. [default: as the engine's recipe has it]")
    ] = None,
    dcp: Annotated[int, typer.Option(min=1, max=64, help="Ranks that share the tokens of the cache.")] = 1,
    use: Annotated[Use, typer.Option(help="What the licence is read for.")] = "internal",
    this: Annotated[bool, typer.Option("--this-machine", help="Look at this machine, and at no other.")] = False,
    all_quants: Annotated[bool, typer.Option("--all-quants", help="Every form of the model, a line each.")] = False,
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Say whether machines can hold a model, and how it is started there. Nothing is downloaded, nobody is asked."""
    if this and gpu is not None:
        raise typer.BadParameter("--this-machine and --gpu exclude each other: leave one of them out")
    today = datetime.now(UTC).date()
    question = Question(
        given=Given(
            gpu=gpu,
            count=count,
            gpu_bytes=gpu_memory,
            gpu_bytes_per_second=gpu_bandwidth,
            host_bytes=host_memory,
            host_bytes_per_second=host_bandwidth,
            disk_bytes=disk,
            disk_bytes_per_second=disk_bandwidth,
        ),
        model=model,
        quant=quant,
        context=context,
        concurrency=concurrency,
        engine=engine,
        cache=cache,
        context_ranks=dcp,
        use=use,
    )
    here = None if gpu is not None else _look(data, pack)
    if all_quants:
        return _forms(question, today, here, as_json=as_json)
    found = fits.answer(question, today, here)
    if as_json:
        return options.print_sentences(as_dict(found, today))
    for line in _page(found, today):
        typer.echo(line)


def _look(data: Path | None, pack: Path | None) -> Machine:
    return this_machine.look(Settings.from_environment(data, pack).data, gpus())


def _forms(question: Question, today: date, here: Machine | None, *, as_json: bool) -> None:
    """Every form: what it takes, whether it fits, how fast it may be."""
    answers = fits.every_form(question, today, here)
    if as_json:
        return options.print_sentences([as_dict(each, today) for each in answers])
    width = max(len(each.quant.name) for each in answers)
    first = answers[0]
    form, memory, speed = _HEADINGS
    for line in _wrapped(f"{first.model.title} on {first.place.counted}"):
        typer.echo(line)
    typer.echo(f"\n{form:<{width}}  {memory:>9}  {speed:>13}")
    for each in answers:
        begin = f"{each.quant.name:<{width}}  {size(each.quant.memory_bytes):>9}  {_at_most(each):>13}  "
        for line in _wrapped(_told(each), begin):
            typer.echo(line)


def _at_most(found: Answer) -> str:
    ceiling = found.fit.ceiling_tps
    return "" if found.fit.verdict == "no" else "unknown" if ceiling is None else f"≤ {rounded(ceiling)} tok/s"


def _told(found: Answer) -> str:
    """The verdict on a form, and what is known of the form."""
    tight = ", tight" if found.fit.is_tight else ""
    quality = f"; {found.quant.quality}" if found.quant.quality else ""
    doubt = "; may not work" if found.quant.is_doubtful else ""
    return say(Sentence(f"called.{found.fit.verdict}")) + tight + quality + doubt


def _page(found: Answer, today: date) -> Iterable[str]:
    """One page, the verdict first."""
    fitted, place = found.fit, found.place
    yield from _wrapped(f"{found.model.title} ({found.quant.name}) on {place.counted}")
    yield ""
    yield from _wrapped(say(found.headline))
    yield from _wrapped(_sourced(found.why))
    if fitted.is_tight and fitted.verdict != "no":
        yield from _wrapped(say(Sentence("tight")))
    yield from _section(
        "What would hold it" if fitted.verdict == "no" else "What would be faster",
        [each.told for each in found.instead],
    )
    yield from _numbers(found)
    yield from _section("Worth knowing", found.notes)
    yield from _section("Between the accelerators", found.links)
    if fitted.verdict != "no":
        yield from _command("Download (Soleira does not run it)", found.download)
    yield from _command(f"Start with {reasons.called(found.plan.engine)}", found.start)
    if found.checks:
        yield from ("", "Before the first start")
        for check in found.checks:
            yield from _wrapped(say(check.told), f"  {_MARKS[check.state]} ")
    yield from _section("Licence", found.licence)
    yield from _section("The catalog notes", found.catalog)
    yield from _sources(found, today)


def _numbers(found: Answer) -> Iterable[str]:
    fitted, parts = found.fit, found.fit.bytes
    where = ", over all accelerators" if found.place.devices.accelerator_bytes else ""
    yield from ("", f"What it takes{where}")
    for name, count in (
        ("weights", parts.weights), ("kda_state", parts.kda_state),
        ("mla_cache", parts.mla_cache), ("workspace", parts.workspace), ("padding", parts.padding),
    ):  # fmt: skip
        if count:
            yield f"  {say(Sentence(f'part.{name}')):<{_NAMES + 6}}{size(count):>10}"
    yield from ("", "What is there")
    for room in fitted.rooms:
        if not room.needed:
            continue
        mark = ("✓" if room.is_enough else "✗") if room.is_told else "○"
        yield f"  {mark} {say(Sentence(f'budget.{room.budget}')):<{_NAMES}}  {size(room.needed):>10}{_there(room)}"
    if fitted.verdict != "no":
        yield from ("", *_reach(found))
    if found.quant.quality:
        yield ""
        yield from _wrapped(f"Quality of {found.quant.name}: {found.quant.quality}")


def _there(room: Room) -> str:
    if not room.is_told:
        return f" ({say(Sentence('not given'))})"
    return f" of {size(room.there)}" if room.there else "; nothing is left for it"


def _reach(found: Answer) -> Iterable[str]:
    """How long, how many, how fast."""
    fitted = found.fit
    requests = options.counted(found.question.concurrency, "request")
    yield f"Largest context of {requests} at once: {number(fitted.max_context)} tokens"
    yield f"Most requests of {number(found.question.context)} tokens at once: {number(fitted.max_concurrency)}"
    yield f"Speed: {say(Sentence(f'speed.{fitted.speed}'))}"
    if fitted.ceiling_tps is not None:
        yield from _wrapped(say(Sentence("ceiling", {"ceiling_tps": fitted.ceiling_tps})))


def _section(title: str, told: Iterable[Sentence]) -> Iterable[str]:
    told = tuple(told)
    if not told:
        return
    yield from ("", title)
    for each in told:
        yield from _wrapped(_sourced(each), "  - ")


def _command(title: str, line: Line | None) -> Iterable[str]:
    if line is None:
        return
    yield from ("", title)
    yield from textwrap.indent(line.text, "    ").splitlines()
    for each in line.traps:
        yield from _wrapped(_sourced(each), "  - ")


def _sources(found: Answer, today: date) -> Iterable[str]:
    """Each source once, with its age and the figures that are its."""
    named: dict[tuple[str, date | None], list[str]] = {}
    for figure in found.figures:
        named.setdefault((figure.source, figure.as_of), []).append(figure.name)
    yield from ("", "Where the figures are from")
    for (source, as_of), names in named.items():
        age = f", {as_of} ({options.counted((today - as_of).days, 'day')} old)" if as_of else ""
        yield from _wrapped(f"{', '.join(names)}: {source}{age}", "  - ")


def _sourced(told: Sentence) -> str:
    return f"{say(told)} [{told.source}]" if told.source else say(told)


def _wrapped(text: str, first: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False)
