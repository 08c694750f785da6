"use strict";
// Trajectories: people on the map of their place, where they went and where all models thought they
// would go, step by step; beside it how errors grow. Positions of a test are read when it is shown
// (stp/report/trajectories.py).
(() => {
  const {h, number} = stp;
  const report = () => stp.data("trajectories");
  if (!report().tests.length) return; // nothing in this store is about people
  const SVG = "http://www.w3.org/2000/svg";
  const SPEEDS = [1, 2, 4];
  const DASHES = ["", "6 3", "2 2.5", "9 3 2 3", "1 4"];
  const PLOTLY = ["solid", "dash", "dot", "dashdot", "longdash"];
  const WIDEST = 1.7; // of a map: its width over its height
  const PERSON = 25; // centimetres: the radius of a person in Atlas
  const player = {playing: false, speed: 2, step: null};
  const unique = (values) => [...new Set(values)];

  /** An SVG element. */
  function s(tag, attributes = {}, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child));
    return element;
  }

  /** x, y, x, y, ... of a path as points; y upwards. */
  const points = (flat) => Array.from({length: flat.length / 2}, (_, i) => [flat[2 * i], -flat[2 * i + 1]]);
  const drawn = (path) => path.map(([x, y], i) => `${i ? "L" : "M"}${x} ${y}`).join("");

  // What there is to choose

  function choices() {
    const of = (chosen) => report().tests.filter((t) => t.dataset === chosen.dataset);
    const one = (chosen) => of(chosen).find((t) => t.protocol === chosen.protocol);
    const scenarios = (chosen) => one(chosen).scenarios ?? [];
    return [
      {key: "dataset", label: "Dataset", preferred: () => report().tests.find((t) => !t.gap)?.dataset, options: unique(report().tests.map((t) => t.dataset))
        .map((dataset) => [dataset, stp.datasetTitle(dataset)])},
      {key: "protocol", label: "Protocol", preferred: (chosen) => of(chosen).find((t) => !t.gap)?.protocol, options: (chosen) => of(chosen).map((t) => [t.protocol, t.protocol])},
      {key: "scenario", label: "Scenario", options: (chosen) => {
        const listed = scenarios(chosen).map((one) => [one.number, `${one.number}: ${stp.count(one.people, "person",
          "people")}, ${one.measure}`]);
        return listed.length ? listed : [["", "–"]];
      }},
    ];
  }

  /** How models are drawn: the colour and sign of each, and a dash for each of its calibrations. */
  function looks(models) {
    const seen = new Map();
    return models.map(({model}) => {
      const nth = seen.get(model) ?? 0;
      seen.set(model, nth + 1);
      const {color, symbol} = stp.style(model);
      return {color, symbol, nth, dash: DASHES[nth % DASHES.length], plotly: PLOTLY[nth % PLOTLY.length]};
    });
  }

  const faint = (hex, alpha) =>
    `rgba(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join(",")},${alpha})`;

  // The map

  /** A sign of some size at the origin. */
  function sign(symbol, size) {
    const r = size;
    const shapes = {
      square: `M${-r} ${-r}H${r}V${r}H${-r}Z`, diamond: `M0 ${-1.3 * r}L${1.3 * r} 0 0 ${1.3 * r} ${-1.3 * r} 0Z`,
      "triangle-up": `M0 ${-1.2 * r}L${1.1 * r} ${r}H${-1.1 * r}Z`,
      "triangle-down": `M0 ${1.2 * r}L${1.1 * r} ${-r}H${-1.1 * r}Z`,
      cross: `M${-r} 0H${r}M0 ${-r}V${r}`, x: `M${-r} ${-r}L${r} ${r}M${-r} ${r}L${r} ${-r}`,
    };
    return shapes[symbol] ?? `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  }

  /** What does not move: obstacles, goals, and how long a metre is. */
  function ground(place, [left, top, width, height]) {
    const made = [];
    const {obstacles, goals} = place;
    if (obstacles) {
      const centres = points(obstacles.position);
      const size = (i) => (obstacles.kind === "discs" ? obstacles.size[i] : obstacles.size);
      made.push(s("path", {class: "wall", d: centres.map(([x, y], i) => {
        const r = size(i) / 2;
        return obstacles.kind === "discs" ? `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`
          : `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`;
      }).join("")}));
    }
    for (const [x, y] of points(goals)) {
      made.push(s("path", {class: "goal", d: sign("diamond", 20), transform: `translate(${x} ${y})`}));
    }
    const metres = [1, 2, 5, 10, 20].find((m) => m * 100 > width / 8) ?? 50;
    const [x, y] = [left + width * 0.03, top + height - width * 0.03];
    made.push(s("path", {class: "scale", d: `M${x} ${y}h${metres * 100}`}),
      s("text", {x, y: y - width * 0.012, "font-size": width * 0.026}, `${metres} m`));
    return made;
  }

  /** The map of a scene; returns {element, at(step), show(hidden)}. */
  function map(test, piece, scene, title) {
    const [left, bottom, right, top] = scene.extent;
    const width = right - left;
    const height = Math.max(top - bottom, width / WIDEST);
    const [x, y] = [left, -(top + bottom + height) / 2];
    const pixel = width / 640;
    const layers = s("g", {}, ground(piece.place, [x, y, width, height]));
    const observed = scene.observed.map(points);
    const future = scene.future.map((flat, n) => [observed[n].at(-1), ...points(flat)]);
    const line = (name, path, more = {}) => s("path", {class: name, d: drawn(path), ...more});
    layers.append(...scene.neighbours.map((flat) => line("past neighbour", points(flat))),
      ...observed.map((path) => line("past faded", path)), ...future.map((path) => line("truth faded", path)));
    const past = observed.map(() => s("path", {class: "past"}));
    const truth = future.map(() => s("path", {class: "truth"}));
    const style = looks(test.models);
    const models = scene.predicted.map((one, m) => {
      const colour = {stroke: style[m].color, "stroke-dasharray": style[m].dash || null};
      const paths = one.path.map((flat, n) => [observed[n].at(-1), ...points(flat)]);
      const samples = one.samples.flatMap((sample) => sample.map((flat, n) =>
        [observed[n].at(-1), ...points(flat)]));
      const grown = paths.map(() => s("path", {class: "model", ...colour}));
      const signs = paths.map(() => s("path", {class: "sign", d: sign(style[m].symbol, 4.5 * pixel),
        style: `fill: ${style[m].color}`, stroke: style[m].color}));
      const clouds = one.ellipses.length ? paths.map(() => s("g", {fill: style[m].color})) : [];
      const group = s("g", {"data-model": test.models[m].label},
        samples.map((path) => line("one-sample", path, {stroke: style[m].color})),
        paths.map((path) => line("model faded", path, colour)), clouds, grown, signs);
      return {group, paths, grown, signs, clouds, ellipses: one.ellipses};
    });
    layers.append(...past, ...models.map((one) => one.group), ...truth);
    const people = scene.person.map((name) => s("g", {class: "person"}, s("circle", {r: PERSON}),
      s("text", {y: -PERSON - 5 * pixel, "font-size": 13 * pixel, "text-anchor": "middle"}, String(name))));
    layers.append(...people);
    const element = s("svg", {class: "trajectories", viewBox: `${x} ${y} ${width} ${height}`, role: "img",
      "aria-label": title}, layers);
    const first = 1 - test.observe;
    return {
      element,
      at(step) {
        observed.forEach((path, n) => {
          past[n].setAttribute("d", drawn(path.slice(0, Math.min(0, step) - first + 1)));
          truth[n].setAttribute("d", drawn(future[n].slice(0, Math.max(0, step) + 1)));
          const [px, py] = step < 0 ? path[step - first] : future[n][step];
          people[n].setAttribute("transform", `translate(${px} ${py})`);
        });
        for (const {paths, grown, signs, clouds, ellipses} of models) {
          paths.forEach((path, n) => {
            const to = Math.max(0, step);
            grown[n].setAttribute("d", drawn(path.slice(0, to + 1)));
            signs[n].setAttribute("transform", `translate(${path[to].join(" ")})`);
            signs[n].style.display = step > 0 ? "" : "none";
            clouds[n]?.replaceChildren(...(step > 0 ? ellipses[n][step - 1] : []).map(([cx, cy, rx, ry, turn, share]) =>
              s("ellipse", {rx, ry, opacity: 0.1 + 0.35 * share / 100,
                transform: `translate(${cx} ${-cy}) rotate(${-turn})`})));
          });
        }
      },
      show(hidden) {
        models.forEach((one, m) => { one.group.style.display = hidden.has(test.models[m].label) ? "none" : ""; });
      },
    };
  }

  // Errors

  /** A sample of a model's line, for the table that is also the legend. */
  function swatch({color, dash, symbol}) {
    return s("svg", {class: "swatch", viewBox: "0 -8 44 16", "aria-hidden": "true"},
      s("path", {d: "M1 0H43", stroke: color, "stroke-width": 2.5, "stroke-dasharray": dash || null}),
      s("path", {d: sign(symbol, 4), style: `fill: ${color}`, stroke: color, transform: "translate(22 0)"}));
  }

  /** Errors of people now, scores of the whole test, and what is shown; {element, at(step)}. */
  function errors(test, scene, hidden, toggled) {
    const style = looks(test.models);
    const values = Map.groupBy(stp.rows(stp.data("values").values), (row) => row.cell);
    const scored = ["displacement.by_scenario", "final_displacement.by_scenario"];
    const caption = h("span", {});
    const now = [];
    const rows = test.models.map((model, m) => {
      const cells = scene.person.map(() => h("td", {class: "numeric"}, "–"));
      const mean = h("td", {class: "numeric"}, "–");
      now.push({cells, mean});
      const box = h("input", {type: "checkbox", checked: !hidden.has(model.label), "data-key": `trajectories-${m}`,
        onchange: () => toggled(model.label, !box.checked)});
      return h("tr", {}, h("th", {scope: "row"}, h("label", {class: "toggle"}, box, swatch(style[m]), model.label,
        model.samples > 1 ? h("span", {class: "step"}, ` ${model.samples} samples`) : null)),
      mean, cells, scored.map((convention) => {
        const row = values.get(model.cell)?.find((one) => one.convention === convention);
        return h("td", {class: "numeric"}, row && row.value !== null
          ? stp.value(number(row.value, 3), stp.core().cells[model.cell], row) : "–");
      }));
    });
    const head = h("tr", {}, ["Model", "Mean", ...scene.person.map((name) => `Person ${name}`),
      "ADE of all scenarios", "FDE of all"].map((title, i) =>
      h("th", {scope: "col", class: i ? "numeric" : null}, title)));
    const element = h("div", {class: "scroll", tabindex: "0", role: "region",
      "aria-label": "Errors of people and models"}, h("table", {class: "people"}, h("caption", {}, caption),
      h("thead", {}, head), h("tbody", {}, rows)));
    return {
      element,
      at(step) {
        caption.textContent = step > 0 ? `Distance from the truth at ${seconds(test, step)}, metres`
          : "Distance from the truth, metres: none before the prediction begins";
        now.forEach(({cells, mean}, m) => {
          const found = scene.predicted[m].errors.map((leads) => (step > 0 ? leads[step - 1] / 1000 : null));
          const show = (value) => (value === null ? "–" : value.toFixed(2));
          cells.forEach((cell, n) => { cell.textContent = show(found[n]); });
          mean.textContent = step > 0 ? show(found.reduce((a, b) => a + b, 0) / found.length) : "–";
        });
      },
    };
  }

  const seconds = (test, step) => `${step < 0 ? "−" : "+"}${Math.abs(step * test.dt).toFixed(1)} s`;
  const time = (test, step) => (step === 0 ? "now: the last observed position"
    : step < 0 ? `observed, ${seconds(test, step)}` : `predicted, ${seconds(test, step)}`);

  /** Error over lead time of all scenarios of the test, with the middle half of them. */
  function chart(root, test, hidden) {
    const style = looks(test.models);
    const part = {convention: "displacement.by_scenario", variable: null, level: null, threshold: null};
    const leads = test.models[0].mean.map((_, i) => Number(((i + 1) * test.dt).toFixed(3)));
    const traces = test.models.flatMap((model, m) => {
      const {color, symbol, plotly} = style[m];
      const visible = !hidden.has(model.label);
      const cell = stp.core().cells[model.cell];
      return [
        {x: [...leads, ...[...leads].reverse()], y: [...model.high, ...[...model.low].reverse()], fill: "toself",
          fillcolor: faint(color, 0.09), line: {width: 0}, hoverinfo: "skip", showlegend: false, visible, mode: "lines"},
        {x: leads, y: model.mean, name: model.label, mode: "lines+markers", visible, showlegend: false,
          line: {color, dash: plotly, width: 2}, marker: {color, symbol, size: 6},
          marks: leads.map((lead, i) => ({
            text: `${model.label}, ${lead} s: ${number(model.mean[i], 3)} m (middle half `
              + `${number(model.low[i], 3)} to ${number(model.high[i], 3)})`,
            open: () => stp.value("", cell, part).click(),
          }))},
      ];
    });
    const place = stp.plot(root, {
      name: "trajectories",
      title: `Error over lead time: ${stp.count(test.count, "scenario")} of ${stp.count(test.episodes, "episode")}`,
      description: "Mean displacement error of each model over all scenarios of the test, metres; bands are the "
        + "middle half of the scenarios (first to third quartile). Scenarios overlap in time, so bands "
        + "are no confidence intervals. The vertical line is the moment that the map shows. "
        + "Boxes in the table hide models.",
      traces,
      layout: {
        height: 340, showlegend: false,
        xaxis: {title: {text: "lead time [s]"}, range: [0, leads.at(-1) * 1.02]},
        yaxis: {title: {text: "displacement error [m] ↓"}, rangemode: "tozero"},
        shapes: [{type: "line", x0: 0, x1: 0, y0: 0, y1: 1, yref: "paper", visible: false,
          line: {width: 1.5, dash: "dot", color: getComputedStyle(root).color}}],
      },
    });
    const details = h("details", {}, h("summary", {}, "The numbers of this chart as a table"));
    details.addEventListener("toggle", () => {
      if (details.childElementCount > 1) return;
      stp.table(details, {name: "trajectories-numbers", caption: "Displacement error over lead time, metres",
        columns: [{key: "label", title: "Model", head: true}, {key: "lead", title: "Lead time [s]", numeric: true},
          {key: "mean", title: "Mean", numeric: true, cell: (row) =>
            stp.value(number(row.mean), stp.core().cells[row.cell], part)},
          {key: "low", title: "First quartile", numeric: true}, {key: "high", title: "Third quartile", numeric: true}],
        rows: test.models.flatMap((model) => leads.map((lead, i) => ({label: model.label, cell: model.cell, lead,
          mean: model.mean[i], low: model.low[i], high: model.high[i]})))});
    });
    root.append(details);
    return {
      at(step) {
        const x = step * test.dt;
        Plotly.relayout(place, {"shapes[0].x0": x, "shapes[0].x1": x, "shapes[0].visible": step > 0});
      },
      show(without) {
        Plotly.restyle(place, {visible: test.models.flatMap((model) => {
          const visible = !without.has(model.label);
          return [visible, visible];
        })});
      },
    };
  }

  // The clock

  function controls(test) {
    const button = (key, label, text, onclick) =>
      h("button", {type: "button", "data-key": `trajectories-${key}`, "aria-label": label, onclick}, text);
    return h("div", {class: "player", role: "group", "aria-label": "Player"},
      button("back", "One step back", "◂", () => go(player.step - 1)),
      button("play", null, "Play", () => play(!player.playing)),
      button("on", "One step on", "▸", () => go(player.step + 1)),
      h("input", {type: "range", min: 1 - test.observe, max: test.predict, "data-key": "trajectories-seek",
        "aria-label": "Time", oninput: (event) => go(Number(event.target.value))}),
      h("output", {class: "lead"}),
      h("label", {}, h("span", {class: "hidden"}, "Speed"), h("select", {"data-key": "trajectories-speed",
        onchange: (event) => { player.speed = Number(event.target.value); }},
      SPEEDS.map((x) => h("option", {value: x, selected: x === player.speed}, `${x} × real time`)))));
  }

  function go(step) {
    play(false);
    player.step = Math.min(player.last, Math.max(player.first, step));
    player.paint();
  }

  function play(on) {
    player.playing = on;
    if (on && player.step === player.last) player.step = player.first;
    player.since = performance.now();
    player.paint();
  }

  /** Keys, wherever the focus is, unless it is on something that has a use of its own for them. */
  function press(event) {
    const target = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog, header")) return;
    const owns = target.closest?.("select, input, textarea");
    const way = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === " " && !owns && !target.closest?.("button, summary, a")) play(!player.playing);
    else if (owns) return;
    else if (way) go(player.step + way);
    else if (event.key === "Home") go(player.first);
    else if (event.key === "End") go(player.last);
    else return;
    event.preventDefault();
  }

  function start(root, test, moving) {
    const seek = root.querySelector("[data-key=trajectories-seek]");
    const [output, button] = [root.querySelector(".player output"), root.querySelector("[data-key=trajectories-play]")];
    Object.assign(player, {first: 1 - test.observe, last: test.predict, playing: false});
    player.step = Math.min(player.last, Math.max(player.first, player.step ?? player.last));
    player.paint = () => {
      for (const one of moving) one.at(player.step);
      const text = time(test, player.step);
      seek.value = player.step;
      seek.setAttribute("aria-valuetext", text);
      output.textContent = text;
      // A running clock would talk without end.
      output.setAttribute("aria-live", player.playing ? "off" : "polite");
      button.textContent = player.playing ? "Pause" : "Play";
      root.dataset.step = player.step;
    };
    player.paint();
    const listener = (event) => {
      if (root.isConnected) press(event);
      else document.removeEventListener("keydown", listener);
    };
    document.addEventListener("keydown", listener);
    const tick = (now) => {
      if (!root.isConnected) return;
      if (player.playing && now - player.since >= 1000 * test.dt / player.speed) {
        player.since = now;
        player.step += 1;
        if (player.step >= player.last) {
          player.step = player.last;
          player.playing = false;
        }
        player.paint();
      }
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  // The opening

  const MOST = 4; // tests whose maps the overview has

  /** Draw a scenario of each test of a dimension: the truth, and the model that errs least. Says whether any was drawn. */
  stp.paths = (root, dimension) => {
    const {cells} = stp.core();
    const shown = report().tests.filter((t) => !t.gap && t.scenarios.length
      && t.cells.some((at) => cells[at].dimension === dimension)).slice(0, MOST);
    if (!shown.length) return false;
    root.append(h("div", {class: "paths"}, shown.map((test) => {
      const error = (model) => model.mean.reduce((a, b) => a + b, 0) / model.mean.length;
      const best = test.models.reduce((a, b) => (error(b) < error(a) ? b : a));
      const [about, piece] = [test.scenarios[0], stp.data(test.piece)];
      const title = `${stp.datasetTitle(test.dataset)}, ${test.protocol}`;
      const said = `${best.label}, which has the smallest error over all ${stp.count(test.count, "scenario")} (${number(error(best))} m)`;
      const world = map(test, piece, piece.scenes[0], `${title}, ${about.name}: true paths, and those of ${said}`);
      world.at(test.predict);
      world.show(new Set(test.models.filter((m) => m !== best).map((m) => m.label)));
      const origin = [...new Map(test.cells.map((at) => stp.badge(cells[at])).map((badge) => [badge.outerHTML, badge])).values()];
      return h("figure", {}, world.element, h("figcaption", {}, h("b", {}, h("a", {href: stp.link("trajectories",
        {dataset: test.dataset, protocol: test.protocol})}, title)), `: ${about.name}. The truth, and ${said} `, origin),
      key(piece.scenes[0], piece, {models: [best]}));
    })));
    return true;
  };

  // The section

  function draw(root) {
    player.playing = false;
    const chosen = stp.filters(root, choices());
    const test = report().tests.find((t) => t.dataset === chosen.dataset && t.protocol === chosen.protocol);
    const cells = test.cells.map((at) => stp.core().cells[at]);
    const badges = [...new Map(cells.map(stp.badge).map((badge) => [badge.outerHTML, badge])).values()];
    const title = `${stp.datasetTitle(test.dataset)}, ${test.protocol}`;
    root.append(h("h3", {}, `${title} `, badges), h("p", {class: "note"}, `${stp.origin(cells)}.`));
    if (test.gap) {
      root.append(h("p", {class: "gap"}, `No trajectories: ${test.gap}`));
      return;
    }
    const at = Math.max(0, test.scenarios.findIndex((one) => String(one.number) === chosen.scenario));
    const [about, piece] = [test.scenarios[at], stp.data(test.piece)];
    const scene = piece.scenes[at];
    const without = stp.get("without");
    // As the page opens, unless somebody chose others.
    const hidden = new Set(without === null ? test.models.filter((m) => !m.shown_at_first).map((m) => m.label)
      : without.split("~").filter((label) => label));
    const world = map(test, piece, scene, `Map of ${title}, ${about.name}: observed, true and predicted paths of `
      + `${stp.count(about.people, "person", "people")}; the errors are in the table below`);
    const toggled = (label, isHidden) => {
      if (isHidden) hidden.add(label); else hidden.delete(label);
      stp.remember({without: [...hidden].join("~")});
      for (const one of [world, curve]) one.show(hidden);
    };
    const table = errors(test, scene, hidden, toggled);
    const [left, right] = [h("div"), h("div")];
    root.append(h("div", {class: "beside"}, left, right));
    left.append(h("p", {}, `${about.name[0].toUpperCase()}${about.name.slice(1)}.`), world.element,
      controls(test), key(scene, piece, test));
    const curve = chart(right, test, hidden);
    world.show(hidden);
    root.append(table.element, notes(test));
    start(root, test, [world, table, curve]);
  }

  /** What lines mean that are no model's. */
  function key(scene, piece, test) {
    const line = (name) => s("svg", {class: "swatch trajectories", viewBox: "0 -8 44 16", "aria-hidden": "true"},
      s("path", {class: name, d: {wall: "M12 -7h18v14h-18Z", goal: "M22 -7L29 0 22 7 15 0Z"}[name] ?? "M1 0H43"}));
    const entries = [["past", "observed"], ["truth", "true"],
      ...(scene.neighbours.length ? [["past neighbour", "observed only"]] : []), ...(piece.place.obstacles ? [["wall", "obstacle"]] : []),
      ...(piece.place.goals.length ? [["goal", "goal"]] : []),
      ...(test.models.some((m) => m.samples > 1) ? [["one-sample", "a sample"]] : [])];
    return h("ul", {class: "legend"}, entries.map(([name, text]) => h("li", {}, line(name), ` ${text}`)));
  }

  function notes(test) {
    const lost = Object.entries(test.absent);
    const most = Math.max(...test.models.map((m) => m.samples));
    return h("div", {class: "note"},
      h("p", {}, `${report().rule} Here: ${test.scenarios.length} of ${test.count}. Observed are `
        + `${test.observe} positions, predicted ${test.predict}, ${test.dt} s apart. `
        + (test.models.some((m) => m.label.includes("(")) ? report().in_parentheses : "")),
      most > 1 ? h("p", {}, `Errors are means over all samples; thin lines are at most 10 of ${most} samples.`) : null,
      lost.length ? h("p", {}, "No paths: ", lost.map(([label, why]) => `${label} (${why})`).join("; ")) : null,
      h("p", {}, "Positions are rounded to centimetres after errors were computed. Click ADE or FDE to see "
        + "where it comes from."),
      h("p", {}, "Keys: space plays and pauses, ← and → step, Home and End go to the ends."));
  }

  stp.section({
    id: "trajectories",
    title: "Trajectories",
    about: "People on a map: their observed, true and predicted paths.",
    draw,
  });
})();
