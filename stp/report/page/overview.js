"use strict";
// Coverage grid: a row for each evaluation, a column for each model.
stp.section({
  id: "overview",
  title: "Overview",
  about: "What was evaluated, and whose bytes: official ones, real samples, or synthetic stand-ins.",
  draw(root) {
    const rows = stp.rows(stp.data("overview").coverage);
    const models = [...new Set(rows.map((row) => row.model))];
    const found = new Map();
    for (const row of rows) {
      const key = `${row.dimension}/${row.tested}`;
      if (!found.has(key)) found.set(key, {dimension: row.dimension, tested: row.tested});
      found.get(key)[model(row)] = row;
    }
    function model(row) { return `model:${row.model}`; }
    stp.table(root, {
      name: "coverage",
      caption: `${rows.length} models and evaluations`,
      rows: [...found.values()],
      columns: [
        {key: "dimension", title: "Dimension", cell: (row) => row.dimension.replace(/_/g, " ")},
        {key: "tested", title: "Tested on"},
        ...models.map((name) => ({
          key: `model:${name}`,
          title: stp.modelTitle(name),
          value: (row) => row[`model:${name}`]?.source,
          cell: (row) => {
            const here = row[`model:${name}`];
            return here ? stp.badge(here) : "–";
          },
        })),
      ],
    });
  },
});
