"""`soleira models pull` against a hub on loopback."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from gateway.cli.hub_files import HubFile, meant, models_of
from gateway.cli.pull import environment
from gateway.settings import gateway_environment
from policies.load import load_pack
from tests.gateway.hub import REPOSITORY, Hub, serving
from tests.gguf import small, weights

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = {
    "Small-Q4_K_M.gguf": small(context=4096),
    "Small-Q8_0.gguf": small(context=4096) * 2,
    "BF16/Small-BF16-00001-of-00002.gguf": small(split_count=2),
    "BF16/Small-BF16-00002-of-00002.gguf": small(split_count=2, split_no=1),
    "mmproj-F16.gguf": small("clip"),
    "README.md": b"# Small",
}

Pull = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving(Hub(FILES)) as hub:
        yield hub


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "house"


@pytest.fixture
def pull(hub: Hub, data: Path, tmp_path: Path) -> Pull:
    """Run the command as people see it, in the house's own, offline environment."""

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "gateway.cli", "models", "pull", *arguments, "--data", str(data)]
        environ = {**gateway_environment(), "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf"), **more}
        return subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=100, stdin=subprocess.DEVNULL
        )

    return run


def test_without_a_file_the_repository_is_listed(pull: Pull, hub: Hub) -> None:
    listed = pull(REPOSITORY)

    assert listed.returncode == 0, listed.stderr
    lines = listed.stdout.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["Q4_K_M", "Q8_0", "BF16", "projector"]
    assert "Small-BF16-00001-of-00002.gguf (and 1 more)" in lines[2]
    assert lines[4] == f"Choose one: soleira models pull {REPOSITORY} --file Q4_K_M"
    assert not hub.fetched()


def test_a_file_is_fetched_checked_and_given_an_entry(pull: Pull, data: Path) -> None:
    done = pull(f"{REPOSITORY}/Small-Q4_K_M.gguf", "--yes")

    assert done.returncode == 0, done.stderr
    file = data / "models" / REPOSITORY / "Small-Q4_K_M.gguf"
    assert file.read_bytes() == FILES["Small-Q4_K_M.gguf"]
    assert "checksum right" in done.stdout
    assert f"gguf: {{path: {REPOSITORY}/Small-Q4_K_M.gguf, context: 4096}}" in done.stdout
    assert stat.S_IMODE(data.stat().st_mode) == stat.S_IMODE((data / "models").stat().st_mode) == 0o700
    assert not list(data.rglob("*.part"))


def test_the_entry_is_one_that_a_pack_takes(pull: Pull, data: Path, tmp_path: Path) -> None:
    entry = json.loads(pull(REPOSITORY, "--file", "q4_k_m", "--json").stdout)["entry"]

    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "rules.yaml").write_text(
        "default_label: internal\nzones: {device: {clearance: secret, addresses: loopback}}\nrules: [{name: all}]\n"
    )
    (pack / "deployments.yaml").write_text(f"deployments:\n{entry}\n")
    (spec,) = load_pack(pack, data / "models").deployments
    assert (spec.name, spec.gguf and spec.gguf.context) == ("small-q4_k_m", 4096)


def test_all_parts_of_a_divided_model_are_fetched(pull: Pull, data: Path) -> None:
    done = pull(REPOSITORY, "--file", "BF16/*", "--json")

    told: dict[str, Any] = json.loads(done.stdout)
    assert told["path"] == f"{REPOSITORY}/BF16/Small-BF16-00001-of-00002.gguf"
    assert {name: (data / "models" / REPOSITORY / name).stat().st_size for name in told["files"]} == {
        name: len(FILES[name]) for name in FILES if name.startswith("BF16/")
    }


def test_a_projector_is_written_beside_its_model(pull: Pull) -> None:
    alone = pull(REPOSITORY, "--file", "mmproj*", "--yes")
    with_it = pull(REPOSITORY, "--file", "Q4_K_M", "--yes")

    assert f"mmproj: {REPOSITORY}/mmproj-F16.gguf" in alone.stdout
    assert f"Small-Q4_K_M.gguf, mmproj: {REPOSITORY}/mmproj-F16.gguf, context: 4096}}" in with_it.stdout


@pytest.mark.parametrize(("wish", "words"), [("Q5", "no file fits 'Q5'"), ("*Q*", "2 files fit '*Q*'")])
def test_a_wish_that_fits_none_or_several_is_refused_with_what_there_is(
    pull: Pull, hub: Hub, wish: str, words: str
) -> None:
    done = pull(REPOSITORY, "--file", wish, "--yes")

    assert done.returncode == 1
    assert words in done.stderr
    assert "Small-Q4_K_M.gguf" in done.stdout
    assert not hub.fetched()


def test_what_the_disk_cannot_hold_is_not_begun(pull: Pull, hub: Hub, data: Path) -> None:
    free = os.statvfs(data.parent)
    files = 1 + free.f_bavail * free.f_frsize // 49_000_000_000
    hub.files = {f"Huge-Q1_0-{n:05}-of-{files:05}.gguf": b"" for n in range(1, files + 1)}
    hub.sizes = dict.fromkeys(hub.files, 49_000_000_000)

    done = pull(REPOSITORY, "--yes")

    assert done.returncode == 1
    assert "make room, choose a smaller quantisation" in done.stderr
    assert not hub.fetched()
    assert not data.exists()


def test_a_file_beyond_what_hubs_give_by_http_is_named(pull: Pull, hub: Hub) -> None:
    hub.sizes["Small-Q8_0.gguf"] = 60_000_000_000

    done = pull(REPOSITORY, "--file", "Q8_0", "--yes")

    assert done.returncode == 1
    assert "is larger than hubs give by HTTP" in done.stderr


def test_an_interrupted_file_is_gone_on_with_where_it_ended(pull: Pull, hub: Hub, data: Path) -> None:
    whole = weights().read_bytes()
    hub.files = {"Real-Q4_1.gguf": whole}
    half = len(whole) // 2
    part = data / "models" / REPOSITORY / f"Real-Q4_1.gguf.{hub.info()['siblings'][0]['lfs']['sha256'][:12]}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(whole[:half])

    done = pull(REPOSITORY, "--yes")

    assert done.returncode == 0, done.stderr
    assert hub.fetched() == [("Real-Q4_1.gguf", f"bytes={half}-")]
    assert part.with_name("Real-Q4_1.gguf").read_bytes() == whole
    assert not part.exists()


def test_a_connection_that_breaks_again_and_again_still_ends_with_the_file(pull: Pull, hub: Hub, data: Path) -> None:
    whole = weights().read_bytes()
    hub.files, hub.cut_after = {"Real-Q4_1.gguf": whole}, len(whole) * 2 // 5

    done = pull(REPOSITORY, "--yes")

    assert done.returncode == 0, done.stderr
    begins = [int(wanted[6:-1]) if wanted else 0 for _, wanted in hub.fetched()]
    assert begins[0] == 0 < begins[1] < begins[2]
    assert (data / "models" / REPOSITORY / "Real-Q4_1.gguf").read_bytes() == whole


def test_a_file_with_another_checksum_is_thrown_away(pull: Pull, hub: Hub, data: Path) -> None:
    hub.broken.add("Small-Q4_K_M.gguf")

    done = pull(REPOSITORY, "--file", "Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "another checksum" in done.stderr
    assert not [path for path in (data / "models").rglob("*") if path.is_file()]


def test_a_small_file_is_checked_by_the_checksum_of_git(pull: Pull, hub: Hub, data: Path) -> None:
    hub.in_git.update(FILES)

    right = pull(REPOSITORY, "--file", "Q4_K_M", "--yes")
    hub.broken.add("Small-Q8_0.gguf")
    wrong = pull(REPOSITORY, "--file", "Q8_0", "--yes")

    assert (right.returncode, wrong.returncode) == (0, 1)


def test_a_file_that_is_there_is_not_fetched_again_and_a_damaged_one_is(pull: Pull, hub: Hub, data: Path) -> None:
    file = data / "models" / REPOSITORY / "Small-Q4_K_M.gguf"

    pull(REPOSITORY, "--file", "Q4_K_M", "--yes")
    again = pull(REPOSITORY, "--file", "Q4_K_M")
    asked = len(hub.fetched())
    file.write_bytes(bytes(len(FILES[file.name])))
    mended = pull(REPOSITORY, "--file", "Q4_K_M", "--yes")

    assert again.returncode == mended.returncode == 0
    assert "is there already" in again.stderr
    assert (asked, len(hub.fetched())) == (1, 2)
    assert file.read_bytes() == FILES[file.name]


def test_nothing_is_fetched_before_somebody_agreed(pull: Pull, hub: Hub) -> None:
    done = pull(REPOSITORY, "--file", "Q4_K_M")

    assert done.returncode != 0
    assert "Fetch Small-Q4_K_M.gguf" in done.stdout
    assert not hub.fetched()


def test_without_a_hub_it_is_said_what_to_do(pull: Pull, data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"

    done = pull(REPOSITORY, "--yes", HF_ENDPOINT=nobody)

    assert done.returncode == 1
    assert f"{nobody} cannot be reached" in done.stderr
    assert str(data / "models") in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("repository", "options", "words"),
    [
        ("somebody/Nothing-GGUF", (), "has no somebody/Nothing-GGUF"),
        (REPOSITORY, ("--revision", "v9"), "no such revision"),
        ("somebody", (), "write OWNER/NAME"),
        ("some body/x", (), "no name of a repository"),
    ],
)
def test_what_the_hub_does_not_have_is_said(pull: Pull, repository: str, options: tuple[str, ...], words: str) -> None:
    done = pull(repository, *options)

    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_repository_with_terms_says_that_they_must_be_agreed_to(pull: Pull, hub: Hub) -> None:
    hub.gated = True

    done = pull(REPOSITORY, "--file", "Q4_K_M", "--yes")

    assert done.returncode == 1
    assert "agreed to its terms" in done.stderr


def test_a_repository_without_gguf_files_is_named(pull: Pull, hub: Hub) -> None:
    hub.files = {"model.safetensors": b"x"}

    assert "has no GGUF files" in pull(REPOSITORY).stderr


def test_the_hub_learns_nothing_but_the_request(pull: Pull, hub: Hub) -> None:
    done = pull(REPOSITORY, "--file", "Q4_K_M", "--yes", MOONSHOT_API_KEY="sk-canary", HF_TOKEN="hf_canary")

    assert done.returncode == 0, done.stderr
    assert [path.split("/")[1:3] for path, _ in hub.asked] == [["api", "models"], ["somebody", "Small-GGUF"]]
    assert str(hub.headers).count("Bearer hf_canary") == len(hub.asked)
    assert "sk-canary" not in str(hub.headers)
    assert "torch" not in str(hub.headers)


def test_offline_is_lifted_for_the_command_alone_and_keys_stay_behind() -> None:
    environ = {"HF_HUB_OFFLINE": "1", "HF_TOKEN": "t", "https_proxy": "p", "OPENAI_API_KEY": "k", "PATH": "/bin"}

    given = environment(environ)

    assert not {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "OPENAI_API_KEY"} & given.keys()
    assert (given["HF_TOKEN"], given["https_proxy"], given["PATH"]) == ("t", "p", "/bin")
    assert given["HF_HUB_DISABLE_TELEMETRY"] == "1"


def files(*names: str) -> list[HubFile]:
    return [HubFile(name, index + 1, "0" * 64) for index, name in enumerate(names)]


@pytest.mark.parametrize("name", ["../x.gguf", "/etc/x.gguf", "a//x.gguf", "a/../../x.gguf", "a\\x.gguf", "a\n.gguf"])
def test_a_name_that_leads_elsewhere_is_no_file(name: str) -> None:
    assert models_of(files(name)) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("Q4_K_M", ["M-Q4_K_M.gguf"]),
        ("ud-q4_k_xl", ["sub/M-UD-Q4_K_XL.gguf"]),
        ("Q4_K", ["M-Q4_K_M.gguf", "M-Q4_K_S.gguf", "sub/M-UD-Q4_K_XL.gguf"]),
        ("M-Q4_K_S.gguf", ["M-Q4_K_S.gguf"]),
        ("sub/M-UD-Q4_K_XL.gguf", ["sub/M-UD-Q4_K_XL.gguf"]),
        ("*_S.gguf", ["M-Q4_K_S.gguf"]),
        ("F16", ["M-F16.gguf"]),
        ("mmproj", ["mmproj-F16.gguf"]),
        ("", []),
    ],
)
def test_a_model_is_meant_by_name_pattern_or_quantisation(wanted: str, found: list[str]) -> None:
    models = models_of(
        files("M-Q4_K_M.gguf", "M-Q4_K_S.gguf", "sub/M-UD-Q4_K_XL.gguf", "M-F16.gguf", "mmproj-F16.gguf")
    )

    assert [model.name for model in meant(models, wanted)] == found
