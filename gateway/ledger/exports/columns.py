"""The columns of the ledger's own CSV files, with their headings in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from policies.fields import Language

PORTUGUESE = {
    "start": "início",
    "end": "fim",
    "key": "chave",
    "person": "pessoa",
    "model": "modelo",
    "zone": "zona",
    "collection": "coleções",
    "deployment": "instalação",
    "tag": "finalidade",
    "label": "rótulo",
    "attempts": "chamadas",
    "estimated": "estimadas",
    "assumed": "preço presumido",
    "failed": "falhas",
    "aborted": "interrompidas",
    "from_cache": "do cache",
    "cost_usd": "custo (US$)",
    "surcharge_usd": "impostos e taxas (US$)",
    "house_usd": "por conta da casa (US$)",
    "saved_usd": "economia do cache (US$)",
    "privacy_usd": "custo da privacidade, estimado (US$)",
    "routing_usd": "economia do roteamento, estimada (US$)",
    "busy_ms": "ocupação (ms)",
    "tokens": "tokens",
    "fresh": "entrada nova",
    "cached": "entrada do cache",
    "cache_write_5m": "gravação no cache (5 min)",
    "cache_write_1h": "gravação no cache (1 h)",
    "output": "saída visível",
    "reasoning": "raciocínio",
    "image_input": "imagens, entrada",
    "image_output": "imagens, saída",
    "audio_input": "áudio, entrada",
    "audio_output": "áudio, saída",
    "embedding": "embedding",
    "rerank": "reordenação",
    "searches": "buscas",
    "started_at": "início",
    "settled_at": "liquidação",
    "request_id": "requisição",
    "attempt_id": "tentativa",
    "ordinal": "ordem",
    "upstream_model": "modelo no provedor",
    "answered_model": "modelo que respondeu",
    "state": "estado",
    "outcome": "resultado",
    "error_code": "código do erro",
    "bearer": "por conta de",
    "held_usd": "reservado (US$)",
    "service_tier": "nível de serviço",
    "first_byte_ms": "primeiro byte (ms)",
    "total_ms": "duração (ms)",
    "bytes_out": "bytes enviados",
    "currency": "moeda do preço",
    "per_usd": "câmbio por US$",
    "per_usd_as_of": "data do câmbio",
    "price_origin": "origem do preço",
    "price_as_of": "data do preço",
}


def headings(names: Iterable[str], language: Language) -> tuple[str, ...]:
    """The columns' names as the file's first line says them."""
    return tuple(PORTUGUESE[name] if language == "pt" else name for name in names)
