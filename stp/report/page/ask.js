"use strict";
// Ask: everyday questions, where in the report their answers stand, and the queries that give them.
(() => {
  const {h, number} = stp;

  // Of the first questions in stp/collect/questions.py: section, its title, filters, and what to look at there.
  const places = [
    ["leaderboards", "Leaderboards", () => board("kth", "lpips"),
      "The column “Against the best” says whether a model is significantly worse than the best."],
    ["by-setting", "By setting", () => ({show: "decline"}), "How much worse each model is than at the first frame "
      + "interval; choose what was tested."],
    ["cost", "Cost", () => placeOf("nuscenes"), "Time, machines and memory of every "
      + "model; on what comes first where nuScenes was not tested."],
    ["leaderboards", "Leaderboards", () => ({}), "Every number is a button: it opens data, training, "
      + "predictions and scores behind it, down to raw files and their checksums."],
    ["overview", "Overview", () => ({show: "missing"}), "The grid shows what failed (✕) and what is not run yet (○)."],
  ];

  /** The first evaluation on a dataset, as filters; none where it was not tested. */
  function placeOf(dataset) {
    const one = evaluations.list().find(({first}) => first.tested_on === dataset);
    return one ? {dimension: one.dimension, tested: one.id} : {};
  }

  /** Filters of the leaderboard of a dataset and metric. */
  function board(dataset, metric) {
    const {dimension, tested} = placeOf(dataset);
    return tested ? {tested: `${dimension}:${tested}`, metric} : {metric};
  }

  stp.section({
    id: "ask",
    title: "Ask",
    about: "Everyday questions: where in this report the answer stands, the query that gives it, and what this "
      + "store answers.",
    draw(root) {
      stp.data("ask").forEach(({question, more: told, sql, count, answer}, i) => {
        const place = places[i];
        root.append(h("h3", {}, `${i + 1}. ${question}`));
        if (place) {
          const [id, title, filters, more] = place;
          root.append(h("p", {}, "In this report: ", h("a", {href: stp.link(id, filters())}, title), `. ${more}`));
        }
        if (told) root.append(h("p", {class: "note"}, told));
        const command = /\n|"/.test(sql) ? null : `stp query "${sql}"`;
        root.append(stp.code(command ?? sql, command ? "the command" : "the query"));
        answered(root, i, count, answer);
      });
    },
  });

  function answered(root, i, count, answer) {
    if (!count) {
      root.append(h("p", {class: "note"}, "This store has no rows for it: what is asked for was not evaluated here."));
      return;
    }
    const rows = stp.rows(answer);
    const names = Object.keys(answer.columns);
    const numeric = (name) => rows.every((row) => row[name] === null || typeof row[name] === "number");
    const text = (value) => value === null ? "–" : typeof value === "number" ? number(value)
      : Array.isArray(value) ? value.join(", ") : String(value);
    stp.table(root, {
      name: `answer-${i + 1}`,
      caption: count > rows.length ? `The first ${rows.length} of ${count} rows` : stp.count(count, "row"),
      rows, first: rows.length,
      columns: names.map((name) => ({key: name, title: name, numeric: numeric(name), cell: (row) => text(row[name])})),
    });
  }
})();
