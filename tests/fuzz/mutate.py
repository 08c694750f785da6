"""Seeded damage to files, and a process of its own in which they are read."""

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
"""That reading one small file may take, on a busy machine."""
MORE_BYTES = 2 << 30
"""That reading one small file may take, besides what the process has: the limits of
stp.core.limits stop above it, by what headers say."""
WORDS = [
    b"nan", b"-inf", b"1e999", b"-1", b"0", b"99999999999999999999", b"null", b"[]", b"{}", b"true",
    b'"', b"'", b",", b"\n", b"\0", b"\xff\xfe", b"../../x", b"/etc/passwd", b"$(id)", b"&a [*a]",
    b"!!python/object/apply:os.system [id]", b"\xef\xbb\xbf", b"[" * 2000, b"\xed\xa0\x80",
]  # fmt: skip


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Another file that was this one: one to four edits."""
    new = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at, length = rng.randrange(len(new) + 1), rng.choice([1, 2, 4, 8, 64, 512])
        edit = rng.randrange(8)
        if edit == 0:  # a bit
            if new:
                new[at - 1] ^= 1 << rng.randrange(8)
        elif edit == 1:  # cut off
            del new[at:]
        elif edit == 2:  # lost
            del new[at : at + length]
        elif edit == 3:  # twice
            new[at:at] = new[at : at + length]
        elif edit == 4:  # from elsewhere
            other = rng.randrange(len(new) + 1)
            new[at : at + length] = new[other : other + length]
        elif edit == 5:  # a number as large or small as it can be
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
    """What came of the files of one reader.

    Attributes:
        counts: of `read` and `refused`.
        wrong: seed of a file, and what happened instead.
        stuck: seed of a file that was not read in time, in a library that cannot be stopped.
        slowest: seconds of one file.
    """

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    slowest: float = 0.0


def try_many(
    path: Path, read: Callable[[Path], Any], cases: int, seed: str, first: int = 0
) -> Outcome:
    """Read damaged copies of a file in a process of its own, with limits of time and memory.

    Args:
        path: of the whole file; damaged ones lie below its folder, under the same name.
        read: reads a file, and asserts that what it read is possible.
        cases: how many.
        seed: of all cases; case n is the same whatever the number of cases.
        first: number of the first case.
    """
    outcome, content = Outcome(), path.read_bytes()
    last = first + cases
    while first < last:
        ours, theirs = os.pipe()
        gc.collect()  # FFmpeg's frames wait for threads of theirs, which a fork does not have
        child = os.fork()
        if child == 0:  # pragma: no cover
            try:
                os.close(ours)
                _be_the_reader(path, content, read, range(first, last), seed, theirs)
            finally:
                os._exit(0)
        os.close(theirs)
        done, how = _listen(ours, outcome)
        os.close(ours)
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
    """Hear of one case after the other; returns the number of the one under way at the end."""
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
            said = json.loads(line)
            now = said["next"]
            if "how" in said:
                outcome.counts[said["how"]] += said["how"] != "wrong"
                outcome.slowest = max(outcome.slowest, said["seconds"])
                outcome.wrong += [said["text"]] if said["how"] == "wrong" else []


def _be_the_reader(
    path: Path,
    content: bytes,
    read: Callable[[Path], Any],
    cases: range,
    seed: str,
    pipe: int,
) -> None:
    def say(**what: Any) -> None:
        os.write(pipe, json.dumps(what).encode() + b"\n")

    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_BYTES, used + MORE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for number in cases:
        say(next=number)
        # A path of its own: readers keep what they have opened.
        case = path.parent / str(number) / "damaged" / path.name
        case.parent.mkdir(parents=True)
        case.write_bytes(damaged(content, random.Random(f"{seed} {number}")))
        began = time.monotonic()
        how, text = _outcome(case, read)
        seconds = time.monotonic() - began
        if how != "wrong" and seconds > SECONDS:
            how, text = "wrong", f"took {seconds:.0f} s"
        shutil.rmtree(case.parents[1])
        say(next=number + 1, how=how, seconds=seconds, text=f"case {number} ({seed}): {text}")


def _outcome(case: Path, read: Callable[[Path], Any]) -> tuple[str, str]:
    try:
        read(case)
    except StpError as error:
        named = case.name in str(error) or case.stem in str(error)
        if not named or not error.what.strip():
            return "wrong", f"no word of the file: {error}"
        return "refused", ""
    except BaseException:
        return "wrong", traceback.format_exc(limit=-3)
    return "read", ""
