"""Which codecs a Zarr store that somebody else wrote may ask for.

Zarr looks codecs up by the names in a store's metadata. One of them, ``pickle`` of numcodecs, runs
code out of the chunks that it decodes; plugins may add others. So only those are accepted that turn
bytes into bytes or numbers, before any chunk is read.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stp.core.errors import StpError

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
    """Look at the metadata of all arrays of a store, before it is opened.

    Open it without consolidated metadata: these are copies, and not looked at.

    Args:
        store: a group or an array of Zarr 2 or 3.

    Raises:
        StpError: an array asks for another codec, or its metadata cannot be read.
    """
    for folder, inner, names in os.walk(store):
        for path in (Path(folder) / name for name in METADATA if name in names):
            try:
                meta = json.loads(path.read_bytes())
                asked = list(_asked(meta))
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
            known = FORMAT_3 if path.name == "zarr.json" else FORMAT_2
            for name in asked:
                if name not in known:
                    raise StpError(
                        f"{path}: asks for the codec {name!r}",
                        expected=f"one of {', '.join(sorted(known))}",
                        remedy="write the store again with one of these: others may run code that "
                        "the file brings along",
                    )
            if path.name == ".zarray" or meta.get("node_type") == "array":
                inner.clear()  # chunks, perhaps millions


def _asked(meta: dict[str, Any]) -> Iterator[Any]:
    """The names of the codecs that the metadata of an array name."""
    if meta.get("zarr_format") == 2:
        for codec in (meta.get("compressor"), *(meta.get("filters") or ())):
            if codec is not None:
                yield codec["id"]
        return
    for codec in meta.get("codecs") or ():
        if isinstance(codec, str):
            yield codec
            continue
        yield codec["name"]
        given = codec.get("configuration") or {}
        for inner in ("codecs", "index_codecs"):
            yield from _asked({"codecs": given.get(inner)})
