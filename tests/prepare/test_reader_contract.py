"""The contract of every reader of a raw layout, on the files of its generator at the smallest size.

A reader that has no case here fails these tests: write one.
"""

import json
import multiprocessing
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from damage import check_damage, content, files_in
from kills import contents
from parts import long_except
from reader_jobs import job_in

from stp.core.errors import ConfigurationError, StpError
from stp.core.job import Interrupted, Job
from stp.core.named_modules import SOURCE_FOLDER
from stp.fetch.raw import run_generator
from stp.prepare import driving
from stp.prepare.output import SPLITS
from stp.prepare.planned_counts import Lists

READERS = sorted(path.parent.name for path in SOURCE_FOLDER.glob("stp/datasets/*/reader.py"))
FILES = 4
"""Raw files of a release that are damaged or removed, one at a time."""


@dataclass(frozen=True)
class Case:
    """A small release, and what is special about its reader.

    Attributes:
        shape: channels, height, width of a prepared frame.
        generated: options of the generator.
        options: options of the reader.
        context: frames.
        horizon: frames.
        unread: words in the paths of files that the reader does not use.
        optional: words in the paths of files that a release may lack.
        planned_by_cluster: the plan knows one clip per cluster; its name and start are in the file.
        disjoint: splits that share no frame and no cluster.
        packed: kinds of archives that may hold the files below the folder ``packed_folder``.
        packed_folder: below the raw folder; files elsewhere are lists.
        cut_off: suffixes of files that may be cut off without an error: short lists and videos.
        ordered: names of the text files whose lines have a required order.
        is_rendered: clips are rendered: they may have any length, and there is nothing to resume.
    """

    shape: list[int]
    generated: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    context: int = 2
    horizon: int = 1
    unread: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    planned_by_cluster: bool = False
    disjoint: tuple[str, ...] = SPLITS
    packed: tuple[str, ...] = ()
    packed_folder: str = ""
    cut_off: tuple[str, ...] = (".txt",)
    ordered: tuple[str, ...] = ()
    is_rendered: bool = False


DIGITS = "mnist/{}-images-idx3-ubyte.gz"
CASES = {
    "bair": Case(
        [3, 8, 8],
        {"train": 5, "test": 2, "per_file": 3, "frames": 6, "size": 8, "packed": False},
        {"frames": 6, "raw_size": 8, "val": 2, "trajectories": {"train": 5, "test": 2}},
        packed=("tar",),
        packed_folder="bair",
    ),
    "bridge": Case(
        [3, 8, 8],
        {
            **{"trajectories": 6, "elsewhere": 1, "cameras": 2, "frames": 5, "long_frames": 12},
            **{"height": 16, "width": 16, "packed": False},
        },
        unread=("agent_data.pkl", "lang.txt"),
        disjoint=("train", "strict"),
        packed=("zip",),
        packed_folder="bridge",
    ),
    "caltech": Case(
        [3, 8, 10],
        {"sets": [6], "videos": 2, "frames": 18, "height": 16, "width": 24},
        {"resize": [8, 12], "sets": [6]},
        optional=("V00",),
        disjoint=("test",),
        packed=("tar", "zip"),
        packed_folder="caltech",
    ),
    "chaosbench": Case(
        [1, 5, 8],
        {
            **{"degrees": 45, "levels": [500], "variables": ["t"], "part_mb": 0.05},
            **{"first_year": 2019, "years": [2019, 2020, 2021], "days": 4},
        },
        {
            "years": {"train": [2019, 2019], "val": [2020, 2020], "test": [2021, 2021]},
            **{"variables": {"t": [500]}, "days_per_year": 4, "subsets": {}},
        },
        context=1,
    ),
    "cityscapes": Case(
        [3, 8, 8],
        {"snippets": dict.fromkeys(SPLITS, 1), "height": 16, "width": 32},
        {"snippets": dict.fromkeys(SPLITS, 1)},
        horizon=5,
        packed=("tar", "zip"),
        packed_folder="cityscapes",
    ),
    "enso": Case(
        [1, 24, 48],
        {"cmip6_models": 1, "cmip6_years": 2, "cmip5_models": 2, "cmip5_years": 2},
        {
            "layout": "cmip",
            "models": [
                {"family": "CMIP6", "count": 1, "years": 2},
                {"family": "CMIP5", "count": 2, "years": 2},
            ],
            **{"val": ["CMIP5-01"], "test": ["CMIP5-02"]},
        },
        unread=("CMIP_label",),
    ),
    "human36m": Case(
        [3, 16, 16],
        {
            **{"actors": [1, 8, 9], "performances": ["Walking"], "cameras": 1, "frames": 120},
            **{"size": [16, 16], "every": 20, "shares": [0.2, 0.2], "packed": False},
        },
        optional=("_000001.jpg",),
        disjoint=("strict-train", "strict-val", "strict"),
        packed=("tar", "zip"),
        packed_folder="human36m",
    ),
    "kitti": Case(
        [3, 8, 10],
        {"frames": {"train": [6, 5], "val": [5], "test": [5]}, "height": 16, "width": 48},
        {"resize": [8, 26]},
        packed=("tar", "zip"),
        packed_folder="kitti",
        ordered=("timestamps.txt",),
    ),
    "kth": Case(
        [1, 8, 10],
        {
            **{"persons": [1, 15, 17], "actions": ["walking"], "scenarios": [1]},
            **{"frames": 16, "sequences": 2},
        },
        packed=("tar", "zip"),
        packed_folder="kth/walking",
        cut_off=(".txt", ".avi"),
    ),
    "moving_mnist": Case(
        [1, 16, 16],
        {"test_images": 20, "side": 12},
        {
            "digits": {
                "train": {"file": DIGITS.format("train"), "from": 0, "to": 8},
                "val": {"file": DIGITS.format("train"), "from": 8, "to": 12},
                "test": {"file": DIGITS.format("t10k"), "from": 0, "to": 4},
            },
            "clips": {"val": 3, "test": 4},
            "clips_per_epoch": 5,
        },
        unread=("labels",),
        disjoint=("val", "test"),
        is_rendered=True,
    ),
    "nuscenes": Case(
        [3, 4, 5],
        {
            **{"logs": dict.fromkeys(SPLITS, 1), "scenes": 1, "frames": 7},
            **{"height": 18, "width": 32},
        },
        {"resize": [4, 7], "stride": 2, "subsets": {"extrapolation": 6}},
        unread=("sensor.json", "log.json"),
    ),
    "robonet": Case(
        [3, 16, 24],
        {
            **{"robots": ["google"], "train": 2, "val": 1, "test": 1, "shrink": 8},
            **{"most_frames": 5, "most_cameras": 1},
        },
        packed=("tar",),
        packed_folder="robonet/hdf5",
        optional=("_traj", "meta_data"),
        planned_by_cluster=True,
    ),
    "scv": Case(
        [3, 16, 16],
        {
            **{"scenario": "move_unit_to_border", "size": 16},
            **{"train": 2, "valid": 1, "test": 2, "files": 2},
        },
        {"raw_size": 16, "least": 2, "most": 99, "videos": {"train": 2, "val": 1, "test": 2}},
        unread=("state.parquet",),
    ),
    "sevir": Case(
        [1, 8, 8],
        {"events": 1, "size": 8},
        context=13,
        horizon=12,
        unread=("RANDOMEVENTS_2019_0901_1231",),
    ),
    "taxibj": Case(
        [2, 4, 4],
        {"days": [2, 1, 1, 2], "grid": [4, 4], "absent": 0, "incomplete": 0},
        {"clips": {"val": 40, "test": 60}},
        unread=("Holiday", "Meteorology"),
        disjoint=("train", "strict"),
    ),
    "traffic4cast": Case(
        [8, 4, 4],
        {"days": {**dict.fromkeys(SPLITS, 1), "moscow": 1}, "cities": 2, "grid": [8, 8]},
        {"grid": [8, 8]},
        context=9,
        horizon=3,
        disjoint=(*SPLITS, "moscow"),
    ),
    "weatherbench": Case(
        [2, 4, 8],
        {
            **{"resolution": 45, "years": [2015, 2016, 2017], "days": 2, "levels": [500]},
            "variables": ["2m_temperature", "geopotential"],
        },
        {
            **{"resolution": "45deg", "variables": {"t2m": [], "z": [500]}, "days_per_year": 2},
            "years": {"train": [2015, 2015], "val": [2016, 2016], "test": [2017, 2017]},
        },
    ),
}


@dataclass(frozen=True)
class Release:
    """The raw files of a case, its reader, and what that makes of them as they are."""

    name: str
    case: Case
    root: Path
    module: ModuleType
    intact: Job

    @property
    def job_options(self) -> dict[str, Any]:
        return {"root": self.root, "context": self.case.context, "horizon": self.case.horizon}

    def required(self) -> list[str]:
        """Some files that the reader must have, of each folder and suffix."""
        left_out = (*self.case.unread, *self.case.optional)
        names = [name for name in files_in(self.root) if not any(w in name for w in left_out)]
        return names[:FILES]

    def copy(self, folder: Path) -> Path:
        """Hard links to all files: remove one before it is written."""
        shutil.rmtree(folder, ignore_errors=True)
        return Path(shutil.copytree(self.root, folder, copy_function=os.link))


@pytest.fixture(scope="module", autouse=True)
def workers_import_once() -> None:
    """The server that forks worker processes imports the readers, not each process anew."""
    modules = [f"stp.datasets.{name}.reader" for name in READERS]
    multiprocessing.set_forkserver_preload(modules)


@pytest.fixture(scope="module", params=READERS)
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    name = request.param
    case = CASES[name]
    folder = tmp_path_factory.mktemp(name)
    run_generator(name, case.generated, folder / "raw")
    module = import_module(f"stp.datasets.{name}.reader")
    sizes = {"context": case.context, "horizon": case.horizon}
    intact = job_in(folder, name, case.shape, case.options, **sizes)
    module.run(intact)
    return Release(name, case, folder / "raw", module, intact)


@pytest.fixture
def prepare(make_job: Callable[..., Job], release: Release) -> Callable[..., Job]:
    """Prepare a release with other options, files or settings than those of its case."""

    def run(
        options: dict[str, Any] | None = None, shape: list[int] | None = None, **job: Any
    ) -> Job:
        case = release.case
        new = make_job(
            release.name,
            shape or case.shape,
            {**case.options, **(options or {})},
            **{**release.job_options, **job},
        )
        shutil.rmtree(new.state, ignore_errors=True)
        release.module.run(new)
        return new

    return run


def assert_same_clips(one: Job, other: Job) -> None:
    """Compare clips by their splits and names, wherever they lie in the store."""
    expected, actual = clips(one), clips(other)
    assert actual.keys() == expected.keys()
    for clip in expected:
        np.testing.assert_array_equal(actual[clip], expected[clip])


def clips(job: Job) -> dict[tuple[str, str], np.ndarray]:
    stored, index = content(job)
    return {
        (row.split, row.clip): stored[row.start :: row.stride][: row.length]
        for row in index.itertuples()
    }


def test_splits_share_no_frames_and_no_clusters(release: Release):
    _, index = content(release.intact)
    numbers, clusters = {}, {}
    for split in release.case.disjoint:
        rows = index[index["split"] == split]
        assert len(rows)
        numbers[split] = {
            row.start + row.stride * t for row in rows.itertuples() for t in range(row.length)
        }
        clusters[split] = set(rows["cluster"])
    for sets in (numbers.values(), clusters.values()):
        assert sum(map(len, sets)) == len(set().union(*sets))


def test_planned_clips_are_those_prepared(release: Release):
    _, index = content(release.intact)
    planned = release.module.count(release.intact.recipe, Lists([release.root]))
    if release.case.planned_by_cluster:
        rows = zip(index["split"], index["cluster"], strict=True)
        listed = {(clip.split, clip.cluster) for clip in planned.clips}
    else:
        rows = zip(index["split"], index["clip"], index["start"].tolist(), strict=True)
        listed = {(clip.split, clip.clip, clip.start) for clip in planned.clips}
    if listed:
        assert listed == {row for row in rows if row[0] not in planned.unknown}
    prepared = {split: int((index["split"] == split).sum()) for split in planned.numbers}
    virtual = release.case.options.get("clips_per_epoch")
    assert planned.numbers == prepared | ({"train": virtual} if virtual else {})


def test_two_processes_write_the_same_files(release: Release, prepare: Callable[..., Job]):
    assert contents(prepare(prepare_workers=2).out) == contents(release.intact.out)


PIECES = {
    **dict.fromkeys(("human36m", "taxibj"), ("PIECE", 3)),
    **dict.fromkeys(("kitti", "nuscenes", "caltech"), ("PER_PIECE", 3)),
    "weatherbench": ("PIECE_BYTES", 5 * 256),  # five frames
}


def test_pieces_of_any_size_give_the_same_frames(
    release: Release, prepare: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
):
    if release.name not in PIECES:
        pytest.skip("pieces are videos, days or events")
    name, size = PIECES[release.name]
    monkeypatch.setattr(driving if name == "PER_PIECE" else release.module, name, size)
    assert_same_clips(release.intact, prepare())


def test_an_interrupted_run_goes_on(release: Release, make_job: Callable[..., Job]):
    def stop(what: str, done: int, total: int) -> None:
        if done == min(2, total):
            raise Interrupted

    if release.case.is_rendered:
        pytest.skip("there is nothing to resume")
    arguments = (release.name, release.case.shape, release.case.options)
    with pytest.raises(Interrupted):
        release.module.run(replace(make_job(*arguments, **release.job_options), report=stop))
    job = make_job(*arguments, **release.job_options)
    extras = release.module.run(job)
    assert contents(job.out) == contents(release.intact.out)
    assert extras["pieces resumed"] in (1, 2)


def test_the_order_of_files_and_lines_does_not_matter(
    release: Release, prepare: Callable[..., Job], tmp_path: Path
):
    root = release.copy(tmp_path / "reversed")
    for name in files_in(root):
        path = root / name
        if path.suffix == ".json":
            listed = json.loads(path.read_text())
            turned = listed[::-1] if isinstance(listed, list) else dict([*listed.items()][::-1])
            path.unlink()
            path.write_text(json.dumps(turned))
        elif path.suffix in (".txt", ".csv") and path.name not in release.case.ordered:
            lines = path.read_text().splitlines(keepends=True)
            head = 1 if path.suffix == ".csv" else 0
            path.unlink()
            path.write_text("".join(lines[:head] + lines[head:][::-1]))
    assert_same_clips(release.intact, prepare(root=root, names=files_in(root)[::-1]))


def test_packed_files_give_the_same(release: Release, prepare: Callable[..., Job], tmp_path: Path):
    """As files, and in each kind of archive."""
    folder = release.case.packed_folder
    unpacked, lists = tmp_path / "unpacked", tmp_path / "lists"
    lists.mkdir()
    for name in files_in(release.root):
        source = release.root / name
        inside = name.startswith(folder)
        if inside and source.suffix in (".tar", ".zip"):
            shutil.unpack_archive(source, unpacked)
        else:
            target = (unpacked if inside else lists) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(source, target)
    for kind in release.case.packed:
        root = Path(shutil.copytree(lists, tmp_path / kind, copy_function=os.link))
        shutil.make_archive(str(root / "archive"), kind, unpacked)
        assert_same_clips(release.intact, prepare(root=root))
    if release.case.packed:
        shutil.copytree(lists, unpacked, dirs_exist_ok=True, copy_function=os.link)
        assert_same_clips(release.intact, prepare(root=unpacked))


@pytest.mark.parametrize("trials", long_except([FILES], [FILES, 2 * FILES], part="fuzz"))
def test_random_damage_is_refused_or_does_not_matter(
    release: Release, make_job: Callable[..., Job], trials: int
):
    arguments = (release.root, release.name, release.case.shape, release.case.options)
    sizes = {"context": release.case.context, "horizon": release.case.horizon}
    refused = check_damage(
        make_job, release.module.run, *arguments, trials=trials, intact=release.intact, **sizes
    )
    assert refused >= trials // 4


def test_a_file_that_is_missing_or_cut_off(
    release: Release, prepare: Callable[..., Job], tmp_path: Path
):
    names = files_in(release.root)
    for name in release.required():
        with pytest.raises(StpError):  # not in the release
            prepare(names=[other for other in names if other != name])
        root = release.copy(tmp_path / "damaged")
        path = root / name
        if path.suffix not in release.case.cut_off:
            content = path.read_bytes()
            path.unlink()
            path.write_bytes(content[: len(content) * 3 // 5])
            with pytest.raises(StpError, match=re.escape(path.stem)):
                prepare(root=root)
        path.unlink()
        with pytest.raises(StpError, match=re.escape(path.stem)):  # in the release, but missing
            prepare(root=root, lock_root=release.root)


def test_files_that_are_not_used_may_be_missing(release: Release, prepare: Callable[..., Job]):
    names = files_in(release.root)
    used = [name for name in names if not any(word in name for word in release.case.unread)]
    if used != names:
        assert_same_clips(release.intact, prepare(names=used))


def test_unknown_options_and_values_of_another_type_are_named(
    release: Release, prepare: Callable[..., Job]
):
    (options,) = (
        value
        for value in vars(release.module).values()
        if isinstance(value, type)
        and value.__module__ == release.module.__name__
        and value.__name__.endswith("Options")
    )
    for name in (*(each.name for each in fields(options)), "nonsense"):
        with pytest.raises(ConfigurationError, match=name):
            prepare(options={name: [["nonsense"]]})


def test_shapes_and_horizons_that_do_not_fit(release: Release, prepare: Callable[..., Job]):
    with pytest.raises(ConfigurationError, match="shape"):
        prepare(shape=[7, *release.case.shape[1:]])
    if not release.case.is_rendered:
        with pytest.raises(StpError):
            prepare(horizon=1000)
