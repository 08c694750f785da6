"use strict";
// Where a number comes from: a dialog with its value in full digits, its definition, the artefacts
// behind it, and what shows and makes it again. stp.value makes the button that opens it, and marks
// of charts call stp.provenance. The address says what is open
// (cell=<fingerprint of the scores>,<part>;<where>), so that a link can be sent.
(() => {
  const {h, number} = stp;
  let shared = null;

  function known() {
    if (shared) return shared;
    const raw = stp.data("provenance");
    const cells = stp.core().cells;
    const parts = stp.rows(raw.parts);
    const values = new Map();
    for (const row of stp.rows(raw.values)) values.set(`${row.cell},${stp.part(parts[row.part])}`, row);
    // Cells of two dimensions may share their scores: the second one is <fingerprint>.1.
    const [cellOf, names, times] = [new Map(), new Map(), new Map()];
    cells.forEach((cell, i) => {
      const {scores_fingerprint: fingerprint} = cell;
      const before = times.get(fingerprint) ?? 0;
      times.set(fingerprint, before + 1);
      names.set(cell, before ? `${fingerprint}.${before}` : fingerprint);
      cellOf.set(names.get(cell), i);
    });
    shared = {
      raw, values, parts: new Map(parts.map((part) => [stp.part(part), part])), cellOf, names,
      artefacts: stp.rows(raw.artefacts), locks: stp.rows(raw.locks),
    };
    return shared;
  }

  /** The word for a convention of a variable, level, threshold and lead times, in addresses. */
  stp.part = ({convention, variable, level, threshold, leads}) =>
    [convention, variable ?? "", level ?? "", threshold ?? "", leads ?? ""].join("~").replace(/~+$/, "");

  /** Lead times of a part, 44 or 1-7, for people; null for all of them together. */
  stp.leadsTitle = (leads) => (leads === null || leads === undefined ? null
    : `lead time${leads.includes("-") ? "s" : ""} ${leads}`);

  /** The same for people. */
  stp.partTitle = ({convention, variable, level, threshold, leads}) => [
    convention, variable, level === null || level === undefined ? null : `${level} hPa`,
    threshold === null || threshold === undefined ? null : `threshold ${threshold}`, stp.leadsTitle(leads),
  ].filter((text) => text !== null && text !== undefined).join(", ");

  const keysOf = ["suite", "dimension", "model", "variant", "trained_on", "train_subset", "tested_on",
    "subset", "setting"];
  let byPlace = null;
  /** Cells of a model and evaluation: one for each seed. wanted: the keys of a cell, without seed. */
  stp.cellsOf = (wanted) => {
    const word = (row) => keysOf.map((key) => row[key]).join("|");
    if (!byPlace) {
      byPlace = new Map();
      for (const cell of stp.core().cells) {
        if (!byPlace.has(word(cell))) byPlace.set(word(cell), []);
        byPlace.get(word(cell)).push(cell);
      }
    }
    return byPlace.get(word(wanted)) ?? [];
  };

  /** Open where a value comes from.
   *
   * cell: of core().cells; part: {convention, variable, level, threshold, leads}, or null for all of it;
   * where: a lead time; or a comparison at equal n, named after its dimension; or "spectrum", for the power
   *   that was summed while these scores were made; or null: over all lead times, on all test samples.
   */
  stp.provenance = (cell, part = null, where = null) => {
    const word = part ? stp.part(part) + (where === null ? "" : `;${where}`) : "";
    const name = known().names.get(cell);
    stp.remember({cell: word ? `${name},${word}` : name, pair: null});
    show(name, word);
  };

  /** A button with a number (or a sign) that opens where it comes from; see stp.provenance. */
  stp.value = (shown, cell, part = null, attributes = {}, where = null) => h("button", {
    type: "button", class: "number",
    title: "Where does this come from?", ...attributes,
    onclick: () => stp.provenance(cell, part, where),
  }, shown);

  /** Where a cell stands among all cells. */
  const numberOf = (cell) => known().cellOf.get(known().names.get(cell));

  /** What there is of a cell: {value, low, high, n, clusters, reason, text}; text names where.
   *
   * word: of the part; where: as of stp.provenance.
   */
  function foundOf(at, word, where) {
    const overall = known().values.get(`${at},${word}`);
    const own = overall && {...overall, low: overall.ci95_low, high: overall.ci95_high, text: ""};
    if (where === null || where === "spectrum") return own;
    if (/^\d+$/.test(where)) {
      const row = stp.leadsOf(at).find((one) => stp.part(one) === word);
      const i = row?.at_leads?.indexOf(Number(where)) ?? -1;
      return i < 0 ? undefined : {...row, value: row.values[i], low: row.low?.[i] ?? null,
        high: row.high?.[i] ?? null, text: `at lead time ${where}`, overall: own};
    }
    const row = evaluations.matchedOf(at).find((one) => one.comparison === where
      && one.convention === word.split("~")[0]);
    if (!row) return own;
    return {...row, low: null, high: null, overall: own, text: `of ${row.n} clips, as many in every test of this comparison`,
      drawings: row.repeats ? `${number(row.sd)}, of ${row.repeats} drawings of ${row.n} of ${row.clips} clips` : null};
  }

  function show(name, told) {
    const [word, where = null] = told.split(";");
    const {cellOf, parts} = known();
    const at = cellOf.get(name);
    if (at === undefined) {
      return closing(stp.dialog("Not in this report", h("p", {},
        `No scores with the fingerprint ${name}: the link belongs to another report.`)));
    }
    const cell = stp.core().cells[at];
    const part = parts.get(word) ?? null;
    const found = part && foundOf(at, word, where);
    const title = `${stp.modelTitle(cell.model)} on ${cell.tested}`;
    const siblings = stp.cellsOf(cell);
    closing(stp.dialog(title,
      h("p", {}, stp.badge(cell), ` ${cell.dimension.replace(/_/g, " ")}, scale ${cell.scale}`
        + `${cell.variant === "default" ? "" : `, variant ${cell.variant}`}`
        + `${cell.external ? ", predictions made elsewhere" : ""}`),
      cell.lacking ? h("p", {class: "note"}, cell.lacking) : null,
      cell.accepted ? h("p", {class: "note"}, cell.accepted) : null,
      cell.subset_note ? h("p", {class: "note"}, cell.subset_note) : null,
      part ? measured(found, part, where, siblings.map((one) =>
        foundOf(numberOf(one), word, where)?.value ?? null)) : null,
      part && siblings.length > 1 ? seeds(siblings, part, word, where, cell) : null,
      h("h3", {}, "Inputs"), lineage(at), rawFiles(at),
      h("h3", {}, "How to reproduce it"), ...again(cell, part, where, found)));
  }

  function closing(dialog) {
    dialog.dataset.of = "cell";
    const opened = stp.get("cell");
    dialog.onclose = () => {  // comes late: somebody may have followed a link to another cell by then
      if (stp.get("cell") === opened) stp.remember({cell: null});
    };
  }

  const intervalOf = (found, digits) => `${number(found.low, digits)} to ${number(found.high, digits)}`;
  const hasInterval = (found) => (found?.low ?? null) !== null;

  /** The value itself. values: of all trainings, this one too. */
  function measured(found, part, where, values) {
    const about = stp.core().conventions.get(part.convention);
    const better = about?.best_at !== null && about?.best_at !== undefined
      ? `best at ${about.best_at}` : about?.higher_is_better === null || !about ? "no direction"
        : about.higher_is_better ? "higher is better" : "lower is better";
    const none = (found?.value ?? null) === null;
    const {mean} = evaluations.overSeeds(values);
    const rounded = found?.overall && /^\d+$/.test(where) ? " (rounded; the query below gives all digits)" : "";
    const lines = [
      ["Measure", [stp.partTitle(part), found?.text].filter((text) => text).join(", ")],
      ["Value", none ? `none: ${found?.reason ?? "not scored"}` : found.value + rounded],
      values.length > 1 ? ["Mean", mean === null ? "none: one training has no value"
        : `${number(mean, 6)}, of ${values.length} trainings: what charts and leaderboards show`] : null,
      found?.drawings ? ["SD of drawings", found.drawings] : ["95 % interval", hasInterval(found) ? `${intervalOf(found, rounded ? 4 : 6)} (studentised bootstrap over ${found.clusters} clusters)`
        : found?.reason ?? "none"],
      ["Test samples", found?.n ?? "–"],
      found?.overall ? [rounded ? "All lead times" : "All clips", `${number(found.overall.value, 6)}, `
        + `of ${stp.count(found.overall.n, "test sample")}`] : null,
      where === "spectrum" ? ["Spectra", "mean power by wavenumber was summed while these scores were computed; the sums "
        + "are in their folder, below"] : null,
      ["Definition", about ? `${[about.title, about.description].filter((text) => text).join(": ")} (unit ${about.unit}, ${better})` : "–"],
    ].filter((line) => line);
    return h("dl", {}, lines.map(([name, text]) => [h("dt", {}, name), h("dd", {}, String(text))]));
  }

  /** Values of all seeds; each leads to its own provenance. */
  function seeds(cells, part, word, where, current) {
    return h("div", {class: "scroll"}, h("table", {}, h("caption", {}, "Every training"),
      h("thead", {}, h("tr", {}, ["Seed", "Value", "95 % interval"].map((t) => h("th", {scope: "col"}, t)))),
      h("tbody", {}, cells.map((cell) => {
        const found = foundOf(numberOf(cell), word, where);
        return h("tr", {}, h("th", {scope: "row"}, String(cell.seed ?? "–")),
          h("td", {class: "numeric"}, cell === current ? `${number(found?.value, 6)} (shown here)`
            : stp.value(number(found?.value, 6), cell, part, {}, where)),
          h("td", {}, hasInterval(found) ? intervalOf(found) : "–"));
      }))));
  }

  /** Numbers of all artefacts behind a cell, those of the training's data too, earliest first. */
  function behind(at) {
    const {raw, artefacts} = known();
    const found = new Set();
    const visit = (i) => {
      if (found.has(i)) return;
      for (const input of artefacts[i].inputs) visit(input);
      found.add(i);
    };
    raw.behind[at].forEach(visit);
    return [...found];
  }

  const stages = {prepare: "Data", train: "Training", predict: "Predictions", score: "Scores"};

  function lineage(at) {
    const {artefacts} = known();
    return h("ol", {class: "lineage"}, behind(at).map((i) => {
      const a = artefacts[i];
      const packages = Object.entries(JSON.parse(a.packages ?? "null") ?? {}).map((pair) => pair.join(" "));
      return h("li", {},
        h("b", {}, stages[a.stage] ?? a.stage), ` finished ${a.finished ?? "–"} UTC, after `
          + `${stp.duration(a.seconds)}, on ${a.host ?? "–"} (${a.device ?? "–"}`
          + `${a.slurm_job ? `, Slurm job ${a.slurm_job}` : ""})`,
        h("br"), h("code", {}, a.path),
        h("br"), h("span", {class: "note"}, "fingerprint ", h("code", {}, a.fingerprint), ", code ",
          h("code", {}, a.code_fingerprint ?? "–"), ", commit ", h("code", {}, a.commit ?? "unknown")),
        h("details", {}, h("summary", {}, `Python ${a.python ?? "–"} and ${stp.count(packages.length, "package")}`),
          h("p", {class: "note"}, packages.join(", "))));
    }));
  }

  function rawFiles(at) {
    const {raw, artefacts, locks} = known();
    const used = [...new Set(behind(at).map((i) => artefacts[i].lock).filter((lock) => lock >= 0))];
    if (!used.length) return h("p", {class: "note"}, "No raw files are recorded for it.");
    return h("div", {}, h("h3", {}, "Raw files"), used.map((lock) => {
      const about = locks[lock];
      const query = "SELECT file, bytes, sha256 FROM raw_files\n"
        + `WHERE lock = ${quoted(about.lock)} ORDER BY file;`;
      return h("div", {},
        h("p", {}, `${stp.datasetTitle(about.dataset)}, release ${about.release} (${about.source}): `
          + `${about.files} ${about.files === 1 ? "file" : "files"}, ${bytes(about.bytes)}`),
        h("ul", {class: "files"}, raw.first_files[lock].map(({file, sha256}) =>
          h("li", {}, file, " ", h("code", {class: "note"}, `sha256 ${sha256}`)))),
        about.files > raw.first_files[lock].length
          ? h("details", {}, h("summary", {}, "A query for all of them"), stp.code(query, "the query")) : null);
    }));
  }

  /** A text in SQL. */
  const quoted = (text) => `'${String(text).replace(/'/g, "''")}'`;

  function bytes(count) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(count, 1)) / 3));
    return `${number(count / 1000 ** power, 3)} ${units[power]}`;
  }
  stp.bytes = bytes;

  /** An argument of a shell command. */
  const shell = (text) => /^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
  stp.shell = shell;

  /** A query. wanted: what rows are to have, {column: value}. */
  stp.queryOf = (columns, table, wanted) => `SELECT ${columns} FROM ${table}\nWHERE ${Object.entries(wanted)
    .map(([name, value]) => (value === null || value === undefined ? `${name} IS NULL`
      : `${name} = ${typeof value === "number" ? value : quoted(value)}`)).join("\n  AND ")};`;

  const pick = (row, keys) => Object.fromEntries(keys.map((key) => [key, row[key]]));

  function again(cell, part, where, found) {
    const keys = pick(cell, [...keysOf, "seed"]);
    const chosen = part ? pick(part, ["convention", "variable", "level", "threshold"]) : {};
    const leads = part ? {leads: part.leads ?? null} : {};
    const measure = "value, ci95_low, ci95_high, n, reason, scores_fingerprint";
    const query = !part ? stp.queryOf("*", "overall", keys)
      : !found?.overall ? stp.queryOf(measure, "overall", {...keys, ...chosen, ...leads})
      : /^\d+$/.test(where) ? stp.queryOf(measure, "by_lead", {...keys, ...chosen, lead: Number(where)})
      : stp.queryOf("value, sd, n, clips, repeats, reason, scores_fingerprint", "matched_distances",
        {comparison: where, ...keys, convention: part.convention});
    const lines = [
      h("p", {}, `Make its table again where something has changed (scale ${cell.scale}):`),
      stp.code(stp.command(cell.dimension, cell.scale), "the command"),
    ];
    lines.push(h("p", {}, "Show this cell in a terminal:"),
      stp.code(`stp trace ${cell.scores_fingerprint} ${stp.asking(cell.scale)}`, "the command"));
    if (part && found && Number.isFinite(found.value)) {
      lines.push(h("p", {}, "Trace the number to its inputs:"),
        stp.code(`stp trace ${found.value} --cell ${shell(`${cell.model}/${cell.tested_on}`)} ${
          stp.asking(cell.scale)}`, "the command"));
    }
    lines.push(h("p", {}, "As a query of the results store:"), stp.code(query, "the query"));
    return lines;
  }

  // A link that names a cell opens it.
  stp.afterDraw(() => {
    const wanted = stp.get("cell");
    const element = document.getElementById("dialog");
    if (!wanted) {
      if (element.open && (element.dataset.of === "cell" || !stp.get("pair"))) element.close();
      return;
    }
    const comma = wanted.indexOf(",");
    show(comma < 0 ? wanted : wanted.slice(0, comma), comma < 0 ? "" : wanted.slice(comma + 1));
  });
})();
