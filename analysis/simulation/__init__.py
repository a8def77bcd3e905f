"""Request-level simulation: the exact first-in first-out service of an experiment, many seeds at once."""

from analysis.simulation.batch import simulate_seeds
from analysis.simulation.counts import Counts
from analysis.simulation.fleet import FleetRun, simulate_fleet
from analysis.simulation.run import simulate

__all__ = ["Counts", "FleetRun", "simulate", "simulate_fleet", "simulate_seeds"]
