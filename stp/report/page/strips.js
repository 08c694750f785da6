"use strict";
// Strips: the best forecast of everything that a table tests, frame by frame below the truth; of people,
// the paths of a scenario (trajectories.js).
(() => {
  const {h, number} = stp;
  const MOST = 6; // evaluations: their pictures are decoded at once

  /** Up to `most` lead times (from 0), evenly spaced, among them the last; where it can be, as far apart as the first
   * of them is from the last observed frame. */
  function chosenLeads(leads, most) {
    const step = [1, 2, 3, 4, 5].map((more) => Math.ceil(leads / most) - 1 + more)
      .find((n) => leads % n === 0 && leads / n > most / 2) ?? Math.ceil(leads / most);
    return Array.from({length: leads}, (_, i) => i).filter((i) => (leads - 1 - i) % step === 0);
  }

  /** Draw the strips of a dimension, or say what would fill them. */
  stp.strips = (root, dimension) => {
    const report = stp.data("forecasts");
    const all = report.evaluations.filter((one) => one.dimension === dimension);
    const shown = all.filter((one) => !one.gap).slice(0, MOST);
    for (const evaluation of shown) strip(root, evaluation);
    const more = h("p", {class: "note links"});
    if (all.length && stp.hasSection("forecasts")) {
      more.append(h("a", {href: stp.link("forecasts", {dimension})}, "All models as films, with their errors"));
    }
    const people = stp.data("trajectories").tests.length > 0;
    const drawn = people && stp.paths(root, dimension);
    if (people) more.append(h("a", {href: stp.link("trajectories")}, "All scenarios and models as films, with their errors"));
    if (shown.length || drawn) return root.append(more);
    const why = all.length ? `No forecast of this table can be shown: ${[...new Set(all.map(({gap, case: name}) =>
      gap.replace(`${name}: `, "")))].join("; ")}.`
      : people ? "No scenario of this table can be drawn; those of other tables can."
        : report.samples ? "No stored forecast of this table has frames to show."
          : "This report has no pictures; stp render results.duckdb --samples 3 adds some.";
    root.append(h("p", {class: "absent", role: "note"}, why), more);
  };

  function strip(root, evaluation) {
    const sample = evaluation.samples[0];
    const {ranked, heading, unit} = stp.bestOf(evaluation.dimension, evaluation.case);
    const found = ranked.map((row) => [row, evaluation.models.findIndex((m, i) => m.model === row.model
      && m.variant === row.variant && !sample.gaps[i])]).find(([, at]) => at >= 0);
    const [best, at] = found ?? [null, sample.gaps.findIndex((gap) => !gap)];
    const model = evaluation.models[at];
    const variable = evaluation.variables[0];
    const piece = stp.data(sample.piece).variables[0];
    const map = evaluation.is_picture ? null : sample.scales[0][0][2];
    const leads = chosenLeads(evaluation.leads, evaluations.narrow() ? 3 : 6);
    const rank = best === null ? "" : best.rank === 1 ? `, best in ${heading} (${number(best.value)}${unit ? ` ${unit}` : ""})`
      : `, rank ${best.rank} in ${heading}; the forecasts of better models are not kept`;
    const rows = [["Truth", piece.truth], ...(model ? [[`${model.label}${rank}`, piece.models[model.label][0]]] : [])];
    const what = [variable.name, variable.units && variable.units !== "1" ? `in ${variable.units}` : ""].filter(Boolean);
    const figure = h("figure", {class: "strips"},
      h("figcaption", {}, h("b", {}, h("a", {href: stp.link("forecasts", {dimension: evaluation.dimension,
        case: evaluation.case})}, evaluation.tested)), what.length ? ` ${what.join(" ")}` : "",
      `: sample ${sample.number}, ${sample.why} `, stp.badges(evaluation.origin)));
    const columns = `--tiles: ${leads.length + 1}`;
    for (const [i, [name, uri]] of rows.entries()) {
      const line = h("div", {class: "strip-row", style: columns});
      const tiles = [...(i ? [] : [{uri: piece.context, at: evaluation.context - 1, of: 0, text: "last observed"}]),
        ...leads.map((lead) => ({uri, at: lead, of: 1, text: timeOf(evaluation, sample, lead)}))];
      line.append(h("p", {class: "strip-name"}, name));
      if (i) line.append(h("span", {class: "tile"}));
      for (const tile of tiles) line.append(drawn(evaluation, sample, map, tile, i ? name : "Truth"));
      figure.append(line);
    }
    root.append(figure);
  }

  const timeOf = (evaluation, sample, lead) =>
    sample.times[evaluation.context + lead]?.replace("-", "−") || `lead ${lead + 1}`;

  function drawn(evaluation, sample, map, {uri, at, of, text}, name) {
    const {place, canvas} = sheets.frame(evaluation, `${of ? name : "Context"} of ${evaluation.tested}, ${text}`);
    if (of) canvas.classList.add("ahead");
    // A page without pictures says so; it does not fail.
    sheets.decoded(uri, map).then((sheet) => {
      sheets.put(canvas.getContext("2d"), evaluation, sheet, evaluation.columns[of], at);
      canvas.dataset.drawn = "yes";
    }, () => place.replaceWith(h("div", {class: "gap"}, "This browser cannot show the pictures (WebP).")));
    return h("div", {class: "tile"}, place, h("span", {class: "step"}, text));
  }
})();
