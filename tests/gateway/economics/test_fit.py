"""Whether machines hold a model: bytes by part, rules of topology, and what is left for requests."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gateway.catalog.hardware import find_gpu
from gateway.catalog.models import find_model
from gateway.economics.fit import ATTAINABLE, Fit, Room, fit, least
from gateway.economics.layouts import WORKSPACE, Asked, Devices, Shape, divided
from gateway.economics.memory import Division, Kept, cache_bytes, state_bytes

GB = 10**9
MILLION_TOKENS = 1_048_576
K3 = find_model("kimi-k3")
K3_KEPT = Kept(27_648, per_request=449_372_160)
"""A cache in BF16, states in FP32."""
SMALL = Kept(1000, divided_per_token=1000, kv_heads=8)
XEONS = Devices("rtx6000-ada", 2, 48 * GB, 960 * GB, host_bytes=1500 * GB, host_bytes_per_second=256 * GB)


def asked(quant: str = "native", context: int = 32_768, concurrency: int = 1) -> Asked:
    """A question about Kimi K3, from the catalog."""
    form = K3.quant(quant)
    return Asked(
        model=K3.name,
        quant=form.name,
        is_native=form.name == "native",
        weights_bytes=form.weights_bytes,
        active_bytes=form.active_bytes(K3.active_parameters) or 0,
        disk_bytes=form.free_disk_bytes or 0,
        kept=K3_KEPT,
        division=Division(),
        heads=K3.heads,
        vocabulary=K3.vocabulary,
        max_context=K3.max_context,
        context=context,
        concurrency=concurrency,
        shapes=tuple(
            Shape(
                engine=each.engine,
                gpu=each.gpu,
                gpus=each.gpus,
                nodes=each.nodes,
                status=each.status,
                source=each.said.source,
                tensor=each.tensor,
                pipeline=each.pipeline,
                resident_bytes_each=each.resident_bytes_each,
                max_context=each.max_context,
                max_concurrency=each.max_concurrency,
            )
            for each in K3.topologies
            if each.quant == form.name
        ),
        workspace_bytes=form.overhead_bytes,
        is_fp4=form.is_fp4,
    )


def cards(name: str, count: int) -> Devices:
    gpu = find_gpu(name)
    return Devices(
        gpu.name, count, gpu.usable_bytes, gpu.bytes_per_second, gpu.native_fp4, gpu.kind in ("gpu", "unified"),
        kind=gpu.kind,
    )  # fmt: skip


def plain(weights: int, **changes: object) -> Asked:
    """A question about some model that no engine's recipe is known for."""
    question = Asked(
        model="some",
        quant="native",
        is_native=True,
        weights_bytes=weights,
        active_bytes=weights,
        disk_bytes=weights,
        kept=SMALL,
        division=Division(),
        heads=64,
        vocabulary=128_000,
        max_context=MILLION_TOKENS,
        context=1000,
        concurrency=1,
        shapes=(),
    )
    return replace(question, **changes)  # type: ignore[arg-type]  # names of its fields


def room(found: Fit, budget: str) -> Room:
    return next(each for each in found.rooms if each.budget == budget)


# What the facts say exactly: which machines hold Kimi K3, and which do not.


def test_8_b200_are_120_gb_short_of_native_kimi_k3() -> None:
    found = fit(cards("b200", 8), asked())

    assert (found.verdict, found.because, found.failed_rule) == ("no", "too_small", "replica_minimum")
    assert (found.facts["there"], found.facts["weights"], found.facts["short"]) == (1_440 * GB, 1_560 * GB, 120 * GB)
    assert found.facts["gpus_needed"] == 16
    assert (found.max_context, found.max_concurrency) == (0, 0)


def test_8_b200_are_short_by_their_label_too() -> None:
    by_label = replace(cards("b200", 8), bytes_each=192 * GB)

    assert fit(by_label, asked()).because == "too_small"


def test_16_b200_hold_it_as_8_ranks_in_two_stages() -> None:
    found = fit(cards("b200", 16), asked())

    assert (found.verdict, found.is_tight, found.failed_rule) == ("native_verified", False, None)
    assert (found.division.tensor, found.division.pipeline) == (8, 2)


def test_8_b300_are_verified_to_hold_it() -> None:
    found = fit(cards("b300", 8), asked())

    assert (found.verdict, found.because, found.is_tight) == ("native_verified", "verified", False)
    assert found.bytes.weights == 1_560 * GB
    assert found.max_context == MILLION_TOKENS
    assert found.shape is not None
    assert found.shape.gpus == 8


def test_8_h200_do_not_hold_it() -> None:
    assert fit(cards("h200", 8), asked()).verdict == "no"


def test_8_cards_of_80_gb_hold_the_one_bit_form_tightly() -> None:
    nominal = Devices("some card", 8, 80 * GB)

    for devices in (nominal, cards("h100", 8), cards("a100", 8)):
        found = fit(devices, asked("UD-IQ1_S"))
        assert (found.verdict, found.is_tight) == ("quant_gpu", True)
        assert found.bytes.weights + found.bytes.workspace == 610 * GB


# Rules of topology.


def test_enough_bytes_are_not_enough_below_the_least_that_a_recipe_names() -> None:
    devices = replace(cards("h200", 12), bytes_each=150 * GB)

    found = fit(devices, asked())

    assert devices.count * devices.bytes_each > found.bytes.total
    assert (found.verdict, found.because, found.failed_rule) == ("no", "below_minimum", "replica_minimum")
    assert found.facts["gpus_needed"] == 16


def test_without_a_recipe_arithmetic_decides_and_says_so() -> None:
    found = fit(cards("mi300x", 16), asked())

    assert (found.verdict, found.because, found.shape) == ("native_unverified", "arithmetic", None)


def test_what_a_recipe_states_and_nobody_has_run_is_not_verified() -> None:
    found = fit(cards("h100", 32), asked())

    assert (found.verdict, found.because) == ("native_unverified", "stated")
    assert "contested" in found.traits


def test_a_shape_that_is_known_not_to_work_is_refused_with_its_source() -> None:
    broken = (Shape("vllm", "card", 2, 1, "unsupported", "an issue"),)

    found = fit(Devices("card", 2, 100 * GB), plain(50 * GB, shapes=broken))

    assert (found.verdict, found.because, found.failed_rule) == ("no", "unsupported", "unsupported")
    assert found.facts["source"] == "an issue"


def test_a_recipe_that_is_held_to_a_context_holds_the_answer_to_it() -> None:
    within = fit(cards("h200", 16), replace(asked(), shapes=tuple(s for s in asked().shapes if s.engine == "vllm")))
    beyond = fit(
        cards("h200", 16), replace(asked(context=65_536), shapes=tuple(s for s in asked().shapes if s.engine == "vllm"))
    )

    assert (within.max_context, within.max_concurrency) == (32_768, 5)
    assert "limited" in within.traits
    assert (beyond.verdict, beyond.because, beyond.failed_rule) == ("no", "beyond_recipe", "recipe_limits")
    assert beyond.facts["recipe_context"] == 32_768


@pytest.mark.parametrize(
    ("division", "rule"),
    [
        (Division(tensor=3), "tensor_ranks"), (Division(tensor=16), "tensor_heads"),
        (Division(tensor=8), "tensor_vocabulary"), (Division(tensor=4, pipeline=5), "too_few_devices"),
    ],
)  # fmt: skip
def test_ranks_that_do_not_divide_the_model_are_refused(division: Division, rule: str) -> None:
    question = plain(GB, division=division, heads=40, vocabulary=100_004)

    found = fit(Devices("card", 16, 100 * GB), question)

    assert (found.verdict, found.because, found.failed_rule) == ("no", "tensor", rule)


@pytest.mark.parametrize(
    ("count", "heads", "tensor", "pipeline"),
    [(8, 96, 8, 1), (16, 96, 8, 2), (32, 96, 8, 4), (12, 96, 8, 1), (9, 96, 8, 1), (8, 40, 8, 1), (8, 20, 4, 2)],
)
def test_the_widest_division_comes_first_and_its_ranks_divide_heads(
    count: int, heads: int, tensor: int, pipeline: int
) -> None:
    widest = divided(count, plain(GB, heads=heads, vocabulary=163_840))[0]

    assert (widest.tensor, widest.pipeline) == (tensor, pipeline)


def test_a_narrower_division_is_taken_where_the_wider_one_leaves_too_many_idle() -> None:
    found = fit(Devices("card", 6, 100 * GB), plain(500 * GB))

    assert (found.division.tensor, found.division.pipeline, found.idle) == (2, 3, 0)


def test_a_division_that_somebody_chose_is_kept() -> None:
    chosen = Division(tensor=4, pipeline=2)

    assert divided(16, plain(GB, division=chosen)) == (chosen,)


def test_ranks_that_share_the_cache_have_to_divide_those_that_share_a_layer() -> None:
    within = fit(cards("b300", 8), replace(asked(), division=Division(context=8)))
    beyond = fit(cards("b300", 8), replace(asked(), division=Division(context=64)))

    assert within.verdict == "native_verified"
    assert (beyond.verdict, beyond.because, beyond.failed_rule) == ("no", "tensor", "context_ranks")


def test_no_stage_cuts_a_layer() -> None:
    even = fit(Devices("card", 12, 51 * GB), plain(550 * GB, by_layers=True))
    whole = fit(Devices("card", 12, 51 * GB), plain(550 * GB, by_layers=True, layers=93))

    assert even.verdict == "native_unverified"
    assert (whole.verdict, whole.because) == ("no", "whole_layers")
    assert whole.facts["fullest"] == -(-550 * GB * 8 // 93) + 51 * GB * 8 // 100
    assert whole.facts["each"] == 51 * GB


def test_an_engine_that_spreads_whole_layers_has_sixteen_devices_at_most() -> None:
    found = fit(Devices("card", 40, 24 * GB), plain(600 * GB, by_layers=True, layers=93))

    assert (found.verdict, found.because, found.facts["most"]) == ("no", "whole_layers", 16)


def test_there_are_no_more_stages_than_layers() -> None:
    found = fit(Devices("card", 4096, 100 * GB), plain(50 * GB, heads=1, layers=61))

    assert (found.division.tensor, found.division.pipeline, found.idle) == (1, 61, 4035)


# More machines than a recipe names.


def test_what_is_verified_is_the_shape_not_any_number_of_devices_from_there_on() -> None:
    eight, twelve = fit(cards("b300", 8), asked()), fit(cards("b300", 12), asked())

    assert twelve.verdict == "native_verified"
    assert (twelve.division, twelve.copies, twelve.idle) == (eight.division, 1, 4)
    assert (twelve.bytes, twelve.max_concurrency) == (eight.bytes, eight.max_concurrency)
    assert "idle" in twelve.traits
    assert "more_copies" not in twelve.traits


def test_more_requests_than_one_copy_holds_take_more_copies_of_the_verified_shape() -> None:
    one = fit(cards("b300", 8), asked())
    most = one.max_concurrency

    few, many = fit(cards("b300", 24), asked()), fit(cards("b300", 24), asked(concurrency=most + 1))

    assert (few.copies, few.idle, few.max_concurrency) == (1, 16, 3 * most)
    assert "more_copies" in few.traits
    assert (many.verdict, many.copies, many.idle, many.max_concurrency) == ("native_verified", 2, 8, 3 * most)
    assert many.bytes.weights == 2 * one.bytes.weights
    assert many.bytes.kda_state == (most + 1) * one.bytes.kda_state
    assert fit(cards("b300", 24), asked(concurrency=3 * most)).copies == 3
    assert fit(cards("b300", 24), asked(concurrency=3 * most + 1)).verdict == "no"


# Bytes by part.


def test_latents_are_repeated_on_every_rank_and_states_are_divided() -> None:
    alone = fit(Devices("card", 1, 2_000 * GB), asked())
    eight = fit(cards("b300", 8), asked())

    assert alone.bytes.mla_cache == 32_768 * 27_648
    assert eight.bytes.mla_cache == 8 * 32_768 * 27_648
    assert alone.bytes.kda_state == eight.bytes.kda_state == 5 * 449_372_160


def test_workspace_is_a_stated_share_of_the_memory() -> None:
    found = fit(Devices("card", 1, 100 * GB), plain(50 * GB))

    assert found.bytes.workspace == WORKSPACE * 100 * GB
    assert "workspace_share" in found.traits


def test_what_the_weights_source_adds_stands_for_the_share() -> None:
    found = fit(Devices("card", 1, 100 * GB), plain(50 * GB, workspace_bytes=2 * GB))

    assert found.bytes.workspace == 2 * GB
    assert "workspace_stated" in found.traits


def test_padding_that_somebody_saw_counts() -> None:
    found = fit(cards("b300", 8), asked())

    assert found.bytes.weights + found.bytes.padding == 8 * 187 * 2**30
    assert "padding" in found.traits


def test_weights_that_grow_when_loaded_count_as_grown() -> None:
    question = plain(60 * GB, expansion=Fraction(2))

    found = fit(Devices("card", 1, 100 * GB), question)

    assert (found.verdict, found.bytes.weights) == ("no", 120 * GB)
    assert "expansion" in found.traits


def test_devices_that_do_not_compute_in_four_bits_unpack_them() -> None:
    assert "no_fp4" in fit(cards("h200", 16), asked()).traits
    assert "no_fp4" not in fit(cards("b300", 8), asked()).traits


def test_the_four_budgets_are_told_apart() -> None:
    found = fit(cards("b300", 8), asked())

    accelerator, cache = room(found, "accelerator"), room(found, "cache")
    assert accelerator.needed == found.bytes.resident
    assert cache.needed == found.bytes.mla_cache + found.bytes.kda_state
    assert cache.there == accelerator.there - accelerator.needed
    assert room(found, "disk").needed == 1_716 * GB
    assert not room(found, "disk").is_told
    assert room(found, "host_memory").needed == 0


def test_concurrency_falls_as_context_grows_until_four_requests_of_a_million_tokens() -> None:
    in_fp8 = Kept(13_824, per_request=449_372_160)

    most = [
        fit(cards("b300", 8), replace(asked(context=context), kept=in_fp8)).max_concurrency
        for context in (9_216, 32_768, 131_072, MILLION_TOKENS)
    ]

    # The facts count 60 GB free on each, 146, 81, 28 and 4; here 64.1 GB are left.
    assert most == [157, 87, 30, 4]


def test_weights_that_fit_without_room_for_the_cache_are_no_fit() -> None:
    found = fit(Devices("card", 1, 100 * GB), plain(91 * GB, context=1_000_000, concurrency=2))

    assert (found.verdict, found.because) == ("no", "no_room_for_cache")
    assert found.facts["free"] == GB


def test_a_context_beyond_the_model_is_refused() -> None:
    assert fit(cards("b300", 8), asked(context=MILLION_TOKENS + 1)).because == "context_beyond_model"


# Host memory, disk, and places for data.


def test_two_xeons_with_two_cards_write_three_tokens_a_second() -> None:
    found = fit(XEONS, asked())

    assert (found.verdict, found.because, found.speed) == ("quant_hybrid", "host_memory", "waits")
    assert found.ceiling_tps is not None
    assert float(found.ceiling_tps) == pytest.approx(3.0, abs=0.05)
    assert float(found.ceiling_tps / ATTAINABLE) == pytest.approx(4.63, abs=0.005)


def test_layers_that_accelerators_hold_are_not_read_from_host_memory() -> None:
    devices = Devices("card", 1, 100 * GB, host_bytes=500 * GB, host_bytes_per_second=100 * GB)

    experts, layers = fit(devices, plain(200 * GB)), fit(devices, plain(200 * GB, reads_all=True))

    assert experts.ceiling_tps == ATTAINABLE / 2
    assert layers.ceiling_tps == ATTAINABLE * 100 * GB / room(layers, "host_memory").needed


def test_a_refusal_says_nothing_of_copies() -> None:
    found = fit(Devices("card", 50, 30 * GB), plain(1370 * GB, layers=93))

    assert (found.verdict, found.because) == ("no", "whole_layers")
    assert not {"idle", "copies", "more_copies"} & set(found.traits)


def test_host_memory_counts_only_when_it_is_given() -> None:
    card = cards("rtx4090", 1)

    assert fit(card, asked("UD-IQ1_S")).verdict == "no"
    assert fit(replace(card, host_bytes=128 * GB), asked("UD-IQ1_S")).verdict == "no"
    assert fit(replace(card, host_bytes=768 * GB), asked("UD-IQ1_S")).verdict == "quant_hybrid"


def test_a_server_without_accelerators_holds_it_in_its_memory() -> None:
    found = fit(cards("epyc-ddr5-768", 1), asked("UD-IQ1_S"))

    assert (found.verdict, found.because, found.speed) == ("quant_hybrid", "cpu_memory", "reads along")
    assert room(found, "accelerator").there == 0
    assert room(found, "host_memory").needed == 610 * GB


def test_what_no_memory_holds_streams_from_a_disk_that_does() -> None:
    card = replace(cards("rtx6000-ada", 1), disk_bytes=2_000 * GB, disk_bytes_per_second=3 * GB)

    found = fit(card, asked())

    assert (found.verdict, found.speed) == ("disk_stream", "overnight")
    assert found.ceiling_tps is not None
    assert float(found.ceiling_tps / ATTAINABLE) == pytest.approx(0.054, abs=0.0005)
    assert fit(replace(card, disk_bytes=1_600 * GB), asked()).verdict == "no"


def test_a_nas_is_told_to_keep_the_data_however_large_its_disks() -> None:
    found = fit(replace(cards("nas", 1), host_bytes=32 * GB, disk_bytes=20_000 * GB), asked())

    assert (found.verdict, found.because) == ("no", "nas")


def test_so_is_a_machine_with_little_memory_and_no_accelerator_unless_the_model_is_small() -> None:
    little = Devices("server", 1, 32 * GB, kind="cpu", is_accelerator=False, disk_bytes=20_000 * GB)

    assert (fit(little, asked()).verdict, fit(little, asked()).because) == ("no", "little_memory")
    assert fit(little, plain(20 * GB)).verdict == "quant_hybrid"


def test_the_largest_mac_does_not_hold_the_one_bit_form() -> None:
    found = fit(cards("mac-studio-512", 1), asked("UD-IQ1_S"))

    assert (found.verdict, found.because) == ("no", "too_small")


def test_devices_without_known_memory_are_said_to_be_unknown() -> None:
    found = fit(cards("mi400", 8), asked())

    assert (found.verdict, found.because) == ("no", "unknown_memory")


def test_without_bandwidth_the_speed_is_unknown() -> None:
    found = fit(Devices("card", 8, 300 * GB), asked())

    assert found.verdict == "native_unverified"
    assert (found.speed, found.ceiling_tps) == ("unknown", None)


@pytest.mark.parametrize(
    ("bandwidth", "speed"), [(3000, "serves"), (500, "reads along"), (60, "waits"), (20, "overnight")]
)
def test_speed_classes_follow_the_ceiling(bandwidth: int, speed: str) -> None:
    devices = Devices("card", 1, 100 * GB, bandwidth * GB)

    assert fit(devices, plain(50 * GB)).speed == speed


@pytest.mark.parametrize(("gpu", "count"), [("b200", 16), ("b300", 8), ("h200", 16), ("h100", 32)])
def test_how_many_would_hold_it_is_what_the_recipes_name(gpu: str, count: int) -> None:
    assert least(cards(gpu, 1), asked()) == count


def test_where_no_number_holds_it_none_is_told() -> None:
    assert least(Devices("card", 1, GB), plain(10_000 * GB)) is None


# What holds for any machines.

sizes = st.integers(1, 400).map(lambda gigabytes: gigabytes * GB)
machines = st.builds(
    Devices,
    name=st.just("card"),
    count=st.integers(1, 33),
    bytes_each=sizes,
    bytes_per_second=st.none() | st.just(1000 * GB),
    host_bytes=st.integers(0, 2000).map(lambda gigabytes: gigabytes * GB),
    disk_bytes=st.integers(0, 4000).map(lambda gigabytes: gigabytes * GB),
    kind=st.sampled_from(["gpu", "unified", "cpu"]),
)
questions = st.builds(
    plain,
    st.integers(1, 3000).map(lambda gigabytes: gigabytes * GB),
    context=st.integers(1, 200_000),
    concurrency=st.integers(1, 64),
    kept=st.sampled_from([SMALL, K3_KEPT]),
)


@given(machines, questions)
def test_no_more_is_promised_than_there_is_memory_for(devices: Devices, question: Asked) -> None:
    found = fit(devices, question)
    assume(found.verdict not in ("no", "disk_stream"))

    for concurrency in (question.concurrency, found.max_concurrency):
        full = fit(devices, replace(question, concurrency=concurrency))
        each = cache_bytes(question.kept, question.context, full.division) + state_bytes(question.kept, full.division)
        memory = full.ranks * devices.bytes_each
        if full.verdict == "quant_hybrid":
            memory = devices.accelerator_bytes + devices.memory_bytes
        assert full.verdict == found.verdict
        assert full.bytes.resident + concurrency * each * full.ranks <= full.bytes.total + 2 <= memory + 2
    assert fit(devices, replace(question, concurrency=found.max_concurrency + 1)).verdict != found.verdict
    assert found.max_concurrency >= question.concurrency
    assert found.max_context >= question.context


@given(machines, questions)
def test_one_device_more_is_never_worse(devices: Devices, question: Asked) -> None:
    order = ("no", "disk_stream", "quant_hybrid", "quant_gpu", "native_unverified", "native_verified")

    fewer, more = fit(devices, question), fit(replace(devices, count=devices.count + 1), question)

    assert order.index(more.verdict) >= order.index(fewer.verdict)
    if more.verdict == fewer.verdict:
        assert more.max_concurrency >= fewer.max_concurrency
        assert more.max_context >= fewer.max_context


@given(machines, questions)
def test_the_longest_context_fits_and_one_token_more_does_not(devices: Devices, question: Asked) -> None:
    found = fit(devices, question)
    assume(found.verdict in ("native_unverified", "quant_gpu"))

    longest = fit(devices, replace(question, context=found.max_context))
    assert longest.verdict == found.verdict
    if found.max_context < question.max_context:
        longer = fit(devices, replace(question, context=found.max_context + 1))
        assert longer.verdict != found.verdict


@given(machines, questions, st.integers(0, 1000))
def test_more_host_memory_never_makes_it_worse(devices: Devices, question: Asked, gigabytes: int) -> None:
    order = ("no", "disk_stream", "quant_hybrid", "quant_gpu", "native_unverified", "native_verified")

    before = fit(devices, question).verdict
    after = fit(replace(devices, host_bytes=devices.host_bytes + gigabytes * GB), question).verdict

    assert order.index(after) >= order.index(before)


@given(machines, questions)
def test_budgets_are_never_negative_and_always_four(devices: Devices, question: Asked) -> None:
    found = fit(devices, question)

    assert [each.budget for each in found.rooms] == ["accelerator", "cache", "host_memory", "disk"]
    assert all(each.needed >= 0 and each.there >= 0 for each in found.rooms)
