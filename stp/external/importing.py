"""`stp external import`: predictions that were made elsewhere become a model of the plan."""

import hashlib
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from stp.core.disk import write_text, writing
from stp.core.errors import StpError
from stp.core.job import Report, silent
from stp.data.prepared import Clips, Prepared
from stp.external import sanity_checks
from stp.external.evaluation import Evaluation, planned
from stp.external.formats import NpyWriter
from stp.external.submitted import (
    EXPORT_AGAIN,
    Source,
    Windows,
    ZarrSource,
    check_form,
    complete,
    open_source,
    read_windows,
)
from stp.external.windows import DESCRIPTION, blocks, clips_of, prepared_data
from stp.plan import config as configuration
from stp.plan.artefacts import EXTERNAL
from stp.plan.cells import Plan
from stp.plan.checked_config import check
from stp.plan.config import Config
from stp.plan.model import Model, Submission
from stp.predict.agreement import Agreement, Copies
from stp.predict.windows import shown

NAME = re.compile("[a-z][a-z0-9_]*")
STATISTIC = "mean_of_members"
ABANDONED_SECONDS = 3600


class Statement(NamedTuple):
    """What the submitter says; None leaves what an earlier submission of the model said."""

    title: str | None = None
    reference: str | None = None
    training: str | None = None


class Imported(NamedTuple):
    """What an import did.

    Attributes:
        entry: the file of the model.
        submission: what was added to it.
        warnings: what looks odd, but was not refused.
        replaced: whether an older submission was there.
    """

    entry: Path
    submission: Submission
    warnings: list[str]
    replaced: bool


def without_external(config: Config) -> Config:
    """The configuration without models that live elsewhere: those may have no predictions yet."""
    dimensions = {
        dimension: wanted.model_copy(
            update={"models": tuple(m for m in wanted.models if config.models[m].fit != EXTERNAL)}
        )
        for dimension, wanted in config.scale.dimensions.items()
    }
    return config.model_copy(
        update={"scale": config.scale.model_copy(update={"dimensions": dimensions})}
    )


def import_predictions(
    plan: Plan,
    folder: Path,
    name: str,
    *,
    statement: Statement = Statement(),  # noqa: B008 (it is immutable)
    statistic: str | None = None,
    accept_values: bool = False,
    accept_order: bool = False,
    models: Path | None = None,
    report: Report = silent,
) -> Imported:
    """Check a submission, copy it into the raw folder, and enter it into the model's file.

    Nothing is written unless all is well.

    Args:
        plan: of the scale file whose windows were exported.
        folder: what came back.
        name: of the model, new or external.
        statement: title, reference, training.
        statistic: what metrics of one forecast make of several (stp/score/members.py).
        accept_values: import values that look like those of other units.
        accept_order: import samples that look misplaced.
        models: the folder of models' files.
        report: progress.

    Raises:
        StpError: the submission is incomplete, damaged, misaligned, implausible, or about other
            windows; naming the first sample.
    """
    entry = (models or configuration.CONFIG_FOLDER / "models") / f"{name}.yaml"
    model = _model(entry, name)
    windows = read_windows(folder)
    data = _check_evaluation(plan, folder, windows)
    clips = clips_of(data, windows.evaluation)
    target = plan.raw_folder / EXTERNAL
    with _temporary(target) as spool:
        source = open_source(folder, windows, spool)
        if source.samples is not None and len(source.samples) == source.shape[0]:
            complete(source.path, source.samples, len(windows.clips))
        members = check_form(source, windows)
        if members == 1 and statistic is not None:
            raise StpError(f"{source.path}: --statistic is for several members, here is one")
        copy = spool / "copy.npy"
        tables = sanity_checks.Tables(len(clips), windows.described)
        agreement, copies = Agreement(), Copies(members)
        seen = _Seen(tables, agreement, copies)
        _copy(source, windows, data, clips, copy, seen, accept_values, report)
        warnings = _judge(source, windows, clips, tables, accept_values, accept_order, report)
        notes = [note for note in (agreement.note(windows.clips), copies.note()) if note]
        warnings += notes
        kept = sorted(set(copies.first()))
        if len(kept) < members:
            copy = _only(copy, kept)
            members = len(kept)
        statistic = (statistic or STATISTIC) if members > 1 else None
        with copy.open("rb") as written:
            sha256 = hashlib.file_digest(written, "sha256").hexdigest()
        what = windows.evaluation
        entered = {
            **what._asdict(),
            "data": plan.recipes.prepare_digest(what.tested_on),
            "windows": windows.described["index_sha256"],
            "bytes": copy.stat().st_size,
            "sha256": sha256,
            "members": members,
            "statistic": statistic,
            "imported": datetime.now(UTC).date().isoformat(),
            "note": "; ".join(notes) or None,
        }
        entered = {key: value for key, value in entered.items() if value is not None}
        submission = check(Submission, entered, "stp external import")
        (file,) = submission.release.files
        with writing(plan.raw_folder / file.path):
            copy.replace(plan.raw_folder / file.path)
    replaced = _enter(entry, model, name, statement, submission)
    return Imported(entry, submission, warnings, replaced)


def _model(entry: Path, name: str) -> Model | None:
    """Read the model's file, if there is one.

    Raises:
        StpError: the name is no name, or that of a model of ours.
    """
    if not NAME.fullmatch(name):
        raise StpError(
            f"{name!r} is no name of a model",
            expected="small letters, digits and _, a letter first: it is a word in every path",
            remedy="choose another --model; --title is what tables show",
        )
    if not entry.exists():
        return None
    model = check(Model, configuration.read_yaml(entry), str(entry))
    if model.fit != EXTERNAL:
        raise StpError(
            f"{name} is a model of this repository ({entry})",
            expected="a name that no other model has",
            remedy="choose another --model",
        )
    return model


def _check_evaluation(plan: Plan, folder: Path, windows: Windows) -> Prepared:
    """Look whether the scale has the test that was predicted, and open its data."""
    wanted, path = windows.evaluation, folder / DESCRIPTION
    scale = plan.config.scale.scale
    if not wanted.dimension:
        raise StpError(
            f"{path}: these are windows of the {wanted.subset} split of {wanted.tested_on}, for "
            "training",
            expected="windows of a test",
            remedy="export those (`stp external windows`), and predict them",
        )
    there = list(planned(plan.config))
    if wanted not in there:
        same = [one for one in there if one.tested_on == wanted.tested_on]
        listed = "\n".join(_describe(one) for one in same or there)
        raise StpError(
            f"{path}: {_describe(wanted)} is not among the tests of the scale {scale}; first "
            f"sample: {windows.name(0)}",
            expected=f"one of\n{listed}",
            remedy=f"name the scale file of the export (it was {windows.described.get('scale')!r}) "
            "with --configfile",
        )
    data = prepared_data(plan, wanted.tested_on)
    described = windows.described
    here = {
        "shape": list(data.shape),
        "context": data.context,
        "units": str(data.attrs.get("units", "")),
        "horizon": wanted.horizon,
    }
    for key, value in here.items():
        if described.get(key) != value:
            raise StpError(
                f"{path}: {key} is {described.get(key)!r}; first sample: {windows.name(0)}",
                expected=f"{value!r}, as the scale and {data.folder} have it",
                remedy=EXPORT_AGAIN,
            )
    return data


def _describe(one: Evaluation) -> str:
    trained = "" if one.trained_on == one.tested_on else f" (trained on {one.trained_on})"
    part = "" if one.train_subset == "all" else f", {one.train_subset}"
    return f"{one.dimension}: {one.tested_on}{trained}{part}, {one.subset}, {one.setting}"


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """A folder beside the files, so that one in it can be renamed; gone at the end."""
    with writing(target):
        target.mkdir(parents=True, exist_ok=True)
        for left in target.glob(".import-*"):
            last = max(path.stat().st_mtime for path in (left, *left.iterdir()))
            if time.time() - last > ABANDONED_SECONDS:  # by an import that was killed
                shutil.rmtree(left, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=".import-", dir=target))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not any(target.iterdir()):
            target.rmdir()


class _Seen(NamedTuple):
    """What is gathered of predictions while they are read."""

    tables: sanity_checks.Tables
    agreement: Agreement
    copies: Copies


def _copy(
    source: Source,
    windows: Windows,
    data: Prepared,
    clips: Clips,
    copy: Path,
    seen: _Seen,
    accept_values: bool,
    report: Report,
) -> None:
    """Read everything once: compare windows, look at values, write the copy."""
    count, context = len(clips), data.context
    _check_count(windows, clips, data)
    order = source.samples or windows.order
    row_of = {sample: row for row, sample in enumerate(order)}
    names = [str(clip) for clip in clips.index["clip"]]
    row_bytes = 4 * int(np.prod(source.shape[1:]))
    with NpyWriter(copy, _canonical(source.shape)) as writer:
        for samples in blocks(count, row_bytes):
            frames = clips.read(samples, length=context + windows.evaluation.horizon)
            for sample, one in zip(samples, frames[:, :context], strict=True):
                if (names[sample], shown(one)) != (windows.clips[sample], windows.shown[sample]):
                    raise _other_window(windows, data, sample, names[sample])
            values = _read(source, windows, [row_of[sample] for sample in samples], samples)
            if isinstance(source, ZarrSource) and not accept_values:
                _first(source.holes(values), windows, samples, source.path, _HOLE)
            values = values.astype(np.float32)
            finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
            _first(~finite, windows, samples, source.path, _NOT_FINITE)
            writer.append(values)
            forecasts = values.reshape(len(values), -1, *values.shape[-4:])
            seen.tables.add(samples[0], forecasts, frames[:, context - 1], frames[:, context])
            seen.agreement.add(samples[0], forecasts, frames[:, max(0, context - 2) :])
            seen.copies.add(forecasts)
            report("samples checked and copied", samples[-1] + 1, count)


def _only(copy: Path, members: list[int]) -> Path:
    """Write the copy again, with some of its members."""
    every = np.load(copy, mmap_mode="r")
    shape = (len(every), len(members), *every.shape[2:])
    with NpyWriter(copy.with_name("distinct.npy"), _canonical(shape)) as writer:
        for rows in blocks(len(every), every[:1].nbytes):
            writer.append(every[rows.start : rows.stop, members])
    return copy.with_name("distinct.npy")


def _canonical(shape: tuple[int, ...]) -> tuple[int, ...]:
    """One member is no ensemble."""
    return (shape[0], *shape[2:]) if len(shape) == 6 and shape[1] == 1 else shape


_HOLE = (
    "has pictures that were never written, or got lost: some chunks of the array are missing",
    "all chunks (or an array that is created with write_empty_chunks, where they are all zero)",
    "copy or write it again; --accept-values takes what is missing for real",
)
_NOT_FINITE = ("has values that are not finite", "finite numbers", "mend the predictions")


def _first(
    bad: np.ndarray, windows: Windows, samples: range, path: Path, text: tuple[str, str, str]
) -> None:
    """Refuse the first bad sample."""
    if bad.any():
        what, expected, remedy = text
        name = windows.name(samples[int(bad.argmax())])
        raise StpError(f"{path}: {name} {what}", expected=expected, remedy=remedy)


def _check_count(windows: Windows, clips: Clips, data: Prepared) -> None:
    if len(clips) != len(windows.clips):
        first = min(len(clips), len(windows.clips))
        raise StpError(
            f"{len(windows.clips)} windows were predicted: sample {first} is the first that "
            f"{'is missing' if first < len(clips) else 'does not exist'}",
            expected=f"{len(clips)}, the clips of {data.folder}",
            remedy=EXPORT_AGAIN,
        )


def _other_window(windows: Windows, data: Prepared, sample: int, clip: str) -> StpError:
    there = windows.described
    return StpError(
        f"{windows.name(sample)}: the window that was predicted is not that of the prepared data "
        f"(clip {clip})",
        expected=f"the frames of {data.folder} (release {data.attrs.get('release')}); windows.json "
        f"is about release {there.get('release')}, fingerprint "
        f"{there.get('data', {}).get('fingerprint')}",
        remedy=EXPORT_AGAIN,
    )


def _read(source: Source, windows: Windows, rows: list[int], samples: range) -> np.ndarray:
    """Read some rows; damage names the first sample that it shows in."""
    try:
        return source.read(rows)
    except StpError:
        raise
    except Exception:  # damage shows in many ways
        for row, sample in zip(rows, samples, strict=True):
            try:
                source.read([row])
            except Exception as error:
                raise StpError(
                    f"{source.path}: {windows.name(sample)} cannot be read ({error})",
                    expected="whole files",
                    remedy="copy or write them again",
                ) from error
        raise


def _judge(
    source: Source,
    windows: Windows,
    clips: Clips,
    tables: sanity_checks.Tables,
    accept_values: bool,
    accept_order: bool,
    report: Callable[[str, int, int], None],
) -> list[str]:
    """Refuse what is most likely a mistake; say what is odd."""
    warnings = []
    problem = sanity_checks.units(tables, sanity_checks.channel_names(windows.described))
    if problem is not None:
        what = f"{windows.name(problem.sample)} has {problem.what}{_more(problem.others)}"
        if not accept_values:
            raise StpError(
                f"{source.path}: {what}",
                expected=f"values in the units of the context, {windows.described['units']!r}",
                remedy=f"{problem.remedy}; --accept-values, if they are right",
            )
        warnings.append(what)
    length = clips.prepared.context + windows.evaluation.horizon
    starts, strides = (clips.index[key].to_numpy(np.int64) for key in ("start", "stride"))
    problem = sanity_checks.order(tables, starts, starts + (length - 1) * strides + 1, report)
    if problem is not None:
        what = f"the forecast of {windows.name(problem.sample)} {problem.what}"
        what += _more(problem.others)
        if sanity_checks.is_misplaced(problem, len(clips)) and not accept_order:
            raise StpError(
                f"{source.path}: {what}",
                expected="each forecast in the row of its own window",
                remedy=f"{problem.remedy}; --accept-order, if they are right",
            )
        warnings.append(what)
    return warnings


def _more(others: int) -> str:
    return f"; so have {others} more samples" if others else ""


def _enter(
    entry: Path, model: Model | None, name: str, said: Statement, submission: Submission
) -> bool:
    """Write the model's file; says whether the submission replaces an older one."""
    old = model or Model(title=name, reference="not stated", fit="external")
    kept = [one for one in old.submissions if one.cell != submission.cell]
    content: dict[str, Any] = {
        "title": said.title or old.title,
        "reference": said.reference or old.reference,
        "fit": EXTERNAL,
    }
    training = said.training or old.training
    content |= {"training": training} if training else {}
    submissions = sorted([*kept, submission], key=lambda one: one.cell)
    content["submissions"] = [
        {key: value for key, value in one.model_dump().items() if value not in (None, "")}
        for one in submissions
    ]
    head = "# Predictions that were made elsewhere: written by `stp external import`.\n"
    with writing(entry):
        write_text(entry, head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    return len(kept) < len(old.submissions)
