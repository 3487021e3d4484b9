"""One measurement of a deployment, from the wish to the profile in DATA/capacity."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from gateway.catalog.hardware import find_gpu
from gateway.errors import BadRequest, Forbidden, NotFound
from gateway.ledger.price import nano_usd
from gateway.owning import profiles
from gateway.owning.measuring.bench import asking
from gateway.owning.measuring.ramps import Plan, Ramps, exact
from gateway.owning.profiles import UNKNOWN, Measured
from gateway.wire.lanes import Usage
from policies.problems import PackError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Iterator, Sequence
    from pathlib import Path

    from gateway.catalog.deployments import Deployment
    from gateway.economics.profiles import Point
    from gateway.owning.measuring.bench import Asker, Bench
    from gateway.owning.measuring.ramps import Step
    from gateway.upstream.queue import Queues
    from policies.pack import Pack

CONTEXTS = (512, 2048, 8192)
CONCURRENCY = (1, 2, 4, 8, 16, 32)
OUTPUT_TOKENS = 128
REQUESTS = 200
SECONDS = 600.0

_AROUND = 64
"""Tokens that a chat's form takes, and by which a prompt of words may miss its length."""
_LEAST_PROMPT = 16
_MOST_PROMPT = 10_000_000
_MOST_AT_ONCE = 4096
MOST_SECONDS = 7 * 24 * 3600.0
"""A week: what is not done by then is not begun."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the owner asks for; what is left out is as usual."""

    deployment: str
    contexts: tuple[int, ...] = ()
    concurrency: tuple[int, ...] = ()
    output_tokens: int | None = None
    requests: int = REQUESTS
    seconds: float = SECONDS
    gpu: str = UNKNOWN
    gpus: int = 1
    quant: str = ""
    """Empty: what the pack says of the weights."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a deployment takes, as its pack says or it says itself; None: nobody does."""

    context: int | None = None
    slots: int | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A wish that may be carried out."""

    wish: Wish
    deployment: Deployment
    known: Known
    plan: Plan
    quant: str
    policy: str
    """The version of the pack."""

    @property
    def most_nano_usd(self) -> int:
        """About what it comes to at the deployment's price: of an own machine, the energy that it draws more."""
        written = self.plan.total * self.plan.output_tokens
        usage = Usage(fresh=self.plan.most_tokens - written, output=written)
        return nano_usd(usage, self.deployment.price)

    def as_dict(self) -> dict[str, Any]:
        """The plan as programs read it."""
        plan = self.plan
        return {
            "deployment": self.deployment.name,
            "model": self.deployment.model,
            "zone": self.deployment.zone.name,
            "contexts": list(plan.contexts),
            "concurrency": list(plan.concurrency),
            "output_tokens": plan.output_tokens,
            "requests": plan.total,
            "most_requests": plan.requests,
            "most_seconds": plan.seconds,
            "most_tokens": plan.most_tokens,
            "most_nano_usd": self.most_nano_usd,
            "left_out": list(plan.left_out),
            "notes": list(self._notes()),
        }

    def _notes(self) -> Iterator[str]:
        """What to know before."""
        try:
            if self.wish.gpu != UNKNOWN:
                find_gpu(self.wish.gpu)
        except LookupError as error:
            yield f"{error}: the profile will be compared with no scenario of another name"


def ready(wish: Wish, pack: Pack, deployments: Sequence[Deployment], known: Known) -> Ready:
    """The wish held against the house; NotFound, Forbidden or BadRequest where it cannot be."""
    deployment = named(wish.deployment, deployments)
    _check_own(deployment, pack)
    weights = next((spec.weights for spec in pack.deployments if spec.name == deployment.name), None)
    quant = wish.quant or weights or UNKNOWN
    profiles.check_names(quant=quant, gpu=wish.gpu, gpus=wish.gpus)
    plan = _plan(wish, deployment, known)
    return Ready(wish, deployment, known, plan, quant, pack.version)


def named(name: str, deployments: Sequence[Deployment]) -> Deployment:
    """The deployment of this name; NotFound if there is none that can be asked."""
    for deployment in deployments:
        if deployment.name == name and deployment.base_url and deployment.offers("chat"):
            return deployment
        if deployment.name == name:
            raise BadRequest(f"deployment {name!r} answers no chats through an engine: there is nothing to measure")
    raise NotFound(f"there is no deployment {name!r}: 'soleira models list' shows them")


async def run(bench: Bench, ready: Ready, data: Path, stop: asyncio.Event) -> AsyncGenerator[dict[str, Any], None]:
    """Measure: an event for each step, and a last one with the profile and where it lies.

    Also where it ends early, or nobody hears it any more, what was measured by then is kept. GatewayError where that is
    nothing at all.
    """
    profiles.make_room(data)  # what cannot be kept is not measured
    async with asking(bench, ready.deployment, ready.policy) as ask:
        ramps = Ramps(
            ready.plan,
            ask,
            SystemRandom(),
            bench.clock,
            stop=stop,
            others=_Others(bench.upstreams.queues, ask),
        )
        kept = _Kept()
        try:
            async with aclosing(ramps.run()) as steps:
                async for step in steps:
                    yield _told(step, ready.plan)
        finally:  # some kilobytes, written here and now: there may be nobody left to wait for it
            profile = _profile(ready, ramps, bench)
            if profile is not None:
                kept = _keep(data, profile)
    yield {
        "event": "done",
        "path": None if kept.path is None else str(kept.path),
        "name": None if kept.path is None else kept.path.stem,
        "leads": kept.leads,
        "not_kept": kept.failure,
        "requests": ramps.requests,
        "stopped": ramps.stopped or None,
        "notes": list(ramps.remarks),
        "profile": None if profile is None else as_dict(profile),
    }


@dataclass(frozen=True, slots=True)
class _Kept:
    """Where a profile lies."""

    path: Path | None = None
    leads: bool = False
    """It stands under the deployment's own name."""
    failure: str | None = None
    """Why it lies nowhere."""


def _keep(data: Path, profile: Measured) -> _Kept:
    """Keep it; where that fails, say so and lose nothing of what is told."""
    try:
        path = profiles.write(data, profile)
    except OSError as error:
        return _Kept(failure=f"{data / profiles.FOLDER} cannot be written: {error.strerror}")
    except PackError as error:
        return _Kept(failure=f"no file could hold it: {error}")
    try:
        leads = profile.tells and profiles.profiles(data)[profile.deployment].name == path.stem
    except PackError:  # another file is broken, which whoever reads them is told
        leads = False
    return _Kept(path, leads)


class _Others:
    """Counts the requests of others that a deployment has, or has had since this was last asked."""

    def __init__(self, queues: Queues, ask: Asker) -> None:
        self._queues = queues
        self._ask = ask
        self._name = ask.deployment.name
        self._seen = self._let_in()

    def __call__(self) -> int:
        before, self._seen = self._seen, self._let_in()
        return self._seen - before + sum(self._queues.load(self._name))

    def _let_in(self) -> int:
        return self._queues.let_in(self._name) - self._ask.asked


def as_dict(profile: Measured) -> dict[str, Any]:
    """A profile as programs read it: numbers, with None for what is not known."""
    return {
        "deployment": profile.deployment,
        "model": profile.model,
        "quant": profile.quant,
        "gpu": profile.gpu,
        "gpus": profile.gpus,
        "engine": profile.engine,
        "as_of": profile.as_of.isoformat(),
        "source": profile.source,
        "quality": profile.quality,
        "cached_tps": None if profile.cached_tps is None else float(profile.cached_tps),
        "points": [_point(point) for point in profile.points],
        "contexts": [_point(point) for point in profile.contexts],
        "stopped": profile.stopped or None,
        "note": profile.note,
    }


def _check_own(deployment: Deployment, pack: Pack) -> None:
    """Forbidden for what is somebody else's: asking it costs money, and tells of machines that nobody here owns."""
    owned = any(spec.name == deployment.name and spec.owned for spec in pack.deployments)
    if deployment.zone.is_home or owned:
        return
    homes = ", ".join(name for name, zone in pack.zones.items() if zone.is_home)
    raise Forbidden(
        f"deployment {deployment.name!r} is in zone {deployment.zone.name!r}, outside of the house: measuring it would "
        "cost money for every token, and tell what somebody else's machines carry. Measured are deployments in the "
        f"house's own zones ({homes}), and those of machines that break_even.yaml names (price: {{owned: MACHINE}})"
    )


def _plan(wish: Wish, deployment: Deployment, known: Known) -> Plan:
    asked = _rising(wish.contexts or CONTEXTS, "contexts", _MOST_PROMPT)
    at_once = _rising(wish.concurrency or CONCURRENCY, "concurrency", _MOST_AT_ONCE)
    output = _output(wish, deployment, known)
    if wish.requests < 1 or not 0 < wish.seconds <= MOST_SECONDS:
        raise BadRequest(
            "a measurement makes at least one request, and takes some time, at most a week: change the limits"
        )
    room = _MOST_PROMPT if known.context is None else known.context - output - _AROUND
    if room < _LEAST_PROMPT or (wish.contexts and asked[0] > room):
        raise BadRequest(
            f"deployment {deployment.name!r} takes {known.context} tokens, of which {output} are for the answer: name "
            "shorter prompts (contexts), or shorter answers (output tokens)"
        )
    contexts = tuple(length for length in asked if length <= room) or (room,)
    waves = tuple(count for count in at_once if known.slots is None or count <= known.slots)
    left_out = []
    if contexts[-1] < asked[-1]:
        left_out.append(f"prompts longer than {room} tokens are left out: it takes {known.context} with the answer")
    if len(waves) < len(at_once):
        left_out.append(f"more than {known.slots} at once are left out: so many it answers at a time")
    return Plan(contexts, waves, output, wish.requests, wish.seconds, tuple(left_out))


def _rising(numbers: Sequence[int], what: str, most: int) -> tuple[int, ...]:
    if min(numbers) < 1 or max(numbers) > most:
        raise BadRequest(f"{what} should be whole numbers from 1 to {most}")
    return tuple(sorted(set(numbers)))


def _output(wish: Wish, deployment: Deployment, known: Known) -> int:
    """Tokens of an answer: at least two, for one alone has no time of its own."""
    if wish.output_tokens is not None and wish.output_tokens < 2:
        raise BadRequest("output tokens should be 2 or more: the time of a token is the one between two")
    usual = OUTPUT_TOKENS if known.context is None else max(min(OUTPUT_TOKENS, known.context // 4), 2)
    asked = wish.output_tokens or usual
    return min(asked, deployment.max_output or asked)


def _profile(ready: Ready, ramps: Ramps, bench: Bench) -> Measured | None:
    """What was measured; None: nothing yet."""
    points = ramps.points
    if not points:
        return None
    deployment, version, cached = ready.deployment, ready.known.version, ramps.cached_tps
    return Measured(
        name=deployment.name,
        model=deployment.model,
        quant=ready.quant,
        gpu=ready.wish.gpu,
        gpus=ready.wish.gpus,
        engine=profiles.line(f"{deployment.engine} {version}") if version else deployment.engine,
        points=points,
        source=f"soleira measure {deployment.name}",
        as_of=bench.now().date(),
        quality="measured",
        note="; ".join(ramps.remarks),
        deployment=deployment.name,
        cached_tps=exact(cached),
        contexts=ramps.contexts,
        stopped=ramps.stopped,
    )


def _told(step: Step, plan: Plan) -> dict[str, Any]:
    return {"event": "step", **asdict(step), "of": plan.total}


def _point(point: Point) -> dict[str, Any]:
    values = {field.name: getattr(point, field.name) for field in fields(point)}
    return {name: float(value) if isinstance(value, Fraction) else value for name, value in values.items()}
