"""Every reader of files that others wrote: a whole file, and what may be read from it.

A reader asserts what must hold of anything that it returns: the shape, the type, that numbers are
finite where the format promises it. That raw bytes are the right ones is promised by the lock file,
which has their SHA-256, before any of these sees them.
"""

import gzip
import hashlib
import io
import json
import struct
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import received
import torch
import xarray as xr
from own_data import picture, video
from PIL import Image

from stp.collect.published import read_published
from stp.collect.scores import COLLECTED, read_collected
from stp.core.lock import header_of, lock_text, read_lock
from stp.core.receipts import require_receipt
from stp.data.raw_files import RawFiles
from stp.datasets.caltech import generator as caltech
from stp.datasets.caltech import norpix
from stp.datasets.kitti import reader as kitti
from stp.datasets.kth import reader as kth
from stp.datasets.moving_mnist import idx
from stp.datasets.nuscenes import reader as nuscenes
from stp.datasets.scv import reader as scv
from stp.datasets.sevir import reader as sevir
from stp.external.submitted import open_source
from stp.fetch import tfrecord_write
from stp.fetch.archive import unpack
from stp.fetch.checksum import Checksum
from stp.fetch.film_write import encode_picture
from stp.metrics.networks.state import read_state
from stp.plan import config
from stp.plan.checked_config import CONFIG_FOLDER, check, read_yaml
from stp.plan.scale import Scale
from stp.prepare import hdf5, members, netcdf, pictures, tfrecord, track_maps, zip_index
from stp.prepare.own import arrays, grids, videos
from stp.prepare.track_readers import detections, ewap, qualisys, trajnetpp
from stp.prepare.video import decode_grey
from stp.score.video_folder import find_clips, read_clip
from stp.train.checkpoint import Checkpoint

NUMBERS = np.arange(24, dtype="float32").reshape(2, 3, 4)


class Reader(NamedTuple):
    """A reader and a whole file.

    Attributes:
        name: of the file.
        write: writes it.
        read: reads it, and asserts that what is read is possible.
    """

    name: str
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]


def raw(path: Path) -> RawFiles:
    """A file as the only one of a release, whatever its bytes are: locked as it is."""
    content = path.read_bytes()
    sums = {path.name: Checksum(len(content), hashlib.sha256(content).hexdigest())}
    lock = path.parent / "lock.json"
    lock.write_text(lock_text(header_of("x", "y", "own"), sums, []))
    lock.with_suffix(".known").unlink(missing_ok=True)
    return RawFiles(lock, [path.parent])


# Arrays and grids


def write_hdf5(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=NUMBERS, chunks=(1, 3, 4), compression="gzip")


def read_hdf5(path: Path) -> None:
    with hdf5.open_array(path, "data", ndim=3, dtypes=("float32",)) as array:
        found = hdf5.read(array, slice(0, 1), path)
        assert found.dtype == np.float32 and found.ndim == 3


def read_contents(path: Path) -> None:
    for shape, kind in arrays.contents(path).values():
        assert all(size >= 0 for size in shape) and np.dtype(kind)


def write_netcdf(path: Path) -> None:
    xr.Dataset({"t": (("time", "lat", "lon"), NUMBERS)}).to_netcdf(path, engine="netcdf4")


def read_netcdf(path: Path) -> None:
    found = netcdf.load(netcdf.open_field(path, "t", ("time", "lat", "lon")), path)
    assert found.dims == ("time", "lat", "lon")


def read_grid(path: Path) -> None:
    with grids.open_grid(path) as dataset:
        assert isinstance(dict(dataset.sizes), dict)


def write_predictions(path: Path) -> None:
    values = np.zeros((2, 3, 1, 4, 4), np.float32)
    if path.suffix == ".npz":
        np.savez_compressed(path, predictions=values, sample=np.arange(2))
    else:
        np.save(path, values)


def read_predictions(path: Path) -> None:
    windows: Any = SimpleNamespace(name=lambda n: f"sample {n} of {path.name}", order=[0, 1])
    spool = path.parent / "spool"
    spool.mkdir(exist_ok=True)
    found = open_source(path.parent, windows, spool)
    assert all(size >= 0 for size in found.shape)


def write_idx(path: Path) -> None:
    values = struct.pack(">4I", 0x803, 2, 4, 4) + bytes(range(32))
    path.write_bytes(gzip.compress(values))


def read_idx(path: Path) -> None:
    found = idx.read_pictures(path)
    assert found.ndim == 3 and found.dtype == np.uint8


# Records and archives


def write_tfrecord(path: Path) -> None:
    tfrecord_write.write_records(
        path, [tfrecord_write.example({"a": [b"text"], "b": np.ones(2, np.float32)})] * 3
    )


def read_tfrecord(path: Path) -> None:
    for record in tfrecord.records(path):
        features = tfrecord.example(tfrecord.read_record(path, record), path.name)
        assert tfrecord.required_feature(features, "b", path.name).floats().dtype == np.float32


def write_scv(path: Path) -> None:
    frame = encode_picture(np.full((4, 4, 3), (9, 8, 7), np.uint8))
    context = {"n_steps": np.array([2]), "screen_size": np.array([4, 4])}
    pictures = [[frame]] * 2
    record = tfrecord_write.sequence_example(context, {"rgb_screen": pictures})
    tfrecord_write.write_records(path, [record] * 2)


def read_scv(path: Path) -> None:
    options, found = scv.ScvOptions(raw_size=4, least=2, most=2), raw(path)
    for record in tfrecord.records(path):
        context, pictures = scv.read_steps(tfrecord.read_record(path, record), path.name)
        frames = scv.count_frames(context, pictures, options, path.name)
        video = scv.Video("train", "0", path.name, record, frames)
        assert scv.decode_video(found, (video, options, 4, 4)).shape == (2, 3, 4, 4)


def write_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("a/one.png", "b/two.png"):
            archive.writestr(name, bytes(200) + name.encode())


def write_tar(path: Path) -> None:
    mode = "w:gz" if path.suffix == ".tgz" else "w"
    with tarfile.open(path, mode) as archive:
        for name in ("a/one.png", "b/two.png"):
            member = tarfile.TarInfo(name)
            member.size = 200
            archive.addfile(member, io.BytesIO(bytes(200)))


def read_members(path: Path) -> None:
    files = raw(path)
    for member in members.find(files, r"(\w+)/(\w+)\.png").values():
        assert isinstance(members.read(files, member), bytes)


def read_zip_index(path: Path) -> None:
    for name, entry in zip_index.entries(path):
        assert isinstance(zip_index.read_entry(path, entry, f"{path.name}: {name}"), bytes)


def read_unpacked(path: Path) -> None:
    root = path.parent / "unpacked"
    unpack(
        path,
        root,
        "into",
        listing=path.parent / "listing.json",
        wanted=lambda _: True,
        find=lambda _: None,
    )
    outside = {file for file in path.parent.iterdir() if file.name not in KNOWN | {path.name}}
    assert not outside, outside


KNOWN = {"unpacked", "listing.json", "lock.json"}


# Pictures and videos


def write_picture(path: Path) -> None:
    picture(path, np.arange(16 * 24, dtype=np.uint8).reshape(16, 24))


def read_picture(path: Path) -> None:
    found = pictures.decode_picture(path.read_bytes(), path.name, "L")
    assert found.dtype == np.uint8


def write_avi(path: Path) -> None:
    video(path, [20, 60, 100, 140], codec="mpeg4")


def read_grey(path: Path) -> None:
    found = decode_grey(path, path.name)
    assert found.dtype == np.uint8 and found.ndim == 3


def write_mp4(path: Path) -> None:
    video(path, [20, 60, 100, 140], codec="mpeg4")


def read_video(path: Path) -> None:
    stamps, _ = videos.probe(path)
    task = videos.Task(path.name, 0, min(len(stamps), 100), None, None, 1, 16, 24, None)
    found, note = videos.decode(raw(path), task)
    assert found.shape[1:] == (1, 16, 24) and 0 < note <= len(found)


def write_seq(path: Path) -> None:
    picture = encode_picture(np.full((8, 16), 90, np.uint8), "JPEG")
    content = caltech.header(8, 16, 3)
    for number in range(3):
        content += struct.pack("<I", len(picture) + 4) + picture
        content += caltech.footer(number * 33_333, 16)
    path.write_bytes(content)


def read_seq(path: Path) -> None:
    with path.open("rb") as file:
        header = norpix.read_header(file, path.name)
        for frame in norpix.find_frames(file, path.name, header)[:10]:
            assert isinstance(norpix.read_jpeg(file, path.name, frame), bytes)


# Tables and texts


def write_rows(path: Path) -> None:
    pq.write_table(COLLECTED.empty_table(), path, write_page_checksum=True)


def read_rows(path: Path) -> None:
    assert read_collected(path).schema == COLLECTED


def write_tracks(path: Path) -> None:
    values = {"time": [0.0, 0.1, 0.2], "person": [1, 1, 1], "x": [1.0, 2, 3], "y": [0.0, 0, 1]}
    table = pa.table(values)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        rows = zip(*values.values(), strict=True)
        path.write_text("".join(f"{t},{p},{x},{y}\n" for t, p, x, y in rows))


def read_tracks(path: Path) -> None:
    names = ("time", "person", "x", "y") if path.suffix == ".parquet" else (0, 1, 2, 3)
    columns = detections.Columns(**dict(zip(("time", "person", "x", "y"), names, strict=True)))
    found = detections.read(path, columns, metres=1.0, step=1, dt=0.1).tracks
    assert all(np.isfinite(one).all() for one in vars(found).values() if isinstance(one, np.ndarray)
               and one.dtype.kind == "f")  # fmt: skip


def write_trajnet(path: Path) -> None:
    lines = [{"scene": {"id": 1, "p": 1, "s": 0, "e": 20, "fps": 2.5}}]
    lines += [{"track": {"f": frame, "p": 1, "x": 1.5, "y": 2.5}} for frame in range(0, 21, 10)]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")


def write_ewap(path: Path) -> None:
    rows = [[frame, 1, 1.5, 0, 2.5, 0.1, 0, 0.1] for frame in (0, 6, 12)]
    path.write_text("\n".join(" ".join(f"{v:.7e}" for v in row) for row in rows) + "\n")


def write_qualisys(path: Path) -> None:
    names = ["Frame", *(f"Helmet_1 - {marker} {axis}" for marker in (1, 2) for axis in "XYZ")]
    rows = [[frame, 1500, 2500, 1700, 1510, 2510, 1700] for frame in (1, 2, 3)]
    lines = ["\t".join(map(str, line)) for line in (names, *rows)]
    path.write_text("head\n" * qualisys.HEADER + "\n".join(lines) + "\n")


def write_homography(path: Path) -> None:
    path.write_text("0.02 0.001 -7.5\n0.001 0.03 -4.5\n0.0001 0.0002 1\n")


def read_homography(path: Path) -> None:
    grey = np.zeros((8, 8), np.uint8)
    grey[2:4, 3:6] = 255
    Image.fromarray(grey).save(path.with_name("map.png"))
    track_maps.read_picture(path.with_name("map.png"), path)


def read_text(path: Path) -> str:
    """As readers of lists do."""
    return path.read_bytes().decode("utf-8", "replace")


def write_times(path: Path) -> None:
    path.write_text("".join(f"2011-09-26 13:02:25.{n}64389445\n" for n in range(1, 9)))


def write_sequences(path: Path) -> None:
    path.write_text("person01_walking_d1 frames 1-75, 152-225\nperson01_walking_d2 frames 1-70\n")


def write_catalog(path: Path) -> None:
    rows = [[f"S{n}", sevir.TYPE, f"vil/2019/{n}.h5", n, "2019-01-05 10:00:00", 384000.0, 384000.0,
             0.0, "-30:0:30"] for n in range(3)]  # fmt: skip
    known = dict(zip(("id", "img_type", "file_name", "file_index", "time_utc", "height_m",
                      "width_m", "pct_missing", "minute_offsets"), zip(*rows, strict=True),
                     strict=True))  # fmt: skip
    lines = [",".join(sevir.COLUMNS)]
    lines += [",".join(str(known.get(name, [""] * 3)[n]) for name in sevir.COLUMNS)
              for n in range(3)]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")


def write_samples(path: Path) -> None:
    path.write_text(json.dumps([{"token": str(n), "filename": f"a/{n}.jpg"} for n in range(4)]))


def read_samples(path: Path) -> None:
    assert all(isinstance(entry, dict) for entry in nuscenes.read_table(path))


def write_film(path: Path) -> None:
    video(path, [20, 60, 100, 140], codec="mpeg4")


def read_film(path: Path) -> None:
    for clip in find_clips(path.parent):
        found = read_clip(clip)
        assert found.dtype == np.float32 and found.ndim == 4


def write_published(path: Path) -> None:
    text = (CONFIG_FOLDER / "suites" / "predbench" / "published.csv").read_text()
    path.write_text("\n".join(text.splitlines()[:12]) + "\n")


def write_scale(path: Path) -> None:
    path.write_text((CONFIG_FOLDER / "demo.yaml").read_text())


def read_scale(path: Path) -> None:
    content = read_yaml(path)
    if isinstance(content, dict):
        config.load(content)
    check(Scale, content, str(path))


def write_lock(path: Path) -> None:
    sums = {"a.npy": Checksum(10, "0" * 64), "b/c.npy": Checksum(20, "1" * 64)}
    path.write_text(lock_text(header_of("x", "y", "own"), sums, []))


def read_the_lock(path: Path) -> None:
    found = read_lock(path, header_of("x", "y", "own"))
    assert found is not None
    for name in found.files:
        assert not name.startswith("/") and ".." not in Path(name).parts


def write_receipt(path: Path) -> None:
    content = {"fingerprint": "damaged", "files": {"a": {"bytes": 3, "sha256": "0" * 64}}}
    path.write_text(json.dumps(content))


def read_receipt(path: Path) -> None:
    assert require_receipt(path.parent).fingerprint == path.parent.name


# Weights


def write_weights(path: Path) -> None:
    torch.save({"a.weight": torch.arange(12.0).reshape(3, 4), "a.bias": torch.ones(3)}, path)


def read_weights(path: Path) -> None:
    for tensor in read_state(path).values():
        assert isinstance(tensor, torch.Tensor)


def write_checkpoint(path: Path) -> None:
    Checkpoint(path, {"model": "x"}).save({"step": 3, "weights": torch.ones(4)})


def read_checkpoint(path: Path) -> None:
    """What is damaged is moved aside, and said."""
    said: list[str] = []
    found = Checkpoint(path, {"model": "x"}).load(said.append)
    if found is None:
        assert said and not path.exists()
    else:
        assert found["step"] == 3 and torch.equal(found["weights"], torch.ones(4))


READERS = {
    "HDF5": Reader("file.h5", write_hdf5, read_hdf5),
    "HDF5, list of arrays": Reader("file.hdf5", write_hdf5, read_contents),
    "NetCDF": Reader("file.nc", write_netcdf, read_netcdf),
    "NetCDF, own data": Reader("own.nc", write_netcdf, read_grid),
    "npy": Reader("file.npy", lambda path: np.save(path, NUMBERS), read_contents),
    "npz": Reader("file.npz", lambda path: np.savez_compressed(path, a=NUMBERS), read_contents),
    "npy, predictions": Reader("predictions.npy", write_predictions, read_predictions),
    "npz, predictions": Reader("predictions.npz", write_predictions, read_predictions),
    "IDX": Reader("digits.gz", write_idx, read_idx),
    "TFRecord": Reader("file.tfrecord", write_tfrecord, read_tfrecord),
    "TFRecord, StarCraft videos": Reader("scv.tfrecord", write_scv, read_scv),
    "zip": Reader("file.zip", write_zip, read_members),
    "zip, by its list": Reader("list.zip", write_zip, read_zip_index),
    "zip, unpacked": Reader("fetched.zip", write_zip, read_unpacked),
    "tar": Reader("file.tar", write_tar, read_members),
    "tar.gz, unpacked": Reader("fetched.tgz", write_tar, read_unpacked),
    "PNG": Reader("file.png", write_picture, read_picture),
    "JPEG": Reader("file.jpg", write_picture, read_picture),
    "avi": Reader("file.avi", write_avi, read_grey),
    "mp4": Reader("file.mp4", write_mp4, read_video),
    "Norpix seq": Reader("file.seq", write_seq, read_seq),
    "Parquet, scores": Reader("rows.parquet", write_rows, read_rows),
    "Parquet, tracks": Reader("tracks.parquet", write_tracks, read_tracks),
    "CSV, tracks": Reader("tracks.csv", write_tracks, read_tracks),
    "CSV, published values": Reader("published.csv", write_published, read_published),
    "text, tracks": Reader("obsmat.txt", write_ewap, lambda p: ewap.read(p, step=6, dt=0.4)),
    "JSON lines, tracks": Reader(
        "file.ndjson", write_trajnet, lambda path: trajnetpp.read(path, step=10, dt=0.4)
    ),
    "YAML, scale": Reader("scale.yaml", write_scale, read_scale),
    "JSON, lock": Reader("file.lock.json", write_lock, read_the_lock),
    "JSON, receipt": Reader("artefact.json", write_receipt, read_receipt),
    "TSV, tracks": Reader("people.tsv", write_qualisys, qualisys.read),
    "text, homography": Reader("H.txt", write_homography, read_homography),
    "text, times": Reader(
        "timestamps.txt",
        write_times,
        lambda path: kitti.read_timestamps(read_text(path), path.name),
    ),
    "text, sequences": Reader(
        "sequences.txt",
        write_sequences,
        lambda path: kth.read_sequences(read_text(path), path.name),
    ),
    "CSV, events": Reader("CATALOG.csv", write_catalog, sevir.read_catalog),
    "JSON, pictures": Reader("sample_data.json", write_samples, read_samples),
    "film, any folder": Reader("film.mp4", write_film, read_film),
    "npz, any folder": Reader(
        "film.npz",
        lambda path: np.savez_compressed(path, a=np.zeros((3, 8, 8), np.float32)),
        read_film,
    ),
    "weights": Reader("weights.pt", write_weights, read_weights),
    "checkpoint": Reader("training.pt", write_checkpoint, read_checkpoint),
    "tar, artefacts": Reader("bundle.tar", received.write_tar, received.read_tar),
    "JSON, artefacts": Reader("artefact.json", received.write_receipt, received.read_receipt),
    "checksums, artefacts": Reader("SHA256SUMS", received.write_sums, received.read_sums),
    "zip, bundle": Reader("bundle.zip", received.write_bundle, received.read_bundle),
    "JSON, bundle": Reader("bundle.json", received.write_bundle_list, received.read_bundle_list),
    **{
        f"Zarr {version} {part}, predictions": Reader(
            "predictions.zarr",
            partial(received.write_zarr, version=version, part=part),
            partial(received.read_zarr, version=version, part=part),
        )
        for version in (2, 3)
        for part in ("metadata", "chunk")
    },
    "JSON, windows": Reader("windows.json", received.write_windows, received.read_submission),
    "CSV, windows": Reader("index.csv", received.write_index, received.read_submission),
    "CSV, answers": Reader("answers.csv", received.write_answers, received.read_the_answers),
    "JSON, key": Reader(
        "key.json", lambda path: path.write_text(received.KEY.model_dump_json()), received.read_key
    ),
    "JSON, key of pairs": Reader(
        "key.json",
        lambda path: path.write_text(received.PAIR_KEY.model_dump_json()),
        received.read_key,
    ),
    "JSON, key of ratings": Reader(
        "key.json",
        lambda path: path.write_text(received.RATING_KEY.model_dump_json()),
        received.read_key,
    ),
    "CSV, population": Reader("models.csv", received.write_population, received.read_population),
}
