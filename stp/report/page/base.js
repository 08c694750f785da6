"use strict";
// What all sections share. A section calls stp.section({id, title, about, draw}); the page shows one
// section at a time, named by the part of the address behind #, and draws it anew whenever a filter
// changes. Filters live in the address too (#leaderboards?dataset=kth), so that a view can be sent.
const stp = (() => {
  const sections = [];
  const parsed = new Map();

  /** What the module stp/report/<name>.py has returned. */
  function data(name) {
    if (!parsed.has(name)) {
      parsed.set(name, JSON.parse(document.getElementById(`data-${name}`).textContent));
    }
    return parsed.get(name);
  }

  /** The rows of a columnar answer (stp/report/columns.py), as objects. */
  function rows(columnar) {
    // All rows have all properties from the beginning: adding them one by one takes ten times as long.
    const empty = Object.fromEntries(Object.keys(columnar.columns).map((name) => [name, null]));
    const made = Array.from({length: columnar.count}, () => ({...empty}));
    for (const [name, column] of Object.entries(columnar.columns)) {
      if (Array.isArray(column)) {
        for (let i = 0; i < made.length; i++) made[i][name] = readable(column[i]);
      } else {
        const {words, codes} = column;
        for (let i = 0; i < made.length; i++) made[i][name] = codes[i] < 0 ? null : words[codes[i]];
      }
    }
    return made;
  }

  function readable(value) {
    return value === "Infinity" || value === "-Infinity" || value === "NaN" ? Number(value) : value;
  }

  let shared = null;
  /** cells and paper columns; by name: dimensions (in their order), settings, models, datasets, conventions. */
  function core() {
    if (!shared) {
      const raw = data("core");
      const by = (columnar, key) => new Map(rows(columnar).map((row) => [row[key], row]));
      shared = {
        suites: rows(raw.suites).map((row) => row.title),
        finished: raw.finished,
        cells: rows(raw.cells),
        dimensions: by(raw.dimensions, "dimension"),
        settings: by(raw.settings, "setting"),
        models: by(raw.models, "model"),
        datasets: by(raw.datasets, "dataset"),
        conventions: by(raw.conventions, "convention"),
        trust: raw.trust ? rows(raw.trust) : [],
        paperColumns: rows(raw.paper_columns),
        styles: raw.styles,
      };
    }
    return shared;
  }

  const modelTitle = (model) => core().models.get(model)?.title ?? model;
  const datasetTitle = (dataset) => core().datasets.get(dataset)?.title ?? dataset;

  /** Whether nobody trained it by gradient descent: persistence, climatology. */
  const isBaseline = (model) => {
    const {fit, training} = core().models.get(model) ?? {};
    return ["none", "closed_form"].includes(fit) && !training;
  };

  let units = null;
  /** The unit of a value, "" where it has none. testedOn: dataset; part: {convention, variable, level}. */
  function unitOf(testedOn, part) {
    const word = ({convention, variable, level}) => [convention, variable ?? "", level ?? ""].join("|");
    if (!units) {
      units = new Map(rows(data("units")).map((row) => [`${row.tested_on}|${word(row)}`, row.unit]));
    }
    return units.get(`${testedOn}|${word(part)}`) ?? "";
  }

  /** An arrow that points to better values. */
  function direction(convention) {
    const about = core().conventions.get(convention);
    if (!about) return "";
    if (about.best_at !== null) return `→ ${about.best_at}`;
    return about.higher_is_better === null ? "" : about.higher_is_better ? "↑" : "↓";
  }

  /** An element: attributes (on... are listeners; null and false are left out), then children. */
  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...shown(children));
    return element;
  }

  const shown = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined);

  /** A number for people: four significant digits, unless told otherwise. */
  function number(value, digits = 4) {
    if (value === null || value === undefined) return "–";
    if (!Number.isFinite(value)) return String(value).replace("Infinity", "∞");
    if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
    const text = value.toPrecision(digits);
    if (!text.includes("e")) return text;
    // 1090 of three digits is 1.09e+3 for the language, 1090 for people.
    return Math.abs(value) >= 1 && Math.abs(value) < 1e6 ? String(Number(text)) : value.toExponential(digits - 1);
  }

  /** The command that makes the table of a dimension, and all that it needs; of the scale whose cells it has unless
   * one is named. */
  const command = (dimension, scale = scaleOf((cell) => cell.dimension === dimension)) => maker(scale,
    `results/tables/${dimension}.csv`);

  /** The command that makes a file of a scale. */
  const maker = (scale, file) => `snakemake --profile local --configfile config/${scale}.yaml -- ${file}`;

  /** The scale of the first cell that is wanted, or else of any. */
  function scaleOf(wanted = () => true) {
    const {cells} = core();
    return (cells.find(wanted) ?? cells[0])?.scale ?? "demo";
  }

  /** What makes a command ask the results of a scale, whichever ran last. */
  const asking = (scale) => `--database results/${scale}/results.duckdb`;

  /** How many of what: "1 model", "2 models". */
  const count = (many, one, several = `${one}s`) => `${many} ${many === 1 ? one : several}`;

  /** A difference for people: its sign is always there. */
  const signed = (value, digits = 3) => {
    if (value === null || value === undefined) return "–";
    return `${value > 0 ? "+" : value < 0 ? "−" : "±"}${number(Math.abs(value), digits)}`;
  };

  /** Seconds for people. */
  function duration(seconds) {
    if (seconds === null || seconds === undefined) return "–";
    if (seconds < 60) return `${number(seconds, 2)} s`;
    if (seconds < 3600) return `${number(seconds / 60, 2)} min`;
    return `${number(seconds / 3600, 3)} h`;
  }

  // Of data that are comparable with published values, and not official.
  const papersFiles = "the very files that the paper's numbers were made from";

  /** Whose data, and how surely; as stp/plan/data_origin.py says it. */
  function bytes(cell, word = " data") {
    return `${cell.bytes_known_by === "stated" ? "unverified " : ""}${cell.source}${word}${
      cell.bytes_known_by === "counts" ? ", known by counts" : ""}`;
  }

  /** Whose data a number comes from; every table and chart says it. */
  function badge(cell) {
    const text = `${bytes(cell, "")}, ${cell.official_paper_protocol ? "paper's" : cell.protocol} protocol`;
    return h("span", {class: `badge ${cell.source}`}, text + (cell.leaky ? ", leaky" : "")
      + (cell.lacking ? ", incomplete" : ""));
  }

  /** The badges of some cells, each once. */
  function badges(cells) {
    const made = new Map(cells.map((cell) => badge(cell)).map((element) => [element.textContent, element]));
    return [...made.values()].flatMap((element) => [element, " "]);
  }

  /** The same of many cells, as text: each kind once, with its share where there are several; most first. */
  function origin(cells) {
    const kinds = new Map();
    for (const cell of cells) {
      const kind = (cell.source === "own" ? `your own data, ${cell.protocol} protocol` : cell.official_paper_protocol ? `${bytes(cell)}, paper's protocol`
        : `${bytes(cell)}, ${cell.protocol} protocol: ${cell.comparable ? papersFiles
          : "not comparable with published values"}`)
        + (cell.leaky ? " (leaky: test samples overlap with training data)" : "")
        + (cell.lacking ? " (incomplete release)" : "");
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    if (kinds.size === 1) return [...kinds.keys()][0];
    return [...kinds].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
      .map(([kind, n]) => `${n} of ${count(cells.length, "cell")}: ${kind}`).join("; ");
  }

  // The address

  function address() {
    const [id, query = ""] = location.hash.replace(/^#/, "").split("?");
    return {id: sections.some((s) => s.id === id) ? id : sections[0].id, query: new URLSearchParams(query)};
  }

  const get = (key) => address().query.get(key);

  /** Set filters; null takes one away. The section is drawn anew. */
  function set(changes) {
    remember(changes);
    draw();
  }

  /** Remember something in the address without drawing anew, such as the dialog that is open. */
  function remember(changes) {
    history.replaceState(null, "", changed(changes));
  }

  function changed(changes) {
    const {id, query} = address();
    for (const [key, value] of Object.entries(changes)) {
      if (value === null) query.delete(key); else query.set(key, value);
    }
    const text = query.toString();
    return `#${id}${text ? `?${text}` : ""}`;
  }

  /** A link to a section with filters set. */
  const link = (id, filters = {}) => `#${id}?${new URLSearchParams(filters)}`;

  // Sections

  // A section that says whether it has anything (has: () => true) is left out where it has not.
  const section = (described) => sections.push(described);

  const empty = [];  // titles of the sections that are left out

  /** Whether there is such a section: links to others ask. */
  const hasSection = (id) => sections.some((s) => s.id === id);

  const listeners = [];
  /** Call this whenever a section has been drawn. */
  const afterDraw = (listener) => listeners.push(listener);

  function draw() {
    const {id} = address();
    const main = document.getElementById("main");
    const focused = document.activeElement?.dataset?.key;
    const scrolled = main.dataset.section === id ? scrollY : 0;
    if (main.dataset.section !== id) unfolded.clear();
    const found = sections.find((s) => s.id === id);
    for (const a of document.querySelectorAll("#sections a")) {
      if (a.hash === `#${id}`) {
        a.setAttribute("aria-current", "page");
        centre(a);
      } else a.removeAttribute("aria-current");
    }
    for (const plot of main.querySelectorAll(".plot")) Plotly.purge(plot);
    const root = h("section", {"aria-labelledby": "section-title"},
      h("h2", {id: "section-title"}, found.title), h("p", {class: "about"}, found.about));
    main.replaceChildren(root);
    main.dataset.section = id;
    found.draw(root);
    main.dataset.drawn = String(Number(main.dataset.drawn ?? 0) + 1);
    document.title = `${found.title} – ${heading()}`;
    if (focused) main.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
    scrollTo(0, scrolled);
    for (const listener of listeners) listener();
  }

  /** Bring a section's name to the middle of the navigation, which on a phone scrolls sideways. */
  function centre(a) {
    const nav = a.closest("nav");
    nav.scrollLeft = a.offsetLeft - (nav.clientWidth - a.offsetWidth) / 2;
  }

  const unfolded = new Set();

  /** Something folded, which is made when it is first opened: make(element) adds to it. It stays open
   * while its section is drawn anew, as by another filter. */
  function fold(root, name, summary, make) {
    const details = h("details", {}, h("summary", {"data-key": `fold-${name}`}, summary));
    let made = false;
    const open = () => {
      if (!made) make(details);
      made = true;
    };
    details.addEventListener("toggle", () => {
      if (!details.isConnected) return;  // comes late: all may have been drawn anew by then
      if (details.open) { unfolded.add(name); open(); } else unfolded.delete(name);
    });
    root.append(details);
    if (unfolded.has(name)) {
      open();
      details.open = true;
    }
    return details;
  }

  /** Filters: a labelled choice for each; returns what is chosen, {key: value}.
   *
   * wanted: [{key, label, options: [[value, text], ...] or a function of what is chosen so far,
   * preferred: a function of the same, which gives a value}]. A choice that is not among its options
   * falls back to the preferred one, or to the first.
   */
  function filters(root, wanted) {
    const chosen = {};
    const controls = wanted.map(({key, label, options, preferred}) => {
      const listed = typeof options === "function" ? options(chosen) : options;
      const values = listed.map(([value]) => String(value));
      chosen[key] = [get(key), preferred?.(chosen)].find((value) => values.includes(value)) ?? values[0];
      const select = h("select", {"data-key": key, name: key, onchange: () => set({[key]: select.value || null})},
        listed.map(([value, text]) => h("option", {value, selected: String(value) === chosen[key]}, text)));
      return h("label", {}, label, select);
    });
    root.append(h("form", {class: "filters", onsubmit: (event) => event.preventDefault()}, controls));
    return chosen;
  }

  /** A table whose columns sort.
   *
   * columns: [{key, title, numeric, value: row => sortable, cell: row => node or text, about: what
   *   the column means, head: true for the one that names the row, group: a heading above all
   *   neighbours that have the same}]
   * name: of the table; its order is kept in the address as <name>-sort.
   * rowClass: row => a class of its element, or null.
   */
  function table(root, {name, caption, columns, rows: all, first = 100, rowClass = () => null}) {
    const [by, way] = (get(`${name}-sort`) ?? "").split(",");
    const column = columns.find((c) => c.key === by);
    const valueOf = (c) => c.value ?? ((row) => row[c.key]);
    let ordered = all;
    if (column) {
      const value = valueOf(column);
      const sign = way === "down" ? -1 : 1;
      const empty = (v) => v === null || v === undefined || Number.isNaN(v);
      ordered = [...all].sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        if (empty(x) || empty(y)) return empty(x) - empty(y);
        return sign * (typeof x === "number" ? x - y : String(x).localeCompare(String(y)));
      });
    }
    const heads = columns.map((c) => {
      const sorted = c === column ? (way === "down" ? "descending" : "ascending") : null;
      const next = sorted === "ascending" ? `${c.key},down` : sorted ? null : `${c.key},up`;
      const sign = sorted ? (way === "down" ? " ▾" : " ▴") : "";
      return h("th", {scope: "col", class: c.numeric ? "numeric" : null, "aria-sort": sorted},
        h("button", {type: "button", "data-key": `${name}-${c.key}`, title: c.about,
          onclick: () => set({[`${name}-sort`]: next})}, c.title + sign));
    });
    const body = h("tbody");
    const more = h("button", {type: "button"});
    const show = (from, to) => {
      for (const row of ordered.slice(from, to)) {
        body.append(h("tr", {class: rowClass(row)}, columns.map((c) => {
          const shown = c.cell ? c.cell(row) : c.numeric ? number(row[c.key]) : row[c.key];
          return h(c.head ? "th" : "td",
            {class: c.numeric ? "numeric" : null, scope: c.head ? "row" : null}, shown ?? "–");
        })));
      }
      const left = ordered.length - body.rows.length;
      more.textContent = `Show ${Math.min(left, first * 5)} more of ${left}`;
      more.hidden = left <= 0;
    };
    more.addEventListener("click", () => show(body.rows.length, body.rows.length + first * 5));
    show(0, first);
    const made = h("table", {class: columns.some((c) => c.group) ? "grouped" : null},
      h("caption", {}, h("span", {}, caption)), h("thead", {}, groups(columns), h("tr", {}, heads)), body);
    root.append(h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption}, made), more);
    return made;
  }

  /** The row of headings above those of columns, or null where no column has one. */
  function groups(columns) {
    if (!columns.some((c) => c.group)) return null;
    const runs = [];
    for (const {group = ""} of columns) {
      if (runs.at(-1)?.group === group) runs.at(-1).span += 1; else runs.push({group, span: 1});
    }
    return h("tr", {}, runs.map(({group, span}) => (group ? h("th", {scope: "colgroup", colspan: span}, group)
      : h("td", {colspan: span}))));
  }

  /** A chart with a text that says what it shows, and the same numbers as a table below it.
   *
   * traces, layout: of Plotly. A trace may have marks: for each of its points {text, open}, what is
   *   read when a mouse is over it and what a click on it does; null for a point that opens nothing.
   * numbers: () => {columns, rows} as of stp.table: the way to the same for who uses no mouse.
   */
  function plot(root, {name, title, description, traces, layout = {}, numbers = null}) {
    const css = getComputedStyle(document.documentElement);
    const colour = (key) => css.getPropertyValue(key).trim();
    const axis = {gridcolor: colour("--line"), zerolinecolor: colour("--line"), automargin: true};
    const place = h("div", {class: "plot", role: "img", "aria-label": description});
    root.append(h("figure", {id: `plot-${name}`}, h("h3", {}, title), place,
      h("figcaption", {}, description)));
    const full = {
      paper_bgcolor: colour("--ground"), plot_bgcolor: colour("--ground"),
      font: {color: colour("--ink"), family: "system-ui, sans-serif"},
      margin: {t: 36, r: 10, b: 40, l: 50},
      legend: {orientation: "h", yref: "container", y: 0, yanchor: "bottom"}, ...layout,
    };
    full.xaxis = {...axis, ...layout.xaxis};
    full.yaxis = {...axis, ...layout.yaxis};
    // A finger that moves over a chart moves the page.
    full.dragmode ??= matchMedia("(pointer: coarse)").matches ? false : "zoom";
    Plotly.newPlot(place, traces.map(hovered), full, {
      responsive: true, displaylogo: false, toImageButtonOptions: {filename: `${name}-chart`, scale: 2},
      showSendToCloud: false, plotlyServerURL: "",  // nothing leaves this page
      modeBarButtonsToRemove: ["select2d", "lasso2d"],
    });
    openMarks(place, traces.map((trace) => trace.marks ?? []));
    if (numbers) {
      fold(root, `${name}-numbers`, "The points of this chart as a table; click a number to see where it comes from",
        (details) => table(details, {name: `${name}-numbers`, caption: title, ...numbers()}));
    }
    return place;
  }

  /** A trace as Plotly knows it: the texts of its marks. */
  function hovered({marks, ...trace}) {
    if (!marks) return trace;
    return {...trace, hoverinfo: "text",
      hovertext: marks.map((mark) => (mark ? `${mark.text}<br><i>click for provenance</i>` : ""))};
  }

  /** Let marks of a chart be clicked; the cursor shows it. marks: of each trace, of each point. */
  function openMarks(place, marks) {
    const at = ({points}) => points.map((p) => marks[p.curveNumber]?.[p.pointNumber]).find((mark) => mark);
    let [over, pressed] = [null, null];
    const see = (mark) => {
      over = mark ?? null;
      place.classList.toggle("marked", over !== null);
    };
    place.on("plotly_hover", (event) => see(at(event)));
    place.on("plotly_unhover", () => see(null));
    place.on("plotly_click", (event) => {
      pressed = null;
      at(event)?.open();
    });
    // Plotly tells of no click that comes within 50 ms of a move: then the mark that was shown counts.
    place.addEventListener("mousedown", ({clientX: x, clientY: y}) => {
      pressed = over;
      addEventListener("mouseup", (up) => setTimeout(() => {
        if (Math.hypot(up.clientX - x, up.clientY - y) < 5) pressed?.open();
        pressed = null;
      }), {once: true});
    }, true);
  }

  /** How a model is drawn, everywhere alike: colour, dash and marker of Plotly. */
  function style(model) {
    const found = core().styles[model] ?? {colour: "#7f7f7f", line: "-", marker: "o"};
    return {
      color: found.colour,
      dash: {"-": "solid", "--": "dash", ":": "dot"}[found.line],
      symbol: {o: "circle", s: "square", "^": "triangle-up", D: "diamond", v: "triangle-down",
        P: "cross", X: "x"}[found.marker],
    };
  }

  /** Open a dialog; Escape and a click beside it close it. */
  function dialog(title, ...content) {
    const element = document.getElementById("dialog");
    element.replaceChildren(
      h("button", {type: "button", class: "close", onclick: () => element.close()}, "Close"),
      h("h2", {id: "dialog-title"}, title), ...shown(content));
    element.onclose = null;
    delete element.dataset.of;
    element.onclick = (event) => { if (event.target === element) element.close(); };
    if (!element.open) element.showModal();
    element.scrollTop = 0;
    return element;
  }

  /** Code (a command or a query), with a button that copies it. */
  function code(text, what) {
    const copy = h("button", {type: "button", class: "copy", "aria-label": `Copy ${what}`,
      onclick: async () => {
        try {
          await navigator.clipboard.writeText(text);
          copy.textContent = "Copied";
          say(`Copied ${what}`);
        } catch {  // a browser that lets no page write there
          getSelection().selectAllChildren(block);
          say("Selected: copy the text with your keyboard");
        }
      }}, "Copy");
    const block = h("pre", {tabindex: "0", "aria-label": what}, h("code", {}, text));
    return h("div", {class: "code"}, block, copy);
  }

  /** Tell users of a screen reader what happened. */
  const say = (text) => { document.getElementById("said").textContent = text; };

  function theme(wanted) {
    document.documentElement.dataset.theme = wanted;
  }

  /** What the page is about: suites and scales. */
  function heading() {
    const scales = [...new Set(core().cells.map((cell) => cell.scale))];
    return `${core().suites.join(", ")}, ${scales.length > 1 ? "scales" : "scale"} ${scales.join(", ")}`;
  }

  /** What was evaluated, and when. */
  function about() {
    const made = new Set(core().cells.map((cell) => cell.dimension));
    const titles = [...core().dimensions.values()].filter((row) => made.has(row.dimension)).map((row) => row.title);
    const day = core().finished ? new Date(`${core().finished}T00:00Z`).toLocaleDateString("en-GB",
      {day: "numeric", month: "long", year: "numeric", timeZone: "UTC"}) : "";
    return [titles.length > 3 ? count(titles.length, "table") : titles.join(", "), day].filter((text) => text).join(", ");
  }

  /** Unpack Plotly, which the page holds compressed. */
  async function unpack() {
    const packed = Uint8Array.from(atob(document.getElementById("charts").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    document.head.append(h("script", {}, await new Response(stream).text()));
  }

  /** Begin: called by the page's last script. */
  async function start() {
    await unpack();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    theme(dark.matches ? "dark" : "light");
    dark.addEventListener("change", () => { theme(dark.matches ? "dark" : "light"); draw(); });
    document.getElementById("theme").addEventListener("click", () => {
      theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
      draw();
    });
    for (const one of sections.filter((each) => each.has && !each.has())) {
      empty.push(one.title);
      sections.splice(sections.indexOf(one), 1);
    }
    document.getElementById("heading").textContent = heading();
    document.getElementById("made").textContent = about();
    document.getElementById("origin").textContent = origin(core().cells);
    document.getElementById("sections").append(...sections.map((s) =>
      h("li", {}, h("a", {href: `#${s.id}`}, s.title))));
    document.getElementById("sections").addEventListener("focusin", ({target}) => {
      if (target.matches(":focus-visible")) centre(target);  // the keyboard's: nothing moves under a finger
    });
    addEventListener("hashchange", draw);
    draw();
    document.documentElement.dataset.ready = "yes";
  }

  return {data, rows, core, modelTitle, datasetTitle, isBaseline, unitOf, direction, empty, h, number, command, maker, scaleOf, asking,
    count, signed, duration,
    badge, badges, origin, papersFiles, get, set,
    remember, link, section, hasSection, afterDraw, filters, fold, table, plot, style, dialog, code, say,
    start};
})();
addEventListener("DOMContentLoaded", stp.start);
