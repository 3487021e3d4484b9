"""The words of the page "Is owning cheaper?", in English and Portuguese."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    "nav owning": ("Is owning cheaper?", "Vale a pena ter máquina própria?"),
    "own.title": ("Is owning cheaper?", "Vale a pena ter máquina própria?"),
    # the answer
    "own.yes": ("Yes.", "Sim."),
    "own.yes arithmetic": ("By arithmetic, yes.", "Pela aritmética, sim."),
    "own.not_yet": ("Not yet.", "Ainda não."),
    "own.not_at_this_volume": ("Not at this volume.", "Não com este volume."),
    "own.never": ("No.", "Não."),
    "own.unknown": ("That depends on the volume.", "Depende do volume."),
    "own.yes says": (
        "At today's volume machines of your own cost no more than the host.",
        "Com o volume de hoje, máquinas próprias não custam mais que o provedor.",
    ),
    "own.yes saves": (
        "At today's volume machines of your own save {saved} a month.",
        "Com o volume de hoje, máquinas próprias economizam {saved} por mês.",
    ),
    "own.not_yet says": (
        "Machines of your own would pay at {times} times today's volume.",
        "Máquinas próprias compensariam com {times} vezes o volume de hoje.",
    ),
    "own.not_yet says forced": (
        "By price alone machines of your own would pay at {times} times today's volume.",
        "Só pelo preço, máquinas próprias compensariam com {times} vezes o volume de hoje.",
    ),
    "own.not_yet below": (
        "Machines of your own pay at less than today's: {where} a month.",
        "Máquinas próprias compensam com menos que o de hoje: {where} por mês.",
    ),
    "own.pays below": (
        "At less it pays as well, {where} a month; today's volume lies above that.",
        "Com menos também compensa, {where} por mês; o volume de hoje está acima disso.",
    ),
    "own.unknown says": (
        "Machines of your own pay from {volume} a day on.",
        "Máquinas próprias compensam a partir de {volume} por dia.",
    ),
    "own.volume asked": (
        "How many tokens do you use today?",
        "Quantos tokens você usa hoje?",
    ),
    "own.volume ledger": (
        "Or take it from the ledger of the last 30 days",
        "Ou use o livro-razão dos últimos 30 dias",
    ),
    "own.never never": (
        "As things stand machines of your own never pay, however many there are.",
        "Do jeito que está, máquinas próprias nunca se pagam, por mais que sejam.",
    ),
    "own.why full": (
        "{n} replicas ({machines} each) carry {most} a month through the busiest hours, {peak} times the average. The "
        "host takes {host} for that, the machines cost {own}.",
        "{n} réplicas ({machines} cada) atendem {most} por mês nas horas mais cheias, {peak} vezes a média. O provedor "
        "cobra {host} por isso; as máquinas custam {own}.",
    ),
    "own.why full.one": (
        "One replica ({machines}) carries {most} a month through the busiest hours, {peak} times the average. The host "
        "takes {host} for that, the machines cost {own}.",
        "Uma réplica ({machines}) atende {most} por mês nas horas mais cheias, {peak} vezes a média. O provedor cobra "
        "{host} por isso; as máquinas custam {own}.",
    ),
    "own.why peak": (
        "They would pay if the busiest hours had at most {peak} times the average.",
        "Compensariam se as horas mais cheias tivessem no máximo {peak} vezes a média.",
    ),
    "own.why cheap": (
        "However many tokens there are, the host costs less.",
        "Por mais tokens que sejam, o provedor custa menos.",
    ),
    "own.arithmetic": (
        "By arithmetic alone: nobody says how much {machines} carry, so more of them may be needed.",
        "Só pela aritmética: ninguém diz quanto {machines} atendem, e talvez sejam precisas mais.",
    ),
    "own.never does_not_hold": (
        "Machines of this size cannot hold the model.",
        "Máquinas deste tamanho não comportam o modelo.",
    ),
    "own.never arithmetic_cannot_hold": (
        "Machines of this size cannot hold the model.",
        "Máquinas deste tamanho não comportam o modelo.",
    ),
    "own.never slo": (
        "Not even one request at a time is answered as fast as the scenario demands.",
        "Nem um pedido por vez é respondido tão depressa quanto o cenário exige.",
    ),
    "own.until": (
        "At a growth of {growth} a month that is about {months} away.",
        "Com um crescimento de {growth} ao mês, faltam cerca de {months}.",
    ),
    "own.until month": (
        "At a growth of {growth} a month that is about {months} away, in {month}.",
        "Com um crescimento de {growth} ao mês, faltam cerca de {months}: {month}.",
    ),
    "own.until no growth": (
        "The volume does not grow, so that day does not come by itself.",
        "O volume não cresce; esse dia não chega sozinho.",
    ),
    "own.until never": (
        "At a growth of {growth} a month that day does not come: prices at the host fall as fast.",
        "Com um crescimento de {growth} ao mês esse dia não chega: os preços do provedor caem tão depressa.",
    ),
    "own.until beyond": (
        "At a growth of {growth} a month that day is further away than the ten years that are looked ahead.",
        "Com um crescimento de {growth} ao mês, esse dia está além dos dez anos que se olham à frente.",
    ),
    "own.forced both": (
        "{forced} of the tokens may not leave the house, so that it takes machines of your own at any price. Cheapest "
        "are {n} replicas for {share} of the tokens, and the host for the rest: {usd} a month.",
        "{forced} dos tokens não podem sair de casa, e por isso é preciso ter máquinas próprias a qualquer preço. O "
        "mais barato são {n} réplicas para {share} dos tokens, e o provedor para o resto: {usd} por mês.",
    ),
    "own.forced both.one": (
        "{forced} of the tokens may not leave the house, so that it takes machines of your own at any price. Cheapest "
        "is one replica for {share} of the tokens, and the host for the rest: {usd} a month.",
        "{forced} dos tokens não podem sair de casa, e por isso é preciso ter máquinas próprias a qualquer preço. O "
        "mais barato é uma réplica para {share} dos tokens, e o provedor para o resto: {usd} por mês.",
    ),
    "own.forced own": (
        "{forced} of the tokens may not leave the house, so that it takes machines of your own at any price. Cheapest "
        "is then all of it on {n} replicas: {usd} a month.",
        "{forced} dos tokens não podem sair de casa, e por isso é preciso ter máquinas próprias a qualquer preço. O "
        "mais barato é então tudo em {n} réplicas: {usd} por mês.",
    ),
    "own.forced own.one": (
        "{forced} of the tokens may not leave the house, so that it takes machines of your own at any price. Cheapest "
        "is then all of it on one replica: {usd} a month.",
        "{forced} dos tokens não podem sair de casa, e por isso é preciso ter máquinas próprias a qualquer preço. O "
        "mais barato é então tudo em uma réplica: {usd} por mês.",
    ),
    "own.hybrid better": (
        "Both together are cheaper still: {n} replicas of your own for {share} of the tokens, and the host for the "
        "rest, save another {saved} a month.",
        "Os dois juntos saem ainda mais baratos: {n} réplicas próprias para {share} dos tokens, e o provedor para o "
        "resto, economizam mais {saved} por mês.",
    ),
    "own.hybrid better.one": (
        "Both together are cheaper still: one replica of your own for {share} of the tokens, and the host for the "
        "rest, save another {saved} a month.",
        "Os dois juntos saem ainda mais baratos: uma réplica própria para {share} dos tokens, e o provedor para o "
        "resto, economizam mais {saved} por mês.",
    ),
    "own.hybrid pays": (
        "In part it pays already: {n} replicas of your own for {share} of the tokens, and the host for the rest, save "
        "{saved} a month.",
        "Em parte já compensa: {n} réplicas próprias para {share} dos tokens, e o provedor para o resto, economizam "
        "{saved} por mês.",
    ),
    "own.hybrid pays.one": (
        "In part it pays already: one replica of your own for {share} of the tokens, and the host for the rest, save "
        "{saved} a month.",
        "Em parte já compensa: uma réplica própria para {share} dos tokens, e o provedor para o resto, economizam "
        "{saved} por mês.",
    ),
    "own.months": ("{n} months", "{n} meses"),
    "own.months.one": ("{n} month", "{n} mês"),
    "own.years": ("{n} years", "{n} anos"),
    # the large figures
    "own.figures": ("In figures", "Em números"),
    "own.costs": ("Owning costs", "Ter máquinas custa"),
    "own.costs note": (
        "a month for today's tokens, with {n} replicas",
        "por mês pelos tokens de hoje, com {n} réplicas",
    ),
    "own.costs note.one": (
        "a month for today's tokens, with one replica",
        "por mês pelos tokens de hoje, com uma réplica",
    ),
    "own.costs least": ("a month at least, with {n} replicas", "por mês no mínimo, com {n} réplicas"),
    "own.costs least.one": ("a month at least, with one replica", "por mês no mínimo, com uma réplica"),
    "own.costs spares": (" and {n} to spare", " e {n} de reserva"),
    "own.costs spares.one": (" and one to spare", " e uma de reserva"),
    "own.full note": ("{n} replicas carry up to {most} a month.", "{n} réplicas atendem até {most} por mês."),
    "own.full note.one": ("One replica carries up to {most} a month.", "Uma réplica atende até {most} por mês."),
    "own.host costs": ("The host costs", "O provedor custa"),
    "own.host note": (
        "a month for today's tokens, {price} a million",
        "por mês pelos tokens de hoje, {price} o milhão",
    ),
    "own.host price note": ("a million tokens of this mix", "por milhão de tokens desta composição"),
    "own.pays from": ("Owning pays from", "Compensa a partir de"),
    "own.pays note": ("tokens a month, {day} a day", "tokens por mês, {day} por dia"),
    "own.pays today": ("; today {day} a day", "; hoje {day} por dia"),
    "own.pays none": (
        "at no volume; arithmetic alone would say {day} a day",
        "com volume nenhum; só a aritmética diria {day} por dia",
    ),
    "own.peak note": (
        "Carried as long as the busiest hour has at most {peak} times the average.",
        "Dá conta enquanto a hora mais cheia tiver no máximo {peak} vezes a média.",
    ),
    # the picture
    "own.picture title": ("What a month costs", "Quanto custa um mês"),
    "own.picture": (
        "What a month costs over its tokens, in lines: own machines in steps, the host, and both together. The table "
        "below has every figure.",
        "Quanto custa um mês conforme os tokens, em linhas: máquinas próprias em degraus, o provedor, e ambos "
        "juntos. A tabela abaixo tem cada número.",
    ),
    "own.line own": ("Own machines", "Máquinas próprias"),
    "own.line hosted": ("Host", "Provedor"),
    "own.line hybrid": ("Both", "Ambos"),
    "own.today": ("today", "hoje"),
    "own.pays here": ("owning pays", "compensa"),
    "own.tokens a month": ("Tokens a month", "Tokens por mês"),
    "own.tokens a day": ("A day", "Por dia"),
    # what matters
    "own.matters title": ("What matters most", "O que mais importa"),
    "own.matters arithmetic": (
        "By arithmetic alone, as if the machines could hold it:",
        "Só pela aritmética, como se as máquinas comportassem o modelo:",
    ),
    "own.matters holding": (
        "That the machines hold the model: no price changes the answer before.",
        "Que as máquinas comportem o modelo: antes disso nenhum preço muda a resposta.",
    ),
    "own.matters no single": (
        "None of the uncertain figures changes the answer by itself.",
        "Nenhum dos números incertos muda a resposta sozinho.",
    ),
    "own.matters none": ("Nothing is stated as uncertain.", "Nada foi dito incerto."),
    "own.moves": (
        "{name}: from {first} to {last} the break-even goes from {near} to {far} a day.",
        "{name}: de {first} a {last}, o ponto de equilíbrio vai de {near} a {far} por dia.",
    ),
    "own.moves away": (
        "{name}: at {first} owning pays from {near} a day on, at {last} never.",
        "{name}: com {first} compensa a partir de {near} por dia, com {last} nunca.",
    ),
    "own.moves never": (
        "{name}: neither at {first} nor at {last} does owning ever pay.",
        "{name}: nem com {first} nem com {last} compensa algum dia.",
    ),
    "own.of prices": ("{share} of the stated ones", "{share} dos informados"),
    "own.of the mean": ("{n} times the average", "{n} vezes a média"),
    "own.an hour": ("{money} an hour", "{money} por hora"),
    "own.a month": ("{money} a month", "{money} por mês"),
    "own.a second": ("{n} a second", "{n} por segundo"),
    "own.know title": ("To know", "Bom saber"),
    # choosing
    "own.scenario": ("Scenario", "Cenário"),
    "own.examples": ("Examples", "Exemplos"),
    "own.own scenarios": ("Your scenarios", "Seus cenários"),
    "own.traffic": ("Traffic", "Tráfego"),
    "own.window stated": ("As stated", "Como declarado"),
    "own.window.7d": ("Last 7 days", "Últimos 7 dias"),
    "own.window.30d": ("Last 30 days", "Últimos 30 dias"),
    "own.window.90d": ("Last 90 days", "Últimos 90 dias"),
    "own.tokens": ("Tokens", "Tokens"),
    "own.trying": ("Tried", "Experimentado"),
    "own.as it was": ("As it was: {what}", "Como estava: {what}"),
    "own.all as it was": ("All as it was", "Tudo como estava"),
    "own.is example": (
        "An example that comes with Soleira, not your house: its prices and its traffic are not yours.",
        "Um exemplo que vem com o Soleira, não a sua casa: nem os preços nem o tráfego são seus.",
    ),
    "own.empty": ("No scenario yet.", "Nenhum cenário ainda."),
    "own.empty says": (
        "A scenario says which machines, at what price, against which host. Write it into break_even.yaml of your "
        "pack, and this page answers with your own traffic:",
        "Um cenário diz quais máquinas, a que preço, contra qual provedor. Escreva-o em break_even.yaml do seu "
        "pack, e esta página responde com o seu próprio tráfego:",
    ),
    "own.empty example": ("Look at an example", "Ver um exemplo"),
    "own.refused": ("That cannot be answered.", "Isso não pode ser respondido."),
    "own.refused input": (
        "{figure}: a number from {least} to {most} {unit}.",
        "{figure}: um número de {least} a {most} {unit}.",
    ),
    "own.refused capacity": (
        "This scenario does not say what a replica carries: try a reading rate and a writing rate together.",
        "Este cenário não diz quanto uma réplica atende: experimente uma taxa de leitura e uma de escrita juntas.",
    ),
    "own.refused back": ("Back to what is stated", "Voltar ao que está informado"),
    "own.print": ("Print", "Imprimir"),
    "own.printed": ("As of {day}.", "Em {day}."),
    # all that lies under it
    "own.more": ("Advanced", "Avançado"),
    "own.steps title": ("From how many machines on", "A partir de quantas máquinas"),
    "own.steps hint": (
        "A replica is what together holds one whole model. A step pays if its replicas carry the volume that pays "
        "them.",
        "Uma réplica é o que, junto, comporta um modelo inteiro. Um degrau compensa se suas réplicas atendem ao volume "
        "que as paga.",
    ),
    "own.intervals": (
        "Owning costs no more {where} a month.",
        "Ter máquinas não custa mais {where} por mês.",
    ),
    "own.intervals none": ("At no volume is owning cheaper.", "Com volume nenhum ter máquinas sai mais barato."),
    "own.n tokens": ("{n} tokens", "{n} tokens"),
    "own.n of tokens": ("{n} tokens", "{n} de tokens"),
    "own.from": ("from {first} on", "a partir de {first}"),
    "own.between": ("from {first} to {last}", "de {first} a {last}"),
    "own.replicas": ("Replicas", "Réplicas"),
    "own.machines": ("With spares", "Com reservas"),
    "own.usd a month": ("A month", "Por mês"),
    "own.needed": ("Pays from", "Compensa a partir de"),
    "own.carries": ("Carries", "Atende"),
    "own.step": ("Why", "Por quê"),
    "own.step pays": ("pays", "compensa"),
    "own.step full": ("full before it pays", "cheia antes de compensar"),
    "own.step host cheaper": ("the host is cheaper at any volume", "o provedor é mais barato sempre"),
    "own.step does not hold": ("does not hold the model", "não comporta o modelo"),
    "own.step too slow": ("not as fast as demanded", "não tão rápida quanto exigido"),
    "own.step unknown": ("by arithmetic; what it carries is unknown", "pela aritmética; não se sabe quanto atende"),
    "own.nothing": ("unknown", "desconhecido"),
    "own.none": ("none", "nenhum"),
    "own.when title": ("When, and what it is worth", "Quando, e quanto vale"),
    "own.when": ("Break-even day", "Dia do equilíbrio"),
    "own.when note": ("in {months}, at {growth} a month", "em {months}, a {growth} ao mês"),
    "own.when never": ("does not come at these prices and peaks", "não chega com estes preços e picos"),
    "own.when unknown": ("today's volume is not known", "o volume de hoje não é conhecido"),
    "own.when below": ("it pays at less than today's volume", "compensa com menos que o volume de hoje"),
    "own.when now": ("is over: it pays today", "já passou: compensa hoje"),
    "own.paid at once": ("Paid at once", "Pago de uma vez"),
    "own.payback": ("Paid back for good", "Recuperado de vez"),
    "own.payback note": ("discounted: {months}", "descontado: {months}"),
    "own.payback never": ("not within the machines' life", "não dentro da vida das máquinas"),
    "own.payback grows": (
        "The further machines that growth takes are bought out of what is saved.",
        "As outras máquinas que o crescimento exige são compradas com o que se economiza.",
    ),
    "own.npv": ("Present value", "Valor presente"),
    "own.npv note": ("at {rate} a year", "a {rate} ao ano"),
    "own.rented": (
        "Nothing is paid at once: the machines are rented.",
        "Nada é pago de uma vez: as máquinas são alugadas.",
    ),
    "own.hybrid title": (
        "Own for the base, the host for the peaks",
        "Próprias para a base, provedor para os picos",
    ),
    "own.hybrid hint": (
        "The cheapest division of today's tokens; what the own replicas do not carry in an hour goes to the host.",
        "A divisão mais barata dos tokens de hoje; o que as réplicas próprias não atendem numa hora vai ao provedor.",
    ),
    "own.hybrid none": (
        "This takes today's volume, and what a replica carries.",
        "Isto precisa do volume de hoje, e de quanto uma réplica atende.",
    ),
    "own.way": ("Way", "Forma"),
    "own.way hosted": ("All at the host", "Tudo no provedor"),
    "own.way own": ("All on own machines", "Tudo em máquinas próprias"),
    "own.way both": (
        "The cheapest: {n} own replicas, and {share} to the host",
        "O mais barato: {n} réplicas próprias, e {share} para o provedor",
    ),
    "own.way cheapest hosted": ("The cheapest: all at the host", "O mais barato: tudo no provedor"),
    "own.way both.one": (
        "The cheapest: one own replica, and {share} to the host",
        "O mais barato: uma réplica própria, e {share} para o provedor",
    ),
    "own.way cheapest own.one": (
        "The cheapest: all on one own replica",
        "O mais barato: tudo em uma réplica própria",
    ),
    "own.way cheapest own": (
        "The cheapest: all on {n} own replicas",
        "O mais barato: tudo em {n} réplicas próprias",
    ),
    "own.way forbidden": ("not allowed: a part must stay in the house", "não permitido: uma parte deve ficar em casa"),
    "own.premium": (
        "Owning would pay today if a token that stays in the house were worth {share} more to you.",
        "Ter máquinas compensaria hoje se um token que fica em casa valesse {share} mais para você.",
    ),
    "own.premium times": (
        "Owning would pay today if a token that stays in the house were worth {times} times a hosted one to you.",
        "Ter máquinas compensaria hoje se um token que fica em casa valesse para você {times} vezes um externo.",
    ),
    "own.premium none": (
        "Owning costs no more even if privacy is worth nothing.",
        "Ter máquinas não custa mais nem se a privacidade nada valer.",
    ),
    "own.used title": (
        "What a million tokens cost on own machines",
        "Quanto custa um milhão de tokens em máquinas próprias",
    ),
    "own.used hint": (
        "The same money, over all tokens and over the written ones alone: never compare the one with the other.",
        "O mesmo dinheiro, sobre todos os tokens e só sobre os escritos: nunca compare um com o outro.",
    ),
    "own.used picture": (
        "What a million tokens cost over how busy the machines are, in lines. The table below has every figure.",
        "Quanto custa um milhão de tokens conforme a ocupação das máquinas, em linhas. A tabela abaixo tem cada "
        "número.",
    ),
    "own.used": ("Busy", "Ocupação"),
    "own.per million": ("A million of all tokens", "Um milhão de todos os tokens"),
    "own.per million written": ("A million written tokens", "Um milhão de tokens escritos"),
    "own.per million host": ("A million at the host", "Um milhão no provedor"),
    "own.idle": (
        "Today they would be busy {share} of the time on average, spare ones counted in; {usd} a month are paid while "
        "they wait.",
        "Hoje estariam ocupadas {share} do tempo em média, contando as de reserva; {usd} por mês são pagos enquanto "
        "esperam.",
    ),
    "own.used none": ("This takes what a replica carries.", "Isto precisa de quanto uma réplica atende."),
    "own.tornado title": ("One input at a time", "Um dado por vez"),
    "own.tornado hint": (
        "What each uncertain input does to the break-even, in tokens a day, while all others stay.",
        "O que cada dado incerto faz com o ponto de equilíbrio, em tokens por dia, enquanto os outros ficam.",
    ),
    "own.input": ("Input", "Dado"),
    "own.low": ("Low", "Baixo"),
    "own.high": ("High", "Alto"),
    "own.at low": ("Break-even at low", "Equilíbrio no baixo"),
    "own.at high": ("Break-even at high", "Equilíbrio no alto"),
    "own.spread": ("Spread", "Amplitude"),
    "own.no break-even": ("never", "nunca"),
    "own.band title": ("All inputs at once", "Todos os dados de uma vez"),
    "own.band hint": (
        "{n} draws, every uncertain input from its own range: the break-even lands within this band nine times out "
        "of ten.",
        "{n} sorteios, cada dado incerto da sua faixa: o ponto de equilíbrio cai nesta banda nove vezes em dez.",
    ),
    "own.p5": ("Low", "Baixo"),
    "own.p50": ("Middle", "Meio"),
    "own.p95": ("High", "Alto"),
    "own.probability": ("Cheaper at today's volume", "Mais barato com o volume de hoje"),
    "own.draws never": ("No break-even at all", "Sem ponto de equilíbrio"),
    "own.of draws": ("of the draws", "dos sorteios"),
    "own.tokens a day in": ("tokens a day", "tokens por dia"),
    # every figure
    "own.inputs title": ("Every figure, and where it comes from", "Cada número, e de onde vem"),
    "own.inputs hint": (
        "Try another figure for this look alone: nothing is saved, and the address keeps it. Money is in US dollars "
        "here.",
        "Experimente outro número só para esta visita: nada é salvo, e o endereço o guarda. Aqui o dinheiro é em "
        "dólares.",
    ),
    "own.figure": ("Figure", "Número"),
    "own.value": ("Value", "Valor"),
    "own.source": ("Where it comes from", "De onde vem"),
    "own.age": ("Age", "Idade"),
    "own.try": ("Try", "Experimentar"),
    "own.try what": ("Try another: {what}", "Experimentar outro: {what}"),
    "own.show": ("Show", "Mostrar"),
    "own.reset": ("All as it was", "Tudo como estava"),
    "own.days old": ("{n} days", "{n} dias"),
    "own.days old.one": ("{n} day", "{n} dia"),
    "own.days old none": ("of today", "de hoje"),
    "own.age unknown": ("no day stated", "sem data"),
    "own.unit": ("Unit", "Unidade"),
    "own.origin": ("Kind of source", "Tipo de fonte"),
    "own.day": ("Day", "Dia"),
    "own.age in days": ("Age in days", "Idade em dias"),
    "own.origin unknown": ("unknown", "desconhecido"),
    "own.ranges title": ("Between which values it may lie", "Entre quais valores pode estar"),
    "own.command title": ("The same on the command line", "O mesmo na linha de comando"),
    "own.rates": ("{code} at {rate} for a dollar, of {day}.", "{code} a {rate} por dólar, de {day}."),
    "own.asks USD/GPU-h": ("USD an hour", "USD por hora"),
    "own.asks USD/M tokens": ("USD a million", "USD o milhão"),
    "own.asks USD/month": ("USD a month", "USD por mês"),
    "own.asks share": ("%", "%"),
    "own.asks tokens/day": ("million tokens a day", "milhões de tokens por dia"),
    "own.asks tokens/s": ("tokens a second", "tokens por segundo"),
    "own.asks replicas": ("replicas", "réplicas"),
    "own.asks x": ("times", "vezes"),
}

PROFILE_NOTES: dict[str, str] = {
    "without drafts; up to 16 requests the cell Low-Latency, at 64 Balanced": (
        "sem rascunhos; até 16 requisições a célula Low-Latency, com 64 a Balanced"
    ),
    "with DSPARK drafts; up to 16 requests the cell Low-Latency, at 64 Balanced. Agents with more than 100,000 tokens "
    "accept 1.16 to 2.01 drafted tokens a step, far fewer than these prompts: do not plan them with it. Reading is "
    "that of the curve without drafts": (
        "com rascunhos DSPARK; até 16 requisições a célula Low-Latency, com 64 a Balanced. Agentes com mais de 100.000 "
        "tokens aceitam de 1,16 a 2,01 tokens de rascunho por passo, bem menos que estes prompts: não os planeje com "
        "isto. A leitura é a da curva sem rascunhos"
    ),
    "with DSpark drafts, as of the main branch; release 0.27.1 writes 83, 167 and 258 tokens a second": (
        "com rascunhos DSpark, no branch principal; a versão 0.27.1 escreve 83, 167 e 258 tokens por segundo"
    ),
}
"""The catalog's notes on profiles that rates are taken from, in Portuguese."""
