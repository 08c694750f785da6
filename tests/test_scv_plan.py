"""The benchmark of video models: its cells, and the printed values that belong to them."""

from pathlib import Path

from stp.collect.published import of_cell, read_published
from stp.plan.cells import Plan
from stp.plan.manifests import manifest

ROOT = Path(__file__).parents[1]


def test_each_model_has_one_printed_value_of_each_dataset() -> None:
    """Table 2; all values of SCV have a note, so none gets a difference."""
    plan = Plan.load(ROOT / "config" / "scv.yaml")
    made = manifest(plan, "scv_benchmark")
    values = read_published(ROOT / "config" / "published" / "scv.csv")
    assert len(values) == 40
    found = {}
    for cell in made.cells:
        key = cell.key
        printed = of_cell(made, cell, values)
        if key.model == "persistence":
            assert not printed
            continue
        (value,) = printed
        assert value.metric == "FVD"
        assert bool(value.note) == key.trained_on.startswith("scv_")
        found[key.model, key.trained_on] = value
    assert len(found) == 40
    assert found["svg", "scv_rtwm_128"].value == 2031.4
    assert "transcription" in found["svg", "scv_rtwm_128"].note
    assert "doubtful" in found["cdna", "scv_mutb_128"].note
    facts = made.datasets
    lengths = {name: (facts[name].context, facts[name].horizon) for name in ("bair", "kth")}
    assert lengths == {"bair": (2, 14), "kth": (10, 10)}
    assert facts["scv_rtwm_64"].horizon == 30
