"use strict";
// Conventions: what the definitions of each metric are, and how far they move values and ranks.
(() => {
  const {h, number} = stp;
  const named = (word) => word.replace(/_/g, " ");

  stp.section({
    id: "conventions",
    title: "Conventions",
    about: "Several definitions of one metric: the meaning of each, and how much the choice changes rankings.",
    draw(root) {
      const conventions = [...stp.core().conventions.values()];
      const effects = stp.rows(stp.data("conventions").effects);
      const titles = new Map(conventions.map((c) => [c.metric, c.title || c.metric]));
      const several = new Set(effects.map((row) => row.metric));
      const metrics = [...new Set(conventions.map((c) => c.metric))].sort();
      const chosen = stp.filters(root, [
        {key: "metric", label: "Metric", options: [["", "All"], ...metrics.map((m) =>
          [m, several.has(m) ? titles.get(m) : `${titles.get(m)} (one definition here)`])]},
        {key: "dimension", label: "Dimension", options: [["", "All"],
          ...[...new Set(effects.map((row) => row.dimension))].map((d) => [d, named(d)])]},
      ]);
      const rows = effects.filter((row) => (!chosen.metric || row.metric === chosen.metric)
        && (!chosen.dimension || row.dimension === chosen.dimension));
      root.append(h("h3", {}, "How they change ranks"));
      if (rows.length) {
        pairs(root, rows);
        root.append(h("h3", {}, "Each evaluation"));
        each(root, rows);
      } else {
        root.append(h("p", {}, "In no evaluation do two definitions of this metric rank the same models."));
      }
      root.append(h("h3", {}, "What they mean"));
      meanings(root, conventions.filter((c) => !chosen.metric || c.metric === chosen.metric));
    },
  });

  const median = (values) => {
    const sorted = values.filter((v) => v !== null).sort((a, b) => a - b);
    const half = sorted.length >> 1;
    return !sorted.length ? null : sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };
  /** A relative difference as the table of this name writes it; the smallest ones are rounding. */
  const percent = (part) => part === null ? "–" : part < 1e-9 ? "0 %"
    : part < 10 ? `${number(100 * part, 3)} %` : `${number(part, 3)} times`;

  /** One row for each pair of conventions, over all evaluations that have both. */
  function pairs(root, rows) {
    const groups = new Map();
    for (const row of rows) {
      const word = `${row.convention}|${row.other}`;
      if (!groups.has(word)) groups.set(word, []);
      groups.get(word).push(row);
    }
    const summed = [...groups.values()].map((group) => ({
      convention: group[0].convention, other: group[0].other, evaluations: group.length,
      wins: group.filter((row) => row.another_wins).length,
      moved: group.filter((row) => row.moved > 0).length,
      largest: Math.max(...group.map((row) => row.largest_move)),
      correlation: median(group.map((row) => row.rank_correlation)),
      relative: median(group.map((row) => row.relative_difference)),
    })).sort((a, b) => b.moved / b.evaluations - a.moved / a.evaluations || a.convention.localeCompare(b.convention));
    const part = (row, key) => `${row[key]} of ${row.evaluations}`;
    stp.table(root, {
      name: "pairs", rows: summed,
      caption: `${stp.count(summed.length, "pair")} of definitions, over ${stp.count(rows.length, "ranking")}; ${stp.origin(stp.core().cells)}`,
      columns: [
        {key: "convention", title: "Definition", head: true},
        {key: "other", title: "Compared with"},
        {key: "moved", title: "Rankings that change", numeric: true, value: (row) => row.moved / row.evaluations,
          cell: (row) => part(row, "moved")},
        {key: "wins", title: "Another model wins", numeric: true, value: (row) => row.wins / row.evaluations,
          cell: (row) => part(row, "wins")},
        {key: "largest", title: "Largest move", numeric: true, about: "Largest number of places that a model moves"},
        {key: "correlation", title: "Rank correlation", numeric: true, about: "Spearman's, the median over rankings",
          cell: (row) => number(row.correlation, 3)},
        {key: "relative", title: "Values differ by", numeric: true,
          about: "Median over models and rankings of |other − value| / |value|", cell: (row) => percent(row.relative)},
      ],
    });
  }

  function each(root, rows) {
    const best = (row) => evaluations.named(row.best_model, row.best_variant);
    const otherBest = (row) => evaluations.named(row.other_best_model, row.other_best_variant);
    const ordered = [...rows].sort((a, b) => b.another_wins - a.another_wins || b.largest_move - a.largest_move);
    stp.table(root, {
      name: "effects", rows: ordered, first: 25,
      caption: `${stp.count(rows.length, "ranking")}; those where another model wins first`,
      columns: [
        {key: "tested", title: "Tested on", head: true},
        {key: "dimension", title: "Dimension", cell: (row) => named(row.dimension)},
        {key: "convention", title: "Definition", cell: (row) => stp.partTitle(row)},
        {key: "other", title: "Compared with"},
        {key: "best_model", title: "Best", value: best, cell: best},
        {key: "other_best_model", title: "Best by the other", value: otherBest,
          cell: (row) => row.another_wins ? h("b", {class: "failed"}, otherBest(row), " ≠") : otherBest(row)},
        {key: "moved", title: "Models that move", numeric: true, cell: (row) => `${row.moved} of ${row.models}`},
        {key: "largest_move", title: "Largest move", numeric: true},
        {key: "rank_correlation", title: "Rank correlation", numeric: true, cell: (row) => number(row.rank_correlation, 3)},
        {key: "relative_difference", title: "Values differ by", numeric: true,
          cell: (row) => percent(row.relative_difference)},
        {key: "source", title: "Data"},
      ],
    });
  }

  function meanings(root, conventions) {
    stp.table(root, {
      name: "meanings", caption: stp.count(conventions.length, "definition"), rows: conventions, first: 200,
      columns: [
        {key: "convention", title: "Definition", head: true, cell: (row) => h("code", {}, row.convention)},
        {key: "title", title: "Metric"},
        {key: "description", title: "What it means", cell: (row) => h("span", {class: "wide"}, row.description ?? "–",
          row.available === false ? `; not available: ${row.reason}` : null)},
        {key: "unit", title: "Unit"},
        {key: "direction", title: "Better", value: (row) => stp.direction(row.convention), cell: (row) =>
          row.best_at !== null ? `close to ${row.best_at}` : row.higher_is_better === null ? "no direction"
            : row.higher_is_better ? "higher ↑" : "lower ↓"},
      ],
    });
  }
})();
