"""The runner around the core of every stage, which is the function that does the work.

It checks inputs, holds leases, publishes results and records failures. Cores get a plain job, and
their code is part of the fingerprint. The runner cannot influence results, so its code is not.
"""

import contextlib
import gc
import importlib
import json
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from stp.core import bytecode, named_modules, provenance, store
from stp.core.disk import disk_error
from stp.core.errors import StpError
from stp.core.fingerprint import definitions_of
from stp.core.job import Interrupted, Job, Recipe, Report
from stp.core.lock import header_of, read_lock
from stp.core.project import place_of
from stp.core.receipts import Receipt, RecordedCode
from stp.data import chunk_sums, zarr_rows
from stp.data.known_checksums import KnownChecksums
from stp.plan import named_class
from stp.plan.artefacts import IDENTITY, Artefact, Raw
from stp.plan.cells import Plan
from stp.run import failures
from stp.run import progress as progress_lines
from stp.run.cluster import attempts, launch, slurm
from stp.run.cluster.signals import WARNING, Stop, handle_signals
from stp.run.cluster.site import Site
from stp.run.freed_memory import keep_freed_memory
from stp.run.read_audit import ReadAudit
from stp.run.readable_traceback import readable_import_error
from stp.run.source_changes import refuse_if_changed

REQUEUE_SECONDS = 300
"""Maximum seconds that a requeued job waits until Slurm ends it."""


def state_folder(plan: Plan, folder: str) -> Path:
    """Folder with the checkpoints and attempts of the job that writes a folder of the store.

    Args:
        plan: the plan, which knows the store.
        folder: path of the job's folder, relative to the store.
    """
    return plan.store / "state" / folder


def make(plan: Plan, artefact: Artefact, log: Path | None = None, **runtime: Any) -> Path:
    """Make an artefact (the folder of results of one job), unless it exists.

    Args:
        plan: plan of the artefact.
        artefact: artefact to make.
        log: path of a file for all progress lines and tracebacks; None for no file.
        runtime: settings without influence on the result; they override the configuration.

    Returns:
        the folder of the artefact in the store.

    Raises:
        StpError: an input is missing or damaged, the code changed, the disk is full, or the core
            raised this error.
        Interrupted: a signal stopped the core, which has saved its state.
    """
    final = plan.store / artefact.folder
    state = state_folder(plan, artefact.folder)
    with open_log(log) as log_file:
        lines = progress_lines.Progress(artefact.stage, artefact.label, plan, log_file, artefact)
        if store.adopt(final):
            lines.finish(adopted=True)
            return final
        resumable = artefact.is_resumable
        stop = Stop()
        try:
            with (
                handle_signals(resumable) as stop,
                warn_of_time_limit(resumable, stop),
                store.lease(state, lines.say, stop),
            ):
                if store.adopt(final):  # the previous holder of the lease made it
                    lines.finish(adopted=True)
                    return final
                with attempts.record_attempt(
                    state, plan.gpus(artefact), lambda: stop.reason
                ) as attempt:
                    _run_and_publish(plan, artefact, final, state, lines, runtime, attempt, stop)
        except Interrupted as saved:
            lines.say(f"{saved}, because of {stop.reason}")
            requeue(state, stop, lines)
            raise
        except Exception as error:
            if log_file is not None:
                traceback.print_exc(file=log_file)
            failures.record(state, artefact, readable_import_error(error) or error, log)
            if isinstance(error, OSError):
                raise disk_error(error, f"{artefact.stage} {artefact.label}") from error
            raise
        shutil.rmtree(state, ignore_errors=True)
        lines.finish()
        return final


def import_core(core: str) -> ModuleType:
    """Import the module that makes an artefact, without garbage collection, to save time.

    All objects that exist after the import are exempt from garbage collection until this process
    ends. A module that is imported already is returned as it is.

    Args:
        core: name of the module, such as ``stp.train.run``.
    """
    if core in sys.modules:
        return sys.modules[core]
    # With torch, these are a million objects: a job starts in three quarters of the time.
    gc.disable()
    try:
        return importlib.import_module(core)
    finally:
        gc.freeze()
        gc.enable()


def _run_and_publish(
    plan: Plan,
    artefact: Artefact,
    final: Path,
    state: Path,
    lines: progress_lines.Progress,
    runtime: dict[str, Any],
    attempt: attempts.Attempt,
    stop: Stop,
) -> None:
    lines.say("starts" + attempts.history(state))
    keep_freed_memory()
    inputs = {}
    for name, value in artefact.inputs.items():
        inputs[name] = plan.store / (value.lock if isinstance(value, Raw) else value.folder)
        _check_input(plan, inputs[name], artefact)
    started = time.time()
    store.remove_leftovers(final)
    temporary = store.temporary_folder(final)
    try:
        refuse_missing_code(artefact)
        job = Job(
            recipe=canonical_recipe(artefact),
            inputs=inputs,
            out=temporary,
            state=state,
            runtime={
                **plan.config.scale.runtime,
                **raw_roots(plan, artefact),
                **weight_files(plan, artefact),
                **runtime,
            },
            report=_both(lines.report, attempt.report),
            interrupted=stop,
        )
        extras = run_core(plan, artefact, job)
        if ranges := extras.get("range of values"):
            texts = (f"{name} {low:g} to {high:g}" for name, (low, high) in ranges.items())
            lines.say(f"values are {', '.join(texts)}")
        refuse_if_changed(plan, artefact)
        attempt.end(attempts.DONE)
        receipt = Receipt(
            stage=artefact.stage,
            path=artefact.folder,
            fingerprint=artefact.fingerprint,
            label=artefact.label,
            recipe=artefact.recipe,
            inputs={
                name: value.lock if isinstance(value, Raw) else value.folder
                for name, value in artefact.inputs.items()
            },
            code=RecordedCode(
                fingerprint=artefact.code.fingerprint,
                modules=dict(artefact.code.modules),
                definitions=definitions_of(artefact.code.modules, plan.source),
            ),
            provenance=replace(
                provenance.describe_machine(),
                started=started,
                finished=time.time(),
                seconds=time.time() - started,
            ),
            extras=extras,
            attempts=attempts.read(state),
        )
        zarr_rows.seal_arrays(temporary)
        if not store.publish(temporary, final, receipt):
            lines.say("another process was faster; its artefact is kept")
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def run_core(plan: Plan, artefact: Artefact, job: Job) -> Any:
    """Run a core (the function that makes an artefact) in the planned number of processes.

    Args:
        plan: plan of the artefact.
        artefact: artefact to make, which determines the core.
        job: recipe, inputs and folders, the only argument of the core.

    Returns:
        the return value of the core.

    Raises:
        StpError: the core reads an undeclared file, the bytecode of a module differs from its
            source, or the core raised this error.
    """
    audit = _audit(plan, artefact, job)
    core = audit.watch(lambda: import_core(artefact.core))
    bytecode.refuse_stale(artefact.code.modules)
    ranks = plan.ranks(artefact)
    if ranks > 1:
        return launch.run_ranks(core.__name__, job, ranks, audit)
    return audit.watch(lambda: core.run(job))


def _audit(plan: Plan, artefact: Artefact, job: Job) -> ReadAudit:
    """Make the audit of a core, which allows its code, the files of its job, and declared files."""
    raws = [value for value in artefact.inputs.values() if isinstance(value, Raw)]
    declared = [file for raw in raws for file in raw.declared.files]
    return ReadAudit(
        what=f"{artefact.stage} of {artefact.label}",
        modules=list(artefact.code.modules),
        folders=[
            *map(str, (job.out, job.state, *job.inputs.values())),
            *(str(KnownChecksums.of(plan.store / raw.lock).path) for raw in raws),
            *job.runtime.get("raw_roots", ()),
            *job.runtime.get("weights", {}).values(),
            *(file.path for file in declared if Path(file.path).is_absolute()),
            *map(str, named_class.package_of(artefact.recipe)),
        ],
        declared=[
            str(place_of(name, plan.source) / name) for name in artefact.recipe.get("reads", ())
        ],
        entries=[
            plan.config.declared.get(entry.rpartition("/")[2].removesuffix(".yaml"), entry)
            if entry.startswith("config/datasets/")
            else entry
            for entry in artefact.entries
        ],
        environment=artefact.recipe.get("environment", {}),
    )


def _of_generator(plan: Plan, raw: Raw) -> dict[str, Any]:
    """Arguments of a fetch for a generated release: audit of the generator, and folders."""
    assert raw.declared.generator is not None
    code = plan.code(named_modules.generator(raw.declared.generator))
    audit = ReadAudit(
        what=f"fetch of {raw.dataset} ({raw.release})",
        modules=list(code.modules),
        folders=[str(folder.parent) for folder in plan.raw_roots(raw)],
        declared=[str(place_of(name, plan.source) / name) for name in raw.reads],
        entries=[raw.place],
    )
    return {"watch": audit.watch, "beside": plan.nongenerated_roots}


@contextlib.contextmanager
def warn_of_time_limit(resumable: bool, stop: Stop) -> Iterator[None]:
    """Context manager: ask a training run to stop before Slurm kills it at the time limit.

    It checks the time limit itself, because Slurm's own warning may come before the training can
    handle it.

    Args:
        resumable: whether the job can be stopped and resumed; if not, nothing is done.
        stop: request to stop, which the job checks.
    """
    # Slurm's warning (sbatch --signal) is sent only once, and up to a minute early.
    job, over = slurm.job_id(), threading.Event()
    if job is None or not resumable:
        yield
        return

    def watch() -> None:
        left = slurm.seconds_left(job)
        while left is not None and not over.wait(max(0, left - Site.load().warning_seconds)):
            left = slurm.seconds_left(job)  # the limit may have been raised
            if left is not None and left <= Site.load().warning_seconds:
                stop.ask(WARNING)
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _both(first: Report, second: Report) -> Report:
    def report(what: str, done: int, total: int) -> None:
        first(what, done, total)
        second(what, done, total)

    return report


def requeue(state: Path, stop: Stop, lines: progress_lines.Progress) -> None:
    """Requeue the Slurm job of a training run that saved its state.

    This is done only if the job reached its time limit or is preempted, not if a user cancelled it.
    The artefact's lease (the claim of this process) must be released before, so that the restarted
    job need not wait for it. Snakemake sees a single job that waits and runs, and counts no retry.

    Args:
        state: state folder of the artefact.
        stop: request to stop, with its reason.
        lines: progress to which the outcome is printed.
    """
    job = slurm.job_id()
    if job is None:
        return
    if stop.reason != WARNING.name and not slurm.is_preempted(job):
        return
    budget, used = Site.load().requeues, attempts.count(state, attempts.REQUEUED)
    if used >= budget:
        lines.say(f"its {budget} restarts are used up (requeues in the site file)")
        return
    attempts.amend(state, attempts.REQUEUED, f"{stop.reason}, restart {used + 1} of {budget}")
    if slurm.requeue(job):
        lines.say(f"continues when Slurm restarts job {job} (restart {used + 1} of {budget})")
        time.sleep(REQUEUE_SECONDS)  # Slurm ends this process sooner
        return
    attempts.amend(state, attempts.SAVED, f"{stop.reason}; Slurm refused to restart it")


def refuse_missing_code(artefact: Artefact) -> None:
    """Refuse to run a job if a module that it needs (stage, model or reader) is missing.

    Raises:
        StpError: a module is missing.
    """
    for module, fingerprint in artefact.code.modules.items():
        if fingerprint == "missing":
            raise StpError(
                f"{module.replace('.', '/')}.py does not exist",
                expected=f"the code for {artefact.label}",
                remedy="write it, or remove the model or dataset from the scale file",
            )


def canonical_recipe(artefact: Artefact) -> dict[str, Any]:
    """The settings that a job gets: its recipe without keys that only name artefacts (`IDENTITY`).

    Keys are sorted, because fingerprints do not depend on their order.
    """
    recipe: Recipe = json.loads(json.dumps(artefact.recipe, sort_keys=True))
    return {key: value for key, value in recipe.items() if key not in IDENTITY}


def raw_roots(plan: Plan, artefact: Artefact) -> dict[str, Any]:
    """Make the runtime setting ``raw_roots``: the folders in which a job looks for raw files.

    Returns:
        ``{"raw_roots": [folder, ...]}``; empty for jobs that read no raw files.
    """
    for raw in artefact.inputs.values():
        if isinstance(raw, Raw):
            return {"raw_roots": [str(folder) for folder in plan.raw_roots(raw)]}
    return {}


def weight_files(plan: Plan, artefact: Artefact) -> dict[str, Any]:
    """Make the runtime setting ``weights``: paths of weights of networks that metrics use.

    Returns:
        ``{"weights": {network: path}}`` for features and perceptual scores; else empty.
    """
    if not artefact.is_perceptual and artefact.stage != "features":
        return {}
    return {"weights": {name: str(path) for name, path in plan.weight_files.items()}}


def _check_input(plan: Plan, path: Path, artefact: Artefact) -> None:
    if path.suffix == ".json":
        if not path.is_file():
            raise StpError(
                f"{path} is missing: the raw files have not been fetched",
                remedy="run `stp fetch` for this dataset",
            )
    elif store.is_dropped(path):
        store.call_back(plan.store, str(path.relative_to(plan.store)))
        raise StpError(
            f"{path}: {artefact.stage} of {artefact.label} needs data that were deleted",
            remedy="run snakemake again: the data are made again first",
        )
    elif not store.is_complete(path):
        raise StpError(
            f"{path}, which {artefact.stage} of {artefact.label} needs, is missing or damaged",
            remedy=f"run snakemake again; if it is damaged, delete it first: rm -r {path}",
        )
    else:
        store.check_input(path, chunk_sums.NAME)


def fetch(plan: Plan, raw: Raw, log: Path | None = None, accept_incomplete: bool = False) -> Path:
    """Find, download or generate the raw files of a release (version), and record their checksums.

    The lock of a user's own files is replaced by one of their current content, as long as no
    artefact was made from them.

    Args:
        plan: plan of the scale.
        raw: raw files of the release.
        log: path of a file for all progress lines and tracebacks; None for no file.
        accept_incomplete: whether to lock a release with missing files too.

    Returns:
        the path of the lock file.

    Raises:
        StpError: files are missing, or differ from their declaration or lock.
    """
    lock = plan.store / raw.lock
    with open_log(log) as log_file:
        lines = progress_lines.Progress("fetch", f"{raw.dataset} ({raw.release})", plan, log_file)
        lines.say("starts")
        if _may_be_locked_anew(plan, raw):
            lock.unlink(missing_ok=True)
        try:
            _fetching("raw").fetch(
                **_release(plan, raw),
                **(_of_generator(plan, raw) if raw.generated else {}),
                accept_incomplete=accept_incomplete,
                report=lines.report,
                settings=_download_settings(plan),
            )
        except Exception as error:
            if log_file is not None:
                traceback.print_exc(file=log_file)
            if isinstance(error, OSError):
                raise disk_error(error, f"fetch {raw.dataset}") from error
            raise
        lines.finish()
    return lock


def _may_be_locked_anew(plan: Plan, raw: Raw) -> bool:
    """Whether raw files are the user's own, completely locked, and not yet used by an artefact."""
    if raw.declared.source != "own" or raw.dataset not in plan.config.datasets:
        return False
    header = header_of(raw.dataset, raw.release, raw.declared.source)
    locked = read_lock(plan.store / raw.lock, header)
    prepared = (plan.store / plan.data(raw.dataset).folder).parent
    return locked is not None and not locked.incomplete and not any(prepared.glob("*"))


def check_raw(plan: Plan, raw: Raw) -> list[Any]:
    """Check which raw files of a release are present, missing or damaged, by checksum.

    Returns:
        a `stp.fetch.table.FileState` for each file.
    """
    lines = progress_lines.Progress("check", f"{raw.dataset} ({raw.release})", plan, None)
    try:
        return list(_fetching("raw").check(**_release(plan, raw), report=lines.report))
    finally:
        if lines.open_line:  # a line of a terminal is unfinished
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _fetching(module: str) -> ModuleType:
    """Import a module of `stp.fetch` by name, in the same way as cores."""
    return importlib.import_module(f"stp.fetch.{module}")


def _download_settings(plan: Plan) -> Any:
    """Settings of downloads, with the number of connections to one host (runtime.downloads)."""
    settings = _fetching("download").DownloadSettings
    connections = plan.config.scale.runtime.get("downloads", settings.connections)
    if not isinstance(connections, int) or connections < 1:
        raise StpError(
            f"runtime setting downloads is {connections!r}",
            expected="the number of connections to one host, 1 or more",
        )
    return settings(connections=connections)


def _release(plan: Plan, raw: Raw) -> dict[str, Any]:
    """Arguments of `stp.fetch.raw` that describe a release.

    Keys are sorted: the identity of a generated release does not depend on their order.
    """
    declared = raw.declared.model_dump(mode="json", exclude_none=True)
    return {
        "release": json.loads(json.dumps(declared, sort_keys=True)),
        "dataset": raw.dataset,
        "name": raw.release,
        "roots": plan.raw_roots(raw),
        "lock": plan.store / raw.lock,
        "registered": plan.config_lock_path(raw),
    }


@contextlib.contextmanager
def open_log(path: Path | None) -> Iterator[IO[str] | None]:
    """Context manager: open the log of a command for appending.

    Args:
        path: path of the file; None for no log.

    Yields:
        the open file; None without a path.
    """
    if path is None:
        yield None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        yield file
