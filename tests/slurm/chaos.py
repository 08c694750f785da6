"""Kill jobs, processes and drivers at random, and see that the results are those of a quiet run.

``python tests/slurm/chaos.py --kills 50 --seed 7`` is the long form; the tests run a short one.
The dice are seeded; what they hit depends on the timing as well.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))

from cluster import Cluster
from scenario import Driver, Scenario, difference

MODELS = ("convlstm", "simvpv2")
PAUSE = (2.0, 8.0)
"""Seconds between two kills."""
GO_ON = ("--owner-is-dead",)
"""A driver may be killed before it could note who it is; here it is known to be dead."""


@dataclass
class Verdict:
    """What happened, and whether the results are right.

    Attributes:
        kills: how often what was killed.
        ends: how the attempts at all trainings ended.
        resumes: how often a training went on from a checkpoint.
        rounds: how often the trainings, and all that is made from them, were made anew.
        differences: from the results of the quiet run; none is what we want.
    """

    kills: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    resumes: int = 0
    rounds: int = 0
    differences: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "\n".join(
            [
                f"kills: {self.kills.total()} ({_counted(self.kills)}) in {self.rounds} rounds",
                f"attempts at trainings: {self.ends.total()} ({_counted(self.ends)})",
                f"resumed from a checkpoint: {self.resumes} times",
                *(self.differences or ["the results are those of the quiet run"]),
            ]
        )


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(counter.items()))


class Chaos:
    """One checkout, and somebody who breaks whatever runs in it.

    Args:
        run: the checkout; its store begins as a copy of the quiet one.
        quiet: a finished run to compare with.
        seed: of the dice.
        say: is told what happens.
    """

    def __init__(
        self, run: Scenario, quiet: Scenario, seed: int, say: Callable[[str], None] = print
    ) -> None:
        self.run, self.quiet, self.say = run, quiet, say
        self.dice = random.Random(seed)
        self.verdict = Verdict()
        self.kinds = {
            "scancel": self._scancel,
            "requeue": self._requeue,
            "process": self._kill_process,
            "driver": self._kill_driver,
        }

    def play(self, kills: int, seconds: float = 3600) -> Verdict:
        """Kill so many times, in as many rounds as that takes.

        Args:
            kills: how many.
            seconds: for one round, at most.

        Raises:
            AssertionError: a round does not end.
        """
        self.run.take_all_but(self.quiet, *MODELS)
        self.run.configure(gpus=0, slow_step_s=1)
        while self.verdict.kills.total() < kills:
            self.verdict.rounds += 1
            for model in MODELS:
                self.run.forget(model)
            shutil.rmtree(self.run.folder / "results", ignore_errors=True)
            self._round(kills, time.monotonic() + seconds)
            self._count()
        return self.verdict

    def _round(self, kills: int, deadline: float) -> None:
        """Make everything that is missing, against all odds."""
        self.run.start()
        self.run.wait_for_training(self.dice.choice(MODELS))
        pause = 0.0
        while True:
            assert time.monotonic() < deadline, f"the round does not end\n{self._driver.text}"
            code = self._driver.process.poll()
            if code == 0:
                return
            if code is not None:  # a job was killed more often than Snakemake tries it
                self.say("   Snakemake gave up; it is started again, as a person would")
                self.run.go_on(*GO_ON)
            if self.verdict.kills.total() < kills and time.monotonic() > pause:
                kind = self.dice.choice(list(self.kinds))
                hit = self.kinds[kind]()
                if hit:
                    self.verdict.kills[kind] += 1
                    self.say(f"{self.verdict.kills.total():>3} {kind}: {hit}")
                    pause = time.monotonic() + self.dice.uniform(*PAUSE)
            time.sleep(0.3)

    @property
    def _driver(self) -> Driver:
        return self.run.drivers[-1]

    def _count(self) -> None:
        for model in MODELS:
            receipt = self.run.receipt("models", model)
            self.verdict.resumes += len(receipt["extras"]["resumes"])
            self.verdict.ends.update(attempt["how"] for attempt in receipt["attempts"])
        found = difference(self.run.database, self.quiet.database)
        if found:
            self.verdict.differences.append(f"round {self.verdict.rounds}: {found}")
        self.say(f"   round {self.verdict.rounds} is complete: {found or 'same results'}")

    # What can be killed; each says what it hit, or nothing where there was nothing to hit

    def _job(self) -> str | None:
        jobs = self.run.jobs("", "RUNNING")
        return self.dice.choice(sorted(jobs)) if jobs else None

    def _scancel(self) -> str | None:
        job = self._job()
        if job:
            self.run.cluster.ask("scancel", job)
        return job

    def _requeue(self) -> str | None:
        job = self._job()
        if job:
            self.run.cluster.ask("scontrol", "requeue", job)
        return job

    def _kill_process(self) -> str | None:
        """kill -9 of one process of a job: a shell, a Snakemake or a verb."""
        found = []
        for pid in self.run.processes():
            try:
                inside = b"\0SLURM_JOB_ID=" in Path(f"/proc/{pid}/environ").read_bytes()
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            if inside:
                found.append((pid, command.decode(errors="replace")))
        if not found:
            return None
        pid, command = self.dice.choice(sorted(found))
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return None
        return f"{pid} {command[:60]}"

    def _kill_driver(self) -> str:
        self._driver.kill()
        self.run.go_on(*GO_ON)
        return f"Snakemake {self.run.drivers[-2].process.pid}"


def main() -> int:
    """Run the long form; 0 if the results are right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="stp-chaos-"))
    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - begun:6.0f} s {text}", flush=True)

    with Cluster(folder / "slurm") as cluster:
        scenarios = [Scenario.on(cluster, folder / name) for name in ("quiet", "chaos")]
        try:
            say("a quiet run first ...")
            scenarios[0].start().succeed()
            verdict = Chaos(scenarios[1], scenarios[0], chosen.seed, say).play(chosen.kills)
        except BaseException:
            scenarios[1].saved_logs(folder / "logs")
            print(f"everything is kept in {folder}", file=sys.stderr)
            raise
        finally:
            for scenario in scenarios:
                scenario.clean_up()
    print(verdict)
    print(json.dumps({"seed": chosen.seed, "seconds": round(time.monotonic() - begun)}))
    if verdict.differences:
        print(f"everything is kept in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
