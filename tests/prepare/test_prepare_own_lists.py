"""Split lists of HMDB51 and Kinetics: who is drawn, who is missing, what is damaged."""

from collections.abc import Callable
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.core.job import Job
from stp.data.prepared import Prepared
from stp.data.raw_files import RawFiles
from stp.fetch.raw import run_generator
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.prepare.own.options import Recording
from stp.prepare.own.published_lists import draw
from stp.prepare.own.reader import run
from stp.prepare.own.splits import check_splits

HMDB51 = {"by": "action_lists", "lists": "splits/*_test_split1.txt", "share": 0.75}
KINETICS = {"by": "clip_table", "lists": "k/*.csv", "share": 0.5, "missing": "skip"}


Written = Callable[..., RawFiles]


@pytest.fixture
def raw_of(make_job: Callable[..., Job], tmp_path: Path) -> Written:
    """raw_of({name: text}) -> raw files."""

    def write(texts: dict[str, str]) -> RawFiles:
        for name, text in texts.items():
            path = tmp_path / "raw" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        job = make_job("own.reader", [3, 16, 16], {})
        return RawFiles(job.inputs["raw"], job.runtime["raw_roots"])

    return write


def recordings(*names: str) -> list[Recording]:
    return [Recording(name, name, 20) for name in names]


def unescaped(splits: dict[str, list[str]]) -> dict[str, set[str]]:
    return {s: {n.replace("[[]", "[") for n in splits[s]} for s in ("train", "val", "test")}


def test_hmdb51_counts_what_is_marked_and_takes_any_name(raw_of: Written) -> None:
    names = [f"#{i}_[a] (b)_run.avi" for i in range(16)]
    lines = "".join(f"{name} {(1, 2, 0, 1)[i % 4]} \n" for i, name in enumerate(names))
    raw = raw_of({"splits/run_test_split1.txt": lines, "splits/readme.txt": "x"})
    # The same name in the folder of another action is another video.
    there = recordings(*(f"videos/{action}/{n}" for action in ("jump", "run") for n in names))
    drawn = draw(raw, there, HMDB51)
    assert drawn.extras == {"listed videos": 12, "listed videos that are not there": 0}
    found = unescaped(drawn.splits)
    assert [len(found[s]) for s in ("train", "val", "test")] == [2, 1, 9]
    used = set().union(*found.values())
    assert used == {f"videos/run/{n}" for i, n in enumerate(names) if i % 4 != 2}
    assert unescaped(draw(raw, there, HMDB51 | {"seed": 1}).splits) != found
    assert draw(raw, there[::-1], HMDB51) == drawn
    with pytest.raises(StpError, match=r"1 of 12 .*#0_"):
        draw(raw, [one for one in there if one.name != f"videos/run/{names[0]}"], HMDB51)


def test_kinetics_leaves_out_what_has_vanished_and_is_capped(raw_of: Written) -> None:
    head = "label,youtube_id,time_start,time_end,split\n"
    train = head + "".join(f'"a, b",-id{i},{i},{i + 10},train\n' for i in range(60))
    test = "youtube_id,time_start,time_end,split\n" + "".join(
        f"t{i},5,15,test\n" for i in range(20)
    )
    raw = raw_of({"k/train.csv": train, "k/test.csv": test})
    there = recordings(
        *(f"v/a, b/-id{i}_{i:06d}_{i + 10:06d}.mp4" for i in range(40)),
        *(f"v/t{i}.mp4" for i in range(20)),
        "v/-id50_000000_000010.mp4",  # of other seconds
    )
    drawn = draw(raw, there, KINETICS)
    assert drawn.extras == {"listed videos": 80, "listed videos that are not there": 20}
    assert [len(drawn.splits[s]) for s in ("train", "val", "test")] == [15, 15, 30]
    capped = draw(raw, there, KINETICS | {"most": 10}).splits
    assert [len(capped[s]) for s in ("train", "val", "test")] == [1, 1, 10]
    assert set(capped["test"]) < set(drawn.splits["test"])


@pytest.mark.parametrize(
    ("options", "name", "text", "said"),
    [
        (HMDB51, "splits/run_test_split1.txt", "a.avi 1\nb.avi 3\n", "line 2: 'b.avi 3'"),
        (HMDB51, "splits/other.txt", "a.avi 1\n", "splits/"),
        (HMDB51, "splits/run_test_split1.txt", "a.avi 1\n", "1 "),
        (KINETICS, "k/a.csv", "label,id\nrun,x\n", "line 2: 'run,x'"),
        (KINETICS, "k/a.csv", "youtube_id,time_start,time_end\nx,one,2\n", "line 2: 'x,one,2'"),
    ],
)
def test_lists_that_hold_nothing_are_refused(
    raw_of: Written, options: dict[str, object], name: str, text: str, said: str
) -> None:
    raw = raw_of({name: text})
    with pytest.raises(StpError, match=said):
        draw(raw, recordings("videos/run/a.avi"), options)


@pytest.mark.parametrize(
    "change", [{"share": 1.5}, {"lists": 3}, {"most": 1}, {"missing": "no"}, {"train": 0.5}]
)
def test_options_out_of_range_are_refused_before_any_file_is_read(
    change: dict[str, object],
) -> None:
    with pytest.raises(StpError, match=next(iter(change))):
        check_splits(KINETICS | change)


@pytest.mark.parametrize(
    ("dataset", "options", "splits", "missing"),
    [
        (
            "hmdb51",
            {"actions": 1, "videos": 8, "frames": 4, "height": 16},
            HMDB51 | {"lists": "hmdb51/splits/*_test_split1.txt"},
            0,
        ),
        (
            "kinetics400",
            {"videos": 9, "missing": 9, "frames": 4, "height": 16},
            KINETICS | {"lists": "kinetics400/*.csv"},
            1,
        ),
    ],
)
def test_generated_videos_are_prepared_one_clip_each(
    make_job: Callable[..., Job], tmp_path: Path, dataset: str, options, splits, missing: int
) -> None:
    run_generator(dataset, options, tmp_path / "raw")
    given = {"kind": "videos", "frames": 4, "splits": splits}
    job = make_job("own.reader", [3, 16, 16], given, context=0, horizon=4)
    extras = run(job)
    assert extras["listed videos that are not there"] == missing
    clips = Prepared(job.out).clips("test").index["clip"]
    assert len(clips) == len({c.rpartition("/")[0] for c in clips}) == extras["clips"]["test"] > 2
    assert set(clips.str[-12:]) == {"frame-000000"}


@pytest.mark.sample_bytes
def test_real_mp4_files_are_read(make_job: Callable[..., Job], raw_mirror: Path) -> None:
    """The sample of Kinetics-400: videos of three encoders and four sizes."""
    release = read_yaml(CONFIG_FOLDER / "datasets" / "kinetics400.yaml")["releases"]["sample"]
    names = [file["path"] for file in release["files"]]
    given = {"kind": "videos", **release["prepare"], "frames": 16}
    job = make_job(
        "own.reader", [3, 16, 16], given, context=0, horizon=16, root=raw_mirror, names=names
    )
    assert run(job)["clips"] == {"train": 1, "val": 1, "test": 2}
    first, second = Prepared(job.out).clips("test").read([0, 1])
    assert first.std() > 0.02 and second.std() > 0.02 and abs(first - second).mean() > 0.05
