"""Forecasts that are read, from archives and climatologies, get the scores computed by hand."""

import hashlib
import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import globe_by_hand as by_hand
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from conventions import defined
from kills import contents, run_until_it_ends

from stp.core.errors import StpError
from stp.core.job import Interrupted, Job, report_nothing
from stp.data.prepared import Prepared
from stp.data.raw_files import RawFiles
from stp.datasets.chaosbench import centre as chaosbench_centre
from stp.datasets.chaosbench import centres as chaosbench_centres
from stp.datasets.chaosbench import generator as chaosbench
from stp.datasets.chaosbench import reader
from stp.datasets.chaosbench.generator import Field
from stp.plan.checked_config import in_order
from stp.predict.source import ForecastRequest
from stp.predict.sources import learned_archive
from stp.score.read import run, select_stored
from stp.score.samples import samples_to_keep, spread

WORLD = {"degrees": 45, "levels": [500, 850], "first_year": 2019}
SHAPE = [5, 5, 8]  # with the temperature of the land, which no centre forecasts
NAMES = ["z500", "t850", "w500", "w850"]
VARIABLES = {"z": [500], "t": [850], "w": [500, 850]}
HORIZON, STARTS = 4, 4
YEARS = [2019, 2020, 2021, 2022]
CENTRE = {**WORLD, "centre": "ecmwf", "starts": ["2022-01-01", "2022-01-04"], "missing": 0.25}
CELL = {
    **{"suite": "s", "dimension": "d", "model": "m", "variant": "default", "trained_on": "d"},
    **{"train_subset": "all", "tested_on": "d", "subset": "test", "setting": "horizon-4"},
    "seed": None,
}


def lock(path: Path, root: Path) -> Path:
    """Lock all files below a folder, as the fetch stage would."""
    files = {}
    for file in sorted(p for p in root.rglob("*") if p.is_file()):
        content = file.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        files[file.relative_to(root).as_posix()] = {"bytes": len(content), "sha256": digest}
    path.write_text(json.dumps({"dataset": "d", "release": "r", "source": "s", "files": files}))
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepared: 9 days of each year, 4 test windows of 5 days."""
    folder = tmp_path_factory.mktemp("data")
    chaosbench.generate(
        folder / "raw", {**WORLD, "years": YEARS, "days": 9, "land": ["t2m"]}, report_nothing
    )
    return prepare_days(folder, SHAPE, {"variables": VARIABLES, "land": ["t2m"]})


def prepare_days(folder: Path, shape: list[int], variables: dict[str, Any], days: int = 9) -> Path:
    """Prepare the raw days in a folder, into ``prepared`` beside them."""
    options = {
        **variables,
        "years": {"train": [2019, 2020], "val": [2021, 2021], "test": [2022, 2022]},
        "days_per_year": days,
        "subsets": {},
    }
    recipe = {
        **{"dataset": "d", "source": "synthetic", "release": "tiny", "shape": shape, "context": 1},
        **{"horizon": HORIZON, "units": "physical", "options": in_order(options)},
    }
    out = folder / "prepared"
    out.mkdir()
    inputs = {"raw": lock(folder / "lock.json", folder / "raw")}
    reader.run(Job(recipe, inputs, out, folder / "state", {"raw_roots": [str(folder / "raw")]}))
    return out


class Archives:
    """Generated archives by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, name: str) -> Path:
        found, more = self.folder / name, {"control": {}, "ensemble": {"members": 3}}[name]
        if not found.exists():
            chaosbench_centre.generate(found, {**CENTRE, **more}, report_nothing)
        return found


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Archives:
    """The folders of a control forecast and of an ensemble of 3, each generated when asked for."""
    return Archives(tmp_path_factory.mktemp("archives"))


@pytest.fixture
def make(tmp_path: Path, data: Path) -> Callable[..., Job]:
    """A job that scores forecasts that are read."""

    def make(source: str, archive: Path | None = None, samples: int = 1, **more: Any) -> Job:
        number = len(list(tmp_path.glob("out-*")))
        out, state = tmp_path / f"out-{number}", tmp_path / f"state-{more.pop('state', number)}"
        out.mkdir()
        locked = None if archive is None else lock(tmp_path / f"lock-{number}.json", archive)
        job = reading_job(source, data, archive, locked, SHAPE, samples=samples)
        job.recipe.update(more.pop("recipe", {}))
        return replace(job, out=out, state=state, **more)

    return make


def reading_job(
    source: str,
    data: Path,
    archive: Path | None,
    locked: Path | None,
    shape: list[int],
    *,
    samples: int,
) -> Job:
    """A job that scores forecasts that are read, without folders to write to."""
    ensemble = {"options": {"ensemble": True}} if archive and samples > 1 else {"options": {}}
    rollout = {
        **{"model": "m", "source": source, "shape": shape, "context": 1, "horizon": HORIZON},
        **{"lead_times": HORIZON, "split": "test", **ensemble},
        "predict": {"samples": samples} if samples > 1 else {},
    }
    recipe = {
        **{
            "cell": CELL,
            "split": "test",
            "conventions": defined("wrmse.pooled"),
            "rollout": rollout,
        },
        "bootstrap": {"resamples": 100, "seed": 0},
        **({"statistic": "ensemble_mean"} if samples > 1 else {}),
    }
    inputs: dict[str, Path] = {"data": data}
    runtime: dict[str, Any] = {"block_samples": 1, "checkpoint_every_s": 0}
    if archive is not None and locked is not None:
        inputs["archive"] = locked
        runtime["raw_roots"] = [str(archive)]
    return Job(recipe, inputs, data, data, runtime)


def root_by_hand(data: Path, forecasts: dict[str, np.ndarray], lead: int, channel: int) -> float:
    """Root of the mean square error over starts and globe: start -> fields at the lead times."""
    clips = Prepared(data).clips("test")
    weights = np.cos(np.deg2rad(np.linspace(90, -90, 5)))
    found = []
    for start, fields in forecasts.items():
        row = clips.index["clip"].tolist().index(start)
        error = fields[lead - 1] - clips.read([row], length=5)[0, lead, channel]
        found.append((error.astype(float) ** 2).mean(axis=1) @ weights / weights.sum())
    return float(np.sqrt(np.mean(found)))


def unpacked(archive: Path, folder: Path) -> dict[str, xr.Dataset]:
    """Start -> its group, by other means than those of the reader."""
    parts = sorted(p for p in archive.rglob("*.tar.gz.*"))
    folder.mkdir(exist_ok=True)
    joined = folder / "joined.tar.gz"
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))
    with tarfile.open(joined) as tar:
        tar.extractall(folder, filter="data")
    groups = sorted(folder.glob("*/*.zarr"))
    return {
        f"{p.stem[-8:-4]}-{p.stem[-4:-2]}-{p.stem[-2:]}": xr.open_zarr(p, consolidated=False)
        for p in groups
    }


def value(job: Job, variable: str, lead: int | None) -> pd.Series:
    rows = pd.read_parquet(job.out / "scores.parquet")
    found = rows[(rows["variable"] == variable) & (rows["statistic"] == "mean")]
    found = found[found["lead"].isna() if lead is None else found["lead"] == lead]
    assert len(found) == 1
    return found.iloc[0]


@pytest.mark.long(part="suites")
def test_scores_of_an_archive_are_those_computed_by_hand(
    make: Callable[..., Job], data: Path, archives: Archives, tmp_path: Path
) -> None:
    job = make("centre_archive", archives["control"])
    found = run(job)
    groups = unpacked(archives["control"], tmp_path)
    there = {start: g for start, g in groups.items() if g["z"].notnull().any()}
    assert found["samples"] == len(there) == 3 and len(groups) == STARTS
    assert found["of samples"] == STARTS
    for lead in (1, HORIZON):
        t850 = {s: g["t"].sel(level=850).to_numpy()[1:] for s, g in there.items()}
        expected = root_by_hand(data, t850, lead, channel=1)
        np.testing.assert_allclose(value(job, "t850", lead)["value"], expected, rtol=1e-6)
    missing = value(job, "w850", None)
    assert np.isnan(missing["value"]) and missing["reason"]
    assert np.isfinite(value(job, "w500", 1)["value"])


@pytest.mark.long(part="suites")
def test_scores_of_the_mean_of_an_ensemble(
    make: Callable[..., Job], data: Path, archives: Archives, tmp_path: Path
) -> None:
    job = make("centre_archive", archives["ensemble"], samples=3)
    run(job)
    groups = unpacked(archives["ensemble"], tmp_path)
    there = {start: g for start, g in groups.items() if g["z"].notnull().any()}
    mean = {s: g["t"].sel(level=850).mean("number").to_numpy()[1:] for s, g in there.items()}
    expected = root_by_hand(data, mean, 2, channel=1)
    # Means of temperatures of 300 K are rounded to 3e-5 K, and errors are half a kelvin.
    np.testing.assert_allclose(value(job, "t850", 2)["value"], expected, rtol=5e-5)


@pytest.mark.long(part="suites")
def test_a_mean_error_of_earlier_years_is_taken_off(
    make: Callable[..., Job], data: Path, tmp_path: Path
) -> None:
    past = {"hindcasts": ["2021-01-01", "2021-01-04"], "missing": 0}
    archive = changed(tmp_path / "raw", **past)
    job = make("centre_archive", archive)
    job.recipe["rollout"]["options"] = {"corrected_on": "val"}
    run(job)
    groups = unpacked(archive, tmp_path)
    fields = {s: g["t"].sel(level=850).to_numpy()[1:] for s, g in groups.items()}
    clips = Prepared(data).clips("val")
    starts = [start for start in clips.index["clip"] if start in fields]
    assert len(starts) == STARTS and len(groups) == 2 * STARTS
    truth = {s: clips.read([clips.index["clip"].tolist().index(s)], length=5)[0] for s in starts}
    error = np.mean([fields[s][:HORIZON] - truth[s][1:, 1] for s in starts], axis=0)
    test = {s: f[:HORIZON] - error for s, f in fields.items() if s.startswith("2022")}
    assert np.abs(error).max() > 0.01
    for lead in (1, HORIZON):
        expected = root_by_hand(data, test, lead, channel=1)
        np.testing.assert_allclose(value(job, "t850", lead)["value"], expected, rtol=1e-4)


@pytest.mark.long(part="suites")
def test_centres_together_are_all_their_members_or_their_mean(
    make: Callable[..., Job], data: Path, tmp_path: Path
) -> None:
    archive, shared = tmp_path / "raw", {k: v for k, v in CENTRE.items() if k != "centre"}
    centres = {"ukmo": {"error": 0.4, "missing": 0}, "ecmwf": {}}
    chaosbench_centres.generate(archive, {**shared, "centres": centres}, report_nothing)
    groups = {
        name: unpacked(archive / "chaosbench" / name, tmp_path / f"of-{name}") for name in centres
    }
    there = [s for s, g in groups["ecmwf"].items() if g["z"].notnull().any()]
    assert len(there) == 3 and len(groups["ukmo"]) == STARTS
    mean = {
        s: np.mean([g[s]["t"].sel(level=850).to_numpy()[1:] for g in groups.values()], axis=0)
        for s in there
    }
    of = {"centres": {"ukmo": 1, "ecmwf": 1}}
    together = make("multi_model", archive, samples=2)
    together.recipe["rollout"]["options"] = of
    one = make("multi_model", archive)
    one.recipe["rollout"]["options"] = {**of, "mean": True}
    for job, members in ((together, 2), (one, 1)):
        found = run(job)
        assert found["samples"] == 3 and found["members"] == members
        expected = root_by_hand(data, mean, 2, channel=1)
        np.testing.assert_allclose(value(job, "t850", 2)["value"], expected, rtol=5e-5)
    wrong = make("multi_model", archive, samples=3)
    wrong.recipe["rollout"]["options"] = of
    with pytest.raises(StpError, match="ecmwf, ukmo"):
        run(wrong)


# A day in the real layout: every main score of the suite, from the official names and grid to rows.

REAL = {"degrees": 1.5, "levels": [500, 850], "variables": ["z", "t"], "first_year": 2019}
START, LEAD, MEMBERS = "2022-01-01", 3, 3
LATITUDES = np.linspace(90, -90, 121)
SINGLE = [
    *("wrmse.pooled", "wrmse.per_frame", "bias.weighted", "acc.per_frame_without_validation"),
    *("ms_ssim.own_range", "spectral_divergence.high_wavenumbers"),
    "spectral_residual.high_wavenumbers",
]
SEVERAL = [
    *("crps.weighted", "crps.weighted_biased", "crpss.climatology", "spread.weighted"),
    *("spread.weighted_skill_ratio", "rpss.terciles", "rpss.terciles_biased"),
    "wrmse.per_frame_of_members",
    *("acc.per_frame_without_validation_of_members", "ms_ssim.own_range_of_members"),
    "spectral_divergence.high_wavenumbers_of_members",
    "spectral_residual.high_wavenumbers_of_members",
]


class Day(NamedTuple):
    """Fields of one variable on the valid day, float64 (..., H, W), read from the raw groups.

    Attributes:
        forecast: the control forecast, and then the members.
        observed: what happened.
        past: the same date of the training years.
    """

    forecast: np.ndarray
    observed: np.ndarray
    past: np.ndarray


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Day]]:
    """Scores of a control forecast and an ensemble at lead time 3, and the days by variable."""
    folder = tmp_path_factory.mktemp("real")
    chaosbench.generate(folder / "raw", {**REAL, "years": YEARS, "days": 6}, report_nothing)
    prepare_days(folder, [2, 121, 240], {"variables": {"z": [500], "t": [850]}}, days=6)
    past = [f"{year}-01-04" for year in YEARS[:2]]
    days = unpacked(folder / "raw", folder / "days")
    centre = {**REAL, "centre": "ecmwf", "starts": [START, START], "missing": 0}
    runs = []
    for name, more in (("one", {}), ("several", {"members": MEMBERS})):
        chaosbench_centre.generate(folder / name, {**centre, **more}, report_nothing)
        runs.append(unpacked(folder / name, folder / f"{name}-unpacked")[START].isel(step=LEAD))
        job = reading_job(
            "centre_archive",
            folder / "prepared",
            folder / name,
            lock(folder / f"{name}.json", folder / name),
            [2, 121, 240],
            samples=1 if name == "one" else MEMBERS,
        )
        names = SINGLE if name == "one" else SINGLE + SEVERAL
        job.recipe["conventions"] = defined(*names)
        job.recipe["rollout"]["lead_times"] = LEAD
        (folder / f"scores-of-{name}").mkdir()
        run(replace(job, out=folder / f"scores-of-{name}", state=folder / f"state-of-{name}"))

    def field(group: xr.Dataset, variable: str, level: int, factor: float = 1) -> np.ndarray:
        of = group[variable].sel(level=level)
        assert of.shape[-2:] == (121, 240) and (group["latitude"].values == LATITUDES).all()
        # In single precision, as they are prepared: fine detail of heights is rounding.
        return (of.to_numpy() * np.float32(factor)).astype(float)

    found = {}
    for variable, level, factor in (("z", 500, 9.81 / 9.80665), ("t", 850, 1.0)):
        control, members = (field(group, variable, level) for group in runs)
        found[f"{variable}{level}"] = Day(
            np.concatenate([control[None], members]),
            field(days["2022-01-04"], variable, level, factor),
            np.stack([field(days[day], variable, level, factor) for day in past]),
        )
    return folder, found


def scored(folder: Path, convention: str, variable: str) -> float:
    rows = pd.read_parquet(folder / "scores.parquet")
    here = (rows["convention"] == convention) & (rows["variable"] == variable)
    (found,) = rows[here & (rows["lead"] == LEAD) & (rows["statistic"] == "mean")]["value"]
    return float(found)


@pytest.mark.parametrize("variable", ["z500", "t850"])
def test_scores_of_a_day_in_the_real_layout_are_those_computed_by_hand(
    real: tuple[Path, dict[str, Day]], variable: str
) -> None:
    folder, days = real
    (control, *members), o, past = days[variable]
    usual, lat = past.mean(axis=0), LATITUDES
    for name, forecast in (("one", control), ("several", np.mean(members, axis=0))):
        expected = {
            "wrmse.pooled": by_hand.rmse(forecast, o, lat),
            "wrmse.per_frame": by_hand.rmse(forecast, o, lat),
            "bias.weighted": by_hand.mean(forecast - o, lat),
            "acc.per_frame_without_validation": by_hand.acc(forecast, o, usual, lat),
            "ms_ssim.own_range": by_hand.similarity(forecast, o, 5),
            "spectral_divergence.high_wavenumbers": by_hand.divergence(forecast, o),
            "spectral_residual.high_wavenumbers": by_hand.residual(forecast, o),
        }
        for convention, value in expected.items():
            if (name, variable) == ("several", "z500") and convention.startswith("spectral"):
                continue  # in the mean of members, fine detail of heights is rounding
            found = scored(folder / f"scores-of-{name}", convention, variable)
            assert found == pytest.approx(value, rel=1e-4, abs=1e-6), (name, convention)


@pytest.mark.parametrize("variable", ["z500", "t850"])
def test_scores_of_an_ensemble_of_a_day_are_those_computed_by_hand(
    real: tuple[Path, dict[str, Day]], variable: str
) -> None:
    folder, days = real
    (_, *each), o, past = days[variable]
    members, usual, lat = np.stack(each), past.mean(axis=0), LATITUDES
    fair = by_hand.crps(members, o, lat, fair=True)
    normal = by_hand.crps_of_normal(usual, past.std(axis=0), o, lat)
    variance = by_hand.mean(members.var(axis=0, ddof=1), lat)
    error = by_hand.rmse(members.mean(axis=0), o, lat)
    terciles = np.quantile(past, [1 / 3, 2 / 3], axis=0)
    rps, biased = (by_hand.rps(members, o, terciles, lat, fair=fair) for fair in (True, False))
    expected = {
        "crps.weighted": fair,
        "crps.weighted_biased": by_hand.crps(members, o, lat, fair=False),
        "crpss.climatology": 1 - fair / normal,
        "spread.weighted": variance**0.5,
        "spread.weighted_skill_ratio": ((MEMBERS + 1) / MEMBERS * variance) ** 0.5 / error,
        "rpss.terciles": 1 - rps[0] / rps[1],
        "rpss.terciles_biased": 1 - biased[0] / biased[1],
        "wrmse.per_frame_of_members": np.mean([by_hand.rmse(m, o, lat) for m in members]),
        "acc.per_frame_without_validation_of_members": np.mean(
            [by_hand.acc(m, o, usual, lat) for m in members]
        ),
        "ms_ssim.own_range_of_members": np.mean([by_hand.similarity(m, o, 5) for m in members]),
        "spectral_divergence.high_wavenumbers_of_members": np.mean(
            [by_hand.divergence(m, o) for m in members]
        ),
        "spectral_residual.high_wavenumbers_of_members": np.mean(
            [by_hand.residual(m, o) for m in members]
        ),
    }
    assert set(expected) == set(SEVERAL)
    for convention, value in expected.items():
        found = scored(folder / "scores-of-several", convention, variable)
        # A rounded tercile moves single points from one category to the next.
        rel = 1e-3 if convention.startswith("rpss") else 1e-4
        assert found == pytest.approx(value, rel=rel, abs=1e-6), convention


def test_blocks_of_lead_times_change_nothing(make: Callable[..., Job], tmp_path: Path) -> None:
    archive = changed(tmp_path / "raw", members=2, starts=[START, "2022-01-02"], missing=0)
    whole, parts = (make("centre_archive", archive, samples=2) for _ in range(2))
    parts.runtime["block_leads"] = 1
    for job in (whole, parts):
        run(job)
    one, other = (pd.read_parquet(job.out / "scores.parquet") for job in (whole, parts))
    pd.testing.assert_frame_equal(one, other)


@pytest.mark.long(part="processes")
def test_a_scoring_that_is_stopped_ends_in_the_same_rows(
    make: Callable[..., Job], archives: Archives
) -> None:
    whole = make("centre_archive", archives["control"])
    run(whole)
    stopped = make("centre_archive", archives["control"], state="kept", interrupted=lambda: True)
    for _ in range(2):  # after the first and after the second of three starts
        with pytest.raises(Interrupted):
            run(stopped)
    job = make("centre_archive", archives["control"], state="kept")
    run(job)
    for name in ("scores.parquet", "sample_scores.parquet", "cluster_sums.parquet"):
        assert (job.out / name).read_bytes() == (whole.out / name).read_bytes()


@pytest.mark.long(part="processes")
@pytest.mark.parametrize("members", [1, 3])
def test_a_scoring_that_is_killed_at_any_time_ends_in_the_same_bytes(
    make: Callable[..., Job], archives: Archives, members: int
) -> None:
    """While an archive is listed, a forecast put aside, a part of the scores saved, one stored."""
    archive = archives["control" if members == 1 else "ensemble"]
    recipe = {"keep": 1, "conventions": defined("wrmse.pooled", "bias.weighted")}

    def job(state: str = "killed") -> Job:
        return make("centre_archive", archive, samples=members, state=state, recipe=recipe)

    whole = job("whole")
    run(whole)
    out, killed = run_until_it_ends(job, run)
    assert len(killed) >= 5
    expected, found = contents(whole.out), contents(out)
    assert len(expected) > 4 and found.keys() == expected.keys()
    assert [name for name in found if found[name] != expected[name]] == []


def test_kept_forecasts_say_what_they_lack(
    make: Callable[..., Job], archives: Archives, data: Path
) -> None:
    job = make("centre_archive", archives["control"], recipe={"keep": 2})
    assert run(job)["kept"] == 2
    stored = xr.open_zarr(job.out / "predictions.zarr", consolidated=False)
    assert stored.attrs["variables"] == ["z_500", "t_850", "w_500"]
    assert not stored.attrs["complete"] and stored["predictions"].shape == (2, HORIZON, 3, 5, 8)
    assert pd.read_parquet(job.out / "index.parquet")["sample"].is_monotonic_increasing


def test_land_is_scored_where_it_is(make: Callable[..., Job], data: Path) -> None:
    """Weights are divided by the sum of those of the land."""
    job = make("daily_climatology")
    run(job)
    means = xr.open_zarr(data / "climatology.zarr", consolidated=False)["without_validation"]
    land = chaosbench.GeneratorOptions(**WORLD).atmosphere.land
    weights = land * np.cos(np.deg2rad(np.linspace(90, -90, 5)))[:, None]
    clips = Prepared(data).clips("test")
    found = []
    for row, start in enumerate(clips.index["clip"]):
        day = str(np.datetime64(start) + 1)[5:]
        error = means.sel(day=day).to_numpy()[4] - clips.read([row], length=5)[0, 1, 4]
        assert (np.isfinite(error) == land).all()
        found.append((np.nan_to_num(error).astype(float) ** 2 * weights).sum() / weights.sum())
    expected = np.sqrt(np.mean(found))
    np.testing.assert_allclose(value(job, "t2m", 1)["value"], expected, rtol=1e-6)


def test_climatology_is_the_mean_of_the_day(make: Callable[..., Job], data: Path) -> None:
    job = make("daily_climatology")
    run(job)
    means = xr.open_zarr(data / "climatology.zarr", consolidated=False)["without_validation"]
    starts = Prepared(data).clips("test").index["clip"]
    # 9 days of January: the valid day is the place in the climatology
    wanted = {s: means.to_numpy()[int(s[-2:]) : int(s[-2:]) + HORIZON, 1] for s in starts}
    expected = root_by_hand(data, wanted, 3, channel=1)
    np.testing.assert_allclose(value(job, "t850", 3)["value"], expected, rtol=1e-6)


def test_probabilistic_climatology_has_a_member_for_each_training_year(
    make: Callable[..., Job], data: Path
) -> None:
    job = make("probabilistic_climatology", samples=2)
    run(job)
    frames = Prepared(data).frames.read(0, 18).reshape(2, 9, *SHAPE)[:, :, 1].mean(axis=0)
    starts = Prepared(data).clips("test").index["clip"]
    wanted = {s: frames[int(s[-2:]) : int(s[-2:]) + HORIZON] for s in starts}
    expected = root_by_hand(data, wanted, 3, channel=1)
    np.testing.assert_allclose(value(job, "t850", 3)["value"], expected, rtol=1e-5)
    with pytest.raises(StpError, match=r"\b2 .*\b3\b"):
        run(make("probabilistic_climatology", samples=3))


def changed(root: Path, **options: Any) -> Path:
    chaosbench_centre.generate(root, {**CENTRE, **options}, report_nothing)
    return root


@pytest.mark.parametrize(
    ("options", "samples", "said"),
    [
        ({"starts": ["2021-01-01", "2021-01-01"]}, 1, r"\b4 starts"),
        ({"degrees": 22.5}, 1, "grid"),
        ({"members": 2}, 3, "2 .*number"),
        ({"members": 3}, 2, "3 .*number"),
        ({"levels": [500]}, 1, r"[zt] .*\[500\]"),
    ],
)
def test_an_archive_that_does_not_fit_is_named(
    make: Callable[..., Job], tmp_path: Path, options: dict[str, Any], samples: int, said: str
) -> None:
    one = {"starts": [START, START], "missing": 0}
    archive = changed(tmp_path / "raw", **{**one, **options})
    with pytest.raises(StpError, match=said):
        run(make("centre_archive", archive, samples=samples))


Change = Callable[[dict[str, Field]], dict[str, Field]]
"""Arrays of a group to those that are changed."""


def one_start(root: Path, change: Change) -> Path:
    """An archive of a constant forecast from 1 January, with some arrays changed."""
    options = chaosbench_centre.CentreOptions(**{**CENTRE, "levels": (500, 850)})
    fields = {v: np.full((45, 2, 5, 8), 270, "f4") for v in "zt"}
    fields["z"][:] = np.array([5000, 1500], "f4")[:, None, None]
    fields["w"] = np.zeros((45, 2, 5, 8), "f4")
    group = {
        **chaosbench.coordinates(options, np.datetime64("2022-01-01")),
        "step": Field(("step",), np.arange(45), {"units": "days"}),
        **{v: chaosbench.level_field(("step",), values) for v, values in fields.items()},
    }
    group |= change(group)
    chaosbench.write_stream(root / "ecmwf", [("ecmwf_full_45deg_20220101.zarr", group)], 1)
    return root


def varied(group: dict[str, Field], seed: int = 0) -> dict[str, Field]:
    t = group["t"].values + np.random.default_rng(seed).normal(0, 5, group["t"].values.shape)
    return {"t": group["t"]._replace(values=t.astype("f4"))}


def with_a_hole(group: dict[str, Field]) -> dict[str, Field]:
    """A value that lacks on a later day of a start that has a forecast."""
    group["t"].values[3, 1, 2, 2] = np.nan
    return {}


def short(group: dict[str, Field]) -> dict[str, Field]:
    """Of two lead times; four are requested."""
    of_steps = {n: field for n, field in group.items() if field.dims[:1] == ("step",)}
    return {n: field._replace(values=field.values[:3]) for n, field in of_steps.items()}


def turned(group: dict[str, Field]) -> dict[str, Field]:
    """From south to north, and from -180 degrees."""
    lat, lon = group["latitude"], group["longitude"]
    west = (lon.values + 180) % 360 - 180
    order = np.argsort(west)
    fields = {v: group[v]._replace(values=group[v].values[..., ::-1, order]) for v in "ztw"}
    return fields | {
        "latitude": lat._replace(values=lat.values[::-1]),
        "longitude": lon._replace(values=west[order]),
    }


def scaled(name: str, factor: float, offset: float = 0) -> Change:
    return lambda group: {name: group[name]._replace(values=group[name].values * factor + offset)}


def valid(days: int) -> Change:
    """Valid times that are so many days later than start and step together."""

    def change(group: dict[str, Field]) -> dict[str, Field]:
        since = group["time"]
        return {"valid_time": Field(("step",), since.values + np.arange(45) + days, since.attrs)}

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (with_a_hole, "t_850 .*3"),
        (short, "3 .*step"),
        (scaled("longitude", 1, 22.5), r"22\.5"),
        (scaled("t", 1, -273.15), r"t .*850 .*-3\.1\d* K"),
        (scaled("z", 9.80665), r"z .*500 .*49033\.?\d* gpm"),
        (valid(-3), "2022-01-01T00 .*2021-12-29T00"),
        (valid(1), "2022-01-02T00"),
        (scaled("time", 1, 1), "2022-01-02T00.*2022-01-01T00"),
    ],
)
def test_a_forecast_of_a_centre_that_contradicts_itself_is_named(
    make: Callable[..., Job], tmp_path: Path, change: Change, said: str
) -> None:
    job = make("centre_archive", one_start(tmp_path / "raw", change))
    with pytest.raises(StpError, match=rf"20220101\.zarr: .*{said}"):
        run(job)
    assert list(job.out.iterdir()) == []


def test_grids_that_are_turned_are_put_right_and_valid_times_may_agree(
    make: Callable[..., Job], tmp_path: Path
) -> None:
    changes: list[Change] = [
        varied,
        lambda group: turned(group | varied(group)),
        lambda group: valid(0)(group) | varied(group),
        lambda group: varied(group, seed=1),
    ]
    found = []
    for number, change in enumerate(changes):
        job = make("centre_archive", one_start(tmp_path / f"raw-{number}", change))
        run(job)
        found.append(value(job, "t850", 2)["value"])
    assert found[0] == found[1] == found[2] != found[3]


def test_an_archive_that_ends_early_is_an_error_before_anything_is_scored(
    make: Callable[..., Job], archives: Archives, tmp_path: Path
) -> None:
    (part,) = archives["control"].rglob("*.tar.gz.aa")
    root = tmp_path / "cut"
    (root / "ecmwf").mkdir(parents=True)
    (root / "ecmwf/x.tar.gz.aa").write_bytes(part.read_bytes()[:-2000])
    job = make("centre_archive", root)
    with pytest.raises(StpError, match=r"x\.tar\.gz"):
        run(job)
    assert list(job.out.iterdir()) == []


def test_models_that_lack_starts_store_the_same_ones_where_they_can() -> None:
    # Of 9 clips two are wanted: 0 and 4. Rows are in the order of an archive.
    assert select_stored(np.array([7, 4, 0, 1]), spread(9, 2)).tolist() == [1, 2]
    assert select_stored(np.array([8, 6, 1]), spread(9, 2)).tolist() == [
        1,
        2,
    ]  # the next ones: 1 and 6
    assert select_stored(np.array([2, 1]), spread(9, 2)).tolist() == [
        0,
        1,
    ]  # none behind 4: the last one
    assert select_stored(np.array([3, 2]), spread(9, 0)).tolist() == []


@pytest.mark.long(part="suites")
def test_starts_that_are_named_are_stored_of_all_archives_that_have_them(
    make: Callable[..., Job], data: Path, tmp_path: Path
) -> None:
    """The first start is missing in one of two archives, the third in neither."""
    kept = []
    for seed, lacks in ((2, "2022-01-01"), (1, "2022-01-04")):
        root = tmp_path / str(seed)
        chaosbench_centre.generate(root, {**CENTRE, "seed": seed}, report_nothing)
        for keep in (1, ["2022-01-03"]):
            job = make("centre_archive", root, recipe={"keep": keep})
            run(job)
            kept.append(pd.read_parquet(job.out / "index.parquet")["clip"].tolist())
        scored = pd.read_parquet(job.out / "sample_scores.parquet")["clip"]
        assert lacks not in set(scored)
    assert kept == [["2022-01-02"], ["2022-01-03"], ["2022-01-01"], ["2022-01-03"]]
    with pytest.raises(StpError, match=r"no clip '2022-01-09'(.|\n)*2022-01-01 to 2022-01-04"):
        samples_to_keep(Prepared(data).clips("test"), ["2022-01-09"])


BESIDE = np.linspace(71.25, -63.75, 5), 18.75 + 45 * np.arange(8)
"""Latitudes and longitudes of means over 6 x 6 points of a grid every 7.5 degrees."""


def smooth(lat: np.ndarray, lon: np.ndarray, step: int) -> np.ndarray:
    """Linear from north to south, a wave around: both interpolations are exact."""
    return 270 + 0.2 * lat[:, None] + 9 * np.cos(np.deg2rad(lon - 30 * step))


def learned(root: Path, data: Path, **changed: Any) -> Any:
    """Open an archive of two starts, that is written here; t at 850 hPa and z at 500 hPa."""
    lat, lon = BESIDE
    groups = []
    for number, day in enumerate(("20220101", "20220103")):
        steps = np.arange(1, HORIZON + 1)
        t = np.stack([smooth(lat, lon, step + number) for step in steps])
        dims = ("step", "latitude", "longitude")
        fields = {
            "latitude": Field(("latitude",), lat),
            "longitude": Field(("longitude",), lon),
            "step": Field(("step",), 24 * steps),
            "t-850": Field(dims, t.astype("f4")),
            "z-500": Field(dims, (20 * t * 9.80665 / 9.81).astype("f4")),
        }
        groups.append((f"m_full_45deg_{day}.zarr", {**fields, **changed.get("fields", {})}))
    chaosbench.write_stream(root / "chaosbench/m", groups, 0.05)
    prepared = Prepared(data)
    raw = RawFiles(lock(root / "lock.json", root / "chaosbench"), [root / "chaosbench"])
    request = ForecastRequest(
        prepared, prepared.clips("test"), HORIZON, 1, raw, root / "aside", report_nothing
    )
    return learned_archive.open_source(request, gravity=9.81, **changed.get("options", {}))


def test_forecasts_of_trained_models_lie_beside_the_grid(data: Path, tmp_path: Path) -> None:
    source = learned(tmp_path / "one", data)
    assert source.rows.tolist() == [0, 2]  # starts on 1 and 3 January
    assert [NAMES[c] for c in source.channels] == ["z500", "t850"]  # no w, no land
    found = source.read(2, np.array([0, 3]))
    grid = np.clip([90, 45, 0, -45, -90], -63.75, 71.25), np.arange(8) * 45
    expected = np.stack([smooth(*grid, step) for step in (2, 5)])
    np.testing.assert_allclose(found[0, :, 1], expected, rtol=1e-6)
    np.testing.assert_allclose(found[0, :, 0], 20 * expected, rtol=1e-6)
    # As the published scores have it: by the place in the array.
    by_index = learned(tmp_path / "two", data, options={"placement": "index"})
    stored = smooth(*BESIDE, 2)
    np.testing.assert_allclose(by_index.read(2, np.array([0]))[0, 0, 1], stored, rtol=1e-6)
    assert abs(stored - expected[0]).max() > 3


def test_latitudes_of_trained_models_may_ascend() -> None:
    lat, lon = BESIDE
    fields, grid = np.stack([smooth(lat, lon, step) for step in (1, 2)]), learned_archive.Grid(5, 8)
    expected = learned_archive.onto_grid("m", fields, lat, lon, grid)
    turned = learned_archive.onto_grid("m", fields[:, ::-1], lat[::-1], lon, grid)
    np.testing.assert_array_equal(turned, expected)
    assert expected.std() > 1


def test_archives_of_trained_models_that_do_not_fit_are_named(data: Path, tmp_path: Path) -> None:
    dims = ("step", "latitude", "longitude")
    warm = np.full((HORIZON, 5, 8), 280.0)
    hole = warm.copy()
    hole[2, 3, 4] = np.nan
    south = Field(("latitude",), np.linspace(20, -63.75, 5))
    for number, (fields, said) in enumerate((
        ({"step": Field(("step",), 24 * np.arange(HORIZON))}, r"\[0, 24, 48\]"),
        ({"latitude": south}, "20 .*-63.75"),
        ({"t-850": Field(dims, warm - 273)}, "t .*850 .*7 K"),
        ({"t-850": Field(dims[1:], warm[0])}, "t-850 .*latitude, longitude"),
        ({"t-850": Field(dims, hole)}, "t_850 .*3"),
    )):  # fmt: skip
        with pytest.raises(StpError, match=said):
            learned(tmp_path / str(number), data, fields=fields).read(0, np.arange(HORIZON))
