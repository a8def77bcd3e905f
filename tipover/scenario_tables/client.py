"""``[client]``: how long it waits, how often it tries, and what holds it back."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from domain.deadlines import Propagation
from domain.experiment import MAX_CLIENTS, Client
from domain.hedging import Hedging
from domain.presets import PRESETS
from domain.queue_cap import OnRejection
from domain.retry import OnRefusal
from tipover.scenario_tables.backoffs import BackoffTable, NoBackoffTable
from tipover.scenario_tables.base import LARGEST, NotNegative, Positive, RuleTable, Table, default, stated
from tipover.scenario_tables.budgets import BreakerTable, BudgetTable, NoBreakerTable, NoBudgetTable


def _whole_or_inf(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST
    if whole or (isinstance(value, float) and value == math.inf):
        return value
    raise PydanticCustomError(
        "max_attempts", "must be a whole number of at least 1, the first attempt included, or inf"
    )


MaxAttempts = Annotated[
    Any,
    BeforeValidator(_whole_or_inf),
    WithJsonSchema({"type": "number", "minimum": 1}),
]


def _known_preset(value: object) -> object:
    if isinstance(value, str) and value in PRESETS:
        return value
    raise PydanticCustomError("preset", "must be one of {names}", {"names": ", ".join(PRESETS)})


PresetName = Annotated[str, BeforeValidator(_known_preset), WithJsonSchema({"enum": list(PRESETS)})]


REPLACED_BY_HEDGING = ("max_attempts", "backoff")
"""What a hedged job does not have, even if its preset does."""


class HedgingTable(RuleTable):
    """Send copies without waiting for a failure; the first answer wins."""

    makes = Hedging
    copies: Annotated[int, Field(ge=2, le=100)] = stated(Hedging, "copies", "attempts a job may make")
    delay_s: NotNegative = stated(Hedging, "delay_s", "seconds between them, while none is answered")


class ClientTable(Table):
    """``[client]``: how long it waits, how often it tries, and what holds it back."""

    timeout_s: Positive = Field(description="deadline of one attempt, in seconds from its send")
    max_attempts: MaxAttempts = stated(
        Client, "max_attempts", "attempts a job may make, the first included; or inf"
    )
    backoff: BackoffTable = NoBackoffTable(kind="none")
    preset: PresetName | None = Field(
        default=default(Client, "preset"),
        description="a deployed client's defaults (`tipover list --presets`); keys beside it win",
    )
    budget: BudgetTable = NoBudgetTable(kind="none")
    breaker: BreakerTable = NoBreakerTable(kind="none")
    clients: int = Field(
        default=default(Client, "clients"),
        ge=1,
        le=MAX_CLIENTS,
        description="independent clients that take the jobs in turn, each with its own budget and breaker",
    )
    deadline_s: Positive | None = Field(
        default=None, description="time a job has in all, in seconds from when it was due; default none"
    )
    propagate: Propagation = stated(Client, "propagate", "the header that tells the service the deadline")
    hedging: HedgingTable | None = Field(
        default=default(Client, "hedging"),
        description="takes the place of max_attempts and backoff",
    )
    on_rejection: OnRejection = stated(Client, "on_rejection", "what a rejected attempt does")
    on_refusal: OnRefusal = stated(
        Client, "on_refusal", "what a job does that the client's own budget or breaker refuses"
    )
    honour_retry_after: bool = stated(
        Client, "honours_retry_after", "never to retry sooner than a rejection's Retry-After says"
    )

    def value(self) -> Client:
        """The client it describes: its own keys, then those of its preset, then the domain's defaults."""
        own: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set}
        own = {name: value for name, value in own.items() if value is not None}
        for name in ("budget", "breaker", "hedging"):
            if name in own:
                own[name] = own[name].value()
        if "backoff" in own:
            own["backoff"] = self.backoff.value(self.timeout_s)
        if "honour_retry_after" in own:
            own["honours_retry_after"] = own.pop("honour_retry_after")
        settings = {} if self.preset is None else dict(PRESETS[self.preset].settings)
        if self.hedging is not None:
            for name in REPLACED_BY_HEDGING:
                settings.pop(name, None)
        return Client(**{**settings, **own})
