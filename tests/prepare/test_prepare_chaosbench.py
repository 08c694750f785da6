"""ChaosBench's days are read from their stream, whatever their order; damage is named."""

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import dask.threaded
import numpy as np
import pytest
import xarray as xr
from kills import contents, run_until_it_ends
from reader_jobs import job_in

from stp.core.errors import StpError
from stp.core.job import Job, report_nothing
from stp.data.daily_fields import Grid, check_units, read_surface
from stp.data.prepared import Prepared
from stp.data.raw_files import RawFiles
from stp.data.zarr_rows import MappedRows
from stp.datasets.chaosbench import generator
from stp.datasets.chaosbench.chaotic_waves import Atmosphere, truth
from stp.datasets.chaosbench.generated_surface import surface as surface_fields
from stp.datasets.chaosbench.generator import Field
from stp.datasets.chaosbench.levels import DaysOfStore
from stp.datasets.chaosbench.reader import ChaosbenchOptions, cut_windows, run
from stp.datasets.chaosbench.surface import BETWEEN, LAND, OCEAN
from stp.metrics.climatology import Climatology
from stp.prepare.climatology import Means, Window, write_climatology
from stp.score.blocks import Blocks

SHAPE = [4, 5, 8]  # z and t at 500 and 850 hPa, every 45 degrees
WORLD = {"degrees": 45, "levels": [500, 850], "first_year": 2019, "part_mb": 0.05}
OPTIONS = {
    "variables": {"z": [500, 850], "t": [850, 500]},
    "years": {"train": [2019, 2020], "val": [2021, 2021], "test": [2022, 2022]},
    "days_per_year": 9,
    "subsets": {"two_years": [2022, 2023]},
}
HORIZON = 4


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made")
    generator.generate(out, {**WORLD, "years": list(range(2019, 2024)), "days": 9}, report_nothing)
    return out


def world(lat: np.ndarray, value: float) -> np.ndarray:
    """(levels 500 and 850, 5, 8): different everywhere, in units of height or temperature."""
    fields = np.array([5500.0, 1450.0])[:, None, None] + lat[:, None] + np.arange(8) + value
    return np.broadcast_to(fields, (2, 5, 8)).astype("f4")


def days(change: Callable[[str, dict[str, Field]], dict[str, Field] | None]) -> Iterator[Any]:
    """Groups of all days, as they are or changed; None leaves a day out."""
    options = generator.GeneratorOptions(**{**WORLD, "levels": (500, 850)})
    for year in range(2019, 2024):
        for number in range(9):
            day = np.datetime64(f"{year}-01-01") + number
            fields = generator.coordinates(options, day)
            heights = world(options.lat, number) * np.float32(9.80665 / 9.81)
            fields["z"] = generator.level_field((), heights)
            warm = np.full((2, 5, 8), 270 + number, "f4")
            fields["t"] = generator.level_field((), warm)
            name = f"era5_full_45deg_{str(day).replace('-', '')}.zarr"
            changed = change(name, fields)
            if changed is not None:
                yield name, changed


def write(root: Path, change: Callable[..., Any] = lambda name, fields: fields) -> Path:
    generator.write_stream(root / "chaosbench/era5", days(change), 0.05)
    return root


def on(day: str, **changed: Field) -> Callable[..., Any]:
    """Change fields of one day."""
    return lambda name, fields: {**fields, **changed} if day in name else fields


def test_windows_frames_and_climatology_of_generated_days(
    make_job: Callable[..., Job], made: Path
) -> None:
    job = make_job("chaosbench", SHAPE, OPTIONS, context=1, horizon=HORIZON, root=made)
    assert len(list((made / "chaosbench/era5").iterdir())) > 1
    extras = run(job)
    # 9 days hold 5 windows of 5 days; the last one of each split is left out.
    assert extras["clips"] == {"train": 9, "val": 4, "test": 4, "two_years": 9}
    assert extras["clusters"] == extras["clips"]
    data = Prepared(job.out)
    test = data.clips("test").index
    assert test["clip"].tolist() == [f"2022-01-0{d}" for d in (1, 2, 3, 4)]
    assert test["start"].tolist() == [27, 28, 29, 30] and set(test["length"]) == {5}
    assert test["cluster_start"].tolist() == [27, 28, 29, 30] and set(test["cluster_length"]) == {1}
    frames = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None)
    assert frames["time"].dt.strftime("%m-%d").to_numpy()[27] == "01-01"
    np.testing.assert_array_equal(frames["lat"], [90, 45, 0, -45, -90])
    assert frames["variable"].to_numpy().tolist() == ["z_500", "z_850", "t_850", "t_500"]
    standard = [frames[name].attrs["standard_name"] for name in ("lat", "lon", "time", "level")]
    assert standard == ["latitude", "longitude", "time", "air_pressure"]
    assert frames["channel_units"].to_numpy().tolist() == ["gpm", "gpm", "K", "K"]
    names = frames["channel_standard_name"].to_numpy().tolist()
    assert names == ["geopotential_height"] * 2 + ["air_temperature"] * 2
    climatology = xr.open_zarr(job.out / "climatology.zarr", consolidated=False, chunks=None)
    third = frames["frames"].to_numpy()[[2, 11]]  # 3 January of 2019 and 2020
    mean = climatology["without_validation"].to_numpy()[2]
    np.testing.assert_allclose(mean, third.mean(axis=0), rtol=1e-6)
    deviation = climatology["climatology_deviation"].to_numpy()[2]
    np.testing.assert_allclose(deviation, third.std(axis=0), rtol=1e-3, atol=1e-3)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The job that has prepared the days as they are."""
    root = write(tmp_path_factory.mktemp("plain") / "raw")
    job = job_in(root.parent, "chaosbench", SHAPE, OPTIONS, context=1, horizon=HORIZON)
    run(job)
    return job


def test_heights_are_geopotential_over_standard_gravity(plain: Job) -> None:
    lat = np.linspace(90, -90, 5)
    frames = Prepared(plain.out).clips("test").read([2], length=2)[0]
    np.testing.assert_allclose(frames[:, :2], [world(lat, 2), world(lat, 3)], rtol=1e-6)
    np.testing.assert_array_equal(
        frames[:, 2:], np.broadcast_to([[[[272]]], [[[273]]]], (2, 2, 5, 8))
    )


def test_grids_turned_upside_down_or_from_minus_180_are_put_right(
    make_job: Callable[..., Job], plain: Job, tmp_path: Path
) -> None:
    def turn(name: str, fields: dict[str, Field]) -> dict[str, Field]:
        turned = dict(fields)
        turned["latitude"] = Field(("latitude",), fields["latitude"].values[::-1])
        turned["longitude"] = Field(("longitude",), np.arange(8) * 45.0 - 180)
        for variable in ("z", "t"):
            values = np.roll(fields[variable].values, 4, axis=-1)[:, ::-1]
            turned[variable] = generator.level_field((), values)
        return turned

    root = write(tmp_path / "turned", turn)
    job = make_job("chaosbench", SHAPE, OPTIONS, context=1, horizon=HORIZON, root=root)
    run(job)
    expected, actual = (Prepared(each.out).frames.read(0, 45) for each in (plain, job))
    np.testing.assert_array_equal(actual, expected)


HALF = Field(("longitude",), np.arange(8) * 45.0 + 22.5)
GEOPOTENTIAL = generator.level_field((), world(np.zeros(5), 0) * 9.81)
CELSIUS = generator.level_field((), np.full((2, 5, 8), -3, "f4"))
HOLE = np.full((2, 5, 8), 270, "f4")
HOLE[0, 2, 3] = np.nan


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (on("20190103", longitude=HALF), "the grid is another one.*off by up to 22.5"),
        (on("20190103", z=GEOPOTENTIAL), "20190103.zarr: z at 500 hPa is"),
        (on("20190103", t=CELSIUS), "20190103.zarr: t at 850 hPa is -3 K"),
        (on("20190103", t=generator.level_field((), HOLE)), "2019-01-03: 1 values"),
        (lambda n, f: None if "20190105" in n else f, "1 of 45 days are missing, first 2019-01-05"),
        (
            lambda n, f: {k: v for k, v in f.items() if k != "t" or "20190103" not in n},
            "20190103.zarr: no variable 't'",
        ),
        (
            on("20190103", level=Field(("level",), np.array([500, 700]))),
            r"z has the levels \[500, 700\]",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    make_job: Callable[..., Job], tmp_path: Path, change: Callable[..., Any], said: str
) -> None:
    root = write(tmp_path / "raw", change)
    job = make_job("chaosbench", SHAPE, OPTIONS, context=1, horizon=HORIZON, root=root)
    with pytest.raises(StpError, match=said):
        run(job)


SURFACE = {"land": ["swvl1", "t2m", "sd"], "ocean": ["sosstsst"]}
THREE_YEARS = {"train": [2019, 2019], "val": [2021, 2021], "test": [2022, 2022]}


@pytest.fixture(scope="module")
def surface(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Days of two months, and the month before them."""
    return generated_surface(tmp_path_factory.mktemp("surface"), days=33)


def generated_surface(out: Path, **options: float) -> Path:
    wet = {"ocean": ["sosstsst", "sosaline"], "years": [2019, 2021, 2022]}
    generator.generate(
        out, {**WORLD, **SURFACE, **wet, "first_year": 2018, **options}, report_nothing
    )
    return out


def test_climatologies_over_windows_of_days_and_by_the_number_of_the_day(tmp_path: Path) -> None:
    days = np.arange("2019-01-01", "2021-01-01", dtype="datetime64[D]")
    dates = np.array([str(day)[5:] for day in days])
    days = days[(dates < "03-06") | (dates > "12-26")]
    dates = np.array([str(day)[5:] for day in days])
    frames = np.random.default_rng(0).normal(size=(len(days), 1, 1, 2)).astype("f4")
    plain = Means("plain", (2019, 2020), "mean", "plain_deviation")
    numbered = Means("numbered", (2019, 2020), "mean", "numbered_deviation", by_number=True)
    hours = days.astype("datetime64[h]").astype(np.int64)
    windows = [Window("windowed", plain, 5, "windowed_deviation")]
    write_climatology(
        tmp_path / "climatology.zarr",
        frames,
        hours,
        [plain, numbered],
        {},
        report_nothing,
        2,
        windows,
    )
    names = ("plain", "numbered", "windowed", "windowed_deviation")
    arrays = {name: MappedRows(tmp_path / "climatology.zarr" / name) for name in names}
    found = {name: rows.read(0, len(rows)) for name, rows in arrays.items()}
    row = {day: i for i, day in enumerate(sorted(set(dates)))}
    in_window = {
        "02-29": ["02-27", "02-28", "02-29", "03-01", "03-02"],
        "12-31": ["12-29", "12-30", "12-31", "01-01", "01-02"],
    }
    for day, around in in_window.items():
        taken = frames[np.isin(dates, around)].astype(float)
        assert len(taken) == (9 if day == "02-29" else 10)  # each frame once
        np.testing.assert_allclose(found["windowed"][row[day]], taken.mean(axis=0), rtol=1e-5)
        deviation = found["windowed_deviation"][row[day]]
        np.testing.assert_allclose(deviation, taken.std(axis=0), rtol=1e-5)
    of = {day: frames[days == np.datetime64(day)][0].astype(float) for day in days.astype(str)}
    np.testing.assert_allclose(found["plain"][row["02-29"]], of["2020-02-29"], rtol=1e-6)
    for number, both in ((60, ("2019-03-01", "2020-02-29")), (61, ("2019-03-02", "2020-03-01"))):
        mean = np.mean([of[day] for day in both], axis=0)
        np.testing.assert_allclose(found["numbered"][number - 1], mean, rtol=1e-5)


def test_a_day_without_values_leaves_the_others_of_its_window(tmp_path: Path) -> None:
    days = np.arange("2019-01-01", "2019-03-01", dtype="datetime64[D]")
    frames = np.random.default_rng(0).normal(size=(len(days), 1, 1, 3)).astype("f4")
    frames[30, 0, 0, 0] = np.nan  # on one day
    frames[..., 1] = np.nan  # never
    plain = Means("plain", (2019,), "mean", "plain_deviation")
    hours = days.astype("datetime64[h]").astype(np.int64)
    windows = [Window("windowed", plain, 5, "windowed_deviation")]
    store = tmp_path / "climatology.zarr"
    write_climatology(store, frames, hours, [plain], {}, report_nothing, 1, windows)
    for name, of in (("windowed", np.nanmean), ("windowed_deviation", np.nanstd)):
        found = MappedRows(store / name).read(0, len(days))[:, 0, 0]
        for day in (27, 28, 30, 32, 33, 50):
            expected = of(frames[day - 2 : day + 3, 0, 0, ::2].astype(float), axis=0)
            np.testing.assert_allclose(found[day, ::2], expected, rtol=1e-5)
        assert np.isnan(found[:, 1]).all() and np.isfinite(found[:, ::2]).all()


@pytest.mark.long(part="suites")
def test_published_climatology_and_normalisation_and_a_window(
    make_job: Callable[..., Job], surface: Path
) -> None:
    options = {**OPTIONS, **SURFACE, "years": THREE_YEARS, "subsets": {}, "days_per_year": 9}
    options |= {"window_days": 3, "published_climatology": [2021, 2022]}
    options |= {"normalisation": "published"}
    job = make_job("chaosbench", [8, 5, 8], options, horizon=HORIZON, root=surface)
    extras = run(job)
    assert extras["climatology"]["published"] == [2021, 2022]
    frames = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None).load()
    fields = frames["frames"].to_numpy().astype(float)
    filled = np.nan_to_num(fields)  # zeros of sea and land count
    of = frames.attrs["normalisation"]
    np.testing.assert_allclose(of["offset"], filled.mean(axis=(0, 2, 3)), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(of["scale"], filled.std(axis=(0, 2, 3)), rtol=1e-4)
    there = xr.open_zarr(job.out / "climatology.zarr", consolidated=False, chunks=None).load()
    third = fields[[11, 20]]  # 3 January of 2021 and 2022
    np.testing.assert_allclose(there["published"][2], third.mean(axis=0), rtol=1e-6)
    around = fields[1:4]  # 2 to 4 January 2019
    np.testing.assert_allclose(there["windowed"][2], around.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(
        there["windowed_deviation"][2], around.std(axis=0), rtol=1e-3, atol=1e-5
    )
    means = Climatology(Prepared(job.out), "published")
    np.testing.assert_array_equal(means.read(20), there["published"][2])
    with pytest.raises(StpError, match=r"published_climatology(.|\n)*years that are read"):
        run(
            make_job(
                "chaosbench",
                [8, 5, 8],
                {**options, "published_climatology": [1994, 2023]},
                root=surface,
            )
        )


@pytest.mark.long(part="suites")
def test_land_and_ocean_stand_beside_levels_and_are_nan_where_they_are_not(
    make_job: Callable[..., Job], surface: Path
) -> None:
    found = {}
    for month in ("published", "lagged"):
        options = {**OPTIONS, **SURFACE, "years": THREE_YEARS, "subsets": {}}
        options |= {"ocean_month": month, "days_per_year": 33}
        job = make_job("chaosbench", [8, 5, 8], options, horizon=HORIZON, root=surface)
        run(job)
        assert not list(job.state.glob("surface-*"))
        found[month] = xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None).load()
    one = found["published"]
    assert one["variable"].to_numpy().tolist()[4:] == ["swvl1", "t2m", "sd", "sosstsst"]
    assert one["channel_units"].to_numpy().tolist()[4:6] == ["m**3 m**-3", "K"]
    assert np.isnan(one["level"][4:]).all()
    frames = one["frames"].to_numpy()
    land = generator.GeneratorOptions(**WORLD).atmosphere.land
    assert 0 < land.sum() < land.size
    assert np.isfinite(frames[:, :4]).all()
    for channel, there in ((4, land), (5, land), (6, land), (7, ~land)):
        values = np.isfinite(frames[:, channel])
        np.testing.assert_array_equal(values, np.broadcast_to(there, values.shape))
    assert (frames[:, 6][:, land] == 0).any()  # no snow is a value
    # Mean and deviation of training days, over land alone.
    train = frames[:33, 5][:, land].astype(float)
    of = one.attrs["normalisation"]
    np.testing.assert_allclose(of["offset"][5], train.mean(), rtol=1e-9)
    np.testing.assert_allclose(of["scale"][5], train.std(), rtol=1e-6)
    # The days of a month are the same; lagged, those of February 2019 are January's.
    ocean, late = (f["frames"].to_numpy()[:, 7][:, ~land] for f in (one, found["lagged"]))
    assert (ocean[0] == ocean[30]).all() and (ocean[30] != ocean[31]).any()
    np.testing.assert_array_equal(late[31:33], ocean[29:31])
    np.testing.assert_array_equal(late[:31], ocean[:31])  # the first month of all
    assert (late[33] != ocean[33]).any()  # December 2020, which no window shows


def test_a_stream_of_land_or_ocean_that_ends_early_is_an_error(
    make_job: Callable[..., Job], tmp_path: Path
) -> None:
    root = generated_surface(tmp_path / "raw", days=9, part_mb=0.002)
    options = {**OPTIONS, **SURFACE, "years": THREE_YEARS, "subsets": {}}
    for data in ("lra5", "oras5"):
        names = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.gz.*"))
        names.remove([name for name in names if data in name][-1])
        job = make_job("chaosbench", [8, 5, 8], options, horizon=HORIZON, root=root, names=names)
        with pytest.raises(StpError, match=f"{data}_chunks(.|\n)*damaged or ends early"):
            run(job)


def run_afresh(job: Job) -> None:
    """Prepare in a process that was forked: the threads of Dask's pools stayed behind."""
    dask.threaded.pools.clear()
    dask.threaded.default_pool = None
    run(job)


@pytest.mark.long(part="processes")
def test_a_preparation_that_is_killed_at_any_time_ends_in_the_same_bytes(
    make_job: Callable[..., Job], surface: Path
) -> None:
    options = {**OPTIONS, **SURFACE, "years": THREE_YEARS, "subsets": {}, "days_per_year": 7}
    options |= {"ocean_month": "lagged", "window_days": 3}

    def job() -> Job:
        return make_job("chaosbench", [8, 5, 8], options, horizon=HORIZON, root=surface)

    whole = job()
    run(whole)
    expected = contents(whole.out)
    shutil.rmtree(whole.state)
    out, killed = run_until_it_ends(job, run_afresh)
    assert len(killed) >= 5
    assert not any((folder / "index.parquet").exists() for folder in killed)
    found = contents(out)
    assert found.keys() == expected.keys()
    assert [name for name in found if found[name] != expected[name]] == []


def test_damage_of_land_is_named(make_job: Callable[..., Job], tmp_path: Path) -> None:
    land = np.zeros((5, 8), "f4")
    land[1:3, 2:5] = 280

    def job_of(change: Callable[[int, np.ndarray], np.ndarray]) -> Job:
        root = write(tmp_path / f"raw-{len(list(tmp_path.glob('raw-*')))}")
        groups = []
        for number, (name, fields) in enumerate(days(lambda name, fields: fields)):
            warm = Field(("latitude", "longitude"), change(number, land))
            two = {axis: fields[axis] for axis in ("latitude", "longitude")} | {"t2m": warm}
            groups.append((name.replace("era5", "lra5"), two))
        generator.write_stream(root / "chaosbench/lra5", groups, 0.05)
        return make_job(
            "chaosbench", [5, 5, 8], {**OPTIONS, "land": ["t2m"]}, horizon=HORIZON, root=root
        )

    hole = np.where(np.arange(8) == 3, 0, land)
    for change, said in (
        (lambda n, f: f - 273 * (f > 0), "t2m is 7 in the mean over 6 points, without signs"),
        (lambda n, f: hole if n == 5 else f, "ERA5-Land has 4 grid points, 2 of them different"),
        (lambda n, f: 0 * f, "t2m is nan in the mean over 0 points"),
    ):
        with pytest.raises(StpError, match=said):
            run(job_of(change))


@pytest.mark.parametrize(
    ("variable", "level", "size"),
    [("u", 300, 30 * 3.6), ("v", 300, 9 * 3.6), ("w", 500, 3.6), ("q", 850, 6.0), ("t", 850, 12.0)],
)
def test_fields_on_levels_in_other_units_are_named(variable: str, level: int, size: float) -> None:
    """Winds in km/h, vertical ones in hPa/h, humidity in g/kg; winds are about 0 in the mean."""
    signs = np.where(np.arange(8) % 2 if variable in "uvw" else np.ones(8), 1, -1)
    fields = np.broadcast_to(size * signs, (2, 1, 5, 8)).astype("f4")
    with pytest.raises(StpError, match=f"here: {variable} at {level} hPa is {size:g}"):
        check_units("here", variable, [level], fields)
    check_units("here", variable, [level], np.full_like(fields, np.nan))
    if variable in "uvw":
        check_units("here", variable, [level], fields / np.float32(3.6) / 10)


GRID = Grid(13, 24)
ATMOSPHERE = Atmosphere(GRID.lat, GRID.lon, np.array([500.0]))
JULY = np.array(["2022-07-01"], "datetime64[D]")
STATES = truth(2022, JULY, 0)


def group_of(change: Callable[[str, np.ndarray], np.ndarray], *names: str) -> xr.Dataset:
    """Land or ocean of a day of July, with a variable in other units."""
    made = surface_fields(ATMOSPHERE, names, STATES, JULY)
    dims = ("latitude", "longitude")
    fields = {name: (dims, change(name, values[0])) for name, values in made.items()}
    return xr.Dataset(fields, {"latitude": GRID.lat, "longitude": GRID.lon})


@pytest.mark.parametrize(("variables", "shown"), [(LAND, "t2m"), (OCEAN, "sosaline")])
def test_each_variable_of_land_and_ocean_has_a_range(
    variables: Collection[str], shown: str
) -> None:
    group = group_of(lambda name, values: values, *variables)
    for name in variables:
        found, there = read_surface("here", group, [name], GRID, shown_by=shown, between=BETWEEN)
        assert found.shape == (1, 13, 24) and 0 < there.sum() < there.size, name


@pytest.mark.parametrize(
    ("variable", "factor", "offset"),
    [
        *(("tp", 1000, 0), ("sd", 1000, 0), ("sp", 0.01, 0), ("ssrd", 1 / 86400, 0)),
        *(("swvl1", 100, 0), ("skt", 1, -273.15), ("stl4", 1, -273.15), ("u10", 100, 0)),
        *(("sosstsst", 1, 273.15), ("sossheig", 100, 0), ("sowaflup", 86400, 0)),
        *(("sohtc300", 1e-9, 0), ("sosaline", 1e-3, 0)),
    ],
)
def test_land_and_ocean_in_other_units_are_named(
    variable: str, factor: float, offset: float
) -> None:
    """mm, hPa, W m**-2, %, degrees Celsius, cm/s, kelvin, cm, mm a day, GJ and kg/kg."""

    def change(name: str, values: np.ndarray) -> np.ndarray:
        return values * factor + offset * (values != 0) if name == variable else values

    shown = "t2m" if variable in LAND else "sosaline"
    group = group_of(change, *{shown: 0, variable: 0})
    with pytest.raises(StpError, match=f"here: {variable} is .* in the mean over .* without signs"):
        read_surface("here", group, [variable], GRID, shown_by=shown, between=BETWEEN)


def test_days_that_are_done_are_not_read_again(
    make_job: Callable[..., Job], tmp_path: Path
) -> None:
    """A run that stops at a bad day goes on behind the days before it."""
    root = write(tmp_path / "raw", on("20190109", t=CELSIUS))
    job = make_job("chaosbench", SHAPE, OPTIONS, context=1, horizon=HORIZON, root=root)
    with pytest.raises(StpError, match="20190109"):
        run(job)
    with pytest.raises(StpError, match="20190109"):
        run(job)
    done = (job.state / "pieces.jsonl").read_text().splitlines()
    assert len(done) == 1 + 8


@pytest.mark.long(part="suites")
def test_a_store_of_weatherbench_2_gives_the_same_arrays(
    make_job: Callable[..., Job], tmp_path: Path
) -> None:
    root = tmp_path / "raw"
    generator.generate(
        root, {**WORLD, "years": list(range(2019, 2024)), "days": 9, "store": True}, report_nothing
    )
    pattern = "chaosbench/weatherbench2/*.zarr"
    found = []
    for options in (OPTIONS, {**OPTIONS, "store": pattern}):
        job = make_job("chaosbench", SHAPE, options, context=1, horizon=HORIZON, root=root)
        run(job)
        found.append(xr.open_zarr(job.out / "frames.zarr", consolidated=False, chunks=None).load())
    gravity = Prepared(job.out).attrs["conventions"]["gravity of the release"]
    assert gravity == 1  # the store has geopotential as it is
    stream, store = found
    # Heights were divided by other numbers on the way; all else is the very same.
    np.testing.assert_allclose(store["frames"], stream["frames"], rtol=3e-7)
    np.testing.assert_array_equal(store["frames"][:, 2:], stream["frames"][:, 2:])
    for name in ("time", "lat", "lon", "level", "variable", "channel_units"):
        np.testing.assert_array_equal(store[name], stream[name])
    # What Zarr would take for fields without values is an error, and so is a level it lacks.
    (temperature,) = root.glob(f"{pattern}/temperature")
    held = sorted(p.name for p in temperature.iterdir() if p.name[0].isdigit())
    (temperature / held[0]).unlink()
    job = make_job("chaosbench", SHAPE, {**OPTIONS, "store": pattern}, root=root, horizon=HORIZON)
    with pytest.raises(StpError, match=f"temperature.*{held[0]}"):
        run(job)
    lacking = {**OPTIONS, "store": pattern, "variables": {"z": [10, 500]}}
    with pytest.raises(StpError, match=r"z has the levels(.|\n)*with 10 hPa"):
        run(make_job("chaosbench", [2, 5, 8], lacking, root=root, horizon=HORIZON))


def test_a_store_with_a_day_twice(make_job: Callable[..., Job], tmp_path: Path) -> None:
    name = "chaosbench/weatherbench2/a.zarr"
    times = np.array(["2022-01-01", "2022-01-02", "2022-01-01"], "datetime64[ns]")
    fields = xr.Dataset({"temperature": ("time", [270.0, 280.0, 290.0])}, {"time": times})
    fields.to_zarr(tmp_path / "raw" / name, consolidated=False)
    job = make_job("chaosbench", SHAPE, OPTIONS)
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    with pytest.raises(StpError, match=r"a\.zarr: 1 of 3 times come twice"):
        DaysOfStore(raw, name, {"t": [500]}, GRID)


def test_starts_of_the_paper() -> None:
    clips, blocks = cut_windows(ChaosbenchOptions(), 45)
    numbers = Counter(clip.split for clip in clips)
    windows = {"train": 13469, "val": 2147, "test": 320, "two_years": 685, "common_starts": 22}
    seasons = {"djf": 149, "mam": 184, "jja": 184, "son": 168}
    assert sum(seasons.values()) == 685
    assert numbers == windows | seasons
    common = [clip.clip for clip in clips if clip.split == "common_starts"]
    assert common[:3] == ["2022-01-01", "2022-01-15", "2022-02-01"] and common[-1] == "2022-11-15"
    months = {clip.clip[5:7] for clip in clips if clip.split == "djf"}
    assert months == {"12", "01", "02"}
    assert len(ChaosbenchOptions().days) == 16436
    assert all(blocks[clip.cluster][0] <= clip.start for clip in clips)


def blocks_of(options: ChaosbenchOptions, split: str) -> Blocks:
    clips, places = cut_windows(options, 45)
    names = tuple(dict.fromkeys(clip.cluster for clip in clips if clip.split == split))
    start, length = np.array([places[name] for name in names]).T
    return Blocks(names, start, length, 1)


def test_blocks_are_longer_than_the_last_lead_time_of_each_column() -> None:
    """Of the columns of the suite; lead time 44 and weeks 5-6 have too few for an interval."""
    daily = blocks_of(ChaosbenchOptions(), "test")
    counts = {lead: int(daily.groups_for_lead(lead).max()) + 1 for lead in (1, 7, 14, 28, 42, 44)}
    assert counts == {1: 160, 7: 40, 14: 21, 28: 11, 42: 7, 44: 7}
    # A start lasts until the next one: two weeks are longer than a week.
    common = blocks_of(ChaosbenchOptions(), "common_starts")
    assert [int(common.groups_for_lead(lead).max()) + 1 for lead in (7, 14, 28)] == [21, 11, 10]
    every16 = ChaosbenchOptions(stride={"train": 1, "val": 16, "test": 16})
    assert (blocks_of(every16, "test").length == 16).all()
    # The winter of one year and that of the next are far apart.
    winter = blocks_of(ChaosbenchOptions(), "djf")
    assert sorted(set(winter.length.tolist())) == [1, 276]
