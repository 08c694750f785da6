"""Verbs for metrics that need a network: its weights, and folders of videos."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from stp.core.errors import StpError
from stp.verbs.app import app, examples
from stp.verbs.output import print_lines

Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        envvar="STP_WEIGHTS_DIR",
        help="The folder of weights (default: results/weights).",
    ),
]


def _show(text: str, done: int, total: int) -> None:
    """Show progress in one line of a terminal."""
    if sys.stderr.isatty():
        line = f"{text} {done} of {total}" if total else text
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def _over() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


@app.command(
    rich_help_panel="Data",
    epilog=examples(
        "stp weights",
        "stp weights --check",
        "stp weights --fetch",
        "stp weights --fetch vgg16",
    ),
)
def weights(
    names: Annotated[list[str] | None, typer.Argument(help="Networks (default: all).")] = None,
    folder: Folder = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Verify all bytes, and compare values of known frames with the published ones.",
        ),
    ] = False,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download missing weights, where this is allowed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """List the weights of LPIPS, FVD and KVD, and say how to get missing ones.

    --check exits with 1 unless all weights exist, their bytes are the declared ones, and the
    networks give the published values for black and white frames.
    """
    from stp.core.errors import nearest
    from stp.plan import weights as files

    known = files.declared()
    for name in names or []:
        if name not in known:
            raise StpError(f"unknown network {name!r}", remedy=nearest(name, known))
    wanted = {name: known[name] for name in names or known}
    place = folder or files.FOLDER
    if fetch:
        from stp.fetch import weights as downloads

        for path in downloads.fetch(place, wanted, names or [], report=_show):
            print(f"fetched {path}", file=sys.stderr)
        _over()
    found = files.states(place, wanted, read=check)
    trials: dict[str, list[Any]] = {}
    if check:
        from stp.score.published_values import tried

        trials = {
            one.network: tried(one.network, place / one.file.file)
            for one in found
            if one.file is not None and one.state == "verified"
        }
    if as_json:
        own = files.as_json(found)
        for entry in own:
            entry["published"] = [trial._asdict() for trial in trials.get(entry["network"], [])]
        print(json.dumps(own, indent=1))
    else:
        print_lines(files.lines(found, place, wanted))
        for name, values in trials.items():
            for trial in values:
                print(f"  {name}: {trial}")
    wrong = [trial for values in trials.values() for trial in values if not trial.agrees]
    if check and (wrong or any(one.state != "verified" for one in found)):
        raise typer.Exit(1)


@app.command(
    rich_help_panel="Results",
    epilog=examples(
        "stp fvd real/ generated/",
        "stp fvd real/ generated/ --frames 16 --n 256",
        "stp fvd real/ generated/ --frames 16 --context 2 --convention with_context --json",
    ),
)
def fvd(
    real: Annotated[Path, typer.Argument(help="A folder of real videos.")],
    generated: Annotated[Path, typer.Argument(help="A folder of generated videos.")],
    frames: Annotated[
        int | None,
        typer.Option(
            help="Number of frames of each clip, including the context (default: all).", min=1
        ),
    ] = None,
    interval: Annotated[int, typer.Option(help="Use every n-th frame.", min=1)] = 1,
    context: Annotated[int, typer.Option(help="Number of context frames among these.", min=0)] = 0,
    convention: Annotated[
        str, typer.Option(help="predicted_only, with_context or zero_padded.")
    ] = "predicted_only",
    n: Annotated[
        int | None,
        typer.Option(
            "--n", help="Number of clips from each folder (default: that of the smaller folder)."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed of the selection, if a folder has more clips.", min=0)
    ] = 0,
    folder: Folder = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int, typer.Option(help="Number of CPU threads.", min=1)] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Compare two sets of videos: Frechet and kernel video distance (FVD, KVD).

    A clip is a film (.mp4, .gif, ...), an array (.npy, .npz) or a folder of pictures. The clips of
    both sets must have the same length and size. FVD depends on the number of clips: from the
    larger set, as many clips are drawn as the smaller one has, and N is printed.
    """
    from stp.core.file_identity import require
    from stp.features.networks import i3d
    from stp.metrics.perceptual import Weights
    from stp.plan import weights as files
    from stp.score.unpaired import Options, compare

    path, file = files.locate(folder or files.FOLDER, "i3d", files.declared())
    options = Options(frames, interval, context, convention, n, seed)
    sha256 = require(path, file.model_dump())["sha256"]
    embed = i3d.embed(Weights(path, {"sha256": sha256}, device, threads), "logits")
    found = compare(real, generated, options, embed, _show)
    _over()
    if as_json:
        about = {"weights": file.file, "weights_sha256": sha256}
        print(json.dumps({**found._asdict(), **options._asdict(), **about}, indent=1))
        return
    print(f"FVD {found.fvd:.4f}")
    print(f"KVD {found.kvd:.6g}")
    print(f"N   {found.n} clips of each")
    if len(set(found.available)) > 1 or n is not None:
        print(f"    drawn with seed {seed} from {found.available[0]} real ", end="")
        print(f"and {found.available[1]} generated ones")
    cut = f", context {context}" if context else ""
    print(f"convention {convention}: {found.frames} frames, interval {interval}{cut}; ", end="")
    print(f"{found.width} x {found.height} pixels, resized to 224 x 224")
    print(f"weights {file.file}, sha256 {sha256}")
    if file.note:
        print(f"    {file.note}")
