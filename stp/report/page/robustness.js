"use strict";
// Scores over the frame interval: how models bear frames that are further apart than in training.
(() => {
  const {h, number} = stp;
  const intervalOf = (one) => Number(/interval-(\d+)/.exec(one.first.setting)?.[1] ?? 1);

  /** Evaluations that differ in the frame interval only: [{id, label, points: [evaluation, ...]}]. */
  function series() {
    const found = new Map();
    for (const one of evaluations.list().filter((e) => e.dimension === "robustness")) {
      const key = one.key.replace(/interval-\d+/, "interval");
      if (!found.has(key)) {
        found.set(key, {id: one.id.replace(/-interval-\d+/, ""), dimension: "robustness",
          label: one.label.replace(/, interval \d+/, ""), points: []});
      }
      found.get(key).points.push(one);
    }
    const all = [...found.values()];
    all.forEach((one) => one.points.sort((a, b) => intervalOf(a) - intervalOf(b)));
    return all;
  }

  /** The models of a series: {label, model, points: [measured, ...]}, one point per interval. */
  function linesOf(chosen, part) {
    const labels = new Map(chosen.points.flatMap((one) => [...one.models]));
    return [...labels].map(([label, {model, variant}]) => {
      const points = chosen.points.map((one) => ({
        interval: intervalOf(one), evaluation: one,
        ...evaluations.measured(one.models.get(label), part, "robustness"),
      }));
      const convention = part.split("~")[0];
      points.forEach((p) => { p.decline = evaluations.decline(p.value, points[0].value, convention); });
      return {label, model, variant, points};
    });
  }

  /** Printed values of the paper, only where ours are of the same bytes and protocol. */
  function printedOf(line, part, column) {
    if (!column || line.variant !== "default") return [];
    const heading = [column.variable, column.metric].filter((text) => text).join(" ");
    return line.points.map(({evaluation: {first}, interval}) => ({
      interval,
      ...evaluations.printed().find((row) => row.dimension === "robustness" && row.model === line.model
        && row.trained_on === first.trained_on && row.tested_on === first.tested_on
        && row.subset === first.subset && row.frame_interval === interval && row.metric === heading
        && row.convention === part.split("~")[0]),
    }));
  }

  function traces(lines, hidden, show, row, column) {
    const part = stp.part(row);
    return lines.flatMap((line) => {
      const {line: drawn, marker} = evaluations.style(line.model);
      const shared = {legendgroup: line.label, visible: hidden.has(line.label) ? "legendonly" : true,
        x: line.points.map((p) => p.interval)};
      const ours = {...shared, name: line.label, mode: "lines+markers", line: drawn, marker,
        y: line.points.map((p) => (show === "decline" ? p.decline : p.value)),
        marks: line.points.map((p) => evaluations.mark(`${line.label}, interval ${p.interval}${
          show === "decline" && p.decline !== null ? `, ${evaluations.worse(p.decline)}` : ""}`, p, row))};
      if (show === "decline") return [ours];
      ours.error_y = {...evaluations.errorBars(line.points), color: drawn.color};
      const printed = printedOf(line, part, column);
      if (!printed.some((row) => typeof row.published === "number")) return [ours];
      return [ours, {...shared, name: `${line.label}, printed`, mode: "markers",
        y: printed.map((row) => row.published ?? null),
        marker: {...marker, symbol: `${marker.symbol}-open`, size: 11, line: {width: 2}}}];
    });
  }

  function description(chosen, lines, convention, name, show, printed) {
    const last = chosen.points.length - 1;
    const at = (i) => evaluations.best(lines, convention, (line) => line.points[i].value);
    const best = (i) => `${at(i).label} (${number(at(i).points[i].value)})`;
    const intervals = chosen.points.map(intervalOf);
    let text = `${name} on ${chosen.label} at frame intervals ${evaluations.joined(intervals.map(String))}; `
      + `${evaluations.direction(convention).text}.`;
    if (at(0)) text += ` Best at interval ${intervals[0]}: ${best(0)}`;
    if (at(0) && last > 0 && at(last)) text += `; at ${intervals[last]}: ${best(last)}`;
    const fell = lines.filter((line) => line.points[last].decline !== null)
      .sort((a, b) => b.points[last].decline - a.points[last].decline);
    if (last > 0 && fell.length) {
      const say = (line) => `${line.label} (${evaluations.worse(line.points[last].decline)})`;
      text += `. From interval ${intervals[0]} to ${intervals[last]} ${say(fell[0])} declines the most`;
      if (fell.length > 1) text += `, ${say(fell.at(-1))} the least`;
    }
    const points = lines.flatMap((line) => line.points);
    const equal = [...new Set(points.filter((p) => p.equal && Number.isFinite(p.n)).map((p) => p.n))];
    if (equal.length) text += `. Distances between sets of ${evaluations.joined(equal.map(String))} clips at every interval`;
    const bars = show === "decline" ? "" : points.some((p) => p.low !== null) ? "95 % intervals over clusters of test samples"
      : points.some((p) => p.sd !== null) ? "standard deviations" : "";
    if (printed && show === "value") text += ". Open markers are the printed values";
    return `${text}.${bars ? ` Bars are ${bars}.` : ""}`;
  }

  function numbers(lines, row, part, column) {
    return {
      columns: [
        {key: "label", title: "Model"},
        {key: "interval", title: "Frame interval", numeric: true},
        {key: "value", title: "Value", numeric: true,
          cell: (row) => evaluations.value(row.value, row.cells, row.part, row.where)},
        {key: "low", title: "95 % from", numeric: true},
        {key: "high", title: "to", numeric: true},
        {key: "sd", title: "SD", numeric: true},
        {key: "decline", title: "Decline from the first interval", numeric: true,
          cell: (row) => evaluations.percent(row.decline)},
        {key: "published", title: "Printed", numeric: true},
        {key: "n", title: "Samples", numeric: true},
        {key: "reason", title: "Note"},
      ],
      rows: lines.flatMap((line) => {
        const printed = printedOf(line, part, column);
        return line.points.map((p, i) => ({...p, label: line.label, part: row, n: Number.isFinite(p.n) ? p.n : null,
          published: printed[i]?.published ?? null,
          reason: [p.reason, printed[i]?.why_none].filter((text) => text).join("; ")}));
      }),
    };
  }

  stp.section({
    id: "robustness",
    title: "Robustness",
    about: "Scores over the frame interval: models are tested on frames that are further apart than "
      + "those they were trained on.",
    draw(root) {
      const all = series();
      if (!all.length) {
        return evaluations.absent(root, "The dimension robustness was not evaluated in this store. "
          + "Make results/tables/robustness.csv to evaluate it.");
      }
      const of = (so) => all.find((one) => one.id === so.tested);
      const valued = (row) => row.value !== null;
      const chosen = stp.filters(root, [
        {key: "tested", label: "Tested on", options: all.map((one) => [one.id, one.label])},
        {key: "metric", label: "Metric", options: (so) => evaluations.parts(of(so).points[0],
          of(so).points.flatMap(evaluations.valuesOf), valued)},
        {key: "show", label: "Show", options: [["value", "Values"], ["decline", "Decline from the first interval"]]},
      ]);
      const one = of(chosen);
      evaluations.whose(root, one.points.flatMap(evaluations.cellsOf));
      const row = one.points.flatMap(evaluations.valuesOf).find((r) => evaluations.partId(r) === chosen.metric);
      if (!row) return evaluations.absent(root, `Nothing was scored on ${one.label}.`);
      const name = evaluations.partText(one.points[0], row);
      const {convention} = row;
      const lines = linesOf(one, chosen.metric);
      const drawn = chosen.show === "decline" ? "decline" : "value";
      const held = lines.filter((line) => line.points.some((p) => p[drawn] !== null));
      if (!held.length) {
        const why = evaluations.reasons(lines.flatMap((line) => line.points), drawn === "decline"
          ? `${evaluations.direction(convention).text}: nothing is worse by a part` : "no value");
        return evaluations.absent(root, `${name} cannot be drawn for ${one.label}: ${why}.`);
      }
      const column = evaluations.columnOf(one.points[0], row);
      const printed = held.flatMap((line) => printedOf(line, chosen.metric, column));
      const why = [...new Set(printed.map((r) => r.why_none).filter((text) => text))];
      if (why.length && drawn === "value") {
        root.append(h("p", {class: "note"}, `Printed values of the paper are not drawn where they do not `
          + `compare with ours: ${why.join("; ")}.`));
      }
      const gaps = lines.flatMap((line) => line.points.filter((p) => p[drawn] === null)
        .map((p) => `${line.label} at interval ${p.interval} (${p.reason || "no value at the first interval"})`));
      if (gaps.length) root.append(h("p", {class: "note"}, `Without a value: ${gaps.join("; ")}.`));
      const hidden = evaluations.switches(root, held.map((line) => line.label));
      const intervals = one.points.map(intervalOf);
      const steps = one.points.map((e) => stp.data("leads").steps[evaluations.cellsOf(e)[0]]);
      const decline = drawn === "decline";
      stp.plot(root, {
        name: "robustness",
        title: `${one.label}: ${name}`,
        description: description(one, held, convention, name, drawn,
          printed.some((r) => typeof r.published === "number")),
        traces: traces(held, hidden, drawn, row, column),
        layout: {
          height: evaluations.height(held.length),
          xaxis: {title: {text: "frame interval [that of the training is 1]"}, tickvals: intervals,
            ticktext: intervals.map((n, i) => (steps[i] ? `${n}<br>${stp.duration(steps[i])}` : String(n)))},
          yaxis: decline
            ? {title: {text: `decline from interval ${intervals[0]}`}, tickformat: "+.0%"}
            : {title: {text: evaluations.axisTitle(name, convention)}},
        },
        numbers: () => numbers(held, row, chosen.metric, column),
      });
    },
  });
})();
