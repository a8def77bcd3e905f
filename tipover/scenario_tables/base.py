"""What all tables of a scenario file share: strictness, ranges of numbers, where defaults come from."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

LARGEST = 1e9
"""No number in a scenario may be larger, so that products of two or three of them stay finite."""

Positive = Annotated[float, Field(gt=0, le=LARGEST)]
NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]
Share = Annotated[float, Field(ge=0, le=1)]
PartShare = Annotated[float, Field(gt=0, le=1)]
AtLeastOne = Annotated[float, Field(ge=1, le=LARGEST)]
Count = Annotated[int, Field(ge=0, le=int(LARGEST))]
Several = Annotated[int, Field(ge=1, le=int(LARGEST))]
Text = Annotated[str, Field(min_length=1)]


class Table(BaseModel):
    """What all tables share: unknown keys, booleans or text for numbers, NaN and infinity are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @property
    def settings(self) -> dict[str, Any]:
        """Every key with its value, or its default, but for the kind."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "kind"}


class RuleTable(Table):
    """A table that makes one value of the domain, whose own rules are the file's too."""

    makes: ClassVar[type]

    def value(self) -> Any:
        """The value; raises ``ValueError`` in the value's own words."""
        return self.makes(**self.settings)

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        self.value()
        return self


def default(kind: type, name: str) -> Any:
    """The default of a field of a domain value."""
    (field,) = (field for field in fields(kind) if field.name == name)
    return field.default_factory() if field.default_factory is not MISSING else field.default


def stated(kind: type, name: str, description: str) -> Any:
    """A key with the default of the domain value it sets, and what it means."""
    return Field(default=default(kind, name), description=description)
