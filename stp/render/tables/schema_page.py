"""The page of every table, view and column of results.duckdb: docs/results_store.md."""

import textwrap
from collections.abc import Iterator

import duckdb

from stp.collect import schema
from stp.collect.artefact_views import KEPT_ROWS
from stp.collect.questions import QUESTIONS
from stp.collect.suite_views import views_of
from stp.collect.views import VIEWS, View, comment_of
from stp.plan.manifests import suite_facts
from stp.plan.suite import read_suites

_HEAD = """# The results store

`results/results.duckdb` holds every score of every dimension that was collected, with the cell it
belongs to, the artefacts it was made from, and what the papers print. It is one file, opens
read-only from anywhere, and is replaced in one step: who reads it is never in the way of a run.
This page is made from the database's own comments (`stp list store --page docs/results_store.md`);
in the database, `FROM duckdb_columns()` shows them.

```sh
stp query "FROM leaderboard LIMIT 5"     # also -f csv, json, markdown; --out rows.parquet
stp list store leaderboard               # columns of a table or view, with what they mean
stp table short_term --cell kth          # a table of the paper; without a name: all
stp compare simvpv2 convlstm --cell kth  # paired tests, wherever both were evaluated
stp trace simvpv2/kth                     # all that is known of one cell
stp trace 0.8478 --cell simvpv2          # from a printed number to artefacts, code and raw files
duckdb -readonly results/results.duckdb  # DuckDB's own shell, if it is installed
```

Other programs open the file with DuckDB 1.1.3 (November 2024) or newer: it is written in the format
of DuckDB 1.0, and every table and view was read with 1.1.3.

In a script or a notebook, an answer becomes a data frame (`.df()` for pandas, `.pl()` for Polars):

```python
import duckdb

store = duckdb.connect("results/results.duckdb", read_only=True)
store.sql("FROM leaderboard WHERE tested_on = 'kth'").df()
```

A notebook keeps what it has opened, however often the store is rebuilt meanwhile; connect again to
see the new one. In R, with the packages DBI and duckdb (nothing here tests that):

```r
store <- DBI::dbConnect(duckdb::duckdb(), "results/results.duckdb", read_only = TRUE)
DBI::dbGetQuery(store, "FROM leaderboard WHERE tested_on = 'kth'")
```

For tools that read no DuckDB, the answer to a query becomes Parquet, or all tables do. (`EXPORT`
keeps views as queries; `scores` is one, whose rows `COPY (FROM scores)` writes.)

```sql
COPY (FROM overall) TO 'overall.parquet';
```

```sql
EXPORT DATABASE 'exported' (FORMAT parquet);
```

The same score artefacts give the same content, whatever was made first and with any number of
threads: `stp list store --checksum` prints the SHA-256 of the sorted rows of each table and view.
(The bytes of two database files may differ: DuckDB lays out its pages as its threads please.)
Scores with other columns, duplicate keys, NaN or infinite values, conventions that the plan does
not know, and two artefacts that claim one cell are refused with their file and row: the last good
store stays where it is.

After a run that failed, `results/demo/partial/results.duckdb` holds whatever is scored, with table
`missing` filled; `--database` names it to any verb:

```sh
stp query --database results/demo/partial/results.duckdb "FROM missing"
stp render results/demo/partial/results.duckdb --out partial.html
```

## For scripts

On a terminal, answers are tables that fit it (`NO_COLOR` and `COLUMNS` are respected); elsewhere
they are plain text that is never folded or coloured. `--format csv`, `json` and `parquet` keep all
digits, Parquet also the types of the database (times, lists, JSON); `--out FILE` writes beside and
renames, and knows the format by `.csv`, `.json`, `.md` or `.parquet`.

| exit code | meaning |
|---|---|
| 0 | answered: there are rows, or nobody asked that there be some |
| 1 | an error: it says what is wrong, what was expected, and what to do |
| 2 | wrong usage |
| 3 | the question is right, and nothing answers it |

A 3 comes from `stp trace` where nothing is printed so or there is no such cell,
from `stp table` and `stp compare` where their options leave nothing; from `stp query` without rows
only with `--fail-if-empty`, and from `stp compare` without a significant difference only with
`--fail-if-alike`:

```sh
stp query "FROM overall WHERE value IS NULL" --fail-if-empty -f csv > gaps.csv && echo "some gaps"
stp compare simvpv2 convlstm --cell kth --column SSIM --fail-if-alike || echo "alike"
stp trace simvpv2/kth -f json | python -c "import json, sys; print(json.load(sys.stdin)['command'])"
```
"""

_TAIL = """## How it hangs together

```mermaid
erDiagram
    cells ||--o{ score_rows : "number = cell"
    score_kinds ||--o{ score_rows : "number = kind"
    score_rows ||--|| scores : "a row each"
    cells ||--o{ scores : "key of the cell"
    cells ||--o{ sample_scores : "key of the cell"
    cells ||--o{ person_errors : "key of the cell"
    cells ||--o{ predicted_opinions : "key of the cell"
    cells }o--o{ opinion_ratings : "data_fingerprint"
    cells ||--o{ runtime : "key of the cell"
    cells }o--o{ artefacts : "folders"
    artefacts ||--o{ attempts : "path"
    missing }o--o{ attempts : "path"
    artefacts }o--o{ raw_files : "inputs.raw = lock"
    conventions ||--o{ scores : "convention"
    paper_columns }o--|| conventions : "convention"
    published }o--o{ paper_columns : "dimension, dataset, metric"
    cells }o--|| settings : "setting"
    cells }o--|| dimensions : "suite, dimension"
    suites ||--o{ dimensions : "suite"
    cells ||--o{ matched_distances : "key of the cell"
    cells }o--o{ ranks : "evaluation, model"
    ranks ||--o{ comparisons : "evaluation, convention"
```

The key of a cell is `suite, dimension, model, variant, trained_on, train_subset, tested_on, subset,
setting, seed`; `seed` is NULL for deterministic models, so join it with `IS NOT DISTINCT FROM`.
"""


def page() -> str:
    """The page as Markdown."""
    lines = [_HEAD, "## Ten questions", ""]
    for question, about, sql in QUESTIONS:
        lines += [*_wrapped(f"**{question}** {about}"), "", "```sql", sql, "```", ""]
    lines += [_TAIL]
    with duckdb.connect() as database:
        for table in (*schema.TABLES, *(rows.view for rows in KEPT_ROWS), schema.SAMPLE_SCORES):
            columns = ", ".join(f'"{name}" {kind}' for name, kind, _ in table.columns)
            database.execute(f"CREATE TABLE {table.name} ({columns})")
        lines += ["## Tables", ""]
        for table in schema.TABLES:
            lines += _section(table.name, table.comment, list(table.columns))
        samples = [(name, "", about) for name, about in schema.SAMPLE_SCORES.comments.items()]
        lines += ["## Views", ""]
        lines += _section("sample_scores", schema.SAMPLE_SCORES.comment, samples)
        for rows in KEPT_ROWS:
            lines += _section(rows.view.name, rows.view.comment, list(rows.view.columns))
        for view in VIEWS:
            lines += _described(database, view)
        lines += ["## Views of suites", ""]
        for suite, title, views in _suite_views():
            lines += [f"A store with results of {title} (`config/suites/{suite}/views/`) has:", ""]
            for view in views:
                lines += _described(database, view)
    return "\n".join(lines).rstrip() + "\n"


def _wrapped(paragraph: str) -> list[str]:
    return textwrap.wrap(paragraph, 100, break_long_words=False, break_on_hyphens=False)


def _suite_views() -> Iterator[tuple[str, str, list[View]]]:
    """Name and title of each suite that has views of its own, and these."""
    for name, suite in read_suites().items():
        about = suite_facts(name, suite)
        if views := views_of([(name, about.views)]):
            yield name, suite.title, views


def _described(database: duckdb.DuckDBPyConnection, view: View) -> Iterator[str]:
    database.execute(f"CREATE VIEW {view.name} AS {view.sql}")
    described = database.execute(f"DESCRIBE {view.name}").fetchall()
    columns = [(name, kind, comment_of(view, name)) for name, kind, *_ in described]
    yield from _section(view.name, view.comment, columns)


def _section(name: str, comment: str, columns: list[tuple[str, str, str]]) -> Iterator[str]:
    yield from (f"### {name}", "", comment, "", "| column | type | meaning |", "|---|---|---|")
    for column, kind, about in columns:
        yield f"| `{column}` | {kind} | {about.replace('|', chr(92) + '|')} |"
    yield ""
