"use strict";
// What results cost: quality over time, memory and size, and the hours of all artefacts, each once.
(() => {
  const {h, number} = stp;
  const GB = 1e9;

  /** What may stand on the x axis: a value of a line of seeds, and the device it was measured on. */
  const AXES = [
    ["train_seconds", "Training time", "train_device"],
    ["predict_per_clip", "Prediction time per clip", "predict_device"],
    ["train_peak_mb", "Peak memory of training [MB]", "train_device"],
    ["predict_peak_mb", "Peak memory of prediction [MB]", "predict_device"],
    ["model_mb", "Size of the trained model [MB]", null],
    ["parameters", "Parameters", null],
  ];

  const TIMES = ["train_seconds", "predict_per_clip"];

  /** Unit of an axis of seconds: the largest of which the longest has at least two. */
  function unitOf(seconds) {
    return [["h", 3600], ["min", 60], ["s", 1]].find(([, one]) => seconds >= 2 * one) ?? ["s", 1];
  }

  let byCell = null;
  function costOf(cell) {
    byCell ??= new Map(stp.rows(stp.data("cost").cells).map((row) => [row.cell, row]));
    return byCell.get(cell) ?? {};
  }

  /** Mean over seeds of something of a cell. */
  const mean = (rows, value) => evaluations.overSeeds(rows.map((row) => value(row) ?? null)).mean;
  const devices = (rows, key) => [...new Set(rows.map((row) => row[key]).filter((text) => text))].join(", ");

  /** Costs of a line: per training and test; nothing is learned where there is nothing to fit. */
  function costs(line) {
    const rows = line.cells.map(costOf);
    const none = stp.core().models.get(line.model)?.fit === "none";
    const trained = (value) => (none ? 0 : value);
    return {
      train_seconds: trained(mean(rows, (row) => row.train_seconds)),
      predict_per_clip: mean(rows, (row) => (row.predict_seconds && row.clips ? row.predict_seconds / row.clips : null)),
      train_peak_mb: mean(rows, (row) => row.train_peak_mb),
      predict_peak_mb: mean(rows, (row) => row.predict_peak_mb),
      model_mb: trained(mean(rows, (row) => (row.model_bytes ? row.model_bytes / 1e6 : null))),
      parameters: trained(mean(rows, (row) => row.parameters)),
      score_seconds: mean(rows, (row) => row.score_seconds),
      train_device: devices(rows, "train_device"),
      predict_device: devices(rows, "predict_device"),
      hosts: {train_device: devices(rows, "train_host"), predict_device: devices(rows, "predict_host")},
      seeds: rows.length, clips: rows[0]?.clips ?? null,
      stored: rows.every((row) => row.predict_seconds !== null),
    };
  }

  /** The lines that no other one beats at once in cost and in quality, cheapest first. */
  function front(lines, axis, badness) {
    const beats = (a, b) => a[axis] <= b[axis] && badness(a.value) <= badness(b.value)
      && (a[axis] < b[axis] || badness(a.value) < badness(b.value));
    return lines.filter((b) => !lines.some((a) => beats(a, b))).sort((a, b) => a[axis] - b[axis]);
  }

  /** One front for each device that times or memory were measured on: others do not compare. */
  function fronts(lines, axis, deviceKey, convention) {
    const {badness} = evaluations.direction(convention);
    if (!badness) return [];
    const groups = new Map();
    for (const line of lines) {
      const device = deviceKey === null ? "" : line[deviceKey];
      // What takes no training is at 0 on every device.
      const at = deviceKey !== null && !device && line[axis] === 0 ? null : device;
      if (!groups.has(at)) groups.set(at, []);
      groups.get(at).push(line);
    }
    const free = groups.get(null) ?? [];
    groups.delete(null);
    if (!groups.size && free.length) groups.set("", []);
    return [...groups].map(([device, held]) => ({device, lines: front([...free, ...held], axis, badness)}));
  }

  function traces(lines, axis, size, made, hidden, several, part) {
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    const dashes = ["dot", "dash", "dashdot", "longdash"];
    return [
      ...made.map(({device, lines: best}, i) => ({
        name: device ? `Pareto front, ${device}` : "Pareto front", mode: "lines", hoverinfo: "skip",
        x: best.map((line) => line[axis] / size), y: best.map((line) => line.value),
        line: {color: ink, width: 1.5, shape: "hv", dash: dashes[i % dashes.length]},
      })),
      ...lines.map((line) => {
        const {marker} = evaluations.style(line.model);
        const best = made.some((one) => one.lines.includes(line));
        return {
          name: line.label, mode: several ? "markers+text" : "markers", x: [line[axis] / size], cliponaxis: false, y: [line.value],
          text: several ? [line[several] || "nothing trained"] : undefined, textposition: "middle right",
          visible: hidden.has(line.label) ? "legendonly" : true,
          marker: {...marker, size: 12, line: best ? {color: ink, width: 2} : {width: 0}},
          error_y: {...evaluations.errorBars([line]), color: marker.color},
          marks: [evaluations.mark(`${line.label} at ${shown(axis, line[axis])}`, line, part)],
        };
      }),
    ];
  }

  const shown = (axis, cost) => (TIMES.includes(axis) ? stp.duration(cost) : number(cost, 3));

  function description(lines, axis, title, made, convention, name) {
    const best = evaluations.best(lines, convention, (line) => line.value);
    const cheapest = [...lines].sort((a, b) => a[axis] - b[axis])[0];
    const say = (line) => `${line.label} (${number(line.value)} at ${shown(axis, line[axis])})`;
    let text = `${name} over ${title.toLowerCase()}; ${evaluations.direction(convention).text}.`;
    if (best) {
      text += best === cheapest ? ` Best and cheapest: ${say(best)}.`
        : ` Best: ${say(best)}; cheapest: ${say(cheapest)}.`;
    }
    for (const {device, lines: held} of made) {
      text += ` No model is both better and cheaper than ${evaluations.joined(held.map((line) => line.label))}`
        + `${device ? ` on ${device}` : ""} (ringed).`;
    }
    if (made.length > 1) text += " Costs on different devices cannot be compared: each device has its own front.";
    return text;
  }

  const COLUMNS = [
    {key: "label", title: "Model"},
    {key: "value", title: "Value", numeric: true, cell: (row) => evaluations.value(row.value, row.cells, row.part)},
    {key: "front", title: "Pareto front", cell: (row) => (row.front ? "★ on it" : "")},
    {key: "train_seconds", title: "Training", numeric: true, cell: (row) => stp.duration(row.train_seconds)},
    {key: "train_device", title: "Trained on"},
    {key: "predict_per_clip", title: "Prediction per clip", numeric: true,
      cell: (row) => stp.duration(row.predict_per_clip)},
    {key: "predict_device", title: "Predicted on"},
    {key: "score_seconds", title: "Scores", numeric: true, cell: (row) => stp.duration(row.score_seconds)},
    {key: "train_peak_mb", title: "Peak of training [MB]", numeric: true},
    {key: "predict_peak_mb", title: "Peak of prediction [MB]", numeric: true},
    {key: "model_mb", title: "Trained model [MB]", numeric: true},
    {key: "parameters", title: "Parameters", numeric: true},
    {key: "clips", title: "Test clips", numeric: true},
    {key: "seeds", title: "Seeds", numeric: true},
    {key: "note", title: "Note"},
  ];

  /** By model and dataset of the training, over all tests of it: each artefact once. */
  function models(root) {
    const time = (key, title) => ({key, title, numeric: true, cell: (row) => stp.duration(row[key])});
    const rows = stp.rows(stp.data("cost").models);
    const most = rows.reduce((a, b) => (b.seconds > a.seconds ? b : a));
    root.append(h("h3", {}, "By model and dataset of the training"), h("p", {},
      "Training, predictions and scores of all tests together, without the preparation of data, which "
      + `models share. The most was spent on ${evaluations.named(most.model, most.variant)} on `
      + `${stp.datasetTitle(most.trained_on)}: ${stp.duration(most.seconds)} (${most.devices}).`));
    stp.table(root, {
      name: "cost-datasets",
      caption: "Time by model and dataset; each artefact counts once, however many cells share it",
      columns: [
        {key: "model", title: "Model", head: true, value: (row) => evaluations.named(row.model, row.variant),
          cell: (row) => evaluations.named(row.model, row.variant)},
        {key: "trained_on", title: "Trained on", cell: (row) => stp.datasetTitle(row.trained_on)},
        {key: "trainings", title: "Trainings", numeric: true},
        time("train_seconds", "Training"),
        {key: "predictions", title: "Tests predicted", numeric: true},
        time("predict_seconds", "Predictions"),
        time("score_seconds", "Scores"),
        time("seconds", "Together"),
        {key: "gpu_seconds", title: "GPU hours", numeric: true,
          cell: (row) => number(row.gpu_seconds === null ? null : row.gpu_seconds / 3600, 3)},
        {key: "devices", title: "Devices"},
      ],
      rows,
    });
  }

  /** Totals: each artefact once, by stage and device; and what was lost. */
  function totals(root) {
    const rows = stp.rows(stp.data("cost").totals);
    const lost = stp.rows(stp.data("cost").lost);
    const hours = (seconds) => (seconds === null ? null : seconds / 3600);
    const sum = rows.reduce((total, row) => total + (row.seconds ?? 0), 0);
    const gpu = rows.reduce((total, row) => total + (row.gpu_seconds ?? 0), 0);
    root.append(h("h3", {}, "All of this store"),
      h("p", {}, `${number(hours(sum), 3)} hours of computing, of which ${number(hours(gpu), 3)} GPU hours, in `
        + `${rows.reduce((n, row) => n + row.artefacts, 0)} artefacts. Each counts once, however many cells share it.`));
    stp.table(root, {
      name: "cost-totals",
      caption: "Hours by stage and device",
      columns: [
        {key: "stage", title: "Stage"},
        {key: "device", title: "Device"},
        {key: "artefacts", title: "Artefacts", numeric: true},
        {key: "seconds", title: "Hours", numeric: true, cell: (row) => number(hours(row.seconds), 3)},
        {key: "gpu_seconds", title: "GPU hours", numeric: true, cell: (row) => number(hours(row.gpu_seconds), 3)},
        {key: "bytes", title: "Size [GB]", numeric: true, cell: (row) => number(row.bytes / GB, 3)},
        {key: "without_attempt", title: "Without a record of GPUs", numeric: true},
      ],
      rows,
    });
    if (!lost.length) {
      root.append(h("p", {class: "note"}, "No attempt failed: every artefact was made at the first attempt."));
      return;
    }
    stp.table(root, {
      name: "cost-lost",
      caption: "Failed attempts",
      columns: [
        {key: "stage", title: "Stage"},
        {key: "how", title: "How it ended"},
        {key: "attempts", title: "Attempts", numeric: true},
        {key: "seconds", title: "Hours", numeric: true, cell: (row) => number(hours(row.seconds), 3)},
        {key: "gpu_seconds", title: "GPU hours", numeric: true, cell: (row) => number(hours(row.gpu_seconds), 3)},
        {key: "without_end", title: "Of unknown length", numeric: true},
      ],
      rows: lost,
    });
  }

  stp.section({
    id: "cost",
    title: "Cost",
    about: "Time, memory and size against quality. A training that several tests share is shown with each of them "
      + "and counted once in the totals.",
    draw(root) {
      const chosen = stp.filters(root, [
        ...evaluations.choices(undefined, (one) => evaluations.valuesOf(one).some((row) => row.value !== null)),
        {key: "metric", label: "Metric", options: (so) => {
          const one = evaluations.chosenOf(so);
          return evaluations.parts(one, evaluations.valuesOf(one), (row) => row.value !== null);
        }},
        {key: "cost", label: "Cost", options: AXES.map(([key, title]) => [key, title])},
        {key: "axis", label: "Cost axis", options: [["linear", "linear"], ["log", "logarithmic"]]},
      ]);
      const one = evaluations.chosenOf(chosen);
      evaluations.whose(root, evaluations.cellsOf(one));
      const row = evaluations.valuesOf(one).find((r) => evaluations.partId(r) === chosen.metric);
      const [axis, title, deviceKey] = AXES.find(([key]) => key === chosen.cost);
      const all = [...one.models.values()].map((line) => ({
        ...line, ...evaluations.measured(line, chosen.metric ?? ""), ...costs(line)}));
      const name = row ? evaluations.partText(one, row) : "no metric";
      const places = all.filter((line) => line.value !== null && line[axis] !== null);
      const lines = places.filter((line) => chosen.axis === "linear" || line[axis] > 0);
      const left = all.filter((line) => !lines.includes(line));
      const made = row ? fronts(lines, axis, deviceKey, row.convention) : [];
      const named = deviceKey === null ? [] : [...new Set(lines.map((line) => line[deviceKey]).filter((d) => d))];
      const why = (line) => (line.value === null ? line.reason : axis === "train_peak_mb" && !line.train_device ? "nothing is trained"
        : line[axis] === 0 ? "0 cannot be drawn on this axis"
        : line.stored || !axis.startsWith("predict") ? "unknown"
          : "forecasts were scored while they were made, so their time is part of the scores'");
      const hosts = [...new Set(lines.map((line) => line.hosts[deviceKey]).filter((host) => host))];
      const note = `${named.length ? `Measured on ${evaluations.joined(named)}. ` : ""}`
        + (hosts.length > 1 ? `Several machines (${hosts.join(", ")}): equal devices may differ in speed. ` : "")
        + (left.length ? `Not drawn: ${evaluations.byReason(left.map((line) => [line.label, why(line)]))}.` : "");
      if (note) root.append(h("p", {class: "note"}, note));
      const rows = all.map((line) => ({...line, part: row, front: made.some((f) => f.lines.includes(line)),
        note: left.includes(line) ? why(line) : ""}));
      if (!lines.length) {
        evaluations.absent(root, `There is nothing to draw for ${one.label}: no model has both ${name} and `
          + `${title.toLowerCase()}.`);
      } else {
        const hidden = evaluations.switches(root, lines.map((line) => line.label));
        const [unit, size] = TIMES.includes(axis) ? unitOf(Math.max(...lines.map((line) => line[axis]))) : ["", 1];
        stp.plot(root, {
          name: "cost",
          title: `${one.label}: ${name}`,
          description: description(lines, axis, title, made, row.convention, name),
          traces: traces(lines, axis, size, made, hidden, made.length > 1 ? deviceKey : null, row),
          layout: {
            height: evaluations.height(lines.length),
            xaxis: {title: {text: unit ? `${title} [${unit}]` : title}, type: chosen.axis},
            yaxis: {title: {text: evaluations.axisTitle(name, one, row)}},
          },
        });
      }
      stp.table(root, {name: "cost-models", caption: `Costs on ${one.label}, means over seeds; value: ${name}`,
        columns: COLUMNS, rows});
      models(root);
      totals(root);
    },
  });
})();
