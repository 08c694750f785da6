"""Page of the paper's findings, with verdicts on the paper's own numbers: docs/findings.md."""

from collections.abc import Iterator
from itertools import groupby

from stp.render.tables.findings import PUBLISHED, Finding, Part, undecided_comparisons, verdict_text

HEAD = """\
# The paper's findings

The PredBench paper draws eleven findings from its tables (sections 4.1 to 4.4). Each is a query in
`config/suites/predbench/findings/`, with a criterion in words and numbers. It is judged on your
results and on the numbers that the paper prints. This page has the second verdict: do the paper's
own tables support the sentence? `stp table findings --page docs/findings.md` writes it.

```sh
stp table findings                                     # both verdicts on all findings
stp table findings --finding 8                         # one finding, with its evidence
stp table findings --finding 8 --format csv > finding8.csv
snakemake --profile local results/tables/findings.csv  # and .md, .tex, .html
```

The table waits for all dimensions of the scale, and says "not enough data" for findings about
others.

| verdict | meaning |
|---|---|
| holds | all parts of the criterion hold |
| does not hold | one part does not hold, whatever may still be missing |
| not enough data | values that could decide it are missing; they are named |
| not comparable | the existing values are of other windows, or FVD of unequal numbers of clips |

A part holds as soon as the needed number of comparisons agree, and does not hold as soon as that
number can no longer be reached. Parts that are not comparable do not count; their number stands
behind the verdict. Columns with the same counts share a row.

- Only the twelve models of the paper count; baselines do not. Seeds are averaged.
- Differences count however small they are; the results store has their intervals.
- A verdict on generated data shows that the query works, and says nothing about the paper.
- "Most" and "almost all" of twelve models are read as ten, the fewest that a sign test finds at 5 %
  (one-sided p = 79/4096 = 0.019; nine would have 0.073). "All" and "universally" are twelve.
- A Frechet distance decreases with the number of clips, so FVD is compared at equal N only. The
  table `matched_distances` of the store compares a model on test sets of unequal size: from the
  features of the larger sets, as many clips as the smallest has are drawn without replacement, ten
  times (seeds 0 to 9, the same clips for all models); `value` and `sd` are their mean and standard
  deviation. KVD needs none of this, because it is unbiased.
- The views `paper_values` and `paper_changes` have our values and the published ones in one form
  ([results_store.md](results_store.md#views-of-suites)).
"""


def page(findings: list[Finding]) -> str:
    """Make the page of findings of papers, with verdicts on printed numbers, as Markdown.

    Args:
        findings: findings with their verdicts; only verdicts on published numbers are used.
    """
    return "\n".join([HEAD, *_overview(findings), *(line for f in findings for line in _one(f))])


def _overview(findings: list[Finding]) -> Iterator[str]:
    yield from ("## Verdicts on the published numbers", "", "| finding | verdict |", "|---|---|")
    for finding in findings:
        question = finding.question
        yield f"| {question.number}. {question.title} | {verdict_text(finding, PUBLISHED)} |"
    yield ""


def _one(finding: Finding) -> Iterator[str]:
    question = finding.question
    file = "/".join(question.path.parts[-4:])  # suites/<suite>/findings/<name>
    yield from (f"## {question.number}. {question.title}", "")
    yield f"- **Paper:** {question.paper}"
    yield f"- **Criterion:** {question.criterion} ([query](../config/{file}))"
    yield f"- **Reading:** {question.reading}"
    yield from (f"- **Open:** {note}" for note in undecided_comparisons(finding, PUBLISHED))
    yield from ("", "| part | published numbers | agree | disagree | needed | of |")
    yield "|---|---|---:|---:|---:|---:|"
    for (test, result), parts in groupby(finding.parts[PUBLISHED], _test_and_result):
        columns = " / ".join(part.name.removeprefix(test).removeprefix(", ") for part in parts)
        yield f"| {', '.join(filter(None, (test, columns)))} | {result} |"
    yield ""


def _test_and_result(part: Part) -> tuple[str, str]:
    """Two texts on a part: what it tests, without the column; and the other cells of its row."""
    test = part.name.rpartition(", ")[0] or part.name
    counts = f"{part.yes} | {part.no} | {part.needed} | {part.comparisons}"
    return test, f"{part.verdict} | {counts}"
