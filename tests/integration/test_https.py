"""An https target, from the command line to the trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.trace import read_trace
from tests import servers
from tests.integration.commands import FAST, scenario_file, tipover
from tests.loadgen.certificates import Authority
from tests.servers import serving

pytestmark = pytest.mark.sockets

SHORT = """
title = "an idle second"
[client]
timeout_s = 1.0
max_attempts = 1
[demand]
arrival_rate_per_s = 40
phases = [ { name = "steady", duration_s = 1 } ]
"""


def test_a_run_against_https(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its certificate is checked and its answers count, whoever asks: the conductor or the generator."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", authority.ca_file)
    with serving(servers.friendly, authority.good("127.0.0.1")) as log:
        url, out = f"https://127.0.0.1:{log.port}", tmp_path / "run"
        tipover("run", scenario_file(tmp_path, SHORT), "--target", url, "--out", out)
        work = [head for _, head in log.requests if head.startswith(b"GET /work ")]
    attempts = read_trace(out).attempts
    assert set(attempts.outcome) == {"ok"}
    assert len(attempts) == len(work) > 10


def test_a_certificate_that_is_not_accepted(tmp_path: Path) -> None:
    """Nothing is sent, and the message says why."""
    with serving(servers.friendly, Authority(tmp_path).good("127.0.0.1")) as log:
        url = f"https://127.0.0.1:{log.port}"
        done = tipover("run", scenario_file(tmp_path, FAST), "--target", url, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "does not answer" in done.stderr
    assert "certificate" in done.stderr
    assert log.requests == []
