"""The lines to paste: pinned, on loopback, with the flags and the traps that each engine and hardware needs."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from gateway.catalog.models import models
from gateway.owning.fits import commands
from gateway.owning.fits import fit as fits
from gateway.owning.fits.asking import Question
from gateway.owning.fits.places import Given

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.owning.fits.commands import Line

TODAY = date(2026, 12, 1)
GB, TB = 10**9, 10**12


def started(gpu: str, count: int, **question: Any) -> Line:
    asked = Question(given=Given(gpu=gpu, count=count, host_bytes=question.pop("host_bytes", None)), **question)
    line = fits.answer(asked, TODAY).start
    assert line is not None
    return line


def words(text: str) -> list[str]:
    """What the shell makes of it."""
    return shlex.split(text.replace("\\\n", " "), comments=True)


def options(text: str) -> dict[str, str]:
    """Each option with its value; empty where it has none."""
    found: dict[str, str] = {}
    for word, following in zip(words(text), [*words(text)[1:], ""], strict=True):
        if word.startswith("--"):
            found[word] = "" if following.startswith("-") else following
    return found


def codes(line: Line) -> set[str]:
    return {each.code for each in line.traps}


def test_the_download_is_pinned_to_the_commit_that_the_figures_are_of() -> None:
    model = models()["kimi-k3"]
    line = commands.download(model, model.quant("native"))

    assert line is not None
    assert line.is_pinned
    assert words(line.text)[:2] == ["hf", "download"]
    assert options(line.text)["--revision"] == model.quant("native").revision
    assert len(options(line.text)["--revision"]) == 40


def test_a_download_without_a_known_commit_does_not_run_as_it_is() -> None:
    model = models()["kimi-k3"]
    line = commands.download(model, replace(model.quant("UD-IQ1_S"), revision=None))

    assert line is not None
    assert not line.is_pinned
    assert options(line.text) == {
        "--revision": "COMMIT",
        "--include": "UD-IQ1_S/*",
        "--local-dir": "./kimi-k3-UD-IQ1_S",
    }
    assert "trap.no_revision" in codes(line)


def test_what_is_not_published_cannot_be_downloaded() -> None:
    closed = replace(models()["kimi-k3"], open_weights=False)

    assert commands.download(closed, closed.quant("native")) is None


def test_k3_with_vllm_on_blackwell_has_what_its_recipe_needs() -> None:
    line = started("b300", 8, context=1_048_576)
    found = options(line.text)

    assert found["--tensor-parallel-size"] == "8"
    assert found["--max-model-len"] == "1048576"
    assert found["--tool-call-parser"] == found["--reasoning-parser"] == "kimi_k3"
    assert {"--trust-remote-code", "--enable-auto-tool-choice", "--enable-prefix-caching"} <= found.keys()
    assert found["--kv-cache-dtype"] == "fp8"
    assert json.loads(found["--attention-config"])["use_prefill_query_quantization"] is True
    assert json.loads(found["--attention-config"])["mla_prefill_backend"]
    assert "vllm/vllm-openai:kimi-k3" in words(line.text)
    assert {"trap.cuda13", "trap.fp8_attention", "trap.prefix_off", "trap.remote_code"} <= codes(line)


def test_an_fp8_cache_never_goes_without_its_attention_settings() -> None:
    for gpu, count in (("b300", 8), ("b200", 16), ("gb300", 8), ("h200", 16), ("mi355x", 8)):
        found = options(started(gpu, count).text)
        assert ("--kv-cache-dtype" in found) == ("--attention-config" in found), gpu


def test_sixteen_b200_are_two_stages_with_less_of_the_memory() -> None:
    line = started("b200", 16)
    found = options(line.text)

    assert (found["--tensor-parallel-size"], found["--pipeline-parallel-size"]) == ("8", "2")
    assert found["--gpu-memory-utilization"] == "0.90"
    assert "trap.pipeline_memory" in codes(line)
    assert line.text.count("--nnodes 2") == 2
    assert "--node-rank 0 --master-addr HEAD_ADDRESS\n" in line.text
    assert "--node-rank 1 --master-addr HEAD_ADDRESS \\\n  --headless" in line.text


def test_hopper_is_held_to_what_its_recipe_is_held_to() -> None:
    line = started("h200", 16)
    found = options(line.text)

    assert found["--moe-backend"] == "marlin"
    assert (found["--max-model-len"], found["--max-num-seqs"]) == ("32768", "1")
    assert "--kv-cache-dtype" not in found
    assert {"trap.hopper_limits", "trap.fp8_hopper", "trap.h200_out_of_memory"} <= codes(line)


def test_amd_gets_its_own_image_and_devices() -> None:
    text = started("mi355x", 8).text

    assert "vllm/vllm-openai-rocm:kimi-k3" in words(text)
    assert {"/dev/kfd", "/dev/dri"} <= set(words(text))
    assert "--gpus" not in words(text)


def test_sglang_keeps_its_flags_and_its_port() -> None:
    line = started("b300", 8, engine="sglang", context_ranks=8)
    found = options(line.text)

    assert (found["--tp-size"], found["--dcp-size"]) == ("8", "8")
    assert (found["--mem-fraction-static"], found["--port"]) == ("0.85", "30000")
    assert found["--tool-call-parser"] == found["--reasoning-parser"] == "kimi_k3"
    assert {"trap.sglang_pools", "trap.drafts"} <= codes(line)


def test_llama_server_has_room_for_all_requests_and_experts_where_they_lie() -> None:
    whole = started("h100", 8, quant="UD-IQ1_S", context=8_192, concurrency=4)
    mixed = started("rtx4090", 2, quant="UD-IQ1_S", host_bytes=768 * GB)

    assert (options(whole.text)["--ctx-size"], options(whole.text)["--parallel"]) == ("32768", "4")
    assert "--override-tensor" not in options(whole.text)
    assert options(mixed.text)["--override-tensor"].endswith("=CPU")
    assert options(mixed.text)["--n-gpu-layers"] == "99"


def test_the_first_part_of_a_download_is_found_whatever_it_is_called(tmp_path: Path) -> None:
    folder = tmp_path / "kimi-k3-UD-IQ1_S" / "UD-IQ1_S"
    folder.mkdir(parents=True)
    for part in (2, 1, 14):
        (folder / f"Kimi-K3-UD-IQ1_S-{part:05}-of-00014.gguf").touch()
    text = started("h100", 8, quant="UD-IQ1_S").text.replace("llama-server", "printf '%s\\n'", 1)

    printed = subprocess.run(["sh", "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert printed.splitlines()[1] == "./kimi-k3-UD-IQ1_S/UD-IQ1_S/Kimi-K3-UD-IQ1_S-00001-of-00014.gguf"


@pytest.mark.parametrize("model", sorted(models()))
@pytest.mark.parametrize(("gpu", "count"), [("b300", 16), ("gb300", 8), ("mi355x", 8), ("mac-studio-512", 1)])
def test_no_line_listens_to_the_network_or_breaks_the_shell(model: str, gpu: str, count: int) -> None:
    for form in models()[model].quants:
        question = Question(given=Given(gpu=gpu, count=count, disk_bytes=9 * TB), model=model, quant=form.name)
        line = fits.answer(question, TODAY).start
        if line is None:
            continue
        assert "0.0.0.0" not in line.text
        assert "127.0.0.1" in line.text
        assert "trap.loopback" in codes(line)
        assert subprocess.run(["sh", "-n", "-c", line.text], check=False).returncode == 0
        assert not [word for word in words(line.text) if word.startswith("--") and "=" not in word and " " in word]
