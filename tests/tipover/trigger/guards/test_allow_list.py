"""The allow-list file: what it allows, and everything it refuses."""

from __future__ import annotations

import ipaddress
import os
from datetime import date
from pathlib import Path

import pytest

from domain.errors import ConfigurationError, ExitCode
from tipover.trigger.guards.allow_list import AllowList, load_allow_list

GOOD = """
[[allow]]
host = "Checkout.Staging.Example."
addresses = ["10.1.2.0/24", "fd00:1::/64", "10.9.9.9"]
max_rate_per_s = 500
note = "agreed"
until = 2026-12-31

[[allow]]
host = "10.3.0.0/16"
max_rate_per_s = 20.5
"""
ROW = '[[allow]]\nhost = "svc.example"\naddresses = ["10.1.2.0/24"]\nmax_rate_per_s = 5\n'


def written(directory: Path, text: str, mode: int = 0o644) -> Path:
    """An allow-list file."""
    path = directory / "allow.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def faults_of(directory: Path, text: str) -> list[str]:
    """What is wrong with a file, as it is said."""
    with pytest.raises(ConfigurationError) as caught:
        load_allow_list(written(directory, text))
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    return [str(fault) for fault in caught.value.faults]


def test_a_file_is_read_in_full(tmp_path: Path) -> None:
    """Hosts in canonical form; a literal host is its own address."""
    listed = load_allow_list(written(tmp_path, GOOD))
    named, literal = listed.entries
    assert named.host == "checkout.staging.example"
    assert [str(network) for network in named.networks] == ["10.1.2.0/24", "fd00:1::/64", "10.9.9.9/32"]
    assert (named.max_rate_per_s, named.note, named.until) == (500.0, "agreed", date(2026, 12, 31))
    assert literal.networks == (ipaddress.ip_network("10.3.0.0/16"),)
    assert listed.entries_for("10.3.4.5") == (literal,)
    assert listed.entries_for("other.example") == ()


def test_without_a_file_nothing_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default file may be absent, one that was asked for may not."""
    monkeypatch.chdir(tmp_path)
    assert load_allow_list() == AllowList()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_allow_list("absent.toml")
    Path("tipover-allow.toml").write_text(GOOD)
    assert len(load_allow_list().entries) == 2


def test_a_dangling_default_file_is_not_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tipover-allow.toml").symlink_to("nowhere")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_allow_list()


def test_a_file_that_everybody_may_write_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"writable by everybody.*0646"):
        load_allow_list(written(tmp_path, GOOD, 0o646))
    assert load_allow_list(written(tmp_path, GOOD, 0o664)).entries


def test_the_file_behind_a_link_is_judged(tmp_path: Path) -> None:
    real = written(tmp_path, GOOD, 0o666)
    link = tmp_path / "link.toml"
    link.symlink_to(real)
    with pytest.raises(ConfigurationError, match="writable by everybody"):
        load_allow_list(link)


def test_a_directory_in_which_everybody_may_replace_it_is_refused(tmp_path: Path) -> None:
    """As in /tmp, the sticky bit keeps others from doing so."""
    path = written(tmp_path, GOOD)
    tmp_path.chmod(0o777)
    with pytest.raises(ConfigurationError, match="everybody may replace"):
        load_allow_list(path)
    tmp_path.chmod(0o1777)
    assert load_allow_list(path).entries
    tmp_path.chmod(0o755)


def test_only_a_regular_file_of_bounded_size_is_read(tmp_path: Path) -> None:
    """A pipe without a writer does not hang it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ConfigurationError, match="not a regular file"):
        load_allow_list(pipe)
    with pytest.raises(ConfigurationError, match=r"not a regular file|cannot be read"):
        load_allow_list(tmp_path)
    with pytest.raises(ConfigurationError, match="larger than"):
        load_allow_list(written(tmp_path, "#" * (1 << 20) + "\n"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[[allow]", "not TOML"),
        (b'x = "\xff"', "not UTF-8"),
        (b"allow = 3", "allow:"),
        (b"x = " + b"[" * 20_000, "nested too deeply"),
    ],
    ids=["no TOML", "no UTF-8", "no tables", "deep"],
)
def test_what_is_no_list_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "allow.toml"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError, match=said):
        load_allow_list(path)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("0.0.0.0/0", "/16 or narrower"),
        ("::/0", "/48 or narrower"),
        ("10.0.0.0/15", "/16 or narrower"),
        ("fd00::/47", "/48 or narrower"),
        ("10.1.2.*", "wildcards"),
        ("*", "wildcards"),
        ("10.1.2.3/24", "bits are set behind its prefix"),
        ("svc.example", "not an address"),
        ("", "not an address"),
        ("::ffff:10.0.0.0/112", "written as IPv4"),
        ("169.254.169.254", "metadata"),
        ("169.254.0.0/16", "never loaded"),
        ("224.0.0.0/16", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("fe80::1", "link-local"),
    ],
)
def test_networks_too_wide_or_never_loaded_are_refused(tmp_path: Path, network: str, said: str) -> None:
    (fault,) = faults_of(tmp_path, ROW.replace("10.1.2.0/24", network))
    assert fault.startswith("allow[0].addresses[0]: ")
    assert said in fault


@pytest.mark.parametrize("host", ["*", "*.example", "10.0.0.0/8", "::/0", "http://svc.example", "a b", ""])
def test_a_host_is_one_host(tmp_path: Path, host: str) -> None:
    assert any(
        fault.startswith("allow[0].host: ") for fault in faults_of(tmp_path, ROW.replace("svc.example", host))
    )


@pytest.mark.parametrize("network", ["8.8.8.0/24", "2606:4700:4700::/48", "8.8.8.8"])
def test_public_addresses_must_be_meant(tmp_path: Path, network: str) -> None:
    row = ROW.replace("10.1.2.0/24", network)
    (fault,) = faults_of(tmp_path, row)
    assert fault.startswith("allow[0].public: must be true")
    assert network in fault
    assert load_allow_list(written(tmp_path, row + "public = true\n")).entries[0].public


def test_a_public_literal_host_must_be_meant(tmp_path: Path) -> None:
    (fault,) = faults_of(tmp_path, '[[allow]]\nhost = "8.8.8.8"\nmax_rate_per_s = 1\n')
    assert fault.startswith("allow[0].public")


def test_a_name_needs_its_addresses(tmp_path: Path) -> None:
    """The name alone would allow whatever it resolves to tomorrow."""
    (fault,) = faults_of(tmp_path, '[[allow]]\nhost = "svc.example"\nmax_rate_per_s = 1\n')
    assert fault.startswith("allow[0].addresses: is required for a name")


def test_a_host_stands_there_once(tmp_path: Path) -> None:
    """In whatever spelling: otherwise the wider of two entries would count."""
    (fault,) = faults_of(tmp_path, ROW + ROW.replace("svc.example", "SVC.example."))
    assert fault.startswith("allow[1].host: is in allow[0] already")


def test_all_faults_are_said_at_once(tmp_path: Path) -> None:
    text = """
[[allow]]
host = "*"
adresses = ["10.0.0.1"]
max_rate_per_s = -1
until = "soon"
[[allow]]
host = "svc.example"
addresses = ["::/0", "8.8.8.8"]
max_rate_per_s = nan
public = "yes"
"""
    faults = faults_of(tmp_path, text)
    starts = (
        "allow[0].host: ", "allow[0].adresses: is not a known key; did you mean addresses?",
        "allow[0].max_rate_per_s: ", "allow[0].until: ", "allow[1].addresses[0]: ", "allow[1].public: ",
        "allow[1].max_rate_per_s: ",
    )  # fmt: skip
    for start in starts:
        assert any(fault.startswith(start) for fault in faults), start


@pytest.mark.parametrize(
    "until", ['"2026-12-31"', "2026-12-31T10:00:00Z", "2026-12-31T10:00:00", "20261231", "true"]
)
def test_until_is_a_date(tmp_path: Path, until: str) -> None:
    """Not a text, not a time of day."""
    (fault,) = faults_of(tmp_path, ROW + f"until = {until}\n")
    assert fault.startswith("allow[0].until: must be a date, such as 2026-12-31")


def test_types_are_told_in_the_words_of_the_file(tmp_path: Path) -> None:
    """And not in those of a library."""
    text = '[[allow]]\nhost = 3\naddresses = []\nmax_rate_per_s = "5"\nnote = 1\npublic = "yes"\n'
    faults = faults_of(tmp_path, text)
    assert len(faults) == 5
    for fault in faults:
        assert ": must " in fault
        assert "put should" not in fault
    (fault,) = faults_of(tmp_path, "allow = 3\n")
    assert fault.startswith("allow: must be a list")


def test_unknown_tables_are_refused(tmp_path: Path) -> None:
    (fault,) = faults_of(tmp_path, ROW.replace("[[allow]]", "[[alow]]"))
    assert fault.startswith("alow: is not a known key; did you mean allow?")
