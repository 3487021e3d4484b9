"""The bundled weights become the model they were made from."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from retrieval import weights
from retrieval.weights import WeightsError


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return weights.ensure(tmp_path_factory.mktemp("models"))


def test_blocks_of_four_bits_are_unpacked_low_nibbles_first() -> None:
    block = np.concatenate([np.frombuffer(np.float16(0.5).tobytes(), np.uint8), np.arange(16, dtype=np.uint8) * 16 + 9])

    values = weights.unpack(block[None, :].astype(np.uint8))[0]

    assert values[:16].tolist() == [0.5] * 16
    assert values[16:].tolist() == [(number - 8) / 2 for number in range(16)]


def test_the_model_is_whole(model: Path) -> None:
    tensors = load_file(model / "model.safetensors")
    configuration = json.loads((model / "config.json").read_text())

    assert len(tensors) == 5 + 12 * 16
    assert tensors["embeddings.word_embeddings.weight"].shape == (configuration["vocab_size"], 384)
    assert all(np.isfinite(tensor).all() for tensor in tensors.values())


def test_words_become_the_pieces_the_model_was_taught(model: Path) -> None:
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))

    encoded = tokenizer.encode("query: O aluguel vence no dia 8")

    assert encoded.tokens == [
        "<s>",
        "▁que",
        "ry",
        ":",
        "▁O",
        "▁a",
        "lugu",
        "el",
        "▁v",
        "ence",
        "▁no",
        "▁dia",
        "▁8",
        "</s>",
    ]
    assert tokenizer.encode("a   b\n\nc").tokens == ["<s>", "▁a", "▁b", "▁c", "</s>"]


def test_a_damaged_model_is_made_again(model: Path) -> None:
    tensors = model / "model.safetensors"
    whole = hashlib.sha256(tensors.read_bytes()).hexdigest()
    tensors.write_bytes(tensors.read_bytes()[:1000])

    assert weights.ensure(model.parent) == model
    assert hashlib.sha256(tensors.read_bytes()).hexdigest() == whole
    assert [path.name for path in model.parent.iterdir()] == [weights.NAME]


def test_other_weights_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "weights.bin"
    source.write_bytes(b"E5S1" + bytes(1000))

    with pytest.raises(WeightsError, match="not the file this version was made for"):
        weights.convert(source, tmp_path / "model")

    assert not (tmp_path / "model").exists()
