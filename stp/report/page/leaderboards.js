"use strict";
// Leaderboards: all models on one measure, on all columns of a table, and on all that a table tests.
(() => {
  const {h, number} = stp;
  let shared = null;

  /** Evaluations, parts, and the rows of each evaluation by part. */
  function boards() {
    if (shared) return shared;
    const raw = stp.data("leaderboards");
    const evaluations = stp.rows(raw.evaluations);
    const parts = stp.rows(raw.parts);
    const first = new Map();  // a cell of each evaluation
    for (const cell of stp.core().cells) {
      const word = wordOf(cell);
      if (!first.has(word)) first.set(word, cell);
    }
    const seen = new Map();
    for (const one of evaluations) {
      const cell = first.get(wordOf(one));
      one.tested = cell.tested;
      one.case_name = cell.case_name;
      one.domain = stp.core().datasets.get(one.tested_on)?.domain ?? "other";
      one.key = `${one.dimension}:${cell.case_name}`;
      const alike = seen.get(one.key) ?? [];
      seen.set(one.key, [...alike, one]);
    }
    for (const alike of seen.values()) {
      if (alike.length < 2) continue;
      // The same test on other data, over another horizon, ...: what differs is said.
      const differing = alikeKeys.filter((key) => new Set(alike.map((one) => one[key])).size > 1);
      for (const one of alike) {
        const said = {leaky: one.leaky ? "leaky" : "not leaky",
          best_of: one.best_of > 1 ? `best of ${one.best_of}` : "single forecasts, or their mean"};
        const what = differing.map((key) => said[key] ?? one[key]);
        one.key += `:${what.join(":")}`;
        one.tested += ` (${what.join(", ")})`;
      }
    }
    for (const alike of Map.groupBy(evaluations, (one) => `${one.dimension}|${one.tested}`).values()) {
      const settings = alike.map((one) => settingOf(one, alike));
      alike.forEach((one, i) => { one.tested += settings[i] ? `, ${settings[i]}` : ""; });
    }
    const rows = new Map();  // evaluation -> part -> rows
    for (const row of stp.rows(raw.board)) {
      if (!rows.has(row.evaluation)) rows.set(row.evaluation, new Map());
      const ofPart = rows.get(row.evaluation);
      if (!ofPart.has(row.part)) ofPart.set(row.part, []);
      ofPart.get(row.part).push(row);
    }
    for (const together of [...rows.values()].flatMap((ofPart) => [...ofPart.values()])) {
      const ranked = together.filter((row) => row.rank !== null);
      const tied = ranked.length > 1 && ranked.every((row) => row.rank === 1);
      for (const row of ranked) row.tied = tied;
    }
    const order = [...stp.core().dimensions.keys()];
    const listed = evaluations.map((_, i) => i)
      .sort((a, b) => order.indexOf(evaluations[a].dimension) - order.indexOf(evaluations[b].dimension) || a - b)
      .map((i) => evaluations[i]);
    shared = {evaluations, listed, parts, rows};
    return shared;
  }

  /** How the setting of an evaluation differs from those of others: "intensity 3". */
  function settingOf(one, others) {
    const settings = stp.core().settings;
    const keys = Object.keys(settings.get(one.setting) ?? {}).filter((key) => key !== "setting"
      && new Set(others.map((other) => settings.get(other.setting)?.[key])).size > 1);
    return keys.map((key) => `${named(key)} ${settings.get(one.setting)[key] ?? "of the dataset"}`).join(", ");
  }

  const alikeKeys = ["suite", "trained_on", "train_subset", "tested_on", "subset", "setting", "source",
    "scale", "leaky", "best_of"];
  const wordOf = (row) => ["dimension", ...alikeKeys].map((key) => row[key]).join("|");
  const named = (word) => word.replace(/_/g, " ");
  const all = (title, values) => [["", title], ...[...new Set(values)].map((v) => [v, named(v)])];

  stp.section({
    id: "leaderboards",
    title: "Leaderboards",
    about: "Models of one evaluation, the best first. Click a number to see where it comes from.",
    draw(root) {
      const {evaluations, listed, parts, rows} = boards();
      const of = (chosen) => listed.filter((one) => (!chosen.domain || one.domain === chosen.domain)
        && (!chosen.dimension || one.dimension === chosen.dimension));
      const at = (chosen) => evaluations.find((one) => one.key === chosen.tested);
      // Those that have values come first: the first is chosen where nothing is said.
      const partsOf = (chosen) => {
        const found = ordered(at(chosen), [...rows.get(evaluations.indexOf(at(chosen))).keys()]);
        return [...found.filter((part) => valued(chosen, part)), ...found.filter((part) => !valued(chosen, part))];
      };
      const metric = (part) => metricOf(parts[part]);
      const valued = (chosen, part) => rows.get(evaluations.indexOf(at(chosen))).get(part)
        .some((row) => row.value !== null);
      const wanted = [
        {key: "domain", label: "Domain", options: all("All", listed.map((one) => one.domain))},
        {key: "dimension", label: "Dimension", options: (chosen) => all("All", listed
          .filter((one) => !chosen.domain || one.domain === chosen.domain).map((one) => one.dimension))},
        {key: "tested", label: "Tested on", options: (chosen) => of(chosen).map((one) =>
          [one.key, chosen.dimension ? one.tested : `${one.tested} – ${named(one.dimension)}`])},
        {key: "layout", label: "Layout", options: [["one", "One metric, ranked"], ["paper", "Columns of the table"]]},
        {key: "models", label: "Models", options: [["", "All"], ["trained", "Without baselines"]]},
      ];
      const oneMeasure = [
        {key: "metric", label: "Metric", options: (chosen) => {
          const has = new Set(partsOf(chosen).filter((part) => valued(chosen, part)).map(metric));
          return [...new Set(partsOf(chosen).map(metric))]
            .map((m) => [m, has.has(m) ? titleOf(m) : `${titleOf(m)} (no values)`]);
        }},
        {key: "convention", label: "Convention", options: (chosen) => partsOf(chosen)
          .filter((part) => metric(part) === chosen.metric)
          .map((part) => [stp.part(parts[part]), stp.partTitle(parts[part])])},
      ];
      wanted[2].preferred = (chosen) => of(chosen).find((one) => partsOf({tested: one.key})
        .some((part) => valued({tested: one.key}, part)))?.key;
      const chosen = stp.filters(root, stp.get("layout") === "paper" ? wanted : [...wanted, ...oneMeasure]);
      const evaluation = at(chosen);
      const here = rows.get(evaluations.indexOf(evaluation));
      const shown = (row) => chosen.models !== "trained" || !stp.isBaseline(row.model);
      if (chosen.layout === "paper") return paper(root, evaluation, here, shown);
      const part = [...here.keys()].find((p) => stp.part(parts[p]) === chosen.convention);
      return ranked(root, evaluation, parts[part], here.get(part).filter(shown));
    },
  });

  /** Whether a part says that what is predicted happens, or can. */
  const saysWhatHappens = (part) => (stp.core().conventions.get(part.convention)?.success ?? null) !== null;

  /** Parts, those of the paper's table first, then what says whether it happens. */
  function ordered(evaluation, found) {
    const {parts} = boards();
    const columns = columnsOf(evaluation);
    const of = (part) => {
      const at = columns.findIndex((column) => column === columnOf(columns, parts[part]));
      return at >= 0 ? at : saysWhatHappens(parts[part]) ? columns.length : Infinity;
    };
    return found.sort((a, b) => of(a) === of(b) ? a - b : of(a) - of(b));
  }

  const columnsOf = (evaluation) => stp.core().paperColumns
    .filter((c) => c.dimension === evaluation.dimension && c.dataset === evaluation.tested_on);

  /** The column of a table that shows a part; one without a variable shows the only one there is. */
  const columnOf = (columns, part) => columns.find((c) => stp.part(c) === stp.part(part))
    ?? columns.find((c) => c.variable === null && stp.part({...c, variable: part.variable}) === stp.part(part));

  const pick = ({model, variant}) => ({model, variant});
  function titleOf(metric) {
    const convention = [...stp.core().conventions.values()].find((c) => c.metric === metric);
    return convention?.title || metric;
  }

  /** The model of a row with what it is: a baseline, a trained or an imported one. */
  function modelCell(row) {
    const title = stp.modelTitle(row.model) + (row.variant === "default" ? "" : ` (${row.variant})`);
    return h("span", {class: "model"}, title,
      stp.isBaseline(row.model) ? h("span", {class: "kind"}, "baseline") : null,
      stp.core().models.get(row.model)?.fit === "external" ? h("span", {class: "kind"}, "external") : null);
  }

  /** Whether a row is the best: where all have the same value, none is. */
  const isBest = (row) => row.rank === 1 && !row.tied;

  function valueCell(evaluation, part, row) {
    const cell = stp.cellsOf({...evaluation, ...pick(row)})[0];
    if (row.value === null) return stp.value(h("span", {class: "reason"}, row.reason ?? "no value"), cell, part);
    const best = isBest(row);
    return h("span", {class: best ? "best" : null}, stp.value(number(row.value), cell, part),
      best ? h("span", {class: "hidden"}, " (best)") : null);
  }

  /** What a metric can be trusted for: marks of a study of distortions, and where its card is. */
  function trust(convention) {
    const marks = stp.core().trust.filter((row) => row.convention === convention && row.known);
    const said = marks.map((row) => `On distorted clips of ${stp.datasetTitle(row.tested_on)} (${row.bytes}) it gets `
      + `worse with ${row.worse} of ${row.known} distortions${row.blind ? `, and does not respond to ${named(row.blind)}` : ""}. `);
    const study = stp.core().cells.find((cell) => stp.core().settings.get(cell.setting)?.intensity
      && cell.tested_on === marks[0]?.tested_on);
    return study ? h("p", {class: "trust"}, ...said, "Trust card: ", h("code", {},
      `stp list metrics ${convention} --study results/${study.scale}/plan/${study.dimension}.json`), ".") : null;
  }

  function ranked(root, evaluation, part, rows) {
    const about = stp.core().conventions.get(part.convention);
    const unit = stp.unitOf(evaluation.tested_on, part);
    root.append(h("p", {}, h("b", {}, stp.partTitle(part)), ` ${stp.direction(part.convention)} `,
      about ? `${about.description}.${unit ? ` Unit: ${unit}.` : ""}` : ""));
    root.append(trust(part.convention) ?? "");
    const ends = rows.flatMap((row) => [row.value, row.ci95_low, row.ci95_high]).filter(Number.isFinite);
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const winner = rows.find((row) => row.rank === 1);
    const some = (key) => rows.some((row) => row[key] !== null);
    stp.table(root, {
      name: "board",
      caption: `${stp.count(rows.length, "model")} on ${evaluation.tested}, ${stp.partTitle(part)}; `
        + stp.origin([...new Set(rows.flatMap((row) => stp.cellsOf({...evaluation, ...pick(row)})))]),
      rows: [...rows].sort((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity)),
      rowClass: (row) => stp.isBaseline(row.model) ? "baseline" : null,
      columns: [
        {key: "rank", title: "Rank", numeric: true, about: "1 is best; equal values share a rank",
          cell: (row) => row.rank === null ? "–" : String(row.rank)},
        {key: "model", title: "Model", head: true, value: (row) => stp.modelTitle(row.model), cell: modelCell},
        {key: "value", title: `${unit ? `Value (${unit})` : "Value"}\u00a0${stp.direction(part.convention)}`.trim(), numeric: true,
          cell: (row) => valueCell(evaluation, part, row)},
        {key: "ci95_low", title: "95 % interval", about: "Studentised bootstrap over clusters of clips",
          cell: (row) => interval(evaluation, part, row, low, high)},
        some("seed_sd") ? {key: "seed_sd", title: "SD of seeds", numeric: true,
          about: "Standard deviation over trainings",
          cell: (row) => row.seed_sd === null ? "–" : `${number(row.seed_sd, 2)} (${row.seeds})`} : null,
        {key: "n", title: "n", numeric: true, about: "Test samples"},
        some("rank_low") ? {key: "rank_low", title: "Rank, 95\u00a0%", numeric: true,
          about: "95 % confidence set, from the paired tests of all models",
          cell: (row) => row.rank_low === null ? "–" : row.rank_low === row.rank_high ? String(row.rank_low)
            : `${row.rank_low} to ${row.rank_high}`} : null,
        {key: "worse", title: "Against the best", value: (row) => row === winner ? -1 : row.p,
          about: "Paired t test over clusters, corrected (Holm) over all pairs of models, and sign test, not corrected; "
            + "a difference is significant if both p are below 0.05",
          cell: (row) => againstBest(row, winner)},
        some("published") ? {key: "published", title: "Printed", numeric: true, about: "Value in the paper",
          cell: (row) => row.published === null ? "–" : String(row.published)} : null,
        some("published") ? {key: "difference", title: "Difference", numeric: true,
          about: "Ours minus printed, where the two are comparable",
          cell: (row) => row.published === null ? "–" : row.difference === null ? "not comparable"
            : stp.signed(row.difference)} : null,
      ].filter((column) => column !== null),
    });
    const reason = rows.find((row) => row.rank_low === null && row.rank !== null)?.rank_reason;
    if (reason) root.append(h("p", {class: "note"}, `Ranks have no interval: ${reason}.`));
    const links = [];
    if (stp.hasSection("significance")) {
      const {dimension, case_name: tested} = evaluation;
      links.push(h("a", {href: stp.link("significance", {dimension, tested})}, "All pairs of models"));
    }
    links.push(h("a", {href: stp.link("conventions", {metric: about?.metric ?? metricOf(part)})},
      "Other conventions"));
    root.append(h("p", {class: "note links"}, links));
  }

  function againstBest(row, winner) {
    if (row === winner) return "the best";
    if (row.value === null) return "–";
    if (row.p === null) return h("span", {class: "note"}, "no test");
    return h("span", {class: "verdict"}, row.worse ? "worse" : "no significant difference",
      ` (t test: p ${number(row.p, 2)}, corrected; sign test: p ${number(row.p_sign, 2)})`);
  }

  /** An interval as text, and where it lies among those of all models; it opens where it comes from. */
  function interval(evaluation, part, row, low, high) {
    if (row.ci95_low === null) {
      if (row.value === null) return "–";
      return h("span", {class: "note"}, row.seeds > 1 ? "one per seed" : row.reason ?? "none");
    }
    const place = (value) => high > low ? 100 * (value - low) / (high - low) : 0;
    const style = `left:${place(row.ci95_low)}%;width:${place(row.ci95_high) - place(row.ci95_low)}%`;
    const shown = [
      h("span", {class: "strip", "aria-hidden": "true"}, h("i", {style}), h("b", {style: `left:${place(row.value)}%`})),
      h("span", {class: "ends"}, `${number(row.ci95_low)} to ${number(row.ci95_high)}`),
    ];
    return stp.value(shown, stp.cellsOf({...evaluation, ...pick(row)})[0], part, {class: "interval"});
  }

  /** Models x columns of the paper's table of a dataset, and what says whether the predicted happens. */
  function paper(root, evaluation, here, shown) {
    const {parts} = boards();
    const ofTable = columnsOf(evaluation);
    let columns = ordered(evaluation, [...here.keys()])
      .filter((part) => columnOf(ofTable, parts[part]) || saysWhatHappens(parts[part]))
      .map((part) => ({title: headingOf(evaluation, parts[part]), part}));
    if (!columns.some(({part}) => columnOf(ofTable, parts[part]))) {
      root.append(h("p", {class: "note"}, "No table has columns for this evaluation; all conventions are shown."));
      columns = [...here.keys()].map((part) => ({title: stp.partTitle(parts[part]), part}));
    }
    const models = new Map();
    for (const {part} of columns) {
      for (const row of here.get(part)) {
        if (!shown(row)) continue;
        const word = `${row.model}|${row.variant}`;
        if (!models.has(word)) models.set(word, {model: row.model, variant: row.variant});
        models.get(word)[`part-${part}`] = row;
      }
    }
    const reasons = [];  // notes below the table: they are long, and the same in many places
    const order = [...stp.core().models.keys()];
    const rows = [...models.values()].sort((a, b) => order.indexOf(a.model) - order.indexOf(b.model));
    const cells = rows.flatMap((row) => stp.cellsOf({...evaluation, ...pick(row)}));
    stp.table(root, {
      name: "paper",
      caption: `${evaluation.tested}: the columns of its table, the best of each marked ★; ${stp.origin(cells)}`,
      rows,
      rowClass: (row) => stp.isBaseline(row.model) ? "baseline" : null,
      columns: [
        {key: "model", title: "Model", head: true, value: (row) => stp.modelTitle(row.model), cell: modelCell},
        ...columns.map(({title, part}) => ({
          key: stp.part(parts[part]), title: `${title}\u00a0${stp.direction(parts[part].convention)}`.trim(),
          numeric: true, about: stp.partTitle(parts[part]), value: (row) => row[`part-${part}`]?.value,
          cell: (row) => paperCell(evaluation, parts[part], row[`part-${part}`], reasons),
        })),
      ],
    });
    root.append(h("ol", {class: "note"}, reasons.map((reason) => h("li", {}, `No value: ${reason}`))));
    if (rows.some((row) => columns.some(({part}) => (row[`part-${part}`]?.published ?? null) !== null))) {
      root.append(h("p", {class: "note"}, "Below, in small print: the value of the paper."));
    }
  }

  /** The table of a dimension: models x the first columns of all that was tested, and what says whether the predicted
   * happens; the best model first. */
  stp.board = (root, dimension) => {
    const {evaluations, parts, rows} = boards();
    const tested = evaluations.filter((one) => one.dimension === dimension);
    const most = tested.length > 4 ? 1 : tested.length > 1 ? 2 : 4;
    const columns = tested.flatMap((evaluation) => {
      const here = rows.get(evaluations.indexOf(evaluation));
      const valued = ordered(evaluation, [...here.keys()]).filter((part) => here.get(part).some((r) => r.rank !== null));
      // One column of each metric: its other conventions stand in the section of leaderboards.
      const measured = (part) => [metricOf(parts[part]), parts[part].variable, parts[part].threshold].join();
      const first = new Map([...valued].reverse().map((part) => [measured(part), part]));
      return valued.filter((part) => first.get(measured(part)) === part)
        .filter((part, at) => at < most || saysWhatHappens(parts[part])).map((part) => ({evaluation, part,
          of: new Map(here.get(part).map((row) => [modelOf(row), row]))}));
    });
    if (!columns.length) {
      root.append(h("p", {class: "absent", role: "note"}, "Nothing is scored yet. This command scores it and makes the table: "
        + `${stp.command(dimension)}`));
      return;
    }
    const models = new Map(columns.flatMap(({of}) => [...of].map(([word, row]) => [word, pick(row)])));
    // A mean over columns in which some model has no rank would compare models by different tests. Whether the
    // predicted happens stands beside the mean: it may have several conventions of the same rules.
    const rated = columns.filter(({part}) => !saysWhatHappens(parts[part]));
    const complete = rated.filter(({of}) => [...models.keys()].every((word) => (of.get(word)?.rank ?? null) !== null));
    const ranked = [...models].map(([word, model]) => ({...model, word, mean: complete.length
      ? complete.reduce((sum, {of}) => sum + of.get(word).rank, 0) / complete.length : null}))
      .sort((a, b) => (a.mean ?? Infinity) - (b.mean ?? Infinity));
    const reasons = [];
    const title = stp.core().dimensions.get(dimension)?.title ?? named(dimension);
    root.append(h("h3", {}, `Leaderboard: ${title}`));
    stp.table(root, {
      name: "opening",
      caption: `${stp.count(models.size, "model")}, the best of each column marked ★; ${stp.origin(stp.core().cells
        .filter((cell) => cell.dimension === dimension))}`,
      rows: ranked, first: 30,
      rowClass: (row) => stp.isBaseline(row.model) ? "baseline" : null,
      columns: [
        {key: "model", title: "Model", head: true, value: (row) => stp.modelTitle(row.model), cell: modelCell},
        complete.length > 1 ? {key: "mean", title: "Mean rank", numeric: true, about: "Mean over the "
          + `${complete.length} of ${rated.length} columns in which every model has a rank`,
        cell: (row) => number(row.mean, 2)} : null,
        ...columns.map(({evaluation, part, of}) => ({
          key: `${evaluation.key}:${stp.part(parts[part])}`, group: evaluation.tested, numeric: true,
          title: `${headingOf(evaluation, parts[part])}\u00a0${stp.direction(parts[part].convention)}`.trim(),
          about: stp.partTitle(parts[part]), value: (row) => of.get(row.word)?.value,
          cell: (row) => paperCell(evaluation, parts[part], of.get(row.word), reasons),
        })),
      ].filter((column) => column !== null),
    });
    root.append(h("ol", {class: "note"}, reasons.map((reason) => h("li", {}, `No value: ${reason}`))),
      h("p", {class: "note links"}, h("a", {href: stp.link("leaderboards", {dimension})},
        "All metrics, intervals and tests"), complete.length > 1 && complete.length < rated.length ? `Mean rank: over ${complete.length} of `
        + `${rated.length} columns, those in which every model has a rank. ` : null,
      columns.some(({of}) => [...of.values()].some((row) => row.published !== null))
        ? "Below, in small print: the value of the paper." : null));
  };

  const metricOf = ({convention}) => convention.split(".")[0];
  const modelOf = ({model, variant}) => `${model}|${variant}`;

  /** The heading of a part: that of the table's column, or the metric's title. */
  function headingOf(evaluation, part, withUnit = true) {
    const column = columnOf(columnsOf(evaluation), part);
    const heading = column ? [column.variable, column.metric] : [part.variable, titleOf(metricOf(part))];
    const unit = withUnit ? stp.unitOf(evaluation.tested_on, part) : "";
    return heading.filter(Boolean).join(" ") + (unit ? ` (${unit})` : "");
  }

  /** The best of what was tested in a case: [{model, variant}] by rank in its first column, that column and its
   * unit. */
  stp.bestOf = (dimension, name) => {
    const {evaluations, parts, rows} = boards();
    const evaluation = evaluations.find((one) => one.dimension === dimension && one.case_name === name);
    if (!evaluation) return {ranked: [], heading: "", unit: ""};
    const here = rows.get(evaluations.indexOf(evaluation));
    const part = ordered(evaluation, [...here.keys()]).find((p) => here.get(p).some((row) => row.rank !== null));
    if (part === undefined) return {ranked: [], heading: "", unit: ""};
    const ranked = here.get(part).filter((row) => row.rank !== null).sort((a, b) => a.rank - b.rank);
    return {ranked, heading: headingOf(evaluation, parts[part], false), unit: stp.unitOf(evaluation.tested_on, parts[part])};
  };

  function paperCell(evaluation, part, row, reasons) {
    if (!row) return null;
    if (row.value === null) {
      const reason = row.reason ?? "no value";
      if (!reasons.includes(reason)) reasons.push(reason);
      return stp.value(["none", h("sup", {}, String(reasons.indexOf(reason) + 1))],
        stp.cellsOf({...evaluation, ...pick(row)})[0], part, {title: reason});
    }
    const shown = valueCell(evaluation, part, row);
    return h("span", {}, isBest(row) ? h("span", {class: "best", "aria-hidden": "true"}, "★ ") : null, shown,
      row.published === null ? null
        : h("small", {class: "note printed"}, h("span", {class: "hidden"}, "printed "), String(row.published)));
  }
})();
