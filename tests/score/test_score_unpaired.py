"""FVD and KVD: which frames count, features with seeded weights, and whole folders of videos."""

import importlib
import json
from functools import cache
from pathlib import Path

import av
import numpy as np
import pytest
import torch
from conventions import convention
from own_data import video
from PIL import Image
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.features.frames import CHOICES
from stp.features.networks import i3d
from stp.metrics import frechet, kvd
from stp.metrics.networks.i3d import I3D, prepare, read_i3d
from stp.metrics.perceptual import Embed
from stp.metrics.set_distance import SetDistance, draw_indices
from stp.plan import weights
from stp.plan.checked_config import CONFIG_FOLDER, check, read_yaml
from stp.plan.metric import Metric
from stp.score import video_folder
from stp.score.unpaired import CONVENTIONS, Options, UnpairedDistances, compare
from stp.score.video_folder import find_clips, read_clip

# Which frames count


def test_only_predicted_frames_or_context_as_well() -> None:
    context, frames = np.zeros((2, 2, 1, 3, 3)), np.ones((2, 14, 1, 3, 3))
    assert CHOICES["predicted_only"](context, frames) is frames
    joined = CHOICES["with_context"](context, frames)
    assert joined[1, :, 0, 0, 0].tolist() == [0] * 2 + [1] * 14


@pytest.mark.parametrize(("frames", "length"), [(4, 10), (9, 10), (10, 10), (14, 14)])
def test_short_clips_are_filled_up_with_grey(frames: int, length: int) -> None:
    clips = np.full((1, frames, 3, 8, 8), 0.25, np.float32)
    actual = CHOICES["zero_padded"](clips[:, :2], clips)
    assert actual.shape == (1, length, 3, 8, 8)
    assert actual.dtype == np.float32
    prepared = prepare(actual)[0, 0, :, 0, 0]
    assert prepared.tolist() == [-0.5] * frames + [0.0] * (length - frames)


def test_fvd_and_kvd_look_at_the_same_features() -> None:
    declared = {
        name: check(Metric, read_yaml(CONFIG_FOLDER / "conventions" / f"{name}.yaml"), name)
        for name in ("fvd", "kvd")
    }
    looks = {
        metric: {name: of.features for name, of in declared[metric].conventions.items()}
        for metric in declared
    }
    assert looks["fvd"] == looks["kvd"]
    for name in CONVENTIONS:
        of_fvd, of_kvd = convention(f"fvd.{name}"), convention(f"kvd.{name}")
        assert isinstance(of_fvd, SetDistance) and isinstance(of_kvd, SetDistance)
        assert of_fvd.distance is frechet.distance
        assert of_kvd.distance is kvd.distance
        seen = looks["fvd"][name]
        assert (seen.name, seen.code) == (f"{name}/i3d.logits", "stp.features.networks.i3d")


def test_what_is_declared_of_features_has_code() -> None:
    networks = weights.read_declared_weights()
    for path in (CONFIG_FOLDER / "conventions").glob("*.yaml"):
        metric = check(Metric, read_yaml(path), str(path))
        for of in metric.conventions.values():
            if (seen := of.features) is None:
                continue
            module = importlib.import_module(seen.code)
            assert seen.layer in module.LAYERS and module.SHORTEST > 0
            assert seen.frames in CHOICES
            assert (seen.network in networks) == (seen.seed is None)
            assert seen.seed is None or hasattr(module, "embed_random")


# Features


@cache
def seeded() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return I3D().state_dict()


@pytest.mark.long(part="suites")
def test_features_are_the_mean_logits_of_each_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(i3d.BATCH_FRAMES, "cpu", 1)  # one clip at a time
    clips = np.random.default_rng(0).random((2, 9, 1, 16, 20), np.float32)
    actual, pooled = (i3d.embed_with(seeded(), "cpu", layer)(clips) for layer in i3d.LAYERS)
    assert actual.shape == (2, 400) and pooled.shape == (2, 1024)
    assert actual.dtype == pooled.dtype == np.float64
    network = read_i3d(seeded())
    with torch.inference_mode():
        both = network(prepare(clips)).double().numpy()
    np.testing.assert_allclose(actual, both, rtol=1e-4, atol=1e-6)
    # logits are linear in what they are made from
    last = network.logits.conv3d
    weight, bias = (value.detach().double().numpy() for value in (last.weight, last.bias))
    linear = pooled @ weight.reshape(400, 1024).T + bias
    np.testing.assert_allclose(actual, linear, rtol=1e-4, atol=1e-6)


# Folders


def toy_embed(clips: np.ndarray) -> np.ndarray:
    """Features that need no network: a few moments of each clip."""
    flat = clips.reshape(len(clips), clips.shape[1], 3, -1).astype(np.float64)
    means = flat.mean(axis=(2, 3))
    return np.stack([flat.mean((1, 2, 3)), flat.std((1, 2, 3)), means[:, 0], means[:, -1]], axis=1)


def clip_of(number: int, frames: int = 10, size: tuple[int, int] = (16, 24)) -> np.ndarray:
    rng = np.random.default_rng(number)
    return rng.integers(0, 256, (frames, *size, 3), dtype=np.uint8)


def write_arrays(folder: Path, numbers: range, **shape: object) -> Path:
    folder.mkdir()
    for number in numbers:
        np.save(folder / f"{number:03}.npy", clip_of(number, **shape))  # type: ignore[arg-type]
    return folder


def moved(clip: np.ndarray) -> np.ndarray:
    """uint8 (T, H, W, C) as a clip is read: (T, C, H, W) in [0, 1]."""
    return clip.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)


def test_arrays_of_any_layout_are_the_same_clip(tmp_path: Path) -> None:
    clip = clip_of(1)
    np.save(tmp_path / "a.npy", clip)
    np.save(tmp_path / "b.npy", clip.transpose(0, 3, 1, 2))
    np.save(tmp_path / "c.npy", (clip / 255).astype(np.float32))
    np.savez(tmp_path / "d.npz", clip)
    np.savez_compressed(tmp_path / "e.npz", video=np.stack([clip, clip]))
    actual = find_clips(tmp_path)
    assert len(actual) == 6
    for one in actual:
        np.testing.assert_allclose(read_clip(one), moved(clip), atol=1e-7)


def test_grey_arrays(tmp_path: Path) -> None:
    grey = clip_of(2)[..., 0]
    np.save(tmp_path / "one.npy", grey)
    np.save(tmp_path / "two.npy", np.stack([grey, grey + 0]))
    clips = find_clips(tmp_path)
    assert [str(clip).rpartition("/")[2] for clip in clips] == [
        "one.npy", "two.npy, clip 0", "two.npy, clip 1",
    ]  # fmt: skip
    for clip in clips:
        np.testing.assert_array_equal(read_clip(clip)[:, 0], grey.astype(np.float32) / 255)


def test_masks_are_black_and_white(tmp_path: Path) -> None:
    mask = clip_of(2)[..., 0] > 127
    np.save(tmp_path / "mask.npy", mask)
    np.testing.assert_array_equal(read_clip(*find_clips(tmp_path))[:, 0], mask.astype(np.float32))


def test_pictures_and_films(tmp_path: Path) -> None:
    clip = clip_of(3)
    (tmp_path / "a").mkdir()
    for t, frame in enumerate(clip):
        Image.fromarray(frame).save(tmp_path / "a" / f"{t:02}.png")
    with av.open(str(tmp_path / "b.mkv"), "w") as container:
        stream = container.add_stream("ffv1", rate=10)  # lossless
        stream.width, stream.height, stream.pix_fmt = 24, 16, "bgr0"
        for frame in clip:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    for one in find_clips(tmp_path):
        np.testing.assert_array_equal(read_clip(one), moved(clip))
        np.testing.assert_array_equal(read_clip(one, 3, 2), moved(clip)[:5:2])


def test_pictures_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    clip = clip_of(4, frames=12)
    (tmp_path / "a").mkdir()
    for t, frame in enumerate(clip):
        Image.fromarray(frame).save(tmp_path / "a" / f"frame{t}.png")
    np.testing.assert_array_equal(read_clip(*find_clips(tmp_path)), moved(clip))


def test_grey_pictures_of_16_bits_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    grey = np.full((4, 4), 1000, np.uint16)
    Image.fromarray(grey).save(tmp_path / "a" / "0.png")
    with pytest.raises(StpError, match=r"0\.png.*I;16"):
        read_clip(*find_clips(tmp_path))


def test_films_that_are_cut_off_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.mkv"
    video(path, list(range(40, 80)), codec="mpeg4")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StpError, match=r"a\.mkv"):
        read_clip(*find_clips(tmp_path))


def test_gifs(tmp_path: Path) -> None:
    levels = [0, 80, 160, 240]
    pictures = [Image.new("RGB", (24, 16), (v, v, v)) for v in levels]
    pictures[0].save(tmp_path / "a.gif", save_all=True, append_images=pictures[1:], duration=100)
    actual = read_clip(*find_clips(tmp_path))
    assert actual.shape == (4, 3, 16, 24)
    np.testing.assert_allclose(actual[:, :, 8, 8], np.repeat(np.array(levels)[:, None], 3, 1) / 255)


def test_two_folders_are_compared_at_equal_numbers(tmp_path: Path) -> None:
    real = write_arrays(tmp_path / "real", range(8))
    generated = write_arrays(tmp_path / "generated", range(100, 105))
    actual = compare(real, generated, Options(seed=3), toy_embed)
    assert (actual.n, actual.available) == (5, (8, 5))
    assert (actual.frames, actual.height, actual.width) == (10, 16, 24)
    drawn = [find_clips(real)[i] for i in draw_indices(8, 5, 3)]
    x = toy_embed(np.stack([read_clip(clip) for clip in drawn]))
    y = toy_embed(np.stack([read_clip(clip) for clip in find_clips(generated)]))
    assert actual.fvd == frechet.distance(x, y)
    assert actual.kvd == kvd.distance(x, y)


def compared(tmp_path: Path, embed: Embed = toy_embed, **options: object) -> UnpairedDistances:
    real = write_arrays(tmp_path / "real", range(3), frames=13)
    generated = write_arrays(tmp_path / "generated", range(9, 12), frames=13)
    return compare(real, generated, Options(**options), embed)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "frames"),
    [
        ({}, [*range(13)]),
        ({"frames": 10}, [*range(10)]),
        ({"context": 2}, [*range(2, 13)]),
        ({"context": 2, "convention": "with_context"}, [*range(13)]),
        ({"frames": 5, "interval": 3, "convention": "zero_padded"}, [0, 3, 6, 9, 12] + [None] * 5),
    ],
)
def test_options_choose_frames(tmp_path: Path, options: dict, frames: list) -> None:
    looked_at = []

    def embed(clips: np.ndarray) -> np.ndarray:
        looked_at.append(clips)
        return toy_embed(clips)

    actual = compared(tmp_path, embed, **options)
    assert actual.frames == len(frames)
    whole = moved(clip_of(0, 13))
    grey = np.full_like(whole[0], 0.5)
    expected = np.stack([grey if t is None else whole[t] for t in frames])
    np.testing.assert_array_equal(looked_at[0][0], expected)


def test_what_the_number_of_clips_does_is_said(tmp_path: Path) -> None:
    def seen(clips: np.ndarray) -> np.ndarray:
        return toy_embed(clips)[:, :2]

    real = write_arrays(tmp_path / "real", range(24))
    same = write_arrays(tmp_path / "same", range(24, 48))
    actual = compare(real, same, Options(extrapolate=True), seen)
    assert actual.resolution is not None and actual.resolution.n == 12
    assert actual.resolution.is_hidden
    assert actual.at_infinite_n is not None
    assert abs(actual.at_infinite_n.value) < actual.fvd + 3 * actual.at_infinite_n.standard_error
    dark = tmp_path / "dark"
    dark.mkdir()
    for number in range(24):
        np.save(dark / f"{number:03}.npy", clip_of(number) // 2)
    darker = compare(real, dark, Options(), seen)
    assert darker.resolution is not None and not darker.resolution.is_hidden
    assert darker.at_infinite_n is None and darker.why_not == ""
    few = compare(real, dark, Options(clips=12, extrapolate=True), seen)
    assert few.at_infinite_n is None and "20" in few.why_not


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"frames": 14}, r"13 frames(.|\n)*14"),
        ({"frames": 8}, r"8 frames(.|\n)*9"),
        ({"context": 5}, r"8 frames(.|\n)*9"),
        ({"frames": 5, "interval": 4}, "4 frames at interval 4"),
        ({"clips": 4}, r"--n 4(.|\n)*3"),
        ({"clips": 1}, r"1 clip(.|\n)*2"),
        ({"convention": "i3d"}, "predicted_only, with_context"),
        ({"context": -1}, "context"),
        ({"interval": 0}, "interval"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path: Path, options: dict, said: str) -> None:
    with pytest.raises(StpError, match=said):
        compared(tmp_path, **options)


def test_clips_of_another_length_or_size_are_refused(tmp_path: Path) -> None:
    real = write_arrays(tmp_path / "real", range(3))
    longer = write_arrays(tmp_path / "longer", range(3), frames=12)
    larger = write_arrays(tmp_path / "larger", range(3), size=(32, 24))
    with pytest.raises(StpError, match=r"12 (.|\n)*--frames 10"):
        compare(real, longer, Options(), toy_embed)
    assert compare(real, longer, Options(frames=10), toy_embed).n == 3
    with pytest.raises(StpError, match=r"24 x 32.*24 x 16"):
        compare(real, larger, Options(), toy_embed)


def test_features_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StpError, match="NaN"):
        compared(tmp_path, lambda clips: toy_embed(clips) * np.nan)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.npy", np.full((10, 8, 8), 2.0), r"in \[0, 1\]"),
        ("a.npy", np.full((10, 8, 8), -1, np.int16), "-1 .*-1"),
        ("a.npy", np.full((10, 8, 8), np.nan), "nan"),
        ("a.npy", np.zeros((3, 10, 8, 8, 5)), "C = 1 or 3"),
        ("a.mp4", b"no film", r"a\.mp4"),
        ("a.npy", b"no array", r"a\.npy"),
        ("a.txt", b"", "test_files_that"),
    ],
)
def test_files_that_are_no_clips_are_refused(tmp_path: Path, name, content, said) -> None:
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        np.save(tmp_path / name, content)
    with pytest.raises(StpError, match=said):
        read_clip(find_clips(tmp_path)[0])


# The command


def run(*arguments: object, folder: Path) -> object:
    return CliRunner().invoke(app, ["videos", "fvd", *map(str, arguments), "--folder", str(folder)])


def two_clips(folder: Path) -> None:
    for number in range(2):
        np.save(folder / f"{number}.npy", np.full((10, 16, 16), number, np.uint8))


def test_folders_are_looked_at_before_weights_are_asked_for(tmp_path: Path) -> None:
    actual = run(tmp_path, tmp_path, folder=tmp_path)
    assert isinstance(actual.exception, StpError)
    assert str(tmp_path) in actual.exception.what


def test_without_weights_the_command_says_how_to_get_them(tmp_path: Path) -> None:
    two_clips(tmp_path)
    actual = run(tmp_path, tmp_path, folder=tmp_path)
    assert isinstance(actual.exception, StpError)
    assert "i3d_torchscript.pt" in actual.exception.expected
    assert "stp list weights --fetch i3d" in actual.exception.remedy


def test_weights_with_other_bytes_are_refused(tmp_path: Path) -> None:
    torch.save(seeded(), tmp_path / "rgb_imagenet.pt")
    two_clips(tmp_path)
    actual = run(tmp_path, tmp_path, folder=tmp_path)
    assert isinstance(actual.exception, StpError)
    assert "rgb_imagenet.pt" in actual.exception.what


def test_the_command_prints_what_a_reader_needs(tmp_path: Path, monkeypatch) -> None:
    """With seeded weights that are declared for this test, and features of a toy."""
    import hashlib

    from stp.plan import weights

    torch.save(seeded(), tmp_path / "own.pt")
    sha256 = hashlib.sha256((tmp_path / "own.pt").read_bytes()).hexdigest()
    text = f"i3d: {{title: seeded, licence: none, files: [{{file: own.pt, sha256: {sha256}}}]}}"
    (tmp_path / "weights.yaml").write_text(text)
    monkeypatch.setattr(weights.read_declared_weights, "__defaults__", (tmp_path / "weights.yaml",))
    given = []
    monkeypatch.setattr(i3d, "embed", lambda weights, layer: given.append(weights) or toy_embed)
    real = write_arrays(tmp_path / "real", range(3))
    generated = write_arrays(tmp_path / "generated", range(9, 11))

    actual = run(real, generated, "--frames", 9, folder=tmp_path)
    assert actual.exit_code == 0, actual.output
    for part in ("FVD ", "KVD ", sha256, "predicted_only", "24 x 16"):
        assert part in actual.output

    values = json.loads(
        run(real, generated, "--frames", 9, "--format", "json", folder=tmp_path).stdout
    )
    assert given[0].path == tmp_path / "own.pt"
    assert given[0].declared == {"sha256": sha256}
    drawn = draw_indices(3, 2)
    x = toy_embed(np.stack([moved(clip_of(int(i), 10)[:9]) for i in drawn]))
    y = toy_embed(np.stack([moved(clip_of(i, 10)[:9]) for i in (9, 10)]))
    assert values["fvd"] == pytest.approx(frechet.distance(x, y))
    assert values["n"] == 2
    assert values["weights_sha256"] == sha256


def test_hidden_files_are_no_clips(tmp_path: Path) -> None:
    for clip in ("a", ".thumbnails"):
        for frame in range(3):
            path = tmp_path / clip / f"{frame}.png"
            path.parent.mkdir(exist_ok=True)
            Image.new("L", (8, 8), 10 * frame).save(path)
    (tmp_path / "a" / "._0.png").write_bytes(b"what a Macintosh leaves")
    (tmp_path / "._b.mp4").write_bytes(b"what a Macintosh leaves")
    (clip,) = find_clips(tmp_path)
    assert len(read_clip(clip)) == 3


@pytest.mark.parametrize(("names", "said"), [((), "none"), (("a", "b"), "a, b")])
def test_a_file_of_arrays_holds_one(tmp_path: Path, names: tuple[str, ...], said: str) -> None:
    path = tmp_path / "clips.npz"
    np.savez(path, **{name: np.zeros((2, 3, 4, 4)) for name in names})
    with pytest.raises(StpError, match=rf"clips\.npz.*{said}"):
        video_folder.read_array(path)
    np.savez(path, one=np.ones((2, 3, 4, 4)))
    assert video_folder.read_array(path).shape == (2, 3, 4, 4)
