"""Tables 1, S1 and S2 of ChaosBench: what the benchmark has, beside what the paper prints.

Numbers of ChaosBench are counted in the configuration and the reader; those of other benchmarks are
printed ones.
"""

import csv
from pathlib import Path
from typing import NamedTuple

from stp.core.errors import StpError
from stp.page.commands import table_command
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan.config import Config
from stp.plan.dataset import Dataset
from stp.plan.setting import read_shown
from stp.plan.strict import CONFIG_FOLDER
from stp.plan.suite import Suite, suites_with
from stp.prepare import chaosbench
from stp.prepare.chaosbench import LEVELS, VARIABLES
from stp.prepare.chaosbench_surface import LAND, OCEAN

BENCHMARKS = CONFIG_FOLDER / "published" / "s2s_benchmarks.csv"
PRINTED = CONFIG_FOLDER / "published" / "chaosbench_variables.csv"
PHYSICS = ("spectral_divergence", "spectral_residual")
"""Metrics that the paper calls physics-based: they compare power spectra."""
PROBABILISTIC = ("crps", "crpss", "spread", "rank_histogram")
COMPARISON = "s2s_benchmarks"
SAME_UNITS = {"(0 - 1)": "1", "(0-1)": "1"}
"""Units as printed -> as CF writes them; exponents aside."""


class Benchmark(NamedTuple):
    """A row of Table 1.

    Attributes:
        name: of the benchmark.
        inputs, targets: numbers of variables.
        lead_days: of the forecasts.
        extent: where on the globe.
        physics, probabilistic: metrics of these kinds; None where the text of the paper says none.
    """

    name: str
    inputs: int
    targets: int
    lead_days: int
    extent: str
    physics: tuple[str, ...] | None = None
    probabilistic: tuple[str, ...] | None = None


class Variable(NamedTuple):
    """A row of Table S1 or S2.

    Attributes:
        name: of the variable.
        long_name: as printed.
        units: as the prepared data state them.
        printed: units as printed.
    """

    name: str
    long_name: str
    units: str
    printed: str

    @property
    def differs(self) -> bool:
        """Whether the units are others, and not just written otherwise."""
        return self.units.replace("**", "") != SAME_UNITS.get(self.printed, self.printed)


class _Table(NamedTuple):
    """Table S1 or S2: its number, what it lists, and units of what the reader knows."""

    printed: str
    of: str
    units: dict[str, str]


SURFACE = {
    "s2s_land_variables": _Table("S1", "ERA5-Land", LAND),
    "s2s_ocean_variables": _Table("S2", "ORAS5", OCEAN),
}
TABLES = (COMPARISON, *SURFACE)


def ours(config: Config) -> Benchmark:
    """ChaosBench as it is here: all variables that its reader knows, and metrics of its suite."""
    count = len(VARIABLES) * len(LEVELS) + len(LAND) + len(OCEAN)
    (suite,) = suites_with(COMPARISON).values()
    metrics = _metrics(suite)
    return Benchmark(
        "ChaosBench",
        count,
        count,
        _dataset(config).horizon,
        "global",
        tuple(name for name in PHYSICS if name in metrics),
        tuple(name for name in PROBABILISTIC if name in metrics),
    )


def _dataset(config: Config) -> Dataset:
    """The first dataset of its reader, which has the official data."""
    reader = chaosbench.__name__.removeprefix("stp.prepare.")
    return next(one for name, one in config.datasets.items() if (one.reader or name) == reader)


def _metrics(suite: Suite) -> set[str]:
    """The metrics whose conventions a suite names."""
    shown = [text for of in (suite.columns, suite.sampled) for each in of.values()
             for text in each.values()]  # fmt: skip
    shown += [name for of in (suite.also, suite.ensembles) for each in of.values() for name in each]
    return {read_shown(text).convention.partition(".")[0] for text in shown}


def printed_benchmarks(file: Path = BENCHMARKS) -> list[Benchmark]:
    """Table 1 as printed."""
    found = []
    for row in printed_rows(file, ("benchmark", *_NUMBERS, _EXTENT)):
        inputs, targets, days = (_count(file, row, key) for key in _NUMBERS)
        found.append(Benchmark(row["benchmark"], inputs, targets, days, row[_EXTENT]))
    return found


def variables(table: str, file: Path = PRINTED) -> list[Variable]:
    """Table S1 or S2, in the order of the reader's channels.

    Raises:
        StpError: the printed names are not those of the reader.
    """
    number, _, units = SURFACE[table]
    columns = ("table", "name", "long_name", "units")
    printed = {row["name"]: row for row in printed_rows(file, columns) if row["table"] == number}
    if list(printed) != list(units):
        differ = sorted(set(printed) ^ set(units))
        raise StpError(
            f"{file}: Table {number} and the reader differ in {', '.join(differ) or 'the order'}",
            expected=f"the {len(units)} variables of the reader, in the order of its channels",
            remedy="correct the file",
        )
    return [
        Variable(name, printed[name]["long_name"], unit, printed[name]["units"])
        for name, unit in units.items()
    ]


def write(config: Config, out: Path) -> int:
    """Write one of `TABLES` as ``<name>.csv``, with ``.md``, ``.tex`` and ``.html`` beside it.

    Returns:
        the number of rows.

    Raises:
        StpError: a file of printed values is damaged, or the disk refuses.
    """
    lines: list[list[object]]
    if out.stem == COMPARISON:
        found = printed_benchmarks()
        here = ours(config)
        grid = _comparison(config, found, here)
        lines = [["benchmark", "whose", *_NUMBERS, _EXTENT, "physics", "probabilistic"]]
        for whose, rows in (("printed", found), ("here", [here])):
            lines += [
                [row.name, whose, *row[1:5], _names(row.physics), _names(row.probabilistic)]
                for row in rows
            ]
    else:
        listed = variables(out.stem)
        grid = _variables(out.stem, listed, config.scale.scale)
        lines = [["name", "long_name", "units", "units printed", "differs"]]
        lines += [[*row, "yes" if row.differs else "no"] for row in listed]
    write_all({out: csv_text(lines), **texts(grid, out.parent)})
    return len(lines) - 1


_NUMBERS = ("input_variables", "target_variables", "lead_days")
_EXTENT = "spatial_extent"
_MADE = "Made by `{}` from `config/` and `{}`."


def _comparison(config: Config, found: list[Benchmark], here: Benchmark) -> Grid:
    rows: list[list[str | Item]] = []
    for row in found:
        is_here = row.name == here.name
        numbers: list[str | Item] = [
            _beside(str(ours), str(printed)) if is_here else str(printed)
            for ours, printed in zip(here[1:5], row[1:5], strict=True)
        ]
        kinds = here[5:] if is_here else (None, None)
        rows.append([row.name, *numbers, *(_names(kind) or "–" for kind in kinds)])
    scale = config.scale.scale
    return Grid(
        name=COMPARISON,
        title="ChaosBench beside other benchmarks",
        intro=[
            "Beside Table 1 of the ChaosBench paper. Rows of other benchmarks are as printed; that "
            "of ChaosBench is counted in the reader and the suite.",
            f"The scale {scale} reads {_dataset(config).shape[0]} of the {here.inputs} variables.",
        ],
        sections=[
            Section(
                "",
                [
                    "benchmark",
                    "input variables",
                    "target variables",
                    "lead (days)",
                    "extent",
                    "physics-based metrics",
                    "probabilistic metrics",
                ],
                rows,
                [False, True, True, True, False, False, False],
            )
        ],
        legend=[
            "≠: not as printed, in parentheses",
            "–: the text of the paper has no entry there; its table marks them by signs",
        ],
        made_from=_MADE.format(
            table_command(scale, COMPARISON), f"config/published/{BENCHMARKS.name}"
        ),
    )


def _variables(table: str, found: list[Variable], scale: str) -> Grid:
    number, of, _ = SURFACE[table]
    rows: list[list[str | Item]] = []
    for row in found:
        units = Item(row.units, mark="≠", aside=row.printed) if row.differs else row.units
        rows.append([row.name, row.long_name, units])
    return Grid(
        name=table,
        title=f"Variables of {of}",
        intro=[
            f"Beside Table {number} of the ChaosBench paper: {len(found)} variables in the order "
            "of the channels, names as printed, with the units of the prepared data."
        ],
        sections=[Section("", ["variable", "long name", "units"], rows, [False] * 3)],
        legend=["≠: other units than printed, which stand in parentheses"]
        if any(row.differs for row in found)
        else [],
        made_from=_MADE.format(table_command(scale, table), f"config/published/{PRINTED.name}"),
    )


def _beside(here: str, printed: str) -> str | Item:
    return here if here == printed else Item(here, mark="≠", aside=printed)


def _names(names: tuple[str, ...] | None) -> str:
    return ", ".join(name.replace("_", " ") for name in names or ())


def printed_rows(file: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """Rows of a file of printed values.

    Raises:
        StpError: its columns are others.
    """
    with file.open(newline="", encoding="utf-8") as text:
        reader = csv.DictReader(text)
        if tuple(reader.fieldnames or ()) != columns:
            raise StpError(
                f"{file}: columns {', '.join(reader.fieldnames or ())}",
                expected=", ".join(columns),
                remedy="restore the file",
            )
        return list(reader)


def _count(file: Path, row: dict[str, str], key: str) -> int:
    try:
        return int(row[key])
    except ValueError:
        raise StpError(
            f"{file}: {row['benchmark']}: {key} is {row[key]!r}",
            expected="a whole number",
            remedy="restore the file",
        ) from None
