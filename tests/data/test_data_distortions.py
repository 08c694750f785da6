"""The eight distortions of section 4.1, on clips whose frames can be told apart."""

from types import SimpleNamespace

import numpy as np
import pytest

from stp.core.errors import StpError
from stp.data import distortions
from stp.data.distortions import DISTORTIONS, Distorter
from stp.predict.sources.distorted_clips import DistortedClips

N, T, C, SIDE = 7, 16, 3, 20
NOISE = "gaussian_noise"
TEMPORAL = [name for name, of in DISTORTIONS.items() if of.is_temporal]


@pytest.fixture(scope="module")
def numbered() -> np.ndarray:
    """Frame t of clip i is everywhere i / 8 + t / 128: exact, and different from all others."""
    values = np.arange(N)[:, None] / 8 + np.arange(T) / 128
    return np.broadcast_to(values[:, :, None, None, None], (N, T, C, SIDE, SIDE)).astype(np.float32)


@pytest.fixture(scope="module")
def light() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.2, 0.8, (2, 4, C, SIDE, SIDE)).astype(np.float32)


def distort(
    clips: np.ndarray, name: str, intensity: float, seed: int = 0, **chosen: str
) -> np.ndarray:
    """Distort a set of clips, (N, T, C, H, W), among themselves."""
    distorter = Distorter(name, intensity, seed, **chosen)
    of_each = [clips[distorter.partners(len(clips), i)] for i in range(len(clips))]
    return np.stack([distorter(i, clips[i], tuple(others)) for i, others in enumerate(of_each)])


def shown(clips: np.ndarray) -> np.ndarray:
    """Clip and time of each frame of `numbered`, int (N, T, 2)."""
    assert (clips == clips[..., :1, :1, :1]).all()
    number = np.rint(clips[..., 0, 0, 0] * 128).astype(int)
    return np.stack([number // 16, number % 16], axis=-1)


@pytest.mark.parametrize("name", DISTORTIONS)
def test_what_comes_out_depends_on_seed_and_clip_alone(light: np.ndarray, name: str) -> None:
    intensity = 2 if name in distortions.COUNTED else 0.5
    once = distort(light, name, intensity, seed=3)
    assert once.shape == light.shape and once.dtype == np.float32
    assert np.array_equal(once, distort(light, name, intensity, seed=3))
    if not DISTORTIONS[name].others(intensity):
        alone = distortions.Distorter(name, intensity, 3)(1, light[1])
        assert np.array_equal(once[1], alone)
    draws = name not in ("gaussian_blur", "interleaving", "switching")
    assert np.array_equal(once, distort(light, name, intensity, seed=4)) != draws


@pytest.mark.parametrize("share", [0.15, 0.75])
@pytest.mark.parametrize(("size", "pixels"), [("area", lambda s: s), ("side", lambda s: s**2)])
def test_a_rectangle_has_its_share_of_the_frame(light, share, size, pixels) -> None:
    black = (distort(light, "black_rectangle", share, size=size) == 0).all(axis=2)
    # Sides are rounded to whole pixels: at most half a pixel off on each side.
    allowed = ((np.sqrt(pixels(share)) * SIDE + 0.5) / SIDE) ** 2 - pixels(share)
    assert np.abs(black.mean(axis=(2, 3)) - pixels(share)).max() <= allowed
    moved = distort(light, "black_rectangle", share, size=size, place="clip") == 0
    assert (moved == moved[:, :1]).all() and not (black == black[:, :1]).all()


def test_blur_keeps_what_is_flat_and_spreads_a_point_as_a_gaussian() -> None:
    flat = np.full((1, 1, 1, 9, 9), 0.5, np.float32)
    for border in ("reflect", "nearest"):
        assert np.allclose(distort(flat, "gaussian_blur", 2, border=border), 0.5)
    assert distort(flat, "gaussian_blur", 2, border="constant")[0, 0, 0, 0, 0] < 0.4  # black around
    point = np.zeros((1, 2, 1, 41, 41), np.float32)
    point[0, 0, 0, 20, 20] = 1
    spread = distort(point, "gaussian_blur", 2)
    ratio = spread[0, 0, 0, 20, 22] / spread[0, 0, 0, 20, 20]
    assert ratio == pytest.approx(np.exp(-(2**2) / (2 * 2**2)), rel=1e-4)
    assert not spread[0, 1].any()  # the next frame has nothing of it


def test_noise_is_mixed_in_and_clipped(light: np.ndarray) -> None:
    plain = distort(light, NOISE, 0.3, range="unclipped")
    noise = (plain - 0.7 * light) / 0.3
    assert abs(noise.mean()) < 0.03 and abs(noise.std() - 1) < 0.03
    signed = distort(light, NOISE, 0.3, range="unclipped", scale="signed")
    assert np.allclose((signed - 0.7 * light) / 0.3, (noise + 1) / 2, atol=1e-5)
    assert np.array_equal(distort(light, NOISE, 0.3), plain.clip(0, 1))


def test_salt_and_pepper_fall_alike_on_a_share_of_the_pixels(light: np.ndarray) -> None:
    found = distort(light, "salt_and_pepper", 0.4)
    salt, pepper = (found == 1), (found == 0)
    # 3,200 pixels of 2 clips: 4 standard deviations of a share are below 0.035
    assert abs((salt | pepper).mean() - 0.4) < 0.035 and abs(salt.mean() - pepper.mean()) < 0.035
    assert (salt == salt[:, :, :1]).all() and np.array_equal(
        found[~(salt | pepper)], light[~(salt | pepper)]
    )
    each = distort(light, "salt_and_pepper", 0.4, of="channel") == 1
    assert not (each == each[:, :, :1]).all()


@pytest.mark.parametrize("name", ["local_swap", "global_swap"])
def test_swaps_move_frames_within_their_clip(numbered: np.ndarray, name: str) -> None:
    one = shown(distort(numbered, name, 1))
    assert (one[..., 0] == np.arange(N)[:, None]).all()
    moved = [np.flatnonzero(times != np.arange(T)) for times in one[..., 1]]
    assert all(len(m) == 2 for m in moved)
    if name == "local_swap":
        assert all(m[1] == m[0] + 1 for m in moved)
    else:
        assert any(m[1] > m[0] + 1 for m in moved)
    many = shown(distort(numbered, name, 24))
    assert (np.sort(many[..., 1]) == np.arange(T)).all()
    assert (many[..., 1][:, [0, -1]] != [0, T - 1]).any()
    kept = shown(distort(numbered, name, 24, ends="kept"))[..., 1]
    assert (kept[:, [0, -1]] == [0, T - 1]).all() and (kept != np.arange(T)).any()


def test_interleaving_shows_clips_in_turn(numbered: np.ndarray) -> None:
    found = shown(distort(numbered, "interleaving", 3))
    for own, clip in enumerate(found):
        assert clip[0, 0] == own and len(set(clip[:, 0])) == 3
        assert (clip[3:, 0] == clip[:-3, 0]).all() and (clip[:, 1] == np.arange(T)).all()
    assert sorted(found[:, 1, 0]) == list(range(N))  # each clip is the second one of one other
    later = shown(distort(numbered, "interleaving", 3, time="own"))
    assert (later[..., 1] == np.arange(T) // 3).all()


def test_switching_shows_another_clip_after_some_frames(numbered: np.ndarray) -> None:
    found = shown(distort(numbered, "switching", 5))
    assert (found[:, :5, 0] == np.arange(N)[:, None]).all()
    assert (found[:, 5:, 0] == found[:, 5:6, 0]).all() and (found[:, 5, 0] != np.arange(N)).all()
    assert (found[..., 1] == np.arange(T)).all()
    assert shown(distort(numbered, "switching", 5, time="own"))[0, :, 1].tolist() == [
        *range(5),
        *range(11),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("blur", 1), "distortion .*blur"),
        ((NOISE, 1.5), "1.5"),
        ((NOISE, 0), "0"),
        (("gaussian_blur", 0), "0"),
        (("local_swap", 0.5), "0.5"),
        (("local_swap", 0), "0"),
        (("interleaving", 8), "8 .* 7"),
    ],
)
def test_what_cannot_be_is_refused(numbered: np.ndarray, given, message: str) -> None:
    with pytest.raises(StpError, match=message):
        distort(numbered, *given)
    with pytest.raises(StpError, match="gaussian_blur"):
        distort(numbered, "gaussian_blur", 1, place="clip")


@pytest.mark.parametrize("intensity", [0, 4, 5])
def test_an_intensity_that_a_distortion_does_not_have_is_refused(intensity):
    clips = SimpleNamespace(context=0, shape=(3, 8, 8), folder="bair")
    given = SimpleNamespace(data=clips, clips=[0, 1], intensity=3)
    assert list(DistortedClips(given, NOISE, [0.1, 0.2, 0.3], 0).rows) == [0, 1]
    given.intensity = intensity
    with pytest.raises(StpError, match=f" {intensity} .*{NOISE}") as error:
        DistortedClips(given, NOISE, [0.1, 0.2, 0.3], 0)
    assert "1 to 3" in str(error.value)
