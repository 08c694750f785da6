"""Compare the variables of a reader, and their units, with those that a paper lists.

An example is Table S1 of ChaosBench.
"""

import importlib

from stp.core import named_modules
from stp.core.errors import FileError
from stp.inspect.facts.fact import Fact, Facts, read_printed_rows
from stp.plan.cells import Plan
from stp.plan.checked_config import Strict, check
from stp.plan.suite import FactSource


class VariableOptions(Strict):
    """Options of a table that compares variables and their units with those that a paper lists.

    Attributes:
        reader: name of the reader of the raw files.
        constant: name of a constant of the reader, such as ``LAND``: a dictionary from the name of
            a variable to its unit, such as ``{"asn": "1", "d2m": "K"}``, in the order of the
            channels.
        table: number of the paper's table, such as ``S1``. Rows of the file of printed values with
            this number in their column ``table`` are compared.
        words: our spelling of a printed unit, by printed unit, where these differ: the pair
            ``"(0 - 1)": "1"`` says that the printed "(0 - 1)" means a share, whose unit is 1. Ours
            are without the sign ``**`` here, e.g. "m2 s-2" for ``m**2 s**-2``.
    """

    reader: str
    constant: str
    table: str
    words: dict[str, str] = {}


COLUMNS = ("table", "name", "long_name", "units")


def facts(plan: Plan, source: FactSource) -> Facts:
    """Make a table of variables that compares the unit in our data with the printed unit.

    Args:
        plan: plan of a scale of the suite.
        source: declaration of the table in the file of the suite; its options are
            `VariableOptions`.

    Returns:
        the table, with a row for each variable, in the order of the channels.

    Raises:
        StpError: the paper lists other variables than the reader has, or in another order.
    """
    options = check(VariableOptions, source.options, source.file)
    file = plan.config.suite.folder / source.file
    units: dict[str, str] = getattr(
        importlib.import_module(named_modules.reader(options.reader)), options.constant
    )
    printed = {
        row["name"]: row
        for row in read_printed_rows(file, COLUMNS)
        if row["table"] == options.table
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
