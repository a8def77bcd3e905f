"""The checks as JUnit XML, which every CI system shows."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

from analysis.report.tables import tolerance_text, value_text
from analysis.report.verdict import headline
from analysis.result import Check, RunResult

FILE_NAME = "junit.xml"

_ILLEGAL_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(result: RunResult) -> Path:
    """Write ``junit.xml``: a testcase ``valid``, an error if the run is not, and one for each check."""
    experiment = result.experiment
    duration = f"{live_seconds(result):.3f}"
    counts = {
        "tests": str(1 + len(result.checks)),
        "failures": str(sum(not check.passed for check in result.checks)),
        "errors": str(int(not result.valid)),
        "skipped": "0",
        "time": duration,
    }
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": _legal(experiment.name), **counts})
    started = result.run.get("started_at")
    if isinstance(started, str):
        suite.set("timestamp", _legal(started))
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (
        ("outcome", result.outcome),
        ("title", experiment.title),
        ("seed", str(experiment.run.seed)),
        ("speedup", str(experiment.run.speedup)),
    ):
        ElementTree.SubElement(properties, "property", {"name": name, "value": _legal(value)})
    _add_validity(suite, result, duration)
    for check in result.checks:
        _add_check(suite, experiment.name, check)
    output = ElementTree.SubElement(suite, "system-out")
    output.text = _legal("\n".join([headline(result), *result.measurement.evidence, *result.warnings]))
    ElementTree.indent(root)
    path = Path(result.directory) / FILE_NAME
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path


def live_seconds(result: RunResult) -> float:
    """How long the run took on the wall clock; what was planned if its ends are not on record."""
    try:
        started, ended = (
            datetime.fromisoformat(str(result.run.get(key))) for key in ("started_at", "ended_at")
        )
        return max(0.0, (ended - started).total_seconds())
    except (ValueError, TypeError):
        return result.experiment.duration_s / result.experiment.run.speedup


def _add_validity(suite: ElementTree.Element, result: RunResult, duration: str) -> None:
    case = _case(suite, result.experiment.name, "valid", duration)
    if not result.valid:
        reasons = result.invalid_reasons or ("no reason is on record",)
        error = ElementTree.SubElement(
            case, "error", {"type": "InvalidRun", "message": _legal("invalid run: " + "; ".join(reasons))}
        )
        error.text = _legal("\n".join(reasons))


def _add_check(suite: ElementTree.Element, scenario: str, check: Check) -> None:
    case = _case(suite, scenario, check.name, "0")
    numbers = (
        f"predicted {value_text(check.predicted)}, measured {value_text(check.measured)}, "
        f"tolerance {tolerance_text(check)}"
    )
    words = f"{numbers}: {check.why}" if check.why else numbers
    if check.passed:
        ElementTree.SubElement(case, "system-out").text = _legal(words)
        return
    failure = ElementTree.SubElement(
        case, "failure", {"type": "CheckFailed", "message": _legal(f"{check.name}: {numbers}")}
    )
    failure.text = _legal(words)


def _case(suite: ElementTree.Element, scenario: str, name: str, duration: str) -> ElementTree.Element:
    attributes = {"classname": _legal(f"tipover.{scenario}"), "name": _legal(name), "time": duration}
    return ElementTree.SubElement(suite, "testcase", attributes)


def _legal(text: str) -> str:
    """The text without the characters XML 1.0 cannot hold, which ElementTree writes all the same."""
    return _ILLEGAL_IN_XML.sub("�", text)
