"""Drawings of people: which lines are drawn, where, and with which names."""

import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.patches import Ellipse
from parts import long_except
from PIL import Image

from stp.core.errors import StpError
from stp.page.figure_style import Style, new_figure
from stp.render.pictures import people as drawing
from stp.render.pictures import tracks as tracks_overview
from stp.render.pictures.scene import Mixture, Scene, extent_of, scene_of
from stp.tracks import generators
from stp.tracks.obstacles import cells, discs
from stp.tracks.prepared import PreparedTracks
from stp.tracks.scenarios import extract
from stp.tracks.tracks import join_recordings

OBSERVED, FUTURE = 5, 4


@pytest.fixture
def scene() -> Scene:
    """Two people who cross; a model that is right, and one of three samples beside the truth."""
    scenarios = extract(
        generators.crossing().decimated(4), observe=OBSERVED, predict=FUTURE, protocol="strict"
    )
    beside = scenarios.future + np.array([0.3, 0.4])
    samples = np.stack([beside, beside + np.array([0, 0.1]), beside - np.array([0, 0.1])])
    wall = cells(np.column_stack([np.arange(-50, 50) * 0.1, np.full(100, 2.0)]))
    predicted = [("right", scenarios.future), ("beside", samples)]
    goals = np.array([[1.0, 1.0], [0, -271090]])  # as in the file of HOTEL
    return scene_of(scenarios, 1, "crossing", predicted, wall, goals, ["Synthetic bytes."])


def panel(scene: Scene, **more):
    axes = new_figure(4, 3).subplots()
    drawing.draw(axes, scene, **more)
    return axes


def lines(axes, label: str) -> list[np.ndarray]:
    return [line.get_xydata() for line in axes.get_lines() if line.get_label() == label]


def collection(axes, label: str):
    (found,) = [one for one in axes.collections if one.get_label() == label]
    return found


def test_each_person_has_an_observed_a_true_and_a_predicted_path(scene):
    axes = panel(scene)
    np.testing.assert_array_equal(lines(axes, "_observed"), scene.observed)
    whole = np.concatenate([scene.observed[:, -1:], scene.future], axis=1)
    np.testing.assert_array_equal(lines(axes, "_true"), whole)
    np.testing.assert_array_equal(lines(axes, "_right"), whole)  # it begins where people are
    mean = scene.predicted[1].path
    np.testing.assert_allclose(np.array(lines(axes, "_beside"))[:, 1:], mean)
    assert len(collection(axes, "_samples of beside").get_segments()) == 3 * 2  # thin lines
    assert not [one for one in axes.collections if one.get_label() == "_samples of right"]
    assert [text.get_text() for text in axes.texts] == ["1", "2"]


def test_a_map_is_as_wide_as_high_and_holds_all_that_moves(scene):
    axes = panel(scene)
    assert axes.get_aspect() == 1
    left, right, bottom, top = scene.extent
    assert axes.get_xlim() == (left, right) and axes.get_ylim() == (bottom, top)
    moving = np.concatenate([scene.observed, scene.future], axis=1).reshape(-1, 2)
    np.testing.assert_array_less([left, bottom], moving.min(axis=0) - 0.99)
    near = collection(axes, "_obstacles").get_offsets()
    assert 0 < len(near) < 100 and (near[:, 0] > left - 0.1).all()
    assert axes.get_xlabel() == "x [m]"
    assert extent_of(np.array([[3.0, 4.0]])) == (0.5, 5.5, 1.5, 6.5)  # of who stands still


def test_errors_in_the_legend_are_means_over_samples(scene):
    look = drawing.style_of(["right", "beside"])
    names = [line.get_label() for line in drawing.legend_of(scene, look)]
    distances = [np.hypot(0.3, y) for y in (0.4, 0.5, 0.3)]
    assert names[2:4] == ["right, ADE 0.00 m", f"beside, ADE {np.mean(distances):.2f} m"]
    assert names[:2] == ["observed", "true"] and names[4:] == ["obstacle", "goal"]


def test_a_moment_draws_no_later_position(scene):
    axes = panel(scene, upto=-2)
    assert [len(path) for path in lines(axes, "_observed")] == [OBSERVED - 2] * 2
    assert not lines(axes, "_true") and not lines(axes, "_right")
    axes = panel(scene, upto=1)
    assert [len(path) for path in lines(axes, "_true")] == [2, 2]
    assert [len(path) for path in lines(axes, "_right")] == [2, 2]
    assert sum(isinstance(one, LineCollection) for one in axes.collections) == 2  # faint, samples


def test_models_stand_side_by_side_or_over_one_another(scene):
    overlay, side = drawing.figure_of(scene), drawing.figure_of(scene, "side")
    assert len(overlay.axes) == 1 and len(side.axes) == 2
    assert [axes.get_title().split("\n")[0] for axes in side.axes] == ["right", "beside"]
    assert lines(side.axes[0], "_right") and not lines(side.axes[0], "_beside")
    alone = Scene("nobody", scene.person, scene.observed, scene.future, scene.dt)
    with pytest.raises(StpError, match="side"):
        drawing.figure_of(alone, "side")


def test_an_ellipse_is_two_standard_deviations():
    turn = np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    covariance = turn @ np.diag([0.25, 0.01]) @ turn.T  # 0.5 m along the diagonal, 0.1 m across
    shape = drawing.ellipse(np.array([1.0, 2.0]), covariance, Style("#0072b2", "-", "o"), 0.5)
    assert isinstance(shape, Ellipse) and shape.center == (1, 2)
    assert (shape.width, shape.height) == pytest.approx((2.0, 0.4))
    assert shape.angle % 180 == pytest.approx(45)


def test_a_mixture_has_an_ellipse_for_each_component_and_person(scene):
    shape = (2, FUTURE, 3)
    means = np.repeat(scene.future[:, :, None], 3, axis=2)
    spread = np.broadcast_to(np.eye(2) * 0.04, (*shape, 2, 2))
    one = replace(scene.predicted[0], mixture=Mixture(np.full(shape, 1 / 3), means, spread))
    axes = panel(replace(scene, predicted=[one]))
    assert len(axes.patches) == 2 * 3
    assert {patch.center for patch in axes.patches} == {tuple(p) for p in scene.future[:, -1]}


@pytest.mark.parametrize(
    "name", long_except(["scene.gif"], ["scene.gif", "scene.mp4"], part="kinds")
)
def test_an_animation_has_a_picture_for_each_position(scene, tmp_path, name):
    drawing.write(scene, tmp_path / name)
    if name.endswith("gif"):
        with Image.open(tmp_path / name) as found:
            assert found.n_frames == OBSERVED + FUTURE and found.width % 2 == found.height % 2 == 0
    else:
        import av

        with av.open(str(tmp_path / name)) as container:
            assert sum(1 for _ in container.decode(video=0)) == OBSERVED + FUTURE


def test_pictures_say_whose_bytes_they_are_and_repeat(scene, tmp_path):
    for suffix in (".svg", ".pdf", ".png"):
        one, two = (tmp_path / f"{n}{suffix}" for n in (1, 2))
        for out in (one, two):
            drawing.write(scene, out)
        assert one.read_bytes() == two.read_bytes()
    words = re.sub("<[^>]*>", " ", (tmp_path / "1.svg").read_text())
    assert "Synthetic bytes." in words and "ADE" in words
    with pytest.raises(StpError, match=r"\.bmp"):
        drawing.write(scene, tmp_path / "scene.bmp")


def test_an_overview_has_all_tracks(tmp_path):
    tracks, pillar = generators.around_an_obstacle(people=3)
    about = {"dataset": "pillar", "source": "synthetic", "release": "r", "calibration": 0.2}
    place = PreparedTracks(tracks, pillar, about)
    upper, lower, bar = tracks_overview.overview(place).axes
    paths = collection(upper, "_tracks").get_segments()
    assert len(paths) == 3 and sum(map(len, paths)) == len(tracks)
    speed = collection(upper, "_tracks").get_array()
    assert (speed > 1).all() and (speed < 2).all()  # 1 m/s straight on, and some more aside
    (disc,) = collection(upper, "_obstacles").get_offsets()
    assert tuple(disc) == (8, 5) and bar.get_ylabel() == "mean speed [m/s]"
    assert lower.get_ylabel() == "people"
    out = tmp_path / "walk.gif"
    slow = tracks.decimated(16)
    tracks_overview.write_place(PreparedTracks(slow, pillar, about), out)
    with Image.open(out) as found:  # of 20.8 s, the 20 s with most detections
        assert (
            found.n_frames == round(tracks_overview.WALKED / slow.dt) < len(np.unique(slow.frame))
        )


def test_a_person_of_two_recordings_has_two_tracks():
    once, nothing = generators.around_an_obstacle(people=1)
    away = replace(once, position=once.position + 50)
    tracks = join_recordings([once, away])
    about = {"dataset": "two", "source": "synthetic", "release": "r", "calibration": 0.2}
    about["recordings"] = [len(once), len(away)]
    figure = tracks_overview.overview(PreparedTracks(tracks, nothing, about))
    drawn = collection(figure.axes[0], "_tracks")
    assert [len(path) for path in drawn.get_segments()] == about["recordings"]
    assert (drawn.get_array() < 2).all()  # not the 50 m from one recording to the other


def test_discs_have_their_own_size():
    axes = new_figure(4, 3).subplots()
    drawing.draw_place(
        axes, discs(np.array([[1.0, 1], [9, 9]]), np.array([0.5, 2])), None, (0, 4, 0, 4)
    )
    (drawn,) = axes.collections
    assert isinstance(drawn, EllipseCollection) and len(drawn.get_offsets()) == 1
    assert drawn.get_widths().tolist() == [1.0]  # metres across; the other one is elsewhere
