"""Whether the GGUF files that a pack names are there, whole, and what it takes them for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from policies import gguf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policies.schema import Gguf

_PART = re.compile(r"-(\d{5})-of-(\d{5})(?=\.gguf\Z)")


def file_of(path: str, models: Path) -> Path:
    """Where a file named in a pack lies: below the folder of models, unless its path begins at the root or `~`."""
    return models / Path(path).expanduser()


def parts_of(path: Path) -> list[Path]:
    """All files of a model, of which the first (`…-00001-of-00003.gguf`) is given; that one alone if it is whole."""
    found = _PART.search(path.name)
    if found is None:
        return [path]
    count = int(found[2])
    return [path.with_name(_PART.sub(f"-{number:05}-of-{found[2]}", path.name)) for number in range(1, count + 1)]


def weights_faults(entry: Gguf, models: Path) -> Iterator[tuple[str, str]]:
    """What is wrong with the files of one entry: the key under `gguf`, and the words."""
    yield from (("path", words) for words in _model_faults(file_of(entry.path, models), entry.context))
    if entry.mmproj is not None:
        yield from (("mmproj", words) for words in _projector_faults(file_of(entry.mmproj, models)))


def _model_faults(path: Path, context: int) -> Iterator[str]:
    header = _read(path)
    if isinstance(header, str):
        yield header
    elif header.is_projector:
        yield f"{path} is a projector, which belongs under `mmproj`"
    elif header.part:
        yield f"{path} is part {header.part + 1} of {header.parts}: name the first one"
    elif header.context is not None and context > header.context:
        yield f"{path} was trained for {header.context} tokens: `context` may not be more"
    else:
        yield from (words for part in parts_of(path)[1:] if isinstance(words := _read(part), str))


def _projector_faults(path: Path) -> Iterator[str]:
    header = _read(path)
    if isinstance(header, str):
        yield header
    elif not header.is_projector:
        yield f"{path} is no projector"


def _read(path: Path) -> gguf.Header | str:
    try:
        return gguf.read(path)
    except FileNotFoundError:
        return f"{path} is not there"
    except OSError as error:
        return f"{path} cannot be read ({error.strerror})"
    except gguf.NotWholeError as error:
        return f"{path} {error}"
