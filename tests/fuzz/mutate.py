"""Seeded damage to files, which are read in a separate process."""

import gc
import json
import os
import random
import resource
import select
import shutil
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stp.core.errors import StpError

SECONDS = 10.0
"""Time limit for reading one small file, on a busy machine."""
MORE_BYTES = 2 << 30
"""Memory limit for reading one small file, besides the memory of the process: `stp.core.limits`
refuses larger files by their headers."""
WORDS = [
    b"nan", b"-inf", b"1e999", b"-1", b"0", b"99999999999999999999", b"null", b"[]", b"{}", b"true",
    b'"', b"'", b",", b"\n", b"\0", b"\xff\xfe", b"../../x", b"/etc/passwd", b"$(id)", b"&a [*a]",
    b"!!python/object/apply:os.system [id]", b"\xef\xbb\xbf", b"[" * 2000, b"\xed\xa0\x80",
]  # fmt: skip


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A damaged copy of a file: one to four edits."""
    new = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at, length = rng.randrange(len(new) + 1), rng.choice([1, 2, 4, 8, 64, 512])
        edit = rng.randrange(8)
        if edit == 0:  # a bit
            if new:
                new[at - 1] ^= 1 << rng.randrange(8)
        elif edit == 1:  # cut off
            del new[at:]
        elif edit == 2:  # removed
            del new[at : at + length]
        elif edit == 3:  # duplicated
            new[at:at] = new[at : at + length]
        elif edit == 4:  # copied from elsewhere
            other = rng.randrange(len(new) + 1)
            new[at : at + length] = new[other : other + length]
        elif edit == 5:  # an extreme number
            size = rng.choice([1, 2, 4, 8])
            worst = rng.choice(
                [b"\0", b"\xff", b"\x7f" + b"\xff" * 7, b"\xff" * 7 + b"\x7f", b"\x80"]
            )
            new[at : at + size] = (worst * 8)[:size]
        elif edit == 6:
            new[at:at] = rng.choice(WORDS)
        else:
            new[at : at + length] = rng.randbytes(len(new[at : at + length]))
    return bytes(new)


@dataclass
class Outcome:
    """Results of the damaged files of one reader.

    Attributes:
        counts: number of files that were `read`, and that were `refused`.
        wrong: for each other file, its seed and what happened.
        stuck: seeds of files that were not read in time, in a library that cannot be stopped.
        slowest: longest time of a file in seconds.
    """

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    slowest: float = 0.0


def try_many(
    path: Path, read: Callable[[Path], Any], cases: int, seed: str, first: int = 0
) -> Outcome:
    """Read damaged copies of a file in a separate process, with limits of time and memory.

    Args:
        path: of the whole file; damaged copies lie below its folder, under the same name.
        read: reads a file, and asserts that its content is possible.
        cases: number of copies.
        seed: of all cases; case n does not depend on the number of cases.
        first: number of the first case.
    """
    outcome, content = Outcome(), path.read_bytes()
    last = first + cases
    while first < last:
        reading, writing = os.pipe()
        gc.collect()  # frames of FFmpeg wait for their threads, which a fork does not have
        child = os.fork()
        if child == 0:  # pragma: no cover
            try:
                os.close(reading)
                _read_all(path, content, read, range(first, last), seed, writing)
            finally:
                os._exit(0)
        os.close(writing)
        done, how = _listen(reading, outcome)
        os.close(reading)
        if how == "stuck":
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if done >= last:
            break
        if how == "stuck":
            outcome.stuck.append(f"case {done} ({seed})")
        else:
            outcome.wrong.append(f"case {done} ({seed}): ended with status {status}")
        first = done + 1
    return outcome


def _listen(pipe: int, outcome: Outcome) -> tuple[int, str]:
    """Collect results; returns the number of the last case, and how the reader ended."""
    text, now = b"", 0
    while True:
        ready, _, _ = select.select([pipe], [], [], 2 * SECONDS)
        if not ready:
            return now, "stuck"
        more = os.read(pipe, 1 << 16)
        if not more:
            return now, "ended"
        text += more
        *lines, text = text.split(b"\n")
        for line in lines:
            result = json.loads(line)
            now = result["next"]
            if "how" in result:
                outcome.counts[result["how"]] += result["how"] != "wrong"
                outcome.slowest = max(outcome.slowest, result["seconds"])
                outcome.wrong += [result["text"]] if result["how"] == "wrong" else []


def _read_all(
    path: Path,
    content: bytes,
    read: Callable[[Path], Any],
    cases: range,
    seed: str,
    pipe: int,
) -> None:
    def send(**result: Any) -> None:
        os.write(pipe, json.dumps(result).encode() + b"\n")

    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_BYTES, used + MORE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for number in cases:
        send(next=number)
        # Each case has a path of its own: readers cache open files.
        case = path.parent / str(number) / "damaged" / path.name
        case.parent.mkdir(parents=True)
        case.write_bytes(damaged(content, random.Random(f"{seed} {number}")))
        start = time.monotonic()
        how, text = _outcome(case, read)
        seconds = time.monotonic() - start
        if how != "wrong" and seconds > SECONDS:
            how, text = "wrong", f"took {seconds:.0f} s"
        shutil.rmtree(case.parents[1])
        send(next=number + 1, how=how, seconds=seconds, text=f"case {number} ({seed}): {text}")


def _outcome(case: Path, read: Callable[[Path], Any]) -> tuple[str, str]:
    try:
        read(case)
    except StpError as error:
        names_file = case.name in str(error) or case.stem in str(error)
        if not names_file or not error.what.strip():
            return "wrong", f"the error does not name the file: {error}"
        return "refused", ""
    except BaseException:
        return "wrong", traceback.format_exc(limit=-3)
    return "read", ""
