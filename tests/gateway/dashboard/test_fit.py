"""The page "Does it fit?" over HTTP: the same answer as the command's, all of the question in its address."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest
from starlette.datastructures import QueryParams

from gateway.catalog.hardware import gpus
from gateway.catalog.models import models
from gateway.dashboard.fit import view
from gateway.db import keys
from gateway.db.keys import KeySpec
from gateway.errors import BadRequest
from tests.gateway.dashboard.site import Visitor, visitor
from tests.gateway.test_cli import read

if TYPE_CHECKING:
    from tests.gateway.house import House


async def page(owner: Visitor, query: str = "", **headers: str) -> str:
    answer = await owner.get(f"/dashboard/fit{query}", **headers)
    assert answer.status == 200, answer.text
    return html.unescape(answer.text)


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("?gpu=b300&count=8", ("--gpu", "b300", "--count", "8")),
        ("?gpu=b200&count=8", ("--gpu", "b200", "--count", "8")),
        (
            "?gpu=rtx4090&count=2&quant=UD-IQ1_S&host_memory=768GB&host_bandwidth=460GB/s&disk=2TB",
            ("--gpu", "rtx4090", "--count", "2", "--quant", "UD-IQ1_S", "--host-memory", "768GB",
             "--host-bandwidth", "460GB/s", "--disk", "2TB"),
        ),
        (
            "?gpu=h200&count=8&model=deepseek-r1&context=65536&concurrency=4",
            ("--gpu", "h200", "--count", "8", "--model", "deepseek-r1", "--context", "65536", "--concurrency", "4"),
        ),
    ],
)  # fmt: skip
async def test_the_page_s_figures_are_the_command_s(owner: Visitor, query: str, arguments: tuple[str, ...]) -> None:
    shown, command = await page(owner, query), read("fit", *arguments)

    assert re.search(r'data-verdict="(\w+)"', shown)[1] == command["verdict"]  # type: ignore[index]
    rooms = re.findall(r'data-budget="(\w+)" data-needed="(\d+)" data-there="(\d+)"', shown)
    assert [(name, int(needed), int(there)) for name, needed, there in rooms] == [
        (room["budget"], room["needed"], room["there"]) for room in command["rooms"] if room["needed"] or room["there"]
    ]
    parts = [int(count) for count in re.findall(r'<td><data value="(\d+)">', shown)]
    assert sorted(parts) == sorted(count for count in command["bytes_on_devices"].values() if count)
    if command["verdict"] != "no":
        assert f'id="max-context" value="{command["max_context"]}"' in shown
        assert f'id="max-concurrency" value="{command["max_concurrency"]}"' in shown
        assert command["start"]["command"] in shown
        assert command["download"]["command"] in shown


async def test_without_a_question_this_machine_is_answered_for(owner: Visitor) -> None:
    shown = await page(owner)

    assert 'value="here" selected' in shown
    assert "data-verdict=" in shown
    assert 'data-budget="disk"' in shown


async def test_what_would_hold_it_leads_to_the_page_where_it_does(owner: Visitor) -> None:
    refused = await page(owner, "?gpu=b200&count=8&context=65536")
    more = re.search(r'<li data-kind="more"><a class="quietly" href="/dashboard/fit(\?[^"]+)"', refused)

    assert more
    assert 'data-verdict="native_verified"' in await page(owner, more[1])
    assert "context=65536" in more[1]
    assert 'href="/dashboard/owning"' in refused


async def test_both_languages_say_all_of_it(owner: Visitor) -> None:
    portuguese = await page(owner, "?gpu=b200&count=8&lang=pt")

    assert ">Não.<" in portuguese
    assert "Ativo não é armazenado" in portuguese
    assert "1.560\u00a0GB" in portuguese
    assert "Sem condições, enquanto" in portuguese
    assert "Memória do computador" in portuguese
    assert "--host-memory" not in portuguese.partition('id="notes"')[2].partition("</section>")[0]


async def test_a_mistake_is_told_over_the_form_that_it_was_made_in(owner: Visitor) -> None:
    answer = await owner.get("/dashboard/fit?gpu=b300&count=8&context=many&host_memory=512GB")

    shown = html.unescape(answer.text)
    assert answer.status == 400
    assert "context='many' is no count" in shown
    assert 'value="512GB"' in shown
    assert 'role="alert"' in shown


@pytest.mark.parametrize(
    ("query", "english", "portuguese"),
    [
        ("count=none", "How many: a whole number from 1.", "Quantas: um número inteiro a partir de 1."),
        ("disk=much", "Free disk: a size with its unit", "Disco livre: um tamanho com a unidade"),
        ("engine=vlm", "Engine: one of the list.", "Motor: um da lista."),
        ("quant=UD-NONE", "Form: one of the list.", "Forma: um da lista."),
        ("gpu=mi400", "give the memory and the bandwidth", "dê abaixo a memória e a banda"),
    ],
)
async def test_what_is_to_be_mended_is_said_in_the_reader_s_language(
    owner: Visitor, query: str, english: str, portuguese: str
) -> None:
    for language, sentence in (("en", english), ("pt", portuguese)):
        answer = await owner.get(f"/dashboard/fit?{query if 'gpu' in query else f'gpu=b300&{query}'}&lang={language}")
        assert answer.status == 400
        assert sentence in html.unescape(answer.text)
        assert '<details class="own" open>' in answer.text


async def test_figures_sources_and_machines_are_called_in_portuguese(owner: Visitor) -> None:
    here = await page(owner, "?gpu=b300&count=8&host_memory=1TB&disk=2TB&lang=pt")
    nas = await page(owner, "?gpu=nas&lang=pt")
    sources = here.partition('class="sources"')[2].partition("</table>")[0]

    assert "Memória de um acelerador: 288\u00a0GB" in sources
    assert "Banda dele: 8.000\u00a0GB/s" in sources
    assert "Parâmetros ativos: 104 bilhões" in sources
    assert ">informado por quem perguntou</th><td>de hoje</td>" in sources
    assert not re.search(r"\b(gpu|quant|model|host|disk)\.[a-z]", sources)
    assert "Kimi K3 (native) em Um NAS ou servidor doméstico sem acelerador" in nas
    assert "A NAS or a home server" not in nas.partition('id="questions"')[2].partition("</form>")[0]


async def test_a_budget_for_which_nothing_is_left_says_so(owner: Visitor) -> None:
    shown = await page(owner, "?gpu=mac-studio-512&quant=UD-IQ1_S")

    assert "nothing is left for it" in shown.partition('data-budget="cache"')[2].partition("</li>")[0]
    assert "0\u00a0bytes" not in shown.partition('class="rooms"')[2].partition("</ul>")[0]


@pytest.mark.parametrize("name", sorted(gpus()))
async def test_every_figure_of_every_machine_has_a_name_and_an_age(owner: Visitor, name: str) -> None:
    extra = "&gpu_memory=300GB&gpu_bandwidth=9TB/s" if not gpus()[name].is_known and name != "nas" else ""
    shown = await page(owner, f"?gpu={name}&count=1&host_memory=1TB&host_bandwidth=1GB/s&disk_bandwidth=1GB/s{extra}")
    sources = shown.partition('class="sources"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr><th[^>]*>([^<]+)</th><td>(?:<time[^>]*>)?([^<]+)<.*?<td>([^<]+)</td>", sources)

    assert len(rows) == sources.count("<tr>") - 1 > 2
    assert all(age == "of today" or age.endswith("days") for _, age, _ in rows), rows


async def test_what_is_written_is_never_markup(owner: Visitor) -> None:
    answer = await owner.get("/dashboard/fit?gpu=%3Cscript%3Ealert(1)%3C/script%3E&gpu_memory=%22%3E%3Cb%3E")

    assert answer.status == 400
    assert "<script>alert" not in answer.text
    assert "<b>" not in answer.text


async def test_an_unknown_accelerator_is_said_to_be_unknown(owner: Visitor) -> None:
    shown = await page(owner, "?gpu=other&count=8&gpu_memory=300GB&gpu_bandwidth=9TB/s")

    assert "is not known here" in shown
    assert 'data-verdict="native_unverified"' in shown


async def test_a_form_left_over_from_another_model_gives_way_to_this_one_s_own(owner: Visitor) -> None:
    left_over = await page(owner, "?gpu=h200&count=8&model=deepseek-r1&quant=UD-IQ1_S")
    wrong = await owner.get("/dashboard/fit?gpu=h200&count=8&model=deepseek-r1&quant=UD-NONE")

    first = models()["deepseek-r1"].quants[0].name
    assert f"({first})" in left_over
    assert wrong.status == 400


async def test_whoever_reads_figures_reads_this_page_too(house: House) -> None:
    created = await keys.create(house.runtime.engine, KeySpec(name="ledger-only", role="reader"))
    async with visitor(house) as reader:
        await reader.sign_in(created)
        answer = await reader.get("/dashboard/fit?gpu=b300&count=8")
        assert answer.status == 200
        assert 'href="/dashboard"' not in answer.text.partition("<nav")[2].partition("</nav>")[0]


async def test_nobody_else_does(stranger: Visitor) -> None:
    assert (await stranger.get("/dashboard/fit")).status == 303


@pytest.mark.parametrize(
    "query",
    ["", "gpu=b300&count=8", "gpu=other&gpu_memory=96GB&disk=2TB&use=service&cache=fp8&dcp=8&engine=sglang"],
)
def test_a_view_s_address_leads_back_to_it(query: str) -> None:
    looked_at = view.read(QueryParams(query))

    assert view.read(QueryParams(looked_at.href().partition("?")[2])) == looked_at
    assert looked_at.command().startswith("soleira fit --model kimi-k3 --quant native")


def test_the_command_that_a_page_names_asks_the_same() -> None:
    looked_at = view.read(QueryParams("gpu=h200&count=16&concurrency=10&host_memory=1TB&use=product"))
    found = read(*looked_at.command().split()[1:])

    assert (found["gpu"], found["count"], found["concurrency"]) == ("h200", 16, 10)
    assert found["licence"]["use"] == "product"


@pytest.mark.parametrize(
    "query", ["count=0", "count=-1", "context=1e9", "engine=vlm", "use=all", "disk=2", "cache=fp4"]
)
def test_what_cannot_be_meant_is_refused(query: str) -> None:
    with pytest.raises(BadRequest):
        view.read(QueryParams(query)).question()


async def test_every_model_and_every_machine_can_be_chosen(owner: Visitor) -> None:
    shown = await page(owner, "?gpu=b300&count=8")

    for name in (*models(), *gpus()):
        assert f'<option value="{name}"' in shown
