"""The study of distortions, from made-up films to its table, through random weights."""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from stp.cli import app
from stp.collect import success
from stp.collect.people_agreement import HEADER as AGREEMENTS
from stp.collect.people_agreement import line
from stp.collect.refresh import build_database, collect_dimension
from stp.collect.schema import AgreementRow
from stp.collect.sensitivity import CONSTANT, curves, rank_correlation
from stp.collect.trust_card import cards_by_dataset
from stp.core.errors import StpError
from stp.data import feature_table as table
from stp.export.bundle import export
from stp.page.safe_text import csv_text
from stp.plan.cells import Plan
from stp.plan.checked_config import merge
from stp.plan.manifest import load_manifest, manifest_text
from stp.plan.manifests import manifest
from stp.render.tables.noise_study import render_noise_study
from stp.render.tables.paper_table import render_table
from stp.run import runner

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "config" / "fvd-demo.yaml"
MODELS = ["gaussian_noise", "local_swap", "switching"]
CLIPS = 11


def small(**more: object) -> dict[str, object]:
    """Three distortions at three intensities, on eleven clips of 9 frames."""
    synthetic = {
        "options": {"train": 9, "test": CLIPS, "frames": 9},
        "prepare": {"frames": 9, "trajectories": {"train": 9, "test": CLIPS}},
    }
    metrics = ["fvd.random_logits", "average_fid.random_means", "average_fid.random_differences"]
    metrics += ["average_fid.random_signed_differences", "fvd.predicted_only", "psnr.pooled"]
    scale = yaml.safe_load(DEMO.read_text())
    scale["dimensions"]["video_distortions"] = {
        "models": MODELS,
        "cells": [{"trained_on": "bair", "setting": {"intensity": [1, 2, 5]}}],
    }
    scale["datasets"]["bair"] |= {"horizon": 9, "metrics": metrics}
    given = {"datasets": {"bair": {"releases": {"synthetic": synthetic}}}}
    given["models"] = {"local_swap": {"options": {"ends": "kept"}}}
    return merge(merge(scale, given), more)


STUDY = pytest.mark.long(part="suites")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Plan, Path]]:
    root = tmp_path_factory.mktemp("noise")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("store", "raw", "weights"):
            patch.setenv(f"STP_{name.upper()}_DIR", str(root / name))
        plan = Plan.load(small())
        runner.fetch(plan, plan.raw("bair"))
        for artefact in plan.artefacts.values():
            runner.make(plan, artefact)
        (root / "plan").mkdir()
        path = root / "plan" / "video_distortions.json"
        path.write_text(manifest_text(manifest(plan, "video_distortions")))
        yield plan, path


def test_the_intensities_are_those_of_the_paper() -> None:
    with (ROOT / "config" / "suites" / "fvd_study" / "published.csv").open(newline="") as file:
        printed = [row for row in csv.DictReader(file) if row["dimension"] == "intensities"]
    ours = {}
    for path in (ROOT / "config" / "models").glob("*.yaml"):
        model = yaml.safe_load(path.read_text())
        if model.get("source") == "distorted_clips":
            ours[model["published_name"]] = model["options"]["intensities"]
    found = [(row["model"], int(row["intensity"]), float(row["value"])) for row in printed]
    assert len(found) == 42
    assert sorted(found) == sorted(
        (name, number, value)
        for name, values in ours.items()
        for number, value in enumerate(values, 1)
    )


def test_scales_have_a_cell_for_each_intensity() -> None:
    for name, cells in (("fvd", 3 * 42), ("fvd-demo", 8 * 3)):
        plan = Plan.load(ROOT / "config" / f"{name}.yaml")
        assert len(plan.cells) == cells
        assert all(made.predictions is None for made in plan.cells)


@STUDY
def test_code_of_distortions_is_part_of_what_is_made_of_them(made) -> None:
    plan, _ = made
    for one in plan.cells:
        seen = [artefact for artefact in one.features if "/predictions/" in artefact.folder]
        for artefact in (one.scores, *seen):
            assert "stp.data.distortions" in artefact.code.modules
            assert "stp.predict.sources.centre_archive" not in artefact.code.modules
        observed = [artefact for artefact in one.features if artefact not in seen]
        assert "stp.data.distortions" not in observed[0].code.modules


def test_rank_correlations_are_those_computed_by_hand() -> None:
    steps = np.array([1, 2, 3, 4])
    values = np.array([[1, 2, 3, 9], [4, 3, 2, 1], [1, 1, 1, 1], [2, 1, 3, 4.0], [1, 1, 2, 2]])
    # Fourth: 1 - 6 * (1 + 1) / (4 * 15); last: ties, ranks 1.5 1.5 3.5 3.5, 4 / sqrt(4 * 5)
    assert rank_correlation(values, steps) == pytest.approx(
        [1, -1, np.nan, 0.8, 2 / np.sqrt(5)], nan_ok=True
    )


def test_other_values_may_differ_from_row_to_row() -> None:
    values = np.array([[1, 2, 3], [1, 2, 3], [1, 1, 2.0]])
    others = np.array([[3, 5, 9], [9, 5, 3], [4, 4, 4.0]])
    assert rank_correlation(values, others) == pytest.approx([1, -1, np.nan], nan_ok=True)


@STUDY
def test_rankings_of_models_beside_one_metric_as_success(made) -> None:
    """As if PSNR said what happens, and distortions were models: intervals come from clips."""
    plan = load_manifest(made[1])
    assert success.rankings(plan) == [], "no convention declares that it says what happens"
    plan.conventions["psnr.pooled"] = replace(plan.conventions["psnr.pooled"], success="graded")
    found = success.rankings(plan)
    of = {(one.setting, one.convention): one for one in found}
    values = {(c.distortion, c.convention): c.values for c in curves(load_manifest(made[1]))}
    for place, intensity in enumerate((1, 2, 5)):
        one = of[f"horizon-9+intensity-{intensity}", "fvd.random_logits"]
        psnr, fvd = (
            [values[name, convention][place] for name in MODELS]
            for convention in ("psnr.pooled", "fvd.random_logits")
        )
        (expected,) = rank_correlation(np.array([psnr]), -np.array(fvd))
        assert one.correlation == pytest.approx(expected) and one.models == 3
        assert one.over_clips.low <= one.correlation <= one.over_clips.high
        assert one.over_models is None and "3 models" in one.why
    (pooled,) = (o for o in found if o[:1] + o[3:4] == (success.ALL, "fvd.random_logits"))
    assert pooled.over_clips is not None and pooled.models == 9
    ours = [o.correlation for o in found if o.convention == "fvd.random_logits"][:3]
    assert pooled.correlation == pytest.approx(np.mean(ours))
    absent = of["horizon-9+intensity-1", "fvd.predicted_only"]
    assert absent.correlation is None and "i3d" in absent.why


@STUDY
def test_means_over_frames_are_exactly_blind_to_swaps(made) -> None:
    plan, path = made
    found = {(c.distortion, c.convention): c for c in curves(load_manifest(path))}
    for blind in ("random_means", "random_signed_differences"):  # ends are kept in place here
        curve = found["local_swap", f"average_fid.{blind}"]
        # Of equal features the distance is rounding: the same at each intensity.
        assert max(curve.values) < 1e-12 and len(set(curve.values)) == 1
        assert curve.why == CONSTANT
        assert curve.correlation is None and curve.low is None
        assert found["gaussian_noise", f"average_fid.{blind}"].correlation == 1.0
    assert found["local_swap", "average_fid.random_differences"].values[0] > 0
    assert found["local_swap", "fvd.random_logits"].values[0] > 0
    for made_cell in plan.cells:
        if made_cell.cell.model == "local_swap":
            seen = {
                one.folder: table.read(plan.store / one.folder).values for one in made_cell.features
            }
            (real, swapped) = (v for f, v in seen.items() if "squeezenet_random.means" in f)
            assert np.array_equal(real, swapped)


@STUDY
def test_noise_is_seen_by_all_and_its_interval_comes_from_clips(made) -> None:
    _, path = made
    for curve in curves(load_manifest(path)):
        if curve.convention == "fvd.predicted_only":
            assert curve.correlation is None and "weights of i3d" in curve.why
        elif curve.distortion == "gaussian_noise":
            assert (curve.correlation, curve.low, curve.high, curve.why) == (1.0, 1.0, 1.0, "")
            assert curve.n == CLIPS and len(curve.values) == 3


@STUDY
def test_the_table_says_what_it_rests_on(made, tmp_path: Path) -> None:
    _, path = made
    out = tmp_path / "noise_study.csv"
    render_noise_study(path, out)
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 6 and {row["source"] for row in rows} == {"synthetic"}
    blind = [row for row in rows if row["why"] == CONSTANT]
    assert {row["metric"] for row in blind} == {
        "average_fid.random_means",
        "average_fid.random_signed_differences",
    }
    assert all(row["correlation"] == "" for row in blind)
    page = out.with_suffix(".md").read_text()
    assert "random weights have learnt nothing" in page and "synthetic" in page
    assert "11 clips cannot fill a covariance of 400 x 400" in page
    for ending in (".tex", ".html", ".png", ".svg"):
        assert out.with_suffix(ending).stat().st_size > 1000


ANSWERS = AgreementRow(
    source="synthetic", scale="demo", protocol="demo", comparable=False, study="a",
    scenario="spr. FID", kind="spread", metric="FID", convention="average_fid.random_means",
    counting="decided", value=62.5, ci95_low=51.0, ci95_high=74.0, reason=None, pairs=45,
    comparisons=135, answers=300, raters=12, ties=0, simulated=False, published=None,
)  # fmt: skip
"""What raters said of videos, as FID has them."""


def written(path: Path, name: str, folder: Path) -> tuple[list[dict[str, str]], str]:
    """The rows of a table of the study, and its page."""
    out = folder / f"{name}.csv"
    given = ["render", str(path), "--study", name, "--out", str(out)]
    said = CliRunner().invoke(app, given)
    assert said.exit_code == 0, said.output
    with out.open(newline="") as file:
        return list(csv.DictReader(file)), out.with_suffix(".md").read_text()


@STUDY
def test_distances_by_size_are_a_table_and_a_figure(made, tmp_path: Path) -> None:
    rows, page = written(made[1], "sample_size", tmp_path)
    # Mean and standard error of 50 tries, for each size of subsets of eleven clips.
    logits = [row for row in rows if row["metric"] == "fvd.random_logits"]
    assert [(row["n"], row["tries"], row["features"]) for row in logits] == [
        ("2", "50", "400"),
        ("5", "50", "400"),
    ]
    few, many = (float(row["mean"]) for row in logits)
    assert few > many > 0 and all(float(row["standard_error"]) > 0 for row in logits)
    assert {row["infinite"] for row in rows} == {""}
    assert all("a line over 1 / N needs" in row["why_not_infinite"] for row in rows)
    assert "Values of different N" in page and "cannot fill a covariance of 512 x 512" in page
    assert "fvd.predicted_only" not in page, "nothing was computed through absent weights"
    assert all((tmp_path / f"sample_size.{e}").stat().st_size > 1000 for e in ("png", "svg"))


@STUDY
def test_metrics_correlate_within_a_dataset_and_over_all(made, tmp_path: Path) -> None:
    rows, page = written(made[1], "metric_correlations", tmp_path)
    assert {row["dataset"] for row in rows} == {"bair", "all"}
    assert len(rows) == 2 * 15, "pairs of six columns"
    by_pair = {(row["dataset"], row["metric"], row["with"]): row for row in rows}
    one = by_pair["bair", "fvd.random_logits", "psnr.pooled"]
    found = {(c.distortion, c.convention): c.values for c in curves(load_manifest(made[1]))}
    x, y = (
        np.concatenate([found[name, convention] for name in MODELS])
        for convention in ("fvd.random_logits", "psnr.pooled")
    )
    assert one["cells"] == "9" and one["published_pearson"] == ""
    assert float(one["pearson"]) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)
    signs = [np.sign(v[:, None] - v).ravel() for v in (x, y)]
    tau = signs[0] @ signs[1] / np.sqrt(np.abs(signs[0]).sum() * np.abs(signs[1]).sum())
    assert float(one["kendall"]) == pytest.approx(tau, abs=1e-9)
    printed = by_pair["all", "fvd.predicted_only", "psnr.pooled"]
    assert (printed["published_pearson"], printed["published_kendall"]) == ("-0.278", "-0.007")
    assert (printed["pearson"], printed["cells"]) == ("", "0") and "0 cells" in printed["why"]
    assert "weights of i3d" in page


@STUDY
def test_motion_is_weighed_against_content_at_equal_error(made, tmp_path: Path) -> None:
    rows, page = written(made[1], "content_motion", tmp_path)
    found = {(c.distortion, c.convention): c.values for c in curves(load_manifest(made[1]))}
    assert {row["distortion_of_time"] for row in rows} == {"local_swap", "switching"}
    blind = [
        row for row in rows
        if (row["metric"], row["distortion_of_time"]) == ("average_fid.random_means", "local_swap")
    ]  # fmt: skip
    assert all(float(row["ratio"]) < 1e-9 for row in blind) and len(blind) == 3
    (row,) = (
        row for row in rows
        if (row["metric"], row["distortion_of_time"], row["intensity"])
        == ("fvd.random_logits", "switching", "1")
    )  # fmt: skip
    error = 10 ** (-found["switching", "psnr.pooled"][0] / 10)
    assert float(row["error_by_frame"]) == pytest.approx(error)
    errors = [0, *(10 ** (-v / 10) for v in found["gaussian_noise", "psnr.pooled"])]
    noisy = np.interp(error, errors, [0, *found["gaussian_noise", "fvd.random_logits"]])
    assert errors[-1] > error and row["distortions_of_space"] == "gaussian_noise"
    assert float(row["of_space_at_equal_error"]) == pytest.approx(noisy)
    assert float(row["ratio"]) == pytest.approx(float(row["value"]) / noisy)
    absent = [row for row in rows if row["metric"] == "fvd.predicted_only"]
    assert absent and all("weights of i3d" in row["why"] and not row["ratio"] for row in absent)
    assert "psnr.pooled" not in {row["metric"] for row in rows}
    assert "have learnt nothing" in page


@STUDY
def test_the_cards_of_all_metrics_are_one_table(made, tmp_path: Path) -> None:
    rows, page = written(made[1], "trust_cards", tmp_path)
    of = {row["metric"]: row for row in rows}
    assert len(of) == len(rows) == 6
    means = of["average_fid.random_means"]
    assert (means["follows_space"], means["of_space"], means["of_time"]) == ("1", "1", "2")
    assert means["blind_to"] == "local_swap" and float(means["seconds_per_clip"]) > 0
    (card_of_means,) = cards_by_dataset(load_manifest(made[1]), "average_fid.random_means").values()
    least = card_of_means.between_halves.mean + 2 * card_of_means.between_halves.deviation
    assert float(means["hidden_below"]) == pytest.approx(least)
    assert of["psnr.pooled"]["hidden_below"] == "" and of["psnr.pooled"]["follows_space"] == "1"
    assert "weights of i3d" in of["fvd.predicted_only"]["why"]
    assert all(row["agreement_with_people"] == "" for row in rows)
    assert "no study with people" in page and "stp list metrics fvd" in page
    answers = tmp_path / "agreement_with_people.csv"  # beside the table
    answers.write_text(csv_text([AGREEMENTS, line(ANSWERS)]))
    rows, page = written(made[1], "trust_cards", tmp_path)
    said = {row["metric"]: row["agreement_with_people"] for row in rows}
    assert said.pop("average_fid.random_means") == "62.5" and set(said.values()) == {""}
    assert "62 %" in page


@STUDY
def test_the_cards_that_tables_name_can_be_shown(
    made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "fvd-demo").symlink_to(made[1].parents[1])
    monkeypatch.chdir(tmp_path)
    page = written(made[1], "trust_cards", tmp_path)[1]
    collect_dimension(made[1], tmp_path / "collected" / "video_distortions.parquet")
    build_database(tmp_path / "collected", tmp_path / "results.duckdb")
    render_table(made[1], tmp_path / "results.duckdb", tmp_path / "video_distortions.csv")
    page += (tmp_path / "video_distortions.md").read_text()
    bundle = export(tmp_path / "results.duckdb", "local_swap", tmp_path / "bundle")
    assert bundle.manifest.cells == 3  # of a store that real code has made, its files agree
    commands = re.findall(r"`stp (list metrics [^`]+)`", page)
    assert len(commands) == 2
    for command in commands:
        said = CliRunner().invoke(app, command.split())
        assert said.exit_code == 0, said.output


@STUDY
def test_another_table_is_refused(made, tmp_path: Path) -> None:
    given = ["render", str(made[1]), "--study", "noise", "--out", str(tmp_path / "noise.csv")]
    said = CliRunner().invoke(app, given)
    assert isinstance(said.exception, StpError) and "did you mean noise_study" in str(
        said.exception
    )


@STUDY
def test_a_trust_card_says_what_is_followed_and_what_is_not_seen(made) -> None:
    _, path = made
    plan = load_manifest(path)
    (blind,) = cards_by_dataset(plan, "average_fid.random_means").values()
    assert blind.blind_to(temporal=True) == ["local_swap"]
    assert blind.blind_to(temporal=False) == []
    assert blind.follows(temporal=False) == ["gaussian_noise"]
    assert [one.n for one in blind.bias] == [2, 5] and blind.bias[0].mean > blind.bias[1].mean > 0
    assert blind.between_halves.mean == pytest.approx(blind.bias[1].mean, rel=0.5)
    assert blind.seconds > 0
    (plain,) = cards_by_dataset(plan, "psnr.pooled").values()
    assert plain.bias == [] and plain.between_halves is None and plain.seconds is None
    assert {curve.convention for curve in plain.curves} == {"psnr.pooled"}
    with pytest.raises(StpError, match=r"ssim.range1 is not scored in video_distortions"):
        cards_by_dataset(plan, "ssim.range1")


@STUDY
def test_one_command_shows_the_card(made, tmp_path: Path) -> None:
    _, path = made
    out = tmp_path / "card.csv"
    given = ["list", "metrics", "average_fid.random_means", "--study", str(path)]
    said = CliRunner().invoke(app, given)
    assert said.exit_code == 0, said.output
    for part in ("blind to Local swap", "follows 0 of 2 surely", "cannot be seen with"):
        assert part in said.stdout
    assert "has learnt nothing" in said.stdout and "synthetic" in said.stdout
    assert CliRunner().invoke(app, [*given, "--out", str(out)]).exit_code == 0
    with out.open(newline="") as file:
        found = {row["distortion"]: row for row in csv.DictReader(file)}
    assert found["local_swap"]["correlation"] == "" and found["local_swap"]["why"] == CONSTANT
    assert float(found["gaussian_noise"]["correlation"]) == 1
    assert {(row["agreement_with_people"], row["why_no_agreement"]) for row in found.values()} == {
        ("", "no study with people has compared it")
    }
    # With a study of people: the card has its rows.
    people = tmp_path / "people.csv"
    people.write_text(csv_text([AGREEMENTS, line(ANSWERS)]))
    said = CliRunner().invoke(app, [*given, "--people", str(people)])
    assert "62.5 [51, 74]" in said.stdout and "unknown" not in said.stdout
    told = [*given, "--people", str(people), "--out", str(out)]
    assert CliRunner().invoke(app, told).exit_code == 0
    with out.open(newline="") as file:
        assert {row["agreement_with_people"] for row in csv.DictReader(file)} == {"62.5"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datasets": {"bair": {"context": 2, "horizon": 7}}}, "context"),
        (
            {
                "dimensions": {
                    "video_distortions": {
                        "cells": [{"trained_on": "bair", "setting": {"intensity": 7}}]
                    }
                }
            },
            "intensity .*7",
        ),
        (
            {"dimensions": {"video_distortions": {"cells": [{"trained_on": "bair"}]}}},
            "intensity",
        ),
        ({"dimensions": {"video_distortions": {"models": ["persistence"]}}}, "context"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_plan(change, message: str) -> None:
    with pytest.raises(StpError, match=message):
        Plan.load(small(**json.loads(json.dumps(change))))
