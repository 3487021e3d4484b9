"""The sentences of notes on own engines, on what hosts were paid, and on old figures, in English and Portuguese."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    "not_measured": (
        "Nothing was measured of {deployment}, which answers your own traffic: `soleira measure {deployment}` does it.",
        "Nada foi medido de {deployment}, que responde ao seu próprio tráfego: `soleira measure {deployment}` mede.",
    ),
    "slower_than_measured": (
        "{deployment} writes {seen_tps} tokens a second for one request, waiting included; by its profile of {as_of} "
        "it would write {slowest_tps} or more. It waits for slots, is fuller than measured, or is slowed.",
        "{deployment} escreve {seen_tps} tokens por segundo em um pedido, espera incluída; pelo perfil de {as_of} "
        "escreveria {slowest_tps} ou mais. Ele espera por vagas, está mais cheio do que o medido, ou algo o atrasa.",
    ),
    "faster_than_measured": (
        "{deployment} writes {seen_tps} tokens a second for one request; by its profile of {as_of} it would write "
        "at most {fastest_tps}. The profile no longer holds: measure it again.",
        "{deployment} escreve {seen_tps} tokens por segundo em um pedido; pelo perfil de {as_of} escreveria "
        "no máximo {fastest_tps}. O perfil já não vale: meça de novo.",
    ),
    "as_measured": (
        "{deployment} writes {seen_tps} tokens a second for one request, as its profile of {as_of} says "
        "({slowest_tps} to {fastest_tps}).",
        "{deployment} escreve {seen_tps} tokens por segundo em um pedido, como diz o perfil de {as_of} "
        "({slowest_tps} a {fastest_tps}).",
    ),
    "carried_more": (
        "{deployment} carried {seen_tps} tokens a second in its busiest half hour ({most_at}): {load_share} of what "
        "one replica of this scenario carries. The scenario's rates are too low for it, or several replicas answer.",
        "{deployment} carregou {seen_tps} tokens por segundo na meia hora mais cheia ({most_at}): {load_share} do que "
        "uma réplica deste cenário carrega. As taxas do cenário são baixas demais, ou várias réplicas respondem.",
    ),
    "paid_hosts": (
        "In these {days} days hosts were really paid US$ {paid} for {tokens} tokens: US$ {per_million} for a million. "
        "This scenario's host asks US$ {asked} for a million of the same tokens.",
        "Nestes {days} dias, provedores receberam de fato US$ {paid} por {tokens} tokens: US$ {per_million} por milhão."
        " O provedor deste cenário pede US$ {asked} por milhão dos mesmos tokens.",
    ),
    "old_price": (
        "{names}: {days} days old ({as_of}, {source}). Prices move; look again.",
        "{names}: de {days} dias atrás ({as_of}, {source}). Preços mudam; confira de novo.",
    ),
    "price_without_day": (
        "{names}: nobody says of which day ({source}). State `as_of`, so that its age is known.",
        "{names}: ninguém diz de que dia ({source}). Informe `as_of`, para que se saiba a idade.",
    ),
    "price_of_tomorrow": (
        "{names}: of {as_of}, a day that has not come yet ({source}). Correct `as_of`.",
        "{names}: de {as_of}, um dia que ainda não chegou ({source}). Corrija `as_of`.",
    ),
    "rate_of_tomorrow": (
        "{names}: the rate of exchange is of {as_of}, a day that has not come yet ({source}). Correct `as_of`.",
        "{names}: a taxa de câmbio é de {as_of}, um dia que ainda não chegou ({source}). Corrija `as_of`.",
    ),
    "old_rate": (
        "{names}: the rate of exchange is {days} days old ({as_of}, {source}).",
        "{names}: a taxa de câmbio é de {days} dias atrás ({as_of}, {source}).",
    ),
    "rate_without_day": (
        "{names}: nobody says of which day the rate of exchange is ({source}).",
        "{names}: ninguém diz de que dia é a taxa de câmbio ({source}).",
    ),
}
"""By code; each names the facts of its note."""
