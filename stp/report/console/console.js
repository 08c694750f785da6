"use strict";
// The console: a query, its answer as a table, and what there is to ask. The query stands in the
// address (#sql=...), so that it can be sent; earlier ones are kept by the browser.
(() => {
  const KEPT = "stp-sql-history";
  const FIRST = 200; // rows that are drawn at once
  const LONG = 48; // characters; longer texts are broken into lines
  const by = (id) => document.getElementById(id);
  let engine = null; // the module
  let store = null; // what it has opened
  let answer = null; // {table, columns, said} of the last query
  let running = false;
  let stopped = false;

  /** An element: attributes (on... are listeners; null and false are left out), then children. */
  function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }

  // The address and earlier queries

  const addressed = () => new URLSearchParams(location.hash.slice(1)).get("sql");

  function address(sql) {
    const hash = `#sql=${encodeURIComponent(sql)}`;
    if (addressed() === sql) return;
    if (location.hash) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  }

  function earlier() {
    try {
      return JSON.parse(localStorage.getItem(KEPT)) ?? [];
    } catch {
      return []; // not allowed, or not ours
    }
  }

  function remember(sql) {
    const kept = [sql, ...earlier().filter((one) => one !== sql)].slice(0, 50);
    try {
      localStorage.setItem(KEPT, JSON.stringify(kept));
    } catch {
      // Not allowed: then there is no history.
    }
    showHistory();
  }

  function showHistory() {
    const kept = earlier();
    const short = (sql) => sql.replace(/\s+/g, " ").slice(0, 90);
    by("history").replaceChildren(
      h("option", {value: ""}, kept.length ? `Earlier queries (${kept.length})` : "No earlier queries"),
      ...kept.map((sql, i) => h("option", {value: i}, short(sql))));
  }

  // Asking

  async function run(sql) {
    if (!store || running || !sql.trim()) return;
    busy(true);
    by("query").value = sql;
    by("error").hidden = true;
    by("downloads").hidden = true;
    by("answer").replaceChildren();
    answer = null;
    stopped = false;
    say("Running …");
    address(sql);
    remember(sql);
    const began = performance.now();
    try {
      const {table, columns} = await store.ask(sql);
      const took = performance.now() - began;
      const many = table.numRows === 1 ? "1 row" : `${table.numRows.toLocaleString("en")} rows`;
      const time = took < 1000 ? `${Math.round(took)} ms` : `${(took / 1000).toFixed(1)} s`;
      answer = {table, columns, said: `${many} in ${time}.`};
      say(answer.said);
      show(null);
      by("downloads").hidden = false;
    } catch (error) {
      say(stopped ? "Stopped." : "The query failed.");
      by("error").textContent = readable(error.message);
      by("error").hidden = stopped;
    }
    busy(false);
  }

  /** Some errors of DuckDB are JSON. */
  function readable(message) {
    try {
      const {exception_type: kind, exception_message: text} = JSON.parse(message);
      return `${kind} Error: ${text}`;
    } catch {
      return message;
    }
  }

  function busy(now) {
    running = now;
    by("run").disabled = now || !store;
    by("stop").hidden = !now || !store;
    document.documentElement.dataset.state = now ? "busy" : "ready";
  }

  const say = (text) => { by("status").textContent = text; };

  // The answer

  /** A value for people; numbers with seven digits, the rest stands in the title and in files. */
  function cell(value) {
    return value === null ? h("span", {class: "null"}, "NULL") : text(value);
  }

  function text(value) {
    if (value === null) return "NULL";
    if (Array.isArray(value)) return `[${value.map(text).join(", ")}]`;
    if (typeof value !== "number" || Number.isInteger(value)) return String(value);
    return Number.isFinite(value) ? String(Number(value.toPrecision(7))) : String(value);
  }

  function compare(x, y) {
    if (x === null || y === null) return (x === null) - (y === null); // NULL last, both ways
    if (typeof x === typeof y && typeof x === "string") return x.localeCompare(y);
    if (Array.isArray(x)) return String(x).localeCompare(String(y));
    return x < y ? -1 : x > y ? 1 : 0;
  }

  /** Draw the table; `sort` is {index, down} or null for the order of the answer. */
  function show(sort) {
    const {columns, table} = answer;
    const order = Array.from({length: table.numRows}, (_, i) => i);
    if (sort) {
      const {values} = columns[sort.index];
      order.sort((a, b) => {
        const either = values[a] === null || values[b] === null;
        return compare(values[a], values[b]) * (sort.down && !either ? -1 : 1);
      });
    }
    const heads = columns.map((column, index) => {
      const sorted = sort?.index === index ? (sort.down ? "descending" : "ascending") : null;
      const next = !sorted ? {index, down: false} : sort.down ? null : {index, down: true};
      const sign = sorted ? (sort.down ? " ▾" : " ▴") : "";
      return h("th", {scope: "col", class: column.numeric ? "numeric" : null, "aria-sort": sorted},
        h("button", {type: "button", onclick: () => {
          show(next);
          by("answer").querySelectorAll("th button")[index].focus();
        }}, column.name + sign));
    });
    const body = h("tbody");
    const more = h("button", {type: "button"});
    const rows = (from, to) => {
      for (const row of order.slice(from, to)) {
        body.append(h("tr", {}, columns.map(({values, numeric}) => {
          const value = values[row];
          const kind = numeric ? "numeric" : text(value).length > LONG ? "long" : null;
          return h("td", {class: kind, title: typeof value === "number" ? String(value) : null}, cell(value));
        })));
      }
      const left = order.length - body.rows.length;
      more.textContent = `Show ${Math.min(left, FIRST * 5)} more of ${left.toLocaleString("en")}`;
      more.hidden = left <= 0;
    };
    more.addEventListener("click", () => rows(body.rows.length, body.rows.length + FIRST * 5));
    rows(0, FIRST);
    by("answer").replaceChildren(
      h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Answer"},
        h("table", {}, h("caption", {class: "hidden"}, `Answer: ${answer.said}`),
          h("thead", {}, h("tr", {}, heads)), body)), more);
  }

  // Files

  const FORMULA = /^(?:[=@\t\r]|[+-].)/; // spreadsheets would run it (stp/page/safe_text.py)

  function field(value) {
    if (value === null) return "";
    let text = Array.isArray(value) ? JSON.stringify(value, plain) : String(value);
    if (typeof value === "string" && FORMULA.test(text) && Number.isNaN(Number(text))) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  /** What JSON cannot say becomes text. */
  function plain(_, value) {
    if (typeof value === "bigint") return String(value);
    return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
  }

  const FILES = {
    csv: ({columns, table}) => [
      columns.map(({name}) => field(name)),
      ...Array.from({length: table.numRows}, (_, row) => columns.map(({values}) => field(values[row]))),
    ].map((line) => `${line.join(",")}\n`).join(""),
    json: ({columns, table}) => `${JSON.stringify(Array.from({length: table.numRows}, (_, row) =>
      Object.fromEntries(columns.map(({name, values}) => [name, values[row]]))), plain, 2)}\n`,
    parquet: ({table}) => engine.parquetOf(table),
  };

  function save(kind) {
    const names = answer.columns.map(({name}) => name);
    if (kind !== "csv" && new Set(names).size < names.length) {
      say(`${answer.said} Several columns have one name: name them with AS, then download.`);
      return;
    }
    const url = URL.createObjectURL(new Blob([FILES[kind](answer)]));
    h("a", {href: url, download: `answer.${kind}`}).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
    say(`${answer.said} Saved as answer.${kind}.`);
  }

  // What there is

  function showSchema() {
    by("schema").replaceChildren(...store.store.relations.map((relation) => h("details", {
      id: `schema-${relation.name}`},
    h("summary", {}, h("code", {}, relation.name), ` ${relation.kind}`,
      relation.rows === null ? null : `, ${relation.rows.toLocaleString("en")} rows`),
    h("p", {}, relation.comment),
    relation.note ? h("p", {class: "note"}, relation.note) : null,
    relation.left_out ? null : h("button", {type: "button",
      onclick: () => look(`FROM ${relation.name} LIMIT 100;`)}, `Look at ${relation.name}`),
    h("dl", {}, relation.columns.flatMap((column) => [
      h("dt", {}, h("code", {}, column.name), " ", h("span", {class: "note"}, column.type)),
      h("dd", {}, column.comment ?? "")])))));
  }

  function find(text) {
    const wanted = text.trim().toLowerCase();
    for (const relation of store.store.relations) {
      const names = [relation.name, ...relation.columns.map((column) => column.name)];
      by(`schema-${relation.name}`).hidden = !names.some((name) => name.toLowerCase().includes(wanted));
    }
  }

  function look(sql) {
    by("query").value = sql;
    by("ask").scrollIntoView({block: "nearest"});
    run(sql);
  }

  // Beginning

  function theme(wanted) { document.documentElement.dataset.theme = wanted; }

  /** From a disk: what to type, with the folder that the page lies in. */
  function explain() {
    const folder = decodeURIComponent(new URL("..", location.href).pathname).replace(/\/$/, "");
    const local = folder.replace(/^\/([A-Za-z]:)/, "$1");
    // A shell would run what stands in such a name.
    const quoted = /["$`\\!]/.test(local) ? `'${local.replaceAll("'", "'\\''")}'` : `"${local}"`;
    by("command").textContent = `python -m http.server --bind 127.0.0.1 --directory ${quoted} 8000`;
    const inside = decodeURIComponent(location.pathname).split("/").slice(-2).join("/");
    const served = `http://127.0.0.1:8000/${inside}${location.hash}`;
    by("served").href = served;
    by("served").textContent = served;
    document.documentElement.dataset.state = "unserved";
  }

  function listen() {
    by("ask").addEventListener("submit", (event) => { event.preventDefault(); run(by("query").value); });
    by("query").addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      run(by("query").value);
    });
    by("stop").addEventListener("click", () => {
      stopped = true;
      store.stop();
    });
    by("history").addEventListener("change", (event) => {
      const sql = earlier()[event.target.value];
      if (sql) by("query").value = sql;
      event.target.value = "";
      by("query").focus();
    });
    for (const button of by("downloads").querySelectorAll("button")) {
      button.addEventListener("click", () => save(button.dataset.kind));
    }
    by("find").addEventListener("input", (event) => find(event.target.value));
    addEventListener("popstate", () => { const sql = addressed(); if (sql) run(sql); });
  }

  async function start() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    theme(dark.matches ? "dark" : "light");
    dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
    by("theme").addEventListener("click", () =>
      theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
    if (location.protocol === "file:") {
      explain();
      return;
    }
    by("unserved").hidden = true;
    by("console").hidden = false;
    listen();
    showHistory();
    busy(true);
    try {
      engine = await import(new URL("engine.js", document.baseURI).href);
      store = await engine.open(say);
    } catch (error) {
      document.documentElement.dataset.state = "failed";
      say("The console could not start.");
      by("error").textContent = `${error.message}\nThe browser may be older than 2022, or a file of `
        + "the console may be missing: make it again (stp report-sql).";
      by("error").hidden = false;
      return;
    }
    by("origin").textContent = store.store.origin;
    by("questions").replaceChildren(...store.store.questions.map(({question, sql}) =>
      h("li", {}, h("button", {type: "button", onclick: () => look(sql)}, question))));
    showSchema();
    busy(false);
    await run(addressed() ?? store.store.questions[0].sql);
  }

  start();
})();
