"""What is asked for and cannot be done: one message, exit code 2, before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from domain.autoscaler import Autoscaler, Doubling, Policies, Policy, Unlimited
from domain.experiment_json import fleet_to_json
from domain.fleet import Fleet, specimen
from tipover.autoscaling.places import ScrapedPage
from tipover.autoscaling.readings import QueriedReadings, ScrapedReadings
from tipover.autoscaling.setup import Where, readings_from, target_from, wait_s
from tipover.autoscaling.targets.http import HttpScale
from tipover.autoscaling.targets.kubectl import KubectlScale
from tipover.cli import main
from tipover.commands.serve.autoscaler import _fleet

URL = "http://127.0.0.1:9"
SCALE, SCRAPE = ["--scale", f"{URL}/scale", "--max-pods", "50"], ["--scrape", f"{URL}/metrics"]
NOBODY = ["--scale", "none", "--pods", "4"]


@pytest.mark.parametrize(
    ("arguments", "field", "rule"),
    [
        (["--scale", f"{URL}/scale", *SCRAPE], "--max-pods", "is required for anything but --scale none"),
        (["--scale", "compose:web", *SCRAPE], "--max-pods", "is required"),
        (["--scale", "kubectl:deployment/web", *SCRAPE], "--max-pods", "is required"),
        (["--scale", "none", *SCRAPE], "--pods", "says how many pods"),
        ([*SCALE, *SCRAPE, "--pods", "4"], "--pods", "goes with --scale none"),
        (["--scale", "10.1.2.3", "--max-pods", "9", *SCRAPE], "--scale", "must be a URL, compose:SERVICE"),
        (
            ["--scale", "http://10.1.2.3/scale", "--max-pods", "9", *SCRAPE],
            "--scale",
            "is not a loopback address",
        ),
        (["--scale", "http://u:p@127.0.0.1/scale", "--max-pods", "9", *SCRAPE], "--scale", "password"),
        (["--scale", f"{URL}/scale?a=1", "--max-pods", "9", *SCRAPE], "--scale", "without a query"),
        (["--scale", "http://[::1/scale", "--max-pods", "9", *SCRAPE], "--scale", "is not a URL"),
        (["--scale", "compose:-f", "--max-pods", "9", *SCRAPE], "--scale", "must name a service"),
        (["--scale", "kubectl:pod/web", "--max-pods", "9", *SCRAPE], "--scale", "must be kubectl:KIND/NAME"),
        (["--scale", "kubectl:deployment/-A", "--max-pods", "9", *SCRAPE], "--scale", "must be kubectl"),
        (NOBODY, "--scrape", "or --prometheus must be given"),
        ([*NOBODY, *SCRAPE, "--prometheus", URL], "--scrape", "and not both"),
        ([*NOBODY, *SCRAPE, "--query", "cpu=1"], "--query", "goes with --prometheus"),
        ([*NOBODY, "--prometheus", URL, "--query", "ram=1"], "--query", "must be SIGNAL=PROMQL"),
        ([*NOBODY, "--prometheus", URL, "--query", "cpu=1", "--query", "cpu=2"], "--query", "once"),
        ([*NOBODY, "--prometheus", f"{URL}?query=up"], "prometheus", "must be a base URL"),
        ([*NOBODY, "--scrape", "http://169.254.169.254/metrics"], "--scrape", "metadata service"),
        ([*NOBODY, "--scrape", "ftp://127.0.0.1/metrics"], "--scrape", "http:// or https://"),
        ([*NOBODY, "--scrape", f"first={URL}/metrics"], "--scrape", "names no page for the signal cpu"),
        ([*NOBODY, "--scrape", f"ram={URL}/metrics"], "--scrape", "must name signals of cpu, ingress, first"),
        ([*NOBODY, *SCRAPE, "--signals", "ram"], "--signals", "must be one of cpu, ingress, first"),
        ([*NOBODY, *SCRAPE, "--signals", "cpu,cpu"], "--signals", "must differ"),
        ([*NOBODY, *SCRAPE, "--port", "65536"], "--port", "from 0 to 65535"),
        ([*NOBODY, *SCRAPE, "--epoch", "1e18"], "--epoch", "must be a time of the monotonic clock"),
        ([*NOBODY, *SCRAPE, "--sync-period", "0"], "--sync-period", "must be positive"),
        ([*NOBODY, *SCRAPE, "--cpu-window", "nan"], "--cpu-window", "must be a number"),
        ([*NOBODY, *SCRAPE, "--metric-lag", "-1"], "--metric-lag", "must be a number of at least 0"),
        ([*NOBODY, *SCRAPE, "--dead-time-hint", "inf"], "--dead-time-hint", "must be finite"),
        ([*NOBODY, *SCRAPE, "--min-pods", "0"], "--min-pods", "must be from 1"),
        ([*SCALE, *SCRAPE, "--min-pods", "51"], "--min-pods", "must be from 1 to max_pods"),
        ([*NOBODY, *SCRAPE, "--scale-up", "tripling"], "--scale-up", "must be JSON, or one of"),
        ([*NOBODY, *SCRAPE, "--scale-up", '{"kind": "tripling"}'], "--scale-up", "must be one of"),
        (
            [*NOBODY, *SCRAPE, "--scale-up", '{"kind": "policies", "policies": []}'],
            "--scale-up",
            "must name at least one",
        ),
        ([*NOBODY, *SCRAPE, "--fleet", "{"], "--fleet", "must be JSON"),
        ([*NOBODY, *SCRAPE, "--fleet", "{}"], "fleet.signals", "is required"),
        ([*NOBODY, *SCRAPE, "--fleet", "{}", "--max-pods", "3"], "--fleet", "do not give --max-pods"),
        ([*NOBODY, *SCRAPE, "--epoch", "nan"], "--epoch", "must be a time"),
        ([*NOBODY, *SCRAPE, "--rate-per-pod", "0"], "--rate-per-pod", "must be positive"),
        ([*NOBODY, *SCRAPE, "--log", "/dev/null/x"], "--log", "cannot be written"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_done_is_refused(
    arguments: list[str], field: str, rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rate = [] if "--rate-per-pod" in arguments else ["--rate-per-pod", "40"]
    assert main(["serve", "autoscaler", *arguments, *rate, "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    (fault,) = said["faults"]
    assert fault["field"] == field
    assert rule in fault["rule"]


def test_the_program_for_compose_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    arguments = ["--scale", "compose:web", "--max-pods", "9", *SCRAPE, "--rate-per-pod", "40"]
    assert main(["serve", "autoscaler", *arguments]) == 2
    assert "needs the program docker with its compose plugin" in capsys.readouterr().err


def test_options_make_the_fleet() -> None:
    """One by one, or all at once as an experiment has it."""
    policies = (
        '{"kind": "policies", "policies": [{"kind": "pods", "value": 4, "period_s": 6}], "select": "min"}'
    )
    for text, limit in (
        ("unlimited", Unlimited()),
        ("doubling", Doubling()),
        ("policies", Policies()),
        (policies, Policies((Policy("pods", 4, 6.0),), "min")),
    ):
        made = _fleet(
            None,
            {"signals": "first, ingress", "sync_period_s": 1.5},
            {"min_pods": 2, "max_pods": 50, "stabilization_s": None, "scale_up": text},
        )
        assert made == Fleet(
            ("first", "ingress"), sync_period_s=1.5, autoscaler=Autoscaler(2, 50, scale_up=limit)
        )
    assert _fleet(None, {}, {}) == Fleet(("cpu",))
    whole = specimen("first", "ingress", max_pods=50).scaled(0.1)
    assert _fleet(json.dumps(fleet_to_json(whole)), {"signals": None}, {"min_pods": None}) == whole


def made_target(text: str, **options: object) -> object:
    """What --scale names."""
    settings = {"pods": None, "within_s": 1.0, "allowed_hosts": [], "where": Where(namespace="n"), **options}
    return target_from(text, Fleet(("cpu",), autoscaler=Autoscaler(1, 9)), **settings)  # type: ignore[arg-type]


def test_targets_by_their_name() -> None:
    assert isinstance(made_target("http://127.0.0.1:8080"), HttpScale)
    assert isinstance(made_target("http://10.1.2.3/scale", allowed_hosts=["10.1.2.3"]), HttpScale)
    assert isinstance(made_target("kubectl:deployment/web"), KubectlScale)
    assert made_target("none:http://127.0.0.1:8080").name == "none:http://127.0.0.1:8080"  # type: ignore[attr-defined]


def test_a_host_that_does_not_resolve_yet_may_later() -> None:
    """In a compose project parts start in any order."""
    made_target("http://nowhere.invalid:8080/scale")
    page = ScrapedPage("http://nowhere.invalid/metrics", 1.0, lambda: 0.0)
    with pytest.raises(OSError, match="does not resolve"):
        page.counters()


def test_readings_by_their_option() -> None:
    fleet = Fleet(("cpu", "first"), sync_period_s=1.5)
    now = lambda: 0.0  # noqa: E731
    scrapes = [f"cpu={URL}/metrics", f"first,ingress={URL}/edge"]
    made = readings_from(fleet, scrapes, None, [], looks=3, now=now)
    assert isinstance(made, ScrapedReadings)
    assert [source.signals for source in made._sources] == [{"cpu"}, {"first", "ingress"}]
    asked = readings_from(fleet, [], URL, ["first=sum(x)"], looks=3, now=now)
    assert isinstance(asked, QueriedReadings)
    assert asked._queries["first"] == "sum(x)"
    assert asked._queries["cpu"].startswith("sum(rate(tipover_busy")


def test_no_look_takes_longer_than_until_the_next() -> None:
    assert wait_s(Fleet(("cpu",)), 3) == 2.0
    assert wait_s(Fleet(("cpu",), sync_period_s=1.5), 3) == 0.5
