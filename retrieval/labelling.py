"""Labels documents and their chunks, as the pack says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from policies.detectors import find, raised
from policies.labels import Label, Level
from policies.load import load_pack

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from policies.load import Pack

UNLABELLED = Label.of(Level.PRIVATE)
_FLOOR = Label()


@dataclass(frozen=True, slots=True)
class Labelling:
    """What of a pack concerns documents: the labels of collections, and what each kind of finding raises to."""

    collections: Mapping[str, Label]
    detectors: Mapping[str, Label]

    @classmethod
    def of_pack(cls, pack: Pack) -> Labelling:
        collections = {name: spec.label for name, spec in pack.collections.items() if spec.label is not None}
        return cls(collections, dict(pack.detectors))

    def document(self, collection: str, declared: Label | None) -> Label:
        """What a document starts from: its own label joined with its collection's; private if neither is given."""
        own = declared or self.collections.get(collection) or UNLABELLED
        return own | self.collections.get(collection, _FLOOR)

    def text(self, text: str, document: Label) -> Label:
        """A passage's label: its document's, raised by what is found in it."""
        return document | raised(find(text), self.detectors)

    def now(self, collection: str, stored: Label) -> Label:
        """A stored label under the present pack: a collection that was raised since raises all it holds."""
        return stored | self.collections.get(collection, _FLOOR)

    def __str__(self) -> str:
        """The same for labellings that label alike."""
        return repr([sorted((name, str(label)) for name, label in self.detectors.items())])


class PackLabelling:
    """The labelling of the pack in a folder, as it was when last read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.current = Labelling.of_pack(load_pack(folder))

    def reload(self) -> None:
        """Read the pack again; a bad one raises and leaves the old labelling."""
        self.current = Labelling.of_pack(load_pack(self._folder))
