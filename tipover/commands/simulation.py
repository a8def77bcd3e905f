"""The bands of a scenario for a command: within the machine's memory, announced, with progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.seeds import (
    available_bytes,
    cores_that_fit,
    expected_bytes,
    fluid_attempts,
    seeds_of,
    simulation_s,
)
from domain.errors import ConfigurationError, Fault
from domain.experiment import Experiment
from tipover.commands.output import error_console, span
from tipover.commands.seed_progress import SeedProgress

if TYPE_CHECKING:
    from analysis.result import FluidTrace
    from analysis.simulation.bands import Bands

LONG_S = 5.0
"""Work that is expected to take longer than this is announced."""
_GB = 1e9


def simulate(experiment: Experiment, seeds: int, fluid: FluidTrace | None) -> Bands:
    """The bands over so many seeds; ``ConfigurationError`` if one seed alone is more than memory holds.

    The fluid model's path says how long that will take.
    """
    cores = cores_for(expected_bytes(experiment), "seed")
    # pandas and numba are slow to import, and a refusal needs neither.
    from analysis.simulation.bands import simulate_bands

    screen = error_console()
    expected_s = simulation_s(fluid_attempts(experiment, fluid), seeds, cores)
    if expected_s > LONG_S:
        screen.print(f"simulating {seeds} {'seed' if seeds == 1 else 'seeds'}: about {roughly(expected_s)}")
    with SeedProgress(seeds, screen) as progress:
        return simulate_bands(experiment, seeds_of(experiment, seeds), cores=cores, on_done=progress)


def roughly(seconds: float) -> str:
    """A duration that is an estimate: whole seconds, from ten on in steps of five, then minutes."""
    if seconds < 10:
        return span(max(1, round(seconds)))
    return span(5 * round(seconds / 5) if seconds < 60 else 60 * round(seconds / 60))


def cores_for(bytes_a_run: float, what: str) -> int:
    """How many such runs memory holds at a time; ``ConfigurationError`` if it does not hold one.

    ``what`` is what one run is to the user: "seed", "run".
    """
    cores = cores_that_fit(bytes_a_run)
    if not cores:
        free = f"{available_bytes() / _GB:.1f} GB are free"
        rule = f"must fit into memory to be simulated: {free}; --speedup makes it smaller"
        fault = Fault("scenario", rule, f"up to {bytes_a_run / _GB:.1f} GB a {what}")
        raise ConfigurationError("the scenario cannot be simulated", [fault])
    return cores
