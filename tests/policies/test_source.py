"""Files are read as plain text values with lines, and hostile ones are refused quickly."""

from __future__ import annotations

import pytest

from policies.problems import PackError
from policies.source import MAX_BYTES, read_source


def refusal(data: bytes | str) -> str:
    with pytest.raises(PackError) as caught:
        read_source("rules.yaml", data.encode() if isinstance(data, str) else data)
    return str(caught.value)


def test_scalars_stay_the_text_that_was_written() -> None:
    source = read_source(
        "x.yaml", b"{price: 0.10, country: NO, on: yes, version: 1e3, date: 2026-01-01, none: ~, text: '~'}"
    )

    assert source.tree == {
        "price": "0.10",
        "country": "NO",
        "on": "yes",
        "version": "1e3",
        "date": "2026-01-01",
        "none": None,
        "text": "~",
    }


def test_every_path_knows_its_line() -> None:
    source = read_source("x.yaml", b"a:\n  - b: 1\n    c: 2\n")

    assert source.line(("a", 0, "c")) == 3
    assert source.line(("a", 0, "missing", "deeper")) == 2
    assert str(source.problem(("a", 0, "c"), "is wrong")) == "x.yaml:3: a[0].c: is wrong"


def test_an_empty_file_has_no_value() -> None:
    assert read_source("x.yaml", b"# only words\n").tree is None


def test_an_anchor_may_be_used_again() -> None:
    assert read_source("x.yaml", b"a: &one {x: 1}\nb: *one\n").tree == {"a": {"x": "1"}, "b": {"x": "1"}}


def test_a_utf_8_mark_is_not_part_of_the_text() -> None:
    assert read_source("x.yaml", b"\xef\xbb\xbfa: 1").tree == {"a": "1"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a: 1\na: 2\n", "rules.yaml:2: the key 'a' is written twice"),
        ('{"a": {"b": 1, "b": 2}}', "the key 'b' is written twice"),
        ("a: !!python/object/apply:os.system [x]", "tags ('!...') are not read"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("a: [1\nb: 2", "is not valid YAML"),
        ("a: *b", "'*b' names no anchor"),
        ("a: &a [*a]", "'*a' names no anchor"),
        ("? [a]\n: 1", "a key that is no text"),
        ("[" * 40 + "]" * 40, "nested more than 32 deep"),
        (b"a: 1\nb: \xff\n", "rules.yaml:2: is not UTF-8 text"),
        ("a: \x00", "a character that YAML does not allow"),
        ('{"a": "\\ud83c"}', "half of a surrogate pair"),
        ("#" * (MAX_BYTES + 1), "is larger than"),
    ],
)
def test_what_is_no_plain_document_is_refused(data: bytes | str, message: str) -> None:
    assert message in refusal(data)


def test_aliases_of_aliases_do_not_blow_up() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 12)]

    assert "holds more than 20000 values" in refusal("\n".join(lines))


def test_a_chain_of_aliases_is_no_way_round_the_depth() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 2000))]

    assert "nested more than 32 deep" in refusal("\n".join(lines))
