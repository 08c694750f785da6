"""Page of all tables, views and columns of results.duckdb: docs/results_store.md."""

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator

import duckdb

from stp.collect import schema
from stp.collect.artefact_views import KEPT_ROWS
from stp.collect.questions import QUESTIONS
from stp.collect.suite_views import views_of
from stp.collect.views import VIEWS, View, comment_of
from stp.plan.manifests import suite_facts
from stp.plan.suite import read_suites

_HEAD = """# The results store

`results/results.duckdb` holds every collected score with its cell, the artefacts it was made from,
and what the papers print. It is one file, which can be opened read-only from anywhere and is
replaced in one step, so readers never block a run. `make pages` writes this page from the comments
of the database; `FROM duckdb_columns()` shows them there.

```sh
stp query "FROM leaderboard LIMIT 5"     # also -f csv, json, markdown; --out rows.parquet
stp list store leaderboard               # columns of a table or view, with their meaning
stp table short_term --cell kth          # a table of the paper; without a name: all
stp compare simvpv2 convlstm --cell kth  # paired tests, wherever both were evaluated
stp trace simvpv2/kth                    # all that is known of one cell
stp trace 0.8478 --cell simvpv2          # from a printed number to artefacts, code and raw files
duckdb -readonly results/results.duckdb  # DuckDB's own shell, if it is installed
```

Other programs open the file with DuckDB 1.1.3 or newer. In Python, `.df()` and `.pl()` turn an
answer into a data frame of pandas or Polars. Connect again to see a store that was rebuilt:

```python
import duckdb

store = duckdb.connect("results/results.duckdb", read_only=True)
store.sql("FROM leaderboard WHERE tested_on = 'kth'").df()
```

In R, with the packages DBI and duckdb (not tested here):

```r
store <- DBI::dbConnect(duckdb::duckdb(), "results/results.duckdb", read_only = TRUE)
DBI::dbGetQuery(store, "FROM leaderboard WHERE tested_on = 'kth'")
```

For tools that cannot read DuckDB, write the answer to a query, or all tables, as Parquet. (`EXPORT`
keeps views as queries, so write the rows of the view `scores` with `COPY (FROM scores)`.)

```sql
COPY (FROM overall) TO 'overall.parquet';
```

```sql
EXPORT DATABASE 'exported' (FORMAT parquet);
```

The same score artefacts always give the same content: `stp list store --checksum` prints the
SHA-256 of the sorted rows of each table and view. (The files themselves may differ.) Scores with
unexpected columns, duplicate keys, NaN or infinite values, or unknown conventions, and two
artefacts of one cell, are refused with their file and row, and the last good store stays.

After a run that failed, `results/demo/partial/results.duckdb` holds what has been scored, and its
table `missing` lists the rest. Every verb takes it as `--database`:

```sh
stp query --database results/demo/partial/results.duckdb "FROM missing"  # needs a failed run
```

## Scripts

On a terminal, answers are tables that fit its width (`NO_COLOR` and `COLUMNS` are respected);
elsewhere they are plain text without folding and colours. `--format csv`, `json` and `parquet` keep
all digits, and Parquet also the types. `--out FILE` knows the format by `.csv`, `.json`, `.md` or
`.parquet`.

| exit code | meaning |
|---|---|
| 0 | answered |
| 1 | an error: the message says what is wrong, what was expected, and what to do |
| 2 | wrong usage |
| 3 | no answer: no such number (`stp trace`), no rows left (`stp table`, `stp compare`) |

`stp query` without rows ends with 3 only with `--fail-if-empty`, and `stp compare` without a
significant difference only with `--fail-if-alike`:

```sh
stp query "FROM overall WHERE value IS NULL" --fail-if-empty -f csv > gaps.csv && echo "some gaps"
stp compare simvpv2 convlstm --cell kth --metric SSIM --fail-if-alike || echo "alike"
```
"""

_SUITES = """\
A store with results of a suite also has the views of the suite. `stp list store VIEW` prints the
meaning of each column."""

COLUMNS = """\
A column that an earlier table has with the same meaning is described there."""

_TAIL = """## How the tables are connected

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
    """Make the page of all tables, views and columns of a results store, as Markdown."""
    lines = [_HEAD, "## Ten questions", ""]
    for question, about, sql in QUESTIONS:
        lines += [*_wrap_paragraph(f"**{question}** {about}"), "", "```sql", sql, "```", ""]
    lines += [_TAIL]
    defined: dict[tuple[str, str], str] = {}
    with duckdb.connect() as database:
        for table in (*schema.TABLES, *(rows.view for rows in KEPT_ROWS), schema.SAMPLE_SCORES):
            columns = ", ".join(f'"{name}" {kind}' for name, kind, _ in table.columns)
            database.execute(f"CREATE TABLE {table.name} ({columns})")
        lines += ["## Tables", "", COLUMNS, ""]
        for table in schema.TABLES:
            lines += _section(table.name, table.comment, table.columns, defined)
        samples = [(name, "", about) for name, about in schema.SAMPLE_SCORES.comments.items()]
        lines += ["## Views", ""]
        lines += _section("sample_scores", schema.SAMPLE_SCORES.comment, samples, defined)
        for rows in KEPT_ROWS:
            lines += _section(rows.view.name, rows.view.comment, rows.view.columns, defined)
        for view in VIEWS:
            lines += _view_section(database, view, defined)
        lines += ["## Views of suites", "", *_wrap_paragraph(_SUITES), ""]
        for suite, title, views in _suite_views():
            lines += [f"{title} (`config/suites/{suite}/views/`):", ""]
            lines += ["| view | contents | columns |", "|---|---|---|"]
            lines += [_view_row(database, view) for view in views]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _wrap_paragraph(paragraph: str) -> list[str]:
    return textwrap.wrap(paragraph, 100, break_long_words=False, break_on_hyphens=False)


def _suite_views() -> Iterator[tuple[str, str, list[View]]]:
    """Yield name, title and views of each suite that defines views."""
    for name, suite in read_suites().items():
        about = suite_facts(name, suite)
        if views := views_of([(name, about.views)]):
            yield name, suite.title, views


def _view_section(
    database: duckdb.DuckDBPyConnection, view: View, defined: dict[tuple[str, str], str]
) -> list[str]:
    columns = [(name, kind, comment_of(view, name)) for name, kind in _columns(database, view)]
    return _section(view.name, view.comment, columns, defined)


def _view_row(database: duckdb.DuckDBPyConnection, view: View) -> str:
    names = ", ".join(f"`{name}`" for name, _ in _columns(database, view))
    comment = " ".join(view.comment.split()).replace("|", chr(92) + "|")
    return f"| `{view.name}` | {comment} | {names} |"


def _columns(database: duckdb.DuckDBPyConnection, view: View) -> list[tuple[str, str]]:
    """Name and type of each column of a view, which later views can read."""
    database.execute(f"CREATE VIEW {view.name} AS {view.sql}")
    return [(name, kind) for name, kind, *_ in database.execute(f"DESCRIBE {view.name}").fetchall()]


def _section(
    table: str,
    comment: str,
    columns: Iterable[tuple[str, str, str]],
    defined: dict[tuple[str, str], str],
) -> list[str]:
    """Describe a table or view; columns that an earlier one explained are only named.

    Args:
        table: name of the table or view.
        comment: meaning of a row.
        columns: name, type and meaning of each column.
        defined: first table that explained a column, by name and meaning of the column; extended by
            this call.
    """
    rows, repeated = [], defaultdict(list)
    for name, kind, about in columns:
        first = defined.setdefault((name, about), table)
        if first == table:
            rows.append(f"| `{name}` | {kind} | {about.replace('|', chr(92) + '|')} |")
        else:
            repeated[first].append(f"`{name}`")
    places = (f"{', '.join(names)} as in [{first}](#{first})" for first, names in repeated.items())
    lines = [f"### {table}", "", f"{comment} Columns {'; '.join(places)}." if repeated else comment]
    if rows:
        lines += ["", "| column | type | meaning |", "|---|---|---|", *rows]
    return [*lines, ""]
