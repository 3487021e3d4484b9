"""Turns text into vectors with sentence-transformers, on the processor, offline."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import torch
from sentence_transformers import SentenceTransformer

from retrieval.weights import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Embedder:
    """A model from a folder; usable from several threads at once."""

    def __init__(self, folder: Path) -> None:
        self._model = SentenceTransformer(str(folder), device="cpu", local_files_only=True).eval()
        self._tokenizing = threading.Lock()  # the tokenizer is changed by each call and refuses a second one
        self.fingerprint = fingerprint(folder)
        self.dimension = len(self.query("?"))

    def query(self, text: str) -> list[float]:
        return self._encode([self._prompt("query") + text])[0]

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        prompt = self._prompt("document")
        return self._encode([prompt + text for text in texts])

    def count(self, text: str) -> int:
        """How many tokens the text has, those that open and close it left out."""
        with self._tokenizing:
            return len(self._model.tokenizer(text, add_special_tokens=False, truncation=False)["input_ids"])

    def _prompt(self, name: str) -> str:
        return self._model.prompts.get(name) or ""

    def _encode(self, texts: list[str]) -> list[list[float]]:
        with self._tokenizing:
            features = self._model.preprocess(texts)
        with torch.inference_mode():
            vectors = self._model(features)["sentence_embedding"]
            return torch.nn.functional.normalize(vectors, dim=1).tolist()
