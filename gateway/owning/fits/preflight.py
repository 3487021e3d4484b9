"""What to look at before an engine is started for the first time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gateway.owning.fits.commands import NVIDIA_DRIVER
from gateway.owning.fits.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateway.owning.fits.commands import Plan
    from gateway.owning.fits.places import Place

State = Literal["fine", "wrong", "look"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at; `look`: nobody has, yet."""

    state: State
    told: Sentence


def checks(plan: Plan, place: Place) -> tuple[Check, ...]:
    """In the order in which people do them."""
    return tuple(_checks(plan, place))


def _checks(plan: Plan, place: Place) -> Iterator[Check]:
    yield from _disk(plan, place)
    if plan.vendor == "NVIDIA" and plan.is_image:
        yield _driver(place)
    if plan.vendor == "AMD" and plan.is_accelerated:
        yield Check("look", Sentence("preflight.driver_amd", {"count": plan.gpus}))
    if plan.vendor == "NVIDIA" and plan.tensor > 1 and place.gpu is not None and place.gpu.link is not None:
        yield _links(place)
    if plan.nodes > 1:
        yield Check("look", Sentence("preflight.network"))
    yield Check("look", Sentence("preflight.revision"))
    if plan.quant.files and plan.quant.file_bytes:
        facts = {"files": plan.quant.files, "file_bytes": plan.quant.file_bytes}
        yield Check("look", Sentence("preflight.parts", facts))
    yield Check("look", Sentence("preflight.build", {"model": plan.model.title}))
    yield Check("look", Sentence("preflight.small"))
    yield Check("look", Sentence("preflight.measure"))


def _disk(plan: Plan, place: Place) -> Iterator[Check]:
    needed, there = plan.quant.free_disk_bytes, place.devices.disk_bytes
    if needed is None:
        return
    if not there:
        yield Check("look", Sentence("preflight.disk", {"disk_bytes": needed}))
        return
    facts = {"disk_bytes": needed, "there_bytes": there}
    yield Check("fine" if there >= needed else "wrong", Sentence("preflight.disk_there", facts))


def _driver(place: Place) -> Check:
    needed = f"r{NVIDIA_DRIVER}"
    driver = place.here.driver if place.here else None
    major = driver.partition(".")[0] if driver else ""
    if not driver or not major.isdecimal():
        return Check("look", Sentence("preflight.driver", {"needed": needed}))
    state: State = "fine" if int(major) >= NVIDIA_DRIVER else "wrong"
    return Check(state, Sentence("preflight.driver_there", {"driver": driver, "needed": needed}))


def _links(place: Place) -> Check:
    joined = place.here.has_links if place.here else None
    if joined is None:
        return Check("look", Sentence("preflight.links"))
    return Check("fine", Sentence("preflight.links_yes")) if joined else Check("wrong", Sentence("preflight.links_no"))
