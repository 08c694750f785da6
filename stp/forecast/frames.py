"""Forecasts of frames: a model, and the last frames of recordings."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stp.core.errors import StpError
from stp.inspect.first_look import FIRST_LOOKS
from stp.inspect.own_files import UnlockedFiles, members_of, root_of
from stp.models.compute import settle
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.plan.checked_config import in_order
from stp.prepare.frames import Decoded
from stp.prepare.own.far_values import require_no_far_value
from stp.prepare.own.options import RawContents
from stp.prepare.own.reader import DECLARE, KINDS, build_options

CONTEXT = 10
"""Frames that a model without a training of its own is shown, unless somebody says."""
SPLITS = {"train": 0.7, "val": 0.15, "test": 0.15}
"""The reader wants to know; nothing is split here."""


@dataclass(frozen=True)
class FrameModel:
    """A model that predicts frames.

    Attributes:
        name: a module of stp.models.
        recipe: ``model``, ``options``, and of a trained one ``shape``, ``context``, ``horizon``.
        state: its weights; None where there is nothing to fit.
        normalisation: of its training data.
    """

    name: str
    recipe: dict[str, Any]
    state: dict[str, Tensor] | None = None
    normalisation: Normalisation | None = None

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """(C, H, W) that it was trained for; None if it takes any."""
        found = self.recipe.get("shape")
        return None if found is None else (found[0], found[1], found[2])

    @property
    def context(self) -> int:
        """Frames that it is shown."""
        return int(self.recipe.get("context", CONTEXT))

    @property
    def horizon(self) -> int:
        """Lead times that it was trained for."""
        return int(self.recipe.get("horizon", self.context))

    def forecast(
        self,
        frames: np.ndarray,
        leads: int | None = None,
        *,
        samples: int = 1,
        phase: int | None = None,
        device: str = "auto",
    ) -> np.ndarray:
        """Predict what follows some frames.

        Args:
            frames: (N, context, C, H, W) or (context, C, H, W), in the units and at the time step
                of the training data; of more frames the last ones count.
            leads: lead times T; those of its training unless given.
            samples: forecasts of each, M, of a model that draws them.
            phase: of the first frame of the context, such as its month from 0, for a model that
                needs it (climatology).
            device: auto, cpu or cuda.

        Returns:
            float32 (N, M, T, C, H, W) in the same units, unclipped.

        Raises:
            StpError: frames of another shape, too few, or not finite; several forecasts of a model
                that draws none; a phase that is missing.
        """
        given = np.asarray(frames, np.float32)
        given = given[None] if given.ndim == 4 else given
        self._check(given)
        given = given[:, -self.context :]
        leads = leads or self.horizon
        network = create(self._recipe(given, leads))
        if self.state is not None:
            network.load_state_dict(self.state)
        if samples > 1 and not network.is_sampled:
            raise StpError(
                f"{self.name}: {samples} forecasts are asked for, but all would be the same",
                expected="a model that draws its forecasts, such as mcvd",
                remedy="ask for one",
            )
        extra: dict[str, Any] = {}
        if network.needs_phase:
            if phase is None:
                raise StpError(
                    f"{self.name} needs the phase of the first frame that it is shown",
                    expected="a number from 0, such as the month of monthly data",
                    remedy="give it (--phase)",
                )
            extra = {"phase": torch.full((len(given),), phase), "interval": 1}
        constants = self.normalisation or Normalisation(0.0, 1.0)
        with settle(device, torch.get_num_threads(), "float32") as compute:
            network = network.to(compute.device).eval()
            extra = {k: v.to(compute.device) if k == "phase" else v for k, v in extra.items()}
            found = []
            with torch.inference_mode():
                shown = constants.apply_(torch.tensor(given, device=compute.device))
                for member in range(samples):
                    own = extra | ({"member": member} if network.is_sampled else {})
                    if network.needs_lead_times:
                        own["lead_times"] = list(range(1, leads + 1))
                    made = constants.undo(network(shown, leads, **own).float())
                    found.append(np.asarray(made.cpu().numpy(), np.float32))
        return np.stack(found, axis=1)

    def _recipe(self, frames: np.ndarray, leads: int) -> dict[str, Any]:
        """The recipe, completed by what is shown where nothing was trained."""
        shape = list(frames.shape[2:])
        return {"shape": shape, "context": self.context, "horizon": leads, **self.recipe}

    def _check(self, frames: np.ndarray) -> None:
        if frames.ndim != 5 or (self.shape and frames.shape[2:] != self.shape):
            raise StpError(
                f"frames of shape {frames.shape} for {self.name}",
                expected=f"(recordings, frames, channels, height, width), a frame of {self.shape}",
                remedy="bring them to the size that it was trained for",
            )
        if frames.shape[1] < self.context:
            raise StpError(
                f"{frames.shape[1]} frames for {self.name}",
                expected=f"at least {self.context}, which it is shown",
            )
        if not np.isfinite(frames).all():
            raise StpError(
                f"frames for {self.name} hold what is no finite number",
                expected="a number everywhere",
                remedy="fill the gaps",
            )


@dataclass(frozen=True)
class Recordings:
    """The last frames of recordings.

    Attributes:
        names: of each.
        frames: float32 (N, context, C, H, W), in the dataset's units.
        is_picture: values are brightness or colours, 0..1.
        variables, units: of each channel.
        seconds: between two frames; None if nobody knows.
        lat, lon: degrees along y and x, where it is a map.
    """

    names: list[str]
    frames: np.ndarray
    is_picture: bool
    variables: list[str]
    units: list[str]
    seconds: float | None = None
    lat: np.ndarray | None = None
    lon: np.ndarray | None = None


def read(path: Path, model: FrameModel, options: dict[str, Any] | None = None) -> Recordings:
    """Read the last frames of videos, pictures, arrays or grids, as ``own.reader`` prepares them.

    Args:
        path: a file, or a folder of files of one kind.
        model: says how many frames, and how large.
        options: of the reader; guessed as `stp new-dataset` does unless given.

    Raises:
        StpError: nothing that can be read, damaged files, another shape or fewer frames than the
            model needs, or a lone value far from all others that nobody declared.
    """
    path = path.resolve()
    kind, members = members_of(path)
    root = root_of(path)
    raw = UnlockedFiles(root, [member.relative_to(root).as_posix() for member in members])
    shape, guessed, _, _ = FIRST_LOOKS[kind](raw)
    by = {"by": "time" if kind == "grids" else "file", **SPLITS}
    # How frames are normalised is the model's to say, and splits are of no use here.
    given = {**(guessed if options is None else options), "kind": kind, "splits": by}
    given.pop("normalisation", None)
    made = build_options(in_order(given))
    channels, height, width = model.shape or tuple(shape)
    with tempfile.TemporaryDirectory() as folder:
        found = KINDS[kind].raw_contents(raw, made, (channels, height, width), Path(folder))
        span = (model.context - 1) * made.frame_step + 1
        read_frames = [
            _last(raw, found, number, span)[:: made.frame_step]
            for number in range(len(found.recordings))
        ]
    attrs = {"stored_scale": 1.0, "stored_offset": 0.0, **found.attrs}
    frames = np.stack(read_frames).astype(np.float32)
    places = {one.name: one.values for one in found.coordinates}
    variables = attrs.get("variables")
    names = list(variables or [f"channel {i}" for i in range(channels)])
    for channel in found.unmarked:
        what = f"{path}: {names[channel]}"
        require_no_far_value(frames[:, :, channel], what, DECLARE, getattr(made, "fill", None))
    fps = attrs.get("fps")
    return Recordings(
        [one.name for one in found.recordings],
        frames * np.float32(attrs["stored_scale"]) + np.float32(attrs["stored_offset"]),
        found.dtype == np.uint8 and channels in (1, 3) and not variables,
        names,
        list(attrs.get("variable_units") or [""] * channels),
        made.frame_step / fps if fps else None,
        places.get("lat"),
        places.get("lon"),
    )


def _last(raw: UnlockedFiles, found: RawContents, number: int, span: int) -> np.ndarray:
    """The last frames of a recording, as they are stored."""
    one = found.recordings[number]
    begin = max([0, *one.cuts])
    if one.frames - begin < span:
        raise StpError(
            f"{one.name}: {one.frames - begin} frames without a gap at its end",
            expected=f"at least {span}, which the model is shown",
            remedy="give a longer recording",
        )
    decoded = found.decode(raw, found.task(number, one.frames - span, one.frames))
    if not isinstance(decoded, Decoded):
        return decoded
    if decoded.note < span:  # the others are copies
        raise StpError(
            f"{one.name}: {span - decoded.note} of its last {span} frames do not exist",
            expected="a frame for each packet",
            remedy="write the video anew: ffmpeg -i OLD NEW.mp4",
        )
    return decoded.frames
