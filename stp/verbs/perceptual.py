"""Verbs for weights of networks, and for metrics of folders of videos."""

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
from stp.verbs.app import DEMO, ConfigFile, examples, listing, videos
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


def _show_progress(text: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        line = f"{text} {done} of {total}" if total else text
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def _clear_progress() -> None:
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
            help="Verify checksums, and compare values of known frames with the published ones.",
        ),
    ] = False,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download missing weights, where this is allowed.")
    ] = False,
    format: output.TableOrJson = "table",
) -> None:
    """List the weights of networks in metrics (LPIPS, FVD, ...), and how to get missing ones.

    --check exits with 1 unless all weights exist with the declared checksums, and the networks
    reproduce published values (docs/fvd.md).
    """
    from stp.core.errors import suggest_name
    from stp.plan import weights as files

    declared = files.read_declared_weights()
    for name in names or []:
        if name not in declared:
            raise StpError(f"unknown network {name!r}", remedy=suggest_name(name, declared))
    selected = {name: declared[name] for name in names or declared}
    folder = folder or files.FOLDER
    if fetch:
        from stp.fetch import weights as downloads

        for path in downloads.fetch(folder, selected, names or [], report=_show_progress):
            print(f"fetched {path}", file=sys.stderr)
        _clear_progress()
    states = files.states(folder, selected, read=check)
    trials: dict[str, list[Any]] = {}
    if check:
        from stp.score.published_values import compare_published

        trials = {
            state.network: compare_published(state.network, folder, state.file)
            for state in states
            if state.file is not None and state.state == "verified"
        }
    if format == "json":
        entries = files.as_json(states)
        for entry in entries:
            entry["published"] = [trial._asdict() for trial in trials.get(entry["network"], [])]
        print(json.dumps(entries, indent=1))
    else:
        print_lines(files.lines(states, folder, selected))
        for name, values in trials.items():
            for trial in values:
                print(f"  {name}: {trial}")
    wrong = [trial for values in trials.values() for trial in values if not trial.agrees]
    if check and (wrong or any(state.state != "verified" for state in states)):
        raise typer.Exit(1)


@videos.command(
    epilog=examples(
        "stp videos fvd real/ generated/",
        "stp videos fvd real/ generated/ --frames 16 --n 256",
        "stp videos fvd real/ generated/ --layer pooled --extrapolate",
        "stp videos fvd real/ generated/ --frames 16 --context 2 --convention with_context -f json",
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
    context: Annotated[int, typer.Option(help="How many of these frames are context.", min=0)] = 0,
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

    A clip is a video (.mp4, .gif, ...), an array (.npy, .npz) or a folder of pictures. The clips of
    both sets must have the same length and size. FVD depends on the number of clips N: as many are
    drawn from the larger set as the smaller one has, and N is printed. Two halves of the real clips
    are compared as well: a distance that is no larger than theirs means nothing.
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
        """Load the network, after the folders have been checked."""
        path, file = files.locate(folder or files.FOLDER, "i3d", files.read_declared_weights())
        sha256 = require(path, file.model_dump())["sha256"]
        return file, sha256, i3d.embed(Weights(path, {"sha256": sha256}, device, threads), layer)

    distances = compare(real, generated, options, lambda clips: opened()[2](clips), _show_progress)
    file, sha256, _ = opened()
    _clear_progress()
    if format == "json":
        about = {"layer": layer, "weights": file.file, "weights_sha256": sha256}
        print(json.dumps(_plain({**distances._asdict(), **options._asdict(), **about}), indent=1))
        return
    print(f"FVD {distances.fvd:.4f}")
    for line in _about_size(distances):
        print(f"    {line}")
    print(f"KVD {distances.kvd:.6g}")
    print(f"N   {distances.n} clips of each")
    if len(set(distances.available)) > 1 or n is not None:
        print(f"    drawn with seed {seed} from {distances.available[0]} real ", end="")
        print(f"and {distances.available[1]} generated ones")
    cut = f", context {context}" if context else ""
    print(f"layer {layer}; ", end="")
    print(f"convention {convention}: {distances.frames} frames, interval {interval}{cut}; ", end="")
    print(f"{distances.width} x {distances.height} pixels, resized to 224 x 224")
    print(f"weights {file.file}, sha256 {sha256}")
    if file.note:
        print(f"    {file.note}")


@videos.command(
    epilog=examples(
        "stp videos evaluate predicted/ true/",
        "stp videos evaluate predicted/ true/ --context 2 --metric ssim.range1 --metric lpips.alex",
        "stp videos evaluate predicted.npy true.npy --format json",
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
        int, typer.Option(help="Number of frames at the beginning that are not scored.", min=0)
    ] = 0,
    frames: Annotated[
        int | None,
        typer.Option(
            help="Number of frames of each clip, including the context (default: all).", min=1
        ),
    ] = None,
    interval: Annotated[int, typer.Option(help="Use every n-th frame.", min=1)] = 1,
    folder: Folder = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int, typer.Option(help="Number of CPU threads.", min=1)] = 1,
    format: output.TableOrJson = "table",
) -> None:
    """Score predicted videos against the true ones: any metrics, with intervals, without a plan.

    In two folders, clips with the same name are compared. An array (.npy) holds clips in the shape
    (N, T, C, H, W). Metrics whose network has no weights here have no value, and the reason is
    printed.
    """
    from stp.external import scoring
    from stp.plan import weights as files

    scores = scoring.evaluate(
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
        print(json.dumps([score._asdict() for score in scores], indent=1))
        return
    for score in scores:
        threshold = "" if score.threshold is None else f" {score.threshold:g}"
        name = f"{score.convention}{threshold}"
        if score.value is None:
            print(f"{name:<28} -  {score.reason}")
        else:
            interval_text = "" if score.low is None else f"  [{score.low:.4g}, {score.high:.4g}]"
            print(f"{name:<28} {score.value:.6g}{interval_text}  N {score.n}")
    for note in dict.fromkeys(score.note for score in scores if score.note):
        print(note)


@videos.command(
    epilog=examples(
        "stp videos quality predicted/",
        "stp videos quality predicted/ --context 10 --measure alexnet_mcs_rfd --out quality.csv",
        "stp videos quality --cell simvpv2/kth --n 100",
        "stp videos quality predicted/ --configfile config/pvqa-demo.yaml "
        "--measure alexnet_mcs_rfd",
        "stp videos quality --save results/weights/quality_squeezenet.npz",
    ),
)
def quality(
    folder: Annotated[Path | None, typer.Argument(help="A folder of predicted videos.")] = None,
    cell: Annotated[
        str | None,
        typer.Option(help="Instead: a cell whose predictions are stored, as for `stp trace`."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Write the fitted measure to this .npz file instead, for the metric "
            "predicted_quality."
        ),
    ] = None,
    measure: Annotated[str, typer.Option(help="A measure of the scale file.")] = MEASURE,
    variant: Annotated[str, typer.Option(help="A variant of the measure.")] = "default",
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
    """Predict the opinion of people about videos, from 0 to 100.

    The measure is fitted to the rated videos of a scale file of opinions, whose
    tables are made first (docs/pvqa.md). Clips with as many frames as the rated
    videos (4 observed, 16 predicted) are rated by the features of each frame,
    others by their mean and deviation over time. Clips that are far from all
    rated videos have no value.
    """
    from dataclasses import asdict, fields

    from stp.external import quality as rating
    from stp.verbs.app import load_plan

    if sum(source is not None for source in (folder, cell, save)) != 1:
        raise typer.BadParameter("a folder of videos, --cell, or --save", param_hint="FOLDER")
    output_format = output.choose_format(format, out)
    fitted = rating.open_measure(load_plan(configfile), measure, variant)
    if save is not None:
        about = fitted.save(save)
        kind = "" if fitted.is_official else "_synthetic"
        entry = f"quality_{fitted.network}{kind}"
        print(f"wrote {save}; add to the entry {entry} of config/weights.yaml:", file=sys.stderr)
        print(f"  files:\n    - file: {save.name}")
        print(f"      bytes: {about['bytes']}\n      sha256: {about['sha256']}")
        return
    stored_cell = None if cell is None else rating.find_cell(database, cell)
    if stored_cell is None:
        assert folder is not None
        clips = rating.of_folder(folder, context, n)
    else:
        clips = rating.of_cell(stored_cell, n)
    result = fitted.rate(clips, device=device, threads=threads, report=_show_progress)
    agreements = [] if stored_cell is None else rating.agreements(result, stored_cell)
    _clear_progress()
    if output_format == "json":
        content = {**asdict(result), "agreement": [asdict(entry) for entry in agreements]}
        output.put_json(content, out)
    else:
        names = [field.name for field in fields(rating.Rating)]
        rows = [tuple(asdict(clip).values()) for clip in result.ratings]
        output.put_rows(names, rows, output_format, out)
    for line in rating.summary(result, agreements):
        print(line, file=sys.stderr)


def _about_size(distances: "UnpairedDistances") -> Iterator[str]:
    """Lines about how the number of clips limits what FVD can tell."""
    if distances.resolution is not None:
        n, same, other = distances.resolution
        yield (
            f"of {n} clips each: {other.mean:.4g} (deviation {other.deviation:.2g}); between two "
            f"halves of the real clips: {same.mean:.4g} ({same.deviation:.2g})"
        )
        if distances.resolution.is_hidden:
            yield f"WARNING: {distances.n} clips are too few to tell the two sets apart"
    if distances.at_infinite_n is not None:
        value, error, *_ = distances.at_infinite_n
        yield f"at infinite N: {value:.4g}, standard error {error:.2g} (not in the paper)"
    elif distances.why_not:
        yield f"at infinite N: unknown, {distances.why_not}"


def _plain(value: Any) -> Any:
    """Values for JSON: named tuples become objects, NaN and infinities null."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
