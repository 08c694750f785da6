"use strict";
// Scores over a setting that a dimension varies, such as the frame interval.
(() => {
  const {h, number} = stp;
  const {words} = evaluations;
  const NAMES = {interval: "frame interval"};
  const MORE = {interval: " [training: 1]"};
  const nameOf = (key) => NAMES[key] ?? words(key);

  /** Evaluations that differ in one key of their settings only: [{id, label, dimension, key, points:
   * [evaluation, ...]}]. */
  function series() {
    const dimensions = evaluations.compared(true);
    return dimensions.flatMap((dimension) => {
      const some = evaluations.list().filter((one) => one.dimension === dimension);
      const key = evaluations.varied(some);
      const found = new Map();
      for (const one of some) {
        const alike = one.key.replace(new RegExp(`${key}-[^,|]+`), key);
        if (!found.has(alike)) {
          const id = one.id.replace(new RegExp(`-${key}-[^-.]+`), "");
          const label = one.label.replace(new RegExp(`, ${key} [^,]+`), "");
          const several = dimensions.length > 1;
          found.set(alike, {id: several ? `${dimension}:${id}` : id, dimension, key,
            label: several ? `${label} (${evaluations.titleOf(dimension)})` : label, points: []});
        }
        found.get(alike).points.push(one);
      }
      const all = [...found.values()];
      all.forEach((one) => one.points.sort((a, b) => levelOf(one, a) - levelOf(one, b)));
      return all;
    });
  }

  /** The value of the varied key. */
  const levelOf = (chosen, one) => stp.core().settings.get(one.first.setting)[chosen.key] ?? 0;

  /** The models of a series: {label, model, points: [measured, ...]}, one point per level. */
  function linesOf(chosen, part) {
    const labels = new Map(chosen.points.flatMap((one) => [...one.models]));
    return [...labels].map(([label, {model, variant}]) => {
      const points = chosen.points.map((one) => ({
        level: levelOf(chosen, one), evaluation: one,
        ...evaluations.measured(one.models.get(label), part, chosen.dimension),
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
    return line.points.map(({evaluation: {first}, level}) => ({
      level,
      ...evaluations.printed().find((row) => row.model === line.model && row.variant === line.variant
        && ["dimension", "trained_on", "train_subset", "tested_on", "subset", "setting"]
          .every((key) => row[key] === first[key])
        && row.metric === heading && row.convention === part.split("~")[0]),
    }));
  }

  function traces(chosen, lines, hidden, show, row, column) {
    const part = stp.part(row);
    return lines.flatMap((line) => {
      const {line: drawn, marker} = evaluations.style(line.model);
      const shared = {legendgroup: line.label, visible: hidden.has(line.label) ? "legendonly" : true,
        x: line.points.map((p) => p.level)};
      const ours = {...shared, name: line.label, mode: "lines+markers", line: drawn, marker,
        y: line.points.map((p) => (show === "decline" ? p.decline : p.value)),
        marks: line.points.map((p) => evaluations.mark(`${line.label}, ${words(chosen.key)} ${p.level}${
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
    const levels = chosen.points.map((one) => levelOf(chosen, one));
    const key = words(chosen.key);
    let text = `${name} on ${chosen.label} at ${nameOf(chosen.key)} ${evaluations.joined(levels.map(String))}; `
      + `${evaluations.direction(convention).text}.`;
    if (at(0)) text += ` Best at ${key} ${levels[0]}: ${best(0)}`;
    if (at(0) && last > 0 && at(last)) text += `; at ${levels[last]}: ${best(last)}`;
    const fell = lines.filter((line) => line.points[last].decline !== null)
      .sort((a, b) => b.points[last].decline - a.points[last].decline);
    if (last > 0 && fell.length) {
      const say = (line) => `${line.label} (${evaluations.worse(line.points[last].decline)})`;
      text += `. From ${key} ${levels[0]} to ${levels[last]} ${say(fell[0])} declines the most`;
      if (fell.length > 1) text += `, ${say(fell.at(-1))} the least`;
    }
    const points = lines.flatMap((line) => line.points);
    const equal = [...new Set(points.filter((p) => p.equal && Number.isFinite(p.n)).map((p) => p.n))];
    if (equal.length) text += `. Distances between sets of ${evaluations.joined(equal.map(String))} clips at every ${key}`;
    const bars = show === "decline" ? "" : points.some((p) => p.low !== null) ? "95 % intervals over clusters of test samples"
      : points.some((p) => p.sd !== null) ? "standard deviations" : "";
    if (printed && show === "value") text += ". Open markers are the printed values";
    return `${text}.${bars ? ` Bars are ${bars}.` : ""}`;
  }

  function numbers(chosen, lines, row, part, column) {
    const name = nameOf(chosen.key);
    return {
      columns: [
        {key: "label", title: "Model"},
        {key: "level", title: name[0].toUpperCase() + name.slice(1), numeric: true},
        {key: "value", title: "Value", numeric: true,
          cell: (row) => evaluations.value(row.value, row.cells, row.part, row.where)},
        {key: "low", title: "95 % from", numeric: true},
        {key: "high", title: "to", numeric: true},
        {key: "sd", title: "SD", numeric: true},
        {key: "decline", title: `Decline from the first ${words(chosen.key)}`, numeric: true,
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
    id: "by-setting",
    title: "By setting",
    about: "Scores over a varied setting, such as the frame interval: models are tested on frames that are "
      + "further apart than in training.",
    has: () => series().length > 0,
    draw(root) {
      const all = series();
      const of = (so) => all.find((one) => one.id === so.tested);
      const valued = (row) => row.value !== null;
      const chosen = stp.filters(root, [
        {key: "tested", label: "Tested on", options: all.map((one) => [one.id, one.label])},
        {key: "metric", label: "Metric", options: (so) => evaluations.parts(of(so).points[0],
          of(so).points.flatMap(evaluations.valuesOf), valued)},
        {key: "show", label: "Show", options: (so) => [["value", "Values"],
          ["decline", `Decline from the first ${words(of(so).key)}`]]},
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
        root.append(h("p", {class: "note"}, `Printed values of the paper are not drawn where they cannot be `
          + `compared with ours: ${why.join("; ").replace(/not comparable: /g, "")}.`));
      }
      const gaps = lines.flatMap((line) => line.points.filter((p) => p[drawn] === null)
        .map((p) => [`${line.label} at ${words(one.key)} ${p.level}`,
          p.reason || `no value at the first ${words(one.key)}`]));
      if (gaps.length) root.append(h("p", {class: "note"}, `No value: ${evaluations.byReason(gaps)}.`));
      const hidden = evaluations.switches(root, held.map((line) => line.label));
      const levels = one.points.map((point) => levelOf(one, point));
      const steps = one.points.map((point) =>
        (one.key === "interval" ? stp.data("leads").steps[evaluations.cellsOf(point)[0]] : null));
      const decline = drawn === "decline";
      stp.plot(root, {
        name: "by-setting",
        title: `${one.label}: ${name}`,
        description: description(one, held, convention, name, drawn,
          printed.some((r) => typeof r.published === "number")),
        traces: traces(one, held, hidden, drawn, row, column),
        layout: {
          height: evaluations.height(held.length),
          xaxis: {title: {text: nameOf(one.key) + (MORE[one.key] ?? "")}, tickvals: levels,
            ticktext: levels.map((n, i) => (steps[i] ? `${n}<br>${stp.duration(steps[i])}` : String(n)))},
          yaxis: decline
            ? {title: {text: `decline from ${words(one.key)} ${levels[0]}`}, tickformat: "+.0%"}
            : {title: {text: evaluations.axisTitle(name, one.points[0], row)}},
        },
        numbers: () => numbers(one, held, row, chosen.metric, column),
      });
    },
  });
})();
