"""Forecasts of frames: a model, and the last frames of recordings that it starts from."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stp.core.errors import StpError
from stp.data.raw_files import UnlockedFiles
from stp.inspect.first_look import FIRST_LOOKS
from stp.inspect.own_files import members_of, root_of
from stp.models.compute import set_up_compute
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.plan.checked_config import in_order
from stp.prepare.frames import Decoded
from stp.prepare.own.far_values import fill_by_channel, require_no_far_value
from stp.prepare.own.options import RawContents
from stp.prepare.own.reader import DECLARE, KINDS, build_options

CONTEXT = 10
"""Number of observed frames of a model without training."""
SPLITS = {"train": 0.7, "val": 0.15, "test": 0.15}
"""Shares of training, validation and test, which the reader requires; forecasts split nothing."""


@dataclass(frozen=True)
class FrameModel:
    """A model that predicts frames.

    Attributes:
        name: name of the model, a module of stp.models.
        recipe: keys ``model`` and ``options``, for a trained model also ``shape``, ``context`` and
            ``horizon``.
        state: weights of a trained model; None for a model without parameters.
        normalisation: how values are scaled before the network and back after it, as in training;
            None for a model without parameters.
    """

    name: str
    recipe: dict[str, Any]
    state: dict[str, Tensor] | None = None
    normalisation: Normalisation | None = None

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width of frames; None for a model that takes any shape."""
        shape = self.recipe.get("shape")
        return None if shape is None else (shape[0], shape[1], shape[2])

    @property
    def context(self) -> int:
        """Number of observed frames."""
        return int(self.recipe.get("context", CONTEXT))

    @property
    def horizon(self) -> int:
        """Number of frames that the model was trained to predict."""
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
        """Predict the frames that follow.

        Args:
            frames: observed frames, (N, context, C, H, W) or (context, C, H, W), in the units and
                at the time step of the training data; if there are more frames, the last ones are
                used.
            leads: number of lead times T; by default as in training.
            samples: number M of forecasts of each recording, for a model that draws forecasts at
                random.
            phase: phase of the first observed frame, such as its month from 0, for models that need
                it (climatology).
            device: device to compute on: auto, cpu or cuda.

        Returns:
            forecasts, float32 (N, M, T, C, H, W) in the same units, unclipped.

        Raises:
            StpError: the frames have another shape, are too few or not finite; several forecasts
                are requested of a deterministic model; the phase is missing.
        """
        observed = np.asarray(frames, np.float32)
        observed = observed[None] if observed.ndim == 4 else observed
        self._check(observed)
        observed = observed[:, -self.context :]
        leads = leads or self.horizon
        network = create(self._recipe(observed, leads))
        if self.state is not None:
            network.load_state_dict(self.state)
        if samples > 1 and not network.is_sampled:
            raise StpError(
                f"{self.name}: {samples} forecasts are requested, but all would be the same",
                expected="a model that draws its forecasts, such as mcvd",
                remedy="request one",
            )
        extra: dict[str, Any] = {}
        if network.needs_phase:
            if phase is None:
                raise StpError(
                    f"{self.name} needs the phase of the first observed frame",
                    expected="a number from 0, such as the month of monthly data",
                    remedy="give it (--phase)",
                )
            extra = {"phase": torch.full((len(observed),), phase), "interval": 1}
        constants = self.normalisation or Normalisation(0.0, 1.0)
        with set_up_compute(device, torch.get_num_threads(), "float32") as compute:
            network = network.to(compute.device).eval()
            extra = {k: v.to(compute.device) if k == "phase" else v for k, v in extra.items()}
            forecasts = []
            with torch.inference_mode():
                inputs = constants.apply_(torch.tensor(observed, device=compute.device))
                for member in range(samples):
                    arguments = extra | ({"member": member} if network.is_sampled else {})
                    if network.needs_lead_times:
                        arguments["lead_times"] = list(range(1, leads + 1))
                    predicted = constants.undo(network(inputs, leads, **arguments).float())
                    forecasts.append(np.asarray(predicted.cpu().numpy(), np.float32))
        return np.stack(forecasts, axis=1)

    def _recipe(self, frames: np.ndarray, leads: int) -> dict[str, Any]:
        """The recipe; for an untrained model, completed with the shape of the observed frames."""
        shape = list(frames.shape[2:])
        return {"shape": shape, "context": self.context, "horizon": leads, **self.recipe}

    def _check(self, frames: np.ndarray) -> None:
        if frames.ndim != 5 or (self.shape and frames.shape[2:] != self.shape):
            raise StpError(
                f"frames of shape {frames.shape} for {self.name}",
                expected=f"(recordings, frames, channels, height, width), a frame of {self.shape}",
                remedy="resize them to the training size",
            )
        if frames.shape[1] < self.context:
            raise StpError(
                f"{frames.shape[1]} frames for {self.name}",
                expected=f"at least {self.context} observed frames",
            )
        if not np.isfinite(frames).all():
            raise StpError(
                f"frames for {self.name} are not finite everywhere",
                expected="a number everywhere",
                remedy="fill the gaps",
            )


@dataclass(frozen=True)
class Recordings:
    """The last frames of the user's recordings, from which a model forecasts.

    Attributes:
        names: names of the N recordings.
        frames: last frames, float32 (N, context, C, H, W), in the dataset's units.
        is_picture: whether values are brightness or colours, 0..1.
        variables, units: name and unit of each of C channels.
        seconds: seconds between two frames; None if unknown.
        lat, lon: latitudes (H,) and longitudes (W,) of a map, degrees; None for other frames.
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
    """Read the last frames of videos, pictures, arrays or grids, to start a forecast from.

    Files are read, resized and converted like those of the user's own datasets (`own.reader`).

    Args:
        path: file, or folder of files of one kind.
        model: model whose number and shape of frames are read.
        options: options of the reader, as a dataset file states them; by default they are guessed
            from the files.

    Raises:
        StpError: files cannot be read or are damaged; frames have another shape or are fewer than
            the model needs; or a value far from all others may be an undeclared missing value.
    """
    path = path.resolve()
    kind, members = members_of(path)
    root = root_of(path)
    raw = UnlockedFiles(root, [member.relative_to(root).as_posix() for member in members])
    shape, guessed, _, _ = FIRST_LOOKS[kind](raw)
    by = {"by": "time" if kind == "grids" else "file", **SPLITS}
    # The model has its own normalisation.
    all_options = {**(guessed if options is None else options), "kind": kind, "splits": by}
    all_options.pop("normalisation", None)
    reader_options = build_options(in_order(all_options))
    channels, height, width = model.shape or tuple(shape)
    with tempfile.TemporaryDirectory() as folder:
        contents = KINDS[kind].raw_contents(
            raw, reader_options, (channels, height, width), Path(folder)
        )
        span = (model.context - 1) * reader_options.frame_step + 1
        read_frames = [
            _read_last_frames(raw, contents, number, span)[:: reader_options.frame_step]
            for number in range(len(contents.recordings))
        ]
    attrs = {"stored_scale": 1.0, "stored_offset": 0.0, **contents.attrs}
    frames = np.stack(read_frames).astype(np.float32)
    coordinates = {each.name: each.values for each in contents.coordinates}
    variables = attrs.get("variables")
    names = list(variables or [f"channel {i}" for i in range(channels)])
    fills = fill_by_channel(getattr(reader_options, "fill", None), channels)
    for channel in contents.unmarked:
        title = f"{path}: {names[channel]}"
        require_no_far_value(frames[:, :, channel], title, DECLARE, fills[channel])
    fps = attrs.get("fps")
    return Recordings(
        [each.name for each in contents.recordings],
        frames * np.float32(attrs["stored_scale"]) + np.float32(attrs["stored_offset"]),
        contents.dtype == np.uint8 and channels in (1, 3) and not variables,
        names,
        list(attrs.get("variable_units") or [""] * channels),
        reader_options.frame_step / fps if fps else None,
        coordinates.get("lat"),
        coordinates.get("lon"),
    )


def _read_last_frames(
    raw: UnlockedFiles, contents: RawContents, number: int, span: int
) -> np.ndarray:
    """The last frames of a recording, in the stored type."""
    recording = contents.recordings[number]
    begin = max([0, *recording.cuts])
    if recording.frames - begin < span:
        raise StpError(
            f"{recording.name}: {recording.frames - begin} frames without a gap at its end",
            expected=f"at least {span}, which the model observes",
            remedy="use a longer recording",
        )
    decoded = contents.decode(raw, contents.task(number, recording.frames - span, recording.frames))
    if not isinstance(decoded, Decoded):
        return decoded
    if decoded.note < span:  # the remaining frames are copies
        raise StpError(
            f"{recording.name}: {span - decoded.note} of its last {span} frames do not exist",
            expected="a frame for each packet",
            remedy="re-encode the video: ffmpeg -i OLD NEW.mp4",
        )
    return decoded.frames
