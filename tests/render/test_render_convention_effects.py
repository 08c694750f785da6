"""The effect of conventions: rankings counted by hand, and read from all four formats."""

from pathlib import Path

import numpy as np
import pytest
from asking import csv_rows
from latex import complaints, needs_latex
from scipy.stats import spearmanr
from small_store import SmallStore, convention_facts, rebuilt, table_column
from typer.testing import CliRunner

from stp.cli import app
from stp.render.tables.convention_effects import page, render_convention_effects
from stp.score.tables import write_clusters

MODELS = ("persistence", "convlstm", "simvpv2")
PER_FRAME = {"moving_mnist": [0.5, 0.7, 0.6], "cityscapes": [0.5, 0.6, 0.7]}
POOLED = {"moving_mnist": [0.6, 0.5, 0.7], "cityscapes": [0.55, 0.66, 0.77]}
"""SSIM of the models in two conventions: on Moving-MNIST, ConvLSTM falls from first to last."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("effects")
    store = SmallStore(folder)
    store.manifest["names"]["models"]["simvpv2"] = "SimVPv2"
    store.manifest["conventions"] |= {
        "ssim.range1": convention_facts(True, title="Structural similarity"),
        "rmse.pooled": convention_facts(False),
    }
    noise = np.random.default_rng(0).normal(0, 0.001, 20)
    for dataset, values in PER_FRAME.items():
        for number, model in enumerate(MODELS):
            pair = {"ssim.range1": values[number], "ssim.range2": POOLED[dataset][number]}
            cell = store.add(model, dataset, {name: {"mean": v} for name, v in pair.items()})
            if dataset == "moving_mnist":  # certain differences
                sums = {name: (v + noise - noise.mean())[:, None, None] for name, v in pair.items()}
                path, ones = Path(cell["scores"], "cluster_sums.parquet"), np.ones(20, np.int64)
                write_clusters(path, [f"video{n}" for n in range(20)], ones, sums)
    # One model is no ranking.
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 1.0}, "rmse.pooled": {"mean": 2.0}})
    return rebuilt(store)


@needs_latex
def test_it_compiles(database: Path, tmp_path: Path) -> None:
    render_convention_effects(database, tmp_path / "convention_effects.csv")
    assert complaints(tmp_path / "convention_effects.tex") == []


def test_each_pair_of_rankings_is_a_line(database: Path, tmp_path: Path) -> None:
    out = tmp_path / "convention_effects.csv"
    render_convention_effects(database, out)
    row_of = {row["tested_on"]: row for row in csv_rows(out)}
    assert set(row_of) == set(PER_FRAME)
    for dataset, row in row_of.items():
        a, b = np.array(PER_FRAME[dataset]), np.array(POOLED[dataset])
        expected = spearmanr(a, b).statistic
        assert float(row["rank_correlation"]) == pytest.approx(expected)
        assert float(row["relative_difference"]) == pytest.approx(np.median(abs(b - a) / a))
        assert (row["convention"], row["other"]) == ("ssim.range1", "ssim.range2")
        assert row["source"] == "synthetic" and row["models"] == "3"
    moving = row_of["moving_mnist"]
    assert (moving["moved"], moving["largest_move"], moving["another_wins"]) == ("3", "2", "yes")
    assert (row_of["cityscapes"]["moved"], row_of["cityscapes"]["another_wins"]) == ("0", "no")


def test_the_table_sums_up_and_names_who_wins(database: Path, tmp_path: Path) -> None:
    whole = page(database)
    overview, ssim = whole.sections
    assert overview.rows == [
        ["Structural similarity (ssim)", "2", "2", "1 of 2", "1 of 2", "0.25 (-0.50)", "15 %"]
    ]
    assert {str(row[1]) for row in ssim.rows} == {"Moving-MNIST", "cityscapes"}
    (note,) = ssim.notes
    assert "ConvLSTM wins by `range1`, SimVPv2 by `range2`" in note
    (warning,) = whole.warnings
    assert "synthetic data, demo protocol" in warning
    asked = [
        "table",
        "convention_effects",
        "--database",
        str(database),
        "--out",
        str(tmp_path / "all.csv"),
    ]
    assert CliRunner().invoke(app, asked).exit_code == 0
    for kind in ("md", "tex", "html"):
        text = (tmp_path / "all").with_suffix(f".{kind}").read_text()
        assert "Structural similarity" in text and "synthetic data" in text
    shown = CliRunner().invoke(app, asked[:4]).output
    assert "Structural similarity (ssim)" in shown and "1 of 2" in shown


def test_winners_are_models_with_their_variants(tmp_path: Path) -> None:
    """UNet with five steps wins by one, FNO by the other; their difference is lost in the noise,
    that of the two default variants is not."""
    store = SmallStore(tmp_path)
    store.manifest["conventions"]["ssim.range1"] = convention_facts(True)
    pairs = {
        ("unet", "default"): (0.4, 0.3),
        ("unet", "steps5"): (0.9, 0.6),
        ("fno", "default"): (0.6, 0.9),
    }
    noises = np.random.default_rng(0).normal(0, 0.001, (len(pairs), 20))
    for noise, ((model, variant), values) in zip(noises, pairs.items(), strict=True):
        pair = dict(zip(("ssim.range1", "ssim.range2"), values, strict=True))
        scores = {name: {"mean": value} for name, value in pair.items()}
        cell = store.add(model, "moving_mnist", scores, variant=variant)
        noise = (noise - noise.mean()) * (5000 if variant == "steps5" else 1)
        sums = {name: (value + noise)[:, None, None] for name, value in pair.items()}
        path = Path(cell["scores"], "cluster_sums.parquet")
        write_clusters(path, [f"video{n}" for n in range(20)], np.ones(20, np.int64), sums)
    (note,) = page(rebuilt(store)).sections[1].notes
    assert "unet (steps5) wins by `range1`, fno by `range2`; significantly by neither." in note


@pytest.mark.parametrize("other", [("fno", "default"), ("unet", "steps5")])
def test_winners_nearest_to_the_best_value_are_told_apart(
    tmp_path: Path, other: tuple[str, str]
) -> None:
    store = SmallStore(tmp_path)
    ways = "spread.skill_ratio", "spread.skill_ratio_uncorrected"
    store.manifest["conventions"] |= {name: convention_facts(best_at=1.0) for name in ways}
    store.manifest["tables"]["short_term"]["columns"]["kth"] = [table_column("Ratio", ways[0])]
    pairs = {("unet", "default"): (1.1, 0.5), other: (0.5, 1.2)}
    noise = np.random.default_rng(0).normal(0, 0.001, (2, 20))
    for number, ((model, variant), values) in enumerate(pairs.items()):
        # A ratio is the root of the spreads' squares over the errors', which are 1.
        squares = {n: value**2 + noise[number] for n, value in zip(ways, values, strict=True)}
        scores = {name: {"mean": float(np.sqrt(of.mean()))} for name, of in squares.items()}
        cell = store.add(model, "kth", scores, variant=variant)
        sums = {
            name: np.stack([of, np.ones(20)], axis=1)[..., None] for name, of in squares.items()
        }
        path = Path(cell["scores"], "cluster_sums.parquet")
        write_clusters(path, [f"video{n}" for n in range(20)], np.ones(20, np.int64), sums)
    (note,) = page(rebuilt(store)).sections[1].notes
    assert note.endswith("both significantly.")
