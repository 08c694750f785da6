"use strict";
// Scores over lead time: a line per model, its 95 % band, or its seeds.
(() => {
  const {h, number} = stp;
  const UNITS = [["days", 86400], ["hours", 3600], ["minutes", 60], ["seconds", 1]];

  let byCell = null;
  /** Values over lead times of a cell, by its number: a row for each part of a convention. */
  stp.leadsOf = (cell) => {
    if (!byCell) {
      byCell = new Map();
      for (const row of stp.rows(stp.data("leads").lines)) {
        for (const key of ["values", "low", "high"]) {
          row[key] = row[key]?.map((v) => (typeof v === "string" ? Number(v) : v)) ?? null;  // "Infinity"
        }
        if (typeof row.at_leads === "number") row.at_leads = row.values.map((_, i) => row.at_leads + i);
        if (!byCell.has(row.cell)) byCell.set(row.cell, []);
        byCell.get(row.cell).push(row);
      }
    }
    return byCell.get(cell) ?? [];
  };

  const rowsOf = (one) => evaluations.cellsOf(one).flatMap(stp.leadsOf);

  /** Seconds as the largest unit of which the last lead time has at least two. */
  function unitOf(seconds) {
    return UNITS.find(([, one]) => seconds >= 2 * one) ?? UNITS.at(-1);
  }

  /** Ticks of the lead axis: steps, and below them the time where the data say how much it is. */
  function axis(leads, step) {
    const [first, last] = [leads[0], leads.at(-1)];
    const every = [1, 2, 5, 10, 20, 50, 100].find((n) => (last - first) / n <= (evaluations.narrow() ? 4 : 8)) ?? 200;
    const ticks = leads.filter((lead) => lead === first || lead % every === 0);
    const [unit, size] = unitOf((step ?? 0) * last);
    return {
      title: {text: step ? `lead time [steps; ${unit}]` : "lead time [steps]"},
      tickvals: ticks,
      ticktext: ticks.map((lead) => (step ? `${lead}<br>${Number((lead * step / size).toPrecision(3))}` : String(lead))),
    };
  }

  /** A line of a model: mean over seeds at each lead, and the band of a single seed. */
  function lineOf(line, rows) {
    const seeds = line.cells.map((cell) => rows.find((row) => row.cell === cell));
    const known = seeds.filter((row) => row?.values);
    if (!known.length || known.length < seeds.length) return null;
    const {at_leads: leads} = known[0];
    const at = (row, lead) => row.values[row.at_leads.indexOf(lead)] ?? null;
    return {
      ...line, at_leads: leads, seeds: known,
      values: leads.map((lead) => evaluations.overSeeds(known.map((row) => at(row, lead))).mean),
      sd: leads.map((lead) => evaluations.overSeeds(known.map((row) => at(row, lead))).sd),
      low: known.length === 1 ? known[0].low : null,
      high: known.length === 1 ? known[0].high : null,
      n: Math.min(...known.map((row) => row.n)), clusters: known[0].clusters,
    };
  }

  /** Marks of a line; cells: its seeds, or one of them. */
  const marksOf = (about, line, cells, part) => line.at_leads.map((lead, i) => evaluations.mark(
    `${about}, lead time ${lead}`,
    {value: line.values[i], low: line.low?.[i], high: line.high?.[i], sd: line.sd?.[i], cells, where: lead}, part));

  function traces(lines, hidden, part) {
    return lines.flatMap((line) => {
      const {line: drawn, marker} = evaluations.style(line.model);
      const shared = {legendgroup: line.label, visible: hidden.has(line.label) ? "legendonly" : true};
      const made = [];
      if (line.low) {
        const held = line.at_leads.map((_, i) => i).filter((i) => line.low[i] !== null && line.high[i] !== null);
        made.push({...shared, name: `${line.label}, 95 % band`, showlegend: false, hoverinfo: "skip",
          mode: "lines", line: {width: 0}, fill: "toself", fillcolor: evaluations.faint(line.model, lines.length > 6 ? 0.08 : 0.16),
          x: [...held, ...[...held].reverse()].map((i) => line.at_leads[i]),
          y: [...held.map((i) => line.low[i]), ...[...held].reverse().map((i) => line.high[i])]});
      }
      if (line.seeds.length > 1) {
        line.seeds.forEach((row) => made.push({...shared, showlegend: false, mode: "lines", opacity: 0.5,
          name: `${line.label}, seed ${stp.core().cells[row.cell].seed}`,
          x: row.at_leads, y: row.values, line: {...drawn, width: 1},
          marks: marksOf(`${line.label}, seed ${stp.core().cells[row.cell].seed}`, row, [row.cell], part)}));
      }
      made.push({...shared, name: line.label, mode: "lines+markers", x: line.at_leads, y: line.values,
        line: drawn, marker, marks: marksOf(line.label, line, line.cells, part)});
      return made;
    });
  }

  /** What the chart shows: who leads at the first and at the last lead time, and from where to where. */
  function description(lines, convention, name) {
    const [first, last] = [lines[0].at_leads[0], lines[0].at_leads.at(-1)];
    const value = (line, lead) => line.values[line.at_leads.indexOf(lead)] ?? null;
    const leader = (lead) => evaluations.best(lines, convention, (line) => value(line, lead));
    const say = (lead) => `${leader(lead).label} (${number(value(leader(lead), lead))})`;
    let text = `${name} over lead times ${first} to ${last}; ${evaluations.direction(convention).text}.`;
    if (leader(first)) text += ` Best at lead time ${first}: ${say(first)}`;
    if (leader(first) && last > first && leader(last)) {
      const moved = leader(first);
      text += `; at ${last}: ${say(last)}. ${moved.label} goes from ${number(value(moved, first))} `
        + `to ${number(value(moved, last))}`;
    }
    const banded = lines.filter((line) => line.low).length;
    const several = lines.filter((line) => line.seeds.length > 1).length;
    text += leader(first) ? "." : "";
    text += banded ? " Bands are 95 % intervals over clusters of test samples." : "";
    text += several ? " Thin lines are single seeds, the thick line is their mean." : "";
    return text + (banded || several ? "" : ` Without intervals: ${evaluations.reasons(lines.flatMap((line) => line.seeds), "none were made")}.`);
  }

  function numbers(lines, part) {
    return {
      columns: [
        {key: "label", title: "Model"},
        {key: "lead", title: "Lead time", numeric: true},
        {key: "value", title: "Value", numeric: true, cell: (row) => evaluations.value(row.value, row.cells, part, row.lead)},
        {key: "low", title: "95 % from", numeric: true},
        {key: "high", title: "to", numeric: true},
        {key: "sd", title: "SD over seeds", numeric: true},
        {key: "n", title: "Samples", numeric: true},
        {key: "clusters", title: "Clusters", numeric: true},
        {key: "why", title: "Why no interval"},
      ],
      rows: lines.flatMap((line) => line.at_leads.map((lead, i) => ({
        label: line.label, cells: line.cells, lead, value: line.values[i], low: line.low?.[i] ?? null,
        high: line.high?.[i] ?? null, sd: line.sd[i], n: line.n, clusters: line.clusters,
        why: line.low?.[i] != null ? "" : line.seeds.length > 1 ? "several seeds" : line.seeds[0].reason ?? "",
      }))),
    };
  }

  stp.section({
    id: "lead-time",
    title: "Lead time",
    about: "How scores change with the lead time. Click a name in the legend, or a box above the chart, to hide a model.",
    has: () => evaluations.list().some((one) => rowsOf(one).some((row) => row.values !== null)),
    draw(root) {
      const valued = (row) => row.values !== null;
      const chosen = stp.filters(root, [
        ...evaluations.choices(undefined, (one) => rowsOf(one).some(valued)),
        {key: "metric", label: "Metric", options: (so) => {
          const one = evaluations.chosenOf(so);
          return evaluations.parts(one, rowsOf(one), valued);
        }},
      ]);
      const one = evaluations.chosenOf(chosen);
      const rows = rowsOf(one).filter((row) => evaluations.partId(row) === chosen.metric);
      evaluations.whose(root, evaluations.cellsOf(one));
      if (!stp.data("leads").complete) {
        root.append(h("p", {class: "note"}, "Only conventions of the tables of results; all would "
          + "make this page too large. The view by_lead of the results store has them."));
      }
      const all = [...one.models.values()];
      const lines = all.map((line) => lineOf(line, rows)).filter((line) => line);
      if (!rows.length) return evaluations.absent(root, `Nothing is scored on ${
        one.label} yet; ${stp.command(one.dimension)} does it.`);
      const name = evaluations.partText(one, rows[0]);
      const lacking = all.filter((line) => !lines.some((found) => found.label === line.label));
      if (!lines.length) {
        return evaluations.absent(root, `${name} has no values over lead time on ${one.label}: `
          + `${evaluations.reasons(rows, "it is one value of all lead times together")}. Choose another metric.`);
      }
      if (lacking.length) {
        root.append(h("p", {class: "note"},
          `Without values over lead time: ${evaluations.joined(lacking.map((line) => line.label))}.`));
      }
      const hidden = evaluations.switches(root, lines.map((line) => line.label));
      const {convention} = rows[0];
      const leads = [...new Set(lines.flatMap((line) => line.at_leads))].sort((a, b) => a - b);
      stp.plot(root, {
        name: "lead-time",
        title: `${one.label}: ${name}`,
        description: description(lines, convention, name),
        traces: traces(lines, hidden, rows[0]),
        layout: {
          height: evaluations.height(lines.length),
          xaxis: axis(leads, stp.data("leads").steps[lines[0].cells[0]]),
          yaxis: {title: {text: evaluations.axisTitle(name, one, rows[0])}},
        },
        numbers: () => numbers(lines, rows[0]),
      });
    },
  });
})();
