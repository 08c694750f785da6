"use strict";
// Where a number comes from: a dialog with its value in full digits, its definition, the artefacts
// behind it, and what shows and makes it again. stp.value makes the button that opens it. The
// address says what is open (cell=<fingerprint of the scores>,<part>), so that a link can be sent.
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
    shared = {
      raw, values, parts: new Map(parts.map((part) => [stp.part(part), part])),
      cellOf: new Map(cells.map((cell, i) => [cell.scores_fingerprint, i])),
      artefacts: stp.rows(raw.artefacts), locks: stp.rows(raw.locks),
    };
    return shared;
  }

  /** The word for a convention of a variable, level and threshold, in addresses. */
  stp.part = ({convention, variable, level, threshold}) =>
    [convention, variable ?? "", level ?? "", threshold ?? ""].join("~").replace(/~+$/, "");

  /** The same for people. */
  stp.partTitle = ({convention, variable, level, threshold}) => [
    convention, variable, level === null || level === undefined ? null : `${level} hPa`,
    threshold === null || threshold === undefined ? null : `threshold ${threshold}`,
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

  /** A button with a number (or a sign) that opens where it comes from.
   *
   * cell: of core().cells; part: {convention, variable, level, threshold}, or null for all of it.
   */
  stp.value = (shown, cell, part = null, attributes = {}) => h("button", {
    type: "button", class: "number",
    title: "Where does this come from?", ...attributes,
    onclick: () => open(cell.scores_fingerprint, part ? stp.part(part) : ""),
  }, shown);

  function open(fingerprint, part) {
    stp.remember({cell: part ? `${fingerprint},${part}` : fingerprint});
    show(fingerprint, part);
  }

  function show(fingerprint, word) {
    const {cellOf, parts, values} = known();
    const at = cellOf.get(fingerprint);
    if (at === undefined) {
      return closing(stp.dialog("Not in this report", h("p", {},
        `No scores with the fingerprint ${fingerprint}: the link is of another report.`)));
    }
    const cell = stp.core().cells[at];
    const part = parts.get(word) ?? null;
    const title = `${stp.modelTitle(cell.model)} on ${cell.tested}`;
    const siblings = stp.cellsOf(cell);
    closing(stp.dialog(title,
      h("p", {}, stp.badge(cell), ` ${cell.dimension.replace(/_/g, " ")}, scale ${cell.scale}`
        + `${cell.variant === "default" ? "" : `, variant ${cell.variant}`}`
        + `${cell.external ? ", predictions made elsewhere" : ""}`),
      cell.subset_note ? h("p", {class: "note"}, cell.subset_note) : null,
      part ? measured(values.get(`${at},${word}`), part) : null,
      part && siblings.length > 1 ? seeds(siblings, part, word, cell) : null,
      h("h3", {}, "What it was made from"), lineage(at), rawFiles(at),
      h("h3", {}, "How to see and make it again"), ...again(cell, part, values.get(`${at},${word}`))));
  }

  function closing(dialog) {
    dialog.dataset.of = "cell";
    const opened = stp.get("cell");
    dialog.onclose = () => {  // comes late: somebody may have followed a link to another cell by then
      if (stp.get("cell") === opened) stp.remember({cell: null});
    };
  }

  /** The value itself. */
  function measured(found, part) {
    const about = stp.core().conventions.get(part.convention);
    const better = about?.best_at !== null && about?.best_at !== undefined
      ? `best at ${about.best_at}` : about?.higher_is_better === null || !about ? "no direction"
        : about.higher_is_better ? "higher is better" : "lower is better";
    const lines = [
      ["Measure", stp.partTitle(part)],
      ["Value", found?.value === null || !found ? `none: ${found?.reason ?? "not scored"}` : String(found.value)],
      ["95 % interval", found?.ci95_low === null || !found ? found?.reason ?? "none"
        : `${number(found.ci95_low, 6)} to ${number(found.ci95_high, 6)} (bootstrap over ${found.clusters} clusters)`],
      ["Test samples", found?.n ?? "–"],
      ["Definition", about ? `${about.title}: ${about.description} (unit ${about.unit}, ${better})` : "–"],
    ];
    return h("dl", {}, lines.map(([name, text]) => [h("dt", {}, name), h("dd", {}, String(text))]));
  }

  /** Values of all seeds; each leads to its own provenance. */
  function seeds(cells, part, word, current) {
    const {cellOf, values} = known();
    return h("div", {class: "scroll"}, h("table", {}, h("caption", {}, "Every training"),
      h("thead", {}, h("tr", {}, ["Seed", "Value", "95 % interval"].map((t) => h("th", {scope: "col"}, t)))),
      h("tbody", {}, cells.map((cell) => {
        const found = values.get(`${cellOf.get(cell.scores_fingerprint)},${word}`);
        return h("tr", {}, h("th", {scope: "row"}, String(cell.seed ?? "–")),
          h("td", {class: "numeric"}, cell === current ? `${number(found?.value, 6)} (shown here)`
            : stp.value(number(found?.value, 6), cell, part)),
          h("td", {}, found?.ci95_low === null || !found ? "–"
            : `${number(found.ci95_low)} to ${number(found.ci95_high)}`));
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
      const packages = Object.entries(JSON.parse(a.packages ?? "{}")).map((pair) => pair.join(" "));
      return h("li", {},
        h("b", {}, stages[a.stage] ?? a.stage), ` finished ${a.finished ?? "–"} UTC, after `
          + `${stp.duration(a.seconds)}, on ${a.host ?? "–"} (${a.device ?? "–"}`
          + `${a.slurm_job ? `, Slurm job ${a.slurm_job}` : ""})`,
        h("br"), h("code", {}, a.path),
        h("br"), h("span", {class: "note"}, "fingerprint ", h("code", {}, a.fingerprint), ", code ",
          h("code", {}, a.code_fingerprint ?? "–"), ", commit ", h("code", {}, a.commit ?? "not known")),
        h("details", {}, h("summary", {}, `Python ${a.python ?? "–"} and ${packages.length} packages`),
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

  const quoted = (text) => `'${String(text).replace(/'/g, "''")}'`;

  function bytes(count) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(count, 1)) / 3));
    return `${number(count / 1000 ** power, 3)} ${units[power]}`;
  }
  stp.bytes = bytes;

  /** An argument of a shell command. */
  const shell = (text) => /^[\w.,:/@%+=-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;

  function again(cell, part, found) {
    const same = (name, value) => value === null || value === undefined ? `${name} IS NULL`
      : `${name} = ${typeof value === "number" ? value : quoted(value)}`;
    const keys = [...keysOf, "seed"].map((key) => same(key, cell[key]));
    const chosen = part
      ? ["convention", "variable", "level", "threshold"].map((key) => same(key, part[key])) : [];
    const query = `${part ? "SELECT value, ci95_low, ci95_high, n, reason, scores_fingerprint" : "SELECT *"}`
      + ` FROM overall\nWHERE ${[...keys, ...chosen].join("\n  AND ")};`;
    const lines = [
      h("p", {}, `The table it stands in, made again where something has changed (scale ${cell.scale}):`),
      stp.code(`snakemake --profile local results/tables/${cell.dimension}.csv`, "the command"),
    ];
    lines.push(h("p", {}, "All that is known of this cell, in a terminal:"),
      stp.code(`stp show ${cell.scores_fingerprint}`, "the command"));
    if (part && found && Number.isFinite(found.value)) {
      lines.push(h("p", {}, "From the number to what it was made from:"),
        stp.code(`stp trace ${found.value} --model ${shell(cell.model)} --on ${shell(cell.tested_on)}`,
          "the command"));
    }
    lines.push(h("p", {}, "As a query of the results store:"), stp.code(query, "the query"));
    return lines;
  }

  // A link that names a cell opens it.
  stp.afterDraw(() => {
    const wanted = stp.get("cell");
    const element = document.getElementById("dialog");
    if (!wanted) {
      if (element.open && element.dataset.of === "cell") element.close();
      return;
    }
    const comma = wanted.indexOf(",");
    show(comma < 0 ? wanted : wanted.slice(0, comma), comma < 0 ? "" : wanted.slice(comma + 1));
  });
})();
