"""docs/results_store.md: every table, view and column of results.duckdb."""

from collections.abc import Iterator

import duckdb

from stp.collect import layout
from stp.collect.views import VIEWS, comment_of

_HEAD = """# The results store

`results/results.duckdb` holds every score of every dimension that was collected, with the cell it
belongs to, the artefacts it was made from, and what the papers print. It is one file, opens
read-only from anywhere, and is replaced in one step: who reads it is never in the way of a run.
This page is made from the database's own comments (`stp schema --page docs/results_store.md`); in
the database, `FROM duckdb_columns()` shows them.

```sh
stp query "FROM leaderboard LIMIT 5"        # also -f csv, json, markdown
stp schema leaderboard                      # columns of a table or view, with what they mean
stp compare simvpv2 convlstm --on kth       # paired tests, wherever both were evaluated
stp trace 0.8248 --model simvpv2            # from a printed number to artefacts, code and raw files
duckdb -readonly results/results.duckdb     # DuckDB's own shell, if it is installed
```

```python
import duckdb

store = duckdb.connect("results/results.duckdb", read_only=True)
store.sql("FROM leaderboard WHERE tested_on = 'kth'").df()
```

```r
store <- DBI::dbConnect(duckdb::duckdb(), "results/results.duckdb", read_only = TRUE)
DBI::dbGetQuery(store, "FROM leaderboard WHERE tested_on = 'kth'")
```

For tools that read no DuckDB, a table or the answer to a query becomes Parquet:

```sql
COPY (FROM overall) TO 'overall.parquet';
```

## Five questions

Who wins on KTH in SSIM, and is it significant? In 95 % of the resamples of clips, the rank is
between `rank_low` and `rank_high`; `p_corrected` is of the difference to the winner. (LPIPS, where
its weights are at hand, is `lpips.alex`.)

```sql
SELECT r.rank, r.rank_low, r.rank_high, r.model, l.value, c.p_corrected, c.better, r.reason,
    l.source
FROM ranks r
JOIN leaderboard l USING (dimension, tested_on, setting, model, variant, convention)
LEFT JOIN comparisons c
    ON c.dimension = r.dimension AND c.tested_on = r.tested_on AND c.convention = r.convention
    AND (c.model, c.other) IN ((r.model, l.best_model), (l.best_model, r.model))
WHERE r.dimension = 'short_term' AND r.tested_on = 'kth' AND r.convention = 'ssim.range2'
ORDER BY r.rank;
```

Which models degrade most at three times the frame interval?

```sql
SELECT model, tested, metric, base_value, value, decline FROM paper_changes
WHERE side = 'ours' AND comparison = 'robustness' AND frame_interval = 3 AND base_interval = 1
ORDER BY decline DESC NULLS LAST LIMIT 10;
```

What did a model cost?

```sql
SELECT model, tested_on, dimension, seed, train_seconds, predict_seconds, train_device FROM cost
WHERE model = 'simvpv2' ORDER BY ALL;
```

Where does a number come from, down to the raw files?

```sql
SELECT step, l.stage, l.path, l.commit, l.host, r.file, r.sha256
FROM lineage l LEFT JOIN raw_files r ON r.lock = l.raw_lock
WHERE l.model = 'convlstm' AND l.tested_on = 'kth' ORDER BY ALL LIMIT 10;
```

What is missing, and why?

```sql
SELECT DISTINCT dimension, tested_on, convention, reason FROM overall
WHERE value IS NULL ORDER BY ALL;
```

## How it hangs together

```mermaid
erDiagram
    cells ||--o{ scores : "key of the cell"
    cells ||--o{ sample_scores : "key of the cell"
    cells }o--o{ artefacts : "folders"
    artefacts ||--o{ attempts : "path"
    artefacts }o--o{ raw_files : "inputs.raw = lock"
    conventions ||--o{ scores : "convention"
    paper_columns }o--|| conventions : "convention"
    published }o--o{ paper_columns : "dimension, dataset, metric"
    cells ||--o{ matched_distances : "key of the cell"
    cells }o--o{ ranks : "evaluation, model"
    ranks ||--o{ comparisons : "evaluation, convention"
```

The key of a cell is `suite, dimension, model, variant, trained_on, train_subset, tested_on, subset,
setting, seed`; `seed` is NULL for deterministic models, so join it with `IS NOT DISTINCT FROM`.
"""


def page() -> str:
    """The page as Markdown."""
    lines = [_HEAD]
    with duckdb.connect() as database:
        for table in layout.TABLES:
            columns = ", ".join(f'"{name}" {kind}' for name, kind, _ in table.columns)
            database.execute(f"CREATE TABLE {table.name} ({columns})")
        lines += ["## Tables", ""]
        for table in layout.TABLES:
            lines += _section(table.name, table.comment, list(table.columns))
        samples = [(name, "", about) for name, about in layout.SAMPLE_COLUMNS.items()]
        lines += ["## Views", ""]
        lines += _section("sample_scores", layout.SAMPLE_SCORES_COMMENT, samples)
        for view in VIEWS:
            database.execute(f"CREATE VIEW {view.name} AS {view.sql}")
            described = database.execute(f"DESCRIBE {view.name}").fetchall()
            found = [(name, kind, comment_of(view, name)) for name, kind, *_ in described]
            lines += _section(view.name, view.comment, found)
    return "\n".join(lines).rstrip() + "\n"


def _section(name: str, comment: str, columns: list[tuple[str, str, str]]) -> Iterator[str]:
    yield from (f"### {name}", "", comment, "", "| column | type | meaning |", "|---|---|---|")
    for column, kind, about in columns:
        yield f"| `{column}` | {kind} | {about.replace('|', chr(92) + '|')} |"
    yield ""
