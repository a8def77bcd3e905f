"""The Markdown of a study and of the index, from the plain record that the JSON file holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MARK = "<!-- Made by `tipover validate`, which replaces this file. -->"
VERDICTS = {True: "yes", False: "**NO**", None: "–"}

Record = Mapping[str, Any]


def page(record: Record) -> str:
    """A study: what made it, the table of claims, the disagreements in plain words, the figures."""
    parts = [MARK, f"# {record['title']}", _made(record), _table(record["claims"]), _findings(record)]
    if record["figures"]:
        parts += ["## Figures", *map(_figure, record["figures"])]
    return "\n\n".join(parts) + "\n"


def index(records: Sequence[Record]) -> str:
    """The studies with how many claims agree."""
    rows = [
        (
            f"[{r['title']}]({r['name']}.md)",
            r["counts"]["agree"],
            r["counts"]["disagree"],
            r["counts"]["not_compared"],
            r["settings"].get("effort", "–"),
            r["date"],
        )
        for r in records
    ]
    lines = [
        MARK,
        "",
        "# Checked against the sources",
        "",
        "Every number that a source states is worked out again, by a law, the fluid model or the"
        " request-level",
        "simulation, and set beside the source's own figure. A disagreement is a finding about the source;"
        " it is",
        "listed and explained, not tuned away. `make results` makes all of this again.",
        "",
        *_rows(("study", "agree", "disagree", "not comparable", "effort", "date"), rows),
    ]
    return "\n".join(lines) + "\n"


def _made(record: Record) -> str:
    chosen = {key: value for key, value in record["settings"].items() if key != "source"}
    settings = ", ".join(f"{key.replace('_', ' ')} {_value(value)}" for key, value in chosen.items())
    source = f"Source: {record['settings']['source']}.\n\n" if "source" in record["settings"] else ""
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    count = record["counts"]
    return (
        f"Made by `{record['command']}` on {record['date']} with {versions}. The same command gives the same"
        f" numbers again.\n\n{source}Settings: {settings}.\n\n"
        f"**{count['agree']} claims agree, {count['disagree']} disagree,"
        f" {count['not_compared']} cannot be compared.** All numbers:"
        f" [{record['name']}.json]({record['name']}.json)."
    )


def _table(claims: Sequence[Record]) -> str:
    head = ("claim", "source", "source's figure", "ours", "agrees", "why")
    rows = [
        (c["statement"], c["source"], c["claimed"], c["ours"], VERDICTS[c["agrees"]], c["why"])
        for c in claims
    ]
    return "\n".join(_rows(head, rows))


def _findings(record: Record) -> str:
    refuted = [claim for claim in record["claims"] if claim["agrees"] is False]
    if not refuted:
        return "## Findings\n\nEvery claim that can be compared agrees."
    items = [
        f"- **{claim['statement']}** ({claim['source']}): the source says {claim['claimed']}; we find"
        f" {claim['ours']}. {_sentence(claim['why'])}"
        for claim in refuted
    ]
    return "## Findings\n\nWhere the source and our figures disagree:\n\n" + "\n".join(items)


def _figure(figure: Record) -> str:
    alt = figure["caption"].replace("[", "(").replace("]", ")")
    return f"![{alt}]({figure['file']})\n\n*{figure['caption'].replace('*', '×')}*"


def _rows(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines]


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".")


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{k} {_value(v)}" for k, v in value.items()) + ")"
    return f"{value:g}" if isinstance(value, float) else str(value)
