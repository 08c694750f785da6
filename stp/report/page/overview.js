"use strict";
// Overview: the table that was made and its best forecasts; the coverage grid; when, where and by which
// code all was made.
(() => {
  const {h, number} = stp;
  const named = (word) => word.replace(/_/g, " ");

  // What became of a cell: its sign in the grid, its class (a colour), and what it means.
  const kinds = {
    paper: ["P", "official", "official data, the paper's protocol: comparable with published values"],
    files: ["F", "sample", `${stp.papersFiles}, under its protocol: comparable with published values`],
    official: ["O", "official", "official data, another protocol"],
    sample: ["S", "sample", "sample of real data"],
    synthetic: ["Y", "synthetic", "synthetic stand-in"],
    own: ["W", "own", "your own data"],
    failed: ["✕", "failed", "failed"],
    waiting: ["○", "waiting", "not run yet, or running"],
  };
  const marks = {
    leaky: ["!", "leaky: test samples overlap with training data"],
    external: ["e", "external: predictions were made elsewhere"],
    partly: ["½", "some of its trainings are missing"],
  };
  const notRun = ["not run", "running", "requeued", "saved", "not collected"];

  // How cells are missing, failures first: whose `how` are these, what it means.
  const groups = [
    {name: "failed", title: "Failed", of: (row) => kindOfMissing(row) === "failed",
      about: "Click a word in the column How for details and the log."},
    {name: "under-way", title: "Running, or stopped and to be continued",
      of: (row) => ["running", "requeued", "saved"].includes(row.how),
      about: "The same command continues them."},
    {name: "not-collected", title: "Scored, but not in this store yet", of: (row) => row.how === "not collected",
      about: "They are scored; these commands put the scores into the store:"},
    {name: "not-run", title: "Planned, not run yet", of: (row) => row.how === "not run",
      about: "None of these has failed: a run makes only the cells of the requested tables. These commands "
        + "run them:"},
  ];

  const kindOf = (cell) => cell.official_paper_protocol ? "paper" : cell.comparable ? "files"
    : kinds[cell.source] ? cell.source : "own";
  const kindOfMissing = (row) => notRun.includes(row.how) ? "waiting" : "failed";

  stp.section({
    id: "overview",
    title: "Overview",
    about: "The table, its best forecasts beside the truth, and which cells are evaluated, failed or not run yet.",
    draw(root) {
      const data = stp.data("overview");
      const {cells} = stp.core();
      const missing = stp.rows(data.missing);
      const dimension = chosenTable(root, cells);
      stp.board(root, dimension);
      root.append(h("h3", {}, "Best forecasts beside the truth"));
      stp.strips(root, dimension);
      root.append(h("h3", {}, "Coverage"));
      facts(root, data, cells, missing);
      grid(root, cells, missing);
      if (missing.length) absent(root, missing);
      if (stp.empty.length) {
        root.append(h("p", {class: "note"}, `Sections without data are left out: ${stp.empty.join(", ")}.`));
      }
      root.append(h("h3", {}, "Provenance"));
      made(root, data);
    },
  });

  /** The dimension whose table the page opens on: the first of the suite that was made, unless somebody chooses. */
  function chosenTable(root, cells) {
    const made = new Set(cells.map((cell) => cell.dimension));
    const order = [...stp.core().dimensions.keys()].filter((name) => made.has(name));
    if (order.length === 1) return order[0];
    return stp.filters(root, [{key: "table", label: "Table", preferred: () => order[0],
      options: order.map((name) => [name, stp.core().dimensions.get(name)?.title ?? named(name)])}]).table;
  }

  function facts(root, data, cells, missing) {
    const {facts: about} = data;
    const count = (values) => new Set(values).size;
    const tested = count(cells.map((c) => [c.dimension, c.tested, c.setting].join()));
    const failed = missing.filter((row) => kindOfMissing(row) === "failed").length;
    const scales = [...new Set(cells.map((cell) => cell.scale))].join(", ");
    const tiles = [
      [number(cells.length), "cells", "one model, training, test and seed each"],
      [number(count(cells.map((c) => c.model))), "models",
        `${[...stp.core().models.keys()].filter(stp.isBaseline).length} of them baselines`],
      [number(tested), "evaluations", `of ${stp.count(count(cells.map((c) => c.tested_on)), "dataset")}`],
      [grouped(about.scores), "scores", "with intervals and lead times"],
      [number(missing.length), missing.length === 1 ? "cell without scores" : "cells without scores",
        missing.length ? `${failed || "none"} failed, ${missing.length - failed} not run yet, or running`
          : "nothing is missing"],
      [stp.duration(about.seconds), "of computing", `${stp.count(about.artefacts, "artefact")}, ${stp.bytes(about.bytes ?? 0)}`],
    ];
    root.append(
      h("p", {}, `Scale ${scales}, computed from ${about.started ?? "–"} to ${about.finished ?? "–"} (UTC). `,
      h("a", {href: stp.link("ask")}, "Ten questions and their answers")),
      h("ul", {class: "tiles"}, tiles.map(([big, what, more]) =>
        h("li", {}, h("b", {}, big), h("span", {}, what), h("small", {}, more)))));
  }

  const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");

  // The store describes datasets of which something was evaluated.
  const domainOf = (row) => stp.core().datasets.get(row.tested_on)?.domain ?? "not evaluated yet";

  function grid(root, cells, missing) {
    const rows = [...cells, ...missing];
    const all = (title, values) => [["", title], ...[...new Set(values)].map((v) => [v, named(v)])];
    const chosen = stp.filters(root, [
      {key: "domain", label: "Domain", options: all("All", rows.map(domainOf))},
      {key: "dimension", label: "Dimension", options: all("All", rows.map((row) => row.dimension))},
      {key: "show", label: "Show", options: [["", "All rows"], ["missing", "Only rows with missing cells"]]},
    ]);
    const wanted = (row) => (!chosen.domain || domainOf(row) === chosen.domain)
      && (!chosen.dimension || row.dimension === chosen.dimension);
    const models = new Map();
    const found = new Map();
    const put = (row, list) => {
      if (!wanted(row)) return;
      const model = `${row.model}|${row.variant}`;
      if (!models.has(model)) models.set(model, row);
      const word = [row.dimension, row.tested, row.suite, row.setting, row.source, row.scale].join("|");
      if (!found.has(word)) found.set(word, {row, domain: domainOf(row), by: new Map()});
      const {by} = found.get(word);
      if (!by.has(model)) by.set(model, {cells: [], missing: []});
      by.get(model)[list].push(row);
    };
    for (const cell of cells) put(cell, "cells");
    for (const row of missing) put(row, "missing");
    let listed = [...found.values()];
    if (chosen.show) listed = listed.filter(({by}) => [...by.values()].some((here) => here.missing.length));
    const used = new Set();
    const head = h("tr", {}, h("th", {scope: "col"}, "Tested on"), h("th", {scope: "col"}, "Dimension"),
      [...models.values()].map((row) => h("th", {scope: "col", class: "upright"},
        h("span", {title: stp.modelTitle(row.model)},
          stp.modelTitle(row.model) + (row.variant === "default" ? "" : ` (${row.variant})`)))));
    const bodies = [...new Set(listed.map((one) => one.domain))].map((domain) => h("tbody", {},
      h("tr", {class: "group"}, h("th", {scope: "rowgroup", colspan: models.size + 2}, named(domain))),
      listed.filter((one) => one.domain === domain).map(({row, by}) => h("tr", {},
        h("th", {scope: "row"}, row.tested), h("td", {}, named(row.dimension)),
        [...models.keys()].map((model) => h("td", {class: "sign"}, sign(by.get(model), used)))))));
    const caption = `${stp.count(listed.length, "evaluation")} of ${stp.count(models.size, "model")}: click a sign for details`;
    const table = h("table", {class: "grid"}, h("caption", {}, h("span", {}, caption)), h("thead", {}, head), bodies);
    if (listed.length) {
      root.append(legend(used),
        h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption}, table));
    } else {
      root.append(h("p", {}, chosen.show ? "Nothing is missing." : "The selection is empty."));
    }
  }

  /** The sign of a model and evaluation: the best known of it, with marks for what is special. */
  function sign(here, used) {
    if (!here) return h("span", {class: "note", title: "not planned"}, "·", h("span", {class: "hidden"}, "not planned"));
    const cell = here.cells[0];
    const kind = cell ? kindOf(cell) : here.missing.some((row) => kindOfMissing(row) === "failed") ? "failed" : "waiting";
    const special = !cell ? [] : [
      here.cells.some((one) => one.leaky) ? "leaky" : null,
      here.cells.some((one) => one.external) ? "external" : null,
      here.missing.length ? "partly" : null,
    ].filter(Boolean);
    for (const word of [kind, ...special]) used.add(word);
    const [letter, colour, text] = kinds[kind];
    const said = [text, ...special.map((word) => marks[word][1])];
    if (here.cells.length > 1) said.push(`${here.cells.length} trainings`);
    const attributes = {class: `number sign-button ${colour}`, title: said.join("; ")};
    const content = [h("span", {"aria-hidden": "true"}, letter, h("sup", {}, special.map((w) => marks[w][0]).join(""))),
      h("span", {class: "hidden"}, said.join("; "))];
    if (cell) return stp.value(content, cell, null, attributes);
    return h("button", {type: "button", ...attributes, onclick: () => explain(here.missing[0])}, content);
  }

  function legend(used) {
    const item = ([letter, colour, text]) => h("li", {},
      h("span", {class: `sign-button ${colour}`, "aria-hidden": "true"}, letter), text);
    return h("ul", {class: "legend", "aria-label": "Legend"},
      Object.keys(kinds).filter((kind) => used.has(kind)).map((kind) => item(kinds[kind])),
      Object.keys(marks).filter((mark) => used.has(mark)).map((mark) => item([marks[mark][0], "", marks[mark][1]])));
  }

  /** Why a cell is missing, and what makes it. */
  function explain(row) {
    const lines = [
      ["Stopped at", `${named(row.stage)}: ${row.how}`], ["Why", row.detail || "unknown"],
      ["Attempts", String(row.attempts ?? 0)], ["Ended", row.ended ? `${row.ended} UTC` : "–"], ["Log", row.log ?? "–"],
      ["Seed", String(row.seed ?? "–")],
    ];
    stp.dialog(`${stp.modelTitle(row.model)} on ${row.tested}: missing`,
      h("p", {}, `${named(row.dimension)}, scale ${row.scale}`),
      h("dl", {}, lines.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
      h("p", {}, "This command makes it, and the rest of its table:"),
      stp.code(stp.command(row.dimension, row.scale), "the command"));
  }

  /** What is planned and has no scores, by how it is missing; what was only not asked for is folded. */
  function absent(root, missing) {
    const rows = missing.filter((row) => (!stp.get("domain") || domainOf(row) === stp.get("domain"))
      && (!stp.get("dimension") || row.dimension === stp.get("dimension")));
    root.append(h("h3", {id: "missing"}, "Missing cells"));
    if (!rows.some((row) => kindOfMissing(row) === "failed")) {
      root.append(h("p", {}, rows.length ? "Nothing has failed." : "Nothing in this selection is missing."));
    }
    for (const {name, title, of, about} of groups) {
      const found = rows.filter(of);
      if (!found.length) continue;
      const heading = `${title}: ${stp.count(found.length, "cell")}`;
      const more = (place) => {
        place.append(h("p", {}, about), ["not-collected", "not-run"].includes(name) ? commands(found) : "");
        absentTable(place, name, heading, found);
      };
      if (name === "not-run") stp.fold(root, name, heading, more);
      else {
        root.append(h("h4", {}, heading));
        more(root);
      }
    }
  }

  /** The command of each dimension, and how many of the cells it makes. */
  function commands(rows) {
    const dimensions = [...new Set(rows.map((row) => row.dimension))];
    return h("ul", {class: "commands"}, dimensions.map((dimension) => h("li", {},
      `${named(dimension)}: ${stp.count(rows.filter((row) => row.dimension === dimension).length, "cell")}`,
      stp.code(stp.command(dimension), `the command for ${named(dimension)}`))));
  }

  /** One sentence where all cells have the same reason, and a table of the cells. */
  function absentTable(root, name, caption, rows) {
    const reasons = [...new Set(rows.map(({stage, how, detail}) => `${how} at ${named(stage)}${detail ? `: ${detail}` : ""}`))];
    if (rows.length > 3 && reasons.length === 1 && name !== "not-run") {
      root.append(h("p", {}, `All ${rows.length} for the same reason: ${reasons[0]}.`));
      stp.fold(root, `${name}-cells`, "These cells", (place) => cellTable(place, name, caption, rows));
    } else cellTable(root, name, caption, rows);
  }

  function cellTable(root, name, caption, rows) {
    stp.table(root, {
      name: `missing-${name}`, caption, rows: rows.sort((a, b) => a.how.localeCompare(b.how)), first: 20,
      columns: [
        {key: "model", title: "Model", head: true, value: (row) => stp.modelTitle(row.model),
          cell: (row) => stp.modelTitle(row.model) + (row.seed === null ? "" : `, seed ${row.seed}`)},
        {key: "tested", title: "Tested on"},
        {key: "dimension", title: "Dimension", cell: (row) => named(row.dimension)},
        {key: "stage", title: "Stopped at"},
        {key: "how", title: "How", cell: (row) => h("button", {type: "button", class: `number ${
          kindOfMissing(row) === "failed" ? "failed" : ""}`, onclick: () => explain(row)}, row.how)},
        {key: "detail", title: "Why", cell: (row) => row.detail || "–"},
        {key: "attempts", title: "Attempts", numeric: true},
      ],
    });
  }

  function made(root, data) {
    const commits = stp.rows(data.commits);
    stp.table(root, {
      name: "commits", caption: "Commits of the code", rows: commits, first: 10,
      columns: [
        {key: "commit", title: "Commit", head: true, cell: (row) => h("code", {}, row.commit ?? "unknown")},
        {key: "artefacts", title: "Artefacts", numeric: true},
        {key: "finished", title: "Last finished (UTC)"},
      ],
    });
    stp.table(root, {
      name: "stages", caption: "Stages and versions of their code", rows: stp.rows(data.stages),
      columns: [
        {key: "stage", title: "Stage", head: true},
        {key: "artefacts", title: "Artefacts", numeric: true},
        {key: "codes", title: "Versions", numeric: true},
        {key: "seconds", title: "Time", numeric: true, cell: (row) => stp.duration(row.seconds)},
      ],
    });
    stp.table(root, {
      name: "machines", caption: "Machines", rows: stp.rows(data.machines), first: 10,
      columns: [
        {key: "host", title: "Machine", head: true},
        {key: "device", title: "Device"},
        {key: "artefacts", title: "Artefacts", numeric: true},
        {key: "seconds", title: "Time", numeric: true, cell: (row) => stp.duration(row.seconds)},
      ],
    });
  }
})();
