"""What a model's licence means for the use that is intended; notes for reading it, no legal advice."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from gateway.catalog.models import Use
from gateway.owning.fits import reasons
from gateway.owning.fits.sentences import Sentence

if TYPE_CHECKING:
    from gateway.catalog.models import Model

_UNKNOWN = "not known"
"""What the catalog writes where nobody has named a licence."""
USES: tuple[Use, ...] = get_args(Use)


def notes(model: Model, use: Use) -> tuple[Sentence, ...]:
    """The licence's name, what it asks of that use, and what it does not say."""
    said = model.figures.get("licence", model.said)
    source = reasons.cited(said.source, said.as_of)
    if model.licence == _UNKNOWN:
        return (Sentence("licence.unknown", {"model": model.title}, source),)
    told = [Sentence("licence.name", {"model": model.title, "licence": model.licence, "use": f"@use.{use}"})]
    noted = dict(model.licence_notes).get(use)
    if noted is None:
        return (*told, Sentence("licence.nothing_noted", {"use": f"@use.{use}"}, source))
    return (*told, Sentence("licence.note", {"text": noted}, source))
