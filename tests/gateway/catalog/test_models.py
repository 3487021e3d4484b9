"""The models that come with Soleira: sizes, geometry and topologies, each with its source."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest

from gateway.catalog.hardware import gpus
from gateway.catalog.models import Model, find_model, models, read_models
from policies.load import PackError

K3_PARAMETERS = 2_779_931_837_184
NEWEST = date(2026, 12, 31)

SHEET = """\
sources:
  card: {source: A model card, as_of: 2026-10-01}
models:
  small:
    title: Small
    parameters: 1000
    active_parameters: 1000
    max_context: 4096
    open_weights: true
    licence: MIT
    layers: 2
    said: card
    cache:
      - {layers: 2, kind: gqa, values_per_token: 64, kv_heads: 2}
    quants:
      native: {format: safetensors, memory: 2 kB, said: card}
"""


def problem(sheet: str) -> str:
    with pytest.raises(PackError) as caught:
        read_models("models.yaml", sheet.encode())
    return str(caught.value)


def every_model() -> list[Model]:
    return list(models().values())


def test_the_models_that_are_asked_for_are_there() -> None:
    wanted = {
        "kimi-k3", "kimi-k3.1-pro", "kimi-k2", "kimi-k2.5", "kimi-k2.6", "qwen3-32b", "qwen3-235b", "llama-3.3-70b",
        "deepseek-r1", "glm-5.2",
    }  # fmt: skip

    assert wanted <= set(models())


@pytest.mark.parametrize(
    ("written", "name"),
    [("K3", "kimi-k3"), ("moonshotai/Kimi-K3", "kimi-k3"), ("llama-70b", "llama-3.3-70b"), ("GLM5.2", "glm-5.2")],
)
def test_a_model_is_found_by_its_other_names_in_any_case(written: str, name: str) -> None:
    assert find_model(written).name == name


def test_an_unknown_model_says_which_was_probably_meant() -> None:
    with pytest.raises(LookupError, match=r"'kimi-3' is not in the catalog; did you mean 'kimi-k3'\?"):
        find_model("kimi-3")


def test_a_model_that_is_like_none_says_which_there_are() -> None:
    with pytest.raises(LookupError, match=r"use one of kimi-k3, kimi-k3\.1-pro"):
        find_model("zzzzzz")


def test_an_unknown_form_says_which_was_probably_meant_as_its_makers_write_it() -> None:
    with pytest.raises(LookupError, match=r"did you mean 'UD-IQ1_S'\?"):
        find_model("kimi-k3").quant("ud-iq1s")


def test_kimi_k3_stores_what_its_parts_add_up_to() -> None:
    k3 = find_model("kimi-k3")

    native = k3.quant("native")

    assert k3.parameters == K3_PARAMETERS
    assert (native.file_bytes, native.files, native.memory_bytes) == (1_560 * 10**9, 96, 1_560 * 10**9)
    assert native.active_bytes(k3.active_parameters) == 55_250_000_000
    assert k3.quant("UD-IQ1_S").active_bytes(k3.active_parameters) == 22_217_000_000


@pytest.mark.parametrize(
    ("form", "file_gb", "memory_gb"),
    [
        ("UD-Q8_K_XL", 1561, 1600), ("UD-Q4_K_XL", 1509, 1509), ("UD-Q2_K_XL", 861, 880), ("UD-IQ2_XXS", 711, 726),
        ("UD-IQ1_M", 649, 665), ("UD-IQ1_S", 594, 610), ("FP8-BLOCK", 2820, 2820), ("NVFP4", 1610, 1650),
    ],
)  # fmt: skip
def test_every_form_of_kimi_k3_has_its_published_sizes(form: str, file_gb: int, memory_gb: int) -> None:
    quant = find_model("kimi-k3").quant(form)

    assert quant.file_bytes is not None
    assert (round(quant.file_bytes / 10**9), round(quant.memory_bytes / 10**9)) == (file_gb, memory_gb)


def test_what_a_source_adds_for_the_engine_is_told_apart_from_the_weights() -> None:
    quant = find_model("kimi-k3").quant("UD-IQ1_S")

    assert quant.weights_bytes == 594_040_923_616
    assert quant.overhead_bytes == 610 * 10**9 - 594_040_923_616
    assert find_model("kimi-k3").quant("native").overhead_bytes is None


def test_free_disk_is_what_the_source_asks_for_or_the_files_and_a_tenth() -> None:
    k3 = find_model("kimi-k3")

    assert k3.quant("UD-IQ1_S").free_disk_bytes == 650 * 10**9
    assert k3.quant("UD-Q2_K_XL").free_disk_bytes == 861_277_858_912 + 86_127_785_891


def test_kimi_k3_keeps_latents_in_24_layers_and_states_in_69() -> None:
    k3 = find_model("kimi-k3")

    assert [(some.layers, some.values_per_token) for some in k3.cache] == [(24, 576)]
    assert [(some.layers, some.state_values, some.convolution_values) for some in k3.state] == [
        (69, 1_572_864, 110_592)
    ]


def test_kimi_k2_keeps_70272_bytes_for_a_token() -> None:
    (layers,) = find_model("kimi-k2").cache

    assert layers.layers * layers.values_per_token * 2 == 70_272


def test_glm_keeps_an_index_beside_the_latents_of_every_fourth_layer() -> None:
    glm = find_model("glm-5.2")

    assert sum(some.layers for some in glm.cache) == 78
    assert {some.values_per_token for some in glm.cache} == {576}
    assert [(some.layers, some.index_values) for some in glm.cache] == [(57, None), (21, 128)]


@pytest.mark.parametrize("model", every_model(), ids=lambda model: model.name)
def test_bits_of_a_parameter_are_those_of_the_file(model: Model) -> None:
    stated = [(quant, quant.bits_per_parameter) for quant in model.quants if quant.bits_per_parameter is not None]

    for quant, bits in stated:
        size = quant.file_bytes or quant.memory_bytes
        assert Fraction(size * 8, model.parameters) / bits == pytest.approx(1, abs=0.01), quant.name


@pytest.mark.parametrize("model", every_model(), ids=lambda model: model.name)
def test_every_figure_has_a_source_and_a_day(model: Model) -> None:
    told = [model.said, *model.figures.values()]
    told += [said for quant in model.quants for said in (quant.said, *quant.figures.values())]
    told += [topology.said for topology in model.topologies]

    assert all(said.source and date(2020, 1, 1) <= said.as_of <= NEWEST for said in told)


@pytest.mark.parametrize("model", every_model(), ids=lambda model: model.name)
def test_topologies_name_accelerators_of_the_catalog_and_divide_the_model(model: Model) -> None:
    for topology in model.topologies:
        assert topology.gpu in gpus()
        assert model.heads is not None
        assert topology.tensor is None or model.heads % topology.tensor == 0


def test_native_kimi_k3_is_verified_on_8_b300_and_takes_16_b200() -> None:
    shapes = [shape for shape in find_model("kimi-k3").topologies if shape.quant == "native"]

    def least(gpu: str) -> int:
        return min(shape.gpus for shape in shapes if shape.gpu == gpu and shape.status != "unsupported")

    assert {shape.engine for shape in shapes if shape.gpu == "b300" and shape.status == "verified"} == {
        "vllm",
        "sglang",
    }
    assert [least(gpu) for gpu in ("b300", "gb300", "mi355x", "b200", "gb200", "h200", "h100")] == [
        8, 8, 8, 16, 16, 16, 32,
    ]  # fmt: skip


def test_what_vllm_holds_hopper_to_is_known() -> None:
    hopper = [s for s in find_model("kimi-k3").topologies if s.engine == "vllm" and s.gpu in ("h100", "h200")]

    held = {(shape.max_context, shape.max_concurrency) for shape in hopper if shape.status != "unsupported"}
    assert held == {(32_768, 5)}
    assert [shape.tensor for shape in hopper if shape.status == "unsupported"] == [32]


def test_kimi_k31_pro_is_an_api_until_its_weights_are_public() -> None:
    model = find_model("kimi-k3.1-pro")

    assert not model.is_open(date(2026, 10, 24))
    assert model.is_open(date(2026, 11, 4))


def test_licence_notes_are_about_known_uses() -> None:
    notes = dict(find_model("kimi-k3").licence_notes)

    assert set(notes) == {"internal", "product", "service"}
    assert "20 million dollars" in notes["service"]


def test_a_sheet_with_an_unknown_source_says_where_and_which_was_meant() -> None:
    broken = SHEET.replace("memory: 2 kB, said: card", "memory: 2 kB, said: crad")

    assert problem(broken) == (
        "models.yaml:16: models.small.quants.native.said: 'crad' is no key of `sources`; did you mean 'card'?"
    )


def test_a_sheet_with_an_unknown_key_says_which_was_meant() -> None:
    broken = SHEET.replace("    licence: MIT", "    license: MIT")

    assert "models.yaml:10: models.small.license: is unknown; did you mean 'licence'?" in problem(broken)


def test_a_source_of_a_figure_that_is_not_there_is_refused() -> None:
    named = SHEET.replace("said: card}\n", "said: card, figures: {files: card}}\n")

    assert problem(named) == "models.yaml:16: models.small.quants.native.figures.files: is no figure of this entry"


@pytest.mark.parametrize(
    ("written", "instead", "says"),
    [
        ("memory: 2 kB", "memory: 2000", "should be a size with its unit"),
        ("layers: 2, kind", "layers: 3, kind", "has 2 layers, and cache and state of 3"),
        (", kv_heads: 2", "", "kv_heads is written for gqa"),
        ("active_parameters: 1000", "active_parameters: 1001", "more active parameters than parameters"),
        ("memory: 2 kB", "memory: 2 kB, has_overhead: true", "has_overhead takes a file"),
        ("title: Small", "title: Small\n    aliases: [tiny, small]", "'small' is a name of 'small' already"),
    ],
)
def test_a_sheet_that_does_not_add_up_is_refused(written: str, instead: str, says: str) -> None:
    assert says in problem(SHEET.replace(written, instead))


def test_a_topology_of_no_form_is_refused() -> None:
    broken = SHEET + (
        "    topologies:\n"
        "      - {engine: vllm, quant: fp9, gpu: b300, gpus: 8, nodes: 1, status: stated, said: card}\n"
    )

    assert "has a topology of 'fp9', which is none of its quants" in problem(broken)


def test_what_engines_need_to_know_of_a_model_is_in_its_entry() -> None:
    k3, qwen = find_model("kimi-k3"), find_model("qwen3-32b")

    assert k3.needs_remote_code
    assert (k3.parsers["vllm"].tools, k3.parsers["sglang"].reasoning) == ("kimi_k3", "kimi_k3")
    assert not qwen.needs_remote_code
    assert (qwen.parsers["vllm"].tools, qwen.parsers["sglang"].tools) == ("hermes", "qwen25")


@pytest.mark.parametrize("model", every_model(), ids=lambda model: model.name)
def test_a_recipe_is_that_of_a_model_that_is_there_and_parsers_are_of_its_engines(model: Model) -> None:
    assert model.recipe is None or find_model(model.recipe).recipe == model.recipe
    assert set(model.parsers) == {"vllm", "sglang"}


def test_a_form_may_grow_when_it_is_loaded_and_never_shrinks() -> None:
    wider = SHEET.replace("memory: 2 kB,", "memory: 2 kB, expansion: 2,")

    assert read_models("models.yaml", wider.encode()).find("small").quant("native").expansion == 2
    assert "expansion" in problem(wider.replace("expansion: 2", "expansion: 0.5"))


def test_a_form_that_is_said_not_to_work_is_marked_with_who_says_so() -> None:
    doubtful = [quant for model in every_model() for quant in model.quants if quant.is_doubtful]

    assert [quant.name for quant in doubtful] == ["UD-Q1_0"]
    assert all(quant.notes for quant in doubtful)
