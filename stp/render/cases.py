"""The cells of a dimension by what was tested: a figure or a section for each."""

from stp.collect.manifest import Cell, Manifest
from stp.errors import StpError, nearest
from stp.setting import case_name, setting_of


def cases(manifest: Manifest) -> dict[str, list[Cell]]:
    """Cells by case (`stp.setting.case_name`), both in the order of the manifest."""
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


def title_of(manifest: Manifest, cell: Cell) -> str:
    """What was tested, for people: ``KITTI -> Caltech``, ``BridgeData, interval 2``."""
    key, names = cell["key"], manifest["names"]["datasets"]
    tested, trained = key["tested_on"], key["trained_on"]
    shown: str = names.get(tested, tested)
    if trained not in (None, tested):
        shown = f"{names.get(trained, trained)} -> {shown}"
    parts = [shown]
    if case_name({**key, "setting": "horizon-1", "train_subset": "all"}) != (
        tested if trained in (None, tested) else f"{trained}-{tested}"
    ):
        parts.append(key["subset"].replace("_", " "))
    interval = setting_of(key["setting"]).get("interval")
    parts += [] if interval is None else [f"interval {interval}"]
    return ", ".join(parts)
