"""``service.limit``: how many attempts may be in the system at once, adapted to what is measured."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from domain.limits.aimd import AimdLimit
from domain.limits.envoy_gradient import EnvoyGradientLimit
from domain.limits.gradient2 import Gradient2Limit
from domain.limits.vegas import VegasLimit
from tipover.scenario_tables.base import (
    AtLeastOne,
    NotNegative,
    PartShare,
    Positive,
    RuleTable,
    Several,
    stated,
)

_INITIAL, _LEAST, _MOST = (
    "attempts at the start; the default gives way to least and most",
    "never fewer attempts; the default gives way to most",
    "never more attempts",
)


class _LimitRuleTable(RuleTable):
    """A limit with a range: what the file leaves out of it gives way to what the file says."""

    @property
    def settings(self) -> dict[str, Any]:
        """Every key; a default of ``least`` is at most ``most``, and one of ``initial`` lies between."""
        settings, most = super().settings, super().settings["most"]
        if "least" in settings and "least" not in self.model_fields_set:
            settings["least"] = min(settings["least"], most)
        if "initial" in settings and "initial" not in self.model_fields_set:
            settings["initial"] = min(max(settings["initial"], settings.get("least", 1)), most)
        return settings


class AimdLimitTable(_LimitRuleTable):
    """One more while it goes well, a tenth fewer on a drop or a slow attempt (Netflix AIMDLimit)."""

    makes = AimdLimit
    kind: Literal["aimd"]
    initial: Several = stated(AimdLimit, "initial", _INITIAL)
    least: Several = stated(AimdLimit, "least", _LEAST)
    most: Several = stated(AimdLimit, "most", _MOST)
    backoff_ratio: Annotated[float, Field(ge=0.5, lt=1)] = stated(
        AimdLimit, "backoff_ratio", "the limit is multiplied by this on a drop"
    )
    timeout_s: Positive = stated(AimdLimit, "timeout_s", "an attempt slower than this counts as dropped")


class VegasLimitTable(_LimitRuleTable):
    """Keeps the queue it estimates from the shortest sojourn within bounds (Netflix VegasLimit)."""

    makes = VegasLimit
    kind: Literal["vegas"]
    initial: Several = stated(VegasLimit, "initial", _INITIAL)
    most: Several = stated(VegasLimit, "most", _MOST)


class Gradient2LimitTable(_LimitRuleTable):
    """Follows the ratio of a long to a short mean of sojourns (Netflix Gradient2Limit)."""

    makes = Gradient2Limit
    kind: Literal["gradient2"]
    initial: Several = stated(Gradient2Limit, "initial", _INITIAL)
    least: Several = stated(Gradient2Limit, "least", _LEAST)
    most: Several = stated(Gradient2Limit, "most", _MOST)
    window: Several = stated(Gradient2Limit, "window", "attempts in the long mean")
    tolerance: AtLeastOne = stated(Gradient2Limit, "tolerance", "short over long mean that is still fine")
    queue: NotNegative = stated(Gradient2Limit, "queue", "attempts that may wait")
    smoothing: PartShare = stated(Gradient2Limit, "smoothing", "weight of the newest estimate")


class EnvoyGradientLimitTable(_LimitRuleTable):
    """Follows the ratio of the ideal to the sampled sojourn (Envoy adaptive concurrency)."""

    makes = EnvoyGradientLimit
    kind: Literal["envoy-gradient"]
    most: Several = stated(EnvoyGradientLimit, "most", f"{_MOST} (max_concurrency_limit)")
    least: Several = stated(
        EnvoyGradientLimit, "least", f"{_LEAST}; how many while the ideal is measured (min_concurrency)"
    )
    samples: Several = stated(
        EnvoyGradientLimit, "samples", "attempts the ideal is measured on (request_count)"
    )
    buffer: NotNegative = stated(EnvoyGradientLimit, "buffer", "slack on the ideal: a fraction")
    update_s: Positive = stated(EnvoyGradientLimit, "update_s", "seconds between updates")
    min_rtt_every_s: Positive = stated(
        EnvoyGradientLimit, "min_rtt_every_s", "seconds between measurements of the ideal"
    )


LimitTable = Annotated[
    AimdLimitTable | VegasLimitTable | Gradient2LimitTable | EnvoyGradientLimitTable,
    Field(discriminator="kind"),
]
