"""The origin of the data in a results store, in words."""

from typing import NamedTuple

import duckdb

from stp.page.data_origin import origin


class DataUsed(NamedTuple):
    """Origin of the data and protocol of some cells."""

    source: str
    protocol: str
    comparable: bool

    @property
    def text(self) -> str:
        """Origin and protocol, in words."""
        return origin(self.source, self.protocol)

    @property
    def differs_from_paper(self) -> bool:
        """Whether the paper used other data or another protocol; False for the user's own data."""
        return not self.comparable and self.source != "own"


def data_used(connection: duckdb.DuckDBPyConnection) -> list[DataUsed]:
    """Origins and protocols of all cells of an open store."""
    rows = connection.execute(
        "SELECT DISTINCT source, protocol, comparable FROM cells ORDER BY ALL"
    )
    return [DataUsed(*row) for row in rows.fetchall()]
