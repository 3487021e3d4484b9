"""Identifiers are found in all their writings, and what only looks like one is not."""

from __future__ import annotations

import time

import pytest

from policies.detectors import Finding, Findings, find, raised
from policies.detectors.search import MAX_CANDIDATES, suspected_kinds
from policies.labels import INTERNAL, PUBLIC, SECRET, Label, Level


def found(text: str) -> list[tuple[str, str, str]]:
    return [(hit.kind, text[hit.start : hit.end], hit.score) for hit in find(text).hits]


def counted(text: str) -> set[str]:
    return set(find(text).kinds)


@pytest.mark.parametrize(
    ("text", "kind", "span", "score"),
    [
        ("meu CPF é 529.982.247-25.", "cpf", "529.982.247-25", "high"),
        ("cpf:52998224725", "cpf", "52998224725", "high"),
        ("CPF52998224725", "cpf", "52998224725", "high"),
        ("arquivo_52998224725_final", "cpf", "52998224725", "medium"),
        ("Segue o número 52998224725", "cpf", "52998224725", "medium"),
        ("529 982 247 25", "cpf", "529 982 247 25", "medium"),
        ("529.982.247/25", "cpf", "529.982.247/25", "medium"),
        ("CNPJ 11.222.333/0001-81", "cnpj", "11.222.333/0001-81", "high"),
        ("11222333000181", "cnpj", "11222333000181", "medium"),
        ("fornecedor 12.ABC.345/01DE-35", "cnpj", "12.ABC.345/01DE-35", "high"),
        ("cnpj 12abc34501de35", "cnpj", "12abc34501de35", "high"),
        ("12ABC34501DE35", "cnpj", "12ABC34501DE35", "medium"),
        ("12abc34501de35", "cnpj", "12abc34501de35", "low"),
        ("CEP 01310-100", "cep", "01310-100", "high"),
        ("Av. Paulista, 1000, 01310-100 São Paulo", "cep", "01310-100", "high"),
        ("cep: 01310100", "cep", "01310100", "medium"),
        ("peça 01310-100", "cep", "01310-100", "low"),
        ("(11) 98765-4321", "phone", "(11) 98765-4321", "high"),
        ("+55 11 98765-4321", "phone", "+55 11 98765-4321", "high"),
        ("+5511987654321", "phone", "+5511987654321", "high"),
        ("55 11 3456-7890", "phone", "55 11 3456-7890", "medium"),
        ("011 98765-4321", "phone", "011 98765-4321", "medium"),
        ("meu celular 11987654321", "phone", "11987654321", "medium"),
        ("ligue 98765-4321", "phone", "98765-4321", "medium"),
        ("telefone: 3456-7890", "phone", "3456-7890", "medium"),
        ("tel. (21) 3456-7890", "phone", "(21) 3456-7890", "high"),
        ("+44 20 7946 0958", "phone", "+44 20 7946 0958", "medium"),
        ("call +44 20 7946 0958", "phone", "+44 20 7946 0958", "high"),
        ("(415) 555-2671", "phone", "(415) 555-2671", "medium"),
        ("phone 0490 75 40 81", "phone", "0490 75 40 81", "medium"),
        ("joao.silva+x@exemplo.com.br", "email", "joao.silva+x@exemplo.com.br", "high"),
        ("<joão@exemplo.com>", "email", "joão@exemplo.com", "high"),
        ("4111 1111 1111 1111", "card", "4111 1111 1111 1111", "high"),
        ("4111111111111111", "card", "4111111111111111", "medium"),
        ("cartão 4111111111111111", "card", "4111111111111111", "high"),
        ("3782 822463 10005", "card", "3782 822463 10005", "high"),
        ("5067 0000 0000 0025", "card", "5067 0000 0000 0025", "high"),
        ("GB82 WEST 1234 5698 7654 32", "iban", "GB82 WEST 1234 5698 7654 32", "high"),
        ("gb82west12345698765432", "iban", "gb82west12345698765432", "medium"),
        ("conta BR1800360305000010009795493C1", "iban", "BR1800360305000010009795493C1", "high"),
        ("key=sk-proj-Ab3dEf6hIj9lMn2pQr5t", "secret_key", "sk-proj-Ab3dEf6hIj9lMn2pQr5t", "high"),
        ("ghp_" + "a1B2" * 9, "secret_key", "ghp_" + "a1B2" * 9, "high"),
        ("AKIAIOSFODNN7EXAMPLE", "secret_key", "AKIAIOSFODNN7EXAMPLE", "high"),
        ("AIza" + "Sy0-_" * 7, "secret_key", "AIza" + "Sy0-_" * 7, "high"),
        ("xoxb-1234567890-abcdef", "secret_key", "xoxb-1234567890-abcdef", "high"),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "secret_key", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "high"),
    ],
)
def test_an_identifier_is_found_with_its_span_and_score(text: str, kind: str, span: str, score: str) -> None:
    assert found(text) == [(kind, span, score)]


def test_a_private_key_is_found_to_its_end() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nAbc+/=\n-----END RSA PRIVATE KEY-----"

    assert found(f"here:\n{key}\nthanks") == [("secret_key", key, "high")]


@pytest.mark.parametrize(
    "text",
    [
        "111.111.111-11, 000.000.000-00 e 99999999999",
        "529.982.247-26",
        "pedido 12345678901",
        "11.222.333/0001-82",
        "00.000.000/0000-00",
        "12.ABC.345/01DE-36",
        "4111 1111 1111 1112",
        "1234 5678 9012 3452",
        "0000 0000 0000 0000",
        "GB82 WEST 1234 5698 7654 33",
        "ZZ82 WEST 1234 5698 7654 32",
        "30/11/2026 às 18:47, 2026-11-30T18:47:00.123456Z",
        "ISBN 978-0-306-40615-7 e 0-306-40615-2",
        "550e8400-e29b-41d4-a716-446655440000",
        "55008400-e29b-4194-8716-446655440000, contato no rodapé",
        "versão 10.15.7, 1.22.333-44, v2026.11.30",
        "processo 0001234-52.2020.8.26.0100",
        "192.168.100.125 e 218.191.135.58",
        "R$ 11.987.654.321,00 e US$ 4,111,111.11",
        "+12.345.678 e +55 mil",
        "anos 1990-2000, pp. 2345-2399",
        "contato no relatório 2019-2020",
        "11 2019-2020",
        "01310100",
        "11987654321",
        "98765-4321",
        "EAN 7891000315507, IMEI 356938035643809",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "1700000000000 1700000000",
        "-23.550520, -46.633308",
        "logo@2x.png, pkg@1.2.3, @pytest.mark, a@b",
        "git@github.com:owner/name.git",
        "sk-loading-spinner-circle-big",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "task-1234567890abcdefghijklmnop",
        "-----BEGIN PUBLIC KEY-----",
        "0800 722 0101",
        "12345678-11222333000181, 529.982.247.25, 1-52998224725",
        "+12 34567 e +1234567 89012345678, score +12345678",
        "nota 12-12ABC34501DE35",
        "123\t456\t789\t01\n529\t982\t247\t25",
    ],
)
def test_what_only_looks_like_an_identifier_is_none(text: str) -> None:
    assert counted(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "５２９.９８２.２４７-２５",
        "٥٢٩٩٨٢٢٤٧٢٥",
        "529\u200b982\u200d247\u00ad25",
        "529\ufe0f98224725",
        "529.982.247\u201125",
        "529.982.247–25",
        "𝟓𝟐𝟗𝟗𝟖𝟐𝟐𝟒𝟕𝟐𝟓",
        "529\u00a0982\u00a0247\u00a025",
    ],
)
def test_other_digits_and_invisible_characters_hide_nothing(text: str) -> None:
    before = "Ação … ﬁm: "

    assert [(kind, span) for kind, span, _ in found(before + text)] == [("cpf", text)]


def test_an_address_with_a_wide_at_sign_is_found() -> None:
    assert found("“joao＠exemplo．com”") == [("email", "joao＠exemplo．com", "high")]


def test_half_a_surrogate_pair_breaks_nothing() -> None:
    assert counted("\ud83c CPF 529.982.247-25") == {"cpf"}


@pytest.mark.parametrize("lead", ["12 ", "123 ", "1234 ", "2026 4 ", "5555 "])
def test_numbers_in_front_do_not_hide_the_one_behind(lead: str) -> None:
    assert ("cpf", "52998224725") in [hit[:2] for hit in found(f"{lead}52998224725")]
    assert ("card", "4111 1111 1111 1111") in [hit[:2] for hit in found(f"{lead}4111 1111 1111 1111")]


def test_neighbours_are_all_found() -> None:
    text = "529.982.247-25 111.444.777-35;GB82 WEST 1234 5698 7654 32 DE89 3704 0044 0532 0130 00,a@b.co,c@d.co"

    assert [hit[0] for hit in found(text)] == ["cpf", "cpf", "iban", "iban", "email", "email"]


def test_of_overlapping_findings_the_surest_and_longest_stays() -> None:
    assert found("11987654321@exemplo.com") == [("email", "11987654321@exemplo.com", "high")]


def test_a_mobile_number_that_happens_to_pass_as_a_cpf_is_what_it_is_said_to_be() -> None:
    assert [hit[0] for hit in found("telefone 21999637216")] == ["phone"]
    assert [hit[0] for hit in found("documento 21999637216")] == ["cpf"]


def test_an_order_number_that_happens_to_pass_as_a_card_does_not_count() -> None:
    assert found("pedido 4111111111111111") == [("card", "4111111111111111", "low")]


DETECTORS = {"cpf": Label.of(Level.PRIVATE, "family"), "email": INTERNAL, "secret_key": SECRET}


def test_findings_raise_to_the_join_of_what_the_pack_says() -> None:
    assert raised(find("529.982.247-25, a@b.co"), DETECTORS) == Label.of(Level.PRIVATE, "family")
    assert raised(find("a@b.co"), DETECTORS) == INTERNAL


def test_a_low_score_and_a_kind_that_is_not_listed_raise_nothing() -> None:
    low = Findings((Finding("cpf", 0, 11, "low"),))

    assert raised(low, DETECTORS) == PUBLIC
    assert raised(find("cartão 4111 1111 1111 1111"), DETECTORS) == PUBLIC


def test_hits_are_capped_and_what_was_not_looked_at_raises_all_the_same() -> None:
    findings = find("a@b.co " * 300 + "CPF 529.982.247-25 e CEP 01310-100", limit=200)

    assert len(findings.hits) == 200
    assert findings.truncated
    assert findings.kinds == {"cpf", "email", "cep"} | findings.suspected
    assert "email" in findings.suspected
    assert raised(findings, DETECTORS) == Label.of(Level.PRIVATE, "family")


def test_a_text_with_exactly_as_many_hits_as_allowed_is_whole() -> None:
    findings = find("a@b.co " * 200, limit=200)

    assert (len(findings.hits), findings.truncated, findings.suspected) == (200, False, frozenset())


def test_a_flood_of_candidates_is_suspected_not_searched() -> None:
    findings = find("52998224724 " * (MAX_CANDIDATES + 1000))

    assert findings.truncated
    assert "cpf" in findings.suspected


class Exhausted:
    """A set of patterns without memory to search in: it matches nothing, its witness included."""

    def Match(self, text: bytes) -> list[int]:  # noqa: N802 - named by re2
        return []


def test_a_set_that_runs_out_of_memory_suspects_every_kind() -> None:
    assert suspected_kinds(Exhausted(), ["one", "two"], b"text") == ["one", "two"]


@pytest.mark.parametrize(
    "text",
    [
        "1" * 500_000,
        "1 2 3 4 " * 60_000,
        "a@" * 250_000,
        "a@b.png " * 60_000,
        "GB82 WEST 12 34 DE89 " * 25_000,
        "+55 (11) 9" * 50_000,
        "eyJ" * 160_000,
        "-----BEGIN PRIVATE KEY-----" * 18_000,
        "1\u200b" * 250_000,
        "a" * 500_000 + "@",
        "529.982.247-2" * 38_000,
    ],
)
def test_time_stays_linear_on_hostile_text(text: str) -> None:
    started = time.process_time()

    find(text)

    assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("https://oauth2:glpat-aB3dE5fG7hI9jK1lM3nO@host.example/x", {"secret_key", "email"}),
        ("529.982.247-25@gmail.com", {"cpf", "email"}),
        ("4111111111111111@visa.com", {"card", "email"}),
        ("cartão 4111.1111.1111.1111", {"card"}),
    ],
)
def test_what_overlaps_counts_as_both(text: str, kinds: set[str]) -> None:
    assert find(text).kinds == kinds
