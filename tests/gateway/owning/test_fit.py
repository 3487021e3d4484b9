"""Whether machines hold a model, as people ask it: verdicts, budgets, what would hold instead, and the sources."""

from __future__ import annotations

import string
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

import pytest

from gateway.catalog.hardware import gpus
from gateway.catalog.models import models
from gateway.economics.fit import Because, Speed, Verdict
from gateway.economics.layouts import Rule, Trait
from gateway.errors import BadRequest
from gateway.owning.fits import fit as fits
from gateway.owning.fits.asking import Question, asking, kept
from gateway.owning.fits.places import Given
from gateway.owning.fits.sentences import Sentence, say
from gateway.owning.fits.shown import as_dict, reason
from gateway.owning.fits.this_machine import Cards, Machine
from gateway.owning.fits.words import PORTUGUESE, WORDS
from gateway.owning.written import many, size

if TYPE_CHECKING:
    from gateway.owning.fits.fit import Answer

TODAY = date(2026, 12, 1)
GB, TB = 10**9, 10**12


def asked(gpu: str | None = None, count: int | None = None, here: Machine | None = None, **more: object) -> Answer:
    """The answer for these machines; figures of the owner's go to the machines, the rest to the question."""
    places = {name: more.pop(name) for name in list(more) if name in Given.__dataclass_fields__}
    question = Question(given=Given(gpu=gpu, count=count, **places), **more)  # type: ignore[arg-type]
    return fits.answer(question, TODAY, here)


def texts(told: tuple[Sentence, ...]) -> str:
    return " ".join(map(say, told))


@pytest.mark.parametrize(
    ("gpu", "count", "quant", "verdict", "is_tight"),
    [
        ("b200", 8, "native", "no", False),
        ("b200", 16, "native", "native_verified", False),
        ("b300", 8, "native", "native_verified", False),
        ("h200", 8, "native", "no", False),
        ("h100", 8, "UD-IQ1_S", "quant_gpu", True),
        ("h100", 8, "native", "no", False),
        ("mac-studio-512", 1, "UD-IQ1_S", "no", False),
    ],
)
def test_the_known_machines_hold_what_they_are_known_to_hold(
    gpu: str, count: int, quant: str, verdict: str, is_tight: bool
) -> None:
    fitted = asked(gpu, count, quant=quant).fit

    assert (fitted.verdict, fitted.is_tight) == (verdict, is_tight)


def test_eight_b200_are_refused_with_both_figures_and_with_what_holds_instead() -> None:
    answer = asked("b200", 8)

    assert "1,440\u00a0GB" in reason(answer)
    assert "1,560\u00a0GB" in reason(answer)
    assert [(each.kind, each.gpu, each.count) for each in answer.instead[:1]] == [("more", "b200", 16)]
    assert ("quant", "UD-Q2_K_XL") in [(each.kind, each.quant) for each in answer.instead]
    assert {"b300", "gb300", "mi355x"} <= {each.gpu for each in answer.instead if each.kind == "shape"}
    assert answer.instead[-1].kind == "hosted"
    assert (answer.fit.max_context, answer.fit.max_concurrency, answer.start) == (0, 0, None)


def test_active_is_not_stored_where_somebody_might_think_so() -> None:
    answer = asked("h100", 1)

    told = texts(answer.notes)
    assert "104 billion parameters compute a token" in told
    assert "any of the 2.78 trillion" in told
    assert "Active is not stored" not in texts(asked("b300", 8).notes)


def test_bytes_are_by_part_and_follow_context_and_requests() -> None:
    one, ten = asked("b300", 8).fit.bytes, asked("b300", 8, concurrency=10).fit.bytes
    longer = asked("b300", 8, context=65_536).fit.bytes

    assert one.weights == 1_560 * GB
    assert one.kda_state == 5 * 449_372_160
    assert one.mla_cache == 8 * 32_768 * 13_824
    assert (ten.kda_state, ten.mla_cache) == (10 * one.kda_state, 10 * one.mla_cache)
    assert (longer.kda_state, longer.mla_cache) == (one.kda_state, 2 * one.mla_cache)


def test_shared_ranks_of_the_cache_make_room_for_more_requests() -> None:
    alone, shared = asked("b300", 8, context=131_072), asked("b300", 8, context=131_072, context_ranks=8)

    assert shared.fit.bytes.mla_cache * 8 == alone.fit.bytes.mla_cache
    assert shared.fit.max_concurrency > 3 * alone.fit.max_concurrency
    assert "--decode-context-parallel-size 8" in (shared.start.text if shared.start else "")


def test_the_cache_is_in_what_the_recipe_of_that_hardware_can() -> None:
    blackwell, hopper, card = asked("b300", 8), asked("h200", 16), asked("h100", 8, quant="UD-IQ1_S")

    assert [each.plan.cache for each in (blackwell, hopper, card)] == ["fp8", "bf16", "bf16"]
    with pytest.raises(BadRequest, match="no FP8 cache on Hopper"):
        asked("h200", 16, cache="fp8")


def test_layers_keep_what_their_kind_keeps() -> None:
    k3, k2, grouped = (kept(models()[name], "bf16") for name in ("kimi-k3", "kimi-k2", "llama-3.3-70b"))

    assert (k3.per_token, k3.per_request, k3.divided_per_token) == (27_648, 449_372_160, 0)
    assert (k2.per_token, k2.per_request) == (70_272, 0)
    assert grouped.per_token == grouped.divided_per_token == 80 * 2_048 * 2
    assert grouped.kv_heads == 8


def test_the_host_s_memory_and_the_disk_count_only_when_given() -> None:
    nothing = asked("rtx4090", 2, quant="UD-IQ1_S")
    host = asked("rtx4090", 2, quant="UD-IQ1_S", host_bytes=768 * GB, host_bytes_per_second=460 * GB)
    disk = asked("rtx4090", 2, quant="UD-IQ1_S", disk_bytes=2 * TB, disk_bytes_per_second=7 * GB)

    assert [each.fit.verdict for each in (nothing, host, disk)] == ["no", "quant_hybrid", "disk_stream"]
    assert "No host memory was given" in texts(nothing.notes)
    assert "No free disk was given" in texts(nothing.notes)
    assert (host.fit.speed, disk.fit.speed) == ("reads along", "overnight")
    assert "--override-tensor" in (host.start.text if host.start else "")


def test_a_form_for_gpus_alone_is_not_started_from_host_memory_but_another_is_named() -> None:
    answer = asked("rtx6000-ada", 2, host_bytes=1_700 * GB, host_bytes_per_second=256 * GB)

    assert (answer.fit.verdict, answer.start) == ("quant_hybrid", None)
    assert "take UD-Q8_K_XL, which llama.cpp runs" in texts(answer.notes)


def test_the_measured_speed_of_two_xeons_lies_under_the_ceiling() -> None:
    answer = asked("xeon-ddr4-1536", quant="UD-Q2_K_XL")
    native = asked("rtx6000-ada", 2, host_bytes=1_700 * GB, host_bytes_per_second=256 * GB)

    assert answer.fit.verdict == "quant_hybrid"
    assert native.fit.ceiling_tps is not None
    assert float(native.fit.ceiling_tps) == pytest.approx(3.0, abs=0.05)


def test_what_the_machines_do_hold_is_named_when_they_do_not_hold_this() -> None:
    answer = asked("rtx4090", 1, host_bytes=32 * GB, context=8_192)
    fitting = next(each for each in answer.instead if each.kind == "model")

    again = asked("rtx4090", 1, host_bytes=32 * GB, context=8_192, model=fitting.model, quant=fitting.quant)
    assert fitting.model == "qwen3-32b"
    assert again.fit.verdict == fitting.verdict == "quant_gpu"


def test_what_a_processor_alone_holds_is_said_to_be_slow() -> None:
    answer = asked("epyc-ddr5-768", quant="UD-IQ1_S")

    assert "the processor computes" in say(answer.headline)
    assert "--n-gpu-layers 0" in (answer.start.text if answer.start else "")


def test_network_storage_is_told_to_keep_the_data() -> None:
    named = asked("nas", host_bytes=32 * GB, disk_bytes=8 * TB)
    found = asked(here=Machine("nas", (), 32 * GB, 8 * TB, "Celeron"))

    for answer in (named, found):
        assert answer.fit.verdict == "no"
        assert "keep the documents" in texts(answer.notes)
        assert "leave inference of a frontier model to other machines" in texts(answer.notes)


def test_network_storage_with_memory_for_a_small_model_is_not_told_that_it_has_little() -> None:
    large = asked("nas", host_bytes=128 * GB, model="qwen3-32b", quant="4-bit")
    small = asked("nas", host_bytes=128 * GB)

    assert (large.fit.verdict, large.fit.because) == ("quant_hybrid", "cpu_memory")
    assert (small.fit.verdict, small.fit.because) == ("no", "nas")


def test_a_computer_with_little_memory_is_not_called_network_storage() -> None:
    answer = asked(here=Machine("cpu", (), 32 * GB, 8 * TB, "Ryzen"))

    assert (answer.fit.verdict, answer.fit.because) == ("no", "little_memory")
    assert "32\u00a0GB of memory" in reason(answer)
    assert "Network storage" not in texts(answer.notes)
    assert "leave inference of such a model to other machines" in texts(answer.notes)


def test_a_mac_holds_what_its_system_leaves_to_the_accelerator_unless_its_owner_raised_that() -> None:
    question: dict[str, Any] = {"model": "kimi-k2", "quant": "UD-Q2_K_XL", "context": 8_192}
    usual, raised = asked("mac-studio-512", **question), asked("mac-studio-512", gpu_bytes=480 * GB, **question)

    assert usual.quant.memory_bytes < 512 * GB
    assert (usual.fit.verdict, raised.fit.verdict) == ("no", "quant_gpu")
    assert "384\u00a0GB" in reason(usual)
    memory = next(each for each in usual.figures if each.name == "gpu.memory")
    assert "recommendedMaxWorkingSetSize" in memory.source


def test_a_form_that_may_not_work_says_so_and_is_recommended_nowhere() -> None:
    answer = asked("b200", 8, quant="UD-Q1_0")

    assert "does not work" in texts(answer.notes)
    assert "asked there on 13 September 2026 for a form that works" in texts(answer.catalog)
    only: dict[str, Any] = {"gpu_bytes": 520 * GB, "gpu_bytes_per_second": TB}
    assert asked("zeta9", 1, quant="UD-Q1_0", **only).fit.verdict == "quant_gpu"
    assert asked("zeta9", 1, quant="UD-TQ1_0", **only).fit.verdict == "no"
    for quant in ("native", "UD-TQ1_0"):
        assert "UD-Q1_0" not in {each.quant for each in asked("zeta9", 1, quant=quant, **only).instead}
    other = asked("zeta9", 1, model="glm-5.2", **only)
    assert "UD-Q1_0" not in {each.quant for each in other.instead}


def test_notes_on_a_form_are_told_with_their_source() -> None:
    told = asked("b300", 8, model="kimi-k3.1-pro").catalog

    note = next(each for each in told if "no size of its own was found" in say(each))
    assert say(note).startswith("native: ")
    assert "Awesome-AITools" in note.source


def test_one_machine_is_spoken_of_as_one_in_both_languages() -> None:
    one, two = asked("rtx4090", 1, model="qwen3-32b"), asked("rtx4090", 2, model="llama-3.3-70b")

    assert say(one.why).startswith("1 × NVIDIA GeForce RTX 4090 has ")
    assert say(one.why, "pt").startswith("1 × NVIDIA GeForce RTX 4090 tem ")
    assert say(two.why).startswith("2 × NVIDIA GeForce RTX 4090 have ")
    assert say(two.why, "pt").startswith("2 × NVIDIA GeForce RTX 4090 têm ")
    smaller = [asked("rtx4090", count, model="qwen3-32b", context=8_192, host_bytes=GB) for count in (1, 3)]
    held = [say(each.told) for answer in smaller for each in answer.instead if each.kind == "quant"]
    assert held
    assert held[0].startswith("This machine holds 4-bit")


def test_one_accelerator_that_stands_idle_is_one() -> None:
    one, three = (asked("b300", count) for count in (9, 11))

    assert "One of the accelerators stands idle" in texts(one.notes)
    assert "3 of the accelerators stand idle" in texts(three.notes)


def test_a_machine_that_is_one_whole_is_not_counted_and_has_a_name_in_portuguese() -> None:
    why = asked("epyc-ddr5-768", 4, disk_bytes=0).why

    assert say(why).startswith("EPYC with 768 GB of DDR5-4800 has ")
    assert say(why, "pt").startswith("EPYC com 768 GB de DDR5-4800 tem ")


def test_every_machine_that_is_called_by_words_has_them_in_portuguese() -> None:
    spoken = {gpu.title for gpu in gpus().values() if any(word in gpu.title.split() for word in ("with", "or", "one"))}

    assert spoken
    assert spoken <= PORTUGUESE.keys()


def test_nothing_is_told_of_parts_that_are_not_there() -> None:
    answer = asked("epyc-ddr5-768", model="qwen3-32b")
    none = asked("nas")

    assert "state_bytes" not in {name for each in answer.notes for name in each.facts}
    assert "0 bytes" not in texts(none.notes)
    assert "0 bytes" not in reason(none)


def test_memory_is_credited_to_whoever_states_it() -> None:
    told = {each.name: each.source for each in asked("h100", 8, quant="UD-IQ1_S").figures}

    assert "Flatkey" in told["quant.memory"]
    assert "Hugging Face" in told["quant.file"]


def test_memory_of_several_computers_is_not_added_up() -> None:
    one, four = asked("epyc-ddr5-768"), asked("epyc-ddr5-768", 4)

    assert four.fit == one.fit
    assert "4 computers" in texts(four.notes)


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({"engine": "llama_server"}, "UD-IQ1_S"),
        ({"engine": "vllm", "quant": "UD-IQ1_S"}, "native"),
        ({"engine": "sglang", "quant": "4-bit", "model": "qwen3-32b"}, "native"),
    ],
)
def test_an_engine_is_not_started_on_files_that_it_does_not_read(question: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRequest, match="does not read") as refused:
        asked("b300", 8, **question)

    assert says in str(refused.value)


def test_ranks_that_cannot_share_the_cache_are_refused_without_a_source_that_says_no_such_thing() -> None:
    answer = asked("b300", 8, context_ranks=64)

    assert (answer.fit.verdict, answer.fit.failed_rule) == ("no", "context_ranks")
    assert "share the cache" in say(answer.why)
    assert answer.why.source == ""


def test_all_forms_for_one_engine_are_those_that_it_reads() -> None:
    answers = fits.every_form(Question(given=Given(gpu="b300", count=8), engine="llama_server"), TODAY)

    assert answers
    assert all(each.quant.format == "gguf" for each in answers)
    with pytest.raises(BadRequest, match="leave --engine out"):
        fits.every_form(Question(given=Given(gpu="b300", count=8), engine="llama_server", model="kimi-k3.1-pro"), TODAY)


@pytest.mark.parametrize("figure", ["gpu_bytes", "gpu_bytes_per_second", "host_bytes_per_second"])
def test_a_figure_of_nothing_is_refused(figure: str) -> None:
    nothing: dict[str, Any] = {figure: 0}

    with pytest.raises(BadRequest, match="more than nothing"):
        asked("b300", 8, **nothing)


def test_what_is_only_told_of_other_engines_is_not_claimed_of_the_one_that_is_started() -> None:
    answer = asked("gb300", 16)

    assert answer.fit.shape is not None
    assert answer.fit.shape.engine == answer.plan.engine == "vllm"
    assert answer.why.facts["engine"] == "vLLM"

    more = asked("gb300", 16, concurrency=answer.fit.max_concurrency + 1)

    assert (more.fit.verdict, more.why.facts["engine"]) == ("native_verified", "TensorRT-LLM")
    assert more.start is None
    assert "TensorRT-LLM" in texts(more.notes)


def test_bytes_are_of_one_copy_and_on_devices_of_all() -> None:
    most = asked("b300", 8).fit.max_concurrency
    found = as_dict(asked("b300", 16, concurrency=most + 1), TODAY)

    assert found["bytes"]["weights"] == 1_560 * GB
    assert found["bytes"]["kda_state"] == (most + 1) * 449_372_160
    assert found["bytes"]["mla_cache"] == (most + 1) * 32_768 * 13_824
    assert found["bytes_on_devices"]["weights"] == 2 * 1_560 * GB
    assert (found["division"]["copies"], found["division"]["idle"]) == (2, 0)


def test_a_model_without_experts_is_not_said_to_have_them() -> None:
    answer = asked("rtx4090", 1, model="llama-3.3-70b", quant="4-bit", host_bytes=128 * GB)

    assert answer.fit.verdict == "quant_hybrid"
    assert "experts" not in say(answer.headline)
    assert "especialistas" not in say(answer.headline, "pt")


def test_weights_of_one_memory_are_started_by_the_engine_that_can() -> None:
    native = asked("mac-studio-128", model="qwen3-32b")
    gguf = asked("mac-studio-128", model="qwen3-32b", quant="4-bit")

    assert native.fit.verdict == "native_unverified"
    assert native.start is None
    assert "4-bit" in texts(native.notes)
    assert gguf.start is not None


def test_weights_that_an_engine_widens_are_asked_about_as_wide_as_they_become() -> None:
    found = asking(Question(given=Given(gpu="h200", count=8), model="kimi-k2.6"), TODAY, None)
    wider = replace(found, quant=replace(found.quant, expansion=Fraction(2)))

    assert found.fitted().verdict == "native_unverified"
    assert (wider.fitted().verdict, wider.fitted().bytes.weights) == ("no", 2 * found.quant.memory_bytes)


def test_an_index_beside_latents_stays_in_two_bytes() -> None:
    glm = models()["glm-5.2"]

    assert kept(glm, "bf16").per_token == 2 * (78 * 576 + 21 * 128)
    assert kept(glm, "fp8").per_token == 78 * 576 + 2 * 21 * 128


def test_an_unknown_accelerator_takes_the_owner_s_figures_and_is_said_to_be_unknown() -> None:
    answer = asked("zeta9", 8, gpu_bytes=300 * GB, gpu_bytes_per_second=9 * TB)

    assert answer.fit.verdict == "native_unverified"
    assert "zeta9 is not known here" in texts(answer.notes)
    assert [(each.name, each.origin) for each in answer.place.figures] == [
        ("gpu.memory", "stated"),
        ("gpu.bandwidth", "stated"),
    ]


@pytest.mark.parametrize(
    ("gpu", "says"),
    [
        ("b3000", "did you mean 'b300'"),
        ("mi400", "announced, and nobody has stated its memory"),
        ("zeta9", "--gpu-memory 96GB"),
    ],
)
def test_an_unknown_accelerator_without_figures_is_refused_with_the_way_out(gpu: str, says: str) -> None:
    with pytest.raises(BadRequest, match=says) as refused:
        asked(gpu, 8)

    assert refused.value.param == "gpu"
    assert "--gpu-memory 96GB and --gpu-bandwidth 1.8TB/s" in str(refused.value)


@pytest.mark.parametrize(
    ("more", "says"),
    [({"model": "kimi-k33"}, "kimi-k3"), ({"quant": "UD-IQ1_X"}, "UD-IQ1_S")],
)
def test_a_wrong_name_is_answered_with_the_right_one(more: dict[str, str], says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        asked("b300", 8, None, **more)


def test_what_the_driver_of_this_machine_says_counts_before_the_catalog_and_the_owner_before_both() -> None:
    cards = Cards("NVIDIA B300 SXM6 AC", "b300", 8, 275_040 << 20, "nvidia-smi")
    here = Machine("gpu", (cards,), 2 * TB, 4 * TB, "Xeon", "580.95.05", has_links=True)

    found, overridden = asked(here=here), asked(here=here, gpu_bytes=200 * GB)

    assert (found.fit.verdict, found.place.devices.bytes_each) == ("native_verified", 275_040 << 20)
    assert overridden.place.devices.bytes_each == 200 * GB
    assert {each.name: each.origin for each in found.place.figures} == {
        "gpu.memory": "detected",
        "gpu.bandwidth": "bundled",
        "host.memory": "detected",
        "disk.free": "detected",
    }
    assert {say(check.told): check.state for check in found.checks}[
        "NVIDIA driver 580.95.05; r580 or newer is needed (CUDA 13)."
    ] == "fine"


def test_an_old_driver_missing_links_and_a_full_disk_are_told_before_the_start() -> None:
    cards = Cards("NVIDIA B300 SXM6 AC", "b300", 8, 275_040 << 20, "nvidia-smi")
    here = Machine("gpu", (cards,), 2 * TB, 1 * TB, "Xeon", "550.54", has_links=False)

    wrong = [say(check.told) for check in asked(here=here).checks if check.state == "wrong"]

    assert len(wrong) == 3
    assert "1,000\u00a0GB are there, 1,716\u00a0GB are needed" in wrong[0]
    assert "550.54" in wrong[1]
    assert "no NVLink" in wrong[2]


def test_one_memory_of_a_mac_is_not_counted_twice() -> None:
    cards = Cards("Apple M3 Ultra", "mac-studio-512", 1, 384 << 30, "sysctl")
    here = Machine("unified", (cards,), 512 << 30, 2 * TB, "Apple M3 Ultra")

    devices = asked(here=here, host_bytes=512 << 30).place.devices

    assert (devices.accelerator_bytes, devices.host_bytes) == (384 << 30, 0)


def test_a_recipe_s_limits_are_told_and_another_engine_s_recipe_is_taken_beyond_them() -> None:
    few, many_requests = asked("h200", 16), asked("h200", 16, concurrency=10)
    held = asked("h200", 16, concurrency=10, engine="vllm")

    assert (few.plan.engine, few.fit.max_concurrency, few.fit.max_context) == ("vllm", 5, 32_768)
    assert (many_requests.plan.engine, many_requests.fit.verdict) == ("sglang", "native_unverified")
    assert (held.fit.verdict, held.fit.failed_rule) == ("no", "recipe_limits")
    assert "32,768 tokens and 5 requests" in reason(held)


def test_more_context_than_the_model_reads_is_refused_with_its_limit() -> None:
    answer = asked("b300", 8, context=2_000_000)

    assert answer.fit.verdict == "no"
    assert "at most 1,048,576 tokens, and 2,000,000 were asked" in reason(answer)
    assert "Model card" in answer.why.source
    assert "The longest request that is held there has 1,048,576 tokens" in texts(answer.notes)
    assert answer.instead == ()


def test_what_is_only_too_long_is_told_how_long_it_may_be_and_that_is_held() -> None:
    long = asked("rtx4090", 1, model="qwen3-32b", quant="4-bit")
    note = next(each for each in long.notes if each.code == "note.longest")

    longest = int(str(note.facts["longest"]))
    assert (long.fit.verdict, long.fit.because) == ("no", "no_room_for_cache")
    assert asked("rtx4090", 1, model="qwen3-32b", quant="4-bit", context=longest).fit.verdict == "quant_gpu"
    assert asked("rtx4090", 1, model="qwen3-32b", quant="4-bit", context=longest + 1).fit.verdict == "no"
    assert "note.longest" not in {each.code for each in asked("h100", 1).notes}


def test_a_driver_for_the_image_of_kimi_k3_is_asked_where_that_image_is_used() -> None:
    with_image = asked("b300", 8)
    without = [asked("h100", 1, model="qwen3-32b", context=8_192), asked("b300", 8, engine="sglang")]

    assert "r580" in texts(tuple(check.told for check in with_image.checks))
    for answer in without:
        assert answer.fit.verdict != "no"
        assert "r580" not in texts(tuple(check.told for check in answer.checks))


def test_every_form_is_answered_the_largest_first() -> None:
    answers = fits.every_form(Question(given=Given(gpu="b200", count=8)), TODAY)

    sizes = [each.quant.memory_bytes for each in answers]
    assert sizes == sorted(sizes, reverse=True)
    assert {each.quant.name for each in answers} == {quant.name for quant in models()["kimi-k3"].quants}
    assert {each.fit.verdict for each in answers} == {"no", "quant_gpu"}


@pytest.mark.parametrize("model", sorted(models()))
@pytest.mark.parametrize(
    ("gpu", "count"), [("rtx4090", 1), ("h100", 8), ("b300", 8), ("mi355x", 8), ("mac-studio-512", 1)]
)
def test_every_model_in_every_form_has_an_answer_in_words_of_both_languages(model: str, gpu: str, count: int) -> None:
    question = Question(
        given=Given(gpu=gpu, count=count, host_bytes=512 * GB, disk_bytes=2 * TB), model=model, quant=""
    )
    for form in models()[model].quants:
        answer = fits.answer(replace(question, quant=form.name), TODAY)

        told = [answer.why, *answer.notes, *answer.links, *answer.licence, *(check.told for check in answer.checks)]
        told += [each.told for each in answer.instead] + [*answer.catalog]
        for line in (answer.download, answer.start):
            told += line.traps if line else ()
        assert all(say(each, "en") and say(each, "pt") for each in told)
        assert as_dict(answer, TODAY)["verdict"] in get_args(Verdict)


def test_every_figure_has_a_source_and_an_age_unless_somebody_just_said_it() -> None:
    for gpu in (name for name, each in gpus().items() if each.is_known):
        answer = asked(gpu, 8, host_bytes=GB)
        assert all(each.source for each in answer.figures)
        assert all(each.age_days(TODAY) is not None or each.origin == "stated" for each in answer.figures)


@pytest.mark.parametrize("use", ["internal", "product", "service"])
def test_the_licence_is_read_for_the_use_that_is_meant(use: str) -> None:
    told = texts(asked("b300", 8, use=use).licence)

    assert {"internal": "section 4", "product": "100 million", "service": "separate agreement"}[use] in told


def test_every_code_of_the_arithmetic_has_its_words() -> None:
    codes = {
        *(f"why.{code}" for code in get_args(Because)),
        *(f"rule.{code}" for code in get_args(Rule)),
        *(f"trait.{code}" for code in get_args(Trait)),
        *(f"speed.{code}" for code in get_args(Speed)),
        *(f"{kind}.{code}" for code in get_args(Verdict) for kind in ("verdict", "called")),
    }

    assert codes <= WORDS.keys()


def test_sentences_name_the_same_in_both_languages() -> None:
    def named(text: str) -> set[str | None]:
        return {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}

    assert [code for code, (en, pt) in WORDS.items() if named(en) != named(pt) or not (en and pt)] == []


def test_what_the_catalogs_say_in_english_is_there_in_portuguese() -> None:
    said = {note for gpu in gpus().values() for note in gpu.notes if not note.startswith(("Announced", "bandwidth or"))}
    for model in models().values():
        said |= {*model.notes, *(note for _, note in model.licence_notes)}
        said |= {quant.quality for quant in model.quants if quant.quality}
        said |= {note.note for quant in model.quants for _, note in quant.notes}

    assert said - PORTUGUESE.keys() == set()


@pytest.mark.parametrize(
    ("count", "english", "portuguese"),
    [
        (1_560 * GB, "1,560 GB", "1.560 GB"),
        (14_495_514_624, "14.5 GB", "14,5 GB"),
        (449_372_160, "449 MB", "449 MB"),
        (0, "0 bytes", "0 bytes"),
    ],
)
def test_sizes_are_written_as_the_language_does(count: int, english: str, portuguese: str) -> None:
    assert (size(count).replace("\u00a0", " "), size(count, "pt").replace("\u00a0", " ")) == (english, portuguese)
    assert (many(2_779_931_837_184), many(104 * GB, "pt")) == ("2.78 trillion", "104 bilhões")
