"""The page's words, in English and Portuguese."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gateway.dashboard.cost_words import WORDS as COSTS
from gateway.dashboard.fit_words import WORDS as FIT
from gateway.dashboard.owning_words import WORDS as OWNING

Language = Literal["en", "pt"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of one language; in templates `t("name", value=...)`."""

    language: Language

    def __call__(self, name: str, /, **values: object) -> str:
        """The text of that name; KeyError if there is none."""
        return WORDS[name][LANGUAGES.index(self.language)].format(**values)

    def named(self, name: str, otherwise: str) -> str:
        """The text of that name; without one, the words given."""
        return self(name) if name in WORDS else otherwise

    def refusal(self, code: str) -> str:
        """What is the matter, by an error's code."""
        return self(_refusal(code))

    def remedy(self, code: str) -> str:
        """What to do about it."""
        return self(f"{_refusal(code)}.do")


def _refusal(code: str) -> str:
    if f"{code}.do" in WORDS:
        return code
    return "upstream" if code.startswith(("upstream_", "deployment_")) else "refused"


WORDS: dict[str, tuple[str, str]] = {
    # the frame
    "languages": ("Language", "Idioma"),
    "sign out": ("Sign out", "Sair"),
    "policy": ("Policy", "Política"),
    "no script": ("This page needs JavaScript to ask questions.", "Esta página precisa de JavaScript para perguntar."),
    "pack refused": (
        "A change to the policy was refused. The one before stays in force.",
        "Uma alteração da política foi recusada. A anterior continua valendo.",
    ),
    "back": ("Back to the page", "Voltar à página"),
    # signing in
    "sign in": ("Sign in", "Entrar"),
    "welcome": (
        "What stays in the house, what leaves it, and what it costs.",
        "O que fica em casa, o que sai dela, e quanto custa.",
    ),
    "your key": ("Your key", "Sua chave"),
    "key hint": (
        "The admin key, shown when Soleira started for the first time; or one that reads figures.",
        "A chave de administração, mostrada quando o Soleira começou pela primeira vez; ou uma que lê números.",
    ),
    "wrong key": ("This key does not open the page.", "Esta chave não abre a página."),
    "too many tries": (
        "Too many attempts. Wait a minute, then try again.",
        "Tentativas demais. Espere um minuto e tente de novo.",
    ),
    # asking
    "ask title": ("Ask your documents", "Pergunte aos seus documentos"),
    "question": ("Your question", "Sua pergunta"),
    "documents": ("Documents", "Documentos"),
    "no documents": ("none, ask the model alone", "nenhum, só o modelo"),
    "search starting": ("The search is starting …", "A busca está iniciando …"),
    "model": ("Model", "Modelo"),
    "auto": ("automatic", "automático"),
    "ask": ("Ask", "Perguntar"),
    "stop": ("Stop", "Parar"),
    "counts as": ("What you type counts as", "O que você digita conta como"),
    "may go": ("and may go to: {places}.", "e pode ir para: {places}."),
    "nowhere": ("nowhere", "lugar nenhum"),
    "answer": ("Answer", "Resposta"),
    "asking": ("Looking for the answer …", "Procurando a resposta …"),
    "thinking": ("Thinking …", "Pensando …"),
    "broken": ("The answer broke off.", "A resposta foi interrompida."),
    "stopped": ("Stopped.", "Parado."),
    "sources": ("Sources", "Fontes"),
    "given": ("Read, but not quoted", "Lidas, mas não citadas"),
    "page": ("page {n}", "página {n}"),
    "line": ("line {n}", "linha {n}"),
    # where it went
    "home": ("Did not leave the house", "Não saiu de casa"),
    "out": ("Went to {places}", "Foi para {places}"),
    "nothing": ("Nothing was sent", "Nada foi enviado"),
    "answered": ("answered by {deployment} ({place})", "resposta de {deployment} ({place})"),
    "counted": ("It counted as", "Contou como"),
    "because": ("because of: {reasons}", "por causa de: {reasons}"),
    "rule": ("Rule", "Regra"),
    "loopback": ("this machine", "este equipamento"),
    "private": ("the home network", "a rede da casa"),
    "zone.cluster": ("the cluster", "o cluster"),
    "zone.hosted": ("a hosted service", "um serviço externo"),
    # what raised a label
    "typed": ("typed text", "texto digitado"),
    "passages": ("passages of {name}", "trechos de {name}"),
    "header": ("the label that was sent along", "o rótulo enviado junto"),
    "too large": ("a text too large to examine", "um texto grande demais para examinar"),
    "detectors failed": ("a failed examination", "um exame que falhou"),
    "unscannable": ("a part that cannot be examined", "uma parte que não pode ser examinada"),
    "seen before": ("a text that counted so before", "um texto que já contava assim"),
    "found": ("{name} in the text", "{name} no texto"),
    "kind.cpf": ("CPF", "CPF"),
    "kind.cnpj": ("CNPJ", "CNPJ"),
    "kind.cep": ("CEP", "CEP"),
    "kind.phone": ("phone number", "telefone"),
    "kind.email": ("e-mail address", "endereço de e-mail"),
    "kind.card": ("card number", "número de cartão"),
    "kind.iban": ("IBAN", "IBAN"),
    "kind.secret_key": ("secret key", "chave secreta"),
    # the ledger
    "left title": ("What left the house", "O que saiu de casa"),
    "left sum": ("{out} of the last {all}", "{out} dos últimos {all} pedidos"),
    "left none": ("nothing, of the last {all}", "nada, nos últimos {all} pedidos"),
    "no decisions": ("Nobody has asked anything yet.", "Ninguém perguntou nada ainda."),
    "asked": ("{principal} asked {model}", "{principal} perguntou a {model}"),
    "answering": ("being answered", "em resposta"),
    "interrupted": ("interrupted by the reader", "interrompido por quem perguntou"),
    "spend title": ("What it cost", "Quanto custou"),
    "estimated": ("estimated", "estimado"),
    "estimates": (
        "Some providers did not say what they used: {n} of {all} calls are charged at an estimate.",
        "Alguns provedores não disseram o que usaram: {n} de {all} chamadas contam por estimativa.",
    ),
    "held": ("Under way, not yet counted: {dollars}", "Em andamento, ainda não contado: {dollars}"),
    "by model": ("By model", "Por modelo"),
    "by zone": ("By place", "Por lugar"),
    "place": ("Place", "Lugar"),
    "calls": ("Calls", "Chamadas"),
    "fresh": ("Read", "Lidos"),
    "cached": ("From cache", "Do cache"),
    "output": ("Written", "Escritos"),
    "reasoning": ("Thought", "Pensados"),
    "cost": ("Cost", "Custo"),
    "tokens note": (
        "Read, from cache, written and thought are counted in tokens, each token in one column.",
        "Lidos, do cache, escritos e pensados contam-se em tokens, cada token em uma só coluna.",
    ),
    # refusals: what is the matter, and what to do
    "label_exceeds_clearance": ("This may not go there", "Isto não pode ir para lá"),
    "label_exceeds_clearance.do": (
        "Choose the model “automatic”, or one that runs where this may be read; or have the label lowered by an "
        "approval.",
        "Escolha o modelo “automático”, ou um que rode onde isto pode ser lido; ou peça que uma aprovação abaixe o "
        "rótulo.",
    ),
    "budget_exceeded": ("A budget is used up", "Um orçamento se esgotou"),
    "budget_exceeded.do": (
        "Wait until it begins anew, choose a model that costs nothing, or raise it in budgets.yaml.",
        "Espere até que recomece, escolha um modelo que nada custa, ou aumente-o em budgets.yaml.",
    ),
    "rate_limit_exceeded": ("Too much at once", "Muita coisa ao mesmo tempo"),
    "rate_limit_exceeded.do": (
        "Wait a moment and ask again, or raise the limit in budgets.yaml.",
        "Espere um momento e pergunte de novo, ou aumente o limite em budgets.yaml.",
    ),
    "denied_by_rule": ("A rule forbids this", "Uma regra proíbe isto"),
    "denied_by_rule.do": (
        "Choose the model “automatic”, or change the rule in rules.yaml.",
        "Escolha o modelo “automático”, ou mude a regra em rules.yaml.",
    ),
    "no_rule": ("No rule covers this", "Nenhuma regra trata disto"),
    "no_rule.do": (
        "Add a last rule without “when” to rules.yaml.",
        "Acrescente a rules.yaml uma última regra sem “when”.",
    ),
    "approval_required": ("This needs an approval", "Isto precisa de uma aprovação"),
    "approval_required.do": ("Have it approved, or change the rule.", "Peça a aprovação, ou mude a regra."),
    "no_deployment": ("No model can answer this", "Nenhum modelo pode responder a isto"),
    "no_deployment.do": (
        "Choose documents to get quotes from them, or connect a model in deployments.yaml.",
        "Escolha documentos para receber citações deles, ou conecte um modelo em deployments.yaml.",
    ),
    "retrieval_unavailable": ("The search is not ready", "A busca não está pronta"),
    "retrieval_unavailable.do": ("Try again in a few seconds.", "Tente de novo em alguns segundos."),
    "collection_not_found": ("These documents are not there", "Estes documentos não existem"),
    "collection_not_found.do": ("Load the page again.", "Carregue a página de novo."),
    "model_not_found": ("This model is not there", "Este modelo não existe"),
    "model_not_found.do": ("Load the page again.", "Carregue a página de novo."),
    "context_length_exceeded": ("This is too long for the model", "Isto é longo demais para o modelo"),
    "context_length_exceeded.do": ("Shorten it, or choose another model.", "Encurte, ou escolha outro modelo."),
    "upstream": ("The model did not answer", "O modelo não respondeu"),
    "upstream.do": ("Try again, or choose another model.", "Tente de novo, ou escolha outro modelo."),
    "forbidden": ("This form is out of date", "Este formulário está vencido"),
    "forbidden.do": ("Load the page again.", "Carregue a página de novo."),
    "refused": ("That did not work", "Não funcionou"),
    "refused.do": ("The reason is below.", "O motivo está abaixo."),
    **COSTS,
    **OWNING,
    **FIT,
}
