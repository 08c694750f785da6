"use strict";
// Deltas: our values beside the printed ones.
(() => {
  const {h, number} = stp;
  const named = (word) => word.replace(/_/g, " ");
  const rows = stp.rows(stp.data("deltas").deltas);
  if (!rows.length) return; // no paper prints a value for anything here, such as for data of one's own

  stp.section({
    id: "deltas",
    title: "Published values",
    about: "Our values beside those printed in the paper. A difference is given only where data and protocol "
      + "are the paper's; otherwise the table gives the reason.",
    draw(root) {
      const all = (values, text = named) => [["", "All"], ...[...new Set(values)].map((v) => [v, text(v)])];
      const fits = (chosen) => (row) => ["dimension", "tested", "model", "metric"].every(
        (key) => !chosen[key] || row[key] === chosen[key]);
      const left = (chosen, key) => rows.filter(fits(chosen)).map((row) => row[key]);
      const chosen = stp.filters(root, [
        {key: "dimension", label: "Dimension", options: all(rows.map((row) => row.dimension))},
        {key: "tested", label: "Tested on", options: (c) => all(left(c, "tested"), (v) => v)},
        {key: "metric", label: "Metric", options: (c) => all(left(c, "metric"), (v) => v)},
        {key: "model", label: "Model", options: (c) => all(left(c, "model"), stp.modelTitle)},
        {key: "show", label: "Show", options: [["", "All"], ["compared", "Only differences"]]},
      ]);
      const shown = rows.filter(fits(chosen)).filter((row) => !chosen.show || row.difference !== null);
      const compared = shown.filter((row) => row.difference !== null).length;
      const reasons = [...new Set(shown.map((row) => (row.why_none ?? "")))];
      // One reason of all rows stands in the caption, not in each row.
      const common = shown.length > 3 && !compared && reasons.length === 1 ? reasons[0] : null;
      stp.table(root, {
        name: "deltas",
        caption: `${stp.count(shown.length, "value")} that the paper also prints; ${common
          ? `none can be compared: ${common.replace("not comparable: ", "")}` : `${compared} can be compared`}`,
        rows: shown,
        columns: [
          {key: "model", title: "Model", head: true, value: (row) => evaluations.named(row.model, row.variant),
            cell: (row) => evaluations.named(row.model, row.variant)},
          {key: "tested", title: "Tested on", cell: (row) => row.tested},
          {key: "dimension", title: "Dimension", cell: (row) => named(row.dimension)},
          {key: "metric", title: "Metric", about: "Column heading of the paper",
            cell: (row) => `${row.metric}\u00a0${stp.direction(row.convention)}`.trim()},
          {key: "value", title: "Ours", numeric: true, cell: (row) => ours(row)},
          {key: "published", title: "Printed", numeric: true, cell: (row) => String(row.published)},
          ...common ? [] : [
            {key: "difference", title: "Difference", numeric: true, about: "Ours minus printed",
              cell: (row) => stp.signed(row.difference)},
            {key: "relative", title: "Relative", numeric: true, about: "Difference divided by the printed value",
              value: relative, cell: (row) => relative(row) === null ? "–" : `${stp.signed(100 * relative(row), 2)} %`},
            {key: "why_none", title: "Why there is no difference",
              cell: (row) => (row.why_none ?? "")},
          ],
          {key: "n", title: "n", numeric: true, about: "Test samples behind our value"},
        ],
      });
    },
  });

  const relative = (row) => row.difference === null || !row.published ? null : row.difference / Math.abs(row.published);

  /** Our value, which opens where it comes from: the first of several seeds. */
  const ours = (row) => stp.value(number(row.value), stp.cellsOf(row)[0], row);
})();
