"use strict";
// Which differences between models are more than chance: a matrix of pairs, and ranks beside it.
(() => {
  const {h, number} = stp;
  const VERDICTS = {
    better: {sign: "▲", text: "significantly better"},
    worse: {sign: "▼", text: "significantly worse"},
    same: {sign: "≈", text: "no significant difference"},
    unknown: {sign: "?", text: "not tested"},
  };

  let grouped = null;
  /** Rows of comparisons and ranks, by key of the evaluation. */
  function tables() {
    if (!grouped) {
      const by = (columnar) => Map.groupBy(stp.rows(columnar), (row) => evaluations.of(row)?.key);
      const {comparisons, ranks} = stp.data("significance");
      grouped = {comparisons: by(comparisons), ranks: by(ranks)};
    }
    return grouped;
  }
  const comparisonsOf = (one) => tables().comparisons.get(one.key) ?? [];
  const ranksOf = (one) => tables().ranks.get(one.key) ?? [];

  const SKEWED = "; differences of clusters are so skewed that the t test may be wrong";

  /** A pair as seen from one of its models: difference = this one minus the other. */
  function seen(row, model, variant) {
    const turned = row.model === model && row.variant === variant;
    const minus = (value) => (value === null ? null : -value);
    const verdict = row.reason !== null || row.p_corrected === null ? "unknown"
      : row.better === null ? "same" : isBetter(row, model, variant) ? "better" : "worse";
    return {
      ...row, verdict,
      one: evaluations.named(model, variant),
      two: turned ? evaluations.named(row.other, row.other_variant) : evaluations.named(row.model, row.variant),
      difference: turned ? minus(row.difference) : row.difference,
      low: turned ? minus(row.ci95_high) : row.ci95_low,
      high: turned ? minus(row.ci95_low) : row.ci95_high,
      won: turned && row.won !== null ? 1 - row.won : row.won,
    };
  }

  /** Whether the better model of a pair is this one; a variant tells by the sign of the difference. */
  function isBetter(row, model, variant) {
    if (row.model !== row.other) return row.better === model;
    const first = row.model === model && row.variant === variant;
    const {higher} = evaluations.direction(row.convention);
    return (row.difference < 0) === (first === (higher ?? false));
  }

  function sentence(pair) {
    const {text} = VERDICTS[pair.verdict];
    if (pair.verdict === "unknown") return `${pair.one} and ${pair.two}: ${text} (${pair.reason ?? "no test"}).`;
    const interval = pair.low === null ? "" : `, 95 % interval ${number(pair.low)} to ${number(pair.high)}`;
    return `${pair.one} minus ${pair.two}: ${signed(pair.difference)}${interval}; p ${number(pair.p_corrected, 2)} `
      + `(corrected; ${number(pair.p, 2)} alone); smallest detectable difference ${number(pair.detectable)}: `
      + `${pair.verdict === "same" ? text : `${pair.one} is ${text}`}.`;
  }

  const signed = (value) => (value === null ? "–"
    : `${value > 0 ? "+" : value < 0 ? "−" : ""}${number(Math.abs(value), 3)}`);

  const between = (rows, a, b) => rows.find((row) =>
    (row.model === a.model && row.variant === a.variant && row.other === b.model && row.other_variant === b.variant)
    || (row.model === b.model && row.variant === b.variant && row.other === a.model && row.other_variant === a.variant));

  // The dialog of a pair. The address says which one it is: pair=<model>~<variant>~<model>~<variant>.

  const pairId = (a, b) => [a.model, a.variant, b.model, b.variant].join("~");

  /** Show the test of two models of an evaluation, the first minus the second. */
  function openPair(one, row, a, b) {
    const pair = seen(row, a.model, a.variant);
    const part = evaluations.partText(one, row);
    const id = pairId(a, b);
    stp.remember({pair: id, cell: null});
    const value = (line) => {
      const {value: shown, low, high, reason} = evaluations.measured(line, evaluations.partId(row));
      const text = shown === null ? "Where its value comes from" : number(shown);
      return h("dd", {}, evaluations.opens(text, line.cells, row),
        low === null ? shown === null && reason !== "no value" ? ` (${reason})` : "" : `, 95 % interval ${number(low)} to ${number(high)}`,
        line.cells.length > 1 && shown !== null ? `, mean of ${line.cells.length} trainings` : "");
    };
    const tested = pair.verdict !== "unknown";
    const lines = [
      ["Difference", pair.difference === null ? "–" : `${signed(pair.difference)} (${a.label} minus ${b.label})`],
      ["95 % interval", pair.low === null ? "none" : `${signed(pair.low)} to ${signed(pair.high)}`],
      ["p", !tested ? "none" : `${number(pair.p_corrected, 2)}, corrected by Holm over all pairs of models here; `
        + `${number(pair.p, 2)} alone`],
      ["Clusters won", !tested || pair.won === null ? "–" : `${number(100 * pair.won, 2)} % by ${a.label}, ties by half; `
        + `sign test: p ${number(pair.p_sign, 2)}${pair.skewed ? SKEWED : ""}`],
      ["Detectable", !tested ? "–" : `a difference of ${number(pair.detectable)} would be found in four of five such tests, corrected for all pairs`],
      ["Clusters", pair.clusters === null ? "–" : `${pair.clusters}, of ${pair.n} samples`],
      ["Verdict", `${VERDICTS[pair.verdict].sign} ${tested ? `${a.label} is ` : ""}${VERDICTS[pair.verdict].text}`
        .replace("is no significant", "shows no significant")],
      pair.reason ? ["Why", pair.reason] : null,
    ].filter((line) => line);
    const dialog = stp.dialog(`${a.label} against ${b.label}`,
      h("p", {}, stp.badge(one.first), ` ${one.label}: ${part}`),
      h("dl", {}, h("dt", {}, a.label), value(a), h("dt", {}, b.label), value(b),
        lines.map(([title, text]) => [h("dt", {}, title), h("dd", {}, String(text))])),
      tested ? h("p", {class: "note"}, "A paired t test over the clusters of test samples that both models saw; a better model "
        + "also passes a sign test over them.") : null,
      h("h3", {}, "How to reproduce it"), again(one, row, a, b));
    dialog.dataset.of = "pair";
    dialog.onclose = () => {
      if (stp.get("pair") === id) stp.remember({pair: null});
    };
  }

  const EVALUATION = ["suite", "dimension", "trained_on", "train_subset", "tested_on", "subset", "setting"];

  function again(one, row, a, b) {
    const column = evaluations.columnOf(one, row);
    const query = stp.queryOf("model, variant, other, other_variant, difference, ci95_low, ci95_high, p, p_corrected, "
      + "p_sign, won, skewed, better, detectable, clusters, n, reason", "comparisons", Object.fromEntries([...EVALUATION, "convention", "variable",
      "level", "threshold", "leads", "model", "variant", "other", "other_variant"].map((key) => [key, row[key]])));
    const heading = column && [column.variable, column.metric].filter((text) => text).join(" ");
    const comparable = a.variant === "default" && b.variant === "default";
    return [
      column && comparable ? [
        h("p", {}, "In a terminal:"),
        stp.code(["stp compare", a.model, b.model, "--cell", one.first.case_name, "--metric", heading,
          "--results", `results/${one.first.scale}`]
          .map((word, i) => (i ? stp.shell(word) : word)).join(" "), "the command"),
      ] : h("p", {class: "note"}, comparable ? "`stp compare` knows only columns of the tables of results, and this is not one of them."
        : "`stp compare` compares default models, not variants."),
      h("p", {}, "As a query of the results store, where the difference is `other` minus `model`:"),
      stp.code(query, "the query"),
    ];
  }

  /** Open the pair that the address names. */
  function named(one, lines, rows) {
    const wanted = stp.get("pair");
    if (!wanted) return;
    const [a, b] = [0, 2].map((i) => lines.find((line) => `${line.model}~${line.variant}`
      === wanted.split("~").slice(i, i + 2).join("~")));
    const row = a && b && between(rows, a, b);
    if (row) openPair(one, row, a, b);
  }

  function matrix(root, one, lines, rows, name) {
    const told = h("p", {class: "told", id: "pair", "aria-live": "polite"},
      "Point at a pair, or move to it with Tab and the arrow keys, to read its test. Click it or press Enter for details.");
    const cell = (a, b) => {
      if (a === b) return h("td", {class: "self"}, "");
      const row = between(rows, a, b);
      const pair = row ? seen(row, a.model, a.variant)
        : {verdict: "unknown", one: a.label, two: b.label, difference: null, reason: "not compared"};
      const tell = () => { told.textContent = sentence(pair); };
      return h("td", {class: `pair ${pair.verdict}`},
        h("button", {type: "button", tabindex: "-1", title: sentence(pair), "aria-label": sentence(pair), onfocus: tell,
          onmouseenter: tell, onclick: row ? () => openPair(one, row, a, b) : tell}, h("span", {class: "sign"}, VERDICTS[pair.verdict].sign), " ",
        signed(pair.difference)));
    };
    const caption = `${name}: the model of the row minus that of the column`;
    root.append(h("div", {class: "scroll", role: "region", "aria-label": caption},
      h("table", {class: "pairs", onkeydown: walk}, h("caption", {}, h("span", {}, caption)),
        h("thead", {}, h("tr", {}, h("td"), lines.map((line) => h("th", {scope: "col"}, line.label)))),
        h("tbody", {}, lines.map((a) =>
          h("tr", {}, h("th", {scope: "row"}, a.label), lines.map((b) => cell(a, b))))))));
    root.querySelector(".pairs button")?.setAttribute("tabindex", "0");
    root.append(h("p", {class: "note"}, Object.entries(VERDICTS).map(([verdict, {sign, text}]) =>
      h("span", {class: `key pair ${verdict}`}, h("span", {class: "sign"}, sign), ` ${text}`))), told);
  }

  const STEPS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};

  /** Arrow keys lead from pair to pair, over the empty diagonal; the tab key leads out of the matrix. */
  function walk(event) {
    const step = STEPS[event.key];
    const here = event.target.closest("td");
    if (!step || !here) return;
    event.preventDefault();
    const rows = [...event.currentTarget.tBodies[0].rows];
    let [row, column] = [rows.indexOf(here.parentElement), here.cellIndex];
    let button = null;
    do {
      row += step[0];
      column += step[1];
      button = rows[row]?.cells[column]?.querySelector("button") ?? null;
    } while (!button && rows[row]?.cells[column]?.matches(".self"));
    if (!button) return;
    event.target.setAttribute("tabindex", "-1");
    button.setAttribute("tabindex", "0");
    button.focus();
  }

  function pairTable(root, one, rows, name) {
    const line = (model, variant) => one.models.get(evaluations.named(model, variant));
    const open = (row) => h("button", {type: "button", class: "number", title: "All of this test",
      onclick: () => openPair(one, row.raw, line(row.model, row.variant), line(row.other, row.other_variant))},
    signed(row.difference));
    stp.fold(root, "significance-pairs", "The tests as a table: click a difference for details", (details) => stp.table(details, {
      name: "significance-pairs",
      caption: `${name}: every pair`,
      columns: [
        {key: "one", title: "Model"},
        {key: "two", title: "Other"},
        {key: "difference", title: "Model − other", numeric: true, cell: open},
        {key: "low", title: "95 % from", numeric: true},
        {key: "high", title: "to", numeric: true},
        {key: "p", title: "p", numeric: true},
        {key: "p_corrected", title: "p corrected", numeric: true},
        {key: "won", title: "Share of clusters won", numeric: true},
        {key: "detectable", title: "Smallest detectable", numeric: true},
        {key: "verdict", title: "Model is", cell: (row) => `${VERDICTS[row.verdict].sign} ${VERDICTS[row.verdict].text}`},
        {key: "clusters", title: "Clusters", numeric: true},
        {key: "n", title: "Samples", numeric: true},
        {key: "reason", title: "Why not tested"},
      ],
      rows: rows.map((row) => ({...seen(row, row.model, row.variant), raw: row})),
    }));
  }

  function ranks(root, one, rows, name) {
    const cellsOf = (row) => one.models.get(row.label)?.cells ?? [];
    const valued = rows.filter((row) => row.rank !== null)
      .map((row) => ({...row, label: evaluations.named(row.model, row.variant)}))
      .sort((a, b) => a.rank - b.rank || (a.rank_low ?? a.rank) - (b.rank_low ?? b.rank));
    if (!valued.length) {
      return evaluations.absent(root, `There are no ranks: ${evaluations.reasons(rows, "no model has a value")}.`);
    }
    const span = (row) => (row.rank_low === null ? "" : ` (95\u00a0%: ${row.rank_low} to ${row.rank_high})`);
    const first = valued[0];
    const open = valued.some((row) => row.rank_low === null);
    const description = `Ranks by ${name}, 1 is best: ${first.label} is at ${first.rank}${span(first)}; `
      + `${valued.at(-1).label} at ${valued.at(-1).rank}${span(valued.at(-1))}. `
      + `${open ? `Some have no interval: ${evaluations.reasons(valued, "not all pairs are tested")}` : "Bars are 95 % confidence sets, from the paired tests of all models"}.`;
    const place = stp.plot(root, {
      name: "ranks",
      title: "Ranks and their uncertainty",
      description,
      traces: valued.map((row) => {
        const {line, marker} = evaluations.style(row.model);
        return {name: row.label, mode: "markers", x: [row.rank], y: [row.label], showlegend: false,
          marker: {...marker, size: 11},
          marks: [{...evaluations.mark("", {value: row.rank, cells: cellsOf(row)}, row),
            text: `${row.label}: rank ${row.rank}${span(row)}`}],
          error_x: {type: "data", symmetric: false, array: [row.rank_high - row.rank],
            arrayminus: [row.rank - row.rank_low], visible: row.rank_low !== null, color: line.color, width: 6, thickness: 1.5}};
      }),
      layout: {
        height: 130 + 30 * valued.length,
        xaxis: {title: {text: "rank, 1 is best"}, dtick: valued.length > 12 ? 2 : 1, tick0: 1,
          range: [0.5, valued.length + 0.5]},
        yaxis: {autorange: "reversed", type: "category"},
      },
      numbers: () => ({
        columns: [
          {key: "label", title: "Model"},
          {key: "rank", title: "Rank", numeric: true,
            cell: (row) => evaluations.opens(number(row.rank), cellsOf(row), row)},
          {key: "rank_low", title: "95 % from", numeric: true},
          {key: "rank_high", title: "to", numeric: true},
          {key: "models", title: "Models", numeric: true},
          {key: "clusters", title: "Clusters", numeric: true},
          {key: "reason", title: "Why no interval"},
        ],
        rows: valued,
      }),
    });
    place.style.minHeight = "0";
  }

  /** In words: how many pairs differ, and which of the others the first does not differ from. */
  function summary(rows, ranked) {
    const tested = rows.filter((row) => row.p_corrected !== null);
    const differ = tested.filter((row) => row.better !== null);
    if (!tested.length) {
      return `No pair was tested (${evaluations.reasons(rows, "reason unknown")}): the differences below may be chance.`;
    }
    let text = `${differ.length} of ${tested.length} tested pairs differ significantly (95 %, corrected by Holm).`;
    const first = ranked.filter((row) => row.rank === 1);
    if (first.length === 1) {
      const label = evaluations.named(first[0].model, first[0].variant);
      const open = rows.filter((row) => (row.model === first[0].model && row.variant === first[0].variant)
        || (row.other === first[0].model && row.other_variant === first[0].variant))
        .map((row) => seen(row, first[0].model, first[0].variant)).filter((pair) => pair.verdict !== "better");
      text += open.length
        ? ` ${label} has the best value, but it is not significantly better than ${evaluations.joined(open.map((p) => p.two))}.`
        : ` ${label} is significantly better than all others.`;
    }
    return text;
  }

  stp.section({
    id: "significance",
    title: "Significance",
    about: "Paired tests of all pairs of models on the same test samples, and the uncertainty of ranks.",
    has: () => evaluations.list().some((one) => ranksOf(one).length || comparisonsOf(one).length),
    draw(root) {
      const wanted = evaluations.list().filter((one) => ranksOf(one).length || comparisonsOf(one).length);
      const chosen = stp.filters(root, [
        ...evaluations.choices(wanted, (one) => comparisonsOf(one).some((row) => row.difference !== null)),
        {key: "metric", label: "Metric", options: (so) => {
          const one = evaluations.chosenOf(so);
          const rows = [...ranksOf(one), ...comparisonsOf(one)];
          return evaluations.parts(one, rows, (row) => (row.rank ?? row.difference ?? null) !== null);
        }},
      ]);
      const one = evaluations.chosenOf(chosen);
      evaluations.whose(root, evaluations.cellsOf(one));
      const of = (rows) => rows.filter((row) => evaluations.partId(row) === chosen.metric);
      const [pairs, ranked] = [of(comparisonsOf(one)), of(ranksOf(one))];
      const name = evaluations.partText(one, pairs[0] ?? ranked[0]);
      root.append(h("h3", {}, `${one.label}: ${name}`));
      if (!stp.data("significance").complete) {
        root.append(h("p", {class: "note"}, "Only conventions of the tables of results; the tables comparisons "
          + "and ranks of the results store have all."));
      }
      const tested = pairs.some((row) => row.difference !== null);
      const place = (line) => ranked.find((r) => r.model === line.model && r.variant === line.variant)?.rank ?? 1e6;
      const lines = [...one.models.values()].sort((a, b) => place(a) - place(b));
      if (tested) {
        root.append(h("p", {}, summary(pairs, ranked)));
        const both = h("div", {class: lines.length > 7 ? null : "beside"});
        const [left, right] = [h("div"), h("div")];
        both.append(left, right);
        root.append(both);
        matrix(left, one, lines, pairs, name);
        ranks(right, one, ranked, name);
        pairTable(root, one, pairs, name);
        named(one, lines, pairs);
      } else {
        evaluations.absent(root, `No pair of models can be tested: ${evaluations.reasons(pairs, "there is no second model with a value")}.`);
        ranks(root, one, ranked, name);
      }
    },
  });
})();
