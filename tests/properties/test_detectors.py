"""What detectors promise of every text: what was generated is found wherever it stands, and positions are right."""

from __future__ import annotations

from string import ascii_uppercase, digits

from hypothesis import example, given
from hypothesis import strategies as st

from policies.detectors import find
from policies.detectors.checksums import is_cnpj, is_cpf, passes_luhn
from policies.detectors.folding import fold


def check_digits(head: str, count: int, valid: str) -> str:
    """Complete an identifier by trying all endings: no formula is shared with the code under test."""
    check = {"cpf": is_cpf, "cnpj": is_cnpj, "card": passes_luhn}[valid]
    return next(head + f"{end:0{count}d}" for end in range(10**count) if check(head + f"{end:0{count}d}"))


cpfs = (
    st.text(digits, min_size=9, max_size=9)
    .filter(lambda head: len(set(head)) > 1)
    .map(lambda head: check_digits(head, 2, "cpf"))
)
cnpjs = (
    st.text(digits + ascii_uppercase, min_size=12, max_size=12)
    .filter(lambda head: len(set(head)) > 1)
    .map(lambda head: check_digits(head, 2, "cnpj"))
)
cards = st.text(digits, min_size=14, max_size=14).map(lambda tail: check_digits("4" + tail, 1, "card"))
words = st.text(st.characters(categories=["L", "Zs", "Po"], exclude_characters="-./:_'&@%"), max_size=30).map(
    lambda text: text + " "
)


def cpf_written(number: str) -> str:
    return f"{number[:3]}.{number[3:6]}.{number[6:9]}-{number[9:]}"


def cnpj_written(number: str) -> str:
    return f"{number[:2]}.{number[2:5]}.{number[5:8]}/{number[8:12]}-{number[12:]}"


@given(words, cpfs, words)
def test_a_written_cpf_is_found_whatever_stands_around_it(before: str, number: str, after: str) -> None:
    written = cpf_written(number)

    hits = [hit for hit in find(f"{before}{written} {after}").hits if hit.kind == "cpf"]

    assert [(hit.start, hit.end, hit.score) for hit in hits] == [(len(before), len(before) + len(written), "high")]


@given(cpfs)
def test_nine_digits_have_one_pair_of_check_digits(number: str) -> None:
    assert [end for end in range(100) if is_cpf(f"{number[:9]}{end:02d}")] == [int(number[9:])]


def tenfold(values: list[int], weights: range | list[int]) -> int:
    """The other common wording of modulo 11: ten times the sum, modulo 11, a ten counting as 0."""
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) * 10 % 11 % 10


@given(cpfs)
def test_cpf_check_digits_agree_with_their_other_wording(number: str) -> None:
    values = [int(digit) for digit in number]

    assert values[9] == tenfold(values[:9], range(10, 1, -1))
    assert values[10] == tenfold(values[:10], range(11, 1, -1))


@given(cnpjs)
def test_cnpj_check_digits_agree_with_their_other_wording(number: str) -> None:
    values = [ord(character) - 48 for character in number]

    assert values[12] == tenfold(values[:12], [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])
    assert values[13] == tenfold(values[:13], [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2])


@given(words, cnpjs, words)
def test_a_written_cnpj_of_letters_and_digits_is_found(before: str, number: str, after: str) -> None:
    written = cnpj_written(number)

    spans = [(hit.start, hit.end) for hit in find(f"{before}{written} {after}").hits if hit.kind == "cnpj"]

    assert (len(before), len(before) + len(written)) in spans


@given(cards, st.sampled_from(["", " ", "-"]))
def test_a_card_is_found_in_groups_or_not(number: str, between: str) -> None:
    written = between.join(number[start : start + 4] for start in range(0, 16, 4))

    hits = find(f"cartão {written}").hits

    assert [(hit.kind, hit.start, hit.end) for hit in hits] == [("card", 7, 7 + len(written))]


@given(cpfs, st.data())
def test_invisible_characters_and_other_digits_hide_no_cpf(number: str, data: st.DataObject) -> None:
    zeros = data.draw(st.sampled_from(["0", "٠", "०", "０", "𝟎"]))
    invisible = data.draw(st.lists(st.sampled_from(["", "\u200b", "\u00ad", "\ufe0f"]), min_size=11, max_size=11))
    written = "".join(chr(ord(zeros) + int(digit)) + hidden for digit, hidden in zip(number, invisible, strict=True))

    hits = find(f"½ é {written} fim").hits

    # What is invisible behind the last digit is no part of the finding.
    assert [(hit.kind, hit.start, hit.end) for hit in hits] == [("cpf", 4, 4 + len(written) - len(invisible[-1]))]


@given(st.text())
@example("½½\u200b٣ﬁx")
def test_every_folded_character_knows_where_it_came_from(text: str) -> None:
    folded = fold(text)

    for position in range(len(folded.text)):
        start, end = folded.original(position, position + 1)
        assert 0 <= start < end <= len(text)
        assert folded.text[position] in fold(text[start:end]).text


@given(st.text())
@example("52998224725 4111111111111111 a@b.co (11) 98765-4321 ½ CEP 01310-100")
def test_findings_are_ordered_disjoint_and_inside_the_text(text: str) -> None:
    hits = find(text).hits

    edges = [edge for hit in hits for edge in (hit.start, hit.end)]
    assert edges == sorted(edges)
    assert all(0 <= hit.start < hit.end <= len(text) for hit in hits)


@given(
    st.lists(st.sampled_from(["52998224725", "a@b.co", "x", "CEP 01310-100", "4111 1111 1111 1111"])), st.integers(0, 5)
)
def test_a_smaller_limit_never_raises_less(parts: list[str], limit: int) -> None:
    text = "; ".join(parts)

    assert find(text, limit=limit).kinds >= find(text).kinds
