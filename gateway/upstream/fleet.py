"""What is known now of the deployments, from their failures, their queues here, and the last look at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.catalog.deployments import Deployment
    from gateway.catalog.observed import Observed
    from gateway.upstream.cooldown import Cooldown
    from gateway.upstream.queue import Queues


@dataclass(frozen=True, slots=True)
class Fleet:
    """The deployments as routing sees them."""

    cooldown: Cooldown
    queues: Queues
    observed: Observed

    def is_up(self, deployment: Deployment) -> bool:
        """False while it rests after failures, or did not answer when it was last looked at."""
        seen = self.observed.of(deployment.name)
        return self.cooldown.state(deployment.name) != "open" and (seen is None or seen.up)

    def waiting(self, deployment: Deployment) -> int:
        """Requests that wait for it: in the queue here, and in its own when it was last looked at."""
        seen = self.observed.of(deployment.name)
        _, here = self.queues.load(deployment.name)
        return here + ((seen.waiting or 0) if seen is not None else 0)

    def context(self, deployment: Deployment) -> int | None:
        """The tokens it takes, as far as anybody said."""
        return self.observed.context(deployment)

    def is_blind(self, deployment: Deployment) -> bool:
        """True if it said itself that it sees no pictures: llama-server without a projector passes over them."""
        seen = self.observed.of(deployment.name)
        return seen is not None and seen.vision is False
