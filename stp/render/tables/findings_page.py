"""The page of the paper's findings, with the verdicts on its own numbers: docs/findings.md."""

import textwrap
from collections.abc import Iterator

from stp.render.tables.findings import PUBLISHED, Finding, said, shown, undecided

HEAD = """\
# The paper's findings

The PredBench paper draws eleven findings from its tables (sections 4.1 to 4.4). For each finding,
the project has a query with a criterion in words and numbers. It is judged twice: on your
results, and on the numbers that the paper prints. The second verdict shows whether the paper's
own tables support the sentence. This page lists the second verdicts.
`stp table findings --page docs/findings.md` writes it from `config/suites/predbench/findings/`; a
test compares.

```sh
stp table findings                                     # all verdicts
stp table findings --finding 8                         # one finding, with its evidence
stp table findings --finding 8 --format csv > finding8.csv
snakemake --profile local results/tables/findings.csv  # and .md, .tex, .html
```

The table is part of `results/tables/all` at every scale. It waits for all dimensions of the
scale, and says "not enough data" for findings about other dimensions. A query is plain SQL: in the
shell of DuckDB, `.read config/suites/predbench/findings/08_caltech_is_too_easy.sql` gives the same
comparisons. The verdict follows from them in the same way for every finding.

## Verdicts

| verdict | meaning |
|---|---|
| holds | all parts of the criterion hold |
| does not hold | one part does not hold, whatever may still be missing |
| not enough data | values that could decide it are missing; they are named |
| not comparable | the existing values are of other windows, or FVD of unequal numbers of clips |

A part of a criterion requires a certain number of comparisons to agree with the finding. It holds
as soon as this number is reached, and does not hold as soon as it can no longer be reached. Parts
that are not comparable are left out of the verdict, and their number stands behind it.

- Only the twelve models of the paper count; baselines do not. Seeds are averaged.
- Differences count however small they are; `short_term_intervals.csv` has their intervals.
- A verdict on your results states their data and protocol. On generated data it shows that the
  query works, and nothing about the paper's sentence.
- "Most" and "almost all" of twelve models are read as ten, the fewest that a sign test finds at 5
  % (one-sided p = 79/4096 = 0.019; nine would have 0.073). "All" and "universally" are twelve.

## FVD at equal N

The Frechet distance between two sets of clips decreases with their size, so values of unequal N
are never compared. Models on one test set have equal N. To compare a model with itself on another
test set, `results.duckdb` has the table `matched_distances`, with distances at the N of the
smallest test set. From the features of larger sets, the same number of clips is drawn without
replacement, ten times with seeds 0 to 9 (the same clips for all models). `value` is the mean and
`sd` the standard deviation over these draws. The groups are the short-term test with all
generalization tests of a training, and all intervals of the robustness test.

```sh
stp query "select comparison, model, tested_on, subset, setting, n, clips, value, sd, reason
           from matched_distances order by all"
```

Values are kept in `results/collected/matched_distances.parquet` and drawn once. Without weights
there are no features and no values (`stp list weights`). KVD needs none of this, because it is
unbiased.

## Our values beside the published ones

Two views of the suite have our values and the published ones in one form
(`config/suites/predbench/views/*.sql`; a store with results of the suite has them). `paper_values`
has a row for every entry of the paper's results tables, with ranks. `paper_changes` compares a
model on two test sets.
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
    file = "/".join(question.path.parts[-4:])  # suites/<suite>/findings/<name>
    yield f"Query: [{question.path.name}](../config/{file})"
    yield from ("", "| part | published numbers | agree | disagree | needed | of |")
    yield "|---|---|---:|---:|---:|---:|"
    for part in finding.parts[PUBLISHED]:
        counts = f"{part.yes} | {part.no} | {part.wanted} | {part.comparisons}"
        yield f"| {part.name} | {part.verdict} | {counts} |"
    yield ""
    notes = [*shown(finding, PUBLISHED), *(f"open: {x}" for x in undecided(finding, PUBLISHED))]
    for note in notes:
        yield from textwrap.wrap(f"- {note}", 100, subsequent_indent="  ", break_on_hyphens=False)
    yield from [""] if notes else []
