"""The verb that predicts the future of users' own data."""

import functools
from pathlib import Path
from typing import Annotated, Any

import typer

from stp.verbs.app import DEMO, ConfigFile, Log, Panel, app, examples, say

command = functools.partial(app.command, rich_help_panel=Panel.OWN)


@command(
    epilog=examples(
        "stp forecast convlstm/kth clip.mp4",
        "stp forecast results/store/models/kth/convlstm/default/seed-0/f1316359dfd73744 clips/",
        "stp forecast persistence field.nc --leads 4 --out results/field",
        "stp forecast constant_velocity hall.csv --fps 25 --leads 12",
        "stp forecast simvpv2/billiard new.npy --configfile config/billiard.yaml --like billiard",
    )
)
def forecast(
    model: Annotated[
        str,
        typer.Argument(
            help="The folder of a trained model, its model.pt, words that select a training of the "
            "plan (convlstm/kth), or a model without parameters (persistence)."
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            help="Videos, pictures, arrays, grids or detections of people: a file or a folder. "
            "The model sees the last frames of each recording."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="The folder to write (default: results/forecast/<DATA>/<MODEL>)."
        ),
    ] = None,
    leads: Annotated[
        int | None, typer.Option(help="Number of lead times (default: as in the training).", min=1)
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(help="Read the files as this dataset is read (default: guessed)."),
    ] = None,
    observe: Annotated[
        int | None,
        typer.Option(
            help="For people: number of observed positions (default: as in the training).", min=2
        ),
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option(help="For people: frames per second, for files with frame numbers."),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(help="Number of forecasts of each recording, for a stochastic model.", min=1),
    ] = 1,
    phase: Annotated[
        int | None,
        typer.Option(help="For a climatology: phase of the first observed frame, from 0.", min=0),
    ] = None,
    configfile: ConfigFile = DEMO,
    log: Log = None,
) -> None:
    """Predict the future of your own frames or tracks, before it is known.

    Writes predictions.zarr, forecast.png and forecast.mp4. Frames must have the time step of the
    training data. Videos and pictures are resized to the frames of the training data.
    """
    from stp.forecast import frames, tracks, trained, write

    loaded = trained.load(model, configfile)
    folder = out or Path("results/forecast") / data.resolve().stem / loaded.name
    options = None if like is None else _options(like, configfile)
    if isinstance(loaded, tracks.TrackModel):
        crowd = tracks.read(data, observe or loaded.context, options, fps)
        paths = loaded.forecast(crowd.positions, leads, dt=crowd.dt, person=crowd.person)
        files = write.tracks(folder, crowd, paths, loaded.name)
        if crowd.left_out:
            say(log, f"{crowd.left_out} people in the last frame were not seen long enough")
    else:
        observed = frames.read(data, loaded, options)
        predicted = loaded.forecast(observed.frames, leads, samples=samples, phase=phase)
        files = write.frames(folder, observed, predicted, loaded.name)
    for path in files:
        say(log, f"wrote {path}")


def _options(name: str, configfile: Path) -> dict[str, Any]:
    """The options with which a dataset of the user's own is read.

    Raises:
        StpError: there is no such dataset, or it is a dataset of the benchmark.
    """
    from stp.core.errors import StpError
    from stp.plan import config
    from stp.plan.checked_config import check_known
    from stp.tasks import task as tasks

    datasets = config.load(configfile).datasets
    check_known(name, datasets, "dataset", "stp forecast --like")
    dataset = datasets[name]
    own_reader = tasks.find(dataset.kind).own_reader
    if dataset.reader != own_reader:
        raise StpError(
            f"{name} is read by {dataset.reader}",
            expected=f"a dataset of your own (reader: {own_reader})",
            remedy="leave out --like: the kind of the files is then guessed",
        )
    return dict(dataset.prepare)
