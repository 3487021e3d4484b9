"""What an answer says in words, in English and Brazilian Portuguese."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, log10
from typing import TYPE_CHECKING

from gateway.economics.break_even import hosted_usd
from gateway.economics.scenario import DAYS_A_MONTH, MILLION
from gateway.owning.fits.sentences import say
from gateway.owning.remarks.seen_words import WORDS as SEEN
from gateway.owning.written import number, rounded, share, size, spelled, usd

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.owning.answers import Answer
    from gateway.owning.notes import Fact, Note
    from gateway.owning.written import Language

Pair = tuple[str, str]
"""English, Portuguese."""

VERDICTS: dict[str, Pair] = {
    "yes": (
        "Yes: at today's {today} million tokens a day owning costs {own} a month, the host {hosted}.",
        "Sim: com os {today} milhões de tokens por dia de hoje, ter máquina própria custa {own} por mês, o provedor "
        "{hosted}.",
    ),
    "yes_arithmetic": (
        "By arithmetic alone: at today's {today} million tokens a day owning costs {own} a month, the host {hosted}.",
        "Só pela aritmética: com os {today} milhões de tokens por dia de hoje, ter máquina própria custa {own} "
        "por mês, o provedor {hosted}.",
    ),
    "not_yet": (
        "Not yet: owning becomes cheaper at {ahead} million tokens a day, {times} times today's volume.",
        "Ainda não: ter máquina própria passa a custar menos com {ahead} milhões de tokens por dia, {times} vezes o "
        "volume de hoje.",
    ),
    "not_yet_in": (
        "Not yet: owning becomes cheaper at {ahead} million tokens a day, {times} times today's volume, in about "
        "{months} months at this growth.",
        "Ainda não: ter máquina própria passa a custar menos com {ahead} milhões de tokens por dia, {times} vezes o "
        "volume de hoje, em cerca de {months} meses com este crescimento.",
    ),
    "not_yet_below": (
        "Not at today's volume: owning is cheaper at less than today's {today} million tokens a day, where the "
        "machines are full.",
        "Não com o volume de hoje: ter máquina própria custa menos abaixo dos {today} milhões de tokens por dia de "
        "hoje, em que as máquinas estão cheias.",
    ),
    "never": ("Never, as things stand.", "Nunca, do jeito que está."),
    "never_forced": (
        "Never for its price, as things stand; but {forced} of the tokens must stay in the house at any price.",
        "Nunca pelo preço, do jeito que está; mas {forced} dos tokens têm de ficar em casa por qualquer preço.",
    ),
    "never_cannot_hold": (
        "Never: {machines} cannot hold {model}.",
        "Nunca: {machines} não comportam {model}.",
    ),
    "unknown": (
        "From {needed} million tokens a day on owning costs less; how many are asked today is not known.",
        "A partir de {needed} milhões de tokens por dia ter máquina própria custa menos; quantos são pedidos hoje não "
        "se sabe.",
    ),
}

CHEAPEST: Pair = (
    "Cheapest today is both: {fleet} of one's own, and the {overflow} of the tokens that they do not carry at the "
    "host: {cost} a month.",
    "O mais barato hoje é a mistura: {fleet} próprias, e os {overflow} dos tokens que elas não aguentam no provedor: "
    "{cost} por mês.",
)

FORCED: Pair = (
    "Cheapest today of what privacy allows: {fleet} of one's own, and {overflow} of the tokens at the host: {cost} a "
    "month.",
    "O mais barato hoje do que a privacidade permite: {fleet} próprias, e {overflow} dos tokens no provedor: {cost} "
    "por mês.",
)

REASONS: dict[str, Pair] = {
    "cheaper": (
        "From {month} million tokens a month ({day} a day) on {fleet} cost no more than the host, "
        "and carry up to {most} a month through the busiest hours.",
        "A partir de {month} milhões de tokens por mês ({day} por dia) {fleet} não custam mais que o "
        "provedor, e aguentam até {most} por mês nas horas de pico.",
    ),
    "arithmetic": (
        "By arithmetic alone, for nothing is stated of what {machines} carry: at {month} million tokens a month "
        "({day} a day) the host costs as much.",
        "Só pela aritmética, pois nada se diz de quanto {machines} aguentam: com {month} milhões de tokens por mês "
        "({day} por dia) o provedor custa o mesmo.",
    ),
    "cannot_hold": (
        "{machines} cannot hold {model}: its weights take {needed}, and the accelerators report {there}.",
        "{machines} não comportam {model}: os pesos ocupam {needed}, e as placas informam {there}.",
    ),
    "cannot_hold_why": ("{machines} cannot hold {model}. {why}", "{machines} não comportam {model}. {why}"),
    "by_arithmetic": (
        "The {month} million tokens a month ({day} a day) are arithmetic alone, as if they could.",
        "Os {month} milhões de tokens por mês ({day} por dia) são só aritmética, como se comportassem.",
    ),
    "instead": ("What holds it: {instead}.", "O que comporta: {instead}."),
    "smaller": ("These machines hold its form {smaller}.", "Estas máquinas comportam a forma {smaller}."),
    "never": (
        "At no number of machines: through the busiest hours ({peak} times the average) a replica carries {most} "
        "million tokens a month, which cost {hosted} at the host; {fleet} cost {own} a month.",
        "Com nenhum número de máquinas: nas horas de pico ({peak} vezes a média) uma réplica aguenta {most} milhões de "
        "tokens por mês, que custam {hosted} no provedor; {fleet} custam {own} por mês.",
    ),
    "never_several": (
        "At no number of machines: through the busiest hours ({peak} times the average) {fleet}{spares} carry {most} "
        "million tokens a month, which cost {hosted} at the host; they cost {own} a month.",
        "Com nenhum número de máquinas: nas horas de pico ({peak} vezes a média) {fleet}{spares} aguentam {most} "
        "milhões de tokens por mês, que custam {hosted} no provedor; elas custam {own} por mês.",
    ),
    "never_cheap": (
        "At no volume: the host costs less than {machines}, however many tokens there are.",
        "Com nenhum volume: o provedor custa menos que {machines}, por mais tokens que sejam.",
    ),
    "peak_at_most": (
        "{fleet} would pay with busiest hours of at most {most_peak} times the average.",
        "{fleet} valeriam a pena com horas de pico de no máximo {most_peak} vezes a média.",
    ),
    "storage": (
        "{machines} cannot hold {model}: it keeps data, and computes nothing.",
        "{machines} não comportam {model}: guarda dados, e não calcula nada.",
    ),
    "slo": (
        "At no number of machines: not even one request at a time keeps the service level on {machines}.",
        "Com nenhum número de máquinas: nem uma única requisição por vez cumpre o nível de serviço em {machines}.",
    ),
}

NOTES: dict[str, Pair] = {
    "no_cached_price": (
        "The host states no price of cached input: it is counted at the price of input, which is dearer than at most "
        "hosts.",
        "O provedor não informa preço de entrada em cache: conta-se o preço da entrada, mais caro que na maioria.",
    ),
    "prices_by_prompt": (
        "{deployment} charges another price for prompts of more than {prompt_tokens} tokens; the answer takes the "
        "usual one.",
        "{deployment} cobra outro preço por prompts de mais de {prompt_tokens} tokens; a resposta usa o normal.",
    ),
    "prices_by_hour": (
        "{deployment} charges other prices at some hours; the answer takes their average over a week.",
        "{deployment} cobra outros preços em certas horas; a resposta usa a média de uma semana.",
    ),
    "rented_instead": (
        "For this look the machines are rented by the hour, in place of what the scenario says of buying them.",
        "Nesta consulta as máquinas são alugadas por hora, no lugar do que o cenário diz da compra.",
    ),
    "written_off": (
        "{machine} is written off: its purchase costs nothing any more, and nothing is put aside for the next one.",
        "{machine} já foi depreciada: a compra não custa mais nada, e nada é reservado para a próxima.",
    ),
    "metered_energy": (
        "The energy of {machine} is known by its meter alone, and is missing here: state `kw` for it.",
        "A energia de {machine} só é conhecida pelo medidor e falta aqui: informe `kw`.",
    ),
    "no_use_cost": (
        "{machine} states neither a rent that is due nor what it cost to buy: that part of its cost is missing here.",
        "{machine} não informa aluguel em vigor nem preço de compra: essa parte do custo falta aqui.",
    ),
    "planned": (
        "{machine}: {line} from {day} on is counted as if it had begun.",
        "{machine}: {line} a partir de {day} conta como se já tivesse começado.",
    ),
    "ended": (
        "{machine}: {line} has ended, and what follows is not stated: it is missing here.",
        "{machine}: {line} já terminou, e o que vem depois não foi informado: falta aqui.",
    ),
    "no_energy": (
        "No energy is counted: machines of one's own draw it, used or idle. State `site: {{currency, kw, "
        "tariff_per_kwh}}`.",
        "Não se conta energia: máquinas próprias consomem, usadas ou paradas. Informe `site: {{currency, kw, "
        "tariff_per_kwh}}`.",
    ),
    "no_staff": (
        "Nobody's hours are counted: people who look after machines cost money too.",
        "Não se conta hora de ninguém: quem cuida das máquinas também custa.",
    ),
    "default_mix": (
        "Nobody stated how many tokens go in and come out: three to one is assumed.",
        "Ninguém informou quantos tokens entram e saem: supõe-se três para um.",
    ),
    "default_cached_share": (
        "Nobody stated how much of the input a cache holds: none is assumed. With more of it the host costs less, and "
        "owning pays later.",
        "Ninguém informou quanto da entrada vem do cache: supõe-se nada. Com mais cache o provedor custa menos, e ter "
        "máquina própria compensa mais tarde.",
    ),
    "default_peak": (
        "Nobody stated the busiest hours: {peak_to_mean} times the average is assumed. Measure it before buying.",
        "Ninguém informou as horas de pico: supõe-se {peak_to_mean} vezes a média. Meça antes de comprar.",
    ),
    "no_volume": (
        "Today's volume is not known: state tokens_per_day, or ask the ledger (--from-ledger 30d).",
        "O volume de hoje não é conhecido: informe tokens_per_day, ou consulte o livro-razão (--from-ledger 30d).",
    ),
    "no_volume_seen": (
        "Today's volume is not known: the ledger has none of it; state tokens_per_day, or ask again when it does.",
        "O volume de hoje não é conhecido: o livro-razão não o tem; informe tokens_per_day, ou pergunte de novo quando "
        "tiver.",
    ),
    "ledger_running": (
        "All that the ledger saw of these models, {tokens} tokens, is of the hour that is running, which is left out "
        "until it is over: what is stated or assumed counts in its place.",
        "Tudo o que o livro-razão viu destes modelos, {tokens} tokens, é da hora em curso, que fica de fora até "
        "terminar: no lugar vale o que foi informado ou suposto.",
    ),
    "ledger_nothing": (
        "The ledger saw no tokens of these models in that time: what is stated or assumed counts in their place.",
        "O livro-razão não viu tokens destes modelos nesse período: no lugar vale o que foi informado ou suposto.",
    ),
    "ledger_short": (
        "The ledger knows {days} days only: less than a week says little of a month.",
        "O livro-razão só conhece {days} dias: menos de uma semana diz pouco de um mês.",
    ),
    "ledger_few": (
        "The ledger saw {requests} requests only: their busiest hour says little.",
        "O livro-razão só viu {requests} requisições: a hora de pico delas diz pouco.",
    ),
    "forced_home": (
        "{forced_share} of the tokens may not leave the house at any price: a host for all of them is no choice.",
        "{forced_share} dos tokens não podem sair de casa por preço nenhum: um provedor para todos não é opção.",
    ),
    "unlabelled": (
        "{unlabelled_share} of the tokens carry no known label: whether privacy keeps them home nobody knows, and they "
        "are counted as free to leave.",
        "{unlabelled_share} dos tokens não têm rótulo conhecido: ninguém sabe se a privacidade os prende em casa, e "
        "contam como livres para sair.",
    ),
    "estimated": (
        "The tokens of {estimated_share} of the requests were estimated, since nobody counted them.",
        "Os tokens de {estimated_share} das requisições foram estimados, pois ninguém os contou.",
    ),
    "no_growth_short": (
        "Growth is not known: the ledger has {weeks} whole weeks, and four are the least. The volume is taken to stay.",
        "O crescimento não é conhecido: o livro-razão tem {weeks} semanas inteiras, e quatro são o mínimo. Supõe-se "
        "que o volume fica.",
    ),
    "no_growth_gaps": (
        "Growth is not known: one of the {weeks} weeks had no traffic. The volume is taken to stay.",
        "O crescimento não é conhecido: uma das {weeks} semanas não teve tráfego. Supõe-se que o volume fica.",
    ),
    "profiles_match": (
        "What these machines carry is known: name a profile under `capacity` ({names}).",
        "Sabe-se quanto estas máquinas aguentam: cite um perfil em `capacity` ({names}).",
    ),
    "other_profile": (
        "Profile {profile} is of {there}, the scenario of {here}: its rates are taken as they are.",
        "O perfil {profile} é de {there}, o cenário de {here}: as taxas são usadas como estão.",
    ),
    "memory_limits": (
        "Memory holds {concurrency} requests of {context} tokens at once on {machines}: profile {profile} counts up to "
        "there.",
        "A memória de {machines} comporta {concurrency} requisições simultâneas de {context} tokens: o perfil "
        "{profile} vale até ali.",
    ),
    "memory_below_profile": (
        "Memory holds {concurrency} requests of {context} tokens at once on {machines}, fewer than profile {profile} "
        "was measured with: its first point counts, and is too much.",
        "A memória de {machines} comporta {concurrency} requisições simultâneas de {context} tokens, menos do que o "
        "perfil {profile} mediu: vale o primeiro ponto, que é demais.",
    ),
    "cached_is_no_work": (
        "{cached_share} of the tokens come out of a cache, and nobody stated how fast machines of one's own read them: "
        "they count as no work there. State `cached_tps`, or measure it with `soleira measure`.",
        "{cached_share} dos tokens vêm do cache, e ninguém informou com que velocidade máquinas próprias os leem: lá "
        "contam como trabalho nenhum. Informe `cached_tps`, ou meça com `soleira measure`.",
    ),
    "derived_profile": (
        "The rates of profile {profile} are derived from published measurements: right within 30 % at best.",
        "As taxas do perfil {profile} são derivadas de medições publicadas: no melhor caso, com erro de até 30 %.",
    ),
    "stopped_profile": (
        "Profile {profile} ended early ({text}): it may carry more than it says.",
        "O perfil {profile} terminou antes ({text}): talvez aguente mais do que diz.",
    ),
    "profile_note": ("Profile {profile}: {text}.", "Perfil {profile}: {text}."),
    "saturated_profile": (
        "The rates are those of profile {profile} at {concurrency} requests at once, where the first token takes "
        "{ttft_ms}: state an slo for shorter waits.",
        "As taxas são do perfil {profile} com {concurrency} requisições simultâneas, em que o primeiro token leva "
        "{ttft_ms}: informe um slo para esperas menores.",
    ),
    "not_extrapolated": (
        "The service level would allow more than {concurrency} requests at once, beyond what profile {profile} "
        "measured: its last point counts.",
        "O nível de serviço permitiria mais de {concurrency} requisições simultâneas, além do que o perfil {profile} "
        "mediu: vale o último ponto.",
    ),
    "premium_counted": (
        "What the host costs counts {premium_share} on top for what it is worth that nothing leaves: its own bill is "
        "lower.",
        "O custo do provedor conta {premium_share} a mais pelo valor de nada sair de casa: a conta dele é menor.",
    ),
    "premium_counted_today": (
        "What the host costs counts {premium_share} on top for what it is worth that nothing leaves: its own bill at "
        "today's volume is {billed_usd} a month.",
        "O custo do provedor conta {premium_share} a mais pelo valor de nada sair de casa: a conta dele com o volume "
        "de hoje é {billed_usd} por mês.",
    ),
    "draws_say_no": (
        "The answer is of the figures as they stand; what is assumed around them points the other way: in only "
        "{cheaper_share} of the draws owning is cheaper at today's volume.",
        "A resposta é a dos números como estão; o que se supõe em volta deles aponta para o outro lado: só em "
        "{cheaper_share} dos sorteios ter máquina própria custa menos com o volume de hoje.",
    ),
    "draws_say_yes": (
        "The answer is of the figures as they stand; what is assumed around them points the other way: in "
        "{cheaper_share} of the draws owning is cheaper at today's volume.",
        "A resposta é a dos números como estão; o que se supõe em volta deles aponta para o outro lado: em "
        "{cheaper_share} dos sorteios ter máquina própria custa menos com o volume de hoje.",
    ),
    "setup_over": (
        "Setting up is no part of a month's cost: whether it comes back is reckoned over {months} months, since "
        "nothing is said of how long the machines are rented.",
        "A instalação não entra no custo do mês: se ela se paga calcula-se em {months} meses, pois não se diz por "
        "quanto tempo as máquinas são alugadas.",
    ),
    "set_without_effect": (
        "{names} changes nothing here: nothing is stated of what the machines carry.",
        "{names} não muda nada aqui: não se informa quanto as máquinas aguentam.",
    ),
    "unverified_shape": (
        "By its bytes the model goes into {machines}, but no engine is known to run it there: see soleira fit.",
        "Pelos bytes o modelo cabe em {machines}, mas não se conhece motor que o rode ali: veja soleira fit.",
    ),
    "held_by_memory": (
        "{machines} hold the model with the host's memory beside accelerators at most, which answers slowly: see "
        "soleira fit.",
        "{machines} só comportam o modelo com a memória do computador, que responde devagar: veja soleira fit.",
    ),
    "unknown_model": (
        "{model} is not in the catalog: whether the machines hold it is not known. ({hint})",
        "{model} não está no catálogo: não se sabe se as máquinas o comportam. ({hint})",
    ),
    "unknown_gpu": (
        "{gpu} is not in the catalog: whether it holds the model and what others charge is not known. ({hint})",
        "{gpu} não está no catálogo: não se sabe se comporta o modelo nem quanto outros cobram por ela. ({hint})",
    ),
}

FIGURES: dict[str, Pair] = {
    "hardware.gpu": ("accelerator", "placa"),
    "hardware.count": ("accelerators of one replica", "placas de uma réplica"),
    "hardware.usd_per_gpu_hour": ("rent of an accelerator by the hour", "aluguel de uma placa por hora"),
    "hardware.replicas": ("least number of replicas", "mínimo de réplicas"),
    "hardware.spares": ("spare replicas", "réplicas de reserva"),
    "hardware.committed_months": ("committed for", "contrato de"),
    "hardware.capex": ("price of a replica", "preço de uma réplica"),
    "hardware.residual": ("worth at the end of its life", "valor no fim da vida útil"),
    "hardware.life_months": ("life", "vida útil"),
    "hardware.memory": ("memory of a replica's accelerators", "memória das placas de uma réplica"),
    "model.weights": ("weights of the model", "pesos do modelo"),
    "hosted.input": ("host's price of input", "preço da entrada no provedor"),
    "hosted.cached": ("host's price of cached input", "preço da entrada em cache no provedor"),
    "hosted.output": ("host's price of output", "preço da saída no provedor"),
    "hosted.cache_write_5m": ("host's price of cache writes (5 min)", "preço de escrita em cache (5 min)"),
    "hosted.cache_write_1h": ("host's price of cache writes (1 h)", "preço de escrita em cache (1 h)"),
    "hosted.decline_per_year": ("fall of the host's prices in a year", "queda anual dos preços do provedor"),
    "hosted.retry_overhead": ("tokens paid twice", "tokens pagos duas vezes"),
    "hosted.privacy_premium": ("worth of privacy over the host's price", "valor da privacidade sobre o preço"),
    "hosted.minimum_per_month": ("host's least bill", "conta mínima do provedor"),
    "traffic.tokens_per_month": ("tokens of a month", "tokens por mês"),
    "traffic.output_share": ("part of the tokens that is written", "parte dos tokens que é escrita"),
    "traffic.cached_share": ("part of the input that a cache holds", "parte da entrada que vem do cache"),
    "traffic.peak_to_mean": ("busiest hours over the average", "horas de pico sobre a média"),
    "traffic.growth_per_month": ("growth in a month", "crescimento por mês"),
    "traffic.forced_share": ("part that privacy keeps home", "parte que a privacidade prende em casa"),
    "capacity.prefill_tps": ("reading rate of a replica", "taxa de leitura de uma réplica"),
    "capacity.decode_tps": ("writing rate of a replica", "taxa de escrita de uma réplica"),
    "capacity.cached_tps": ("rate of cached input", "taxa da entrada em cache"),
    "capacity.utilisation": ("use up to which answers come in time", "uso até o qual as respostas vêm a tempo"),
    "capacity.concurrency": ("requests at once", "requisições simultâneas"),
    "slo.ttft_ms": ("longest wait for the first token", "maior espera pelo primeiro token"),
    "slo.tpot_ms": ("longest time of each further token", "maior tempo de cada token seguinte"),
    "site.kw": ("power of a replica", "potência de uma réplica"),
    "site.pue": ("all energy over that of the machines", "energia total sobre a das máquinas"),
    "site.tariff_per_kwh": ("tariff with taxes", "tarifa com impostos"),
    "staff.usd_per_month": ("people's hours in a month", "horas de pessoas por mês"),
    "costs.rent": ("rent", "aluguel"),
    "costs.capital": ("capital written off", "depreciação"),
    "costs.energy": ("energy of a replica", "energia de uma réplica"),
    "costs.colocation": ("colocation of a replica", "hospedagem de uma réplica"),
    "costs.network": ("network", "rede"),
    "costs.storage": ("storage", "armazenamento"),
    "costs.software": ("software", "software"),
    "costs.extra": ("other monthly costs", "outros custos mensais"),
    "setup": ("setting up, once", "instalação, uma vez"),
    "discount_per_year": ("discount rate of a year", "taxa de desconto anual"),
    "taxes.hosted": ("taxes on the host's prices", "impostos sobre os preços do provedor"),
}

INPUTS: dict[str, Pair] = {
    "usd_per_gpu_hour": ("rent of an accelerator", "aluguel de uma placa"),
    "price_factor": ("the host's prices", "preços do provedor"),
    "output_share": ("part that is written", "parte escrita"),
    "cached_share": ("cached part of the input", "parte da entrada em cache"),
    "staff_usd_per_month": ("people's hours", "horas de pessoas"),
    "peak_to_mean": ("busiest hours", "horas de pico"),
    "decode_tps": ("writing rate", "taxa de escrita"),
}

UNITS: dict[str, Pair] = {
    "": ("", ""),
    "USD": ("USD", "USD"),
    "USD/GPU-h": ("USD an hour each", "USD por hora cada"),
    "USD/M tokens": ("USD per million tokens", "USD por milhão de tokens"),
    "USD/month": ("USD a month", "USD por mês"),
    "USD/kWh": ("USD per kWh", "USD por kWh"),
    "share": ("%", "%"),
    "x": ("times", "vezes"),
    "tokens/month": ("tokens a month", "tokens por mês"),
    "tokens/day": ("tokens a day", "tokens por dia"),
    "tokens/s": ("tokens a second", "tokens por segundo"),
    "requests": ("requests", "requisições"),
    "replicas": ("replicas", "réplicas"),
    "GPUs": ("accelerators", "placas"),
    "months": ("months", "meses"),
    "bytes": ("bytes", "bytes"),
    "kW": ("kW", "kW"),
    "ms": ("ms", "ms"),
}

LINES: dict[str, Pair] = {
    "rent": ("rent", "aluguel"),
    "capex": ("purchase", "compra"),
    "energy": ("energy", "energia"),
    "staff": ("people's hours", "horas de pessoas"),
}
"""Costs of a machine under `machines`."""

ORIGINS: dict[str, Pair] = {
    "stated": ("stated", "informado"),
    "ledger": ("the ledger", "livro-razão"),
    "measured": ("measured", "medido"),
    "detected": ("detected", "detectado"),
    "published": ("published", "publicado"),
    "bundled": ("comes with Soleira", "vem com o Soleira"),
    "default": ("assumed", "suposto"),
    "overridden": ("changed for this look", "alterado nesta consulta"),
}


def verdict(answer: Answer, language: Language = "en") -> str:
    """Yes, not yet or never in one sentence, with how far away it is."""
    facts: dict[str, Fraction | str | None] = {
        "today": answer.scenario.traffic.tokens_per_month,
        "needed": answer.needed_tokens,
        "ahead": None if answer.times_today is None else answer.times_today * _today(answer),
    }
    texts = {name: "" if tokens is None else daily(Fraction(tokens), language) for name, tokens in facts.items()}
    return _said(
        VERDICTS[_verdict_code(answer)],
        language,
        **texts,
        own=usd(answer.own_usd or Fraction(0), language),
        hosted=usd(answer.hosted_usd or Fraction(0), language),
        times="" if answer.times_today is None else _times(answer.times_today, language),
        months="" if answer.months_until is None else rounded(Fraction(answer.months_until), language),
        machines=answer.holding.machines,
        model=answer.holding.model,
        forced=share(answer.scenario.traffic.forced_share, language),
    )


def reason(answer: Answer, language: Language = "en") -> str:
    """Why the break-even is what it is; where the machines cannot hold the model, what would."""
    return " ".join(_reasons(answer, language))


def cheapest(answer: Answer, language: Language = "en") -> str:
    """What a part on own machines and the rest at the host comes to today; empty where that saves nothing.

    Where privacy keeps a part in the house, what that takes.
    """
    best = answer.hybrid
    if best is None or not best.replicas:
        return ""
    is_forced = best.all_hosted_usd is None
    others = [usd for usd in (best.all_hosted_usd, best.all_own_usd) if usd is not None]
    if not is_forced and (best.overflow_share == 0 or best.usd >= min(others)):
        return ""
    return _said(
        FORCED if is_forced else CHEAPEST,
        language,
        fleet=_fleet(answer, best.replicas + (answer.scenario.owned.spares if is_forced else 0)),
        overflow=share(best.overflow_share, language) if best.overflow_share else _said(_NONE, language),
        cost=usd(best.usd, language),
    )


def note(note: Note, language: Language = "en") -> str:
    """One note as a sentence."""
    facts = {name: fact_text(name, fact, language) for name, fact in note.facts.items()}
    return _said(NOTES.get(note.code) or SEEN[note.code], language, **facts)


def title(answer: Answer, language: Language = "en") -> str:
    """What it is about: as the scenario says, else its machines and its model."""
    if answer.title:
        return answer.title
    pair = ("{machines} with {model}", "{machines} com {model}")
    return _said(pair, language, machines=answer.holding.machines, model=answer.holding.model)


def figure(name: str, language: Language = "en") -> str:
    """What an input is called."""
    if name in FIGURES:
        return _said(FIGURES[name], language)
    kind, _, rest = name.partition(".")
    if kind == "ranges":
        input_name, _, end = rest.rpartition(".")
        ends = {"low": ("least", "mínimo"), "high": ("most", "máximo")}
        return f"{_said(INPUTS[input_name], language)}, {_said(ends[end], language)}"
    if rest.startswith("above_"):
        volume = rest.removeprefix("above_").removesuffix("_million")
        pair = ("host's price above {volume} million tokens a month", "preço do provedor acima de {volume} milhões")
        return _said(pair, language, volume=volume)
    if kind == "exchange":
        return _said(("{rest} for a dollar", "{rest} por dólar"), language, rest=rest)
    return name


def daily(tokens: Fraction, language: Language = "en") -> str:
    """A month's tokens as millions of a day."""
    return rounded(tokens / MILLION / DAYS_A_MONTH, language)


def fact_text(name: str, fact: Fact, language: Language = "en") -> str:
    """One fact of a note, as its name says that it is written."""
    if isinstance(fact, str):
        return _said(LINES[fact], language) if name == "line" else fact
    if name.endswith("_share"):
        return share(Fraction(fact), language)
    if name.endswith("_usd"):
        return usd(Fraction(fact), language)
    if name.endswith("_bytes"):
        return size(Fraction(fact), language)
    if name.endswith("_ms"):
        return f"{rounded(Fraction(fact) / 1000, language)} s"
    return number(fact, language) if isinstance(fact, int) else rounded(fact, language)


_NONE: Pair = ("none", "nenhum")
_HARDLY_MORE = Fraction(201, 200)
_MOST_PLACES = 9


def _today(answer: Answer) -> Fraction:
    return answer.scenario.traffic.tokens_per_month or Fraction(0)


def _verdict_code(answer: Answer) -> str:
    if answer.verdict == "never" and answer.reason in ("does_not_hold", "arithmetic_cannot_hold"):
        return "never_cannot_hold"
    if answer.verdict == "never" and answer.reason != "slo" and answer.scenario.traffic.forced_share:
        return "never_forced"
    if answer.verdict == "yes" and answer.reason == "arithmetic":
        return "yes_arithmetic"
    if answer.verdict != "not_yet":
        return answer.verdict
    if answer.times_today is None:
        return "not_yet_below"
    return "not_yet" if answer.months_until is None else "not_yet_in"


def _reasons(answer: Answer, language: Language) -> Sequence[str]:
    facts = _facts(answer, language)
    if answer.reason in ("does_not_hold", "arithmetic_cannot_hold"):
        return [_said(REASONS[code], language, **facts) for code in _cannot_hold(answer)]
    if answer.reason == "never":
        return [_said(REASONS[code], language, **facts) for code in _never(answer)]
    return [_said(REASONS[answer.reason], language, **facts)]


def _cannot_hold(answer: Answer) -> Sequence[str]:
    holding = answer.holding
    codes = ["storage" if holding.is_storage else "cannot_hold" if holding.why is None else "cannot_hold_why"]
    if holding.instead:
        codes.append("instead")
    if holding.smaller:
        codes.append("smaller")
    if answer.reason == "arithmetic_cannot_hold" and answer.result.tokens_per_month is not None:
        codes.append("by_arithmetic")
    return codes


def _never(answer: Answer) -> Sequence[str]:
    step = answer.result.steps[0]
    if step.most_tokens is None or answer.result.tokens_per_month is None:
        return ["never_cheap"]
    code = "never" if step.machines == 1 else "never_several"
    most = answer.result.peak_to_mean_max
    return [code, "peak_at_most"] if most is not None and most >= 1 else [code]


def _facts(answer: Answer, language: Language) -> Mapping[str, str]:
    result, holding, scenario = answer.result, answer.holding, answer.scenario
    step = next((step for step in result.steps if step.is_valid), result.steps[0])
    month = result.tokens_per_month
    most = step.most_tokens
    worth = None if most is None else hosted_usd(scenario.hosted, scenario.traffic.mix, most)
    return {
        "month": "–" if month is None else monthly(month, language),
        "day": "–" if month is None else daily(month, language),
        "fleet": _fleet(answer, step.machines),
        "spares": _spares(scenario.owned.spares, language),
        "machines": holding.machines,
        "model": holding.model,
        "needed": size(holding.needed_bytes or 0, language),
        "there": size(holding.there_bytes or 0, language),
        "why": "" if holding.why is None else say(holding.why, language),
        "instead": _listed(holding.instead[:4], language),
        "smaller": holding.smaller,
        "most": "∞" if most is None else monthly(most, language),
        "hosted": "" if worth is None else usd(worth, language),
        "own": usd(step.usd_per_month, language),
        "peak": rounded(scenario.traffic.peak_to_mean, language),
        "most_peak": "" if result.peak_to_mean_max is None else rounded(result.peak_to_mean_max, language),
    }


def _times(factor: Fraction, language: Language) -> str:
    """Never a mere 1 where it is a little more."""
    if 1 < factor < _HARDLY_MORE:
        text = f"{float(factor):.{min(_MOST_PLACES, ceil(-log10(factor - 1)))}f}"
        return spelled(text, language)
    return rounded(factor, language)


def _fleet(answer: Answer, machines: int) -> str:
    one = answer.holding.machines
    return one if machines == 1 else f"{machines} × ({one})"


def _spares(number: int, language: Language) -> str:
    """Of the machines, those that stand by and carry nothing."""
    if not number:
        return ""
    return _said((" ({n} of them spare)", " ({n} de reserva)"), language, n=str(number))


def monthly(tokens: Fraction, language: Language = "en") -> str:
    """A month's tokens in millions."""
    return rounded(tokens / MILLION, language)


def _listed(words: Sequence[str], language: Language) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {'ou' if language == 'pt' else 'or'} {words[-1]}"


def _said(pair: Pair, language: Language, **facts: str) -> str:
    return pair[1 if language == "pt" else 0].format(**facts)
