"""Protocols: how scenarios (moments with observed and future positions) are cut from tracks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Protocol:
    """How scenarios are cut from tracks; see `stp.tracks.scenarios`.

    Attributes:
        title: description of the protocol.
        is_released: whether the protocol follows the released code of Atlas. There are three main
            differences from other protocols. Gaps in tracks are filled and whole tracks are
            smoothed before scenarios are cut, so observed positions hold some of the future.
            Calibration and test data may share people. In tests with noise on observed positions,
            its standard deviation is divided by the number of positions per second.
        may_come_and_go: whether a scenario may include people who are present during a part of the
            scenario only.
    """

    title: str
    is_released: bool = False
    may_come_and_go: bool = False


PROTOCOLS = {
    "atlas-paper": Protocol("scenarios as the released code of Atlas cuts them", is_released=True),
    "strict": Protocol("scenarios whose observation holds no future"),
    "strict-relaxed": Protocol("as strict, and others may come and go", may_come_and_go=True),
}
"""Protocols by name; subsets of datasets have the same names."""
RELEASED = next(name for name, protocol in PROTOCOLS.items() if protocol.is_released)
