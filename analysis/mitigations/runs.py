"""Live runs with their scores, from their directories alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analysis.mitigations.score import Score, score_of
from analysis.result import RunResult
from analysis.run_directory import read_run_directory
from analysis.summary import analyse
from analysis.trace import read_trace


@dataclass(frozen=True)
class ScoredRun:
    """A run, analysed and scored; ``name`` tells it from the others beside it."""

    name: str
    result: RunResult
    score: Score


def scored_run(directory: Path, name: str) -> ScoredRun:
    """Analyse a run without simulating its bands; raises ``ConfigurationError`` when it is none."""
    return with_score(analyse(directory, seeds=0), name)


def with_score(result: RunResult, name: str) -> ScoredRun:
    """An analysed run with its score."""
    directory = Path(result.directory)
    server = read_run_directory(directory).server
    attempts = read_trace(directory).arrays
    return ScoredRun(name, result, score_of(attempts, server, result.experiment, result.measurement))


def names_of(directories: list[Path]) -> list[str]:
    """The last part of each path, or as many parts as it takes to tell them all apart."""
    parts = [path.resolve().parts for path in directories]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(p[-length:]) for p in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in directories]
