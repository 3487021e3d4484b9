"""`soleira measure`: what an engine of the house carries."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import asynccontextmanager, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gateway.catalog import load as catalog_load
from gateway.catalog.engines import Engines
from gateway.catalog.load import DEMONSTRATION, CatalogError
from gateway.catalog.observed import Observed
from gateway.cli import books, options, reach, running
from gateway.errors import BadRequest, GatewayError, NotFound
from gateway.ledger.owners import this_process
from gateway.ledger.writer import open_writer
from gateway.owning.measuring import measure as measuring
from gateway.owning.measuring.bench import Bench
from gateway.owning.measuring.measure import Known, Ready, Wish
from gateway.owning.profiles import UNKNOWN
from gateway.runtime import new_id, now
from gateway.settings import Settings
from gateway.upstream.clients.http import HttpClient
from gateway.upstream.dispatch import Upstreams
from gateway.upstream.guard import Guard
from gateway.upstream.probes.look import look
from gateway.upstream.waking import Waking

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
    from pathlib import Path

    from gateway.catalog.deployments import Deployment
    from policies.pack import Pack

app = typer.Typer()

Event = dict[str, Any]

_T = TypeVar("_T")

_STAGES = {
    "warm-up": "Warming up",
    "contexts": "Longer prompts",
    "concurrency": "More at once",
    "cache": "The same again",
}


@app.command()
def measure(
    deployment: Annotated[str, typer.Argument(help="A deployment of the house, as 'models list' names it.")],
    contexts: Annotated[str, typer.Option(help="Tokens of prompts: 512,2048. [default: 512,2048,8192]")] = "",
    concurrency: Annotated[str, typer.Option(help="Requests at once: 1,2,4. [default: 1,2,4,8,16,32]")] = "",
    output_tokens: Annotated[int | None, typer.Option(min=2, help="Tokens of an answer. [default: 128]")] = None,
    requests: Annotated[int, typer.Option(min=1, help="The most requests that are made.")] = measuring.REQUESTS,
    seconds: Annotated[
        float, typer.Option(min=1, max=measuring.MOST_SECONDS, help="The most seconds that it takes.")
    ] = measuring.SECONDS,
    gpu: Annotated[str, typer.Option(help="What it runs on, as 'soleira fit' names it: b300.")] = UNKNOWN,
    count: Annotated[int, typer.Option(min=1, help="How many of those one replica has.")] = 1,
    quant: Annotated[str, typer.Option(help="The form of the model: native. [default: the pack's `weights`]")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked, and ask nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before it begins.")] = False,
    data: options.Data = None,
    pack: options.Pack = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure what an engine of the house carries: longer prompts, more at once, the cache; Ctrl-C keeps what is known.

    It is kept in DATA/capacity, where break-even scenarios find it: `capacity: {profile: DEPLOYMENT}`.
    """
    wish = Wish(
        deployment,
        contexts=_numbers(contexts, "--contexts"),
        concurrency=_numbers(concurrency, "--concurrency"),
        output_tokens=output_tokens,
        requests=requests,
        seconds=seconds,
        gpu=gpu,
        gpus=count,
        quant=quant,
    )
    settings = Settings.from_environment(data, pack)
    with reach.files(settings, settings.admin_socket) as ours:
        place: _Place = _Alone(settings, wish) if ours else _House(settings.admin_socket, wish)
        plan = place.plan()
        if dry_run:
            return options.print_json(plan) if as_json else _show_plan(plan)
        if not (yes or as_json):
            _show_plan(plan)
            typer.confirm("Measure now? Whoever uses it meanwhile finds it slower.", default=False, abort=True)
        done = _followed(place, plan)
    if as_json:
        options.print_json(done)
    else:
        _show(done)
    if done["path"] is None:
        raise typer.Exit(1)


class _Place(Protocol):
    """Where it is measured: in the running house, or by this process."""

    def plan(self) -> Event:
        """What would be asked."""
        ...

    def run(self, take: Callable[[Event], None]) -> None:
        """Measure, and hand on each event."""
        ...

    def stop(self) -> None:
        """Have it end soon; what was measured is kept."""
        ...


@dataclass(frozen=True, slots=True)
class _House:
    """The running one, through its admin socket."""

    admin_socket: Path
    wish: Wish

    def plan(self) -> Event:
        planned: Event = running.ask(self.admin_socket, "POST", "/measure/plan", self._body)
        return planned

    def run(self, take: Callable[[Event], None]) -> None:
        for event in running.lines(self.admin_socket, "POST", "/measure", self._body):
            take(event)

    def stop(self) -> None:
        running.ask(self.admin_socket, "POST", "/measure/stop")

    @property
    def _body(self) -> Event:
        wish = self.wish
        return {
            "deployment": wish.deployment,
            "contexts": wish.contexts,
            "concurrency": wish.concurrency,
            "output_tokens": wish.output_tokens,
            "requests": wish.requests,
            "seconds": wish.seconds,
            "gpu": wish.gpu,
            "gpus": wish.gpus,
            "quant": wish.quant,
        }


class _Alone:
    """This process, with the house's files under its lock."""

    def __init__(self, settings: Settings, wish: Wish) -> None:
        self._settings = settings
        self._wish = wish
        self._pack = books.pack_of(settings)
        self._deployment = _deployment(self._pack, wish.deployment, settings)
        self._known: Known | None = None
        self._stop: Callable[[], None] = lambda: None

    def plan(self) -> Event:
        return self._ran(self._planned()).as_dict()

    def run(self, take: Callable[[Event], None]) -> None:
        self._ran(self._measured(take))

    def stop(self) -> None:
        self._stop()

    def _ran(self, work: Coroutine[Any, Any, _T]) -> _T:
        with redirect_stdout(sys.stderr):  # events that are logged meanwhile are not for the programs that read it
            return asyncio.run(work)

    async def _planned(self) -> Ready:
        async with Guard() as guard:
            return await self._ready(guard)

    async def _measured(self, take: Callable[[Event], None]) -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        self._stop = partial(_set, loop, stop)
        async with Guard() as guard, self._bench(guard) as bench:
            async for event in measuring.run(bench, await self._ready(guard), self._settings.data, stop):
                take(event)

    async def _ready(self, guard: Guard) -> Ready:
        deployment = self._deployment
        if self._known is None:
            observed = Observed(now)
            seen = observed.note(deployment.name, await look(guard, deployment, now()))
            self._known = Known(observed.context(deployment), observed.slots(deployment), seen.version)
        return measuring.ready(self._wish, self._pack, [deployment], self._known)

    @asynccontextmanager
    async def _bench(self, guard: Guard) -> AsyncGenerator[Bench, None]:
        client, owner = HttpClient(guard), this_process(new_id("boot"), now())
        async with Waking(guard) as waking, open_writer(self._settings.ledger_url, owner) as writer:
            yield Bench(Upstreams(guard, client, client, waking=waking), writer, now, new_id)


def _set(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """From a signal's handler, which runs between any two steps of the loop."""
    loop.call_soon_threadsafe(stop.set)


def _deployment(pack: Pack, name: str, settings: Settings) -> Deployment:
    """The deployment as the catalog has it. Others, and the keys that they need, are not looked at."""
    specs = tuple(spec for spec in pack.deployments if spec.name == name)
    if name == "demonstration":
        raise NotFound(
            f"the demonstration model ({DEMONSTRATION}) runs only while the house does: start 'soleira up' first"
        )
    try:
        catalog = catalog_load.load(replace(pack, deployments=specs), os.environ, None, Engines.of(settings))
    except CatalogError as error:
        raise BadRequest(str(error)) from None
    return measuring.named(name, catalog.deployments)


def _followed(place: _Place, plan: Event) -> Event:
    """The last event; those before it move the bar. Ctrl-C ends the measurement, a second one this command."""
    last: Event = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    terminal = sys.stderr.isatty()
    with (
        Progress(*columns, console=Console(stderr=True), transient=True, disable=not terminal) as progress,
        _interrupted_by(place),
    ):
        task = progress.add_task(_STAGES["warm-up"], total=plan["requests"])

        def take(event: Event) -> None:
            last.clear()
            last.update(event)
            if event["event"] == "step":
                progress.update(task, completed=event["requests"], description=_step(event))

        place.run(take)
    if last.get("event") == "failed":
        raise GatewayError(str(last["error"]["message"]))
    if last.get("event") != "done":
        raise GatewayError(
            "the house ended before the measurement did. If it was stopped in good order, what was measured is in "
            "DATA/capacity; if it was killed, nothing is"
        )
    return last


@contextmanager
def _interrupted_by(place: _Place) -> Iterator[None]:
    """Ctrl-C says stop, once; raising would lose the place in what is being read."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        typer.echo("\nStopping; what was measured is kept. Once more leaves at once.", err=True)
        with suppress(OSError, GatewayError):  # a house that is gone has stopped
            place.stop()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _numbers(text: str, option: str) -> tuple[int, ...]:
    """Read `512,2048`; nothing for what was not given."""
    numbers = tuple(int(word) if word.isdecimal() else 0 for word in options.words(text))
    if min(numbers, default=0 if text else 1) < 1:
        raise typer.BadParameter(
            f"{text!r} are no whole numbers from 1 with commas between them: 512,2048", param_hint=option
        )
    return numbers


def _step(event: Event) -> str:
    rate = "" if event["tps"] is None else f", {_digits(event['tps'])} tokens/s written"
    return f"{_STAGES[event['stage']]}: {event['prompt_tokens']} tokens, {event['concurrency']} at once{rate}"


def _show_plan(plan: Event) -> None:
    lengths = ", ".join(map(str, plan["contexts"]))
    more = ", ".join(str(count) for count in plan["concurrency"] if count > 1)
    typer.echo(
        f"{plan['deployment']} ({plan['model']}, zone {plan['zone']}) is asked about {plan['requests']} times, at most "
        f"{plan['most_requests']}, within {plan['most_seconds']:g} seconds:"
    )
    typer.echo(f"  prompts of {lengths} tokens, each length three times, alone")
    if more:
        typer.echo(f"  then {more} at once, with prompts of {plan['contexts'][0]} tokens")
    typer.echo(f"  then a prompt of {plan['contexts'][-1]} tokens again, to see its cache")
    for told in (*plan["left_out"], *plan["notes"]):
        typer.echo(f"  {told}")
    typer.echo(
        f"That is about {plan['most_tokens']:,} tokens of random words, {books.usd(plan['most_nano_usd'])} at its "
        "price, which the house bears."
    )


def _show(done: Event) -> None:
    profile = done["profile"]
    if profile is None:
        typer.echo(f"Nothing was measured: {done['stopped'] or 'no setting was answered'}.", err=True)
        return
    points = profile["points"]
    read, best = points[0]["prefill_tps"], max(point["decode_tps"] or 0 for point in points)
    typer.echo(f"{profile['deployment']}: reads {_rate(read)}, writes {_rate(best or None, 'up to')}")
    for heading, rows in (("prompt", profile["contexts"]), ("at once", points)):
        typer.echo(f"  {heading:>8}  first token  per token    read  written (tokens/s)")
        for row in rows:
            first = row["prompt_tokens"] if heading == "prompt" else row["concurrency"]
            typer.echo(
                f"  {first:>8}  {_ms(row['ttft_ms'])}  {_ms(row['tpot_ms'], 9)}  {_figure(row['prefill_tps'], 6)}  "
                f"{_figure(row['decode_tps'], 7)}"
            )
    if profile["cached_tps"] is not None:
        typer.echo(f"  cached input passes at {_rate(profile['cached_tps'])}")
    for note in done["notes"]:
        typer.echo(f"  {note}")
    if done["stopped"]:
        typer.echo(f"  It ended early: {done['stopped']}.")
    if profile["gpu"] == UNKNOWN:
        typer.echo("  What it ran on is not stated: --gpu b300 --count 8, or edit the file.")
    _show_place(done)


def _show_place(done: Event) -> None:
    """Where it lies, and by which name a scenario takes it."""
    if done["path"] is None:
        typer.echo(f"NOT kept: {done['not_kept']}.", err=True)
        return
    if not any(point["prefill_tps"] and point["decode_tps"] for point in done["profile"]["points"]):
        typer.echo(f"Kept in {done['path']}. No scenario can plan with it: that takes both rates.")
        return
    name = done["profile"]["deployment"] if done["leads"] else done["name"]
    typer.echo(f"Kept in {done['path']}; in a scenario: capacity: {{profile: {name}}}")
    if not done["leads"]:
        typer.echo(f"  {done['profile']['deployment']!r} alone is an earlier one, which went to its end.")


def _rate(value: float | None, most: str = "") -> str:
    """`up to 69.19 tokens/s`."""
    return "at an unknown rate" if value is None else f"{most} {_digits(value)} tokens/s".lstrip()


def _ms(value: float | None, width: int = 11) -> str:
    return f"{'-' if value is None else f'{_digits(value)} ms':>{width}}"


def _figure(value: float | None, width: int) -> str:
    return f"{'-' if value is None else _digits(value):>{width}}"


def _digits(value: float) -> str:
    """Four digits that count: `0.0325`, `69.19`, `27,677`."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
