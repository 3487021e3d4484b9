"""A small pack to write into a temporary folder and change file by file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from policies.load import Pack, PackError, Problem, load_pack

RULES = """\
default_label: internal
zones:
  device: {clearance: secret, addresses: loopback}
  lan: {clearance: private+family, addresses: private}
  hosted: {clearance: internal, addresses: public}
detectors: {cpf: private, email: internal}
rules:
  - name: at home
    when: {label: {at_least: private}}
    route: {zones: [device, lan]}
  - name: anywhere
    route: {at_least: 3, prefer: best}
"""
PRICE = (
    "price: {currency: USD, per_million: {input: 3.00, cached: 0.30, output: 15.00}, source: list, as_of: 2026-10-24}"
)
DEPLOYMENTS = f"""\
deployments:
  - name: hosted-k3
    model: kimi-k3
    engine: moonshot
    base_url: https://api.example.com/v1
    zone: hosted
    {PRICE}
  - name: our-small
    model: small
    aliases: [tiny]
    engine: ollama
    base_url: http://127.0.0.1:11434/v1
    zone: device
    {PRICE}
"""

Load = Callable[..., Pack]
Refused = Callable[..., list[Problem]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load a pack of the given files; `rules` and `deployments` have defaults, None leaves a file out."""

    def write_and_load(**files: str | bytes | None) -> Pack:
        for name, content in {"rules": RULES, "deployments": DEPLOYMENTS, **files}.items():
            if content is not None:
                data = content if isinstance(content, bytes) else content.encode()
                (tmp_path / f"{name}.yaml").write_bytes(data)
        return load_pack(tmp_path)

    return write_and_load


@pytest.fixture
def refused(load: Load) -> Refused:
    """The problems for which a pack of the given files is refused."""

    def load_in_vain(**files: str | bytes | None) -> list[Problem]:
        with pytest.raises(PackError) as caught:
            load(**files)
        return caught.value.problems

    return load_in_vain
