"""Says what failed and where, without the message: a message may quote a document."""

from __future__ import annotations

import traceback
from pathlib import Path


def describe(error: BaseException) -> dict[str, str]:
    """Fields for a log event; of a group its first error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    where = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-3:]]
    return {"error": type(error).__name__, "at": " > ".join(where)}
