"""Detections in TrajNet++ ndjson, and the rate that its scenes state."""

import json

import pytest

from stp.core.errors import StpError
from stp.prepare.track_readers import trajnetpp


def test_trajnetpp_leaves_out_what_is_no_detection(tmp_path):
    path = tmp_path / "eth.ndjson"
    lines = [
        {"scene": {"id": 0, "p": 1, "s": 1, "e": 2, "fps": 2.5}},
        {"track": {"f": 803, "p": 1, "x": 11.07, "y": 4.06}},
        {"track": {"f": 809, "p": 1, "x": 12, "y": 4, "prediction_number": 0, "scene_id": 0}},
        {"track": {"f": 809, "p": 2, "x": -0.5, "y": 5}},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    tracks = trajnetpp.read(path, step=6, dt=0.4)
    assert tracks.frame.tolist() == [803, 809]
    assert tracks.person.tolist() == [1, 2]
    assert tracks.position.tolist() == [[11.07, 4.06], [-0.5, 5]]


@pytest.mark.parametrize("line", ["{", '{"track": {"f": 1, "p": 2, "x": 3}}', "[1, 2]"])
def test_a_damaged_line_is_named(tmp_path, line):
    path = tmp_path / "eth.ndjson"
    path.write_text('{"track": {"f": 1, "p": 1, "x": 0, "y": 0}}\n' + line)
    with pytest.raises(StpError, match=r"eth\.ndjson: line 2"):
        trajnetpp.read(path, step=6, dt=0.4)


@pytest.mark.parametrize(
    ("scenes", "rate"),
    [
        (['{"id": 0, "fps": 2.5}', '{"id": 1, "fps": 2.5}'], 2.5),
        (['{"fps": 2.5}', '{"fps": 5}'], None),
        (['{"fps": 0}'], None),
        (['{"fps": Infinity}'], None),
        (['{"fps": "fast"}'], None),
        (['{"id": 1}'], None),
        ([], None),
    ],
)
def test_the_rate_is_that_of_all_scenes(tmp_path, scenes, rate):
    path = tmp_path / "eth.ndjson"
    track = '{"track": {"f": 1, "p": 1, "x": 0, "y": 0}}'
    path.write_text("\n".join([track, *(f'{{"scene": {scene}}}' for scene in scenes)]))
    assert trajnetpp.positions_per_second(path) == rate
