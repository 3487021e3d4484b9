"""The sentences of an answer about fit, in English and Portuguese, by their codes."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    # the verdict
    "verdict.native_verified": (
        "Yes. It runs in its native form, and somebody has run it on such machines.",
        "Sim. Roda na forma nativa, e alguém já rodou em máquinas assim.",
    ),
    "verdict.native_unverified": (
        "Yes, by arithmetic. The native form fits, but nobody is known to have run it on such machines.",
        "Sim, pela aritmética. A forma nativa cabe, mas não se sabe de ninguém que a tenha rodado em máquinas assim.",
    ),
    "verdict.quant_gpu": (
        "Yes, in a quantised form that lies whole in the accelerators' memory.",
        "Sim, numa forma quantizada que fica inteira na memória dos aceleradores.",
    ),
    "verdict.quant_hybrid": (
        "Yes, but slowly: the experts lie in the host's memory.",
        "Sim, mas devagar: os especialistas ficam na memória do computador.",
    ),
    "verdict.quant_hybrid.layers": (
        "Yes, but slowly: a part of the layers lies in the host's memory.",
        "Sim, mas devagar: uma parte das camadas fica na memória do computador.",
    ),
    "verdict.quant_hybrid.processor": (
        "Yes, but slowly: the processor computes, and all of it lies in the computer's memory.",
        "Sim, mas devagar: quem calcula é o processador, e tudo fica na memória do computador.",
    ),
    "verdict.disk_stream": (
        "It starts, no more: the weights are read from the disk for every token. That is a trial, not a service.",
        "Só dá partida: os pesos são lidos do disco a cada token. É um experimento, não um serviço.",
    ),
    "verdict.no": ("No.", "Não."),
    "tight": (
        "It is tight: less than an eighth of the memory is left.",
        "Fica apertado: sobra menos de um oitavo da memória.",
    ),
    "text": ("{text}", "{text}"),
    # why
    "why.verified": (
        "{machines} {have} {there_bytes}, {needed_bytes} are needed, and {engine} is known to run it so.",
        "{machines} {have} {there_bytes}, são precisos {needed_bytes}, e sabe-se que o {engine} o roda assim.",
    ),
    "why.stated": (
        "{machines} {have} {there_bytes}, {needed_bytes} are needed, and a recipe for {engine} names this shape.",
        "{machines} {have} {there_bytes}, são precisos {needed_bytes}, e uma receita do {engine} cita esta forma.",
    ),
    "why.arithmetic": (
        "{machines} {have} {there_bytes} and {needed_bytes} are needed; no recipe for it is known.",
        "{machines} {have} {there_bytes} e são precisos {needed_bytes}; não se conhece receita para isso.",
    ),
    "why.quantised": (
        "{machines} {have} {there_bytes}, and {quant} needs {needed_bytes}.",
        "{machines} {have} {there_bytes}, e {quant} precisa de {needed_bytes}.",
    ),
    "why.host_memory": (
        "Accelerator memory alone is too small: {in_memory_bytes} of the {needed_bytes} lie in the host's memory and "
        "are read from there.",
        "A memória de aceleradores sozinha não basta: {in_memory_bytes} dos {needed_bytes} ficam na memória do "
        "computador e são lidos de lá.",
    ),
    "why.cpu_memory": (
        "There is no accelerator; all {needed_bytes} lie in the host's memory and are read from there.",
        "Não há acelerador; todos os {needed_bytes} ficam na memória do computador e são lidos de lá.",
    ),
    "why.disk": (
        "All memory together is {there_bytes}, the weights are {weights_bytes}: they stay on the disk and pass through "
        "memory for every token.",
        "Toda a memória soma {there_bytes}, os pesos são {weights_bytes}: ficam no disco e passam pela memória a cada "
        "token.",
    ),
    "why.too_small": (
        "{machines} {have} {there_bytes}; the weights of {model} ({quant}) take {weights_bytes}, and with cache and "
        "workspace it is {needed_bytes}.",
        "{machines} {have} {there_bytes}; os pesos de {model} ({quant}) tomam {weights_bytes}, e com cache e espaço "
        "de trabalho são {needed_bytes}.",
    ),
    "why.too_small.minimum": (
        "{machines} {have} {there_bytes}; the weights of {model} ({quant}) take {weights_bytes}, and with cache and "
        "workspace it is {needed_bytes}. The smallest shape that {engine} is known for has {gpus_needed} of them.",
        "{machines} {have} {there_bytes}; os pesos de {model} ({quant}) tomam {weights_bytes}, e com cache e espaço "
        "de trabalho são {needed_bytes}. A menor forma conhecida para o {engine} tem {gpus_needed} delas.",
    ),
    "why.whole_layers": (
        "By the sum of bytes {machines} {would_do}, but layers are not cut anywhere: over {ranks} of them ({tensor} "
        "for each layer, {pipeline} stages) the fullest would take {fullest_bytes}, and one has {each_bytes}.",
        "Pela soma dos bytes {machines} {would_do}, mas as camadas não se cortam em qualquer lugar: em {ranks} "
        "delas ({tensor} por camada, {pipeline} estágios) a mais cheia tomaria {fullest_bytes}, e cada uma tem "
        "{each_bytes}.",
    ),
    "why.whole_layers.most": (
        "By the sum of bytes {machines} {would_do}, but llama.cpp spreads a model over {most} devices at most: the "
        "fullest would take {fullest_bytes}, and one has {each_bytes}.",
        "Pela soma dos bytes {machines} {would_do}, mas o llama.cpp espalha um modelo por no máximo {most} "
        "dispositivos: o mais cheio tomaria {fullest_bytes}, e cada um tem {each_bytes}.",
    ),
    "why.no_room_for_cache": (
        "The weights fit, but beside them {free_bytes} are left: not enough for the requests and the context that were "
        "asked.",
        "Os pesos cabem, mas ao lado sobram {free_bytes}: não basta para os pedidos e o contexto que foram pedidos.",
    ),
    "why.below_minimum": (
        "By bytes alone {machines} {would_do}, but the smallest shape that {engine} is known for has {gpus_needed} "
        "of them.",
        "Só pelos bytes {machines} {would_do}, mas a menor forma conhecida para o {engine} tem {gpus_needed} delas.",
    ),
    "why.unsupported": (
        "It is known not to work on {gpu}.",
        "Sabe-se que não funciona em {gpu}.",
    ),
    "why.beyond_recipe": (
        "On {machines} the recipe for {engine} is held to {recipe_context} tokens and {recipe_concurrency} "
        "requests at once.",
        "Em {machines} a receita do {engine} se limita a {recipe_context} tokens e {recipe_concurrency} pedidos "
        "por vez.",
    ),
    "why.beyond_recipe.context": (
        "On {machines} the recipe for {engine} is held to {recipe_context} tokens.",
        "Em {machines} a receita do {engine} se limita a {recipe_context} tokens.",
    ),
    "why.beyond_recipe.concurrency": (
        "On {machines} the recipe for {engine} is held to {recipe_concurrency} requests at once.",
        "Em {machines} a receita do {engine} se limita a {recipe_concurrency} pedidos por vez.",
    ),
    "why.tensor": (
        "Engines cannot divide it so ({tensor} ranks for each layer in {pipeline} stages): {rule}.",
        "Os motores não conseguem dividi-lo assim ({tensor} placas por camada em {pipeline} estágios): {rule}.",
    ),
    "why.context_beyond_model": (
        "{model} reads at most {max_context} tokens, and {context} were asked.",
        "{model} lê no máximo {max_context} tokens, e foram pedidos {context}.",
    ),
    "why.nas": (
        "It has no accelerator, and less memory than the weights take ({weights_bytes}): it is a place for data, not "
        "for such a model.",
        "Não tem acelerador, e tem menos memória do que os pesos tomam ({weights_bytes}): é um lugar para dados, não "
        "para um modelo assim.",
    ),
    "why.little_memory": (
        "There is no accelerator, and the weights ({weights_bytes}) take more than the {there_bytes} of memory: with "
        "so little beside them, reading them from a disk for every token is no way either.",
        "Não há acelerador, e os pesos ({weights_bytes}) tomam mais que os {there_bytes} de memória: com tão pouco ao "
        "lado, lê-los de um disco a cada token também não é caminho.",
    ),
    "why.unknown_memory": (
        "No memory at all is known: give the accelerators' or the computer's.",
        "Não se conhece memória alguma: dê a dos aceleradores ou a do computador.",
    ),
    "counted": ("{count} × {gpu}", "{count} × {gpu}"),
    "have": ("have", "têm"),
    "have.one": ("has", "tem"),
    "would_do": ("would do", "bastariam"),
    "would_do.one": ("would do", "bastaria"),
    "these_hold": ("These machines hold", "Estas máquinas comportam"),
    "these_hold.one": ("This machine holds", "Esta máquina comporta"),
    "rule.replica_minimum": (
        "fewer devices than the smallest shape that any engine is known for",
        "menos dispositivos que a menor forma conhecida de qualquer motor",
    ),
    "rule.unsupported": ("known not to work on these devices", "sabe-se que não funciona nestes dispositivos"),
    "rule.recipe_limits": (
        "more context or more requests than the recipe allows",
        "mais contexto ou mais pedidos do que a receita permite",
    ),
    "rule.tensor_ranks": (
        "tensor parallelism goes by 1, 2, 4, 8, 16 or 32",
        "o paralelismo de tensores vai por 1, 2, 4, 8, 16 ou 32",
    ),
    "rule.tensor_heads": ("the ranks do not divide the heads", "as placas não dividem as cabeças"),
    "rule.context_ranks": (
        "the number of ranks that share the cache does not divide that of ranks that share a layer",
        "o número de placas que partilham o cache não divide o das que partilham uma camada",
    ),
    "rule.tensor_vocabulary": ("the ranks do not divide the vocabulary", "as placas não dividem o vocabulário"),
    "rule.too_few_devices": ("fewer devices than ranks", "menos dispositivos que placas pedidas"),
    "trait.padding": (
        "Engines pad the experts to equal parts: on this shape that takes {padding_bytes} more than the files.",
        "Os motores completam os especialistas em partes iguais: nesta forma isso toma {padding_bytes} além dos "
        "arquivos.",
    ),
    "trait.contested": (
        "Another source says of such devices that it does not work there.",
        "Outra fonte diz que em tais dispositivos não funciona.",
    ),
    "trait.limited": (
        "The recipe for this shape is held to a short context or few requests.",
        "A receita para esta forma se limita a um contexto curto ou a poucos pedidos.",
    ),
    "note.no_repository": (
        "Where {quant} of {model} is published is not recorded here, so there is no line to fetch it: put its files "
        "into ./{folder}.",
        "Não está registrado aqui onde {quant} de {model} foi publicado, então não há linha para baixá-lo: ponha os "
        "arquivos em ./{folder}.",
    ),
    "trait.copies": (
        "So many requests take {copies} copies of the model, each on {ranks} accelerators: every copy is an engine and "
        "a deployment of its own.",
        "Tantos pedidos precisam de {copies} cópias do modelo, cada uma em {ranks} aceleradores: cada cópia é um motor "
        "e uma implantação própria.",
    ),
    "trait.idle": (
        "{idle} of the accelerators stand idle: a copy of the model takes {ranks}.",
        "Ficam parados {idle} dos aceleradores: uma cópia do modelo ocupa {ranks}.",
    ),
    "trait.idle.one": (
        "One of the accelerators stands idle: a copy of the model takes {ranks}.",
        "Fica parado um dos aceleradores: uma cópia do modelo ocupa {ranks}.",
    ),
    "trait.more_copies": (
        "Copies of the model side by side are counted in the most requests at once; what stands idle has room for "
        "{more} more.",
        "O máximo de pedidos por vez conta cópias do modelo lado a lado; no que fica parado cabem mais {more}.",
    ),
    "trait.workspace_share": (
        "The engine's workspace ({workspace_bytes}) is assumed: 8% of the memory, where guides say 5 to 15%.",
        "O espaço de trabalho do motor ({workspace_bytes}) é suposto: 8% da memória, onde os guias dizem 5 a 15%.",
    ),
    "trait.workspace_stated": (
        "What the engine takes beside the weights ({workspace_bytes}) is as the source of the form states it.",
        "O que o motor toma além dos pesos ({workspace_bytes}) é o que diz a fonte da forma.",
    ),
    "trait.expansion": (
        "The weights grow when they are loaded, since the engine keeps them in a wider form.",
        "Os pesos crescem ao carregar, pois o motor os mantém numa forma mais larga.",
    ),
    "trait.no_fp4": (
        "These devices do not compute in four bits: the weights are unpacked while it runs, which costs speed.",
        "Estes dispositivos não calculam em quatro bits: os pesos são expandidos durante o uso, o que custa "
        "velocidade.",
    ),
    # what it takes
    "part.weights": ("Weights", "Pesos"),
    "part.kda_state": ("State of each request (KDA)", "Estado de cada pedido (KDA)"),
    "part.mla_cache": ("Attention cache", "Cache da atenção"),
    "part.padding": ("Padding of the experts", "Preenchimento dos especialistas"),
    "part.workspace": ("Workspace of the engine", "Espaço de trabalho do motor"),
    "not given": ("not given", "não foi dado"),
    "budget.accelerator": ("Accelerator memory", "Memória dos aceleradores"),
    "budget.cache": ("Cache", "Cache"),
    "budget.host_memory": ("Host memory", "Memória do computador"),
    "budget.disk": ("Disk, staging included", "Disco, com a área de preparo"),
    "speed.serves": ("serves people: 30 tokens a second or more", "serve a pessoas: 30 tokens por segundo ou mais"),
    "speed.reads along": (
        "as fast as one reads: 5 to 30 tokens a second",
        "na velocidade da leitura: 5 a 30 tokens por segundo",
    ),
    "speed.waits": ("one waits: 0.5 to 5 tokens a second", "é preciso esperar: 0,5 a 5 tokens por segundo"),
    "speed.overnight": (
        "overnight: less than 0.5 tokens a second",
        "para deixar de noite: menos de 0,5 token por segundo",
    ),
    "speed.unknown": ("unknown", "desconhecida"),
    "ceiling": (
        "One answer is not faster than about {ceiling_tps} tokens a second: 65% of what the bandwidth allows that the "
        "weights are read with, a share that is fitted to one measured machine.",
        "Uma resposta não passa de cerca de {ceiling_tps} tokens por segundo: 65% do que permite a banda com que os "
        "pesos são lidos, fração ajustada a uma máquina medida.",
    ),
    # what is worth knowing
    "note.active_is_not_stored": (
        "Active is not stored. {active_parameters} parameters compute a token ({active_bytes} read), but the next "
        "token may need any of the {parameters}: all {weights_bytes} have to be held.",
        "Ativo não é armazenado. {active_parameters} de parâmetros calculam um token ({active_bytes} lidos), mas o "
        "próximo token pode precisar de qualquer um dos {parameters}: é preciso guardar todos os {weights_bytes}.",
    ),
    "note.nas": (
        "Network storage is for the data: keep the documents, their index and the model's files on it, private and at "
        "home, and leave inference of a frontier model to other machines or to a host.",
        "Um NAS é para os dados: guarde nele os documentos, o índice e os arquivos do modelo, privados e em casa, e "
        "deixe a inferência de um modelo de fronteira para outras máquinas ou para um provedor.",
    ),
    "note.little_memory": (
        "Keep the documents and their index on it, private and at home, and leave inference of such a model to other "
        "machines or to a host.",
        "Guarde nele os documentos e o índice, privados e em casa, e deixe a inferência de um modelo assim para outras "
        "máquinas ou para um provedor.",
    ),
    "note.longest": (
        "The longest request that is held there has {longest} tokens ({verdict}).",
        "O pedido mais longo que cabe ali tem {longest} tokens ({verdict}).",
    ),
    "note.doubtful": (
        "Somebody tells of {quant} that it does not work: it is recommended nowhere here.",
        "Há quem diga que {quant} não funciona: aqui não é recomendado em lugar nenhum.",
    ),
    "note.on.form": ("{quant}: {text}.", "{quant}: {text}."),
    "note.on.disk": ("The disk that {quant} takes: {text}.", "O disco que {quant} ocupa: {text}."),
    "note.on.active_bits": ("What a token reads of {quant}: {text}.", "O que um token lê de {quant}: {text}."),
    "note.on.pattern": ("The files of {quant}: {text}.", "Os arquivos de {quant}: {text}."),
    "note.one_computer": (
        "Memory of {count} computers does not add up to one: the answer is for one of them.",
        "A memória de {count} computadores não se soma numa só: a resposta vale para um deles.",
    ),
    "note.unknown_gpu": (
        "{gpu} is not known here: its memory and bandwidth are the figures that you gave.",
        "{gpu} não é conhecido aqui: memória e banda são os números que você deu.",
    ),
    "note.no_bandwidth": (
        "The bandwidth of the accelerators' memory is not known, so no speed is stated: give it ({option}).",
        "A banda da memória dos aceleradores não é conhecida, então não se diz velocidade: informe-a ({option}).",
    ),
    "note.no_host_bandwidth": (
        "The bandwidth of the host's memory is not known, so no speed is stated: give it ({option}).",
        "A banda da memória do computador não é conhecida, então não se diz velocidade: informe-a ({option}).",
    ),
    "note.no_disk_bandwidth": (
        "The bandwidth of the disk is not known, so no speed is stated: give it ({option}).",
        "A banda do disco não é conhecida, então não se diz velocidade: informe-a ({option}).",
    ),
    "note.label_counts": (
        "No driver's figure for {gpu} is known; the vendor's label of {label_bytes} counts.",
        "Não se conhece o número do driver para {gpu}; vale a etiqueta do fabricante, {label_bytes}.",
    ),
    "note.host_not_given": (
        "No host memory was given, so none counts ({option}).",
        "Nenhuma memória do computador foi dada, então não conta nenhuma ({option}).",
    ),
    "note.disk_not_given": (
        "No free disk was given, so none counts ({option}); the download alone needs {disk_bytes}.",
        "Nenhum disco livre foi dado, então não conta nenhum ({option}); só o download precisa de {disk_bytes}.",
    ),
    "note.disk_short": (
        "The disk is too small for the download: it needs {disk_bytes} with its staging, and {there_bytes} are free.",
        "O disco é pequeno para o download: precisa de {disk_bytes} com o preparo, e {there_bytes} estão livres.",
    ),
    "note.cache_fp8": (
        "The attention cache is reckoned in FP8, as vLLM's recipe for such hardware sets it ({option}: bf16 for 16 "
        "bits).",
        "O cache da atenção é calculado em FP8, como na receita do vLLM para tal hardware ({option}: bf16 para 16 "
        "bits).",
    ),
    "note.cache_bf16": (
        "The attention cache is reckoned in 16 bits ({option}: fp8 halves it, where the engine can).",
        "O cache da atenção é calculado em 16 bits ({option}: fp8 reduz à metade, onde o motor consegue).",
    ),
    "note.two_pools": (
        "Two pools bound it: states bound how many requests there are ({state_bytes} a slot, {slots} for each "
        "request), the attention cache bounds their tokens ({token_bytes} each, on one rank).",
        "Dois reservatórios limitam: os estados limitam quantos pedidos há ({state_bytes} por posição, {slots} por "
        "pedido), o cache da atenção limita os tokens deles ({token_bytes} cada, em uma placa).",
    ),
    "note.take_gguf": (
        "{engine} holds weights in memory of accelerators' own alone: for this way take {quant}, which llama.cpp runs.",
        "O {engine} só guarda pesos em memória própria de aceleradores: para este caminho use {quant}, que o llama.cpp "
        "roda.",
    ),
    "note.other_engine": (
        "{engine} is what is known to hold it so: Soleira writes no line that starts it.",
        "Quem se sabe que o comporta assim é o {engine}: a Soleira não escreve a linha que o inicia.",
    ),
    "note.no_gguf": (
        "{engine} holds weights in memory of accelerators' own alone, and no form of {model} for llama.cpp is in the "
        "catalog.",
        "O {engine} só guarda pesos em memória própria de aceleradores, e nenhuma forma de {model} para o llama.cpp "
        "está no catálogo.",
    ),
    "note.no_geometry": (
        "The layers of {model} are not known exactly, so its cache is not reckoned and no context is promised.",
        "As camadas de {model} não são conhecidas com exatidão: o cache não é calculado e nenhum contexto é prometido.",
    ),
    "note.closed": (
        "The weights of {model} are not public: it can only be called at its maker's, whatever machines there are.",
        "Os pesos de {model} não são públicos: só se pode chamá-lo no fabricante, com as máquinas que for.",
    ),
    # what would hold it
    "instead.more": (
        "{count} × {gpu} hold {quant} ({verdict}).",
        "{count} × {gpu} comportam {quant} ({verdict}).",
    ),
    "instead.quant": (
        "{these_hold} {quant}, {quality} ({verdict}).",
        "{these_hold} {quant}, {quality} ({verdict}).",
    ),
    "instead.model": (
        "{these_hold} another model: {model} in the form {quant} ({verdict}).",
        "{these_hold} outro modelo: {model} na forma {quant} ({verdict}).",
    ),
    "instead.shape": (
        "{count} × {gpu} in one machine hold {quant} with {engine} ({status}).",
        "{count} × {gpu} em uma máquina comportam {quant} com {engine} ({status}).",
    ),
    "instead.shapes": (
        "{count} × {gpu} in {nodes} machines hold {quant} with {engine} ({status}).",
        "{count} × {gpu} em {nodes} máquinas comportam {quant} com {engine} ({status}).",
    ),
    "instead.hosted": (
        "A host runs it for a few dollars a million tokens: 'soleira break-even' says when owning pays.",
        "Um provedor o roda por poucos dólares o milhão de tokens: 'soleira break-even' diz quando compensa ter "
        "máquina.",
    ),
    "status.verified": ("somebody ran it", "alguém já rodou"),
    "status.stated": ("a recipe names it", "uma receita cita"),
    "status.unsupported": ("known not to work", "sabe-se que não funciona"),
    "quality.unknown": ("of unknown loss", "de perda desconhecida"),
    "called.native_verified": ("native, verified", "nativo, verificado"),
    "called.native_unverified": ("native, by arithmetic", "nativo, pela aritmética"),
    "called.quant_gpu": ("quantised, on the accelerators", "quantizado, nos aceleradores"),
    "called.quant_hybrid": ("in part in host memory", "em parte na memória do computador"),
    "called.disk_stream": ("read from disk for every token", "lido do disco a cada token"),
    "called.no": ("no", "não"),
    # how the accelerators are joined
    "link.single": (
        "One accelerator: nothing has to pass between cards.",
        "Um acelerador: nada precisa passar entre placas.",
    ),
    "link.nvlink": (
        "Within a node every layer crosses {link}: the {count} cards have to be joined by it, not by PCIe alone.",
        "Dentro de um nó cada camada cruza {link}: as {count} placas precisam estar unidas por ele, não só por PCIe.",
    ),
    "link.fabric": (
        "Within a node every layer crosses {link}: the {count} cards have to be joined by it.",
        "Dentro de um nó cada camada cruza {link}: as {count} placas precisam estar unidas por ele.",
    ),
    "link.mnnvl": (
        "Trays of four are joined by {link} over up to {domain} cards: keep NCCL_MNNVL_ENABLE=1 and "
        "NCCL_CUMEM_ENABLE=1.",
        "Bandejas de quatro são unidas por {link} até {domain} placas: mantenha NCCL_MNNVL_ENABLE=1 e "
        "NCCL_CUMEM_ENABLE=1.",
    ),
    "link.rdma": (
        "{nodes} nodes: between them InfiniBand or RoCE with RDMA, one port for each card; over Ethernet without RDMA "
        "decoding waits for the network.",
        "{nodes} nós: entre eles InfiniBand ou RoCE com RDMA, uma porta por placa; em Ethernet sem RDMA a geração "
        "espera pela rede.",
    ),
    "link.pcie": (
        "These cards have PCIe alone: tensor parallelism over {count} of them is bound by it, so put whole layers on "
        "each card instead.",
        "Estas placas têm só PCIe: o paralelismo de tensores em {count} delas é limitado por ele; ponha camadas "
        "inteiras em cada placa.",
    ),
    "link.unified": (
        "One memory for processor and accelerator: nothing is copied between them.",
        "Uma só memória para processador e acelerador: nada é copiado entre eles.",
    ),
    "link.computers": (
        "{count} computers with no fabric between them: llama.cpp joins them by its rpc-server, and every token "
        "crosses the network.",
        "{count} computadores sem ligação rápida entre si: o llama.cpp os une pelo rpc-server, e cada token cruza a "
        "rede.",
    ),
    "link.memory_channels": (
        "The processor's memory channels are the way: fill all of them, and bind the engine to each socket's own.",
        "O caminho são os canais de memória do processador: ocupe todos e prenda o motor aos de cada soquete.",
    ),
    "link.unknown": (
        "How {count} × {gpu} are joined is not known: without a fast link tensor parallelism is slow.",
        "Não se sabe como {count} × {gpu} se ligam: sem ligação rápida o paralelismo de tensores é lento.",
    ),
    # before the first start
    "preflight.disk": (
        "Free disk: {disk_bytes} with staging, caches and partial files.",
        "Disco livre: {disk_bytes} com preparo, caches e arquivos parciais.",
    ),
    "preflight.disk_there": (
        "Free disk: {there_bytes} are there, {disk_bytes} are needed.",
        "Disco livre: há {there_bytes}, são precisos {disk_bytes}.",
    ),
    "preflight.driver": (
        "NVIDIA driver {needed} or newer (CUDA 13): 'nvidia-smi' says which it is.",
        "Driver NVIDIA {needed} ou mais novo (CUDA 13): 'nvidia-smi' diz qual é.",
    ),
    "preflight.driver_there": (
        "NVIDIA driver {driver}; {needed} or newer is needed (CUDA 13).",
        "Driver NVIDIA {driver}; é preciso {needed} ou mais novo (CUDA 13).",
    ),
    "preflight.links": (
        "The cards see each other over NVLink: 'nvidia-smi topo -m' shows NV between all of them.",
        "As placas se veem por NVLink: 'nvidia-smi topo -m' mostra NV entre todas.",
    ),
    "preflight.links_yes": (
        "The cards see each other over NVLink ('nvidia-smi topo -m').",
        "As placas se veem por NVLink ('nvidia-smi topo -m').",
    ),
    "preflight.links_no": (
        "'nvidia-smi topo -m' shows no NVLink between the cards: every layer would cross PCIe.",
        "'nvidia-smi topo -m' não mostra NVLink entre as placas: cada camada cruzaria o PCIe.",
    ),
    "preflight.network": (
        "RDMA between the nodes works at its rated speed ('ib_write_bw', then an all-reduce of NCCL's tests).",
        "O RDMA entre os nós funciona na velocidade nominal ('ib_write_bw', depois um all-reduce dos testes da NCCL).",
    ),
    "preflight.parts": (
        "All {files} parts are there, {file_bytes} in all, before the engine is started.",
        "Todas as {files} partes estão lá, {file_bytes} ao todo, antes de iniciar o motor.",
    ),
    "preflight.revision": (
        "The commit is written down: what is downloaded later may be another model under the same name.",
        "O commit está anotado: o que for baixado depois pode ser outro modelo com o mesmo nome.",
    ),
    "preflight.build": (
        "The engine is a build that knows {model}: its start log names the model's architecture.",
        "O motor é uma versão que conhece {model}: o registro de partida cita a arquitetura do modelo.",
    ),
    "preflight.small": (
        "Start small: a short context, one request at a time; then change one thing at a time.",
        "Comece pequeno: contexto curto, um pedido por vez; depois mude uma coisa de cada vez.",
    ),
    "preflight.measure": (
        "When it answers, 'soleira measure' finds what it really carries.",
        "Quando responder, 'soleira measure' descobre quanto ele de fato carrega.",
    ),
    "preflight.driver_amd": (
        "ROCm as the image's notes ask for; 'rocm-smi' lists all {count} cards.",
        "ROCm como pedem as notas da imagem; 'rocm-smi' lista todas as {count} placas.",
    ),
    # known traps
    "trap.no_revision": (
        "No commit is recorded for this repository. Choose one at {address} and put it in place of {commit}: a branch "
        "can change under you.",
        "Nenhum commit está registrado para este repositório. Escolha um em {address} e ponha no lugar de {commit}: "
        "um branch pode mudar sem aviso.",
    ),
    "trap.resume": (
        "A download that stops goes on where it was when the same line is run again.",
        "Um download que para continua de onde estava quando se roda a mesma linha.",
    ),
    "trap.cuda13": (
        "The K3 image exists for CUDA 13 alone: the host needs driver {driver} or newer, and an older one fails at "
        "the start.",
        "A imagem do K3 só existe para CUDA 13: o computador precisa do driver {driver} ou mais novo; com um mais "
        "velho a partida falha.",
    ),
    "trap.fp8_attention": (
        "An FP8 cache needs --attention-config with query quantisation and an MLA prefill backend that can do it; "
        "without both, the first prompt ends the engine. FLASHINFER, TRTLLM_RAGGED and TOKENSPEED_MLA can; what the "
        "engine chooses by itself may not.",
        "Um cache FP8 precisa de --attention-config com quantização das consultas e um backend MLA de leitura capaz "
        "disso; sem os dois, o primeiro pedido derruba o motor. FLASHINFER, TRTLLM_RAGGED e TOKENSPEED_MLA conseguem; "
        "o que o motor escolhe sozinho pode não conseguir.",
    ),
    "trap.fp8_hopper": (
        "An FP8 cache of K3 does not work on Hopper, whatever is set: the cache stays in 16 bits.",
        "Um cache FP8 do K3 não funciona em Hopper, com qualquer ajuste: o cache fica em 16 bits.",
    ),
    "trap.prefix_off": (
        "Prefix caching is off for K3 unless --enable-prefix-caching says otherwise; without it every turn of a "
        "conversation is read anew.",
        "O cache de prefixos vem desligado para o K3, a menos que se diga --enable-prefix-caching; sem ele cada volta "
        "da conversa é lida de novo.",
    ),
    "trap.hopper_limits": (
        "On Hopper the recipe holds K3 to {requests} requests and {length_tokens} tokens each: weights are expanded "
        "while it runs. That is a trial, not a service.",
        "Em Hopper a receita limita o K3 a {requests} pedidos e {length_tokens} tokens cada: os pesos são expandidos "
        "enquanto roda. É um experimento, não um serviço.",
    ),
    "trap.h200_out_of_memory": (
        "The recipe for H200 has run out of memory for at least one person, and as stages (TP8 × PP2) it ended in "
        "another error (cp_world_size).",
        "A receita para H200 já estourou a memória de pelo menos uma pessoa, e em estágios (TP8 × PP2) terminou em "
        "outro erro (cp_world_size).",
    ),
    "trap.groups": (
        "On these machines the recipe was run as {groups} data-parallel groups, one on each node, that share the "
        "experts; the bytes are reckoned as if stages followed each other.",
        "Nestas máquinas a receita foi rodada como {groups} grupos de dados em paralelo, um por nó, que dividem os "
        "especialistas; os bytes são calculados como se os estágios se seguissem.",
    ),
    "trap.copies": (
        "Start it {copies} times, each on {ranks} accelerators of its own and on a port of its own, and give Soleira a "
        "deployment for each.",
        "Inicie {copies} vezes, cada uma com {ranks} aceleradores e uma porta próprios, e dê à Soleira uma implantação "
        "para cada.",
    ),
    "trap.other_recipe": (
        "Image and options are those of {other}: which build knows {model} is not recorded here.",
        "A imagem e as opções são as do {other}: não está registrado aqui qual versão conhece o {model}.",
    ),
    "trap.llama_rpc": (
        "The line sees the accelerators of one computer: if the {count} are in several, llama.cpp's rpc-server on each "
        "of the others and --rpc HOST:PORT join them. It asks for no password, and every token crosses the network.",
        "A linha vê os aceleradores de um só computador: se os {count} estão em vários, o rpc-server do llama.cpp em "
        "cada um dos outros e --rpc HOST:PORTA os unem. Ele não pede senha, e cada token cruza a rede.",
    ),
    "trap.layers_in_memory": (
        "--n-gpu-layers is reckoned as if all layers were alike: if it runs out of memory at the start, lower it.",
        "--n-gpu-layers é calculado como se todas as camadas fossem iguais: se faltar memória na partida, reduza.",
    ),
    "trap.pipeline_memory": (
        "With pipeline parallelism --gpu-memory-utilization 0.95 runs out of memory: 0.90 holds.",
        "Com paralelismo em estágios, --gpu-memory-utilization 0.95 estoura a memória: 0.90 aguenta.",
    ),
    "trap.padding": (
        "Experts are padded to equal parts: at 8 ranks 180.8 GB are pinned on a card, at 16 and more 120.5 GB, more "
        "than weights divided by ranks.",
        "Os especialistas são completados em partes iguais: com 8 placas ficam presos 180,8 GB em cada, com 16 ou "
        "mais 120,5 GB, acima dos pesos divididos.",
    ),
    "trap.slow_start": (
        "Loading takes long; VLLM_ENGINE_READY_TIMEOUT_S=3600 keeps the engine from giving up.",
        "Carregar demora; VLLM_ENGINE_READY_TIMEOUT_S=3600 evita que o motor desista.",
    ),
    "trap.sglang_pools": (
        "States and cache share one memory, divided at the start by --mamba-full-memory-ratio: if requests wait while "
        "the cache is empty, give more to the states (or --mamba-radix-cache-strategy extra_buffer_lazy: four slots "
        "a request instead of five).",
        "Estados e cache dividem uma memória, repartida na partida por --mamba-full-memory-ratio: se pedidos esperam "
        "com o cache vazio, dê mais aos estados (ou --mamba-radix-cache-strategy extra_buffer_lazy: quatro posições "
        "por pedido em vez de cinco).",
    ),
    "trap.sglang_nvfp4": (
        "The NVFP4 checkpoint needs an image of its own (lmsysorg/sglang:dev-dev-kimi-k3-nvfp4).",
        "A versão NVFP4 precisa de imagem própria (lmsysorg/sglang:dev-dev-kimi-k3-nvfp4).",
    ),
    "trap.drafts": (
        "A draft model (DSPARK) helps short prompts most: agents with 100,000 tokens and more accept 1.16 to 2.01 "
        "tokens a step.",
        "Um modelo de rascunho (DSPARK) ajuda mais em pedidos curtos: agentes com 100.000 tokens ou mais aceitam 1,16 "
        "a 2,01 tokens por passo.",
    ),
    "trap.context_shared": (
        "--ctx-size is for all slots together: {requests} × {context_tokens} tokens.",
        "--ctx-size vale para todas as posições juntas: {requests} × {context_tokens} tokens.",
    ),
    "trap.llama_memory": (
        "If it runs out of memory at the start, lower --ctx-size first.",
        "Se faltar memória na partida, reduza primeiro --ctx-size.",
    ),
    "trap.gguf_vision": (
        "Text runs in llama.cpp itself; images need a fork and --mmproj, and a fork is a branch that nobody pins.",
        "Texto roda no próprio llama.cpp; imagens precisam de um fork e de --mmproj, e um fork é um branch sem commit "
        "fixo.",
    ),
    "trap.experts_in_memory": (
        "--override-tensor leaves the experts in host memory: the processor's memory bandwidth is then the speed.",
        "--override-tensor deixa os especialistas na memória do computador: a velocidade passa a ser a banda dela.",
    ),
    "trap.disk_reads": (
        "Slow generation with a busy disk is not a fault: the model is larger than all memory, and is read for every "
        "token.",
        "Geração lenta com disco ocupado não é defeito: o modelo é maior que toda a memória e é lido a cada token.",
    ),
    "trap.remote_code": (
        "--trust-remote-code runs code out of the model's repository: read it at the commit that you pinned, and run "
        "the engine without secrets in its environment.",
        "--trust-remote-code executa código do repositório do modelo: leia-o no commit fixado e rode o motor sem "
        "segredos no ambiente.",
    ),
    "trap.thinking": (
        "It always thinks, and max_tokens includes the thinking: too small a limit cuts the answer off.",
        "Ele sempre pensa, e max_tokens inclui o raciocínio: um limite pequeno corta a resposta.",
    ),
    "trap.loopback": (
        "It listens on 127.0.0.1:{port} alone and asks for no key: put Soleira before it, not the network.",
        "Ouve só em 127.0.0.1:{port} e não pede chave: ponha a Soleira na frente, não a rede.",
    ),
    # this machine
    "here.no_nvidia_smi": (
        "An NVIDIA card is there, but nvidia-smi does not tell its memory: name it ({option}).",
        "Há uma placa NVIDIA, mas o nvidia-smi não diz a memória dela: diga qual é ({option}).",
    ),
    "here.several_kinds": (
        "Only {kind} counts, since one model is not divided over unlike cards; also there: {others}.",
        "Só {kind} conta, pois um modelo não é dividido entre placas diferentes; também há: {others}.",
    ),
    "here.unknown_card": (
        "{card} is not known here: its memory is what the driver says, its bandwidth is unknown ({option}).",
        "{card} não é conhecida aqui: a memória é a que o driver diz, a banda é desconhecida ({option}).",
    ),
    "here.small_card": (
        "{card} has {card_bytes}: it is there for a screen and does not count.",
        "{card} tem {card_bytes}: está lá para a tela e não conta.",
    ),
    "here.nas": ("This machine is network storage ({system}).", "Esta máquina é um NAS ({system})."),
    "here.limited": (
        "A container's limit holds this process to {host_bytes} of memory.",
        "O limite de um contêiner segura este processo em {host_bytes} de memória.",
    ),
    "here.mac_limit": (
        "iogpu.wired_limit_mb lets the GPU have {usable_bytes}.",
        "iogpu.wired_limit_mb deixa {usable_bytes} para a GPU.",
    ),
    "here.mac_share": (
        "macOS leaves about three quarters of the memory to the GPU ({usable_bytes}) while iogpu.wired_limit_mb is 0.",
        "O macOS deixa cerca de três quartos da memória para a GPU ({usable_bytes}) enquanto iogpu.wired_limit_mb é 0.",
    ),
    "here.no_cards": (
        "No accelerator was found on this machine; its processor and memory count.",
        "Nenhum acelerador foi encontrado nesta máquina; contam o processador e a memória.",
    ),
    # the licence
    "licence.name": (
        "The licence of {model} is {licence}, read here for {use}.",
        "A licença de {model} é {licence}, lida aqui para {use}.",
    ),
    "licence.unknown": (
        "Under which licence {model} is, is not known here: read it before anything is downloaded.",
        "Sob qual licença {model} está não se sabe aqui: leia-a antes de baixar qualquer coisa.",
    ),
    "licence.note": ("{text}", "{text}"),
    "licence.nothing_noted": (
        "Nothing is noted here on it for {use}: read the licence itself.",
        "Nada está anotado aqui para {use}: leia a própria licença.",
    ),
    "use.internal": ("use inside the house", "uso dentro de casa"),
    "use.product": ("a product of one's own", "um produto próprio"),
    "use.service": ("selling access to the model", "vender acesso ao modelo"),
}

PORTUGUESE: dict[str, str] = {
    "Two Xeon 6248 with 1.5 TB of DDR4-2666": "Dois Xeon 6248 com 1,5 TB de DDR4-2666",
    "EPYC with 768 GB of DDR5-4800": "EPYC com 768 GB de DDR5-4800",
    "NVIDIA GB200 NVL72, one GPU": "NVIDIA GB200 NVL72, uma GPU",
    "NVIDIA GB300 NVL72, one GPU": "NVIDIA GB300 NVL72, uma GPU",
    "AMD Instinct MI400 series": "AMD Instinct série MI400",
    "A NAS or a home server without an accelerator": "Um NAS ou servidor doméstico sem acelerador",
    "1.56 TB in 96 parts; the vLLM recipe estimates 1.68 TB": "1,56 TB em 96 partes; a receita do vLLM estima 1,68 TB",
    "the repository and a tenth for partial files and caches": (
        "o repositório e um décimo para arquivos parciais e caches"
    ),
    "MXFP4 with its scales, as if all that a token reads were experts": (
        "MXFP4 com suas escalas, como se tudo o que um token lê fossem especialistas"
    ),
    "somebody who tried it with the merged text support asked there on 13 September 2026 for a form that works": (
        "alguém que o tentou com o suporte a texto já integrado pediu ali, em 13 de setembro de 2026, uma forma que "
        "funcione"
    ),
    "about 2,820 GB; at least sixteen of the H200 and B300 class": (
        "cerca de 2.820 GB; ao menos dezesseis da classe H200 e B300"
    ),
    "RedHatAI/Kimi-K3-NVFP4 is another one": "RedHatAI/Kimi-K3-NVFP4 é outra",
    "derived: that of Kimi K3, whose architecture and precision it has; no size of its own was found": (
        "derivado: o do Kimi K3, de quem tem a arquitetura e a precisão; não se achou um tamanho próprio"
    ),
    "the full model takes 1.09 TB of disk": "o modelo completo ocupa 1,09 TB de disco",
    "disk, memory and GPU memory together at least 250 GB": ("disco, memória e memória de GPU somam ao menos 250 GB"),
    "a news article asks for more than 380 GB of unified memory": (
        "uma notícia pede mais de 380 GB de memória unificada"
    ),
    "about 350 GB for two bits; Unsloth tells of 340 GB for its dynamic form": (
        "cerca de 350 GB em dois bits; a Unsloth fala em 340 GB para sua forma dinâmica"
    ),
    "the name is descriptive: the source says four bits, and no file": (
        "o nome é descritivo: a fonte diz quatro bits, e nenhum arquivo"
    ),
    "derived: two bytes for each of 235 billion parameters": (
        "derivado: dois bytes para cada um dos 235 bilhões de parâmetros"
    ),
    "derived: two bytes a parameter; a GPU host says 140 GB": (
        "derivado: dois bytes por parâmetro; um provedor de GPU diz 140 GB"
    ),
    "about 407 GB; the name is descriptive: the source says Q4, and no file": (
        "cerca de 407 GB; o nome é descritivo: a fonte diz Q4, e nenhum arquivo"
    ),
    "that of the BF16 form in GGUF": "o da forma BF16 em GGUF",
    "expected bytes of its index; its card says 368 GB for the experts; SGLang alone": (
        "bytes que seu índice promete; sua página diz 368 GB para os especialistas; só SGLang"
    ),
    "a GPU host says 400 GB for four bits": "um provedor de GPU diz 400 GB para quatro bits",
    "SGLang serves it from its branch kimi-k31-pro (SGLang cookbook for Kimi K3.1 Pro, November 2026).": (
        "O SGLang o serve do branch kimi-k31-pro (manual do SGLang para o Kimi K3.1 Pro, novembro de 2026)."
    ),
    "as trained (MXFP4 weights, MXFP8 activations)": "como foi treinado (pesos MXFP4, ativações MXFP8)",
    "as trained": "como foi treinado",
    "lossless (the experts stay MXFP4)": "sem perda (os especialistas continuam em MXFP4)",
    "≈90% top-1": "≈90% de acerto no primeiro token",
    "≈79% top-1": "≈79% de acerto no primeiro token",
    "as published (FP8)": "como foi publicado (FP8)",
    "as published (INT4 experts)": "como foi publicado (especialistas INT4)",
    "as published (BF16)": "como foi publicado (BF16)",
    "published by its makers": "publicado por quem o fez",
    "within the noise of FP8 in its maker's benchmarks": "dentro do ruído do FP8 nos testes de quem o fez",
    "Free of conditions, as long as neither software, outputs nor capabilities reach third parties (section 4).": (
        "Sem condições, enquanto nem o software, nem as saídas, nem as capacidades chegarem a terceiros (seção 4)."
    ),
    (
        "Above 100 million monthly users or 20 million dollars of monthly revenue the interface must show Kimi K3 "
        "(section 3). A feature embedded in an end-user product is not a model service (section 2)."
    ): (
        "Acima de 100 milhões de usuários por mês ou de 20 milhões de dólares de receita mensal, a interface "
        "precisa mostrar Kimi K3 (seção 3). Uma função embutida num produto para o usuário final não é um serviço"
        " de modelo (seção 2)."
    ),
    (
        "Who sells access to the model, lets customers control inputs or parameters, and has had more than 20 million"
        " dollars of revenue, affiliates included, in any twelve months in a row needs a separate agreement (section "
        "2). Merely relaying requests to models that others host is not meant."
    ): (
        "Quem vende acesso ao modelo, deixa os clientes controlarem entradas ou parâmetros e teve mais de 20 "
        "milhões de dólares de receita, com as afiliadas, em quaisquer doze meses seguidos precisa de um acordo à"
        " parte (seção 2). Apenas repassar pedidos a modelos hospedados por outros não conta."
    ),
    "Free of conditions.": "Sem condições.",
    "Above 100 million monthly users or 20 million dollars of monthly revenue the interface must show Kimi K2.": (
        "Acima de 100 milhões de usuários por mês ou de 20 milhões de dólares de receita mensal, a interface "
        "precisa mostrar Kimi K2."
    ),
    (
        "Above 100 million monthly users or 20 million dollars of monthly revenue the interface must show the model's"
        " name."
    ): (
        "Acima de 100 milhões de usuários por mês ou de 20 milhões de dólares de receita mensal, a interface "
        "precisa mostrar o nome do modelo."
    ),
    "Keep the licence and its notices with the weights.": "Mantenha a licença e os avisos junto dos pesos.",
    "Keep the licence with the weights.": "Mantenha a licença junto dos pesos.",
    "Bound to the acceptable use policy; the agreement is accepted before the download.": (
        "Preso à política de uso aceitável; o acordo é aceito antes do download."
    ),
    (
        "Show Built with Llama, pass the agreement on, keep to the acceptable use policy; above 700 million monthly "
        "users a licence of Meta's own is needed."
    ): (
        "Mostre Built with Llama, repasse o acordo, siga a política de uso aceitável; acima de 700 milhões de "
        "usuários por mês é preciso uma licença própria da Meta."
    ),
    (
        "104 billion parameters are active for a token; 2.78 trillion are stored, since the next token may need any "
        "of them."
    ): (
        "104 bilhões de parâmetros são ativos para um token; 2,78 trilhões são armazenados, pois o próximo token "
        "pode precisar de qualquer um."
    ),
    (
        "Only the routed experts are MXFP4 (groups of 32); attention, shared experts and the head are BF16, which is "
        "why 1,560 GB are more than half a byte for each parameter."
    ): (
        "Só os especialistas roteados são MXFP4 (grupos de 32); atenção, especialistas compartilhados e a saída "
        "são BF16, e por isso 1.560 GB são mais que meio byte por parâmetro."
    ),
    (
        "The sizes of 1,000 GB and 650 to 700 GB that were told before the weights were released are superseded by "
        "the files there are."
    ): (
        "Os tamanhos de 1.000 GB e de 650 a 700 GB, ditos antes de os pesos saírem, foram superados pelos "
        "arquivos que existem."
    ),
    (
        "Until 3 November 2026 it was an API alone (Flatkey guide, 24 October 2026: no weights); a public MXFP4 "
        "checkpoint is told of since."
    ): (
        "Até 3 de novembro de 2026 era só uma API (guia da Flatkey, 24 de outubro de 2026: sem pesos); desde "
        "então fala-se de pesos públicos em MXFP4."
    ),
    (
        "It answers otherwise than Kimi K3 does, and does not stand for it: what is known of one's weights is not "
        "known of the other's."
    ): (
        "Responde de outro modo que o Kimi K3 e não o substitui: o que se sabe dos pesos de um não se sabe dos do"
        " outro."
    ),
    "To 131,072 tokens with YaRN, which the engine must be told.": (
        "Até 131.072 tokens com YaRN, o que é preciso dizer ao motor."
    ),
    "To 131,072 tokens with YaRN; the revision 2507 reads 262,144.": (
        "Até 131.072 tokens com YaRN; a revisão 2507 lê 262.144."
    ),
    (
        "21 of its 78 layers keep an index key of 128 values beside the latent, in two bytes even where the latents "
        "are FP8."
    ): (
        "21 das suas 78 camadas guardam uma chave de índice de 128 valores ao lado do latente, em dois bytes "
        "mesmo onde os latentes são FP8."
    ),
    "The card draws up to 450 W; all in with its computer nobody has stated.": (
        "A placa consome até 450 W; com o computador junto ninguém informou."
    ),
    "The card draws up to 575 W; all in with its computer nobody has stated.": (
        "A placa consome até 575 W; com o computador junto ninguém informou."
    ),
    "The card draws up to 300 W; all in with its computer nobody has stated.": (
        "A placa consome até 300 W; com o computador junto ninguém informou."
    ),
    "nvidia-smi shows 143,771 MiB (150.8 GB) in public logs; the smaller figure counts here.": (
        "nvidia-smi mostra 143.771 MiB (150,8 GB) em registros públicos; aqui vale o número menor."
    ),
    (
        "180 may be GiB: nvidia-smi shows 183,359 MiB (192.3 GB) in public logs. vLLM's and InferenceX's recipes "
        "count eight as 1,440 GB, and so does this catalog; by either figure eight are short of the 1,560 GB of "
        "native Kimi K3."
    ): (
        "180 pode ser em GiB: nvidia-smi mostra 183.359 MiB (192,3 GB) em registros públicos. As receitas do vLLM"
        " e do InferenceX contam oito como 1.440 GB, e este catálogo também; por qualquer um dos números oito não"
        " chegam aos 1.560 GB do Kimi K3 nativo."
    ),
    "What one costs to buy was found nowhere.": "Quanto custa comprar uma não se achou em lugar nenhum.",
    "Announced; no memory, bandwidth or price of it is in this catalog.": (
        "Anunciada; nem memória, nem banda, nem preço dela estão neste catálogo."
    ),
    (
        "Three quarters of the memory count: 72 of 96 GB and 144 of 192 GB are what macOS lets the graphics part have "
        "while iogpu.wired_limit_mb is 0. Newer ones were seen to give up to 84%, and a raised limit counts when it is "
        "given."
    ): (
        "Contam três quartos da memória: 72 de 96 GB e 144 de 192 GB são o que o macOS deixa para a parte gráfica "
        "enquanto iogpu.wired_limit_mb é 0. Viu-se que os mais novos dão até 84%, e um limite aumentado vale quando é "
        "informado."
    ),
    "It keeps the data and searches it; frontier models run elsewhere.": (
        "Guarda os dados e busca neles; modelos de fronteira rodam em outro lugar."
    ),
}
"""What the catalog says in English: titles of machines, qualities of forms, notes on all of them and on licences."""
