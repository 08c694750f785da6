"""Verbs for metrics that need a network: its weights, and folders of videos."""

import json
import math
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stp.core.errors import StpError
from stp.verbs import output
from stp.verbs.app import DEMO, PANELS, ConfigFile, app, examples, listing
from stp.verbs.output import print_lines

if TYPE_CHECKING:
    from stp.score.unpaired import UnpairedDistances

MEASURE = "squeezenet_mcs_rfd"

Folder = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        envvar="STP_WEIGHTS_DIR",
        file_okay=False,
        help="The folder of weights (default: results/weights).",
    ),
]


def _show(text: str, done: int, total: int) -> None:
    """Show the progress in one line of the terminal."""
    if sys.stderr.isatty():
        line = f"{text} {done} of {total}" if total else text
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def _over() -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


@listing.command(
    epilog=examples(
        "stp list weights",
        "stp list weights --check",
        "stp list weights --fetch",
        "stp list weights --fetch vgg16",
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
    format: output.TableOrJson = "table",
) -> None:
    """List the weights of LPIPS, FVD and KVD, and say how to get missing ones.

    --check exits with 1 unless all weights exist, their bytes are the declared ones, and the
    networks give the values that are published for these weights: for black and white frames, and
    of the weights of deepmind/kinetics-i3d for its clip v_CricketShot_g04_c01_rgb.gif, which has to
    be in the same folder.
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
            one.network: tried(one.network, place, one.file)
            for one in found
            if one.file is not None and one.state == "verified"
        }
    if format == "json":
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
    rich_help_panel=PANELS[4],
    epilog=examples(
        "stp fvd real/ generated/",
        "stp fvd real/ generated/ --frames 16 --n 256",
        "stp fvd real/ generated/ --layer pooled --extrapolate",
        "stp fvd real/ generated/ --frames 16 --context 2 --convention with_context --format json",
    ),
)
def fvd(
    real: Annotated[Path, typer.Argument(help="A folder of real videos.", exists=True)],
    generated: Annotated[Path, typer.Argument(help="A folder of generated videos.", exists=True)],
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
    seed: Annotated[int, typer.Option(help="Seed of the selection of clips.", min=0)] = 0,
    layer: Annotated[str, typer.Option(help="Layer of I3D: logits or pooled.")] = "logits",
    extrapolate: Annotated[
        bool,
        typer.Option("--extrapolate", help="Estimate FVD at infinite N as well, with its error."),
    ] = False,
    folder: Folder = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int, typer.Option(help="Number of CPU threads.", min=1)] = 1,
    format: output.TableOrJson = "table",
) -> None:
    """Compare two sets of videos: Frechet and kernel video distance (FVD, KVD).

    A clip is a film (.mp4, .gif, ...), an array (.npy, .npz) or a folder of pictures. The clips of
    both sets must have the same length and size. FVD depends on the number of clips: from the
    larger set, as many clips are drawn as the smaller one has, and N is printed. Halves of the
    real clips are compared with each other as well: N hides a distance no larger than theirs.
    """
    from stp.core.file_identity import require
    from stp.features.networks import i3d
    from stp.metrics.perceptual import Embed, Weights
    from stp.plan import weights as files
    from stp.score.unpaired import Options, compare

    if layer not in i3d.LAYERS:
        raise StpError(f"unknown layer {layer!r}", expected=" or ".join(i3d.LAYERS))
    options = Options(frames, interval, context, convention, n, seed, extrapolate)

    @cache
    def opened() -> tuple[files.WeightFile, str, Embed]:
        """The network, when the folders have been looked at."""
        path, file = files.locate(folder or files.FOLDER, "i3d", files.declared())
        sha256 = require(path, file.model_dump())["sha256"]
        return file, sha256, i3d.embed(Weights(path, {"sha256": sha256}, device, threads), layer)

    found = compare(real, generated, options, lambda clips: opened()[2](clips), _show)
    file, sha256, _ = opened()
    _over()
    if format == "json":
        about = {"layer": layer, "weights": file.file, "weights_sha256": sha256}
        print(json.dumps(_plain({**found._asdict(), **options._asdict(), **about}), indent=1))
        return
    print(f"FVD {found.fvd:.4f}")
    for line in _about_size(found):
        print(f"    {line}")
    print(f"KVD {found.kvd:.6g}")
    print(f"N   {found.n} clips of each")
    if len(set(found.available)) > 1 or n is not None:
        print(f"    drawn with seed {seed} from {found.available[0]} real ", end="")
        print(f"and {found.available[1]} generated ones")
    cut = f", context {context}" if context else ""
    print(f"layer {layer}; ", end="")
    print(f"convention {convention}: {found.frames} frames, interval {interval}{cut}; ", end="")
    print(f"{found.width} x {found.height} pixels, resized to 224 x 224")
    print(f"weights {file.file}, sha256 {sha256}")
    if file.note:
        print(f"    {file.note}")


@app.command(
    rich_help_panel=PANELS[4],
    epilog=examples(
        "stp evaluate predicted/ true/",
        "stp evaluate predicted/ true/ --context 2 --metric ssim.range1 --metric lpips.alex",
        "stp evaluate predicted.npy true.npy --format json",
    ),
)
def evaluate(
    predicted: Annotated[Path, typer.Argument(help="A folder of predicted videos, or an array.")],
    true: Annotated[Path, typer.Argument(help="A folder of the true ones, or an array.")],
    metric: Annotated[
        list[str] | None,
        typer.Option(help="A convention, such as psnr.pooled (`stp list metrics`); repeatable."),
    ] = None,
    context: Annotated[
        int, typer.Option(help="Frames at the beginning that are not scored.", min=0)
    ] = 0,
    frames: Annotated[
        int | None,
        typer.Option(help="Frames of each clip, context included (default: all).", min=1),
    ] = None,
    interval: Annotated[int, typer.Option(help="Every which frame counts.", min=1)] = 1,
    folder: Folder = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int, typer.Option(help="CPU threads.", min=1)] = 1,
    format: output.TableOrJson = "table",
) -> None:
    """Score predicted videos against the true ones: any metrics, with intervals, without a plan.

    Of two folders, clips of the same name belong together; an array (.npy) has clips, (N, T, C, H,
    W). Metrics whose network has no weights here have no value, and say why.
    """
    from stp.external import scoring
    from stp.plan import weights as files

    found = scoring.evaluate(
        predicted,
        true,
        tuple(metric or scoring.METRICS),
        context=context,
        frames=frames,
        interval=interval,
        weights=folder or files.FOLDER,
        device=device,
        threads=threads,
    )
    if format == "json":
        print(json.dumps([one._asdict() for one in found], indent=1))
        return
    for one in found:
        name = one.convention if one.threshold is None else f"{one.convention} {one.threshold:g}"
        if one.value is None:
            print(f"{name:<28} -  {one.reason}")
        else:
            between = "" if one.low is None else f"  [{one.low:.4g}, {one.high:.4g}]"
            print(f"{name:<28} {one.value:.6g}{between}  N {one.n}")
    for note in dict.fromkeys(one.note for one in found if one.note):
        print(note)


@app.command(
    rich_help_panel=PANELS[4],
    epilog=examples(
        "stp quality predicted/",
        "stp quality predicted/ --context 10 --measure alexnet_mcs_rfd --out quality.csv",
        "stp quality --cell simvpv2/kth --n 100",
        "stp quality predicted/ --configfile config/pvqa-demo.yaml --measure alexnet_mcs_rfd",
        "stp quality --save results/weights/quality_squeezenet.npz",
    ),
)
def quality(
    folder: Annotated[Path | None, typer.Argument(help="A folder of predicted videos.")] = None,
    cell: Annotated[
        str | None,
        typer.Option(help="Instead: a cell whose predictions are stored, as for `stp show`."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Instead: write the measure and all that it has learnt into this .npz file, for "
            "the metric predicted_quality."
        ),
    ] = None,
    measure: Annotated[str, typer.Option(help="A measure of the scale file.")] = MEASURE,
    variant: Annotated[str, typer.Option(help="A variant of it.")] = "default",
    context: Annotated[
        int, typer.Option(help="Number of observed frames at the beginning of each clip.", min=1)
    ] = 4,
    n: Annotated[
        int | None,
        typer.Option("--n", help="Number of clips, evenly spread (default: all).", min=1),
    ] = None,
    configfile: ConfigFile = DEMO,
    database: output.Database = output.DATABASE,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int, typer.Option(help="Number of CPU threads.", min=1)] = 1,
    format: output.Format = None,
    out: output.Out = None,
) -> None:
    """Predict what people would think of videos, from 0 to 100.

    The measure has learnt from the rated videos of a scale file of opinions,
    whose tables are made first (docs/pvqa.md). Clips with as many frames (4
    observed, 16 predicted) are rated by the features of each frame, others by
    their mean and deviation over time. Clips that are far from all rated
    videos have no value.
    """
    from dataclasses import asdict, fields

    from stp.external import quality as rating
    from stp.verbs.app import load_plan

    if sum(one is not None for one in (folder, cell, save)) != 1:
        raise typer.BadParameter("a folder of videos, --cell, or --save", param_hint="FOLDER")
    chosen = output.chosen(format, out)
    opened = rating.open_measure(load_plan(configfile), measure, variant)
    if save is not None:
        about = opened.save(save)
        kind = "" if opened.is_official else "_synthetic"
        entry = f"quality_{opened.network}{kind}"
        print(f"wrote {save}; add to the entry {entry} of config/weights.yaml:", file=sys.stderr)
        print(f"  files:\n    - file: {save.name}")
        print(f"      bytes: {about['bytes']}\n      sha256: {about['sha256']}")
        return
    asked = None if cell is None else rating.find_cell(database, cell)
    if asked is None:
        assert folder is not None
        clips = rating.of_folder(folder, context, n)
    else:
        clips = rating.of_cell(asked, n)
    found = opened.rate(clips, device=device, threads=threads, report=_show)
    others = [] if asked is None else rating.agreements(found, asked)
    _over()
    if chosen == "json":
        output.put_json({**asdict(found), "agreement": [asdict(one) for one in others]}, out)
    else:
        names = [field.name for field in fields(rating.Rating)]
        rows = [tuple(asdict(one).values()) for one in found.ratings]
        output.put_rows(names, rows, chosen, out)
    for line in rating.summary(found, others):
        print(line, file=sys.stderr)


def _about_size(found: "UnpairedDistances") -> Iterator[str]:
    """How the number of clips limits what FVD can tell."""
    if found.resolution is not None:
        n, same, other = found.resolution
        yield (
            f"of {n} clips each: {other.mean:.4g} (deviation {other.deviation:.2g}); halves of the "
            f"real clips from each other: {same.mean:.4g} ({same.deviation:.2g})"
        )
        if found.resolution.is_hidden:
            yield f"WARNING: {found.n} clips are too few to tell the two sets apart"
    if found.at_infinite_n is not None:
        value, error, *_ = found.at_infinite_n
        yield f"at infinite N: {value:.4g}, standard error {error:.2g} (ours, not of the paper)"
    elif found.why_not:
        yield f"at infinite N: unknown, {found.why_not}"


def _plain(value: Any) -> Any:
    """Values for JSON: named tuples become objects, NaN and infinities null."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
