"""The whole house, from an empty data directory to an ordered stop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from gateway.catalog.engines import Engines, own_specs
from gateway.settings import HOME_PACK
from gateway.supervisor import banner, lock, logs, parts, prepare, probe
from gateway.supervisor.children import Child
from gateway.supervisor.keep import keep
from policies.load import PackError, load_pack
from retrieval.client import RetrievalClient, RetrievalError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from gateway.settings import Settings
    from gateway.supervisor.address import Address
    from gateway.supervisor.children import ChildSpec
    from policies.load import Pack
    from policies.schema import DeploymentSpec

_POLL_SECONDS = 0.2
_POLICY_SECONDS = 2.0
_SAMPLE_TRIES = 3


async def run(settings: Settings, address: Address, say: Callable[[str], None]) -> None:
    """Run the house until SIGINT, SIGTERM or SIGHUP; a second one ends the children at once.

    Raises what makes a start pointless: the directory in use, the port taken, a pack that is refused.
    """
    prepare.directories(settings)
    with lock.hold(settings.lock):
        address.check_free()
        prepare.files(settings)
        pack = load_pack(settings.pack, settings.models)
        key = prepare.admin_key(settings)
        if key:
            say(f"Admin key, shown this once (keep it): {key}")
        children = [Child(spec, say) for spec in _specs(settings, address, pack, say)]
        for child in children:
            logs.rotate(child.spec.log)
        await keep(children, _welcome(settings, address, pack, key, say), say)


def _specs(settings: Settings, address: Address, pack: Pack, say: Callable[[str], None]) -> tuple[ChildSpec, ...]:
    reason = parts.demonstration_left_out(pack)
    if reason:
        say(f"The demonstration model is left out: {reason}.")
    return parts.specs(settings, address, engine=reason is None, translator=parts.translates(pack), own=_own(pack, say))


def _own(pack: Pack, say: Callable[[str], None]) -> tuple[DeploymentSpec, ...]:
    """The GGUF files that this machine can run."""
    own = own_specs(pack)
    if not own or parts.engine_runs_here():
        return own
    say(banner.engines_left_out([spec.name for spec in own]))
    return ()


async def _welcome(
    settings: Settings, address: Address, pack: Pack, key: str | None, say: Callable[[str], None]
) -> None:
    say(f"Starting; data in {settings.data} ...")
    await _until(lambda: _answers(address, "/healthz"))
    engines = await probe.local_engines(
        {port: name for port, name in probe.USUAL_PORTS.items() if port != address.port}
    )
    for line in (
        *banner.addresses(address),
        *banner.whereabouts(pack),
        *banner.connecting(pack, settings.pack, engines),
    ):
        say(line)
    if not settings.samples_marker.exists():
        say("\n  Getting the search ready and reading the sample documents (about 20 seconds, this once) ...")
        await _read_samples(settings, say)
    await _until(lambda: _answers(address, "/readyz"))
    for line in banner.first_question(address, key or _key_to_show(settings)):
        say(line)
    await _follow_policy(address, settings, pack, say)


async def _follow_policy(address: Address, settings: Settings, started: Pack, say: Callable[[str], None]) -> None:
    """Say what became of each change of the pack, until cancelled: who edits it looks here."""
    known: tuple[object, object] | None = None
    while True:
        state = await probe.read(address.local, address.port, "/healthz")
        if state is not None:
            now = (state.get("policy"), state.get("policy_error"))
            if known is not None and now != known:
                say(banner.policy_change(str(now[0]), refused=await _refusal(settings) if now[1] else None))
                for name in _not_started(settings, started):
                    say(banner.restart_wanted(name))
            known = now
        await asyncio.sleep(_POLICY_SECONDS)


async def _refusal(settings: Settings) -> str:
    """Why the pack is not taken up, which the gateway tells on its own socket alone."""
    state = await probe.read_own(settings.admin_socket, "/policy")
    return str((state or {}).get("refused") or "'soleira policy check' and 'soleira policy test' say why.")


def _not_started(settings: Settings, started: Pack) -> list[str]:
    """The entries with GGUF files that the pack has now, and for which no engine was started."""
    try:
        present = load_pack(settings.pack, settings.models)
    except PackError:
        return []  # not taken up either, which is said already
    engines = Engines.of(settings)
    sockets = {engines.socket(spec) for spec in own_specs(started)}
    return [spec.name for spec in own_specs(present) if engines.socket(spec) not in sockets]


def _key_to_show(settings: Settings) -> str:
    """What stands for the admin key in a command, once it was shown; a lost one is made anew (docs/settings.md)."""
    return "$SOLEIRA_ADMIN_KEY" if settings.admin_key is not None else "THE_ADMIN_KEY_OF_YOUR_FIRST_START"


async def _answers(address: Address, path: str) -> bool:
    return await probe.status(address.local, address.port, path) == 200


async def _read_samples(settings: Settings, say: Callable[[str], None]) -> None:
    folder = (settings.pack if settings.own_pack else HOME_PACK) / "samples"
    client = RetrievalClient(settings.retrieval_socket)
    try:
        for _ in range(_SAMPLE_TRIES):  # the process may be killed and come back meanwhile
            await _until(client.ready)
            with suppress(RetrievalError):
                await _take_in(client, folder)
                settings.samples_marker.touch()
                return
    finally:
        await client.close()
    say(f"  The samples could not be read; 'soleira ingest {folder} --collection {banner.SAMPLES}' tries again.")


async def _take_in(client: RetrievalClient, folder: Path) -> None:
    async for _ in client.ingest(folder, banner.SAMPLES):
        pass


async def _until(ready: Callable[[], Awaitable[bool]]) -> None:
    # Other processes become ready in their own time; there is nothing here that could tell.
    while True:
        if await ready():
            return
        await asyncio.sleep(_POLL_SECONDS)
