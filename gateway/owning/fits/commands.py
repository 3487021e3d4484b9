"""The lines that fetch a model and start an engine on it, with their known traps; none of them is run by Soleira."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gateway.catalog.models import find_model
from gateway.owning.fits.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gateway.catalog.models import Model, Quant
    from gateway.economics.fit import Verdict

    _OnNode = Callable[["Plan", int], list[str]]

Engine = Literal["vllm", "sglang", "llama_server"]
CacheType = Literal["fp8", "bf16"]

PORTS: dict[Engine, int] = {"vllm": 8000, "sglang": 30000, "llama_server": 8080}
NVIDIA_DRIVER = 580
"""The least driver for CUDA 13."""
_PARTLY = frozenset({"quant_hybrid", "disk_stream"})
"""Where accelerators hold a part of the weights at most."""
_COMMIT = "COMMIT"
"""Stands where the commit has to be put in."""
_HEAD = "HEAD_ADDRESS"
_RECIPE = "vLLM recipe for Kimi K3, 21 August 2026"
_COOKBOOK = "SGLang cookbook for Kimi K3"
_K3 = "kimi-k3"
"""The recipe that this module writes; models name theirs in the catalog."""
_HOPPER_CONTEXT, _HOPPER_REQUESTS = 32_768, 5
_FP8_ATTENTION = json.dumps({"mla_prefill_backend": "FLASHINFER", "use_prefill_query_quantization": True})
_SHARED_ATTENTION = json.dumps({"mla_prefill_backend": "TRTLLM_RAGGED", "use_prefill_query_quantization": True})
"""What the recipe sets where ranks share the tokens of the cache (DCP)."""
_ROCM_COMPILATION = json.dumps({"cudagraph_mode": "FULL_DECODE_ONLY", "custom_ops": ["+fused_rms_norm_gated"]})
_FABRICS = frozenset({"gb200", "gb300"})
"""Whose trays are joined by one fabric."""


@dataclass(frozen=True, slots=True)
class Line:
    """Something to paste into a shell, and what to know before."""

    text: str
    traps: tuple[Sentence, ...] = ()
    is_pinned: bool = True
    """False if a commit has still to be put in."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How an engine is to hold a model."""

    engine: Engine
    model: Model
    quant: Quant
    verdict: Verdict
    gpu: str
    """The short name, or the owner's own."""
    architecture: str
    vendor: str
    gpus: int
    """Of one copy, as all that follows."""
    nodes: int
    tensor: int
    pipeline: int
    groups: int
    """Data-parallel groups, one on each node; 1: ranks and stages go over all nodes."""
    context: int
    concurrency: int
    cache: CacheType
    context_ranks: int = 1
    copies: int = 1
    """How many such engines the requests take."""
    is_accelerated: bool = True
    """False where a processor alone runs it."""
    layers_held: int = 0
    """Whole layers that accelerators hold beside caches and workspace, where they hold a part alone."""

    @property
    def folder(self) -> str:
        """Where the download goes."""
        return folder(self.model, self.quant)

    @property
    def is_k3(self) -> bool:
        return is_k3(self.model)

    @property
    def is_image(self) -> bool:
        """True where it runs in a container image of the model's own."""
        return self.engine == "vllm" and self.is_k3 and self.quant.format == "safetensors"

    @property
    def needs_remote_code(self) -> bool:
        return self.engine != "llama_server" and self.model.needs_remote_code


def is_k3(model: Model) -> bool:
    """True for a model that engines run by the recipe of Kimi K3."""
    return model.recipe == _K3


def reads(engine: Engine, quant: Quant) -> bool:
    """True if the engine reads files of that form."""
    return (engine == "llama_server") == (quant.format == "gguf")


def folder(model: Model, quant: Quant) -> str:
    return model.name if quant.name == "native" else f"{model.name}-{quant.name}"


def cache_type(engine: Engine, model: Model, architecture: str) -> CacheType:
    """What an engine's recipe keeps the attention cache in: FP8 for K3 with vLLM on Blackwell, else 16 bits."""
    return "fp8" if engine == "vllm" and is_k3(model) and architecture == "blackwell" else "bf16"


def refuses_fp8(engine: Engine, model: Model, architecture: str) -> bool:
    """True where an FP8 cache ends the engine whatever is set."""
    return engine == "vllm" and is_k3(model) and architecture == "hopper"


def download(model: Model, quant: Quant) -> Line | None:
    """The line that fetches one form at one commit; None where no public repository holds it."""
    repository = quant.repository
    if repository is None or not model.open_weights:
        return None
    words = ["hf", "download", repository, "--revision", quant.revision or _COMMIT]
    if quant.pattern:
        words += ["--include", quant.pattern]
    words += ["--local-dir", f"./{folder(model, quant)}"]
    traps = [Sentence("trap.resume")]
    if quant.revision is None:
        address = f"https://huggingface.co/{repository}/commits/main"
        traps.insert(0, Sentence("trap.no_revision", {"address": address, "commit": _COMMIT}))
    return Line(shlex.join(words), tuple(traps), quant.revision is not None)


def start(plan: Plan) -> Line:
    """The line that starts the engine, on loopback, with what goes wrong otherwise."""
    builders = {"vllm": _vllm, "sglang": _sglang, "llama_server": _llama}
    return builders[plan.engine](plan)


def _vllm(plan: Plan) -> Line:
    served = ["--served-model-name", plan.model.name]
    options = [*served, *_vllm_options(plan)]
    if plan.is_image:
        lines = [*_container(plan), *_pairs(options)]
    else:
        lines = [f"vllm serve ./{plan.folder}", f"--host 127.0.0.1 --port {PORTS['vllm']}", *_pairs(options)]
    return Line(_on_nodes(plan, lines, _vllm_nodes), tuple(_vllm_traps(plan)))


def _vllm_options(plan: Plan) -> Iterator[str]:
    if plan.needs_remote_code:
        yield "--trust-remote-code"
    yield from ("--tensor-parallel-size", str(plan.tensor if plan.groups == 1 else plan.gpus // plan.groups))
    if plan.pipeline > 1 and plan.groups == 1:
        yield from ("--pipeline-parallel-size", str(plan.pipeline))
    if plan.context_ranks > 1:
        yield from ("--decode-context-parallel-size", str(plan.context_ranks))
    is_hopper = plan.is_k3 and plan.architecture == "hopper"
    length = min(plan.context, _HOPPER_CONTEXT) if is_hopper else plan.context
    requests = min(plan.concurrency, _HOPPER_REQUESTS) if is_hopper else plan.concurrency
    yield from ("--max-model-len", str(length), "--max-num-seqs", str(requests))
    if plan.is_k3:
        yield from _k3_options(plan)
    else:
        yield from ("--gpu-memory-utilization", "0.90", "--enable-prefix-caching")
        if plan.cache == "fp8":
            yield from ("--kv-cache-dtype", "fp8")
    yield from _parsers(plan, "--enable-auto-tool-choice")


def _k3_options(plan: Plan) -> Iterator[str]:
    """As the recipe has them, which leaves the kernels of the experts to vLLM but on Hopper."""
    yield from ("--load-format", "auto" if plan.vendor == "AMD" else "fastsafetensors")
    yield from ("--gpu-memory-utilization", _memory_share(plan))
    is_shared = plan.context_ranks > 1
    if plan.cache == "fp8":
        yield from ("--kv-cache-dtype", "fp8", "--attention-config", _SHARED_ATTENTION if is_shared else _FP8_ATTENTION)
    if plan.architecture == "hopper":
        yield from ("--moe-backend", "marlin", "--disable-custom-all-reduce", "--no-enable-flashinfer-autotune")
        yield from ("--max-num-batched-tokens", "4096", "--attention-backend", "FLASHMLA")
        return
    yield "--enable-prefix-caching"
    if is_shared:
        yield from ("--dcp-comm-backend", "a2a", "--attention-backend", "TOKENSPEED_MLA")
    if plan.architecture == "blackwell":
        yield "--no-enable-flashinfer-autotune"
        yield from (("--max-num-batched-tokens", "8192") if _has_stages(plan) else ())
    if plan.vendor == "AMD":
        yield from ("--mm-encoder-tp-mode", "data", "--max-num-batched-tokens", "4096")
        yield from ("--compilation-config", _ROCM_COMPILATION)


def _has_stages(plan: Plan) -> bool:
    return plan.pipeline > 1 and plan.groups == 1


def _memory_share(plan: Plan) -> str:
    if plan.architecture == "hopper":
        return "0.97"
    return "0.90" if _has_stages(plan) else "0.95"


def _container(plan: Plan) -> list[str]:
    """K3 needs an image of its own: the engine's plain release does not know the model."""
    network = "--network host" if plan.nodes > 1 else f"-p 127.0.0.1:{PORTS['vllm']}:{PORTS['vllm']}"
    if plan.vendor == "AMD":
        devices = "--device /dev/kfd --device /dev/dri --group-add video --security-opt seccomp=unconfined"
        image = "vllm/vllm-openai-rocm:kimi-k3"
    else:
        devices, image = "--gpus all", "vllm/vllm-openai:kimi-k3"
    listening = [f"--host 127.0.0.1 --port {PORTS['vllm']}"] if plan.nodes > 1 else []
    return [
        f"docker run --rm {devices} --ipc=host",
        network,
        f'-v "$PWD/{plan.folder}:/model:ro"',
        "-e HF_HUB_OFFLINE=1 -e VLLM_ENGINE_READY_TIMEOUT_S=3600",
        *_surroundings(plan),
        f"{image} /model",
        *listening,
    ]


def _surroundings(plan: Plan) -> Iterator[str]:
    """What the recipe sets in the environment of the container."""
    if plan.vendor == "AMD":
        yield "-e VLLM_ROCM_USE_AITER=1 -e VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4=1 -e AITER_BF16_FP8_MOE_BOUND=0"
        yield "-e SAFETENSORS_FAST_GPU=1 -e VLLM_USE_BREAKABLE_CUDAGRAPH=0"
    if plan.architecture == "hopper":
        yield "-e PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    if plan.gpu in _FABRICS and plan.nodes > 1:
        yield "-e NCCL_MNNVL_ENABLE=1 -e NCCL_CUMEM_ENABLE=1 -e NCCL_NVLS_ENABLE=1"
    elif _has_stages(plan):
        yield "-e NCCL_CUMEM_ENABLE=1"
    if _has_stages(plan):
        yield "-e VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=1800"


def _vllm_nodes(plan: Plan, rank: int) -> list[str]:
    silent = ["--headless"] if rank else []
    if plan.groups > 1:
        first = [f"--data-parallel-start-rank {rank}"] if rank else []
        groups = f"--data-parallel-size {plan.groups} --data-parallel-size-local 1"
        return [f"{groups} --data-parallel-address {_HEAD}", *first, *silent]
    return [f"--nnodes {plan.nodes} --node-rank {rank} --master-addr {_HEAD}", *silent]


def _vllm_traps(plan: Plan) -> Iterator[Sentence]:
    if plan.is_image and plan.vendor == "NVIDIA":
        yield Sentence("trap.cuda13", {"driver": f"r{NVIDIA_DRIVER}"}, _RECIPE)
    if plan.is_k3:
        yield from _k3_cache_traps(plan)
    if plan.is_k3 and plan.architecture == "hopper":
        facts = {"requests": _HOPPER_REQUESTS, "length_tokens": _HOPPER_CONTEXT}
        yield Sentence("trap.hopper_limits", facts, _RECIPE)
        yield Sentence("trap.h200_out_of_memory", {}, "vLLM recipes issue 698")
    if plan.is_k3 and plan.groups > 1:
        yield Sentence("trap.groups", {"groups": plan.groups}, _RECIPE)
    if plan.is_k3 and _has_stages(plan):
        yield Sentence("trap.pipeline_memory", {}, _RECIPE)
    if plan.is_k3:
        yield Sentence("trap.padding", {}, "vLLM issue 51124")
        yield Sentence("trap.slow_start", {}, _RECIPE)
    yield from _common_traps(plan)


def _k3_cache_traps(plan: Plan) -> Iterator[Sentence]:
    if plan.architecture == "hopper":
        yield Sentence("trap.fp8_hopper", {}, "vLLM issue 51313, 6 August 2026")
        return
    if plan.cache == "fp8":
        yield Sentence(
            "trap.fp8_attention", {}, "vLLM post of 27 July 2026; vLLM issue 50056; recipes pull request 701"
        )
    yield Sentence("trap.prefix_off", {}, "vLLM post of 27 July 2026")


def _sglang(plan: Plan) -> Line:
    options = [
        "--served-model-name", plan.model.name,
        "--host", "127.0.0.1", "--port", str(PORTS["sglang"]),
        "--tp-size", str(plan.tensor),
        *(["--pp-size", str(plan.pipeline)] if plan.pipeline > 1 else []),
        *(["--dcp-size", str(plan.context_ranks)] if plan.context_ranks > 1 else []),
        "--context-length", str(plan.context),
        "--max-running-requests", str(plan.concurrency),
        "--mem-fraction-static", "0.85",
        *(["--kv-cache-dtype", "fp8_e4m3"] if plan.cache == "fp8" else []),
        *(["--trust-remote-code"] if plan.needs_remote_code else []),
        *_parsers(plan),
    ]  # fmt: skip
    fabric = "NCCL_MNNVL_ENABLE=1 NCCL_CUMEM_ENABLE=1 " if plan.gpu in _FABRICS and plan.nodes > 1 else ""
    lines = [f"{fabric}HF_HUB_OFFLINE=1 python3 -m sglang.launch_server --model-path ./{plan.folder}", *_pairs(options)]
    return Line(_on_nodes(plan, lines, _sglang_nodes), tuple(_sglang_traps(plan)))


def _sglang_nodes(plan: Plan, rank: int) -> list[str]:
    return [f"--nnodes {plan.nodes} --node-rank {rank} --dist-init-addr {_HEAD}:20000"]


def _sglang_traps(plan: Plan) -> Iterator[Sentence]:
    if plan.is_k3:
        yield Sentence("trap.sglang_pools", {}, _COOKBOOK)
        yield Sentence("trap.drafts", {}, "InferenceX script for 8 × B300")
        if plan.quant.name.upper().startswith("NVFP4"):
            yield Sentence("trap.sglang_nvfp4", {}, _COOKBOOK)
        yield Sentence("trap.padding", {}, "vLLM issue 51124")
    yield from _common_traps(plan)


def _llama(plan: Plan) -> Line:
    options = [
        "--alias", plan.model.name,
        "--host", "127.0.0.1", "--port", str(PORTS["llama_server"]),
        "--ctx-size", str(plan.context * plan.concurrency),
        "--parallel", str(plan.concurrency),
        *_llama_places(plan),
        *(["--temp", "1.0", "--top-p", "0.95"] if plan.is_k3 else []),
    ]  # fmt: skip
    found = f"--model \"$(find ./{plan.folder} -name '*.gguf' ! -name 'mmproj*' | sort | head -1)\""
    return Line(_joined(["llama-server", found, *_pairs(options)]), tuple(_llama_traps(plan)))


def _llama_places(plan: Plan) -> list[str]:
    if not plan.is_accelerated:
        return ["--n-gpu-layers", "0"]
    if plan.verdict in _PARTLY and plan.model.experts:
        return ["--n-gpu-layers", "99", "--override-tensor", r"\.ffn_.*_exps\.=CPU"]
    if plan.verdict in _PARTLY:
        return ["--n-gpu-layers", str(plan.layers_held)]
    return ["--n-gpu-layers", "99"]


def _llama_traps(plan: Plan) -> Iterator[Sentence]:
    yield Sentence("trap.context_shared", {"context_tokens": plan.context, "requests": plan.concurrency})
    yield Sentence("trap.llama_memory")
    if plan.is_k3:
        yield Sentence("trap.gguf_vision", {}, "llama.cpp pull request 26185; unslothai fork, pull request 48")
    if plan.is_accelerated and plan.verdict in _PARTLY:
        yield Sentence("trap.experts_in_memory" if plan.model.experts else "trap.layers_in_memory")
    if plan.nodes > 1 or (plan.gpus > 1 and plan.architecture == "apple"):
        yield Sentence("trap.llama_rpc", {"count": plan.gpus}, "llama.cpp, tools/rpc")
    if plan.verdict == "disk_stream":
        yield Sentence("trap.disk_reads")
    yield from _common_traps(plan)


def _common_traps(plan: Plan) -> Iterator[Sentence]:
    if plan.copies > 1:
        yield Sentence("trap.copies", {"copies": plan.copies, "ranks": plan.gpus})
    if plan.model.recipe not in (None, plan.model.name) and plan.engine != "llama_server":
        yield Sentence("trap.other_recipe", {"model": plan.model.title, "other": find_model(plan.model.recipe).title})
    if plan.needs_remote_code:
        yield Sentence("trap.remote_code")
    if plan.is_k3:
        yield Sentence("trap.thinking", {}, "Kimi K3 model card")
    yield Sentence("trap.loopback", {"port": str(PORTS[plan.engine])})


def _parsers(plan: Plan, *with_tools: str) -> list[str]:
    """What the engine reads tool calls and reasoning with."""
    parsers = plan.model.parsers.get(plan.engine)
    tools, reasoning = (parsers.tools, parsers.reasoning) if parsers else (None, None)
    return [
        *(["--tool-call-parser", tools, *with_tools] if tools else []),
        *(["--reasoning-parser", reasoning] if reasoning else []),
    ]


def _pairs(words: Sequence[str]) -> list[str]:
    """One option a line, with its value."""
    lines: list[str] = []
    for word in words:
        if word.startswith("--") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {shlex.quote(word)}"
    return lines


def _on_nodes(plan: Plan, lines: list[str], more: _OnNode) -> str:
    """The command of each node, one after the other."""
    if plan.nodes == 1:
        return _joined(lines)
    return "\n\n".join(f"# {_node(rank)}\n{_joined([*lines, *more(plan, rank)])}" for rank in range(plan.nodes))


def _node(rank: int) -> str:
    return f"node {rank}, whose address is {_HEAD}" if rank == 0 else f"node {rank}"


def _joined(lines: Sequence[str]) -> str:
    return " \\\n  ".join(lines)
