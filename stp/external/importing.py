"""Import predictions that were made elsewhere as a model of the plan (`stp external import`)."""

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from stp.core.disk import write_text, writing
from stp.core.errors import FileError, StpError
from stp.core.job import Report, report_nothing
from stp.core.receipts import checksum
from stp.data.prepared import Clips, Prepared
from stp.external import sanity_checks
from stp.external.evaluation import Evaluation, planned_evaluations
from stp.external.formats import NpyWriter
from stp.external.layout import LayoutCheck, Mistake, compare_coordinates, coordinate_names
from stp.external.submitted import (
    AGAIN,
    EXPORT_AGAIN,
    ExportedWindows,
    Source,
    ZarrSource,
    check_form,
    open_source,
    read_windows,
    require_complete,
)
from stp.external.windows import DESCRIPTION, clips_of, coordinates_of, sample_ranges
from stp.inspect.counts import prepared_folder
from stp.plan import config as configuration
from stp.plan.artefacts import EXTERNAL
from stp.plan.cells import Plan
from stp.plan.checked_config import check
from stp.plan.config import Config
from stp.plan.model import Model, Submission
from stp.predict.agreement import Agreement, Copies
from stp.predict.windows import window_checksum

NAME = re.compile("[a-z][a-z0-9_]*")
STATISTIC = "mean_of_members"
ABANDONED_SECONDS = 3600


class Statement(NamedTuple):
    """What a submitter says of a model; None keeps what an earlier submission said.

    Attributes:
        title: title of the model in tables. Without any, it is the name of the model.
        reference: source of the predictions, as a paper or a URL. Without any, it is
            "not stated".
        training: data that the model was trained on, in the words of the submitter.
    """

    title: str | None = None
    reference: str | None = None
    training: str | None = None


class Imported(NamedTuple):
    """The result of an import of predictions.

    Attributes:
        entry: path of the model's configuration file, ``<name>.yaml``.
        submission: record of the submission that was added to this file.
        warnings: texts about suspicious properties that were accepted.
        replaced: whether the submission replaces an older one.
    """

    entry: Path
    submission: Submission
    warnings: list[str]
    replaced: bool


def without_external(config: Config) -> Config:
    """Copy a configuration without the external models, which may have no predictions yet."""
    dimensions = {
        name: dimension.model_copy(
            update={
                "models": tuple(m for m in dimension.models if config.models[m].fit != EXTERNAL)
            }
        )
        for name, dimension in config.scale.dimensions.items()
    }
    scale = config.scale.model_copy(update={"dimensions": dimensions})
    return config.model_copy(update={"scale": scale})


def import_predictions(
    plan: Plan,
    folder: Path,
    name: str,
    *,
    statement: Statement = Statement(),  # noqa: B008 (it is immutable)
    statistic: str | None = None,
    accept_values: bool = False,
    accept_order: bool = False,
    accept_layout: bool = False,
    models: Path | None = None,
    report: Report = report_nothing,
) -> Imported:
    """Check a submission (predictions made elsewhere), and add it to a model of the plan.

    The submission is copied into the folder of raw files, and recorded in the configuration of the
    model.
    Nothing is written unless all checks pass.

    Args:
        plan: plan of the scale file whose windows were exported.
        folder: folder of the submission.
        name: name of a new or existing external model.
        statement: title, reference and training of the model, as its submitter states them.
        statistic: how several forecasts (members) of a sample are scored: mean_of_members,
            ensemble_mean or best_of_members; None for mean_of_members, or if there is a single
            forecast.
        accept_values: whether to import values that seem to have other units.
        accept_order: whether to import forecasts that seem to belong to other samples.
        accept_layout: whether to import frames that seem reversed, rolled, transposed or early.
        models: folder of the model files; None for ``config/models``.
        report: callback for the progress.

    Raises:
        StpError: the submission is incomplete, damaged, misaligned, implausible, or made from other
            windows, and the message names the first such sample; or the name is that of another
            model, or ``statistic`` is given for a single forecast.
    """
    entry = (models or configuration.CONFIG_FOLDER / "models") / f"{name}.yaml"
    model = _model(entry, name)
    windows = read_windows(folder)
    clips = clips_of(_check_evaluation(plan, folder, windows), windows.evaluation)
    coordinates = coordinates_of(clips.prepared, len(clips), windows.evaluation.horizon)
    target = plan.raw_folder / EXTERNAL
    with _temporary(target) as spool:
        source = open_source(folder, windows, spool, coordinate_names(coordinates))
        if source.samples is not None and len(source.samples) == source.shape[0]:
            clips_by_sample = dict(enumerate(windows.clips))
            require_complete(source.path, source.samples, len(windows.clips), clips_by_sample)
        members = check_form(source, windows)
        if members == 1 and statistic is not None:
            raise StpError(f"{source.path}: --statistic is for several members, here is one")
        copy, copies = spool / "copy.npy", Copies(members)
        tables, agreement, layout = _copy(
            source, windows, clips, copy, copies, accept_values, report
        )
        mistakes = [compare_coordinates(source, coordinates), layout.mistake()]
        accepted = [_accept(source, mistake, accept_layout) for mistake in mistakes if mistake]
        warnings = _judge(source, windows, clips, tables, accept_values, accept_order, report)
        notes = [note for note in (agreement.note(windows.clips), copies.note()) if note]
        notes = [f"ACCEPTED AS IT IS: {problem}" for problem in accepted] + notes
        warnings += notes
        distinct = sorted(set(copies.first()))
        if len(distinct) < members:
            copy = _keep_members(copy, distinct)
            members = len(distinct)
        evaluation = windows.evaluation
        entry_values = {
            **evaluation._asdict(),
            "data": plan.recipes.prepare_digest(evaluation.tested_on),
            "windows": windows.description["index_sha256"],
            "bytes": copy.stat().st_size,
            "sha256": checksum(copy),
            "members": members,
            "statistic": (statistic or STATISTIC) if members > 1 else None,
            "note": "; ".join(notes) or None,
        }
        entry_values = {key: value for key, value in entry_values.items() if value is not None}
        submission = check(Submission, entry_values, "stp external import")
        (file,) = submission.release.files
        with writing(plan.raw_folder / file.path):
            copy.replace(plan.raw_folder / file.path)
    replaced = _write_entry(entry, model, name, statement, submission)
    return Imported(entry, submission, warnings, replaced)


def _model(entry: Path, name: str) -> Model | None:
    """Read the file of a model; None if there is no file."""
    if not NAME.fullmatch(name):
        raise StpError(
            f"{name!r} cannot be the name of a model",
            expected="small letters, digits and _, a letter first",
            remedy="choose another --model; --title is what tables show",
        )
    if not entry.exists():
        return None
    model = check(Model, configuration.read_yaml(entry), str(entry))
    if model.fit != EXTERNAL:
        raise StpError(f"{name} is a model of this repository ({entry})", remedy="choose another")
    return model


def _check_evaluation(plan: Plan, folder: Path, windows: ExportedWindows) -> Prepared:
    evaluation, path = windows.evaluation, folder / DESCRIPTION
    scale = plan.config.scale.scale
    if not evaluation.dimension:
        raise StpError(
            f"{path}: these are training windows, the {evaluation.subset} split of "
            f"{evaluation.tested_on}",
            remedy=EXPORT_AGAIN,
        )
    evaluations = list(planned_evaluations(plan.config))
    if evaluation not in evaluations:
        same = [other for other in evaluations if other.tested_on == evaluation.tested_on]
        listed = "\n".join(map(_describe, same or evaluations))
        raise StpError(
            f"{path}: {_describe(evaluation)} is not among the tests of the scale {scale}; first "
            f"sample: {windows.name(0)}",
            expected=f"one of\n{listed}",
            remedy="name the scale file of the export with --configfile (it was "
            f"{windows.description.get('scale')!r})",
        )
    data = Prepared(prepared_folder(plan, evaluation.tested_on))
    description = windows.description
    expected = {
        "shape": list(data.shape),
        "context": data.context,
        "units": str(data.attrs.get("units", "")),
        "horizon": evaluation.horizon,
    }
    for key, value in expected.items():
        if description.get(key) != value:
            raise StpError(
                f"{path}: {key} is {description.get(key)!r}; first sample: {windows.name(0)}",
                expected=f"{value!r}, as the scale and {data.folder} have it",
                remedy=EXPORT_AGAIN,
            )
    return data


def _describe(evaluation: Evaluation) -> str:
    differs = evaluation.trained_on != evaluation.tested_on
    trained = f" (trained on {evaluation.trained_on})" if differs else ""
    part = "" if evaluation.train_subset == "all" else f", {evaluation.train_subset}"
    test = f"{evaluation.tested_on}{trained}{part}, {evaluation.subset}, {evaluation.setting}"
    return f"{evaluation.dimension}: {test}"


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Context manager: make a temporary folder on the file system of ``target``, for renaming."""
    with writing(target):
        target.mkdir(parents=True, exist_ok=True)
        for leftover in target.glob(".import-*"):
            last = max(path.stat().st_mtime for path in (leftover, *leftover.iterdir()))
            if time.time() - last > ABANDONED_SECONDS:  # by an import that was killed
                shutil.rmtree(leftover, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=".import-", dir=target))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not any(target.iterdir()):
            target.rmdir()


def _copy(
    source: Source,
    windows: ExportedWindows,
    clips: Clips,
    copy: Path,
    copies: Copies,
    accept_values: bool,
    report: Report,
) -> tuple[sanity_checks.SampleStatistics, Agreement, LayoutCheck]:
    """Read all predictions once: compare windows, gather statistics, write the copy."""
    count, context, data = len(clips), clips.prepared.context, clips.prepared
    tables, agreement = sanity_checks.SampleStatistics(count, windows.description), Agreement()
    layout = LayoutCheck(count, data.shape, sanity_checks.channel_names(windows.description))

    def refuse(bad: np.ndarray, problem: str, remedy: str = "") -> None:
        if bad.any():
            name = windows.name(samples[int(bad.argmax())])
            raise FileError(source.path, f"{name} has {problem}", remedy=remedy)

    if count != len(windows.clips):
        raise StpError(
            f"{len(windows.clips)} windows were predicted",
            expected=f"{count}, the clips of {data.folder}",
            remedy=EXPORT_AGAIN,
        )
    order = source.samples or windows.order
    row_of = {sample: row for row, sample in enumerate(order)}
    names = [str(clip) for clip in clips.index["clip"]]
    row_bytes = 4 * int(np.prod(source.shape[1:]))
    with closing(NpyWriter(copy, _canonical(source.shape))) as writer:
        for samples in sample_ranges(count, row_bytes):
            frames = clips.read(samples, length=context + windows.evaluation.horizon)
            for sample, context_frames in zip(samples, frames[:, :context], strict=True):
                expected = windows.clips[sample], windows.checksums[sample]
                if (names[sample], window_checksum(context_frames)) != expected:
                    raise _other_window(windows, data, sample, names[sample])
            values = _read(source, windows, [row_of[sample] for sample in samples], samples)
            if isinstance(source, ZarrSource) and not accept_values:
                refuse(source.holes(values), "frames in missing chunks", _WRITE_EMPTY)
            values = values.astype(np.float32)
            finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
            refuse(~finite, "values that are not finite")
            writer.append(values)
            forecasts = values.reshape(len(values), -1, *values.shape[-4:])
            latest, truth = frames[:, context - 1], frames[:, context]
            tables.add(samples[0], forecasts, latest, truth)
            last = frames[:, context + forecasts.shape[2] - 1]
            layout.add(samples[0], forecasts, truth, latest, last)
            agreement.add(samples[0], forecasts, frames[:, max(0, context - 2) :])
            copies.add(forecasts)
            report("samples checked and copied", samples[-1] + 1, count)
    return tables, agreement, layout


def _keep_members(copy: Path, members: list[int]) -> Path:
    array = np.load(copy, mmap_mode="r")
    shape = (len(array), len(members), *array.shape[2:])
    with closing(NpyWriter(copy.with_name("distinct.npy"), _canonical(shape))) as writer:
        for rows in sample_ranges(len(array), array[:1].nbytes):
            writer.append(array[rows.start : rows.stop, members])
    return copy.with_name("distinct.npy")


def _canonical(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of predictions, without the axis of members if there is only one."""
    return (shape[0], *shape[2:]) if len(shape) == 6 and shape[1] == 1 else shape


_WRITE_EMPTY = (
    "copy or write it again (with write_empty_chunks, where all values are zero); --accept-values "
    "takes missing chunks as they read"
)


def _other_window(windows: ExportedWindows, data: Prepared, sample: int, clip: str) -> StpError:
    description = windows.description
    return StpError(
        f"{windows.name(sample)}: the window that was predicted is not that of the prepared data "
        f"(clip {clip})",
        expected=f"the frames of {data.folder} (release {data.attrs.get('release')}); windows.json "
        f"is about release {description.get('release')}, fingerprint "
        f"{description.get('data', {}).get('fingerprint')}",
        remedy=EXPORT_AGAIN,
    )


def _read(source: Source, windows: ExportedWindows, rows: list[int], samples: range) -> np.ndarray:
    """Read some rows; the error names the first damaged sample."""
    try:
        return source.read(rows)
    except StpError:
        raise
    except Exception:  # damage shows in many ways
        for row, sample in zip(rows, samples, strict=True):
            try:
                source.read([row])
            except Exception as error:
                problem = f"{windows.name(sample)} cannot be read ({error})"
                raise FileError(source.path, problem, remedy=AGAIN) from error
        raise


def _accept(source: Source, mistake: Mistake, is_accepted: bool) -> str:
    """The description of a mistake of the layout that the user accepts."""
    if not is_accepted:
        raise FileError(
            source.path,
            mistake.what,
            expected=mistake.expected,
            remedy=f"{mistake.remedy}; --accept-layout, if they are right",
        )
    return mistake.what


def _judge(
    source: Source,
    windows: ExportedWindows,
    clips: Clips,
    tables: sanity_checks.SampleStatistics,
    accept_values: bool,
    accept_order: bool,
    report: Callable[[str, int, int], None],
) -> list[str]:
    warnings = []
    problem = sanity_checks.find_unit_mistake(
        tables, sanity_checks.channel_names(windows.description)
    )
    if problem is not None:
        text = f"{windows.name(problem.sample)} has {problem.what}{_more(problem.others)}"
        if not accept_values:
            raise StpError(
                f"{source.path}: {text}",
                expected=f"values in the units of the context, {windows.description['units']!r}",
                remedy=f"{problem.remedy}; --accept-values, if they are right",
            )
        warnings.append(text)
    if (problem := sanity_checks.find_blank(tables)) is not None:
        text = f"{windows.name(problem.sample)} has {problem.what}{_more(problem.others)}"
        warnings.append(f"{text}: {problem.remedy}, unless that is the forecast")
    length = clips.prepared.context + windows.evaluation.horizon
    starts, strides = (clips.index[key].to_numpy(np.int64) for key in ("start", "stride"))
    problem = sanity_checks.find_misplaced(
        tables, starts, starts + (length - 1) * strides + 1, report
    )
    if problem is not None:
        text = f"the forecast of {windows.name(problem.sample)} {problem.what}"
        text += _more(problem.others)
        if sanity_checks.is_wrong_order(problem, len(clips)) and not accept_order:
            raise StpError(
                f"{source.path}: {text}",
                expected="each forecast in the row of its own window",
                remedy=f"{problem.remedy}; --accept-order, if they are right",
            )
        warnings.append(text)
    return warnings


def _more(others: int) -> str:
    if others == 1:
        return "; so has 1 more sample"
    return f"; so have {others} more samples" if others else ""


def _write_entry(
    entry: Path, model: Model | None, name: str, statement: Statement, submission: Submission
) -> bool:
    """Write the file of a model; return whether the submission replaces an older one."""
    old = model or Model(title=name, reference="not stated", fit="external")
    others = [other for other in old.submissions if other.cell != submission.cell]
    content: dict[str, Any] = {
        "title": statement.title or old.title,
        "reference": statement.reference or old.reference,
        "fit": EXTERNAL,
    }
    training = statement.training or old.training
    content |= {"training": training} if training else {}
    submissions = sorted([*others, submission], key=lambda each: each.cell)
    content["submissions"] = [
        {key: value for key, value in each.model_dump().items() if value not in (None, "")}
        for each in submissions
    ]
    head = "# Predictions that were made elsewhere: written by `stp external import`.\n"
    with writing(entry):
        write_text(entry, head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    return len(others) < len(old.submissions)
