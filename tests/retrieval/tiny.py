"""Embedding models of one small layer with random weights: whole folders, as sentence-transformers reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

if TYPE_CHECKING:
    from pathlib import Path

_WORDS = ("[PAD]", "[UNK]", *"the rent of cottage is due on fifth one dog allowed when lease pets ? .".split())
_POSITIONS = 64


def make_model(folder: Path, hidden: int) -> Path:
    """A BERT with vectors of so many numbers, different for each size."""
    (folder / "1_Pooling").mkdir(parents=True)
    save_file(_tensors(hidden), folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(_WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in _configurations(hidden).items():
        (folder / name).write_text(json.dumps(content))
    return folder


def _tensors(hidden: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(hidden)
    shapes = {
        "embeddings.word_embeddings.weight": (len(_WORDS), hidden),
        "embeddings.position_embeddings.weight": (_POSITIONS, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
        "encoder.layer.0.intermediate.dense.weight": (2 * hidden, hidden),
        "encoder.layer.0.intermediate.dense.bias": (2 * hidden,),
        "encoder.layer.0.output.dense.weight": (hidden, 2 * hidden),
        "encoder.layer.0.output.dense.bias": (hidden,),
    }
    for part in ("self.query", "self.key", "self.value", "output.dense"):
        shapes[f"encoder.layer.0.attention.{part}.weight"] = (hidden, hidden)
        shapes[f"encoder.layer.0.attention.{part}.bias"] = (hidden,)
    for part in ("embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"):
        shapes[f"{part}.LayerNorm.weight"] = (hidden,)
        shapes[f"{part}.LayerNorm.bias"] = (hidden,)
    return {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def _configurations(hidden: int) -> dict[str, object]:
    module = "sentence_transformers.models."
    return {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": hidden,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 2 * hidden,
            "vocab_size": len(_WORDS),
            "max_position_embeddings": _POSITIONS,
            "pad_token_id": 0,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": _POSITIONS,
            "pad_token": "[PAD]",
            "unk_token": "[UNK]",
        },
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": module + "Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": module + "Pooling"},
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": hidden, "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": _POSITIONS, "do_lower_case": False},
    }
