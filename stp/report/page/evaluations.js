"use strict";
// What the sections with charts share: evaluations (what was tested, by which models), the parts of
// conventions that have values of their own, directions, and how a model is drawn.
const evaluations = (() => {
  const KEYS = ["suite", "dimension", "trained_on", "train_subset", "tested_on", "subset", "setting",
    "source", "scale", "leaky", "best_of"];
  const keyOf = (row) => KEYS.map((key) => row[key]).join("|");
  const words = (text) => text.replace(/_/g, " ");
  let made = null;

  /** All evaluations: {id, key, label, first: its first cell, models: Map(label -> line)}; a line is
   * {label, model, cells: [number, ...]}, all seeds of a variant of a model. */
  function all() {
    if (made) return made;
    made = new Map();
    stp.core().cells.forEach((cell, number) => {
      const key = keyOf(cell);
      if (!made.has(key)) made.set(key, {key, first: cell, dimension: cell.dimension, models: new Map()});
      const {models} = made.get(key);
      const label = named(cell.model, cell.variant);
      if (!models.has(label)) models.set(label, {label, model: cell.model, variant: cell.variant, cells: []});
      models.get(label).cells.push(number);
    });
    const taken = new Set();
    for (const one of made.values()) {
      const {case_name: name, tested, train_subset: part, setting, source, leaky, best_of: best} = one.first;
      one.id = name;
      one.label = tested + (part === "all" ? "" : `, trained on ${words(part)}`);
      if (taken.has(`${one.dimension}/${name}`)) {
        one.id = `${name}.${setting}.${source}${leaky ? ".leaky" : ""}${best > 1 ? `.best-${best}` : ""}`;
        one.label += ` (${setting}, ${source}${leaky ? ", leaky" : ""}${best > 1 ? `, best of ${best}` : ""})`;
      }
      taken.add(`${one.dimension}/${one.id}`);
    }
    return made;
  }

  const named = (model, variant) =>
    stp.modelTitle(model) + (variant === "default" ? "" : ` (${words(variant)})`);

  const list = () => [...all().values()];
  const of = (row) => all().get(keyOf(row));
  const cellsOf = (one) => [...one.models.values()].flatMap((line) => line.cells);

  /** Filters for the dimension and what was tested. A section opens on the first evaluation that
   * shows something: shows(one). */
  function choices(wanted = list(), shows = () => true) {
    const order = [...stp.core().dimensions.keys()];
    const ordered = [...wanted].sort((a, b) => order.indexOf(a.dimension) - order.indexOf(b.dimension));
    const of = (chosen) => ordered.filter((one) => one.dimension === chosen.dimension);
    return [
      {key: "dimension", label: "Dimension", preferred: () => ordered.find(shows)?.dimension,
        options: [...new Set(ordered.map((one) => one.dimension))].map((d) => [d, words(d)])},
      {key: "tested", label: "Tested on", preferred: (chosen) => of(chosen).find(shows)?.id,
        options: (chosen) => of(chosen).map((one) => [one.id, one.label])},
    ];
  }

  const chosenOf = (chosen) =>
    list().find((one) => one.dimension === chosen.dimension && one.id === chosen.tested);

  // Dimensions

  const titleOf = (dimension) => stp.core().dimensions.get(dimension)?.title ?? words(dimension);

  /** The dimensions whose own tests are compared (itself: true), or that are compared with another one. */
  const compared = (itself) => [...stp.core().dimensions.values()]
    .filter(({dimension, changes_from: from}) => from !== null && (from === dimension) === itself)
    .map(({dimension}) => dimension);

  /** The key of settings that evaluations differ in: not the horizon, if there is another one. */
  function varied(some) {
    const settings = some.map((one) => stp.core().settings.get(one.first.setting));
    const keys = Object.keys(settings[0] ?? {}).filter((key) => key !== "setting");
    const several = keys.filter((key) => new Set(settings.map((setting) => setting[key])).size > 1);
    const stated = keys.filter((key) => settings.some((setting) => setting[key] !== null));
    return [...several, ...stated].find((key) => key !== "horizon") ?? "horizon";
  }

  // Parts: a convention, or one variable, level or threshold of it

  const partId = (row) => stp.part(row);

  /** The column of the tables of results that a part stands in, or undefined. */
  const columnOf = (one, row) => stp.core().paperColumns.find((c) => c.dimension === one.dimension
    && c.dataset === one.first.tested_on && c.convention === row.convention
    && (c.variable === null || c.variable === row.variable)
    && (c.threshold === null || c.threshold === row.threshold)
    && c.statistic === "mean" && c.leads === (row.leads ?? null));

  /** What people call a part: the column's heading and the convention, or the convention's title. */
  function partText(one, row) {
    const column = columnOf(one, row);
    const title = column?.metric ?? stp.core().conventions.get(row.convention)?.title ?? "";
    const at = [row.variable, row.level === null ? null : `${row.level} hPa`,
      row.threshold === null ? null : `threshold ${row.threshold}`, stp.leadsTitle(row.leads)]
      .filter((t) => t !== null);
    const named = title === row.convention ? title : `${title} (${row.convention})`;
    return `${at.length ? `${at.join(", ")} ` : ""}${named}`;
  }

  /** Parts as options of a filter: those of the tables first, and of these those with a value. */
  function parts(one, rows, valued) {
    const found = new Map();
    for (const row of rows) {
      const id = partId(row);
      if (!found.has(id)) found.set(id, {id, column: columnOf(one, row), text: partText(one, row), valued: false});
      found.get(id).valued ||= valued(row);
    }
    const columns = stp.core().paperColumns;
    const order = (part) => (part.column ? columns.indexOf(part.column) : 1e6)
      + (part.valued ? 0 : part.column ? 1e5 : 1e7);
    return [...found.values()].sort((a, b) => order(a) - order(b))
      .map((part) => [part.id, part.text + (part.valued ? "" : " – no value")]);
  }

  /** The direction of a convention: {text, better(a, b), badness(value)}; better is null if unknown. */
  function direction(convention) {
    const about = stp.core().conventions.get(convention) ?? {};
    const at = about.best_at ?? null;
    const higher = about.higher_is_better ?? null;
    const badness = at !== null ? (v) => Math.abs(v - at) : higher === null ? null : (v) => (higher ? -v : v);
    return {
      higher, at, badness,
      sign: at !== null ? `→ ${at}` : higher === null ? "" : higher ? "↑" : "↓",
      text: at !== null ? `closer to ${at} is better` : higher === null ? "neither direction is better"
        : `${higher ? "higher" : "lower"} is better`,
    };
  }

  /** A title for an axis of the values of a part on an evaluation: name, unit, direction. */
  function axisTitle(text, one, part) {
    const unit = stp.unitOf(one.first.tested_on, part);
    return `${text.replace(/ \(.*/, "")}${unit ? ` [${unit}]` : ""} ${direction(part.convention).sign}`.trim();
  }

  /** The best of things by a convention's direction, or null. */
  function best(things, convention, value) {
    const {badness} = direction(convention);
    const valued = things.filter((thing) => value(thing) !== null && value(thing) !== undefined);
    if (!badness || !valued.length) return null;
    return valued.reduce((a, b) => (badness(value(b)) < badness(value(a)) ? b : a));
  }

  // Seeds

  /** Mean and standard deviation over seeds; no mean if a seed has no value. */
  function overSeeds(values) {
    if (!values.length || values.some((v) => v === null || v === undefined)) return {mean: null, sd: null};
    const mean = values.reduce((a, b) => a + b, 0) / values.length;
    const sd = values.length < 2 ? null
      : Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / (values.length - 1));
    return {mean, sd};
  }

  // Values over all lead times (stp/report/values.py)

  let found = null;
  function tables() {
    if (!found) {
      const raw = stp.data("values");
      const by = (columnar) => Map.groupBy(stp.rows(columnar), (row) => row.cell);
      found = {values: by(raw.values), matched: by(raw.matched), printed: stp.rows(raw.printed)};
    }
    return found;
  }

  const valuesOf = (one) => cellsOf(one).flatMap((cell) => tables().values.get(cell) ?? []);

  /** Distances at equal n of a cell, by its number. */
  const matchedOf = (cell) => tables().matched.get(cell) ?? [];

  /** What a line has in a part: {value, sd, low, high, n, clips, drawn, reason}, seeds together; and
   * its cells and where it stands in them, as stp.provenance takes it.
   *
   * Distances between sets of clips depend on how many there are: for a comparison (a dimension)
   * they are those at equal n, of which a test has more clips.
   */
  function measured(line, part, comparison = null) {
    const at = (table, belongs) => line?.cells.map((cell) => table.get(cell)?.find(belongs)) ?? [];
    const own = at(tables().values, (row) => partId(row) === part);
    const convention = part.split("~")[0];
    const matched = comparison === null ? []
      : at(tables().matched, (row) => row.comparison === comparison && row.convention === convention);
    const equal = matched.some((row) => row);
    const rows = equal ? matched : own;
    const {mean, sd} = overSeeds(rows.map((row) => row?.value ?? null));
    const single = !equal && rows.length === 1 ? rows[0] : null;
    return {
      value: mean, sd: equal && rows.length === 1 ? rows[0]?.sd ?? null : sd,
      low: single?.low ?? null, high: single?.high ?? null,
      n: Math.min(...rows.map((row) => row?.n ?? Infinity)), seeds: rows.length, equal,
      drawn: equal && rows.some((row) => row?.repeats > 0),
      cells: line?.cells ?? [], where: equal ? comparison : null,
      reason: line ? reasons(rows.filter((row) => row), mean === null ? "no value" : "")
        : "not evaluated",
    };
  }

  /** How much worse a value is than another one, as a part of it (as the view paper_changes). */
  function decline(value, base, convention) {
    const {higher} = direction(convention);
    if (value === null || base === null || higher === null || base === 0) return null;
    return (higher ? base - value : value - base) / Math.abs(base);
  }

  /** Error bars: the 95 % interval, else the standard deviation over seeds or drawings. */
  function errorBars(points) {
    const reach = (end) => points.map((p) => (p.value === null ? null
      : (p[end] ?? null) !== null ? Math.abs(p[end] - p.value) : p.sd ?? null));
    const [array, arrayminus] = [reach("high"), reach("low")];
    return {type: "data", symmetric: false, array, arrayminus, thickness: 1.2, width: 4,
      visible: array.some((length) => length !== null)};
  }

  /** A decline in words: "4.9 % worse". */
  const worse = (part) => `${stp.number(Math.abs(part) * 100, 3)} % ${part < 0 ? "better" : "worse"}`;

  /** A value of some cells (its seeds), which opens where it comes from; of several, the first one's
   * provenance tells of all. shown: text. */
  const opens = (shown, cells, part, where = null) => (cells.length
    ? stp.value(shown, stp.core().cells[cells[0]], part, {}, where) : shown);

  /** The same of a number, or a dash where there is none. */
  const value = (given, cells, part, where = null) => (given === null || given === undefined ? "–"
    : opens(stp.number(given), cells, part, where));

  /** A mark of a chart that opens the same; null where there is nothing to mark. at: {value, low,
   * high, sd, cells, where}; about: what it is, before its value. */
  function mark(about, at, part) {
    if (at.value === null || at.value === undefined || !at.cells.length) return null;
    const reach = (at.low ?? null) !== null ? ` (95 %: ${stp.number(at.low)} to ${stp.number(at.high)})`
      : (at.sd ?? null) !== null ? ` (SD ${stp.number(at.sd, 2)})` : "";
    return {text: `${about}: ${stp.number(at.value)}${reach}`,
      open: () => stp.provenance(stp.core().cells[at.cells[0]], part, at.where ?? null)};
  }

  const percent = (part) => (part === null || part === undefined ? "–"
    : `${part > 0 ? "+" : part < 0 ? "−" : ""}${stp.number(Math.abs(part) * 100, 3)} %`);

  // Drawing

  /** Line and marker of a model: as everywhere, but a grey baseline is never a solid line. */
  function style(model) {
    const {color, dash, symbol} = stp.style(model);
    const grey = color === "#7f7f7f" && dash === "solid";
    return {line: {color, dash: grey ? "longdash" : dash, width: 2}, marker: {color, symbol, size: 7}};
  }

  /** The colour of a model, see-through, for bands. */
  function faint(model, alpha) {
    const colour = stp.style(model).color;
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return `rgba(${r},${g},${b},${alpha})`;
  }

  /** Whether the page is as narrow as a phone. */
  const narrow = () => innerWidth < 600;

  /** Height of a chart: its legend, below it, takes more lines the more models there are. */
  const height = (models) => 370 + 20 * Math.ceil(models / (narrow() ? 2 : 8));

  /** Checkboxes that hide models; a legend needs a mouse, these do not. Returns the hidden ones. */
  function switches(root, labels) {
    const hidden = new Set((get("without") ?? "").split("~").filter((label) => labels.includes(label)));
    const boxes = labels.map((label) => stp.h("label", {},
      stp.h("input", {type: "checkbox", checked: !hidden.has(label), "data-key": `model-${label}`,
        onchange: (event) => {
          if (event.target.checked) hidden.delete(label); else hidden.add(label);
          stp.set({without: hidden.size ? [...hidden].join("~") : null});
        }}), label));
    root.append(stp.h("details", {class: "switches", open: hidden.size > 0},
      stp.h("summary", {}, `Models shown: ${labels.length - hidden.size} of ${labels.length}`),
      stp.h("div", {}, boxes)));
    return hidden;
  }
  const get = (key) => stp.get(key);

  /** Why there is no chart: a paragraph. */
  function absent(root, text) {
    root.append(stp.h("p", {class: "absent", role: "note"}, text));
  }

  /** Whose data: a line below the filters. */
  function whose(root, cells) {
    root.append(stp.h("p", {class: "note"}, stp.origin(cells.map((number) => stp.core().cells[number]))));
  }

  /** Several reasons as one text, each once. */
  const reasons = (rows, otherwise) =>
    [...new Set(rows.map((row) => row.reason).filter((text) => text))].join("; ") || otherwise;

  /** What has no value, by reason: "A and B: why; C: why". gaps: [[what, reason], ...]; many of one reason are counted. */
  const byReason = (gaps) => [...Map.groupBy(gaps, ([, reason]) => reason)].map(([reason, of]) =>
    `${of.length > 4 ? `${of.length} of them` : joined(of.map(([what]) => what))}: ${reason}`).join("; ");

  const joined = (texts) => (texts.length < 2 ? texts.join("")
    : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`);

  return {all, list, of, named, words, titleOf, compared, byReason, varied, cellsOf, choices, chosenOf, partId, partText, parts, columnOf, direction,
    axisTitle, best, overSeeds, valuesOf, matchedOf, measured, decline, errorBars, percent, worse, opens,
    value, mark,
    printed: () => tables().printed, style, faint, narrow, height, switches, absent, whose, reasons, joined};
})();
