"""The protocols by which scenarios are cut from tracks of people, and what differs between them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Protocol:
    """How scenarios are cut from tracks; `stp.tracks.scenarios` says more.

    Attributes:
        title: what it is called beside its name.
        is_released: whether it is that of released code: whole tracks are filled and smoothed
            before they are cut, calibration and test follow each other by its clock and may share
            people, noise depends on the frame rate, and goals have no effect.
        may_come_and_go: whether people who are there in a part of a scenario only are counted,
            where they otherwise forbid it.
    """

    title: str
    is_released: bool = False
    may_come_and_go: bool = False


PROTOCOLS = {
    "atlas-paper": Protocol("scenarios as the released code of Atlas cuts them", is_released=True),
    "strict": Protocol("scenarios whose observation holds no future"),
    "strict-relaxed": Protocol("as strict, and others may come and go", may_come_and_go=True),
}
"""By their names, which are those of subsets."""
RELEASED = next(name for name, protocol in PROTOCOLS.items() if protocol.is_released)
