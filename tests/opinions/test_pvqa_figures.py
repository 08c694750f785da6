"""Figures 3, 4, 7, 8, 9 and 11 of PVQA, drawn from a store of measures with and without network."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from measured_store import asked, measured

from stp.opinions.prepared import open_database
from stp.render.figures import reading as figures
from stp.suites.pvqa.figures import opinions

PLAIN = ("mean_opinion", "sharpness", "video_ssim", "video_mse")
LOOKING = (
    *("squeezenet_ssa", "squeezenet_mcs", "squeezenet_rfd", "squeezenet_mcs_rfd"),
    "squeezenet_lpips",
)
SECONDS = {
    "ssa": {"frames": 0.1, "ssa": 0.001},
    "mcs": {"frames": 0.1, "mcs": 0.05},
    "rfd": {"rfd": 0.2},
    "lpips": {"lpips": 0.4},
}
TAKEN = {
    **{"squeezenet_ssa": 0.101, "squeezenet_mcs": 0.15, "squeezenet_rfd": 0.2},
    **{"squeezenet_mcs_rfd": 0.35, "squeezenet_lpips": 0.4},
}
GROUP = {
    **{"sharpness": "baseline", "video_ssim": "full reference", "video_mse": "full reference"},
    **{"squeezenet_lpips": "full reference", "squeezenet_mcs_rfd": "MCS + RFD"},
}


@pytest.fixture(scope="module")
def base(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of all measures; what the network has seen follows opinions, in part."""
    mos = open_database(data, 4).mos
    rng = np.random.default_rng(0)
    parts = {name: rng.normal(size=(len(mos), 30)).astype("f4") for name in ("ssa", "mcs", "rfd")}
    for name, place in (("mcs", 0), ("rfd", 1)):
        parts[name][:, place] += 3 * (mos - mos.mean()) / mos.std()
    parts["lpips"] = (100 - mos[:, None] + rng.normal(0, 9, (len(mos), 1))).astype("f4")
    folder = tmp_path_factory.mktemp("store")
    extras = {"seconds": SECONDS, "seconds_per_video": 1.0, "maps": 30}
    return measured(folder, data, (*PLAIN, *LOOKING), parts, extras)


@pytest.fixture(scope="module")
def panels(base: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Axes]:
    results = tmp_path_factory.mktemp("results")
    (results / "collected").mkdir()
    shutil.copy(
        base.parent / "short_term.parquet", results / "collected" / "quality_measures.parquet"
    )
    figure, notes = opinions.draw(figures.read(base.parent / "manifest.json", results))
    assert notes[-1].startswith("printed of two videos (9): MOS 46.54 and 71.65, MSE 344 and 4731,")
    names = ("spread", "halves", "features", "errors", "pairs", "time")
    return dict(zip(names, figure.axes, strict=True))


@pytest.fixture(scope="module")
def sroccs(base: Path) -> dict[str, float]:
    rows = asked(base, "SELECT model, value FROM overall WHERE convention = 'srocc.magnitude'")
    return {row.model: row.value for row in rows.dropna().itertuples()}


def test_opinions_halves_and_reversed_pairs(base: Path, panels: dict[str, Axes]):
    videos = asked(base, "SELECT count(DISTINCT video) AS n FROM predicted_opinions")["n"].iloc[0]
    assert sum(bar.get_height() for bar in panels["spread"].patches) == videos
    (points,) = panels["halves"].lines
    shown = asked(base, "FROM pvqa_halves WHERE halving = 1")["plcc"].iloc[0]
    assert np.corrcoef(*points.get_data())[0, 1] == pytest.approx(shown)
    (said,) = panels["halves"].texts
    assert said.get_text().endswith(", printed 0.94")
    known = asked(
        base, "FROM pvqa_reversals WHERE family = 'stochastic' ORDER BY reversed DESC, model"
    )
    widths = [bar.get_width() for bar in panels["pairs"].patches]
    assert widths == pytest.approx(100 * known["reversed"])


def test_features_of_each_network_are_bars(panels: dict[str, Axes], sroccs: dict[str, float]):
    """SSA with RFD is not computed, so it has none; intervals are lines."""
    bars = panels["features"].patches
    heights = dict(zip(opinions.FEATURES, (bar.get_height() for bar in bars), strict=True))
    assert heights.pop("ssa_rfd") == 0
    assert heights == pytest.approx({name: sroccs[f"squeezenet_{name}"] for name in heights})
    assert heights["mcs"] > 0.5 > heights["ssa"]
    assert len(panels["features"].lines) == 4


def test_errors_of_mcs_and_of_rfd_are_points_in_four_quarters(base: Path, panels: dict[str, Axes]):
    rows = asked(base, "FROM pvqa_errors ORDER BY ALL")
    points, *threshold = panels["errors"].lines
    drawn = sorted(zip(*points.get_data(), strict=True))
    np.testing.assert_allclose(drawn, sorted(zip(rows["mcs"], rows["rfd"], strict=True)))
    assert len(rows) > 40 and len(threshold) == 2
    counted = asked(base, "FROM pvqa_complements").iloc[0]
    names = ("neither", "rfd_wrong", "mcs_wrong", "both_wrong")
    shares = [f"{counted[name] / counted['samples']:.0%}" for name in names]
    assert [text.get_text() for text in panels["errors"].texts] == shares


def test_each_measure_has_a_time_of_its_own(
    base: Path, panels: dict[str, Axes], sroccs: dict[str, float]
):
    """Measures of one network differ, steps that features share count once, and measures without
    network are among the points. The mean opinion has no correlation."""
    seconds = dict(asked(base, "FROM pvqa_times").itertuples(index=False))
    assert set(seconds) == {*PLAIN, *LOOKING} and min(seconds.values()) > 0
    assert {name: seconds[name] for name in TAKEN} == pytest.approx(TAKEN)
    axes = panels["time"]
    drawn = {(line.get_xdata()[0], line.get_ydata()[0]): line for line in axes.lines}
    assert len(drawn) == len(sroccs) == len(seconds) - 1
    titles = {text.xy: text.get_text() for text in axes.texts}
    colours = dict(opinions.GROUPS.values())
    for name, value in sroccs.items():
        line = drawn[seconds[name], value]
        assert to_hex(line.get_color()) == colours[GROUP.get(name, "no reference")], name
        assert titles[seconds[name], value]
    assert {text.get_text() for text in axes.get_legend().get_texts()} == set(colours)


def test_panels_without_numbers_say_so(data: Path, tmp_path: Path):
    """No measure looks through a network, and none but the mean opinion has a time."""
    base = measured(tmp_path / "store", data, ("mean_opinion",))
    (tmp_path / "collected").mkdir()
    shutil.copy(
        base.parent / "short_term.parquet", tmp_path / "collected" / "quality_measures.parquet"
    )
    figure, _ = opinions.draw(figures.read(base.parent / "manifest.json", tmp_path))
    *_, features, errors, _, time = figure.axes
    for axes in (features, errors, time):
        assert axes.texts[0].get_text().startswith("no ")
