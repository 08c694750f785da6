"""Go on after a crash of Snakemake: unlock, but only a dead owner's lock, and run again."""

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
    """Does a checkout hold a lock of Snakemake?"""
    return any((checkout / LOCKS).glob("*.lock"))


def last_driver(checkout: Path) -> Driver | None:
    """The driver that holds the lock of a checkout, as far as it is known.

    A lock that is younger than the last note belongs to a run that ended before it could note
    itself: its owner is unknown.
    """
    noted = driver.read_driver(checkout / RESULTS)
    if noted is not None and is_locked(checkout):
        locked = max(path.stat().st_mtime for path in (checkout / LOCKS).glob("*.lock"))
        if locked > (checkout / RESULTS / driver.FILE).stat().st_mtime:
            return None
    return noted


def tell_of_owner(checkout: Path) -> None:
    """Say whose lock is on the checkout, and what to do: wait for a run, or go on after a crash.

    Snakemake's own words about the lock, which follow, name neither.
    """
    if is_locked(checkout):
        owner = last_driver(checkout)
        if others := [pid for pid in driver.running_drivers(checkout) if pid != os.getpid()]:
            print(
                f"stp: Snakemake is running in {checkout}: process {', '.join(map(str, others))}; "
                "wait until it has ended (`stp status` tells how far it is), or work in another "
                "folder: snakemake --directory FOLDER",
                file=sys.stderr,
            )
        elif owner is not None and owner.is_alive() is False:
            print(
                f"stp: {owner}, was killed and left its lock; `stp run --resume` continues it",
                file=sys.stderr,
            )


def refuse_if_alive(checkout: Path, owner_is_dead: bool) -> None:
    """Refuse to take a checkout from a driver that lives, or may.

    On this machine the processes tell. A driver on another machine is asked for through Slurm if
    it was a job; otherwise a person has to know.

    Args:
        checkout: the working directory of the runs.
        owner_is_dead: the person says that a driver on another machine has ended.

    Raises:
        StpError: it lives, or nobody can tell.
    """
    alive = driver.running_drivers(checkout)
    if alive:
        raise StpError(
            f"Snakemake is still running in {checkout}: process {', '.join(map(str, alive))} on "
            "this machine",
            remedy="wait for it, or end it (kill -TERM once: it waits for its jobs) and try again",
        )
    if not is_locked(checkout):
        return
    owner = last_driver(checkout)
    lives = None if owner is None else owner.is_alive()
    if lives:
        raise StpError(
            f"Snakemake is still running in {checkout}: {owner}",
            remedy="wait for it, or end it and try again",
        )
    if lives is None and not owner_is_dead:
        who = f"by {owner}" if owner else "by an unknown run"
        raise StpError(
            f"{checkout} is locked {who}, which may still be running on another machine",
            remedy="run `stp run --resume` on "
            f"{owner.host if owner else 'the machine where it ran'}, or, if you know that it has "
            "ended: stp run --resume --owner-is-dead",
        )


def command(checkout: Path, given: list[str]) -> tuple[list[str], dict[str, str]]:
    """Find the arguments of Snakemake to go on with, and the variables it was started with.

    Args:
        checkout: the working directory of the runs.
        given: arguments; none for those of the run that crashed.

    Returns:
        the arguments, and those variables STP_... of the crashed run that are not set now.

    Raises:
        StpError: nothing is given, and no run is known.
    """
    noted = driver.read_driver(checkout / RESULTS)
    arguments = given or (noted.arguments if noted else [])
    if not arguments:
        raise StpError(
            f"no earlier run in {checkout}",
            remedy="change to the folder where the run was started, or name the arguments of "
            "Snakemake: stp run --resume -- --profile slurm results/tables/short_term.csv",
        )
    before = noted.environment if noted else {}
    return arguments, {k: v for k, v in before.items() if k not in os.environ}


def living_jobs(plan: Plan) -> Iterator[str]:
    """Name the jobs of the old driver that live on: new ones wait for them and adopt."""
    for folder, step in artefact_states(plan).items():
        if step.state == RUNNING:
            artefact = plan.artefacts[folder]
            yield f"{artefact.stage} of {artefact.label} {step.where}"


def resume(given: list[str], owner_is_dead: bool, say: Callable[[str], None] = print) -> NoReturn:
    """Replace this process by Snakemake, which continues a run (`stp run --resume`).

    Raises:
        StpError: the driver lives, nothing is known to go on with, or Snakemake does not unlock.
    """
    checkout = Path.cwd()
    refuse_if_alive(checkout, owner_is_dead)
    arguments, variables = command(checkout, given)
    for name, value in variables.items():
        say(f"{name}={value}, as in the run before")
    os.environ.update(variables)
    noted = driver.read_driver(checkout / RESULTS)
    if noted is not None and Path(noted.configfile).is_file():
        jobs = list(living_jobs(Plan.load(Path(noted.configfile))))
        if jobs:
            say("still running; new jobs wait for these and take their results:")
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
                remedy="fix what it reports and try again",
            )
    say(f"snakemake {' '.join(arguments)}")
    sys.stdout.flush()
    os.execv(sys.executable, [*SNAKEMAKE, *arguments])
