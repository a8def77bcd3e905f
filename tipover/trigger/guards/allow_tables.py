"""The tables of an allow-list file, as pydantic checks them."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field

from tipover.scenario_tables.base import Positive, Table
from tipover.trigger.guards.allow_list import canonical_host_or_network, network_from


def _host(text: str) -> str:
    canonical_host_or_network(text)
    return text


def _address(text: str) -> str:
    network_from(text)
    return text


class AllowRow(Table):
    """One host that may be loaded."""

    host: Annotated[str, AfterValidator(_host)]
    max_rate_per_s: Positive
    addresses: Annotated[list[Annotated[str, AfterValidator(_address)]], Field(min_length=1)] | None = None
    note: str = ""
    until: date | None = None
    public: bool = False


class AllowFile(Table):
    """The whole file."""

    allow: list[AllowRow] = Field(default_factory=list)
