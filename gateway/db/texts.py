"""Texts as every database takes them: PostgreSQL refuses NUL, and no database keeps lone surrogates."""

from __future__ import annotations

import re

_UNKEPT = re.compile("[\x00\ud800-\udfff]")


def kept(text: str) -> str:
    """The text with U+FFFD in place of what cannot be kept."""
    return _UNKEPT.sub("\ufffd", text)
