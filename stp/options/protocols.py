"""Protocols: how scenarios (moments with observed and future positions) are cut from tracks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Protocol:
    """How scenarios are cut from tracks; see `stp.tracks.scenarios`.

    Attributes:
        title: description of the protocol.
        is_released: whether the protocol follows the released code of Atlas: whole tracks are
            filled and smoothed before they are cut, calibration and test scenarios follow each
            other in time and may share people, noise depends on the frame rate, and goals have no
            effect.
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
