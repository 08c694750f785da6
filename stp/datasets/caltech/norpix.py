"""Read Norpix StreamPix video files (.seq) with JPEG frames, in parts.

Little endian. A header of 1024 bytes:

    0   u32 0xFEED       4  "Norpix seq" in UTF-16, 24 bytes      28  i32 version
    32  i32 1024         36 description, 512 bytes
    548 u32 width, height, bit depth, real bit depth, bytes of an image, format (102: JPEG),
        number of frames, origin, true bytes of an image          584 f64 frames per second

and then for each frame u32 n, which includes these 4 bytes; a JPEG file of n - 4 bytes; the time
(u32 s, u16 ms, u16 us since 1970); and, in some files only, 8 bytes of zeros. The description
follows Piotr Dollar's toolbox for MATLAB, videos/seqReaderPlugin.m.
"""

import struct
from typing import BinaryIO, NamedTuple

from stp.core.errors import RawFileError, StpError

MAGIC = 0xFEED
NAME = "Norpix seq".encode("utf-16-le")
HEADER_BYTES = 1024
JPEG_FORMATS = (102, 201)  # grey and colour; both occur with coloured pictures
MOST_FRAME_BYTES = 1 << 26
_TIME = struct.Struct("<IHH")
_PADDING = 8


class Header(NamedTuple):
    """Contents of the header of a Norpix video file (.seq).

    Attributes:
        width: width of a frame, pixels.
        height: height of a frame, pixels.
        frames: number of frames; 0 if the recorder did not write it.
        fps: stated frames per second, which may be wrong, unlike the times of the frames.
    """

    width: int
    height: int
    frames: int
    fps: float


class Frame(NamedTuple):
    """Location and time of one frame in the file.

    Attributes:
        offset: offset of the JPEG file, bytes.
        bytes: size in bytes of the JPEG file.
        time: microseconds since 1970.
    """

    offset: int
    bytes: int
    time: int


def read_header(file: BinaryIO, name: str) -> Header:
    """Read the header of an open video file, its first 1024 bytes; `name` is for errors.

    Raises:
        StpError: the file is not a Norpix file of JPEG pictures.
    """
    file.seek(0)
    content = file.read(HEADER_BYTES)
    if len(content) < HEADER_BYTES:
        raise _damage_error(name, f"{len(content)} bytes instead of a header of {HEADER_BYTES}")
    (magic,) = struct.unpack_from("<I", content, 0)
    (size,) = struct.unpack_from("<i", content, 32)
    if magic != MAGIC or content[4 : 4 + len(NAME)] != NAME or size != HEADER_BYTES:
        raise _damage_error(name, "no header of a Norpix file")
    width, height, _, _, _, kind, frames = struct.unpack_from("<7I", content, 548)
    (fps,) = struct.unpack_from("<d", content, 584)
    if kind not in JPEG_FORMATS:
        raise _damage_error(name, f"pictures in format {kind} instead of {JPEG_FORMATS[0]}, JPEG")
    return Header(width, height, frames, fps)


def find_frames(file: BinaryIO, name: str, header: Header) -> list[Frame]:
    """Find all frames of an open video file; only their lengths and times are read.

    Args:
        file: the video file.
        name: name of the file, for errors.
        header: header of the file, from `read_header`.

    Raises:
        StpError: the file ends before the last frame, or contains other data than frames.
    """
    frames: list[Frame] = []
    position = HEADER_BYTES
    padding = 0
    while not header.frames or len(frames) < header.frames:
        file.seek(position)
        content = file.read(4)
        if len(frames) == 1 and content == bytes(4):  # a frame cannot have 0 bytes: it is padding
            padding = _PADDING
            position += padding
            file.seek(position)
            content = file.read(4)
        if not content and not header.frames and frames:
            return frames
        start = file.read(2)
        if len(content) < 4 or len(start) < 2:
            raise _damage_error(name, f"ends after {len(frames)} of {header.frames} frames")
        (size,) = struct.unpack("<I", content)
        if start != b"\xff\xd8" or not 4 < size <= MOST_FRAME_BYTES:
            raise _damage_error(name, f"no JPEG picture where frame {len(frames)} should begin")
        file.seek(position + size)
        time = file.read(_TIME.size)
        if len(time) < _TIME.size:
            raise _damage_error(name, f"ends within frame {len(frames)} of {header.frames}")
        seconds, milli, micro = _TIME.unpack(time)
        frames.append(Frame(position + 4, size - 4, seconds * 10**6 + milli * 1000 + micro))
        position += size + _TIME.size + padding
    return frames


def read_jpeg(file: BinaryIO, name: str, frame: Frame) -> bytes:
    """Read the JPEG data of a frame.

    Raises:
        StpError: the file is cut off.
    """
    file.seek(frame.offset)
    content = file.read(frame.bytes)
    if len(content) < frame.bytes:
        raise _damage_error(name, f"ends at byte {frame.offset + len(content)}, within a frame")
    return content


def _damage_error(name: str, problem: str) -> StpError:
    return RawFileError(name, problem, expected="a complete Norpix .seq file of JPEG pictures")
