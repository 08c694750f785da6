"""Resume a run after a crash of Snakemake: remove the lock of a dead driver, and run again."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from stp.core.errors import StpError
from stp.plan.cells import Plan
from stp.run.cluster import driver
from stp.run.cluster.driver import Driver
from stp.run.results import RESULTS
from stp.run.status import RUNNING, artefact_states

LOCKS = Path(".snakemake/locks")
SNAKEMAKE = [sys.executable, "-m", "snakemake"]


def is_locked(checkout: Path) -> bool:
    """Whether Snakemake's lock of a checkout (the working directory of runs) exists."""
    return any((checkout / LOCKS).glob("*.lock"))


def last_driver(checkout: Path) -> Driver | None:
    """Read the driver (Snakemake process) of the last run in a checkout.

    Each run records its driver in the folder of results soon after Snakemake has locked the
    checkout.

    Args:
        checkout: the working directory of the runs.

    Returns:
        the recorded driver, which may have ended. None if no run recorded one, or if the lock is
        newer than the record: the run that holds the lock then ended before it could record its
        own.
    """
    recorded = driver.read_driver(checkout / RESULTS)
    if recorded is not None and is_locked(checkout):
        locked = max(path.stat().st_mtime for path in (checkout / LOCKS).glob("*.lock"))
        if locked > (checkout / RESULTS / driver.FILE).stat().st_mtime:
            return None
    return recorded


def tell_of_owner(checkout: Path) -> None:
    """Print who holds the lock of the checkout, and whether to wait or to resume after a crash.

    Snakemake's own message, which follows, does not say either.

    Args:
        checkout: the working directory of the runs.
    """
    if is_locked(checkout):
        owner = last_driver(checkout)
        if others := [pid for pid in driver.running_drivers(checkout) if pid != os.getpid()]:
            print(
                f"stp: Snakemake is running in {checkout}: process {', '.join(map(str, others))}; "
                "wait until it has ended (`stp status` shows its progress), or work in another "
                "folder: snakemake --directory FOLDER",
                file=sys.stderr,
            )
        elif owner is not None and owner.is_alive() is False:
            print(
                f"stp: {owner}, was killed and left its lock; `stp run --resume` continues it",
                file=sys.stderr,
            )


def refuse_if_alive(checkout: Path, owner_is_dead: bool) -> None:
    """Refuse to resume a run whose driver is alive, or may be alive.

    A driver on this machine is looked up among the processes. For one on another machine, Slurm is
    asked if it was a job; otherwise the user has to state that it has ended.

    Args:
        checkout: the working directory of the runs.
        owner_is_dead: whether the user states that a driver on another machine has ended.

    Raises:
        StpError: the driver is alive, or may be.
    """
    pids = driver.running_drivers(checkout)
    if pids:
        raise StpError(
            f"Snakemake is still running in {checkout}: process {', '.join(map(str, pids))} on "
            "this machine",
            remedy="wait for it, or end it (kill -TERM once: it waits for its jobs) and try again",
        )
    if not is_locked(checkout):
        return
    owner = last_driver(checkout)
    is_alive = None if owner is None else owner.is_alive()
    if is_alive:
        raise StpError(
            f"Snakemake is still running in {checkout}: {owner}",
        )
    if is_alive is None and not owner_is_dead:
        who = f"by {owner}" if owner else "by an unknown run"
        raise StpError(
            f"{checkout} is locked {who}, which may still be running on another machine",
            remedy="run `stp run --resume` on "
            f"{owner.host if owner else 'the machine where it ran'}, or, if you know that it has "
            "ended: stp run --resume --owner-is-dead",
        )


def command(checkout: Path, passed: list[str]) -> tuple[list[str], dict[str, str]]:
    """Make the arguments of Snakemake, and the environment variables, that resume a run.

    Args:
        checkout: the working directory of the runs.
        passed: arguments of Snakemake; empty for the arguments of the crashed run.

    Returns:
        the arguments, and the environment variables STP_... of the crashed run that are not set
        now.

    Raises:
        StpError: no arguments are given, and no earlier run is recorded.
    """
    recorded = driver.read_driver(checkout / RESULTS)
    arguments = passed or (recorded.arguments if recorded else [])
    if not arguments:
        raise StpError(
            f"no earlier run in {checkout}",
            remedy="change to the folder where the run was started, or name the arguments of "
            "Snakemake: stp run --resume -- --profile slurm results/tables/short_term.csv",
        )
    before = recorded.environment if recorded else {}
    return arguments, {k: v for k, v in before.items() if k not in os.environ}


def living_jobs(plan: Plan) -> Iterator[str]:
    """Yield descriptions of jobs of the crashed run that still run on the cluster.

    The new run waits for these jobs, and uses their results.

    Args:
        plan: plan of the crashed run.

    Yields:
        stage, label and place of a job: "train of LABEL on HOST, Slurm job 123".
    """
    for folder, step in artefact_states(plan).items():
        if step.state == RUNNING:
            artefact = plan.artefacts[folder]
            yield f"{artefact.stage} of {artefact.label} {step.where}"


def resume(passed: list[str], owner_is_dead: bool, say: Callable[[str], None] = print) -> NoReturn:
    """Replace this process by Snakemake, which resumes a run (`stp run --resume`).

    Args:
        passed: arguments of Snakemake; empty for the arguments of the crashed run.
        owner_is_dead: whether the user states that a driver on another machine has ended.
        say: function that prints a line.

    Raises:
        StpError: the driver is alive, no earlier run is recorded, or Snakemake cannot unlock the
            checkout.
    """
    checkout = Path.cwd()
    refuse_if_alive(checkout, owner_is_dead)
    arguments, variables = command(checkout, passed)
    for name, value in variables.items():
        say(f"{name}={value}, as in the last run")
    os.environ.update(variables)
    last = driver.read_driver(checkout / RESULTS)
    if last is not None and Path(last.configfile).is_file():
        jobs = list(living_jobs(Plan.load(Path(last.configfile))))
        if jobs:
            say("still running; new jobs wait for these and take over their results:")
        for job in jobs:
            say(f"  {job}")
    if is_locked(checkout):
        say("the owner of Snakemake's lock is dead: unlocking")
        done = subprocess.run(
            [*SNAKEMAKE, "--unlock", *arguments], capture_output=True, text=True, cwd=checkout
        )
        if done.returncode or is_locked(checkout):
            raise StpError(
                f"Snakemake does not unlock {checkout}: {(done.stderr or done.stdout).strip()}",
            )
    say(f"snakemake {' '.join(arguments)}")
    sys.stdout.flush()
    os.execv(sys.executable, [*SNAKEMAKE, *arguments])
