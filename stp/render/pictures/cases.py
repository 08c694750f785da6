"""The cells of a dimension by what was tested: a figure or a section for each."""

from stp.core.errors import StpError, nearest
from stp.plan.manifest import Cell, Manifest
from stp.plan.setting import case_name


def cases(manifest: Manifest) -> dict[str, list[Cell]]:
    """Cells by case (`stp.plan.setting.case_name`), both in the order of the manifest."""
    found: dict[str, list[Cell]] = {}
    for cell in manifest["cells"]:
        found.setdefault(case_name(cell["key"]), []).append(cell)
    return found


def cells_of(manifest: Manifest, case: str) -> list[Cell]:
    """The cells of one case.

    Raises:
        StpError: there is no such case.
    """
    found = cases(manifest)
    if case not in found:
        raise StpError(
            f"nothing of the dimension {manifest['dimension']} was tested on {case!r}",
            expected=f"one of {', '.join(found)}",
            remedy=nearest(case, found) or "choose one of these",
        )
    return found[case]
