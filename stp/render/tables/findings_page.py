"""The page of the paper's findings, with the verdicts on its own numbers: docs/findings.md."""

import textwrap
from collections.abc import Iterator

from stp.render.tables.findings import PUBLISHED, Finding, said, shown, undecided

HEAD = """\
# The paper's findings

Written by `stp findings --page docs/findings.md` from `config/findings/`; a test compares.

The PredBench paper draws eleven findings from its tables (sections 4.1 to 4.4). Each is saved here
as a query with a criterion in words and numbers, and is judged twice: on the data at hand, and on
the numbers that the paper prints. The second asks whether the paper's own tables support its
sentence; its verdicts are below.

```sh
stp findings                                     # all verdicts
stp findings 8                                   # one, with its evidence
stp findings 8 --format csv > finding8.csv
snakemake --profile local results/tables/findings.csv    # and .md, .tex, .html
```

The table is part of `results/tables/all`, at every scale; it waits for all dimensions that the
scale has, and says "not enough data" of the rest. A query is plain SQL: in the shell of DuckDB,
`.read config/findings/08_caltech_is_too_easy.sql` gives the same rows.

## Verdicts

| verdict | when |
|---|---|
| holds | all parts of the criterion do |
| does not hold | one of them does not, whatever may still be missing |
| not enough data | values are missing that could decide it; they are named |
| not comparable | what exists is of other windows, or FVD of unequal numbers of clips |

A part of a criterion asks for a number of comparisons that come out as the finding says. It holds
as soon as so many do, and does not hold as soon as so many cannot any more. Parts that are not
comparable are left out of the verdict, and counted behind it.

Only the twelve models of the paper count; reference lines do not. Seeds are averaged. Differences
are taken as they are, however small; `short_term_intervals.csv` has their intervals. A verdict on
data at hand says which bytes and which protocol it is about: on made-up bytes it shows that the
query works, and nothing about the paper's sentence.

"Most" and "almost all" of twelve models are read as ten: the fewest that a sign test finds at 5 %
(one-sided p = 79/4096 = 0.019; nine would have 0.073). "All" and "universally" are twelve.

## FVD at equal N

The Frechet distance between two sets of clips shrinks as they grow, so values of unequal N are
never compared. Models on one test set have equal N. Where a model is compared with itself on
another test set, `results.duckdb` has a table of distances at the N of the smallest one,
`matched_distances`: of larger sets, as many clips are drawn without replacement, ten times with
seeds 0 to 9 (the same clips for all models), from the features of all clips;
`value` is the mean, `sd` the spread over drawings. Groups are the short-term test with all
generalization tests of a training, and all intervals of the robustness test.

```sh
stp query "select comparison, model, tested_on, subset, setting, n, clips, value, sd, reason
           from matched_distances order by all"
```

Values are kept in `results/collected/matched_distances.parquet` and drawn once. Without weights
there are no features, and no values (`stp weights`). KVD needs none of this: it is unbiased.

Two views of the suite (`config/suites/predbench/*.sql`; a store that holds its results has them)
put our values beside the published ones in one shape: `paper_values`, a row for every place of the
paper's results tables, with ranks; and `paper_changes`, a model on two test sets.
"""


def page(findings: list[Finding]) -> str:
    """Write the page.

    Args:
        findings: judged; only the verdicts on published numbers are used.
    """
    return "\n".join([HEAD, *_overview(findings), *(line for f in findings for line in _one(f))])


def _overview(findings: list[Finding]) -> Iterator[str]:
    yield from ("## On the published numbers", "", "| finding | verdict |", "|---|---|")
    for finding in findings:
        question = finding.question
        yield f"| {question.number}. {question.title} | {said(finding, PUBLISHED)} |"
    yield ""


def _one(finding: Finding) -> Iterator[str]:
    question = finding.question
    yield from (f"## {question.number}. {question.title}", "")
    for name, words in (
        ("Paper", question.paper),
        ("Criterion", question.criterion),
        ("Reading", question.reading),
    ):
        yield from textwrap.wrap(f"**{name}.** {words}", 100, break_on_hyphens=False)
        yield ""
    yield f"Query: [{question.path.name}](../config/findings/{question.path.name})"
    yield from ("", "| part | published numbers | so | not so | needed | of |")
    yield "|---|---|---:|---:|---:|---:|"
    for part in finding.parts[PUBLISHED]:
        counts = f"{part.yes} | {part.no} | {part.wanted} | {part.comparisons}"
        yield f"| {part.name} | {part.verdict} | {counts} |"
    yield ""
    notes = [*shown(finding, PUBLISHED), *(f"open: {x}" for x in undecided(finding, PUBLISHED))]
    for note in notes:
        yield from textwrap.wrap(f"- {note}", 100, subsequent_indent="  ", break_on_hyphens=False)
    yield from [""] if notes else []
