"""Compare the variables and units of a reader with those that a paper lists."""

import importlib

from stp.core import named_modules
from stp.core.errors import FileError
from stp.inspect.facts.fact import Fact, Facts, printed_rows
from stp.plan.cells import Plan
from stp.plan.checked_config import Strict, check
from stp.plan.suite import FactSource


class VariableOptions(Strict):
    """Options of a table that compares variables and their units with those that a paper lists.

    Attributes:
        reader: name of the module that reads the raw files.
        constant: name of a constant of the reader: units by variable, in the order of the channels.
        table: number of the paper's table, such as ``S1``: rows of the file of printed values that
            have it in their column ``table`` are compared.
        words: for printed units that are spelt otherwise than ours (which are in CF notation), our
            spelling without ``**``.
    """

    reader: str
    constant: str
    table: str
    words: dict[str, str] = {}


COLUMNS = ("table", "name", "long_name", "units")


def facts(plan: Plan, source: FactSource) -> Facts:
    """Make the table: a row for each variable, in the order of the channels.

    Raises:
        StpError: the printed names are not those of the reader.
    """
    options = check(VariableOptions, source.options, source.file)
    file = plan.config.suite.folder / source.file
    units: dict[str, str] = getattr(
        importlib.import_module(named_modules.reader(options.reader)), options.constant
    )
    printed = {
        row["name"]: row for row in printed_rows(file, COLUMNS) if row["table"] == options.table
    }
    if list(printed) != list(units):
        differ = ", ".join(sorted(set(printed) ^ set(units))) or "the order"
        raise FileError(
            file,
            f"Table {options.table} and the reader {options.reader} differ in {differ}",
            expected=f"the {len(units)} variables of the reader, in the order of its channels",
        )
    rows = []
    for name, unit in units.items():
        published = printed[name]["units"]
        differs = unit.replace("**", "") != options.words.get(published, published)
        values = {
            **{"name": name, "long_name": printed[name]["long_name"], "units": unit},
            **{"units printed": published, "differs": "yes" if differs else "no"},
        }
        rows.append(Fact(values, {"units": published} if differs else {}))
    return Facts(
        ("name", "long_name", "units", "units printed", "differs"),
        rows,
        (f"Variables in the order of the channels of the reader {options.reader}.",),
    )
