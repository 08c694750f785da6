"""Parse the names of settings, and make the table of settings with a column for each key.

A setting is what an evaluation changes of a dataset's protocol, such as ``horizon-30+interval-2``.
"""

from collections.abc import Iterable, Mapping

from stp.collect.table import SETTING_KEYS, Column, Table, Value
from stp.plan.setting import parts_of_name


def values_of(setting: str) -> dict[str, Value]:
    """Parse the name of a setting, such as ``horizon-30+interval-2``, to values by key."""
    parts = (part.partition("-") for part in parts_of_name(setting) if part)
    return {key: value_of(value) for key, _, value in parts}


def value_of(text: str) -> Value:
    """Parse a value of a setting: a number if the text is a number, else the text."""
    return int(text) if text.isdecimal() else text


def key_columns(settings: Iterable[Mapping[str, Value]]) -> tuple[Column, ...]:
    """Make columns for the keys of settings, such as ``horizon`` and ``interval``.

    Keys that every store has (`SETTING_KEYS`) come first, then other keys in alphabetical order.

    Args:
        settings: values by key, for each setting. A key with a text value in any setting gets a
            text column.
    """
    kinds = dict.fromkeys(SETTING_KEYS, "BIGINT")
    for setting in settings:
        for key, value in setting.items():
            if isinstance(value, str) or key not in kinds:
                kinds[key] = "VARCHAR" if isinstance(value, str) else "BIGINT"
    more = sorted(kinds.keys() - SETTING_KEYS.keys())
    return tuple(
        Column(key, kinds[key], SETTING_KEYS.get(key, f"The key {key}; NULL where it is not set."))
        for key in [*SETTING_KEYS, *more]
    )


def with_keys(table: Table, keys: Iterable[Column]) -> Table:
    """Copy a table, with other columns for the keys of settings, such as ``horizon``.

    Args:
        table: a table with the usual columns for keys, `SETTING_KEYS`.
        keys: columns that take the place of these.
    """
    before = [column for column in table.columns if column[0] not in SETTING_KEYS]
    at = next(i for i, column in enumerate(table.columns) if column[0] in SETTING_KEYS)
    return table._replace(columns=(*before[:at], *keys, *before[at:]))


def setting_rows(settings: Iterable[str]) -> list[dict[str, Value]]:
    """Make the rows of the table of settings, sorted by the name of the setting.

    Args:
        settings: names of settings, such as ``horizon-30+interval-2``; repeated names count once.

    Returns:
        a dict for each setting: its name as ``setting``, and the values of its keys, such as
        ``{"setting": "horizon-30+interval-2", "horizon": 30, "interval": 2}``.
    """
    return [{"setting": name, **values_of(name)} for name in sorted(set(settings))]
