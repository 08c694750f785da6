"""Describe the origin of the data in a results store."""

from typing import NamedTuple

import duckdb

from stp.page.data_origin import origin


class DataUsed(NamedTuple):
    """Origin of the data, and protocol, of a group of cells (results of one model each).

    Attributes:
        source: origin of the data: official, sample, synthetic or own.
        protocol: protocol of training and test, such as ``paper`` or ``demo``.
        comparable: whether values may be compared with published values.
    """

    source: str
    protocol: str
    comparable: bool

    @property
    def text(self) -> str:
        """Describe origin and protocol in words."""
        return origin(self.source, self.protocol)

    @property
    def differs_from_paper(self) -> bool:
        """Whether data or protocol differ from the paper's; False for the user's own data."""
        return not self.comparable and self.source != "own"


def data_used(connection: duckdb.DuckDBPyConnection) -> list[DataUsed]:
    """Read the origins and protocols of the data of all results in an open results store."""
    rows = connection.execute(
        "SELECT DISTINCT source, protocol, comparable FROM cells ORDER BY ALL"
    )
    return [DataUsed(*row) for row in rows.fetchall()]
