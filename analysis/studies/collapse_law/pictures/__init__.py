"""The seven figures, drawn from the data of the study alone."""

from __future__ import annotations

from analysis.studies.collapse_law.pictures.curve import draw_curve
from analysis.studies.collapse_law.pictures.hysteresis import draw_hysteresis
from analysis.studies.collapse_law.pictures.interventions import draw_interventions
from analysis.studies.collapse_law.pictures.margins import draw_margins
from analysis.studies.collapse_law.pictures.onset import draw_onset
from analysis.studies.collapse_law.pictures.scatter import draw_scatter
from analysis.studies.collapse_law.pictures.unified import draw_unified

__all__ = [
    "draw_curve",
    "draw_hysteresis",
    "draw_interventions",
    "draw_margins",
    "draw_onset",
    "draw_scatter",
    "draw_unified",
]
