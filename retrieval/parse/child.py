"""The process that parses one file: content on standard input, blocks or a refusal on standard output.

It limits itself before it looks at the content: memory, processor time, no files written. It opens no file by name.
"""

from __future__ import annotations

import resource
import sys

import msgspec

from retrieval.parse import html, markdown, pdf, text
from retrieval.parse.blocks import Accepted, Parsed, ParseError, Refused

PARSERS = {
    ".txt": text.parse,
    ".md": markdown.parse,
    ".markdown": markdown.parse,
    ".html": html.parse,
    ".htm": html.parse,
    ".pdf": pdf.parse,
}
_MEBIBYTE = 1024 * 1024


def main(suffix: str, memory_mib: int, cpu_seconds: int) -> None:
    limit(memory_mib, cpu_seconds)
    sys.stdout.buffer.write(msgspec.msgpack.encode(_outcome(suffix)))


def limit(memory_mib: int, cpu_seconds: int) -> None:
    for kind, most in (
        (resource.RLIMIT_AS, memory_mib * _MEBIBYTE),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def _outcome(suffix: str) -> Accepted | Refused:
    try:
        return Accepted(_parse(suffix, sys.stdin.buffer.read()))
    except ParseError as error:
        return Refused(error.reason, error.words)
    except MemoryError:
        return Refused("out_of_memory", "reading it took more memory than a file may")


def _parse(suffix: str, content: bytes) -> Parsed:
    if not content.strip():
        raise ParseError("empty", "the file is empty")
    parsed = PARSERS[suffix](content)
    if not any(block.text.strip() for block in parsed.blocks):
        raise ParseError("empty", "the file holds no text")
    return parsed


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
