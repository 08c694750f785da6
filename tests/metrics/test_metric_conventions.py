"""Configuration and code name the same conventions: a metric is one module and one entry."""

from pathlib import Path

import pytest
import yaml

from stp.core import leaves
from stp.core.errors import StpError
from stp.score.conventions import EVERY, choices, find

CONFIG = Path(__file__).parents[2] / "config" / "conventions"
ENTRIES = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in CONFIG.glob("*.yaml")}
MODULES = [name for name in leaves.names_in("stp.metrics") if choices(name)]


@pytest.mark.parametrize("module", MODULES)
def test_every_metric_module_has_an_entry_with_its_conventions(module: str) -> None:
    assert module in ENTRIES, f"config/conventions/{module}.yaml is missing"
    assert ENTRIES[module].get("available", True)
    named = choices(module)
    if named == [EVERY]:  # the entry tells its conventions apart by their features alone
        named = sorted(ENTRIES[module]["features"])
    assert sorted(ENTRIES[module]["conventions"]) == named


@pytest.mark.parametrize("entry", sorted(ENTRIES))
def test_every_entry_has_a_module_or_a_reason(entry: str) -> None:
    if ENTRIES[entry].get("available", True):
        assert entry in MODULES
    else:
        assert ENTRIES[entry]["reason"]
        assert entry not in MODULES


@pytest.mark.parametrize("entry", sorted(ENTRIES))
def test_entries_say_what_a_reader_needs(entry: str) -> None:
    facts = ENTRIES[entry]
    assert {"title", "unit", "higher_is_better", "conventions"} <= set(facts)
    assert facts["title"] and facts["unit"]
    directed = isinstance(facts["higher_is_better"], bool)
    assert directed or facts["higher_is_better"] is None
    best_at = facts.get("best_at", {})
    assert set(best_at) <= set(facts["conventions"])
    assert not (directed and best_at), "give no direction where a value is best"
    assert facts["conventions"]
    assert all(isinstance(text, str) and text for text in facts["conventions"].values())


def test_a_convention_is_found_by_its_name() -> None:
    from stp.metrics import ssim

    assert find("ssim.range2") is ssim.range2


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("ssim.range3", "ssim.range2"),
        ("sim.range1", "ssim.range1"),
        ("mse", "mse.pixel_sum"),
        ("rmse.perframe", "rmse.per_frame"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(StpError) as caught:
        find(wrong)
    assert wrong in caught.value.what
    assert right in caught.value.remedy


@pytest.mark.parametrize("wrong", ["", "metric.Metric", "ssim.AREA", "os.path", "ssim.", ".."])
def test_what_is_not_a_convention_is_refused(wrong: str) -> None:
    with pytest.raises(StpError, match="unknown convention"):
        find(wrong)
