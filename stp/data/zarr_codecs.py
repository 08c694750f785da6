"""Codecs that an untrusted Zarr store may use.

Zarr looks up codecs by the names in a store's metadata. ``pickle`` of numcodecs executes code in
the chunks that it decodes, and plugins may add others. So only codecs that turn bytes into bytes or
numbers are accepted, before any chunk is read.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.disk import require_regular_tree, walk
from stp.core.errors import StpError
from stp.core.limits import require

FORMAT_2 = frozenset((
    "adler32", "astype", "bitround", "blosc", "bz2", "crc32", "crc32c", "delta",
    "fixedscaleoffset", "fletcher32", "gzip", "jenkins_lookup3", "lz4", "lzma", "packbits",
    "pcodec", "quantize", "shuffle", "vlen-bytes", "vlen-utf8", "zfpy", "zlib", "zstd",
))  # fmt: skip
"""Compressors and filters of Zarr 2, by their names in numcodecs."""
FORMAT_3 = frozenset((
    "blosc", "bytes", "crc32c", "endian", "gzip", "sharding_indexed", "transpose", "vlen-bytes",
    "vlen-utf8", "zstd",
    *(f"numcodecs.{name}" for name in FORMAT_2),
))  # fmt: skip
"""Codecs of Zarr 3."""
METADATA = ("zarr.json", ".zarray")


def check_codecs(store: Path) -> None:
    """Refuse a Zarr store with codecs that may execute code, or with too large chunks.

    Only the metadata of each array are read. Consolidated metadata are not checked: open the store
    without them.

    Args:
        store: a group or an array of Zarr 2 or 3.

    Raises:
        StpError: an array uses a codec that is not in `FORMAT_2` or `FORMAT_3`, its chunks are
            larger than the limit ``member_gb`` (`stp.core.limits`), its metadata cannot be read, or
            the store contains a named pipe or device.
    """
    require_regular_tree(store)
    for folder, inner, names in walk(store):
        arrays = [_check(folder / name) for name in METADATA if name in names]
        if arrays and all(arrays):
            inner.clear()  # chunks, perhaps millions


def _check(path: Path) -> bool:
    """Check a file of metadata; returns whether it belongs to an array."""
    try:
        meta = json.loads(path.read_bytes())
        is_2 = path.name == ".zarray"
        is_array = is_2 or meta.get("node_type") == "array"
        names = list(_codecs_2(meta) if is_2 else _codecs_3(meta.get("codecs")))
        size = _chunk_bytes(meta, is_2) if is_array else 0
    except (
        OSError,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="the metadata of a Zarr array or group",
            remedy="copy or write the store again",
        ) from None
    accepted = FORMAT_2 if is_2 else FORMAT_3
    for name in names:
        if name not in accepted:
            raise StpError(
                f"{path}: asks for the codec {name!r}",
                expected=f"one of {', '.join(sorted(accepted))}",
                remedy="write the store again with one of these: others may execute code in the "
                "store",
            )
    require(f"{path}: each chunk is large", size / 1e9, "member_gb", "GB")
    return is_array


def _codecs_2(meta: dict[str, Any]) -> Iterator[Any]:
    """Names of the codecs of an array of Zarr 2."""
    for codec in (meta.get("compressor"), *(meta.get("filters") or ())):
        if codec is not None:
            yield codec["id"]


def _codecs_3(codecs: Any) -> Iterator[Any]:
    """Names of codecs of Zarr 3, nested ones included."""
    for codec in codecs or ():
        if isinstance(codec, str):
            yield codec
            continue
        yield codec["name"]
        configuration = codec.get("configuration") or {}
        for inner in ("codecs", "index_codecs"):
            yield from _codecs_3(configuration.get(inner))


def _chunk_bytes(meta: dict[str, Any], is_2: bool) -> int:
    """Size of the smallest part that is unpacked: a chunk, or an inner chunk of a shard."""
    if is_2:
        return math.prod(meta["chunks"]) * _itemsize(meta["dtype"])
    shape = meta["chunk_grid"]["configuration"]["chunk_shape"]
    for codec in meta["codecs"]:
        if isinstance(codec, dict) and codec["name"] == "sharding_indexed":
            shape = codec["configuration"]["chunk_shape"]
    return math.prod(shape) * _itemsize(meta["data_type"])


def _itemsize(kind: Any) -> int:
    try:
        return np.dtype(kind).itemsize
    except TypeError:  # text, and types that numpy does not have
        return 8
