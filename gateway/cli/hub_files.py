"""The GGUF files of a repository, and which of them is meant."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PART = re.compile(r"-(\d{5})-of-\d{5}(?=\.gguf\Z)", re.IGNORECASE)
_QUANTISATION = re.compile(r"(?:UD-)?(?:I?Q\d+_[A-Z0-9_]+|TQ\d_0|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32)", re.IGNORECASE)
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file, as the hub describes it."""

    name: str
    size: int
    sha256: str | None
    blob_id: str | None = None
    """Git's own checksum, which files have that are too small for large-file storage."""


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model in one quantisation: one file, or several that belong together."""

    name: str
    """That of its first file, with its folder."""
    files: tuple[HubFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def is_projector(self) -> bool:
        return PurePosixPath(self.name).name.lower().startswith("mmproj")

    @property
    def quantisation(self) -> str:
        """As its name says; empty if it does not."""
        found = _QUANTISATION.findall(_PART.sub("", PurePosixPath(self.name).name))
        return found[-1].upper() if found else ""


def models_of(files: Iterable[HubFile]) -> list[HubModel]:
    """The GGUF files, those together that are parts of one model; smallest first, projectors last.

    A name that could lead out of the folder it is put into is no file of ours.
    """
    groups: dict[str, list[HubFile]] = {}
    for file in sorted(files, key=lambda file: file.name):
        if file.name.lower().endswith(".gguf") and _is_plain(file.name):
            groups.setdefault(_PART.sub("", file.name), []).append(file)
    models = [HubModel(group[0].name, tuple(group)) for group in groups.values()]
    return sorted(models, key=lambda model: (model.is_projector, model.size))


def meant(models: Sequence[HubModel], wanted: str) -> list[HubModel]:
    """Those that are meant by a name, a pattern or a part of a name; without any, the only model there is."""
    if not wanted:
        alone = [model for model in models if not model.is_projector]
        return alone if len(alone) == 1 else []
    exact = [model for model in models if wanted in _names(model)]
    if exact:
        return exact
    pattern = (wanted if _WILD.search(wanted) else f"*{wanted}*").lower()
    found = [model for model in models if any(fnmatchcase(name.lower(), pattern) for name in _names(model))]
    # `Q4_K_M` is no word for the projector, nor for `UD-Q4_K_M` where there is one that is called just so.
    named = [model for model in found if model.quantisation == wanted.upper() and not model.is_projector]
    return named or [model for model in found if not model.is_projector] or found


def _names(model: HubModel) -> list[str]:
    return [name for file in model.files for name in (file.name, PurePosixPath(file.name).name)]


def _is_plain(name: str) -> bool:
    parts = name.split("/")
    return "\\" not in name and name.isprintable() and not any(part in ("", ".", "..") for part in parts)
