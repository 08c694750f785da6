"""Verbs and options that went: one error names what replaces them."""

import pytest
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.plan.removed import OPTIONS, VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_a_removed_verb_names_one_that_there_is(verb: str) -> None:
    done = CliRunner().invoke(app, [verb, "whatever", "--json"])
    assert isinstance(done.exception, StpError)
    assert verb in done.exception.what
    for today in VERBS[verb].split(", "):
        assert f"`stp {today}`" in done.exception.remedy
        shown = CliRunner().invoke(app, [*today.split(), "--help"])
        assert shown.exit_code == 0, shown.output


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["plan", "--json"], "--json"),
        (["list", "datasets", "--json"], "--json"),
        (["table", "short_term", "--on", "kth"], "--on"),
        (["table", "short_term", "--model", "tau"], "--model"),
        (["compare", "a", "b", "--on", "kth"], "--on"),
        (["compare", "a", "b", "--column", "SSIM"], "--column"),
        (["draw", "figure", "leads", "x.json", "--case", "kth"], "--case"),
        (["draw", "trajectories", "x.json", "--test", "x"], "--test"),
    ],
)
def test_a_removed_option_names_that_of_today(arguments: list[str], option: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, StpError)
    assert option in done.exception.what and OPTIONS[option] in done.exception.remedy


def test_other_mistakes_stay_those_of_usage() -> None:
    assert CliRunner().invoke(app, ["nothing"]).exit_code == 2
    assert CliRunner().invoke(app, ["resume-all", "--json"]).exit_code == 2
    printed = CliRunner().invoke(app, ["store", "verify", "--json"])
    assert printed.exit_code == 2, "it prints no JSON"
