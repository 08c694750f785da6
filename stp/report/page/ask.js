"use strict";
// Questions: common ones, their answers, the sections of the report that show more, and the queries behind them.
(() => {
  const {h, number} = stp;

  // Of the first questions in stp/collect/questions.py: section, its title, filters, and what to look at there.
  const places = [
    ["leaderboards", "Leaderboards", () => board("kth", "lpips"),
      "The column “Against the best” says whether a model is significantly worse than the best."],
    ["by-setting", "By setting", () => ({show: "decline"}), "How much worse each model is than at the first frame "
      + "interval; choose a test there."],
    ["cost", "Cost", () => placeOf("nuscenes"), "Time, machines and memory of every "
      + "model; of the first test where nuScenes was not tested."],
    ["leaderboards", "Leaderboards", () => ({}), "Every number is a button: it opens the data, training, "
      + "predictions and scores behind it, down to raw files and their checksums."],
    ["overview", "Overview", () => ({show: "missing"}), "The grid shows which cells failed (✕) and which are not run yet (○)."],
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
    title: "Questions",
    about: "Common questions, with the answers of this results store and the queries behind them.",
    draw(root) {
      const asked = stp.data("example_queries").map((one, i) => ({...one, i}));
      for (const one of asked.filter(({count}) => count)) answer(root, one);
      const open = asked.filter(({count}) => !count);
      if (!open.length) return;
      root.append(h("h3", {}, "Questions that this store cannot answer"),
        h("p", {}, "Nothing of what they ask about was evaluated here, or nothing is missing."));
      for (const one of open) stp.fold(root, `question-${one.i + 1}`, one.question, (place) => query(place, one));
    },
  });

  /** A question, its answer, where else in this report it stands, and, folded, the query. */
  function answer(root, one) {
    root.append(h("h3", {}, one.question));
    if (one.more) root.append(h("p", {class: "note"}, one.more));
    answered(root, one);
    const place = places[one.i];
    if (place && stp.hasSection(place[0])) {
      const [id, title, filters, more] = place;
      root.append(h("p", {}, "In this report: ", h("a", {href: stp.link(id, filters())}, title), `. ${more}`));
    }
    stp.fold(root, `question-${one.i + 1}`, "The query", (folded) => query(folded, one));
  }

  function query(root, {sql}) {
    const command = /\n|"/.test(sql) ? null : `stp query "${sql}" ${stp.asking(stp.scaleOf())}`;
    root.append(stp.code(command ?? sql, command ? "the command" : "the query"));
  }

  function answered(root, {i, count, answer, same}) {
    const equal = Object.entries(same);
    if (equal.length) {
      root.append(h("p", {class: "note"}, `The same in all ${count} rows: ${
        equal.map(([name, value]) => `${name} ${value}`).join(", ")}.`));
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
