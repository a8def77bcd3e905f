"""Request-level simulation: the exact service and clients of an experiment, many seeds at once."""

from analysis.simulation.batch import simulate_seeds
from analysis.simulation.counts import Counts, DefendedCounts
from analysis.simulation.fleet import FleetRun, simulate_fleet
from analysis.simulation.runs import simulate

__all__ = ["Counts", "DefendedCounts", "FleetRun", "simulate", "simulate_fleet", "simulate_seeds"]
