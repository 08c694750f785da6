"use strict";
// Forecasts: context, truth and all models of one sample, in step on one clock
// (stp/report/forecasts.py).
stp.section((() => {
  const SIZES = {small: "9rem", medium: "15rem", large: "22rem", huge: "34rem"};
  const STAYS = 4; // frames that the last one stays, so that the end can be seen
  const SPEEDS = [1, 2, 5, 10, 20];
  const VIEWS = [["values", "Forecasts"], ["errors", "Errors"], ["truth", "Wipe: truth over forecasts"],
    ["pair", "Wipe: two forecasts"]];
  const RULES = {median: "median error", hardest: "largest error", easiest: "smallest error",
    middle: "middle of the test"};
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const h = stp.h;

  // What outlives a change of filters: where the clock stands.
  const player = {playing: !still, frame: null, speed: 5, wipe: 50, swapped: false};
  let shown = 0; // counts what was drawn: pictures that arrive too late are not for this one

  // What there is to choose

  /** All evaluations, in the order of the tables. */
  function evaluations() {
    const order = [...stp.core().dimensions.keys()];
    return [...stp.data("forecasts").evaluations]
      .sort((a, b) => order.indexOf(a.dimension) - order.indexOf(b.dimension));
  }
  const unique = (values) => [...new Set(values)];

  function choices() {
    const of = (chosen) => evaluations().filter((e) => e.dimension === chosen.dimension);
    const one = (chosen) => of(chosen).find((e) => e.case === chosen.case);
    const named = (chosen) => (one(chosen).models ?? []).map((m, i) => [i, m.label]);
    const isPair = (chosen) => chosen.view === "pair";
    return [
      {key: "dimension", label: "Dimension", preferred: () => evaluations().find((e) => !e.gap)?.dimension,
        options: unique(evaluations().map((e) => e.dimension)).map((d) => [d, d.replace(/_/g, " ")])},
      {key: "case", label: "Tested on", preferred: (chosen) => of(chosen).find((e) => !e.gap)?.case, options: (chosen) => of(chosen).map((e) => [e.case, e.tested])},
      {key: "sample", label: "Sample",
        options: (chosen) => listed(one(chosen).samples.map((s) => [s.rule, ruleOf(s)]))},
      {key: "variable", label: "Variable",
        options: (chosen) => listed((one(chosen).variables ?? []).filter((v) => v.name)
          .map((v) => [v.name, v.name]))},
      {key: "view", label: "View", options: VIEWS},
      {key: "left", label: "Left of the wipe",
        options: (chosen) => (isPair(chosen) ? [["truth", "Truth"], ...named(chosen)] : [["", "–"]])},
      {key: "right", label: "Right of the wipe",
        options: (chosen) => (isPair(chosen) ? [...named(chosen), ["truth", "Truth"]] : [["", "–"]])},
      {key: "size", label: "Size", options: ["medium", "small", "large", "huge"].map((s) => [s, s])},
    ];
  }

  const listed = (options) => (options.length ? options : [["", "–"]]);
  const score = (value) => (Number.isFinite(value) ? short(value) : stp.number(value, 3));
  /** Three digits, but thousands in full. */
  const short = (value) => (Math.abs(value) >= 1000 && Math.abs(value) < 1e6 ? String(Math.round(value))
    : stp.number(value, 3)).replace("-", "−");
  const ruleOf = (sample) => `${RULES[sample.rule] ?? sample.rule} (number ${sample.number})`;

  // What is on the page

  function draw(root) {
    const report = stp.data("forecasts");
    shown += 1;
    if (!report.evaluations.length) {
      root.append(h("p", {class: "note"}, "This report has no pictures; add some with ",
        h("code", {}, "stp render results.duckdb --samples 3"), "."));
      return;
    }
    const chosen = stp.filters(root, choices());
    for (const select of root.querySelectorAll(".filters select")) {
      select.closest("label").hidden = select.options.length === 1 && select.value === "";
    }
    const evaluation = report.evaluations.find(
      (e) => e.dimension === chosen.dimension && e.case === chosen.case);
    const heading = h("h3", {}, `${evaluation.tested} `,
      stp.badges(evaluation.origin));
    root.append(heading);
    if (evaluation.gap) {
      root.append(h("p", {class: "gap"}, `No pictures: ${evaluation.gap}`));
      return;
    }
    const sample = evaluation.samples.find((s) => s.rule === chosen.sample) ?? evaluation.samples[0];
    const number = Math.max(0, evaluation.variables.findIndex((v) => v.name === chosen.variable));
    const view = {...chosen, evaluation, sample, piece: stp.data(sample.piece).variables[number],
      scales: sample.scales[number], variable: evaluation.variables[number]};
    root.append(
      h("p", {}, `Sample ${sample.number}, ${sample.clip}: ${sample.why}.`, board(evaluation)),
      ...legends(view));
    const grid = h("div", {class: `panels ${view.size}`, style: `--side: ${SIZES[view.size]}`});
    const panels = view.view === "pair" ? pair(view, grid) : everything(view, grid);
    root.append(wiper(view), grid, controls(view, panels), small(view, report));
    start(root, view, panels, shown);
  }

  /** Where the numbers of all samples are. */
  function board({dimension, case: name, origin}) {
    if (!stp.hasSection("leaderboards") || origin.length > 1) return null;
    const href = stp.link("leaderboards", {tested: `${dimension}:${name}`});
    return [" ", h("a", {href}, "Leaderboard of all samples")];
  }

  function small({evaluation, sample}, report) {
    const seeds = unique(evaluation.models.map((m) => m.seed).filter((seed) => seed !== null));
    const [width, height] = evaluation.full;
    return h("div", {class: "note"},
      h("p", {}, `${unique(evaluation.origin.map((cell) => stp.origin([cell]))).join("; ")}. Frames of ${width} × ${height}, stored: `
        + `${evaluation.look}.`
        + (seeds.length ? ` Trained models: seed ${seeds.join(", ")}.` : "")),
      h("p", {}, "Samples are chosen by a rule, by their error averaged over all models, not by hand. "
        + `Pictures take ${stp.number(report.used, 3)} MB of this page. The limit is ${report.megabytes} MB, shared `
        + "equally among evaluations, and all models of an evaluation have the same quality. "
        + "Errors are those of the predictions, not of the pictures."),
      evaluation.is_picture ? h("p", {}, "Values from 0 to 1 are shown as they are; values outside are clipped.")
        : h("p", {}, "The scale leaves out the outermost percent of context "
          + "and truth; values beyond it have the colours of its ends. Hatched areas have no value. "
          + `${evaluation.variables.length} of ${evaluation.channels} variables can be chosen.`),
      h("p", {}, "Scores are of this sample alone: the mean over lead times (* is the best of these models), "
        + "and that of the frame that is shown."),
      h("p", {}, "Keys: space plays and pauses, ← and → step, Home and End go to the ends."));
  }

  /** What colours mean. */
  function legends({evaluation, variable, scales, view}) {
    const made = [];
    const unit = variable.units && variable.units !== "1" ? ` ${variable.units}` : "";
    if (!evaluation.is_picture) {
      made.push(bar(variable.name || "Values", scales[0], unit));
    }
    if (view === "errors") {
      const signed = scales[1][0] < 0;
      made.push(bar(signed ? "Error: forecast − truth" : "Error: mean |forecast − truth| of red, green, blue",
        scales[1], unit));
    }
    return made;
  }

  function bar(title, [low, high, map], unit) {
    const hex = stp.data("forecasts").colours[map];
    const stops = Array.from({length: 18}, (_, i) => `#${hex.substr(6 * Math.round(i * 254 / 17), 6)}`);
    const ends = [low, high].map((value) => `${short(value)}${unit}`);
    return h("div", {class: "bar", role: "img",
      "aria-label": `Colours of ${title}: from ${ends[0]} to ${ends[1]}; values beyond have the colours of the ends`},
    h("span", {}, title), h("span", {}, ends[0]),
    h("span", {class: "ramp", style: `background: linear-gradient(to right, ${stops.join(",")})`}),
    h("span", {}, ends[1]));
  }

  // Panels

  /** A place for pictures; the canvas is as large as a frame. */
  function picture(view, alt, caption) {
    const {place, canvas} = sheets.frame(view.evaluation, alt);
    const line = h("div", {class: "wipe", hidden: true});
    place.append(line);
    return {figure: h("figure", {class: "panel"}, place, caption), canvas, line};
  }

  const clipOf = ({evaluation, sample}) => `${evaluation.tested}, sample ${sample.number}`;

  function everything(view, grid) {
    const {evaluation, sample, piece, scales} = view;
    const values = evaluation.is_picture ? null : scales[0][2];
    const layer = (uri, map) => ({uri, map});
    const truth = layer(piece.truth, values);
    const made = [];
    const add = (panel, layers) => { grid.append(panel.figure); made.push({...panel, layers}); };
    const held = h("span", {class: "step"});
    add({...picture(view, `Context of ${clipOf(view)}`, h("figcaption", {}, h("b", {}, "Context"), " ", held)),
      held}, {});
    add(picture(view, `Truth of ${clipOf(view)}`, h("figcaption", {}, h("b", {}, "Truth"))), {right: truth});
    evaluation.models.forEach((model, i) => {
      const gap = sample.gaps[i];
      const caption = h("figcaption", {}, h("b", {}, model.label),
        evaluation.origin.length > 1 ? [" ", stp.badge(model)] : null,
        sample.remarks[i] ? h("span", {class: "step"}, ` ${sample.remarks[i]}`) : null);
      if (gap) {
        grid.append(h("figure", {class: "panel"},
          h("div", {class: "gap"}, `No picture: ${gap}`), caption));
        return;
      }
      const scored = scoresOf(view, i);
      caption.append(scored.table);
      const [forecast, error] = piece.models[model.label];
      const layers = view.view === "errors" ? {right: layer(error, scales[1][2]), isError: true}
        : view.view === "truth" ? {left: truth, right: layer(forecast, values)}
          : {right: layer(forecast, values)};
      const kind = {errors: "Error of", truth: "Truth on the left, on the right"}[view.view] ?? "Forecast of";
      add({...picture(view, `${kind} ${model.label}, ${clipOf(view)}`, caption), scored}, layers);
    });
    return made;
  }

  /** Two large ones, one over the other. */
  function pair(view, grid) {
    const {evaluation, sample, piece, scales} = view;
    const values = evaluation.is_picture ? null : scales[0][2];
    grid.classList.add("one");
    const side = (name) => {
      if (name === "truth") return {label: "Truth", uri: piece.truth, map: values};
      const model = evaluation.models[name];
      const found = {label: model.label, gap: sample.gaps[name], map: values, scored: scoresOf(view, name)};
      return found.gap ? found : {...found, uri: piece.models[model.label][0]};
    };
    const [left, right] = [side(view.left), side(view.right)];
    const lost = [left, right].filter((one) => one.gap);
    if (lost.length) {
      grid.append(...lost.map((one) => h("p", {class: "gap"}, `${one.label}: ${one.gap}`)));
      return [];
    }
    player.swapped = false;
    const names = [h("b"), h("b")];
    const caption = h("figcaption", {}, h("div", {class: "sides"}, [left, right].map((one, i) =>
      h("div", {}, names[i], one.scored?.table ?? null))));
    const made = picture(view, "", caption);
    const named = (isSwapped) => {
      const order = isSwapped ? [right, left] : [left, right];
      names.forEach((name, i) => {
        name.textContent = `${(i === 1) === isSwapped ? "Left" : "Right"}: ${[left, right][i].label}`;
      });
      made.canvas.setAttribute("aria-label",
        `${order[0].label} on the left, ${order[1].label} on the right of the wipe, ${clipOf(view)}`);
    };
    grid.append(made.figure);
    return [{...made, named, layers: {left, right}, scoreds: [left.scored, right.scored]}];
  }

  // Scores

  function scoresOf(view, index) {
    const {sample, variable, evaluation} = view;
    const conventions = stp.core().conventions;
    const mean = (leads) => (leads && leads.every(Number.isFinite)
      ? leads.reduce((sum, value) => sum + value, 0) / leads.length : null);
    const rows = [];
    const now = [];
    sample.metrics.forEach((metric, m) => {
      if (metric.variable && metric.variable !== variable.name) return;
      const leads = sample.scores[index][m];
      const higher = conventions.get(metric.convention)?.higher_is_better;
      const means = evaluation.models.map((_, i) => mean(sample.scores[i][m])).filter((v) => v !== null);
      const value = mean(leads);
      const best = typeof higher === "boolean" && means.length > 1
        && value === Math[higher ? "max" : "min"](...means);
      const cell = h("td", {class: "numeric"}, "–");
      now.push((lead) => { cell.textContent = lead < 0 || !leads ? "–" : score(leads[lead]); });
      const arrow = ` ${stp.direction(metric.convention)}`.trimEnd();
      rows.push(h("tr", {}, h("th", {scope: "row", title: metric.convention}, metric.title + arrow),
        h("td", {class: `numeric${best ? " best" : ""}`}, score(value) + (best ? "*" : "")), cell));
    });
    if (!rows.length) return {table: h("span"), at: () => {}};
    return {
      table: h("table", {class: "scores"}, h("caption", {class: "hidden"}, `Scores of this sample`),
        h("thead", {}, h("tr", {}, h("td"), h("th", {scope: "col", class: "numeric"}, "mean"),
          h("th", {scope: "col", class: "numeric"}, "now"))),
        h("tbody", {}, rows)),
      at: (lead) => now.forEach((set) => set(lead)),
    };
  }

  // The clock

  /** Where the wipe stands; only where there is one. */
  function wiper({view}) {
    if (view !== "truth" && view !== "pair") return h("span");
    const input = h("input", {type: "range", min: 0, max: 100, value: player.wipe, "data-key": "forecasts-wipe",
      oninput: () => { player.wipe = Number(input.value); player.paint?.(); }});
    return h("div", {class: "wiper"}, h("label", {}, "Wipe", input),
      view === "pair" ? h("button", {type: "button", "data-key": "forecasts-swap",
        onclick: () => { player.swapped = !player.swapped; player.paint?.(); }}, "Swap the two sides") : null);
  }

  function controls({evaluation}, panels) {
    const last = evaluation.context + evaluation.leads - 1;
    const button = (key, label, text, onclick) =>
      h("button", {type: "button", "data-key": `forecasts-${key}`, "aria-label": label, onclick}, text);
    return h("div", {class: "player", role: "group", "aria-label": "Player"},
      button("back", "One step back", "◂", () => step(-1)),
      button("play", null, "Play", () => play(!player.playing)),
      button("on", "One step on", "▸", () => step(1)),
      h("input", {type: "range", min: 0, max: last, "data-key": "forecasts-seek", "aria-label": "Lead time",
        disabled: !panels.length, oninput: (event) => go(Number(event.target.value))}),
      h("output", {class: "lead"}),
      h("label", {}, h("span", {class: "hidden"}, "Frames per second"),
        h("select", {"data-key": "forecasts-speed",
          onchange: (event) => { player.speed = Number(event.target.value); }},
          SPEEDS.map((s) => h("option", {value: s, selected: s === player.speed}, `${s} per s`)))));
  }

  function go(frame) {
    play(false);
    player.frame = frame;
    player.paint?.();
  }

  function step(by) {
    go(Math.min(player.last, Math.max(0, player.frame + by)));
  }

  function play(on) {
    player.playing = on;
    player.since = performance.now();
    player.said?.();
  }

  /** Keys, wherever the focus is, unless it is on something that has a use of its own for them. */
  function press(event) {
    const target = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog, header")) return;
    const owns = target.closest?.("select, input, textarea");
    const way = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === " " && !owns?.matches("select") && !target.closest?.("button")) play(!player.playing);
    else if (owns) return;
    else if (way) step(way);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(player.last);
    else return;
    event.preventDefault();
  }

  async function start(root, view, panels, drawn) {
    const {evaluation, sample} = view;
    const [seek, output, button] = [root.querySelector("[data-key=forecasts-seek]"),
      root.querySelector(".player output"), root.querySelector("[data-key=forecasts-play]")];
    const first = evaluation.context;
    player.last = first + evaluation.leads - 1;
    player.frame = Math.min(player.last, player.frame ?? (still ? first : 0));
    player.paint = null;
    player.said = () => {
      button.textContent = player.playing ? "Pause" : "Play";
      // A running clock would talk without end.
      output.setAttribute("aria-live", player.playing ? "off" : "polite");
    };
    player.said();
    const listener = (event) => {
      if (root.isConnected) press(event);
      else document.removeEventListener("keydown", listener);
    };
    document.addEventListener("keydown", listener);
    output.textContent = "Loading …";
    const load = (layer) => layer && sheets.of(sample.piece, layer.uri, layer.map);
    const values = evaluation.is_picture ? null : view.scales[0][2];
    let context;
    try {
      context = await load({uri: view.piece.context, map: values});
      await Promise.all(panels.flatMap(({layers}) => ["left", "right"].map(async (side) => {
        if (layers[side]) layers[side] = {...layers[side], sheet: await load(layers[side])};
      })));
    } catch {
      output.textContent = "This browser cannot show the pictures (WebP).";
      return;
    }
    if (drawn !== shown) return; // something else is on the page by now
    player.paint = () => {
      const {frame} = player;
      for (const panel of panels) paint(view, panel, context, frame);
      const text = leadOf(view, frame);
      seek.value = frame;
      seek.setAttribute("aria-valuetext", text);
      output.textContent = text;
      root.querySelector(".player").classList.toggle("ahead", frame >= first);
      root.dataset.frame = frame;
    };
    player.paint();
    root.dataset.pictures = "ready";
    player.since = performance.now();
    const tick = (now) => {
      if (!root.isConnected || drawn !== shown) return;
      const wait = 1000 / player.speed * (player.frame === player.last ? STAYS : 1);
      if (player.playing && panels.length && now - player.since >= wait) {
        player.frame = (player.frame + 1) % (player.last + 1);
        player.since = now;
        player.paint();
      }
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  function leadOf({evaluation, sample}, frame) {
    const at = frame - evaluation.context + 1;
    const time = sample.times[frame] ? ` (${sample.times[frame].replace("-", "−")})` : "";
    return at > 0 ? `lead ${at} of ${evaluation.leads}${time}`
      : `context ${at ? `−${-at}` : "0, the last"}${time}`;
  }

  function paint({evaluation}, panel, context, frame) {
    const {canvas, layers, line} = panel;
    const [width, height] = evaluation.size;
    const pen = canvas.getContext("2d");
    const lead = frame - evaluation.context;
    const put = (sheet, columns, i, from, to) => sheets.put(pen, evaluation, sheet, columns, i, from, to);
    pen.clearRect(0, 0, width, height);
    canvas.classList.toggle("ahead", lead >= 0 && !panel.held);
    line.hidden = !layers.left || lead < 0;
    panel.named?.(player.swapped);
    for (const scored of [panel.scored, ...panel.scoreds ?? []]) scored?.at(lead);
    if (panel.held) {
      const at = Math.min(frame, evaluation.context - 1);
      panel.held.textContent = at === evaluation.context - 1 ? "last frame" : `frame ${at + 1}`;
      put(context, evaluation.columns[0], at, 0, width);
    } else if (lead < 0) {
      if (!layers.isError) put(context, evaluation.columns[0], frame, 0, width);
    } else {
      const isSwapped = player.swapped && panel.named;
      const [left, right] = isSwapped ? [layers.right, layers.left] : [layers.left, layers.right];
      const cut = left ? Math.round(width * player.wipe / 100) : 0;
      line.style.left = `${100 * cut / width}%`;
      if (left) put(left.sheet, evaluation.columns[1], lead, 0, cut);
      put(right.sheet, evaluation.columns[1], lead, cut, width);
    }
  }

  return {
    id: "forecasts",
    title: "Forecasts",
    about: "Forecasts beside the truth: a few samples of every evaluation, chosen by a rule.",
    has: () => !stp.data("forecasts").samples || evaluations().some((one) => !one.gap),
    draw,
  };
})());
