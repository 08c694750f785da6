"""Own arrays: any order of axes, any container, read in parts; and what is wrong with them."""

import io
import itertools
import tracemalloc
import zipfile

import h5py
import numpy as np
import own_data as made
import pytest

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.metrics.scale import unit_range
from stp.prepare.own import reader
from stp.prepare.own.reader import run

N, T, C, H, W = 4, 9, 2, 3, 5
SHAPE = [C, H, W]
SPLITS = {"by": "sequence", **made.THIRDS}
VALUES = np.random.default_rng(0).normal(10, 4, (N, T, C, H, W)).astype(np.float32)


def options(axes="NTCHW", **more):
    return {"kind": "arrays", "axes": axes, "splits": SPLITS, "stride": 1, **more}


def refuse(make_job, named, *given, **more):
    """A job with these options is refused by an error that names this."""
    with pytest.raises(StpError, match=named):
        run(make_job("own.reader", SHAPE, options(*given, **more)))


def check(job, wanted, tolerance=0.0):
    """Every clip holds what its name says."""
    data = Prepared(job.out)
    for split in ("train", "val", "test"):
        clips = data.clips(split)
        for row, values in zip(
            clips.index.itertuples(), clips.read(range(len(clips))), strict=True
        ):
            sequence, first = row.clip.split("/")[-2:]
            start = int(first[-6:])
            truth = wanted[int(sequence)][start : start + 3]
            np.testing.assert_allclose(values, truth, atol=tolerance, rtol=0)
    return data


def write(path, array, **more):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        (np.savez_compressed if more.pop("pack", False) else np.savez)(path, frames=array, **more)
    else:
        with h5py.File(path, "w") as file:
            file.create_dataset("a/frames", data=array, chunks=True, compression="gzip")


ORDERS = ["".join(order) for order in itertools.permutations("NTCHW")][::31]


@pytest.mark.parametrize("axes", [*ORDERS, "TNCHW", "NTHWC"])
def test_any_order_of_axes(make_job, tmp_path, axes):
    write(tmp_path / "raw" / "a.npy", VALUES.transpose(["NTCHW".index(a) for a in axes]))
    job = make_job("own.reader", SHAPE, options(axes))
    assert run(job)["clips"] == {"train": 14, "val": 7, "test": 7}
    check(job, VALUES)


@pytest.mark.parametrize("axes", ["THW", "WHT", "TCHW", "HWTC"])
def test_axes_that_are_not_there(make_job, tmp_path, axes):
    values = VALUES[:, :, :1] if "C" not in axes else VALUES
    for i in range(N):
        array = values[i] if "C" in axes else values[i, :, 0]
        whole = "TCHW" if "C" in axes else "THW"
        write(tmp_path / "raw" / f"{i}.npy", array.transpose([whole.index(a) for a in axes]))
    job = make_job("own.reader", list(values.shape[2:]), options(axes))
    run(job)
    index = Prepared(job.out).index
    assert set(index["cluster"]) == {f"{i}.npy" for i in range(N)}
    clips = Prepared(job.out).clips("test")
    number = int(clips.index["clip"][0][0])
    np.testing.assert_array_equal(clips.read([0])[0], values[number, :3])


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "packed.npz", "a.h5", "columns.npy"])
def test_every_container(make_job, tmp_path, name):
    array = np.asfortranarray(VALUES) if name == "columns.npy" else VALUES
    write(tmp_path / "raw" / "x" / name, array, **({"pack": True} if "packed" in name else {}))
    job = make_job("own.reader", SHAPE, options())
    run(job)
    check(job, VALUES)
    assert not (job.state / "unpacked").exists()


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [("uint8", "uint8"), ("bool", "uint8"), (">i2", "int16"), ("<u2", "uint16"), ("int8", "int8"),
     ("float16", "float32"), (">f8", "float32"), ("int64", "float32")],
)  # fmt: skip
def test_types(make_job, tmp_path, dtype, stored):
    array = np.arange(VALUES.size).reshape(VALUES.shape) % (2 if dtype == "bool" else 100)
    write(tmp_path / "raw" / "a.npy", array.astype(dtype))
    job = make_job("own.reader", SHAPE, options(divide_by=50, variables=["u", "v"], fps=2))
    run(job)
    data = check(job, array / np.float32(50), tolerance=1e-6)
    assert data.frames.dtype == stored and data.attrs["variables"] == ["u", "v"]


def test_normalisation_by_channel_in_the_units_of_the_dataset(make_job, tmp_path):
    array = (VALUES * [[[1.0]], [[100.0]]]).astype(np.float32)
    write(tmp_path / "raw" / "a.npy", array)
    for method in ("zscore", "minmax"):
        given = options(divide_by=10, normalisation={"method": method})
        job = make_job("own.reader", SHAPE, given)
        run(job)
        data = Prepared(job.out)
        numbers = [int(c[-5:]) for c in data.clips("train").index["cluster"].unique()]
        train = array[numbers].astype(np.float64) / 10
        axes = (0, 1, 3, 4)
        if method == "zscore":
            offset, scale = train.mean(axes), train.std(axes)
        else:
            offset, scale = train.min(axes), train.max(axes) - train.min(axes)
        constants = data.attrs["normalisation"]
        np.testing.assert_allclose(constants["offset"], offset, rtol=1e-6)
        np.testing.assert_allclose(constants["scale"], scale, rtol=1e-6)


@pytest.mark.parametrize("method", ["minmax", "zscore"])
def test_a_channel_that_never_changes_cannot_be_normalised(make_job, tmp_path, method):
    array = VALUES.copy()
    array[:, :, 1] = 3
    write(tmp_path / "raw" / "a.npy", array)
    given = options(normalisation={"method": method}, variables=["u", "v"])
    with pytest.raises(StpError, match=r"normalisation: .* v .* 3"):
        run(make_job("own.reader", SHAPE, given))


def test_constants_from_the_configuration(make_job, tmp_path):
    write(tmp_path / "raw" / "a.npy", VALUES)
    fixed = {"method": "fixed", "offset": [1, 2], "scale": 3.5}
    job = make_job("own.reader", SHAPE, options(normalisation=fixed))
    run(job)
    found = Prepared(job.out).attrs["normalisation"]
    assert (found["offset"], found["scale"]) == ([1, 2], 3.5)
    refuse(
        make_job, r"normalisation\.offset(.|\n)* 2", normalisation={**fixed, "offset": [1, 2, 3]}
    )


def test_several_arrays_of_a_file(make_job, tmp_path):
    splits = {
        "by": "list",
        "train": ["a.npz:x_train"],
        "val": ["a.npz:x_val"],
        "test": ["a.npz:x_test"],
    }
    path = tmp_path / "raw" / "a.npz"
    path.parent.mkdir()
    np.savez(path, x_train=VALUES[:2], x_val=VALUES[2:3], x_test=VALUES[3:], labels=np.arange(4))
    with pytest.raises(StpError, match=r"4 .*labels, x_test, x_train, x_val"):
        run(make_job("own.reader", SHAPE, {**options(), "splits": splits}))
    with pytest.raises(StpError, match=r" y.*labels"):
        run(make_job("own.reader", SHAPE, {**options(array="y"), "splits": splits}))
    for array in ("x_*", ["x_train", "x_[tv][ea]*"]):
        job = make_job("own.reader", SHAPE, {**options(array=array), "splits": splits})
        assert run(job)["clips"] == {"train": 14, "val": 7, "test": 7}
    np.testing.assert_array_equal(Prepared(job.out).clips("test").read([0])[0], VALUES[3, :3])


def test_missing_values(make_job, tmp_path):
    array = VALUES.copy()
    array[1, 4, 0, 2, 2] = np.nan
    write(tmp_path / "raw" / "a.npy", array)
    refuse(make_job, r"a\.npy: .* 1 ")
    job = make_job("own.reader", SHAPE, options(fill=-1))
    run(job)
    check(job, np.where(np.isnan(array), np.float32(-1), array))
    array[1, 4, 0, 2, 2] = np.inf
    write(tmp_path / "raw" / "a.npy", array)
    refuse(make_job, r"a\.npy", fill=-1)


@pytest.mark.parametrize(
    ("dtype", "mark"),
    [("int16", -999), ("float32", 1e20), ("uint16", 65535)],
)
def test_a_lone_value_far_from_all_others_is_declared_or_refused(make_job, tmp_path, dtype, mark):
    array = (np.abs(VALUES) if dtype == "uint16" else VALUES).astype(dtype)
    array[1, 4, 0, 2, 2] = mark
    write(tmp_path / "raw" / "a.npy", array)
    refuse(make_job, r"a\.npy.*channel 0 ")
    refuse(make_job, r"a\.npy: .* 1 ", missing=mark)
    job = make_job("own.reader", SHAPE, options(missing=mark, fill=7))
    extras = run(job)
    array[1, 4, 0, 2, 2] = 7
    check(job, array.astype(np.float32))
    ends = [[float(f(array[:, :, c])) for f in (np.min, np.max)] for c in range(C)]
    np.testing.assert_allclose([*extras["range of values"].values()], ends, rtol=1e-6)
    run(make_job("own.reader", SHAPE, options(missing=[])))


@pytest.mark.parametrize(
    ("more", "is_unit"),
    [
        ({"divide_by": 255}, True),
        ({}, False),
        ({"normalisation": {"method": "fixed", "offset": 0, "scale": 255}}, True),
    ],
)
def test_bytes_that_are_not_divided_have_no_range_of_0_to_1(make_job, tmp_path, more, is_unit):
    array = np.random.default_rng(1).integers(0, 256, VALUES.shape, np.uint8)
    write(tmp_path / "raw" / "a.npy", array)
    job = make_job("own.reader", SHAPE, options(**more))
    run(job)
    attrs = Prepared(job.out).attrs
    assert attrs["values"] == [0, 255 / more.get("divide_by", 1)]
    assert (unit_range(attrs) is not None) == is_unit


@pytest.mark.parametrize(
    ("dtype", "attrs", "there"),
    [
        ("int16", {"_FillValue": np.int16(-99)}, -99),
        ("float32", {"missing_value": np.float64([-99.9])}, np.float32(-99.9)),
        ("uint8", {"_FillValue": np.int16(-99), "missing_value": np.uint8(250)}, 250),
    ],
)
def test_what_stands_for_missing_values_in_hdf5(make_job, tmp_path, dtype, attrs, there):
    array = VALUES.clip(0, 50).astype(dtype)
    array[1, 4, 0, 2, 2] = there
    path = tmp_path / "raw" / "a.h5"
    write(path, array)
    with h5py.File(path, "a") as file:
        file["a/frames"].attrs.update(attrs)
    refuse(make_job, "a/frames .* 1 .*NaN, ")
    job = make_job("own.reader", SHAPE, options(fill=7))
    run(job)
    array[1, 4, 0, 2, 2] = 7
    check(job, array)
    if dtype == "uint8":
        refuse(make_job, r"fill .*-1(.|\n)*uint8", fill=-1)


@pytest.mark.parametrize(
    ("attrs", "message"),
    [
        ({"scale_factor": 0.1}, r"a/frames .*scale_factor \[0\.1\]"),
        ({"scale_factor": 1.0, "add_offset": np.array([273.15])}, r"add_offset \[273\.15\]"),
        ({"scale_factor": 1.0, "add_offset": 0.0, "_FillValue": "none"}, None),
    ],
)
def test_packed_values_in_hdf5(make_job, tmp_path, attrs, message):
    path = tmp_path / "raw" / "a.h5"
    write(path, VALUES)
    with h5py.File(path, "a") as file:
        file["a/frames"].attrs.update(attrs)
    job = make_job("own.reader", SHAPE, options())
    if message is None:
        run(job)
        check(job, VALUES)
        return
    with pytest.raises(StpError, match=message):
        run(job)


def test_an_empty_array(make_job, tmp_path):
    write(tmp_path / "raw" / "a.npy", VALUES[:0])
    refuse(make_job, r"a\.npy")


def test_wrong_axes_or_shape(make_job, tmp_path):
    write(tmp_path / "raw" / "a.npy", VALUES)
    refuse(make_job, r"C, H, W = \[9, 3, 5\](.|\n)*\[2, 3, 5\]", "NCTHW")
    refuse(make_job, r"\(4, 9, 2, 3, 5\)(.|\n)*TCHW", "TCHW")
    for axes in ("NTCHH", "NTCHX", "NTCH"):
        refuse(make_job, f"axes .*{axes}", axes)
    refuse(make_job, "variables", variables=["u"])
    for name in ("divide_by", "fps"):
        refuse(make_job, f"{name} .*0", **{name: 0})


def test_arrays_of_different_types(make_job, tmp_path):
    write(tmp_path / "raw" / "a.npy", VALUES)
    write(tmp_path / "raw" / "b.npy", VALUES.astype(np.uint8))
    refuse(make_job, r"a\.npy .*float32, b\.npy .*uint8")


def packed_array(array=VALUES):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


TALLER = packed_array().replace(b"(4, 9, 2, 3, 5)", b"(8, 9, 2, 3, 5)")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("content", [TALLER, packed_array() + packed_array(VALUES + 1)])
def test_arrays_that_end_where_others_begin(make_job, tmp_path, method, content):
    (tmp_path / "raw").mkdir()
    path = tmp_path / "raw" / "a.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("x.npy", content)
        archive.writestr("y.npy", packed_array())
    refuse(make_job, r"a\.npz: .*\d+ ", array="x")
    path.unlink()
    path.with_suffix(".npy").write_bytes(content)
    refuse(make_job, r"a\.npy: .*\d+ ")


def test_a_damaged_array_in_a_plain_archive(make_job, tmp_path):
    path = tmp_path / "raw" / "a.npz"
    write(path, VALUES)
    content = bytearray(path.read_bytes())
    content[3000:3010] = bytes(10)
    path.write_bytes(content)
    refuse(make_job, r"a\.npz")


@pytest.mark.parametrize("fill", [None, np.nan])
def test_parts_of_hdf5_that_were_never_written(make_job, tmp_path, fill):
    (tmp_path / "raw").mkdir()
    with h5py.File(tmp_path / "raw" / "a.h5", "w") as file:
        made = file.create_dataset("x", VALUES.shape, "f4", chunks=(1, 5, 2, 3, 5), fillvalue=fill)
        made[:3] = VALUES[:3]
    message = "2 of 8 .* x" if fill is None else "x"
    refuse(make_job, rf"a\.h5: .*{message}")


def test_arrays_of_objects_or_text_are_refused(make_job, tmp_path):
    path = tmp_path / "raw" / "a.npy"
    path.parent.mkdir()
    np.save(path, np.array([{}, []], dtype=object), allow_pickle=True)
    refuse(make_job, r"a\.npy: .*objects")
    np.save(path, np.full((N, T, C, H, W), "x"))
    refuse(make_job, r"a\.npy: .*<U1")


@pytest.mark.parametrize("name", ["../../../outside", "{}/outside"])
def test_names_that_lead_out_of_the_folder(make_job, tmp_path, name):
    packed = io.BytesIO()
    np.save(packed, VALUES)
    (tmp_path / "raw").mkdir()
    with zipfile.ZipFile(tmp_path / "raw" / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name.format(tmp_path) + ".npy", packed.getvalue())
    refuse(make_job, r"a\.npz: .*outside\.npy")
    assert not list(tmp_path.rglob("*.npy"))


def test_an_array_that_is_twice_in_a_file(make_job, tmp_path):
    (tmp_path / "raw").mkdir()
    packed = io.BytesIO()
    np.save(packed, VALUES)
    with zipfile.ZipFile(tmp_path / "raw" / "a.npz", "w") as archive:
        archive.writestr("x.npy", packed.getvalue())
        with pytest.warns(UserWarning, match=r"x\.npy"):
            archive.writestr("x.npy", packed.getvalue())
    refuse(make_job, r"a\.npz: .* x\b", array="x")


@pytest.mark.parametrize("name", ["large.npy", "large.npz", "packed.npz", "large.h5"])
def test_large_arrays_are_read_in_parts(make_job, tmp_path, monkeypatch, name):
    """8 MB of frames, in pieces of a quarter of a MB."""
    array = np.zeros((500, 64, 64), np.float32)
    array += np.arange(500, dtype=np.float32)[:, None, None]
    write(tmp_path / "raw" / name, array, **({"pack": True} if "packed" in name else {}))
    monkeypatch.setattr(reader, "PIECE_BYTES", 1 << 18)
    splits = {"by": "time", "train": 0.6, "val": 0.2, "test": 0.2}
    job = make_job("own.reader", [1, 64, 64], {**options("THW"), "splits": splits})
    del array
    tracemalloc.start()
    extras = run(job)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert extras["frames"] == 500 and extras["pieces"] > 20
    assert peak < 4e6, peak
    last = Prepared(job.out).clips("test").read([97])
    np.testing.assert_array_equal(last[0, :, 0, 5, 5], [497, 498, 499])
