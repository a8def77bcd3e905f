"""The Markdown of a study and of the index, from the plain record that the JSON file holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

MARK = "<!-- Made by `tipover validate`, which replaces this file. -->"
VERDICTS = {True: "yes", False: "**NO**", None: "–"}

Record = Mapping[str, Any]


def page(record: Record) -> str:
    """A study: what made it, the table of claims, the disagreements in plain words, the figures."""
    parts = [MARK, f"# {record['title']}", _made(record), _table(record["claims"]), _findings(record)]
    parts += [*_fitted(record["claims"]), *_checks(record["claims"])]
    if record["figures"]:
        parts += ["## Figures", *map(_figure, record["figures"])]
    return "\n\n".join(parts) + "\n"


def index(records: Sequence[Record]) -> str:
    """The studies with how many claims agree, and how."""
    rows = [
        (
            f"[{r['title']}]({r['name']}.md)",
            *(r["counts"].get(key, 0) for key in ("agree", "agree_fitted", "disagree", "not_compared")),
            _own_checks(r["counts"]),
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
        "*Fitted* are claims that agree with a parameter which the source leaves open and we chose: they are",
        "possible, no more. *Not comparable* are also those for which our own chance is too large to tell,",
        "as it is at a low effort. *Own checks* are lines against an earlier simulation of ours, not against",
        "a source.",
        "",
        *_rows(
            ("study", "agree", "fitted", "disagree", "not comparable", "own checks", "effort", "date"), rows
        ),
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
        f"**{count['agree']} claims agree, {count['agree_fitted']} more with a parameter of ours fitted to"
        f" them, {count['disagree']} disagree, {count['not_compared']} cannot be compared.**"
        f"{_own_checks_sentence(count)} All numbers: [{record['name']}.json]({record['name']}.json)."
    )


def _table(claims: Sequence[Record]) -> str:
    head = ("claim", "source", "source's figure", "ours", "agrees", "why")
    rows = [
        (c["statement"], c["source"], c["claimed"], c["ours"], _verdict(c), c["why"] + _fitted_words(c))
        for c in claims
    ]
    return "\n".join(_rows(head, rows))


def _findings(record: Record) -> str:
    refuted = [c for c in record["claims"] if c["agrees"] is False and not c["recomputed"]]
    if not refuted:
        return "## Findings\n\nNo claim that can be compared disagrees."
    items = [
        f"- **{claim['statement']}** ({claim['source']}): the source says {claim['claimed']}; we find"
        f" {claim['ours']}. {_sentence(claim['why'] + _fitted_words(claim))}"
        for claim in refuted
    ]
    return "## Findings\n\nWhere the source and our figures disagree:\n\n" + "\n".join(items)


def _fitted(claims: Sequence[Record]) -> list[str]:
    """What was fitted, and to how many of the claims that agree."""
    uses = Counter(c["fitted"] for c in claims if c["fitted"] and c["agrees"])
    if not uses:
        return []
    items = "\n".join(f"- {words}: {n} claim{'' if n == 1 else 's'}" for words, n in uses.items())
    return [
        "## Fitted",
        "These agree with something that the source leaves open and we chose so that its figures come out, or"
        " could have. They show that the figures are possible, not that they are right:",
        items,
    ]


def _checks(claims: Sequence[Record]) -> list[str]:
    """Which of our own earlier figures do not come out again."""
    failed = [c for c in claims if c["recomputed"] and c["agrees"] is False]
    if not failed:
        return []
    items = "\n".join(
        f"- **{c['statement']}**: {c['claimed']} before, {c['ours']} now. {_sentence(c['why'])}"
        for c in failed
    )
    return ["## Own checks", "Earlier figures of ours that do not come out again:", items]


def _verdict(claim: Record) -> str:
    words = VERDICTS[claim["agrees"]]
    if claim["recomputed"]:
        return f"{words} (own check)"
    return f"{words} (fitted)" if claim["agrees"] and claim["fitted"] else words


def _fitted_words(claim: Record) -> str:
    """What is fitted, unless the reason says so already."""
    fitted = claim["fitted"]
    return f". Fitted or open: {fitted}" if fitted and fitted not in claim["why"] else ""


def _own_checks(count: Record) -> str:
    hold, fail = count.get("checks_hold", 0), count.get("checks_fail", 0)
    return f"{hold} of {hold + fail} hold" if hold + fail else "–"


def _own_checks_sentence(count: Record) -> str:
    hold, fail, neither = (count[f"checks_{key}"] for key in ("hold", "fail", "not_compared"))
    if not hold + fail + neither:
        return ""
    return (
        f" {hold + fail + neither} more lines check our simulator against an earlier one of ours: {hold}"
        f" hold, {fail} do not, {neither} cannot be compared."
    )


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
