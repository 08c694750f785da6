"""The demo of PVQA: generated videos, raters and a network to tables, findings and figures.

Fewer videos, measures and splits; AlexNet has random weights; the weights of
SqueezeNet, of which a measure is added, are missing."""

from hashlib import sha256
from pathlib import Path

import pytest
import torch
import yaml
from asking import csv_rows
from checkout import Checkout

from stp.metrics.networks.random_weights import draw
from stp.metrics.networks.trunks import Trunk

pytestmark = [pytest.mark.slow, pytest.mark.long(part="suites")]
SCALE = "config/pvqa-demo.yaml"
DIMENSIONS = (
    "quality_measures",
    "quality_regressions",
    "quality_components",
    "quality_training",
)
TABLES = [f"results/tables/{name}.csv" for name in (*DIMENSIONS, "pvqa_findings", "pvqa_opinions")]
FIGURES = [
    f"results/pvqa-demo/figures/{name}.png"
    for name in (
        "quality_measures/opinions",
        "quality_components/slopes",
        "quality_training/slopes",
    )
]
MEASURES = [
    *("mean_opinion", "source_dataset", "resolution", "sharpness"),
    *("video_mse", "video_ssim", "video_ms_ssim", "alexnet_lpips"),
    *("alexnet_mcs", "alexnet_rfd", "alexnet_mcs_rfd", "squeezenet_lpips"),
]
OWN = "alexnet_mcs_rfd"
VIDEOS = 30


def cut(scale: dict) -> None:
    """Leave a part of the demo."""
    on = {"trained_on": "pvqa", "subset": "published"}
    measures, regressions, components, training = scale["dimensions"].values()
    measures["models"] = MEASURES
    measures["cells"] = [
        on,
        {**on, "subset": ["random", "source", "generator"], "models": ["sharpness", OWN]},
        {**on, "variant": "on_test", "models": ["video_ms_ssim"]},
        {**on, "variant": ["written", "ridge"], "models": [OWN]},
    ]
    regressions["cells"] = [on, {**on, "variant": ["nested", "svr_rbf"]}]
    components["cells"] = [{**on, "setting": {"components": [5, 20]}}]
    training["cells"] = [{**on, "setting": {"training": [50, 80]}}]
    made = {"videos": VIDEOS, "sizes": 2, "raters": 24, "splits": 6}
    scale["datasets"]["pvqa"]["releases"]["synthetic"]["options"] = made


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a file with random weights of AlexNet."""
    folder = tmp_path_factory.mktemp("weights")
    torch.save(draw(Trunk("alexnet"), 0).state_dict(), folder / "alexnet_random.pth")
    return folder


@pytest.fixture(scope="module")
def demo(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    folder = tmp_path_factory.mktemp("pvqa")
    checkout = Checkout.create(folder / "checkout", folder / "shared")
    scale = yaml.safe_load((checkout.folder / SCALE).read_text())
    cut(scale)
    (checkout.folder / SCALE).write_text(yaml.safe_dump(scale, sort_keys=False))
    declared = checkout.folder / "config" / "weights.yaml"
    known = yaml.safe_load(declared.read_text())
    (file,) = weights.iterdir()
    checksum = sha256(file.read_bytes()).hexdigest()
    known["alexnet"]["files"] = [{"file": file.name, "sha256": checksum}]
    declared.write_text(yaml.safe_dump(known, sort_keys=False))
    done = snakemake(checkout, weights)
    assert done.returncode == 0, done.stdout
    return checkout


def snakemake(checkout: Checkout, weights: Path, *options: str):
    command = ("snakemake", "--profile", "local", "--configfile", SCALE, *options, "--")
    return checkout.run(*command, *TABLES, *FIGURES, STP_WEIGHTS_DIR=str(weights))


def rows(demo: Checkout, name: str) -> list[dict[str, str]]:
    return csv_rows(demo.folder / f"results/tables/{name}.csv")


def test_all_cells_are_scored_and_bytes_are_said_to_be_made_up(demo: Checkout) -> None:
    assert demo.ask("SELECT count(*) FROM missing") == [(0,)]
    dimensions = demo.ask("SELECT DISTINCT dimension FROM cells")
    assert {name for (name,) in dimensions} == {*DIMENSIONS}
    for name in DIMENSIONS:
        ours = [row for row in rows(demo, name) if row["comparable"]]  # others are printed alone
        assert {(row["source"], row["comparable"]) for row in ours} == {("synthetic", "NO")}
        scored = [row for row in ours if row["SROCC"]]
        assert scored and all(0 <= float(row["SROCC"]) <= 1 for row in scored)
        assert all(float(row["RMSE"]) > 0 for row in scored)


def test_what_has_no_value_says_why(demo: Checkout) -> None:
    found = demo.ask(
        "SELECT DISTINCT model, reason FROM overall WHERE convention = 'srocc.magnitude' "
        "AND dimension = 'quality_measures' AND subset = 'published' AND value IS NULL",
    )
    # In a small test all videos can be of one source or size.
    can_be_equal = {"mean_opinion", "source_dataset", "resolution"}
    reasons = dict(found)
    assert {"squeezenet_lpips", "mean_opinion"} <= reasons.keys()
    assert reasons.keys() <= {"squeezenet_lpips", *can_be_equal}
    assert "weights" in reasons["squeezenet_lpips"] and "equal" in reasons["mean_opinion"]


def test_predictions_are_of_all_videos_and_of_two_sizes(demo: Checkout) -> None:
    ((videos, sizes),) = demo.ask(
        "SELECT count(DISTINCT video), count(DISTINCT height) FROM predicted_opinions "
        "WHERE subset = 'source'",
    )
    assert (videos, sizes) == (VIDEOS, 2)


def test_each_measure_that_was_computed_has_a_time(demo: Checkout) -> None:
    seconds = dict(demo.ask("FROM pvqa_times"))
    assert seconds.keys() == {*MEASURES} - {"squeezenet_lpips"}
    assert min(seconds.values()) > 0 and seconds["alexnet_mcs"] < seconds[OWN]
    ((network, maps, similar),) = demo.ask("SELECT network, maps, mcs_rfd FROM pvqa_networks")
    assert (network, maps) == ("alexnet", 256) and -1 <= similar <= 1


def test_findings_are_judged_by_what_is_in_the_plan(demo: Checkout) -> None:
    found = rows(demo, "pvqa_findings")
    assert {row["finding"] for row in found} == {str(number) for number in range(1, 8)}
    ours = [row for row in found if row["side"] == "ours"]
    rivals = {row["against"] for row in ours if (row["finding"], row["part"][:2]) == ("1", "a.")}
    full_reference = {"video_mse", "video_ssim", "video_ms_ssim", "alexnet_lpips"}
    assert rivals == {*full_reference, "squeezenet_lpips"}
    both = [row for row in ours if row["finding"] == "2"]
    assert {row["part"] for row in both} == {"better than either alone, alexnet"}
    assert {row["outcome"] for row in both} <= {"yes", "no"} and len(both) == 2
    assert {row["outcome"] for row in ours if row["finding"] in "456"} <= {"yes", "no"}


def test_tables_1_and_2_and_figures_are_there(demo: Checkout) -> None:
    written = rows(demo, "pvqa_opinions")
    videos = [int(row["value"]) for row in written if row["table"] == "1"]
    assert len(videos) == 9 and sum(videos) == VIDEOS
    assert {"natural", "stochastic"} <= {row["name"] for row in written if row["table"] == "2"}
    assert all((demo.folder / name).with_suffix(".svg").is_file() for name in FIGURES)


def test_nothing_is_made_again(demo: Checkout, weights: Path) -> None:
    done = snakemake(demo, weights, "-n", "--quiet", "host")
    assert done.returncode == 0 and "Nothing to be done" in done.stdout, done.stdout
