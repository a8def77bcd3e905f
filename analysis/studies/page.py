"""The Markdown of a study and of the index, from the plain record that the JSON file holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.studies.counting import counted, does

MARK = "<!-- Made by `tipover validate`, which replaces this file. -->"
VERDICTS = {True: "yes", False: "**NO**", None: "–"}

OF_THE_SOURCE = ("agree", "agree_fitted", "disagree", "not_compared")
READING = (
    "How to read the table: *ours* is what this program finds for the same quantity. A seed is one simulated"
    " run with random numbers of its own, ± is half the 95% interval of a mean over seeds, and *fluid* is the"
    " model without chance. *Yes (fitted)* depends on something that the source does not state, and *–* is"
    " not comparable; the last column says why."
)

Record = Mapping[str, Any]


def page(record: Record) -> str:
    """A study: what made it, the table of claims, the disagreements in plain words, the figures."""
    parts = [MARK, f"# {record['title']}", _made(record), _table(record["claims"]), _findings(record)]
    parts += [*_fitted(record["claims"]), *_checks(record["claims"])]
    if record["figures"]:
        parts += ["## Figures", *map(_figure, record["figures"])]
    return "\n\n".join(parts) + "\n"


def index(records: Sequence[Record]) -> str:
    """The studies with how many claims agree, and how, and which command made each."""
    rows = [
        (
            f"[{r['title']}]({r['name']}.md)",
            *(r["counts"].get(key, 0) for key in ("agree", "agree_fitted", "disagree", "not_compared")),
            _own_checks(r["counts"]),
            _value(r["settings"].get("effort", "–")),
            r["date"],
            f"`{r['command']}`",
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
        "listed and explained, not tuned away. The command at the end of a line makes that study again.",
        "",
        "*Fitted* are claims that agree with a parameter which the source leaves open and we chose: they are",
        "possible, no more. *Not comparable* are also those for which our own chance is too large to tell,",
        "as it often is at a low effort. *Own checks* are lines against an earlier simulation of ours, not",
        "against a source.",
        "",
        *_rows(
            (
                "study",
                "agree",
                "fitted",
                "disagree",
                "not comparable",
                "own checks",
                "effort",
                "date",
                "made by",
            ),
            rows,
        ),
    ]
    return "\n".join(lines) + "\n"


def by_chance(count: int, effort: float) -> str:
    """How many verdicts rest on chance and about how many of them it turns; first a warning if seeds are few.

    An interval that holds the truth with 95% leaves it out in one case of twenty.
    """
    if not count:
        return "No verdict here rests on a 95% interval over seeds, whatever the effort."
    warning = f"Effort {effort:g} has fewer seeds or shorter runs than effort 1. " if effort < 1 else ""
    expected = count / 20
    turned = "less than one" if expected < 0.75 else f"about {expected:.0f}"
    verb = "rests" if count == 1 else "rest"
    return (
        f"{warning}{counted(count, 'verdict')} here {verb} on a 95% interval over seeds: of so many {turned}"
        " would be a disagreement by chance alone, though the source were right in every one."
        + (" Do not rely on a single disagreement here; see whether it stays at effort 1." if warning else "")
    )


def _made(record: Record) -> str:
    settings = record["settings"]
    chosen = {key: value for key, value in settings.items() if key not in ("source", "symbols")}
    words = "; ".join(_setting(key, value) for key, value in chosen.items())
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    count = record["counts"]
    effort = settings.get("effort", 1.0)
    chance = by_chance(count["by_interval"], effort)
    parts = [
        f"Made by `{record['command']}` on {record['date']} with {versions}. The same command gives the same"
        " numbers again.",
        f"Source: {settings['source']}. The lines below call it by the number in brackets."
        if "source" in settings
        else "",
        f"Symbols: {settings['symbols']}." if "symbols" in settings else "",
        f"Settings: {words}.",
        f"**{counted(sum(count[key] for key in OF_THE_SOURCE), 'claim')} of the source:"
        f" {does(count['agree'], 'agree')}, {does(count['agree_fitted'], 'agree')} with a parameter of ours"
        f" fitted to the source, {does(count['disagree'], 'disagree')}, {count['not_compared']:,} cannot be"
        f" compared.**{_own_checks_sentence(count)} All numbers: [{record['name']}.json]"
        f"({record['name']}.json).",
        f"> **Warning.** {chance}" if effort < 1 and count["by_interval"] else chance,
        READING,
    ]
    return "\n\n".join(part for part in parts if part)


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
        f"- **{claim['statement']}** ({claim['source']}). Source: {claim['claimed']}. Ours: {claim['ours']}."
        f" {_sentence(claim['why'] + _fitted_words(claim))}"
        for claim in refuted
    ]
    return "## Findings\n\nWhere the source and our figures disagree:\n\n" + "\n".join(items)


def _fitted(claims: Sequence[Record]) -> list[str]:
    """What was fitted, and to how many of the claims that agree."""
    uses = Counter(c["fitted"] for c in claims if c["fitted"] and c["agrees"])
    if not uses:
        return []
    items = "\n".join(f"- {words}: {counted(n, 'claim')}" for words, n in uses.items())
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
        f" Lines marked *own check* set our simulator against an earlier one of ours, not against the source:"
        f" {does(hold, 'hold')}, {does(fail, 'fail')}, {neither:,} cannot be compared."
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


def _setting(key: str, value: object) -> str:
    """One setting with its unit, which a name that ends in _s has."""
    name, unit = (key[:-2], " s") if key.endswith("_s") else (key, "")
    return f"{name.replace('_', ' ')}: {_value(value)}{unit}"


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{k} {_value(v)}" for k, v in value.items()) + ")"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"
