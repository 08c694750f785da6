"""Whose bytes the cells of a results store are of, in words."""

from typing import NamedTuple

import duckdb


class BytesUsed(NamedTuple):
    """Whose bytes and which protocol some cells are of."""

    source: str
    protocol: str
    comparable: bool

    @property
    def text(self) -> str:
        """The same in words."""
        return f"{self.source} bytes, {self.protocol} protocol"

    @property
    def is_strange(self) -> bool:
        """Whether a paper is about other bytes or another protocol; one's own data are in none."""
        return not self.comparable and self.source != "own"


def bytes_used(connection: duckdb.DuckDBPyConnection) -> list[BytesUsed]:
    """All that cells of an open store are of."""
    found = connection.execute(
        "SELECT DISTINCT source, protocol, comparable FROM cells ORDER BY ALL"
    )
    return [BytesUsed(*row) for row in found.fetchall()]
