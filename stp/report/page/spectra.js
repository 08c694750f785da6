"use strict";
// Mean power spectra of truth and forecasts: a blurred forecast lacks power at the right.
(() => {
  const {h, number} = stp;
  const PART = {convention: "spectral_divergence.mean_spectra"};  // the score that sums them

  const RATIOS = {exponentformat: "none",
    tickvals: [-4, -3, -2, -1, 0, 1, 2].flatMap((power) => [1, 2, 5].map((n) => Number(`${n}e${power}`)))};

  function linesOf(one) {
    const {lines} = stp.data("spectra");
    return [...one.models.values()]
      .map((line) => ({...line, ...lines.find((found) => found.cells.includes(line.cells[0]))}))
      .filter((line) => line.forecast);
  }

  const ratio = (line, at) => line.forecast[at].map((power, i) =>
    (power !== null && line.truth[at][i] ? power / line.truth[at][i] : null));

  /** On a logarithmic axis there is no zero. */
  const positive = (values) => values.map((value) => (value > 0 ? value : null));

  function traces(lines, hidden, at, show) {
    const waves = lines[0].truth[at].map((_, i) => i + 1);
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    const truth = {name: "truth", mode: "lines", x: waves, line: {color: ink, width: 3},
      y: show === "ratio" ? waves.map(() => 1) : positive(lines[0].truth[at])};
    return [truth, ...lines.map((line) => {
      const {line: drawn, marker} = evaluations.style(line.model);
      const y = positive(show === "ratio" ? ratio(line, at) : line.forecast[at]);
      return {name: line.label, mode: "lines+markers", x: waves, y, line: drawn,
        marker: {...marker, size: 5}, visible: hidden.has(line.label) ? "legendonly" : true,
        marks: y.map((value, i) => evaluations.mark(`${line.label}, wavenumber ${i + 1}`,
          {value, cells: line.cells, where: "spectrum"}, PART))};
    })];
  }

  /** How much of the truth's power is left at fine scales: the upper half of the wavenumbers. */
  function fine(line, at) {
    const half = Math.floor(line.truth[at].length / 2);
    const sum = (values) => values.slice(half).reduce((total, value) => total + (value ?? 0), 0);
    return sum(line.truth[at]) ? sum(line.forecast[at]) / sum(line.truth[at]) : null;
  }

  function description(one, lines, at) {
    const count = lines[0].truth[at].length;
    const known = lines.map((line) => ({label: line.label, part: fine(line, at)}))
      .filter(({part}) => part !== null)
      .sort((a, b) => Math.abs(Math.log(a.part || 1e-9)) - Math.abs(Math.log(b.part || 1e-9)));
    const say = ({label, part}) => `${label} (${number(part * 100, 3)} %)`;
    let text = `Mean power over wavenumbers 1 to ${count} on ${one.label} at lead time ${lines[0].leads[at]}.`;
    if (known.length) {
      text += ` At fine scales (wavenumbers ${Math.floor(count / 2) + 1} and up) the power that is closest to `
        + `the truth's is that of ${say(known[0])}`;
      if (known.length > 1) text += `, and the farthest is that of ${say(known.at(-1))}`;
      text += ".";
    }
    return `${text} Frames as normalised for training, mean over test samples, channels and seeds.`;
  }

  function numbers(lines, at, show) {
    const value = (line, i) => (show === "ratio" ? ratio(line, at) : line.forecast[at])[i];
    return {
      columns: [
        {key: "wave", title: "Wavenumber", numeric: true},
        {key: "truth", title: "Truth", numeric: true},
        ...lines.map((line) => ({key: line.label, title: line.label, numeric: true,
          cell: (row) => evaluations.value(row[line.label], line.cells, PART, "spectrum")})),
      ],
      rows: lines[0].truth[at].map((truth, i) => ({
        wave: i + 1, truth: show === "ratio" ? 1 : truth,
        ...Object.fromEntries(lines.map((line) => [line.label, value(line, i)])),
      })),
    };
  }

  stp.section({
    id: "spectra",
    title: "Spectra",
    about: "Power of forecasts and truth at each spatial scale: a forecast without power at high "
      + "wavenumbers is blurred.",
    has: () => evaluations.list().some((one) => linesOf(one).length > 0),
    draw(root) {
      const chosen = stp.filters(root, [
        ...evaluations.choices(undefined, (one) => linesOf(one).length > 0),
        {key: "lead", label: "Lead time", options: (so) => {
          const leads = linesOf(evaluations.chosenOf(so))[0]?.leads ?? [1];
          return leads.map((lead, i) => [i === leads.length - 1 ? "last" : "first", `lead time ${lead}`]).reverse();
        }},
        {key: "show", label: "Show", options: [["power", "Power"], ["ratio", "Ratio to the truth"]]},
      ]);
      const one = evaluations.chosenOf(chosen);
      const cells = evaluations.cellsOf(one);
      evaluations.whose(root, cells);
      const lines = linesOf(one);
      const {unread} = stp.data("spectra");
      const why = [...new Set(cells.map((cell) => unread[cell]).filter((text) => text))];
      if (why.length) root.append(h("p", {class: "note"}, `Some spectra cannot be read: ${why.join("; ")}.`));
      if (!lines.length) {
        return evaluations.absent(root, `There are no spectra of ${one.label}: it is not scored with `
          + "spectral_divergence.mean_spectra. Add it to the metrics of its dataset or the conventions of its "
          + `suite, and run ${stp.command(one.dimension)} again.`);
      }
      const lacking = [...one.models.keys()].filter((label) => !lines.some((line) => line.label === label));
      if (lacking.length) root.append(h("p", {class: "note"}, `Without spectra: ${evaluations.joined(lacking)}.`));
      const at = chosen.lead === "first" ? 0 : lines[0].leads.length - 1;
      const hidden = evaluations.switches(root, lines.map((line) => line.label));
      stp.plot(root, {
        name: "spectra",
        title: `${one.label}, lead time ${lines[0].leads[at]}`,
        description: description(one, lines, at),
        traces: traces(lines, hidden, at, chosen.show),
        layout: {
          height: evaluations.height(lines.length),
          xaxis: {type: "log", title: {text: "wavenumber [cycles across the shorter side]"},
            tickvals: [1, 2, 5, 10, 20, 50, 100, 200, 500]},
          yaxis: {type: "log", exponentformat: "power", ...(chosen.show === "ratio" ? RATIOS : {dtick: 1}),
            title: {text: chosen.show === "ratio" ? "power / power of the truth" : "power"}},
        },
        numbers: () => numbers(lines, at, chosen.show),
      });
    },
  });
})();
