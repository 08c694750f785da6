"""Derive, in SQL, the verdict on a finding (a statement of a paper) from its evidence.

The evidence is comparisons of two values. The criterion of the finding has parts. A part holds if
enough of its comparisons agree with the finding, fails if too many disagree, and is undecided
otherwise. A finding holds if all of its parts hold.

There are two sides, which are judged separately: our values (``ours``) and the numbers that the
paper prints (``published``).
"""

_JUDGED = """
WITH evidence AS (
    SELECT CAST(NULL AS BIGINT) AS in_common WHERE false
    UNION ALL BY NAME
    SELECT * FROM (
{evidence}
    )
),
parts AS (
    SELECT
        side, part, max(needed) AS wanted, count(*) AS comparisons,
        count(*) FILTER (outcome) AS yes, count(*) FILTER (NOT outcome) AS no,
        CASE
            WHEN yes >= wanted THEN 'holds'
            WHEN comparisons - no < wanted THEN 'does not hold'
            WHEN bool_or(outcome IS NULL AND fair) THEN 'not enough data'
            ELSE 'not comparable'
        END AS part_verdict
    FROM evidence
    GROUP BY side, part
),
verdicts AS (
    SELECT
        side,
        CASE
            WHEN bool_or(part_verdict = 'does not hold') THEN 'does not hold'
            WHEN bool_or(part_verdict = 'not enough data') THEN 'not enough data'
            WHEN bool_or(part_verdict = 'holds') THEN 'holds'
            ELSE 'not comparable'
        END AS verdict
    FROM parts
    GROUP BY side
),
sources AS (
    SELECT
        side,
        CASE
            WHEN side = 'published' THEN 'published numbers'
            WHEN count(bytes) = 0 THEN 'not evaluated'
            ELSE CASE WHEN bool_and(comparable) THEN '' ELSE 'NOT COMPARABLE WITH THE PAPER: ' END
                || string_agg(DISTINCT bytes, '; ' ORDER BY bytes)
        END AS about
    FROM evidence
    GROUP BY side
)
SELECT
    side, verdict, about, part, part_verdict, yes, no, wanted, comparisons,
    model, tested, metric, value, against, other, in_common, outcome, remark
FROM evidence
JOIN parts USING (side, part)
JOIN verdicts USING (side)
JOIN sources USING (side)
ORDER BY side, part, tested, metric, model, against;
"""


def verdict_query(query: str) -> str:
    """Wrap the query for a finding's evidence in the SQL that derives the verdict.

    The query has a row for each comparison of two values, and these columns:

    - ``side``: which values are compared: ``ours`` or ``published``;
    - ``part``: part of the criterion, in words;
    - ``needed``: number of comparisons of the part that have to agree with the finding;
    - ``model``, ``tested``, ``metric``: what the first value is of;
    - ``value``: first value;
    - ``against``, ``other``: description of the second value, and the value;
    - ``outcome``: whether the comparison agrees with the finding; NULL if undecided;
    - ``fair``: whether the two values can be compared at all, as FVD of equal numbers of clips can.
      It matters where no decision is possible: the part is then "not enough data" if an undecided
      comparison is fair (it lacks only a value), else "not comparable";
    - ``remark``: reason why the comparison is undecided;
    - ``bytes``: origin of the raw files behind our value, such as "synthetic data"; NULL if the
      model was not evaluated. It is named after the bytes of these files;
    - ``comparable``: whether our values may be compared with the paper's;
    - ``in_common``: number of test clips behind both values; the only optional column.

    Args:
        query: query for the evidence, as in config/suites/<suite>/findings.

    Returns:
        a query for the same rows with the columns of `stp.render.tables.findings.Comparison`. Among
        the added columns are ``verdict``, the verdict on the whole finding for the side of the
        row, and, for the part of the row, ``part_verdict`` and the numbers of comparisons that
        agree, that disagree, and that have to agree (``yes``, ``no``, ``wanted``).
    """
    return _JUDGED.replace("{evidence}", query.rstrip().removesuffix(";"))
