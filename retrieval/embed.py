"""Turns text into vectors with sentence-transformers, on the processor, offline."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import torch
from sentence_transformers import SentenceTransformer

from retrieval.verbatim import TextTooLong, Verbatim
from retrieval.weights import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_MOST_CHARACTERS = 64
"""Of one token that the model reads. No vocabulary has longer pieces; what is longer is not tokenized to be refused."""


class Embedder:
    """A model from a folder; usable from several threads at once."""

    def __init__(self, folder: Path) -> None:
        self._model = SentenceTransformer(str(folder), device="cpu", local_files_only=True).eval()
        self._tokenizing = threading.Lock()  # the tokenizer is changed by each call and refuses a second one
        self._prompts = tuple(prompt for prompt in self._model.prompts.values() if prompt)
        self.fingerprint = fingerprint(folder)
        self.dimension = len(self.query("?"))

    def query(self, text: str) -> list[float]:
        """The vector of a question. A longer text than the model reads is cut, unless it is Verbatim."""
        return self._encode([self._prompted("query", text)])[0]

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of passages of documents; the same holds for their length."""
        return self._encode([self._prompted("document", text) for text in texts])

    def count(self, text: str) -> int:
        """How many tokens the text has, those that open and close it left out."""
        with self._tokenizing:
            return len(self._model.tokenizer(text, add_special_tokens=False, truncation=False)["input_ids"])

    def _prompted(self, name: str, text: str) -> str:
        prompt = self._model.prompts.get(name) or ""
        if not isinstance(text, Verbatim):
            return prompt + text
        prompted = str(text) if text.startswith(self._prompts) else prompt + text
        self._check(prompted)
        return prompted

    def _check(self, prompted: str) -> None:
        """TextTooLong if the model would not read it all."""
        limit = self._model.get_max_seq_length()
        if limit is None:
            return
        limit -= self._model.tokenizer.num_special_tokens_to_add()
        tokens = self.count(prompted[: _MOST_CHARACTERS * limit])
        if tokens > limit or len(prompted) > _MOST_CHARACTERS * limit:
            raise TextTooLong(max(tokens, limit + 1), limit)

    def _encode(self, texts: list[str]) -> list[list[float]]:
        with self._tokenizing:
            features = self._model.preprocess(texts)
        with torch.inference_mode():
            vectors = self._model(features)["sentence_embedding"]
            return torch.nn.functional.normalize(vectors, dim=1).tolist()
