"""The supervisor over small real processes: kept alive, stopped in order, nothing left behind."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway.settings import HOME_PACK, Settings
from gateway.supervisor import lock, logs, parts, prepare, probe, tether
from gateway.supervisor.address import Address, CannotListenError
from gateway.supervisor.children import REFUSED, Child, ChildSpec, Pace, RefusedError
from gateway.supervisor.keep import keep
from policies.load import load_pack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUICK = Pace(first_seconds=0.02, longest_seconds=0.1)
LIVES = "import time; time.sleep(60)"
IGNORES_TERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
)


@pytest.fixture
def specify(tmp_path: Path) -> Callable[..., ChildSpec]:
    """Build a child that runs a line of Python."""

    def build(code: str, name: str = "child", grace_seconds: float = 5.0, socket: Path | None = None) -> ChildSpec:
        command = (sys.executable, "-I", "-S", "-c", code)
        return ChildSpec(name, command, dict(os.environ), tmp_path / f"{name}.log", socket, grace_seconds)

    return build


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def told(log: Path) -> str:
    """What a child has written so far."""
    return log.read_text().strip() if log.exists() else ""


async def quiet() -> None:
    """A welcome that says nothing."""


async def test_a_child_that_dies_is_started_again_and_said_so(specify: Callable[..., ChildSpec]) -> None:
    said: list[str] = []

    async with Child(specify(LIVES, "retrieval"), said.append, QUICK) as child:
        await until(lambda: child.pid)
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: child.pid not in {None, first})

    assert len(said) == 1
    assert said[0].startswith("retrieval was killed (SIGKILL); starting it again in 0.0 s")


async def test_a_child_waits_for_what_another_one_makes(specify: Callable[..., ChildSpec], tmp_path: Path) -> None:
    first = tmp_path / "first.sock"
    spec = replace(specify(LIVES), after=first)

    async with Child(spec, print, QUICK) as child:
        await asyncio.sleep(0.3)
        before = child.pid
        first.touch()
        await until(lambda: child.pid)

    assert before is None


async def test_a_child_that_waits_for_another_one_can_be_stopped(
    specify: Callable[..., ChildSpec], tmp_path: Path
) -> None:
    spec = replace(specify(LIVES), after=tmp_path / "never.sock")

    async with asyncio.timeout(10), Child(spec, print, QUICK) as child:
        await asyncio.sleep(0.05)

    assert not spec.log.exists()
    assert child.pid is None


async def test_a_child_that_keeps_dying_is_started_less_and_less_often(specify: Callable[..., ChildSpec]) -> None:
    said: list[str] = []

    async with Child(specify("raise SystemExit(3)"), said.append, Pace(0.1, 0.3)):
        await until(lambda: len(said) >= 4)

    pauses = [line.partition("again in ")[2].split()[0] for line in said[:4]]
    assert pauses == ["0.1", "0.2", "0.3", "0.3"]
    assert "child ended with status 3" in said[0]


def test_pauses_double_up_to_the_longest_and_begin_anew_after_a_long_run() -> None:
    pace = Pace(first_seconds=1, longest_seconds=5, settled_seconds=60)

    pauses = [pace.after(None, 0.1)]
    for _ in range(4):
        pauses.append(pace.after(pauses[-1], 0.1))

    assert pauses == [1, 2, 4, 5, 5]
    assert pace.after(5, lasted=61) == 1


async def test_a_refused_configuration_is_not_tried_again(specify: Callable[..., ChildSpec]) -> None:
    said: list[str] = []
    spec = specify(f"import sys; print('the pack is bad'); sys.exit({REFUSED})", "gateway")

    with pytest.raises(RefusedError, match=r"gateway cannot start here; .*\):\nthe pack is bad"):
        await keep([Child(spec, said.append, QUICK)], quiet(), said.append)

    assert not [line for line in said if "again" in line]


async def test_a_child_that_never_comes_up_is_given_up_with_the_end_of_its_log(
    specify: Callable[..., ChildSpec],
) -> None:
    said: list[str] = []
    spec = specify("raise ImportError('no greenlet')", "gateway")

    with pytest.raises(RefusedError, match=r"(?s)gateway cannot start here.*no greenlet"):
        await keep([Child(spec, said.append, QUICK)], quiet(), said.append)

    assert len([line for line in said if "again" in line]) == QUICK.stillborn_runs - 1


async def test_a_stale_socket_is_unlinked_before_each_start(specify: Callable[..., ChildSpec], tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    binds = f"import socket, time; s = socket.socket(socket.AF_UNIX); s.bind({str(path)!r}); s.listen(); time.sleep(60)"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    said: list[str] = []

    async with Child(specify(binds, socket=path), said.append, QUICK) as child:
        await until(lambda: listening(path))
        first = child.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: child.pid not in {None, first} and listening(path))

    assert len(said) == 1  # killed once, by the test; never for "address already in use"
    assert not path.exists()


def listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


async def test_a_child_that_ignores_the_request_to_end_is_killed_after_its_grace(
    specify: Callable[..., ChildSpec],
) -> None:
    spec = specify(IGNORES_TERM, grace_seconds=0.2)

    async with Child(spec, print, QUICK) as child:
        await until(lambda: told(spec.log))
        pid = child.pid
        assert pid is not None
        began = time.monotonic()

    assert 0.2 <= time.monotonic() - began < 3
    assert not alive(pid)


async def test_what_a_child_started_ends_with_it(specify: Callable[..., ChildSpec]) -> None:
    spec = specify(
        f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {LIVES!r}]).pid, flush=True)"
    )

    async with Child(spec, lambda _: None, Pace(60)):
        await until(lambda: told(spec.log))
        grandchild = int(spec.log.read_text())
        await until(lambda: not alive(grandchild))


async def test_children_stop_in_the_opposite_order_of_their_start(
    specify: Callable[..., ChildSpec], tmp_path: Path
) -> None:
    order = tmp_path / "order"
    code = (
        "import signal, sys, time\n"
        f"def end(*_): open({str(order)!r}, 'a').write('NAME '); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end); print('up', flush=True); time.sleep(60)"
    )
    specs = [specify(code.replace("NAME", name), name) for name in ("valkey", "retrieval", "gateway")]

    keeping = asyncio.create_task(keep([Child(spec, print, QUICK) for spec in specs], quiet(), print))
    await until(lambda: all(told(spec.log) for spec in specs))
    os.kill(os.getpid(), signal.SIGINT)
    await keeping

    assert order.read_text().split() == ["gateway", "retrieval", "valkey"]


async def test_a_second_interrupt_ends_the_children_at_once(specify: Callable[..., ChildSpec]) -> None:
    specs = [specify(IGNORES_TERM, name, grace_seconds=30) for name in ("one", "two")]
    said: list[str] = []

    keeping = asyncio.create_task(keep([Child(spec, print, QUICK) for spec in specs], quiet(), said.append))
    await until(lambda: all(told(spec.log) for spec in specs))
    os.kill(os.getpid(), signal.SIGTERM)
    await until(lambda: said)
    os.kill(os.getpid(), signal.SIGTERM)
    async with asyncio.timeout(5):
        await keeping

    assert said[-1] == "Stopped."


SUPERVISOR = """
import asyncio, os, sys
from pathlib import Path
from gateway.supervisor.children import Child, ChildSpec
from gateway.supervisor.keep import keep

async def never(): await asyncio.Event().wait()
command = (sys.executable, "-I", "-S", "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(60)")
spec = ChildSpec("child", command, dict(os.environ), Path(sys.argv[1]))
asyncio.run(keep([Child(spec, print)], never(), print))
"""


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", SUPERVISOR, str(tmp_path / "child.log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
async def test_nothing_survives_the_supervisor(
    supervisor: subprocess.Popen[bytes], number: signal.Signals, tmp_path: Path
) -> None:
    log = tmp_path / "child.log"
    await until(lambda: told(log))
    child = int(log.read_text())
    assert alive(child)

    supervisor.send_signal(number)

    await until(lambda: not alive(child))
    assert supervisor.wait(5) == (0 if number != signal.SIGKILL else -signal.SIGKILL)


def test_where_the_kernel_cannot_help_the_command_is_watched(tmp_path: Path) -> None:
    code = "import time; print('here', flush=True); time.sleep(60)"
    somebody_else = os.getpid()  # not the parent of this process, as if the parent had ended

    status = tether.watch(somebody_else, [sys.executable, "-I", "-S", "-c", code], every_seconds=0.1)

    assert status == -signal.SIGKILL


def test_a_second_holder_is_refused_naming_the_first(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    with lock.hold(path), pytest.raises(lock.InUseError, match=rf"process {os.getpid()}: stop that one"):
        lock.hold(path).__enter__()

    with lock.hold(path):  # free again
        assert path.read_text() == str(os.getpid())


def test_the_admin_key_is_made_once_and_kept_as_a_digest(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path, environ={})

    key = prepare.admin_key(settings)

    assert key is not None
    assert prepare.admin_key(settings) is None
    named = Settings.from_environment(tmp_path, environ={"SOLEIRA_ADMIN_KEY": key})
    assert settings.admin_digest == named.admin_digest
    assert stat.S_IMODE(settings.admin_digest_path.stat().st_mode) == 0o600
    assert not [file for file in tmp_path.iterdir() if key in file.read_text()]


def test_an_admin_key_from_the_environment_is_not_written_down(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path, environ={"SOLEIRA_ADMIN_KEY": "sk-chosen"})

    assert prepare.admin_key(settings) is None
    assert not list(tmp_path.iterdir())


def test_directories_are_for_their_owner_alone(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path / "house", environ={})

    prepare.directories(settings)

    for folder in (settings.data, settings.run_dir, settings.logs):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_directory_for_sockets_that_is_a_link_is_refused(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path / "house", environ={})
    settings.data.mkdir()
    (tmp_path / "elsewhere").mkdir()
    settings.run_dir.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(prepare.UnsafeDirectoryError):
        prepare.directories(settings)


def test_both_databases_are_made_by_a_process_of_its_own(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path / "house", environ={})
    prepare.directories(settings)

    prepare.files(settings)

    assert stat.S_IMODE(settings.ledger_path.stat().st_mode) == 0o600
    assert settings.registry_path.stat().st_size > 0


def test_a_database_that_is_none_is_refused_with_a_word(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path / "house", environ={})
    prepare.directories(settings)
    settings.ledger_path.write_bytes(b"not a database" * 100)

    with pytest.raises(prepare.MigrationError, match=f"the databases in {settings.data} could not be opened"):
        prepare.files(settings)


def test_a_log_begins_anew_and_three_older_ones_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "gateway.log"

    for run in range(6):
        logs.rotate(log)
        log.write_text(f"run {run}")

    kept = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert kept == {
        "gateway.log": "run 5",
        "gateway.log.1": "run 4",
        "gateway.log.2": "run 3",
        "gateway.log.3": "run 2",
    }


def test_a_log_that_grew_too_large_is_set_aside_while_its_child_writes(tmp_path: Path) -> None:
    log = tmp_path / "gateway.log"
    with log.open("ab", buffering=0) as child:
        child.write(b"long ago\n")
        logs.bound(log, largest_bytes=5)
        child.write(b"now\n")
        logs.bound(log, largest_bytes=5)

    kept = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert kept == {"gateway.log": "now\n", "gateway.log.1": "long ago\n"}


async def test_a_child_s_log_is_bounded_however_often_it_starts(specify: Callable[..., ChildSpec]) -> None:
    spec = specify("print('failed again', flush=True); raise SystemExit(3)")
    said: list[str] = []
    with spec.log.open("wb") as log:
        log.truncate(logs.LARGEST_BYTES + 1)

    async with Child(spec, said.append, QUICK):
        await until(lambda: len(said) >= 3)

    assert 0 < spec.log.stat().st_size < 1000
    assert spec.log.with_name("child.log.1").stat().st_size >= logs.LARGEST_BYTES


def test_a_taken_port_is_refused_with_a_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListenError, match=f"cannot listen on 127.0.0.1:{port} .* --port"):
            Address("127.0.0.1", port).check_free()


@pytest.mark.parametrize(
    ("machine", "cpu_info", "lacking"),
    [
        ("x86_64", "flags : fpu sse4_2 avx avx2 bmi1", False),
        ("x86_64", "flags : fpu sse4_2 avx", True),
        ("AMD64", "flags : fpu avx", True),
        ("aarch64", "Features : fp asimd", False),
        ("x86_64", "", False),
    ],
)
def test_the_engine_is_left_out_only_where_avx2_is_known_to_be_missing(
    machine: str, cpu_info: str, lacking: bool
) -> None:
    assert parts.lacks_avx2(machine, cpu_info) is lacking


@pytest.mark.parametrize(("zone", "left_out"), [("device", True), ("lan", False)])
def test_a_model_on_this_machine_replaces_the_demonstration(tmp_path: Path, zone: str, left_out: bool) -> None:
    folder = tmp_path / "pack"
    shutil.copytree(HOME_PACK, folder)
    price = {"currency": "USD", "per_million": {"input": 0, "output": 0}, "source": "own", "as_of": "2026-10-24"}
    ollama = {"name": "ollama", "model": "qwen3", "engine": "ollama", "zone": zone, "price": price}
    url = "http://127.0.0.1:11434/v1" if zone == "device" else "http://192.168.1.5:11434/v1"
    (folder / "deployments.yaml").write_text(json.dumps({"deployments": [{**ollama, "base_url": url}]}))

    reason = parts.demonstration_left_out(load_pack(folder))

    assert (reason == "ollama runs on this machine") is left_out


def test_the_demonstration_runs_wherever_the_processor_can_until_a_model_is_connected() -> None:
    assert parts.demonstrates(load_pack(HOME_PACK)) is parts.engine_runs_here()


def test_a_redis_server_of_ones_own_replaces_the_child(tmp_path: Path) -> None:
    own = Settings.from_environment(tmp_path, environ={"SOLEIRA_REDIS_URL": "redis://127.0.0.1:6379"})
    none = Settings.from_environment(tmp_path, environ={})
    address = Address("127.0.0.1", 4141)

    assert [spec.name for spec in parts.specs(none, address, engine=True)] == [
        "valkey",
        "engine",
        "retrieval",
        "gateway",
    ]
    assert [spec.name for spec in parts.specs(own, address, engine=False)] == ["retrieval", "gateway"]
    assert own.redis == "redis://127.0.0.1:6379"


async def test_the_valkey_child_answers_on_its_socket_and_leaves_nothing_on_the_disk(tmp_path: Path) -> None:
    settings = Settings.from_environment(tmp_path / "house", environ={})
    prepare.directories(settings)

    async with Child(parts.valkey(settings), print, QUICK):
        await until(lambda: listening(settings.valkey_socket))
        assert await ask(settings.valkey_socket, "SET kept yes") == "+OK"
    async with Child(parts.valkey(settings), print, QUICK):
        await until(lambda: listening(settings.valkey_socket))
        assert await ask(settings.valkey_socket, "GET kept") == "$-1"
    assert list(settings.valkey_dir.iterdir()) == []


async def ask(path: Path, command: str) -> str:
    """The first line of the answer, once the server has read what it kept."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    answer = "-LOADING"
    while answer.startswith("-LOADING"):
        writer.write(f"{command}\r\n".encode())
        answer = (await reader.readline()).decode().strip()
    writer.close()
    await writer.wait_closed()
    return answer


async def serve(body: bytes) -> asyncio.Server:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, "127.0.0.1", 0)


async def test_an_engine_is_named_with_its_models() -> None:
    async with await serve(b'{"object": "list", "data": [{"id": "qwen3:8b"}]}') as server:
        port = server.sockets[0].getsockname()[1]

        found = await probe.local_engines({port: "Ollama"})

    assert found == [probe.LocalEngine("Ollama", port, ("qwen3:8b",))]


@pytest.mark.parametrize("body", [b"<html>a web server</html>", b'{"data": 3}', b"[]", b""])
async def test_something_else_on_an_engines_port_is_not_named(body: bytes) -> None:
    async with await serve(body) as server:
        port = server.sockets[0].getsockname()[1]

        assert await probe.local_engines({port: "Ollama"}) == []


async def test_nobody_on_a_port_is_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    assert await probe.status("127.0.0.1", port, "/healthz") is None
