"""Example queries of the results store, shown by docs/results_store.md and the report."""

from typing import NamedTuple


class Question(NamedTuple):
    """A question about results, and an SQL query of the results store that answers it.

    Attributes:
        asked: the question.
        about: explanation of the answer, in Markdown.
        sql: the query.
    """

    asked: str
    about: str
    sql: str


QUESTIONS = (
    Question(
        "Who wins on KTH in LPIPS, and is it significant?",
        "(In SSIM, where LPIPS has no weights.) With 95 % confidence the ranks of all "
        "models are from `rank_low` to `rank_high`; `p_corrected` is of the difference to "
        "the winner, and `better` is the model that is significantly better, if one is. How "
        "these are found and how often they err: [Intervals and tests](statistics.md).",
        """\
WITH chosen AS (
    SELECT CASE WHEN count(value) > 0 THEN 'lpips.alex' ELSE 'ssim.range2' END AS convention
    FROM overall
    WHERE dimension = 'short_term' AND tested_on = 'kth' AND convention = 'lpips.alex'
),
ranked AS (
    SELECT r.*, l.value,
        first_value(r.model) OVER (alike ORDER BY r.rank, r.model, r.variant) AS best,
        first_value(r.variant) OVER (alike ORDER BY r.rank, r.model, r.variant) AS best_variant
    FROM chosen
    JOIN ranks r USING (convention)
    JOIN leaderboard l USING (suite, dimension, trained_on, train_subset, tested_on, subset,
        setting, model, variant, convention, source, scale, leaky, best_of)
    WHERE r.dimension = 'short_term' AND r.trained_on = 'kth' AND r.tested_on = 'kth'
        AND r.leads IS NULL AND l.leads IS NULL
    WINDOW alike AS (PARTITION BY r.suite, r.train_subset, r.subset, r.setting, r.source, r.leaky,
        r.best_of)
)
SELECT r.convention, r.rank, r.rank_low, r.rank_high, r.model, r.value, c.p_corrected, c.better,
    r.reason, r.source, r.variant, r.train_subset, r.subset, r.setting
FROM ranked r
LEFT JOIN comparisons c
    ON c.suite = r.suite AND c.dimension = r.dimension AND c.trained_on = r.trained_on
    AND c.train_subset = r.train_subset AND c.tested_on = r.tested_on AND c.subset = r.subset
    AND c.setting = r.setting AND c.convention = r.convention AND c.leads IS NULL
    AND c.source = r.source AND c.leaky = r.leaky AND c.best_of = r.best_of
    AND (c.model, c.variant, c.other, c.other_variant) IN (
        (r.model, r.variant, r.best, r.best_variant), (r.best, r.best_variant, r.model, r.variant))
ORDER BY r.subset, r.setting, r.rank, r.model, r.variant;""",
    ),
    Question(
        "Which models degrade most at three times the frame interval?",
        "`decline` is how much worse the value is than at the interval of training, as a "
        "part of it: 0.5 is half again as bad.",
        """\
WITH tested AS (
    SELECT l.*, s."interval", c.higher_is_better
    FROM leaderboard l
    JOIN settings s USING (setting)
    JOIN conventions c USING (convention)
    WHERE (l.dimension, l.tested_on, l.convention)
        IN (SELECT (dimension, dataset, convention) FROM paper_columns)
)
SELECT
    t.model, t.tested_on, t.convention, t.variable, b.value AS base_value, t.value,
    CASE WHEN t.higher_is_better THEN b.value - t.value
        WHEN NOT t.higher_is_better THEN t.value - b.value END / abs(b.value) AS decline,
    t.source, t.variant, t.setting, t.leads
FROM tested t
JOIN tested b USING (suite, dimension, trained_on, train_subset, tested_on, subset, model, variant,
    convention, source, scale, leaky, best_of)
WHERE t."interval" = 3 AND b."interval" = 1
    AND b.setting = replace(t.setting, 'interval-3', 'interval-1')
    AND t.variable IS NOT DISTINCT FROM b.variable AND t.leads IS NOT DISTINCT FROM b.leads
    AND t.level IS NOT DISTINCT FROM b.level AND t.threshold IS NOT DISTINCT FROM b.threshold
    AND decline IS NOT NULL
ORDER BY decline DESC LIMIT 10;""",
    ),
    Question(
        "What did TAU on nuScenes cost?",
        "Every attempt counts, also those that failed, and each once: a trained model "
        "serves several tests. Without the last line of the condition, all models are "
        "listed.",
        """\
SELECT model, stage, count(*) AS attempts, sum(seconds) / 3600 AS hours,
    sum(gpu_hours) AS gpu_hours, string_agg(DISTINCT device, ', ' ORDER BY device) AS device
FROM (
    SELECT DISTINCT l.model, r.*
    FROM lineage l JOIN runs r USING (path)
    WHERE l.trained_on = 'nuscenes' AND l.tested_on = 'nuscenes'
        AND l.model = 'tau'
)
GROUP BY ALL ORDER BY ALL;""",
    ),
    Question(
        "Where does this number come from, down to the raw files?",
        "",
        """\
SELECT s.value, l.step, l.stage, l.path, l.commit, l.code_fingerprint, l.host,
    count(r.file) AS raw_files, min(r.file || ' sha256 ' || r.sha256) AS first_raw_file
FROM overall s
JOIN lineage l USING (suite, dimension, model, variant, trained_on, train_subset, tested_on, subset)
LEFT JOIN raw_files r ON r.lock = l.raw_lock
WHERE s.model = 'convlstm' AND s.dimension = 'short_term' AND s.tested_on = 'kth'
    AND s.convention = 'ssim.range2' AND s.setting = l.setting
    AND s.seed IS NOT DISTINCT FROM l.seed
GROUP BY ALL ORDER BY s.value, l.step;""",
    ),
    Question(
        "What is missing?",
        "Cells that are planned and not scored (table `missing` has a row for each, with "
        "its log), and conventions without a value (`overall` has the reason of each).",
        """\
SELECT dimension, trained_on, tested_on, subset, setting, model, cells, missing, why_missing,
    without_value
FROM coverage
WHERE missing > 0 OR len(without_value) > 0
ORDER BY missing DESC, dimension, trained_on, tested_on, subset, setting, model;""",
    ),
    Question(
        "Which models are not significantly worse than the best?",
        "Models whose rank may be 1 with 95 % confidence.",
        "SELECT tested_on, convention, model, rank, rank_high FROM ranks "
        "WHERE rank_low = 1 AND leads IS NULL ORDER BY ALL;",
    ),
    Question(
        "How does the error grow with lead time?",
        "Means over seeds; sums over pixels where no means were scored.",
        """\
SELECT dimension, trained_on, tested_on, subset, setting, model, variant, convention, lead,
    avg(value) AS value
FROM (
    FROM by_lead
    WHERE convention IN ('mse.pixel_mean', 'mse.pixel_sum') AND variable IS NULL
    QUALIFY convention = min(convention) OVER (PARTITION BY dimension, tested_on)
)
GROUP BY ALL ORDER BY ALL;""",
    ),
    Question(
        "How far are values from the published ones?",
        "A difference means something where data and protocol are the paper's (`comparable`).",
        "FROM deltas ORDER BY ALL;",
    ),
    Question(
        "How much do seeds differ?",
        "",
        "SELECT tested_on, convention, model, value, seed_sd, seeds FROM leaderboard "
        "WHERE seeds > 1 ORDER BY ALL;",
    ),
    Question(
        "What has failed, and how?",
        "Attempts that did not end well, also those that were repeated with success.",
        "FROM failures ORDER BY ALL;",
    ),
)
