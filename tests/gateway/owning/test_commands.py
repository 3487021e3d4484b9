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
from gateway.owning.fits.sentences import say

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


@pytest.mark.parametrize("model", sorted(models()))
def test_a_form_is_never_fetched_from_where_another_form_is(model: str) -> None:
    known = models()[model]
    for form in known.quants:
        line = commands.download(known, form)
        if line is None:
            assert form.repository is None
            continue
        others = [each for each in known.quants if each.repository == form.repository and each.name != form.name]
        assert shlex.split(line.text)[2] == form.repository
        assert form.pattern or not others, form.name


def test_where_no_repository_is_known_it_is_said_and_the_files_have_their_place() -> None:
    answer = fits.answer(Question(given=Given(gpu="rtx4090", count=4), model="llama-3.3-70b", quant="4-bit"), TODAY)

    assert answer.download is None
    assert "note.no_repository" in {each.code for each in answer.notes}
    assert answer.start is not None
    assert "./llama-3.3-70b-4-bit" in answer.start.text


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

    assert (found["--moe-backend"], found["--attention-backend"]) == ("marlin", "FLASHMLA")
    assert (found["--max-model-len"], found["--max-num-seqs"]) == ("32768", "1")
    assert "--kv-cache-dtype" not in found
    assert {"trap.hopper_limits", "trap.fp8_hopper", "trap.h200_out_of_memory"} <= codes(line)


@pytest.mark.parametrize(("gpu", "count", "ranks", "groups"), [("h200", 16, "8", "2"), ("gb200", 16, "4", "4")])
def test_nodes_are_groups_where_the_recipe_was_run_so(gpu: str, count: int, ranks: str, groups: str) -> None:
    line = started(gpu, count, engine="vllm")
    found = options(line.text)

    assert (found["--tensor-parallel-size"], found["--data-parallel-size"]) == (ranks, groups)
    assert "--pipeline-parallel-size" not in found
    assert line.text.count("--data-parallel-address HEAD_ADDRESS") == int(groups)
    assert line.text.count("--headless") == int(groups) - 1
    assert f"--data-parallel-start-rank {int(groups) - 1} " in line.text
    assert "trap.groups" in codes(line)
    assert "trap.pipeline_memory" not in codes(line)


def test_ranks_that_share_the_cache_have_the_backends_of_their_recipe() -> None:
    found = options(started("b300", 8, engine="vllm", context_ranks=8).text)

    assert found["--decode-context-parallel-size"] == "8"
    assert (found["--dcp-comm-backend"], found["--attention-backend"]) == ("a2a", "TOKENSPEED_MLA")
    assert json.loads(found["--attention-config"])["mla_prefill_backend"] == "TRTLLM_RAGGED"


def test_the_kernels_of_experts_are_left_to_vllm_but_on_hopper() -> None:
    assert "--moe-backend" not in options(started("b300", 8).text)
    assert "--moe-backend" not in options(started("mi355x", 8).text)
    assert options(started("h100", 32, engine="vllm").text)["--attention-backend"] == "FLASHMLA"


def test_one_copy_is_started_with_its_share_of_the_requests() -> None:
    most = fits.answer(Question(given=Given(gpu="b300", count=8)), TODAY).fit.max_concurrency
    line = started("b300", 24, concurrency=2 * most)

    assert options(line.text)["--max-num-seqs"] == str(most)
    assert options(line.text)["--tensor-parallel-size"] == "8"
    assert "--nnodes" not in line.text
    assert "trap.copies" in codes(line)


def test_a_model_without_experts_leaves_whole_layers_in_host_memory() -> None:
    line = started("rtx4090", 1, model="llama-3.3-70b", quant="4-bit", host_bytes=128 * GB)
    found = options(line.text)

    assert "--override-tensor" not in found
    assert 0 < int(found["--n-gpu-layers"]) < 80
    assert int(found["--n-gpu-layers"]) * 40 * GB // 80 < 24_564 * 2**20
    assert "trap.layers_in_memory" in codes(line)
    assert "trap.experts_in_memory" not in codes(line)


def test_cards_of_several_computers_take_more_than_that_line_and_it_says_so() -> None:
    assert "trap.llama_rpc" in codes(started("h100", 16, quant="UD-IQ1_S"))
    assert "trap.llama_rpc" in codes(started("mac-studio-512", 2, quant="UD-IQ1_S"))
    assert "trap.llama_rpc" not in codes(started("h100", 8, quant="UD-IQ1_S"))


def test_kimi_k31_pro_is_not_said_to_be_known_to_an_image() -> None:
    borrowed = started("b300", 8, model="kimi-k3.1-pro")

    assert "trap.other_recipe" in codes(borrowed)
    assert "which build knows Kimi K3.1 Pro is not recorded" in " ".join(say(each) for each in borrowed.traps)
    assert "trap.other_recipe" not in codes(started("b300", 8))


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
    (folder / "A.gguf.part").touch()
    (folder.parent / "mmproj-BF16.gguf").touch()
    for part in (2, 1, 14):
        (folder / f"Kimi-K3-UD-IQ1_S-{part:05}-of-00014.gguf").touch()
    text = started("h100", 8, quant="UD-IQ1_S").text.replace("llama-server", "printf '%s\\n'", 1)

    printed = subprocess.run(["sh", "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert printed.splitlines()[1] == "./kimi-k3-UD-IQ1_S/UD-IQ1_S/Kimi-K3-UD-IQ1_S-00001-of-00014.gguf"


def test_a_form_of_one_file_is_found_as_well(tmp_path: Path) -> None:
    folder = tmp_path / "qwen3-32b-4-bit"
    folder.mkdir()
    (folder / "qwen3-32b-Q4_K_M.gguf").touch()
    (folder / "mmproj-BF16.gguf").touch()
    text = started("rtx4090", 2, model="qwen3-32b", quant="4-bit").text.replace("llama-server", "printf '%s\\n'", 1)

    printed = subprocess.run(["sh", "-c", text], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert printed.splitlines()[1] == "./qwen3-32b-4-bit/qwen3-32b-Q4_K_M.gguf"


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
