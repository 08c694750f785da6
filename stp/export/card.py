"""Write the model card (README.md) of a bundle: a model's scores, with files that explain them."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from stp.core.lock import COUNTS
from stp.core.units import duration
from stp.export.cite import Citation
from stp.export.contents import Checkpoint, Contents, ResultRow, Training
from stp.export.lineage import commits, environments
from stp.export.references import format_reference
from stp.page.data_origin import count_kinds
from stp.page.digits import digits
from stp.plan.checked_config import CONFIG_FOLDER

FITS = {
    "none": "nothing is trained",
    "closed_form": "one pass over the training data",
    "sgd": "trained by gradient descent",
    "calibrate": "a search over parameters",
    "read": "nothing is trained here: forecasts are read from an archive",
    "external": "runs elsewhere: only its predictions were scored here",
}
FILES = {
    "scores.parquet, scores.csv": "every value in every convention and lead time, with interval "
    "and n; columns as in the views `overall` and `by_lead` of a results store",
    "sample_scores.parquet": "the scores of every test sample",
    "conventions.csv": "what each convention means, its unit and direction",
    "cells.csv": "every evaluation: origin of its data, protocol, fingerprints of its artefacts",
    "receipts.json": "receipts of all artefacts behind the scores: recipe, inputs, code, versions, "
    "times, checksums; without accounts, machines and paths",
    "raw_files.csv": "the raw files that all data were prepared from, with SHA-256",
    "configuration.yaml": "the recipe of every artefact",
    "training_protocol.csv": "every setting of the trainings beside the printed one",
    "checkpoints.csv": "trained models: path in the store, size, SHA-256, fingerprint",
    "checkpoints/": "the trained models themselves",
    "environment.json, constraints.txt": "versions and devices that made the artefacts; the pins "
    "of the checkout that exported this",
    "CITATION.bib, CITATION.md": "what to cite",
    "MANIFEST.json": "every file with its SHA-256; `stp store export --check` verifies it",
}


def card(
    contents: Contents,
    citations: Sequence[Citation],
    checkpoints: Sequence[Checkpoint],
    *,
    with_samples: bool,
    with_checkpoints: bool,
) -> str:
    """Text of the model card, in Markdown.

    Args:
        contents: scores, training runs and missing values of the model.
        citations: works to cite for the results.
        checkpoints: files of the trained models.
        with_samples: whether the bundle has the scores of every test sample.
        with_checkpoints: whether the bundle has the trained models themselves.
    """
    left_out = set() if with_samples else {"sample_scores.parquet"}
    left_out |= set() if with_checkpoints else {"checkpoints/"}
    sections = {
        "The model": _model(contents, citations),
        "Training": _training(contents, checkpoints),
        "Results": _results(contents),
        "What is missing": _missing_lines(contents),
        "Licences and citations": _licences(citations),
        "How to reproduce each number": _reproduce(contents),
    }
    lines = [f"# {contents.model.title}", "", *_warning(contents)]
    for title, section in sections.items():
        lines += [f"## {title}", "", *section, ""]
    lines += ["## Files", ""]
    lines += [f"- `{name}`: {content}" for name, content in FILES.items() if name not in left_out]
    return "\n".join(lines) + "\n"


def _warning(contents: Contents) -> list[str]:
    kinds = [f"{cell.source} data, {cell.protocol} protocol" for cell in contents.cells]
    origins = count_kinds(kinds, "evaluations")
    if contents.comparable == len(contents.cells):
        return ["Official data under the paper's protocol throughout.", ""]
    if contents.comparable:
        other = len(contents.cells) - contents.comparable
        return [
            f"> **{other} of {len(contents.cells)} evaluations are NOT COMPARABLE with published "
            f"values**: {origins}. Each row names the origin of its data.",
            "",
        ]
    return [
        f"> **NOT COMPARABLE with published values: {origins}.**",
        "",
    ]


def _model(contents: Contents, citations: Sequence[Citation]) -> Iterable[str]:
    model = contents.model
    yield f"- name: `{model.model}`"
    yield f"- reference: {model.reference or 'not stated'}"
    for citation in citations:
        if citation.subject.kind == "model":
            yield from (f"  - {format_reference(work)}" for work in citation.works.values())
    yield f"- fit: {FITS.get(model.fit or '', model.fit or 'unknown')}"
    sizes = sorted(
        {
            training.receipt.extras["parameters"]
            for training in contents.trainings
            if training.receipt.extras.get("parameters")
        }
    )
    if sizes:
        least, most = f"{sizes[0]:,}", f"{sizes[-1]:,}"
        yield f"- size: {least if least == most else f'{least} to {most}'} parameters" + (
            "" if least == most else ", by dataset"
        )
    elif model.fit == "external":
        yield "- size: unknown"
    else:
        yield "- size: no network, no parameters"
    variants = sorted({cell.variant for cell in contents.cells} - {"default"})
    if variants:
        yield f"- variants: {', '.join(variants)}"
    yield f"- scale of the runs: {', '.join(contents.scales)}"
    yield f"- data of the tests: {', '.join(contents.sources)}"


def _training(contents: Contents, checkpoints: Sequence[Checkpoint]) -> Iterable[str]:
    if not contents.trainings:
        if contents.model.fit == "external":
            yield "It was trained elsewhere; only its predictions are known here."
        else:
            yield "Nothing is trained."
        return
    yield from _table(
        ["trained on", "seed", "data", "parameters", "trained for", "time", "device", "deviations"],
        [_training_row(contents, training) for training in contents.trainings],
    )
    yield ""
    if any(training.published for training in contents.trainings):
        differing = sum(bool(training.deviations) for training in contents.trainings)
        printed = sum(training.published is not None for training in contents.trainings)
        yield (
            "The column *deviations* lists differences from the settings that the suite's paper "
            f"prints: {differing} of {printed} printed trainings deviate. "
            "`training_protocol.csv` has all settings."
        )
        yield ""
    size = sum(row.bytes for row in checkpoints)
    yield (
        f"Checkpoints: {len(checkpoints)} files, {size / 1e6:.1f} MB; `checkpoints.csv` lists "
        "each with size, SHA-256 and fingerprint."
    )


def _training_row(contents: Contents, training: Training) -> list[str]:
    receipt = training.receipt
    extras, provenance, recipe = receipt.extras, receipt.provenance, receipt.recipe
    train = recipe.get("train") or {}
    if train.get("epochs"):
        length = f"{train['epochs']} epochs"
    elif train.get("iterations"):
        length = f"{train['iterations']:,} iterations"
    else:
        length = "one pass"
    data = contents.lineage.receipts.get(receipt.inputs.get("data", ""))
    source = (data.recipe.get("source") if data else None) or "unknown"
    where = training.dataset
    where += "" if training.subset == "all" else f" ({training.subset})"
    if training.published is None:
        deviations = "not printed in the paper" if training.settings else "–"
    else:
        deviations = ", ".join(training.deviations) or "as printed"
    seconds = provenance.seconds
    parameters = extras.get("parameters")
    return [
        where,
        "–" if recipe.get("seed") is None else str(recipe["seed"]),
        source,
        f"{parameters:,}" if parameters else "–",
        length,
        "unknown" if seconds is None else duration(seconds),
        provenance.device or "unknown",
        deviations,
    ]


def _results(contents: Contents) -> Iterable[str]:
    yield (
        "Columns of the paper's tables: means over test samples and lead times, then over seeds; "
        "in brackets the 95 % interval over clusters of test clips (of several seeds the mean of "
        "their bounds; sd is the standard deviation over seeds). n: test samples. The rank is "
        "among all models of the store in the same evaluation, in brackets its 95 % confidence "
        "set, from paired tests of all of them. A difference from the printed value is given only "
        "for official data under the paper's protocol. `scores.csv` has all "
        "conventions and lead times."
    )
    for title, rows in groupby(contents.results, lambda row: row.title):
        yield f"\n### {title}\n"
        yield from _table(
            ["test", "metric", "value", "95 % interval", "n", "rank", "printed", "data"],
            [_result_row(row) for row in rows],
        )


def _result_row(row: ResultRow) -> list[str]:
    value = "–" if row.value is None else digits(row.value)
    if row.value is not None and row.seed_sd is not None:
        value += f" (sd {digits(row.seed_sd)} of {row.seeds} seeds)"
    if row.low is not None and row.high is not None:
        interval = f"[{digits(row.low)}, {digits(row.high)}]"
    else:
        interval = row.reason or "–"
    printed = "–" if row.published is None else digits(row.published)
    if row.difference is not None:
        printed += f" (difference {row.difference:+.4g})"
    origin = f"{row.source}, {row.protocol} protocol"
    if not row.comparable:
        origin += ", NOT COMPARABLE"
    elif row.bytes_known_by == COUNTS:
        origin += ", known by counts"
    return [
        row.tested,
        f"{row.metric} (`{row.convention}`)",
        value,
        interval,
        "–" if row.n is None else str(row.n),
        _rank(row),
        printed,
        origin + (", leaky split" if row.leaky else ""),
    ]


def _rank(row: ResultRow) -> str:
    if row.rank is None:
        return "–"
    low, high = row.rank_low, row.rank_high
    between = "" if low is None or high is None else f" [{low}, {high}]"
    return f"{row.rank} of {row.ranked}{between}"


def _missing_lines(contents: Contents) -> Iterable[str]:
    nothing = True
    for row in contents.without_value:
        nothing = False
        cells = "1 evaluation" if row.cells == 1 else f"{row.cells} evaluations"
        yield f"- no value in {cells}: `{row.conventions}`: {row.reason}"
    for cell in contents.planned:
        nothing = False
        seed = "" if cell.seed is None else f", seed {cell.seed}"
        why = f" ({cell.detail})" if cell.detail else ""
        yield (
            f"- planned, without scores: {cell.dimension}, {cell.tested}, {cell.setting}"
            f"{seed}: {cell.stage} {cell.how}{why}"
        )
    for absent in contents.not_evaluated:
        nothing = False
        yield f"- in the paper, but not in this store: {absent.dimension}: {absent.tests}"
    if any(lock is None for lock in contents.lineage.locks.values()):
        nothing = False
        gone = [path for path, lock in contents.lineage.locks.items() if lock is None]
        yield f"- checksums of raw files, whose lists are missing: {', '.join(gone)}"
    if nothing:
        yield "Nothing: every planned evaluation has all of its values."


def _licences(citations: Sequence[Citation]) -> Iterable[str]:
    yield "The data are not in this bundle. Their licences, as far as they are known:"
    yield ""
    for citation in citations:
        subject = citation.subject
        if subject.kind == "dataset":
            origin = f"; data of the tests: {subject.origin}" if subject.origin else ""
            yield f"- **{subject.title}**: {subject.licence or 'licence not stated'}{origin}"
            yield from (f"  - {format_reference(work)}" for work in citation.works.values())
            if not citation.works:
                yield "  - no work to cite is stated"
    yield ""
    yield "`CITATION.bib` has these, the model, the benchmark and the metrics as BibTeX."


def _reproduce(contents: Contents) -> Iterable[str]:
    made_by = commits(contents.lineage)
    hashes = [commit for commit in made_by if commit]
    if hashes:
        listed = ", ".join(f"`{commit}`" for commit in hashes)
        yield f"The artefacts were made by commit {listed}."
    if any(commit.endswith("-dirty") for commit in hashes):
        yield "A commit that ends in `-dirty` had uncommitted changes: `receipts.json` has the"
        yield "digests of its code."
    if "" in made_by:
        which = "Some" if hashes else "They"
        yield f"{which} were made outside a git checkout: `receipts.json` has the digests of the"
        yield "code."
    devices = sorted({str(machine["device"]) for machine in environments(contents.lineage)})
    yield f"Devices: {', '.join(devices)}; versions: `environment.json`."
    yield ""
    yield "In a checkout of that code, each of these makes the scores of one evaluation (a line"
    yield "of `cells.csv`) from the raw files (`raw_files.csv`). The path ends with the"
    yield "fingerprint of code, recipe and data: where one of them differs, Snakemake has no"
    yield "rule for the path, and `stp why` names the difference."
    yield ""
    yield "```sh"
    for cell in contents.cells:
        scale = cell.scale
        file = f"config/{scale}.yaml"
        if not (CONFIG_FOLDER / f"{scale}.yaml").is_file():
            file = "SCALE_FILE"
        receipts = contents.lineage.receipts.values()
        for scores in (cell.scores_fingerprint, cell.perceptual_fingerprint):
            paths = [
                receipt.path
                for receipt in receipts
                if receipt.stage == "score" and receipt.fingerprint == scores
            ]
            for path in paths:
                yield (
                    f"snakemake --profile local --configfile {file} -- "
                    f'"${{STP_STORE_DIR:-$PWD/results/store}}/{path}/artefact.json"'
                )
    yield "```"
    if any(not (CONFIG_FOLDER / f"{scale}.yaml").is_file() for scale in contents.scales):
        yield ""
        yield "The scale file is not part of the project; `configuration.yaml` has its settings."


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"
