"""Raw detections to scores, stage by stage."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from crowds import crowd, line
from stages import Stages

from stp.core.errors import StpError
from stp.options.predict_tracks import MotionOptions
from stp.options.score import NOTE
from stp.predict.motion import _draw
from stp.render.pictures.scene import scene_of
from stp.score.motion import scenarios_of
from stp.tracks import prepared

ALL = (
    "displacement.by_scenario",
    "displacement.by_person",
    "final_displacement.by_scenario",
    "final_displacement.by_person",
    "miss_rate.two_metres",
    "collision_rate.half_metre",
)
OF_SEVERAL = (
    "top_k_displacement.pointwise",
    "top_k_displacement.trajectory",
    "position_nlp.final_gaussian",
)
OPTIONS: dict[str, Any] = {"format": "trajnetpp", "step": 6, "dt": 0.4, "smooth": 0}


@pytest.fixture
def stages(tmp_path: Path) -> Stages:
    """Four people walk through a hall for 100 steps; the third one goes around the others."""
    paths = [line(100, wobble=1), np.add(line(100, (-0.4, 0.1), wobble=2), [20, 0])]
    paths += [line(100, (0.3, 0.3), wobble=3), np.add(line(100, (0.0, 0.5), wobble=4), [8, -9])]
    lines = [
        json.dumps({"track": {"f": 6 * step, "p": person, "x": x, "y": y}})
        for step in range(100)
        for person, path in enumerate(paths)
        for x, y in [path[step]]
    ]
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "hall.ndjson").write_text("\n".join(lines))
    (raw / "pillars.txt").write_text("8 5 1\n3 -4 0.5\n")
    return Stages(tmp_path / "store", raw, context=6, horizon=8)


def rows(folder: Path, convention: str) -> pd.DataFrame:
    found = pq.read_table(folder / "scores.parquet").to_pandas()
    return found[(found["convention"] == convention) & (found["statistic"] == "mean")]


@pytest.mark.parametrize(
    "names",
    [("p-17", "anna", "ben", "7"), (2**53 + 1, 2**53 + 2, 2**60, 5)],
    ids=["words", "large"],
)
def test_people_keep_their_names_from_detections_to_errors(stages, names):
    lines = (stages.raw / "hall.ndjson").read_text().splitlines()
    rows = [json.loads(line)["track"] for line in lines]
    table = pd.DataFrame(rows)
    table["p"] = [names[number] for number in table["p"]]
    table.to_csv(stages.raw / "hall.csv", index=False)
    columns = {"frame": "f", "person": "p", "x": "x", "y": "y"}
    own = {**OPTIONS, "format": "columns", "columns": columns}
    data, _ = stages.prepare(["hall.csv"], **own)
    made, _ = stages.predict(data, "constant_velocity")
    scored, _ = stages.score(data, made, "displacement.by_scenario")
    files = (data / "tracks.parquet", made / "predictions.parquet", made / "scenarios.parquet")
    for file in (*files, scored / "errors.parquet"):
        people = pd.read_parquet(file)[["person", "person_name"]].drop_duplicates()
        assert set(people["person_name"]) == set(map(str, names)), file
        assert len(people) == 4, file
    scenarios = scenarios_of(made, prepared.read(data))
    assert set(scene_of(scenarios, 0, "hall").person) == set(map(str, names))


def test_from_raw_detections_to_scores(stages):
    names = ["hall.ndjson", "pillars.txt"]
    data, told = stages.prepare(names, **OPTIONS, files=names[:1], map={"discs": "pillars.txt"})
    sizes = {"detections": 400, "people": 4, "seconds": 40, "obstacles": 2}
    assert {name: told[name] for name in sizes} == sizes
    trained, found = stages.calibrate(data, "social_force", trials=6)
    assert found["final_error"] <= found["default_final_error"] and found["trials"] == 6
    assert len(pd.read_parquet(trained / "trials.parquet")) == 6
    made, told = stages.predict(data, "social_force", trained)
    assert told["people"] == 4 * told["scenarios"] and told["episodes"] >= 1
    assert told["neighbours"] == 0  # all are followed
    scored, told = stages.score(data, made, *ALL)
    # The mean over scenarios, from the errors of every person at every step:
    with duckdb.connect() as store:
        ((ade,),) = store.sql(
            f"SELECT avg(one) FROM (SELECT avg(error) AS one FROM '{scored}/errors.parquet' "
            "GROUP BY scenario)"
        ).fetchall()
        leads = store.sql(
            f"SELECT lead, avg(error) FROM '{scored}/errors.parquet' GROUP BY lead ORDER BY lead"
        ).fetchall()
    assert told["values"]["displacement.by_scenario"] == pytest.approx(ade, rel=1e-5)
    by_lead = rows(scored, "displacement.by_person").dropna(subset="lead")
    assert by_lead["value"].tolist() == pytest.approx([v for _, v in leads], rel=1e-5)
    last = told["values"]["final_displacement.by_scenario"]
    assert last == pytest.approx(leads[-1][1], rel=1e-5)  # all people are in all scenarios
    samples = pq.read_table(scored / "sample_scores.parquet").to_pandas()
    assert samples["cluster"].iloc[0] == "episode 0" and samples["clip"].iloc[0].startswith("frame")


def test_several_samples(stages):
    data, _ = stages.prepare(["hall.ndjson"], **OPTIONS, files=["hall.ndjson"])
    made, _ = stages.predict(data, "constant_velocity", predict={"samples": 5})
    scored, told = stages.score(data, made, *ALL, *OF_SEVERAL, statistic="mean_of_members")
    errors = pd.read_parquet(scored / "errors.parquet")
    assert errors["sample"].nunique() == 5
    values = told["values"]
    best = errors.groupby(["scenario", "person", "lead"])["error"].min()
    pointwise = best.groupby("scenario").mean().mean()
    assert values["top_k_displacement.pointwise"] == pytest.approx(pointwise, rel=1e-5)
    each = errors.groupby(["scenario", "person", "sample"])["error"].mean()
    trajectory = each.groupby(["scenario", "person"]).min().groupby("scenario").mean().mean()
    assert values["top_k_displacement.trajectory"] == pytest.approx(trajectory, rel=1e-5)
    mean = errors.groupby("scenario")["error"].mean().mean()
    assert values["displacement.by_scenario"] == pytest.approx(mean, rel=1e-5)
    assert np.isfinite(values["position_nlp.final_gaussian"])
    again, _ = stages.predict(data, "constant_velocity", predict={"samples": 5})
    name = "predictions.parquet"
    assert (again / name).read_bytes() == (made / name).read_bytes()


def test_other_lengths_noise_and_numbers_of_people(stages):
    data, _ = stages.prepare(["hall.ndjson"], **OPTIONS, files=["hall.ndjson"])
    clean, plain = stages.predict(data, "constant_velocity")
    _, shorter = stages.predict(data, "constant_velocity", observe=3)
    assert shorter["scenarios"] == plain["scenarios"] + 3
    noisy, _ = stages.predict(data, "constant_velocity", noise=200)
    _, told = stages.score(data, noisy, "displacement.by_scenario")
    _, before = stages.score(data, clean, "displacement.by_scenario")
    name = "displacement.by_scenario"
    assert told["values"][name] > before["values"][name]
    with pytest.raises(StpError, match="scenario"):
        stages.predict(data, "constant_velocity", people=5)


def test_predictions_of_other_people_are_refused(stages):
    data, _ = stages.prepare(["hall.ndjson"], **OPTIONS, files=["hall.ndjson"])
    made, _ = stages.predict(data, "constant_velocity")
    table = pq.read_table(made / "predictions.parquet")
    pq.write_table(table.slice(1), made / "predictions.parquet")
    with pytest.raises(StpError, match=r"predictions\.parquet"):
        stages.score(data, made, "displacement.by_scenario")


@pytest.mark.sample_bytes
def test_table_iii_through_the_stages(raw_mirror, tmp_path):
    """CVM on ETH: 0.283 as printed, and no interval, since there are only eight episodes."""
    stages = Stages(tmp_path / "store", raw_mirror / "atlas/atlas_dataset/eth_data")
    names = ["biwi_eth.ndjson", "map-eth.png", "H-eth.txt"]
    data, _ = stages.prepare(
        names, **{**OPTIONS, "smooth": 5}, files=names[:1],
        variant={"rows": 8816, "people": 360, "step": 6},
        map={"picture": "map-eth.png", "homography": "H-eth.txt"},
    )  # fmt: skip
    made, told = stages.predict(data, "constant_velocity")
    assert (told["scenarios"], told["people"], told["episodes"]) == (31, 88, 8)
    scored, told = stages.score(data, made, *ALL)
    assert told["values"]["displacement.by_scenario"] == pytest.approx(0.283, abs=0.001)
    assert not (scored / NOTE).exists()
    found = pq.read_table(scored / "scores.parquet").to_pandas()
    ends = found[found["statistic"] == "ci95_low"]
    assert ends["value"].isna().all() and ends["reason"].str.contains("8 clusters").all()


@pytest.mark.parametrize(("asked", "given"), [(3, 3), (3, 2), (2, 3)])
def test_a_predictor_gives_as_many_samples_as_it_is_asked_for(asked, given):
    scenarios = crowd(1, 2, predict=4)
    drawn = np.zeros((given, 1, 2, 4, 2))
    module = SimpleNamespace(predict=lambda *_: drawn)
    place = SimpleNamespace(obstacles=())
    options = MotionOptions(samples=asked)
    if asked == given:
        assert _draw(module, scenarios, 4, None, place, options)[0] is drawn
    else:
        with pytest.raises(StpError, match=f"samples: {given}"):
            _draw(module, scenarios, 4, None, place, options)
