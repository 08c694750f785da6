"""Splits of own data: nothing leaks, nothing is lost without a word, and no split is empty."""

import numpy as np
import own_data as made
import pytest

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.prepare.own import splits as splits_module
from stp.prepare.own.options import Common, RawContents, Recording
from stp.prepare.own.reader import build_options, run
from stp.prepare.own.splits import assign_splits, check_splits

T = 12
BY_FILE = {"by": "file", "train": 0.6, "val": 0.2, "test": 0.2, "seed": 3}


@pytest.fixture
def job_of(make_job):
    """job_of(splits, option=value, ...): a job on the files of `raw`."""

    def make(splits, context=2, horizon=1, **more):
        options = {"kind": "arrays", "axes": "THW", "splits": splits, **more}
        return make_job("own.reader", [1, 2, 2], options, context=context, horizon=horizon)

    return make


@pytest.fixture
def raw(tmp_path):
    """Ten files of twelve frames; person p of 5 is in two of them. Values say which and when."""
    folder = tmp_path / "raw" / "mine"
    folder.mkdir(parents=True)
    for i in range(10):
        frames = np.full((T, 2, 2), 100.0 * i) + np.arange(T)[:, None, None]
        np.save(folder / f"p{i % 5}_take{i // 5}.npy", frames.astype(np.float32))
    return tmp_path / "raw"


def files(data, split):
    return sorted({clip.rpartition("/")[0] for clip in data.clips(split).index["clip"]})


def frames(data, split):
    clips = data.clips(split)
    return {float(v) for v in clips.read(range(len(clips)))[:, :, 0, 0, 0].ravel()}


def test_fractions_of_files(job_of, raw):
    job = job_of(BY_FILE)
    run(job)
    data = Prepared(job.out)
    parts = [files(data, split) for split in ("train", "val", "test")]
    assert [len(part) for part in parts] == [6, 2, 2]
    assert len(set().union(*parts)) == 10
    assert not frames(data, "train") & frames(data, "test")


def test_the_seed_deals_otherwise_and_the_same_seed_alike(job_of, raw):
    def tests(seed):
        job = job_of({**BY_FILE, "seed": seed})
        run(job)
        return tuple(files(Prepared(job.out), "test"))

    assert tests(3) == tests(3)
    assert len({tests(seed) for seed in range(6)}) > 2


def test_what_belongs_together_stays_together(job_of, raw):
    job = job_of(BY_FILE, group=r"(p\d)_")
    extras = run(job)
    data = Prepared(job.out)
    assert extras["clusters"] == {"train": 3, "val": 1, "test": 1}
    persons = [{name[5:7] for name in files(data, s)} for s in ("train", "val", "test")]
    assert not persons[0] & persons[1] and not (persons[0] | persons[1]) & persons[2]
    with pytest.raises(StpError, match="group"):
        run(job_of(BY_FILE, group=r"(q\d)_"))
    # A group that takes no part in the match would put them all together.
    with pytest.raises(StpError, match=r"group (.|\n)*mine/"):
        run(job_of(BY_FILE, group=r"mine/p(?:0|(9))?"))


def test_lists_may_leave_files_out_and_add_splits(job_of, raw):
    (raw / "mine" / "test.txt").write_text("# one a line\np4_take0.npy\n\nmine/p4_take1.npy\n")
    splits = {"by": "list", "train": ["p[01]_*"], "val": ["mine/p2_take0.npy"],
              "test": "test.txt", "night": ["p3_take0.npy"]}  # fmt: skip
    job = job_of(splits)
    extras = run(job)
    data = Prepared(job.out)
    assert files(data, "train") == [f"mine/p{p}_take{t}.npy" for p in (0, 1) for t in (0, 1)]
    assert files(data, "test") == ["mine/p4_take0.npy", "mine/p4_take1.npy"]
    assert files(data, "night") == ["mine/p3_take0.npy"]
    assert extras["sequences in no split"] == ["mine/p2_take1.npy", "mine/p3_take1.npy"]
    assert len(data.frames) == 8 * T, "nor are their frames kept"


@pytest.mark.parametrize(
    ("gap", "val", "test"), [(0, [6, 7, 8], [9, 10, 11]), (1, [7, 8], [10, 11])]
)
def test_fractions_of_time_with_a_gap(job_of, raw, gap, val, test):
    splits = {"by": "time", "train": 0.5, "val": 0.25, "test": 0.25, "gap": gap}
    job = job_of(splits, context=1, stride=1)
    run(job)
    data = Prepared(job.out)
    of_one = [sorted(f for f in frames(data, s) if f < 100) for s in ("train", "val", "test")]
    assert of_one == [[0, 1, 2, 3, 4, 5], val, test]


def test_training_may_be_the_later_part(make_job, tmp_path):
    made_grid = made.grid(made.times("2000-01-01", 24, "1D"))[["t2m"]]
    (tmp_path / "raw").mkdir()
    made_grid.to_netcdf(tmp_path / "raw" / "g.nc")
    splits = {"by": "time", "train": ["2000-01-13", "2000-02"], "val": ["2000-01-07", "2000-01-12"],
              "test": ["1999", "2000-01-06"], "gap": 2}  # fmt: skip
    options = {"kind": "grids", "variables": {"t2m": None}, "splits": splits, "stride": 1}
    job = make_job("own.reader", [1, 4, 6], options, context=1, horizon=1)
    run(job)
    days = {s: sorted(f / 1000 + 1 for f in frames(Prepared(job.out), s)) for s in splits
            if s not in ("by", "gap")}  # fmt: skip
    assert days == {
        "test": [1, 2, 3, 4, 5, 6],
        "val": [9, 10, 11, 12],
        "train": list(range(15, 25)),
    }


def test_many_names_in_a_list_are_found_fast():
    """10,000 names of 10,000 files: looked up, not compared with each other."""
    names = [f"mine/part{i % 7}/clip{i:05d}.avi" for i in range(10000)]
    recordings = [Recording(name, name, 5) for name in names]
    found = RawContents(recordings, lambda *_: None, lambda *_: None, "uint8", 1, {})
    lists = {"train": names[:8000], "val": names[8000:9000], "test": names[9000:]}
    options = Common(kind="videos", splits={"by": "list", **{s: f"{s}.txt" for s in lists}})
    calls = 0

    def count(name, pattern):
        nonlocal calls
        calls += 1
        return False

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits_module, "fnmatchcase", count)
        parts = assign_splits(found, options, lambda name: lists[name.removesuffix(".txt")])
    assert [sum(p.split == s for p in parts) for s in lists] == [8000, 1000, 1000]
    assert calls == 0


def test_windows_take_every_second_frame(job_of, raw):
    job = job_of(BY_FILE, frame_step=2, stride=4, span=4)
    run(job)
    data = Prepared(job.out)
    clips = data.clips("test")
    # 4 frames, 2 apart, reach over 7 of 12: starts 0 and 4
    assert [int(c[-2:]) for c in clips.index["clip"]] == [0, 4, 0, 4]
    values = clips.read([1], length=4)[0, :, 0, 0, 0] % 100
    assert list(values) == [4, 6, 8, 10]


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ({"by": "list", "train": ["p0_*"], "val": ["p1_*"], "test": ["p9_*"]}, "'p9_"),
        ({"by": "list", "train": ["p0_*"], "val": ["p1_*"], "test": ["p[13]_*"]}, "test"),
        ({"by": "list", "train": ["p0_*"], "val": ["p1_*"], "test": "t.txt"}, r"t\.txt"),
        ({"by": "list", "train": ["p0_*"], "val": [], "test": ["p1_*"]}, r"splits\.val .*\[\]"),
        ({"by": "file", "train": 0.8, "val": 0.1, "test": 0.2}, r"splits .*\[0\.8, 0\.1, 0\.2\]"),
        ({"by": "file", "train": 1, "val": 0.1, "test": 0.1}, r"splits\.train .*1"),
        ({"by": "file", "train": 0.8, "test": 0.2}, "val"),
        ({"by": "file", "train": 0.8, "val": 0.1, "test": 0.1, "sed": 1}, "seed"),
        ({"by": "person", "train": 0.8, "val": 0.1, "test": 0.1}, r"splits\.by .*person"),
        ({"by": "time", "train": [2001, 2002], "val": ["2003", "2004-02"], "test": [2005, 2006]},
         "splits: mine/"),
        ({"by": "time", "train": ["2", "1"], "val": ["3", "4"], "test": ["5", "6"]},
         r"splits\.train"),
        ({"by": "time", "train": 0.8, "val": 0.1, "test": 0.1}, "val .* 1 "),
    ],
)  # fmt: skip
def test_splits_that_cannot_be(job_of, raw, splits, message):
    with pytest.raises(StpError, match=message):
        run(job_of(splits))


@pytest.mark.parametrize(
    "date",
    ["2000-6", "2000-06-1", "2000-13", "2000-06-32", "2000/06", "June 2000", "20000601", "00",
     "2000-06-30T25", "2000-06-30 12:00:00+02:00", "2000-", 2000.5, None, True],
)  # fmt: skip
def test_dates_that_are_compared_as_text_are_whole(date):
    splits = {"by": "time", "train": ["1999", date], "val": ["2001", "2001"], "test": [2002, 2003]}
    with pytest.raises(StpError, match=r"splits\.train"):
        check_splits(splits)


@pytest.mark.parametrize(
    "date",
    [2000, "2000-06", "2000-02-30", "2000-06-30T12", "2000-06-30 12:00", "2000-06-30T23:59:59"],
)
def test_dates_of_any_length(date):
    check_splits({"by": "time", "train": [1999, date], "val": [2001, 2001], "test": [2002, 2003]})


def test_a_copy_in_another_split_is_refused(job_of, raw):
    copy = raw / "mine" / "p0_take0 (1).npy"
    copy.write_bytes((raw / "mine" / "p0_take0.npy").read_bytes())
    lists = {"by": "list", "train": ["p0_take0.npy", "p1_*"], "val": ["p2_*"], "test": ["p3_*"]}
    run(job_of(lists))
    lists["test"].append(copy.name)
    with pytest.raises(StpError, match=r"\(1\)\.npy .*test .*0\.npy .*train"):
        run(job_of(lists))


def test_too_few_files(job_of, raw):
    for path in sorted((raw / "mine").iterdir())[2:]:
        path.unlink()
    with pytest.raises(StpError, match="2 "):
        run(job_of(BY_FILE))


def test_too_few_frames_are_found_before_anything_is_decoded(job_of, raw):
    job = job_of(BY_FILE, context=8, horizon=8)
    with pytest.raises(StpError, match="train"):
        run(job)
    assert not job.state.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"span": 2}, "span .*2"),
        ({"stride": 0}, "stride .*0"),
        ({"stride": {"train": "a"}}, "stride"),
        ({"frame_step": 0}, "frame_step .*0"),
        ({"cluster_frames": -1}, "cluster_frames .*-1"),
        ({"group": "(p"}, r"group .*\(p"),
        ({"group": "p"}, "group .*p"),
        ({"normalisation": {"method": "max"}}, "normalisation"),
        ({"normalisation": {"method": "fixed", "offset": 0}}, "normalisation"),
        ({"normalisation": {"method": "fixed", "offset": 0, "scale": 0}}, "normalisation"),
        ({"normalization": {}}, "normalization(.|\\n)*normalisation"),
    ],
)
def test_options_out_of_range(job_of, raw, change, message):
    with pytest.raises(StpError, match=message):
        run(job_of(BY_FILE, **change))


def test_a_stride_for_some_splits(job_of, raw):
    job = job_of(BY_FILE, stride={"train": 1})
    # Windows of 3 in 12 frames: 10, or 4 that do not overlap.
    assert run(job)["clips"] == {"train": 60, "val": 8, "test": 8}


def test_a_kind_without_options_says_what_is_missing():
    with pytest.raises(StpError, match="axes"):
        build_options({"kind": "arrays", "splits": BY_FILE})
    with pytest.raises(StpError, match="splits"):
        build_options({"kind": "videos"})
    with pytest.raises(StpError, match="kind"):
        build_options({"splits": BY_FILE})


def test_a_group_in_two_splits_is_refused():
    splits_module._require_whole_groups(["train", None, "train", "test"], ["a", "a", "a", "b"], {})
    with pytest.raises(StpError, match="group b"):
        splits_module._require_whole_groups(["train", "test", "train"], ["a", "b", "b"], {})
