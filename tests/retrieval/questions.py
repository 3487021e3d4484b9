"""Questions about the sample documents: each with the file that answers it and words of the answer.

`BY_NAME` is answered by lines of names and figures rather than by sentences.
"""

from __future__ import annotations

WITHIN_A_LANGUAGE = [
    ("Quando vence o aluguel do apartamento?", "contrato-de-aluguel.md", "dia 8"),
    ("Quanto é a multa se eu sair antes do fim do contrato de aluguel?", "contrato-de-aluguel.md", "três aluguéis"),
    ("Posso ter cachorro no apartamento alugado?", "contrato-de-aluguel.md", "animal"),
    ("Quem paga o IPTU, o inquilino ou a proprietária?", "contrato-de-aluguel.md", "IPTU"),
    ("Qual é o valor da caução?", "contrato-de-aluguel.md", "7.350"),
    ("quanto custa reservar o salao de festas", "condominio-comunicado.txt", "150,00"),
    ("Até quando o elevador social fica parado?", "condominio-comunicado.txt", "3 de julho"),
    ("Em que dias passa a coleta de recicláveis?", "condominio-comunicado.txt", "terças"),
    ("Qual o desconto do IPTU em cota única?", "iptu-2026.md", "7%"),
    ("Quando vence a terceira parcela do IPTU?", "iptu-2026.md", "11 de maio"),
    ("Qual a carência para parto no plano de saúde?", "plano-de-saude.html", "300 dias"),
    ("Quanto o plano reembolsa por consulta com médico fora da rede?", "plano-de-saude.html", "220"),
    ("Quanto pago por consulta no plano?", "plano-de-saude.html", "35,00"),
    ("Que horas volta o ônibus do passeio da escola?", "ata-reuniao-escola.md", "16h"),
    ("Quando é a festa junina?", "ata-reuniao-escola.md", "27 de junho"),
    ("Quantas xícaras de fubá vão no bolo?", "receita-bolo-de-fuba.txt", "fubá"),
    ("Por quanto tempo o bolo fica no forno?", "receita-bolo-de-fuba.txt", "45 minutos"),
    ("Quantas chaves da porta social foram entregues?", "laudo-de-vistoria.pdf", "três chaves"),
    ("Qual era a leitura do medidor de gás?", "laudo-de-vistoria.pdf", "907"),
    ("How long are parts and labor covered on the dishwasher?", "dishwasher-warranty.md", "two years"),
    ("How often should the dishwasher filter be cleaned?", "dishwasher-warranty.md", "every two weeks"),
    ("What is the deductible for hail damage?", "home-insurance.txt", "4,000"),
    ("Does the home insurance cover floods?", "home-insurance.txt", "Floods"),
    ("What is the late fee for the cottage rent?", "cottage-lease.html", "45"),
    ("Are dogs allowed in the cottage?", "cottage-lease.html", "dog"),
]
ACROSS_LANGUAGES = [
    ("Por quanto tempo a garantia da lava-louças cobre ferrugem na cuba?", "dishwasher-warranty.md", "rust"),
    ("Qual é a franquia do seguro da casa em caso de granizo?", "home-insurance.txt", "4,000"),
    ("Quanto é o depósito do chalé no lago?", "cottage-lease.html", "1,725"),
    ("O seguro da casa cobre enchente de rio?", "home-insurance.txt", "Floods"),
    ("Em quanto tempo um técnico visita a casa para a lava-louças?", "dishwasher-warranty.md", "five business days"),
    ("When is the school trip to the water museum?", "ata-reuniao-escola.md", "18 de junho"),
    ("How much is the condominium fee?", "condominio-comunicado.txt", "685"),
    ("How many eggs go into the corn cake?", "receita-bolo-de-fuba.txt", "4 ovos"),
    ("What is the waiting period for surgery in the health plan?", "plano-de-saude.html", "180 dias"),
]
BY_NAME = [
    ("Quem é a locadora do apartamento?", "contrato-de-aluguel.md", "Helena Duarte Pimenta"),
    ("Quem é a síndica do condomínio?", "condominio-comunicado.txt", "Marlene Couto"),
    ("Quem é o titular do plano de saúde?", "plano-de-saude.html", "Bruno Tavares"),
    ("Quem é a professora da turma?", "ata-reuniao-escola.md", "Lúcia Ferraz"),
    ("Qual é o endereço do apartamento alugado?", "contrato-de-aluguel.md", "Rua das Acácias 120"),
    ("De quem é o imóvel do IPTU?", "iptu-2026.md", "Helena"),
    ("Who is insured under the homeowners policy?", "home-insurance.txt", "Margaret and Thomas"),
    ("Who is the landlord of Heron Cottage?", "cottage-lease.html", "Rosalind"),
    ("What is the serial number of the dishwasher?", "dishwasher-warranty.md", "QW450-77213"),
    ("When does the insurance policy period end?", "home-insurance.txt", "July 1, 2027"),
    ("What property is insured?", "home-insurance.txt", "48 Orchard Lane"),
]
UNRELATED = [
    "Qual é a capital da Mongólia?",
    "Quem ganhou a Copa do Mundo de 1994?",
    "Como trocar o pneu de um caminhão?",
    "What is the boiling point of mercury?",
    "Who wrote War and Peace?",
    "Explique a fotossíntese",
    "How do I install Linux on a laptop?",
    "Qual a distância da Terra à Lua?",
    "Escreva um poema sobre o mar",
    "What is the best chess opening?",
    "Preço da gasolina em Lisboa hoje",
    "Como funciona um reator nuclear?",
    "Tell me a joke about cats",
    "Quantos planetas tem o sistema solar?",
    "When did the Roman Empire fall?",
    "resuma o último episódio da série",
    "translate 'good morning' into Japanese",
    "qual o telefone do dentista?",
    "What is the wifi password?",
    "Quando é o aniversário da minha mãe?",
]
IN_SHORT = [
    ("Quanto custa o plano de saúde?", "plano-de-saude.html", "1.290"),
    ("Quanto é a multa por atraso?", "contrato-de-aluguel.md", "10%"),
    ("Quanto é o condomínio?", "condominio-comunicado.txt", "685"),
    ("How long is the dishwasher warranty?", "dishwasher-warranty.md", "two years"),
    ("Posso ter um cachorro?", "contrato-de-aluguel.md", "animal"),
    ("Quando vence o aluguel?", "contrato-de-aluguel.md", "dia 8"),
]
"""As people ask first, in few words: half of them are answered."""
