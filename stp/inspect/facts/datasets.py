"""Compare sizes of datasets and numbers of clips with printed ones, such as Table 1 of PredBench.

Our numbers are those of the official data, and those of the data that were prepared on this
machine.
"""

from collections.abc import Iterable, Iterator

from stp.inspect import counts
from stp.inspect.facts.fact import Fact, Facts, protocol_of, read_printed_rows, translate_name
from stp.plan.cells import Plan
from stp.plan.checked_config import Strict, check
from stp.plan.config import Config
from stp.plan.dataset import Dataset
from stp.plan.suite import FactSource
from stp.prepare.output import SPLITS


class Size(Strict):
    """Where to find our and the printed value of a size of datasets, such as the horizon.

    Attributes:
        ours: field of the dataset's configuration that has our value, such as ``shape``; or, if
            `dimension` is given, key of a setting that has it, such as ``horizon``.
        dimension: name of the dimension whose cells have this setting, such as ``long_term``; empty
            if `ours` is a field of the dataset's configuration.
        printed: columns of the CSV file of printed values. If there are several, such as
            ``[channels, height, width]``, their values are joined: "3 x 128 x 128".
    """

    ours: str
    dimension: str = ""
    printed: tuple[str, ...]


class DatasetOptions(Strict):
    """Options of a table that compares sizes of datasets with those that a paper prints.

    Attributes:
        sizes: where to find our and the printed value of a size, by name of the size, such as
            "context"; the name is also the column of the table.
    """

    sizes: dict[str, Size]


CLIPS = ("split", "clips", "clips published", "difference", "why", "counted by")
AT_SCALE = (
    "scale",
    "source at scale",
    "release at scale",
    "frames at scale",
    "clips counted at scale",
    "clips prepared at scale",
)


def facts(plan: Plan, source: FactSource) -> Facts:
    """Make a table of sizes of datasets and numbers of clips, ours beside the printed ones.

    Args:
        plan: plan of a scale of the suite. The table also has the numbers of clips of this scale's
            prepared data.
        source: declaration of the table in the file of the suite; it names the CSV file of printed
            values, with a row for each dataset, and its options are `DatasetOptions`.

    Returns:
        the table, with a row for each split of each dataset, in the order of the CSV file.

    Raises:
        StpError: the CSV file has an unknown dataset or lacks a column, or prepared data are
            damaged.
    """
    options = check(DatasetOptions, source.options, source.file)
    file, protocol = plan.config.suite.folder / source.file, protocol_of(plan.config.suite)
    names = {dataset.published_name: name for name, dataset in protocol.datasets.items()}
    prepared = {artefact.dataset for artefact in plan.prepared_data}
    columns = [column for size in options.sizes.values() for column in size.printed]
    rows: list[Fact] = []
    unofficial = {}
    for row in read_printed_rows(file, ("dataset", *columns)):
        name = translate_name(file, row, "dataset", names)
        dataset = protocol.datasets[name]
        sizes: dict[str, object] = {}
        differing = {}
        for size_name, size in options.sizes.items():
            ours, printed = (
                _own_value(protocol, name, size),
                _format_lengths(row[key] for key in size.printed),
            )
            sizes |= {size_name: ours, f"{size_name} published": printed}
            if ours != printed:
                differing[size_name] = printed
        release = plan.config.datasets[name].releases[plan.config.datasets[name].release]
        if name in prepared and release.source != "official":
            unofficial[dataset.title] = release.source
        rows += _splits(plan, name, dataset, sizes, differing, name in prepared)
    sizes_header = [text for name in options.sizes for text in (name, f"{name} published")]
    warning = (
        f"At the scale {plan.config.scale.scale}, {', '.join(unofficial)} are made from "
        f"{' and '.join(sorted(set(unofficial.values())))} data: their numbers there are not those "
        "of the datasets."
    )
    header = ("dataset", *sizes_header, *CLIPS, *AT_SCALE)
    return Facts(header, rows, warnings=(warning,) if unofficial else ())


def _splits(
    plan: Plan,
    name: str,
    dataset: Dataset,
    sizes: dict[str, object],
    differing: dict[str, str],
    is_prepared: bool,
) -> Iterator[Fact]:
    """Yield a row for each split; the first one marks sizes that differ."""
    scaled = plan.config.datasets[name]
    release = scaled.releases[scaled.release]
    at_scale: list[object] = ["", "", ""]
    rows: dict[str, counts.Row] = {}
    if is_prepared:
        clips = counts.count_clips(plan, name)
        rows = {row.split: row for row in counts.rows(plan, clips)}
        at_scale = [release.source, scaled.release, _format_lengths(scaled.shape)]
    for split in SPLITS:
        official = dataset.counts.by_split[split]
        published = dataset.counts.published.by_split[split]
        difference = None if official is None or published is None else official - published
        why = dataset.counts.explained.get(split, "")
        row = rows.get(split)
        counted = [row.counted, row.prepared] if row else ["", ""]
        about = [split, official, published, difference, why, dataset.counts.source]
        scale = [plan.config.scale.scale, *at_scale, *counted]
        values = dict(zip((*CLIPS, *AT_SCALE), (*about, *scale), strict=True))
        here = row.ours if row else None
        notes = [f"{dataset.title}, {split}: {why}"] if why else []
        if split == SPLITS[0]:
            notes.append(f"{dataset.title}, numbers from: {dataset.counts.source}")
            notes += [f"{dataset.title}: {release.note}"] if is_prepared and release.note else []
        yield Fact(
            {"dataset": dataset.title, **sizes, **values},
            {
                **(differing if split == SPLITS[0] else {}),
                **({"clips": f"{published:,}"} if difference else {}),
            },
            {"clips": why} if why else {},
            tuple(notes),
            scaled={"clips": f"{here:,}"} if here not in (None, official) else {},
        )


def _own_value(protocol: Config, name: str, size: Size) -> str:
    if not size.dimension:
        return _format_lengths(getattr(protocol.datasets[name], size.ours))
    dimensions = protocol.scale.dimensions
    cases = dimensions[size.dimension].cases() if size.dimension in dimensions else []
    settings = [
        case.setting[size.ours]
        for case in cases
        if case.trained_on == name and size.ours in case.setting
    ]
    return str(settings[0]) if settings else ""


def _format_lengths(value: int | str | Iterable[int | str]) -> str:
    """Text of lengths of axes, such as ``3 x 128 x 128``."""
    return str(value) if isinstance(value, int | str) else " x ".join(map(str, value))
