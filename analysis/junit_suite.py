"""JUnit XML, which every CI system shows: a suite of cases that passed, failed or could not be judged."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

FILE_NAME = "junit.xml"

_ILLEGAL_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Case:
    """One testcase. A ``failure`` is a finding, an ``error`` the fault of the harness, ``skipped``
    what could not be judged; ``kind`` and ``message`` are theirs. ``text`` is the long form,
    and what a passed case says."""

    name: str
    state: Literal["passed", "failure", "error", "skipped"] = "passed"
    kind: str = ""
    message: str = ""
    text: str = ""
    time_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Suite:
    """All cases of one run; ``started_at`` as ISO 8601, if it is known."""

    name: str
    duration_s: float
    cases: tuple[Case, ...]
    properties: tuple[tuple[str, str], ...] = ()
    output: str = ""
    started_at: str | None = None


def write_suite(directory: Path, suite: Suite) -> Path:
    """Write ``junit.xml``; characters that XML cannot hold are replaced."""
    counts = {
        "tests": str(len(suite.cases)),
        "failures": str(sum(case.state == "failure" for case in suite.cases)),
        "errors": str(sum(case.state == "error" for case in suite.cases)),
        "skipped": str(sum(case.state == "skipped" for case in suite.cases)),
        "time": f"{suite.duration_s:.3f}",
    }
    root = ElementTree.Element("testsuites", counts)
    element = ElementTree.SubElement(root, "testsuite", {"name": _legal(suite.name), **counts})
    if suite.started_at is not None:
        element.set("timestamp", _legal(suite.started_at))
    properties = ElementTree.SubElement(element, "properties")
    for name, value in suite.properties:
        ElementTree.SubElement(properties, "property", {"name": name, "value": _legal(value)})
    for case in suite.cases:
        _add(element, suite.name, case)
    ElementTree.SubElement(element, "system-out").text = _legal(suite.output)
    ElementTree.indent(root)
    path = directory / FILE_NAME
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
    return path


def _add(suite: ElementTree.Element, suite_name: str, case: Case) -> None:
    attributes = {
        "classname": _legal(f"tipover.{suite_name}"),
        "name": _legal(case.name),
        "time": f"{case.time_s:.3f}" if case.time_s else "0",
    }
    element = ElementTree.SubElement(suite, "testcase", attributes)
    if case.state != "passed":
        said = {"type": case.kind, "message": _legal(case.message)}
        ElementTree.SubElement(element, case.state, said).text = _legal(case.text or case.message)
    elif case.text:
        ElementTree.SubElement(element, "system-out").text = _legal(case.text)


def _legal(text: str) -> str:
    """The text without the characters XML 1.0 cannot hold, which ElementTree writes all the same."""
    return _ILLEGAL_IN_XML.sub("�", text)
