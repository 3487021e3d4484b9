"""Where the house's own engines listen, one for each GGUF file that a pack has it run."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

    from gateway.settings import Settings
    from policies.pack import Pack
    from policies.schema import DeploymentSpec


@dataclass(frozen=True, slots=True)
class Engines:
    """The folder of GGUF files, and the one of the sockets."""

    models: Path
    run_dir: Path

    @classmethod
    def of(cls, settings: Settings) -> Self:
        return cls(settings.models, settings.run_dir)

    def socket(self, spec: DeploymentSpec) -> Path:
        """A name that changes with the entry, so that no engine answers for an entry it was not started with."""
        content = f"{spec.name}\n{spec.upstream_model}\n{spec.gguf and spec.gguf.model_dump_json()}"
        return self.run_dir / f"gguf-{sha256(content.encode()).hexdigest()[:8]}.sock"


def own_specs(pack: Pack) -> tuple[DeploymentSpec, ...]:
    """The deployments that the house itself runs."""
    return tuple(spec for spec in pack.deployments if spec.gguf is not None)
