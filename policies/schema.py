"""The shape of a pack's rules, deployments, collections and tests, as people write them."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, RootModel, model_validator

from policies.fields import (
    Action,
    AddressList,
    Capabilities,
    Capability,
    DetectorKind,
    Dialect,
    Engine,
    GgufPath,
    Grade,
    Hour,
    Kinds,
    Labels,
    LabelText,
    Language,
    Languages,
    LevelText,
    ModelName,
    ModelNames,
    Name,
    Names,
    ParameterValue,
    Prefer,
    Seconds,
    SecretSource,
    SensitivityText,
    Strict,
    Tokens,
    Word,
    Words,
    listed,
    something,
)
from policies.labels import PRIVATE
from policies.prices import PriceEntry, TokenPrice

# rules.yaml


class LabelCondition(Strict):
    """What the label must be; a request keeps its level when it is redacted."""

    at_least: SensitivityText | None = None
    at_most: SensitivityText | None = None
    is_: SensitivityText | None = Field(None, alias="is")
    compartment: Words | None = None

    _some = model_validator(mode="after")(something)


class SizeCondition(Strict):
    above: Tokens | None = None
    below: Tokens | None = None

    _some = model_validator(mode="after")(something)


class HourCondition(Strict):
    """From the one hour until before the other, over midnight if `to` is the smaller."""

    from_: Hour = Field(alias="from")
    to: Hour


class When(Strict):
    """Conditions that must all hold; `any`, `all` and `not` combine further ones."""

    label: LabelCondition | None = None
    model: ModelNames | None = None
    principal: Names | None = None
    groups: Names | None = None
    collections: Words | None = None
    language: Languages | None = None
    size: SizeCondition | None = None
    needs: Capabilities | None = None
    findings: Kinds | None = None
    hour: HourCondition | None = None
    task: Words | None = None
    budget: dict[Word, str] | None = None
    load: dict[Word, str] | None = None
    time: dict[Word, str] | None = None
    any: Annotated[tuple[When, ...], Field(min_length=1)] | None = None
    all: Annotated[tuple[When, ...], Field(min_length=1)] | None = None
    not_: When | None = Field(None, alias="not")

    _some = model_validator(mode="after")(something)


class Spill(Strict):
    """When to leave a busy cluster for the next deployment."""

    waiting_above: Tokens


class RouteEntry(Strict):
    """Where a request may go (`zones`, binding) and what is preferred there."""

    zones: Words | None = None
    models: ModelNames | None = None
    at_least: Grade | None = None
    prefer: Prefer = "cheapest"
    spill: Spill | None = None


class RuleEntry(Strict):
    name: Name
    when: When | None = None
    action: Action = "route"
    route: RouteEntry | None = None
    reason: Name | None = None
    """What a refused caller is told besides the rule's name."""

    @model_validator(mode="after")
    def _deny_has_no_route(self) -> Self:
        if self.action == "deny" and self.route is not None:
            raise ValueError("denies, so it cannot have a route as well")
        return self


class ZoneEntry(Strict):
    clearance: SensitivityText
    addresses: AddressList
    accept_redacted: LevelText | None = None


class RulesFile(Strict):
    default_label: LabelText
    unscannable: LabelText = PRIVATE
    max_output: Annotated[int, Field(ge=1)] = 4096
    keep_alive: Seconds = 15.0
    """After so many seconds of silence a stream carries a comment, so that nobody takes it for dead."""
    zones: Annotated[dict[Word, ZoneEntry], Field(min_length=1)]
    detectors: dict[DetectorKind, LabelText] = Field(default_factory=dict)
    rules: tuple[RuleEntry, ...]


# deployments.yaml


class Operator(Strict):
    """Who runs the machines, and what they say they do with the texts."""

    name: str
    country: str | None = None
    retention: str = "unknown"
    trains: Literal["yes", "no", "unknown"] = "unknown"


class LimitsEntry(Strict):
    """Seconds a deployment may take."""

    connect: Seconds | None = None
    first_byte: Seconds | None = None
    idle: Seconds | None = None
    total: Seconds | None = None


class ParameterRules(Strict):
    """What of a request's parameters changes on its way to one deployment; everything else passes untouched."""

    strip: Words = ()
    """Parameters that the deployment refuses; the client is told which were left out (`soleira-dropped-params`)."""
    rename: dict[Word, Word] = Field(default_factory=dict)
    """Parameters that the deployment knows by another name: `max_tokens: max_completion_tokens`."""
    defaults: dict[Word, ParameterValue] = Field(default_factory=dict)
    """Values for what the client left out."""
    effort: dict[Word, Word] = Field(default_factory=dict)
    """What a `reasoning_effort` is called here: `medium: high`; one that is not named passes."""


class Replies(Strict):
    """What holds where a reply names another model than the one that was asked; it is flagged in any case."""

    accept: Names = ()
    """Other names of the very model that was asked: versions, paths of weights."""
    price: TokenPrice | None = None
    """What a reply by any other model costs. Left out: what the deployment costs."""


class Wake(Strict):
    """How a sleeping deployment is woken, and how long that may take."""

    command: Annotated[tuple[str, ...], BeforeValidator(listed), Field(min_length=1)] | None = None
    """A program with its arguments, run on this machine without a shell."""
    url: str | None = None
    """An address in the deployment's own zone that is sent an empty POST."""
    seconds: Seconds = 300.0

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("should name either command or url")
        return self


class Gguf(Strict):
    """A model file that the house itself runs, on llama.cpp."""

    path: GgufPath
    """From the root, or below the folder `models` of the data directory, where `soleira models pull` puts files."""
    mmproj: GgufPath | None = None
    """The projector by which the model sees pictures."""
    context: Annotated[int, Field(ge=256, le=10_000_000)] = 8192
    """Tokens of one request, its answer included; memory is taken for it whether it is used or not."""
    slots: Annotated[int, Field(ge=1, le=64)] = 1
    """Requests it answers at once, each with the whole context."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Left out: half of what the processor has."""
    gpu_layers: Annotated[int, Field(ge=0, le=10_000)] = 0


class DeploymentBase(Strict):
    name: ModelName
    model: ModelName
    aliases: Annotated[tuple[ModelName, ...], BeforeValidator(listed)] = ()
    engine: Engine
    base_url: str = ""
    """Where it is called; empty where `gguf` says what the house itself runs."""
    gguf: Gguf | None = None
    upstream_model: Name = Field(default_factory=lambda data: data.get("model", ""))
    api_key: SecretSource | None = None
    zone: Word
    grade: Grade = 3
    context: Annotated[int, Field(ge=1)] | None = None
    max_output: Annotated[int, Field(ge=1)] | None = None
    capabilities: Annotated[tuple[Capability, ...], BeforeValidator(listed)] = ()
    operator: Operator | None = None
    limits: LimitsEntry = LimitsEntry()
    dialect: Dialect | None = None
    parameters: ParameterRules = ParameterRules()
    """Wins over what the dialect says."""
    reasoning_history: Literal["keep", "drop"] | None = None
    """Whether thoughts of earlier turns are sent. Left out: kept, unless the capabilities leave out `reasoning`."""
    check_tool_arguments: bool | None = None
    """Whether arguments are held against the tool's schema, and asked for once more while nothing was sent. Left out:
    as the dialect says, else no."""
    cache_salt: bool | None = None
    """Whether the prefix cache is kept apart by caller. Left out: on engines that know `cache_salt` (vllm)."""
    replies: Replies = Replies()
    slots: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Requests it answers at once; more wait in a queue here. Left out: what a probe reads, else no limit."""
    queue: Annotated[int, Field(ge=0, le=10_000)] = 64
    """Requests that may wait for a slot; more go on to the next deployment."""
    queue_seconds: Seconds = 120.0
    wake: Wake | None = None
    weights: Name | None = None
    """The weights that are served, as their publisher names them."""
    as_of: date | None = None
    """When this entry was held against its source."""
    retires_on: date | None = None
    """The day its operator takes the model away."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.base_url) == (self.gguf is not None):
            raise ValueError("should name either base_url, or gguf for a file that the house runs itself")
        return self


class DeploymentEntry(DeploymentBase):
    """A deployment as written: its price may stand in prices.yaml."""

    price: PriceEntry | None = None


class DeploymentSpec(DeploymentBase):
    """A deployment whose price is known."""

    price: TokenPrice
    owned: str | None = None
    """The machine of break_even.yaml whose marginal price this is."""


class DeploymentsFile(Strict):
    deployments: tuple[DeploymentEntry, ...] = ()


# collections.yaml


class CollectionEntry(Strict):
    label: LabelText | None = None
    readers: tuple[Name, ...] = ()
    """Groups that may read it; none: only keys that name the collection."""


class CollectionsFile(Strict):
    collections: dict[Word, CollectionEntry] = Field(default_factory=dict)


# rules_test.yaml


class Caller(Strict):
    name: str = ""
    groups: tuple[Name, ...] = ()


class Given(Strict):
    """The request of a test; several labels or models make one case each."""

    label: Labels | None = None
    model: ModelNames = ("auto",)
    principal: Caller = Caller()
    collections: tuple[Word, ...] = ()
    size: Tokens = 0
    language: Language | None = None
    needs: tuple[Capability, ...] = ()
    findings: tuple[DetectorKind, ...] = ()
    hour: Annotated[int, Field(ge=0, le=23)] | None = None


class Expect(Strict):
    """What must come out; only what is written is compared."""

    rule: Name | None = None
    action: Action | None = None
    zones: tuple[Word, ...] | None = None
    models: tuple[ModelName, ...] | None = None
    at_least: Grade | None = None
    prefer: Prefer | None = None
    spill_above: Tokens | None = None
    code: Word | None = None

    _some = model_validator(mode="after")(something)


class RuleTest(Strict):
    name: Name
    given: Given
    expect: Expect


class RulesTestFile(RootModel[tuple[RuleTest, ...]]):
    """A list of tests."""
