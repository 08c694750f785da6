"""Pictures of clips: what is in them, and that they are pictures."""

import av
import numpy as np
import pytest
import zarr
from parts import long_except
from PIL import Image
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.data.zarr_write import create_array
from stp.inspect.pictures import show
from stp.render.pictures import drawing
from stp.render.pictures import movie_files as movie
from stp.render.pictures.maps import coastline, latitude, longitude, ticks
from stp.render.pictures.prepared import choose, sheet_of, variables_of

LAT, LON = np.array([-30.0, 0.0, 30.0]), np.array([170.0, 180.0, 190.0, 200.0])
GRID = [
    ("lat", "y", LAT, {"units": "degrees_north"}),
    ("lon", "x", LON, {"units": "degrees_east"}),
    (
        "time",
        "frame",
        np.arange(20) * 6,
        {"units": "hours since 2016-01-01", "calendar": "standard"},
    ),
]
FLOWS = {"variables": ["inflow", "outflow"], "units": "count"}


def field(channels):
    """Every value says where it is: frame, channel, y, x."""
    values = np.arange(20 * channels * 12, dtype=np.float32)
    return values.reshape(20, channels, 3, 4) - 100


def test_a_video_sheet_has_the_frames_of_the_clips(tmp_path, write_prepared):
    prepared = Prepared(write_prepared(tmp_path, stored_scale=1 / 255, fps=25))
    sheet = sheet_of(prepared, "kth", "test", 4)
    assert "2 of 2" in sheet.title and "synthetic" in sheet.title
    assert sheet.steps.tolist() == [-1, 0, 1, 2] and sheet.seconds == 1 / 25
    (group,) = sheet.groups
    assert group.is_picture and [panel.label for panel in group.panels] == ["d", "e"]
    np.testing.assert_array_equal(group.panels[1].frames, prepared.clips("test").read([1])[0, :, 0])
    assert drawing.step_text(sheet, 0) == "-1\n-0.04 s" and drawing.step_text(sheet, 3)[:2] == "+2"
    assert sheet.lat is None


def test_clips_are_spread_over_the_split(tmp_path, write_prepared):
    rows = [("test", f"clip-{i}", i, 1, 4, "v", 0) for i in range(10)]
    sheet = sheet_of(Prepared(write_prepared(tmp_path, rows=rows)), "kth", "test", 4)
    assert [panel.label for panel in sheet.groups[0].panels] == [f"clip-{i}" for i in (0, 3, 6, 9)]


def test_colours_stay_colours(tmp_path, write_prepared):
    frames = np.zeros((20, 3, 6, 8), np.uint8)
    frames[:, 1] = 255
    sheet = sheet_of(
        Prepared(write_prepared(tmp_path, frames=frames, stored_scale=1 / 255)), "bair", "test", 1
    )
    assert sheet.groups[0].panels[0].frames.shape == (4, 6, 8, 3)
    assert sheet.groups[0].panels[0].frames[0, 0, 0].tolist() == [0, 1, 0]
    drawing.contact_sheet(sheet, tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    assert (pixels == [0, 255, 0]).all(axis=1).mean() > 0.05


def test_each_flow_has_rows_and_a_scale_of_its_own(tmp_path, write_prepared):
    prepared = Prepared(write_prepared(tmp_path, frames=field(2), **FLOWS))
    sheet = sheet_of(prepared, "taxibj", "test", 2)
    assert [(group.name, group.units) for group in sheet.groups] == [
        ("inflow", "count"),
        ("outflow", "count"),
    ]
    np.testing.assert_array_equal(sheet.groups[1].panels[0].frames, field(2)[12:16, 1])
    unnamed = write_prepared(tmp_path / "unnamed", frames=field(2))
    assert variables_of(Prepared(unnamed)) == ["channel 0", "channel 1"]
    only = sheet_of(prepared, "taxibj", "test", 2, "outflow")
    assert [group.name for group in only.groups] == ["outflow"] and "1 of 2" in only.title


def test_maps_have_coordinates_and_times(tmp_path, write_prepared):
    units = ("channel_units", "channel", np.array(["K"], object), {})
    prepared = Prepared(
        write_prepared(
            tmp_path,
            frames=field(1),
            coordinates=[*GRID, units],
            variables=["t2m"],
            units="various",
        )
    )
    sheet = sheet_of(prepared, "weatherbench", "test", 1)
    assert sheet.lat.tolist() == LAT.tolist() and sheet.lon.tolist() == LON.tolist()
    # clip d starts at frame 12; the last of its two context frames is 13: 78 hours
    assert sheet.groups[0].panels[0].label == "d\n2016-01-04 06:00"
    assert sheet.groups[0].units == "K"


def test_coordinates_that_do_not_fit_the_frames_make_no_map(tmp_path, write_prepared):
    grid = [("lat", "y", LAT[:2], {}), ("lon", "x", LON, {})]
    prepared = Prepared(write_prepared(tmp_path, frames=field(1), coordinates=grid))
    assert sheet_of(prepared, "own", "test", 1).lat is None


def test_virtual_training_clips_can_be_seen(tmp_path, write_prepared):
    options = {"size": 8, "n_digits": 1, "step": 0.1, "seed": 1, "clips_per_epoch": 9}
    virtual = {"train": {**options, "renderer": "moving_digits", "array": "digits"}}
    frames = np.zeros((20, 1, 8, 8), np.uint8)
    folder = write_prepared(tmp_path, frames=frames, stored_scale=1 / 255, virtual=virtual)
    group = zarr.open_group(folder / "frames.zarr", mode="r+")
    digits = create_array(group, "digits", (5, 4, 4), np.uint8, ("n", "a", "b"), (5, 4, 4))
    digits[:] = np.full((5, 4, 4), 255, np.uint8)
    sheet = sheet_of(Prepared(folder), "moving_mnist", "train", 3)
    assert [p.label for p in sheet.groups[0].panels] == [f"drawn clip {i}" for i in (0, 4, 8)]
    # a digit of 4 x 4 bright pixels, somewhere in each frame of 8 x 8
    assert sheet.groups[0].panels[0].frames.sum(axis=(1, 2)).tolist() == [16] * 4


@pytest.mark.parametrize("kind", ["video", "flows", "map"])
@pytest.mark.parametrize("suffix", long_except([".png"], [".png", ".gif", ".mp4"], part="kinds"))
def test_files_can_be_opened_and_have_all_frames(tmp_path, write_prepared, kind, suffix):
    given = {
        "video": {"stored_scale": 1 / 255, "fps": 10},
        "flows": {"frames": field(2), **FLOWS},
        "map": {"frames": field(1), "coordinates": GRID, "variables": ["t"], "units": "K"},
    }[kind]
    sheet = sheet_of(Prepared(write_prepared(tmp_path / "data", **given)), kind, "test", 2)
    out = tmp_path / "pictures" / f"{kind}{suffix}"
    out.parent.mkdir()
    if suffix == ".png":
        drawing.contact_sheet(sheet, out)
        with Image.open(out) as image:
            assert image.format == "PNG" and min(image.size) > 100
            content = np.asarray(image.convert("RGB"))
        if kind == "map":
            first = out.read_bytes()
            drawing.contact_sheet(sheet, out)
            assert out.read_bytes() == first, "the same data give the same bytes"
    elif suffix == ".gif":
        movie.write(sheet, out)
        with Image.open(out) as image:
            assert image.format == "GIF" and image.n_frames == 4
            content = np.asarray(image.convert("RGB"))
    else:
        movie.write(sheet, out)
        with av.open(str(out)) as container:
            frames = [f.to_ndarray(format="rgb24") for f in container.decode(video=0)]
        assert len(frames) == 4 and (frames[0] != frames[3]).any()
        content = frames[0]
    assert content.std() > 5, "it is not blank"
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_names_of_clips_are_no_formulas(tmp_path, write_prepared):
    rows = [("test", r"a$\frac{$b", 0, 1, 4, "v", 0)]
    prepared = Prepared(write_prepared(tmp_path, frames=field(1), rows=rows, variables=["$x_{$"]))
    sheet = sheet_of(prepared, "own", "test", 1)
    drawing.contact_sheet(sheet, tmp_path / "sheet.png")
    movie.write(sheet, tmp_path / "sheet.gif")
    assert (tmp_path / "sheet.png").is_file() and (tmp_path / "sheet.gif").is_file()


def test_long_clips_keep_the_last_frame():
    assert drawing._columns(20) == list(range(20))
    assert drawing._columns(26) == list(range(1, 26, 2))
    assert drawing._columns(41)[-1] == 40 and len(drawing._columns(41)) <= 20


def test_lead_times_keep_the_unit_of_their_step():
    assert [drawing.duration(n, 0.2) for n in (-1, 5, 400)] == ["-0.20 s", "+1.00 s", "+80.00 s"]
    assert [drawing.duration(n, 1800) for n in (1, 4)] == ["+30 min", "+120 min"]
    assert drawing.duration(20, 6 * 3600) == "+120 h" and drawing.duration(3, 86_400) == "+3 d"


def test_scales_suit_the_values(tmp_path, write_prepared):
    group = sheet_of(
        Prepared(write_prepared(tmp_path, frames=field(1), variables=["t"])), "own", "test", 2
    ).groups[0]
    # values 44..139, all above zero
    scale = drawing.scale_of(group)
    assert 44 <= scale.low < scale.high <= 139 and scale.colours == "viridis"
    anomalies = type(group)(
        "t", "K", False, [type(group.panels[0])("a", group.panels[0].frames - 70)]
    )
    scale = drawing.scale_of(anomalies)
    assert scale.low == -scale.high and scale.colours == "RdBu_r"
    flat = type(group)("t", "K", False, [type(group.panels[0])("a", np.full((2, 3, 4), 7.0))])
    assert drawing.scale_of(flat).high > 7
    gaps = type(group)("t", "K", False, [type(group.panels[0])("a", np.full((2, 3, 4), np.nan))])
    assert drawing.scale_of(gaps).high == 1


def test_variables_are_chosen_by_name_and_level():
    names = ["t2m", "z_50", "z_500", "tisr"]
    assert choose(names, None, None) == [0] and choose(names[:2], None, None) == [0, 1]
    assert choose(names, "z_500", None) == [2] == choose(names, "z", "500")
    assert choose(names, "t2m", None) == [0]
    with pytest.raises(StpError, match="z_50, z_500"):
        choose(names, "z", None)
    with pytest.raises(StpError, match=r"'q850'"):
        choose(names, "q", "850")
    with pytest.raises(StpError, match="--variable"):
        choose(names, None, "500")


def test_what_cannot_be_shown(make_plan, publish, tmp_path):
    plan = make_plan(datasets={"kth": {"release": "synthetic"}})
    out = tmp_path / "sheet.png"
    with pytest.raises(StpError, match="stp prepare kth"):
        show(plan, "kth", out)
    with pytest.raises(StpError, match="stp fetch kth"):
        show(make_plan(prepared=["kth"]), "kth", out)
    publish(plan, "kth")
    with pytest.raises(StpError, match=r"'\.jpg'"):
        show(plan, "kth", tmp_path / "sheet.jpg")
    with pytest.raises(StpError, match="'dev'"):
        show(plan, "kth", out, split="dev")
    with pytest.raises(StpError, match="variable"):
        show(plan, "kth", out, variable="t2m")
    with pytest.raises(StpError, match="kth"):
        show(plan, "kht", out)
    assert not out.exists()
    assert show(plan, "kth", out, split="train", clips=1) == out and out.is_file()


def test_the_verb(make_plan, publish, tmp_path):
    scale = tmp_path / "small.yaml"
    scale.write_text("{scale: small, dimensions: {}}")
    publish(make_plan(), "kth")
    out = tmp_path / "show" / "kth.gif"
    given = ["draw", "clips", "kth", "--configfile", str(scale), "--out", str(out), "--clips", "1"]
    done = CliRunner().invoke(app, given, catch_exceptions=False)
    assert done.exit_code == 0 and done.stdout.strip() == str(out) and out.is_file()


def test_the_coast_is_where_it_is():
    lon, lat = coastline(-180)
    assert len(lon) == len(lat) and np.nanmin(lon) >= -180 and np.nanmax(lon) <= 180
    # The southern end of South America, the Strait of Gibraltar, and no coast in the open Pacific.
    for x, y in ((-68, -55), (-5.5, 36)):
        assert np.nanmin(np.hypot(lon - x, lat - y)) < 2
    assert np.nanmin(np.hypot(lon + 140, lat - 30)) > 10
    shifted, _ = coastline(0)
    assert np.nanmin(shifted) >= 0 and np.nanmax(shifted) <= 360
    steps = np.abs(np.diff(shifted))
    assert np.nanmax(steps) < 180, "no line across the whole map"


def test_degrees_are_written_as_on_maps():
    assert [longitude(x) for x in (0, 120, 180, 240, 360, -30)] == [
        *("0°", "120°E", "180°", "120°W", "0°"),
        "30°W",
    ]
    assert [latitude(y) for y in (-30, 0, 60)] == ["30°S", "0°", "60°N"]
    assert ticks(95, 330, 5).tolist() == [135, 180, 225, 270, 315]
    assert ticks(95, 330, 4).tolist() == [120, 180, 240, 300]
    assert len(ticks(37.001, 37.3, 4)) <= 4
