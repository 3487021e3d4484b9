"""How accelerators are joined, as far as it decides what a model needs between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.owning.fits.sentences import Sentence

if TYPE_CHECKING:
    from gateway.catalog.hardware import Gpu
    from gateway.owning.fits.places import Place

_CARDS_A_NODE, _CARDS_A_TRAY = 8, 4


def cards_per_node(gpu: Gpu | None) -> int:
    """How many one machine holds: eight, or the four of a tray whose fabric joins many."""
    if gpu is not None and gpu.domain is not None and gpu.domain > _CARDS_A_NODE:
        return _CARDS_A_TRAY
    return _CARDS_A_NODE


def links(place: Place, nodes: int) -> tuple[Sentence, ...]:
    """What has to join them: within a machine, and between machines."""
    gpu, count = place.gpu, place.devices.count
    if place.kind == "unified":
        return (Sentence("link.unified"), *((Sentence("link.computers", {"count": count}),) if count > 1 else ()))
    if not place.devices.is_accelerator:
        return (Sentence("link.memory_channels"),)
    if count == 1:
        return (Sentence("link.single"),)
    if gpu is None or not gpu.is_known:
        return (Sentence("link.unknown", {"count": count, "gpu": place.title}), *_between(nodes, joined=False))
    if gpu.link is None:
        return (Sentence("link.pcie", {"count": min(count, _CARDS_A_NODE)}), *_between(nodes, joined=False))
    if gpu.domain is not None and gpu.domain > _CARDS_A_NODE:
        return (Sentence("link.mnnvl", {"link": gpu.link, "domain": gpu.domain}), *_between(nodes, joined=True))
    code = "link.fabric" if gpu.vendor == "AMD" else "link.nvlink"
    return (Sentence(code, {"count": min(count, _CARDS_A_NODE), "link": gpu.link}), *_between(nodes, joined=False))


def _between(nodes: int, *, joined: bool) -> tuple[Sentence, ...]:
    """Between machines, unless one fabric joins their cards anyway."""
    return (Sentence("link.rdma", {"nodes": nodes}),) if nodes > 1 and not joined else ()
