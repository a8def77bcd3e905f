"""Somebody must have typed the host's name."""

from __future__ import annotations

import io
import ipaddress

import pytest

from domain.errors import ConfigurationError, ExitCode
from domain.guard import AllowEntry
from tipover.trigger.guards.confirmation import confirm
from tipover.trigger.guards.resolution import Resolved

ENTRY = AllowEntry("svc.example", (ipaddress.ip_network("10.1.2.0/24"),), 100.0)
ELSEWHERE = Resolved("svc.example", "10.1.2.3", 80, ENTRY)
PLAN = "the spike: 300 attempts/s for 2 s"


class Terminal(io.StringIO):
    """A keyboard on which something has been typed."""

    def isatty(self) -> bool:
        return True


def test_loopback_is_not_asked_about() -> None:
    screen = io.StringIO()
    assert (
        confirm(Resolved("localhost", "::1", 80, None), PLAN, answers=io.StringIO(), shows=screen)
        == "loopback"
    )
    assert screen.getvalue() == ""


@pytest.mark.parametrize("typed", ["svc.example\n", "  SVC.Example.\n", "svc.example"])
def test_the_hosts_name_confirms_after_what_is_sent_was_shown(typed: str) -> None:
    screen = io.StringIO()
    assert confirm(ELSEWHERE, PLAN, answers=Terminal(typed), shows=screen) == "typed"
    assert screen.getvalue().startswith(PLAN)
    assert "svc.example (10.1.2.3, port 80)" in screen.getvalue()


@pytest.mark.parametrize(
    "typed", ["", "\n", "y\n", "yes\n", "svc\n", "10.1.2.3\n", "svс.example\n", "localhost\n"]
)
def test_any_other_word_does_not(typed: str) -> None:
    """Neither does the end of the input, nor a letter that looks like another (a Cyrillic с)."""
    with pytest.raises(ConfigurationError, match=r"must be the host.s name, svc\.example") as caught:
        confirm(ELSEWHERE, PLAN, answers=Terminal(typed), shows=io.StringIO())
    assert caught.value.exit_code == ExitCode.CONFIGURATION


def test_a_name_with_other_letters_is_confirmed_in_the_form_that_shows_them() -> None:
    """Its look is what may deceive, so the look does not confirm it."""
    target = Resolved("xn--bcher-kva.example", "10.1.2.3", 80, ENTRY)
    assert confirm(target, PLAN, answers=Terminal("xn--bcher-kva.example\n"), shows=io.StringIO()) == "typed"
    with pytest.raises(ConfigurationError, match="must be the host's name"):
        confirm(target, PLAN, answers=Terminal("bücher.example\n"), shows=io.StringIO())


def test_without_a_terminal_nothing_is_read() -> None:
    """A name in a pipe is no person; nothing is shown either."""
    screen, pipe = io.StringIO(), io.StringIO("svc.example\n")
    with pytest.raises(ConfigurationError, match="no terminal; --yes"):
        confirm(ELSEWHERE, PLAN, answers=pipe, shows=screen)
    assert pipe.tell() == 0


def test_without_standard_input_nothing_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under a service manager that closed it."""
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ConfigurationError, match="no terminal"):
        confirm(ELSEWHERE, PLAN, shows=io.StringIO())


def test_yes_stands_in_for_the_typing_together_with_an_entry() -> None:
    assert confirm(ELSEWHERE, PLAN, yes=True, answers=io.StringIO()) == "--yes"


@pytest.mark.parametrize("yes", [True, False])
def test_nothing_stands_in_for_the_entry(yes: bool) -> None:
    nobody = Resolved("svc.example", "10.1.2.3", 80, None)
    with pytest.raises(ConfigurationError, match="no entry in the allow-list"):
        confirm(nobody, PLAN, yes=yes, answers=Terminal("svc.example\n"), shows=io.StringIO())
