"""What a prediction recipe may set under ``predict``."""

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Any

from stp.errors import StpError
from stp.models.compute import PRECISIONS


@dataclass(frozen=True)
class PredictOptions:
    """How forecasts are computed.

    Attributes:
        batch_size: samples at a time.
        threads: CPU threads.
        precision: bf16 (mixed, where the device computes it) or float32.
    """

    batch_size: int = 16
    threads: int = 1
    precision: str = "float32"

    def __post_init__(self) -> None:
        for key in ("batch_size", "threads"):
            value = getattr(self, key)
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
            self._require(whole, key, "an integer >= 1")
        self._require(self.precision in PRECISIONS, "precision", " or ".join(PRECISIONS))

    def _require(self, ok: bool, key: str, expected: str) -> None:
        if not ok:
            raise StpError(
                f"predict option {key} is {getattr(self, key)!r}",
                expected=expected,
                remedy=f"change predict.{key} in the scale file",
            )

    @classmethod
    def from_recipe(cls, given: dict[str, Any]) -> "PredictOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        for key in given:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                raise StpError(
                    f"unknown predict option {key!r}",
                    expected=", ".join(known),
                    remedy=f"did you mean {near[0]!r}?" if near else "remove it",
                )
        return cls(**given)
