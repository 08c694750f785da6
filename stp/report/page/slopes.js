"use strict";
// From the test on the data of the training, in the dimension that another one changes from, to the tests
// of that one: a slope for each model and test.
(() => {
  const {h, number} = stp;
  const GAP = 2.6;  // between the slopes of two tests, along the axis; a slope has length 1

  /** What was trained on: [{id, label, dimension, from, tests: [evaluation, ...], base: evaluation or
   * undefined}]. */
  function series() {
    const found = new Map();
    const dimensions = evaluations.compared(false);
    for (const one of evaluations.list().filter((e) => dimensions.includes(e.dimension))) {
      const {suite, trained_on: trained, train_subset: part, source, scale} = one.first;
      const key = [suite, one.dimension, trained, part, source, scale].join("|");
      if (!found.has(key)) {
        const from = stp.core().dimensions.get(one.dimension).changes_from;
        const base = evaluations.list().find(({dimension, first}) => dimension === from
          && first.suite === suite && first.trained_on === trained && first.tested_on === trained
          && first.train_subset === part && first.subset === "test" && first.source === source
          && first.scale === scale);
        const more = [...found.values()].filter((other) => other.trained === trained).length;
        found.set(key, {trained, id: trained + (more ? `.${more}` : ""),
          label: [stp.datasetTitle(trained), part === "all" ? null : evaluations.words(part),
            dimensions.length > 1 ? evaluations.titleOf(one.dimension) : null,
            more ? source : null].filter((text) => text).join(", "),
          dimension: one.dimension, from, base, tests: []});
      }
      found.get(key).tests.push(one);
    }
    return [...found.values()];
  }

  function linesOf(chosen, part) {
    const labels = new Map(chosen.tests.flatMap((one) => [...one.models]));
    const convention = part.split("~")[0];
    return [...labels].map(([label, {model}]) => {
      const base = evaluations.measured(chosen.base?.models.get(label), part, chosen.dimension);
      const tests = chosen.tests.map((one) => {
        const there = evaluations.measured(one.models.get(label), part, chosen.dimension);
        const alike = base.equal === there.equal && (!there.equal || base.n === there.n);
        return {...there, evaluation: one,
          decline: alike ? evaluations.decline(there.value, base.value, convention) : null};
      });
      return {label, model, base, tests};
    });
  }

  /** Whether some model has a value in domain; without one there are no slopes, only points. */
  const hasBase = (lines) => lines.some((line) => line.base.value !== null);

  function traces(lines, hidden, part) {
    const sloped = hasBase(lines);
    return lines.map((line) => {
      const {line: drawn, marker} = evaluations.style(line.model);
      const points = line.tests.flatMap((there, i) => [
        ...sloped ? [{x: i * GAP, at: "in domain", ...line.base}] : [],
        {x: sloped ? i * GAP + 1 : i, at: there.evaluation.label, ...there},
        {x: null, value: null, low: null, high: null},
      ]);
      return {name: line.label, mode: "lines+markers", line: drawn, marker,
        visible: hidden.has(line.label) ? "legendonly" : true,
        x: points.map((p) => p.x), y: points.map((p) => p.value),
        marks: points.map((p) => evaluations.mark(`${line.label}, ${p.at}`, p, part)),
        error_y: {...evaluations.errorBars(points), color: drawn.color}};
    });
  }

  /** Names of other tests without what all of them repeat, broken into short lines unless the axis is turned. */
  function tick(one, isTurned) {
    const text = one.label.split(/, | -> /).slice(1).join(", ") || one.label;
    if (isTurned) return text;
    return text.split(" ").reduce((lines, word) => (
      lines.at(-1).length + word.length < 12 ? [...lines.slice(0, -1), `${lines.at(-1)} ${word}`.trim()]
        : [...lines, word]), [""]).join("<br>");
  }

  function description(chosen, lines, convention, name) {
    let text = `${name} of models trained on ${chosen.label}; ${evaluations.direction(convention).text}.`;
    chosen.tests.forEach((one, i) => {
      const best = evaluations.best(lines, convention, (line) => line.tests[i].value);
      if (best) text += ` Best on ${one.label}: ${best.label} (${number(best.tests[i].value)})`;
      const moved = lines.filter((line) => line.tests[i].decline !== null)
        .sort((a, b) => a.tests[i].decline - b.tests[i].decline);
      if (moved.length) {
        const say = (line) => `${line.label} (from ${number(line.base.value)} to `
          + `${number(line.tests[i].value)}, ${evaluations.worse(line.tests[i].decline)})`;
        text += `. The least decline there: ${say(moved[0])}`;
        if (moved.length > 1) text += `; the largest: ${say(moved.at(-1))}`;
      }
      if (best) text += ".";
    });
    const points = lines.flatMap((line) => [line.base, ...line.tests]);
    const equal = [...new Set(points.filter((p) => p.equal && Number.isFinite(p.n)).map((p) => p.n))];
    if (equal.length) text += ` Distances between sets of ${evaluations.joined(equal.map(String))} clips in every test.`;
    return text;
  }

  function numbers(lines, part) {
    return {
      columns: [
        {key: "label", title: "Model"},
        {key: "tested", title: "Tested on"},
        {key: "base", title: "In domain", numeric: true, value: (row) => row.base.value,
          cell: (row) => evaluations.value(row.base.value, row.base.cells, part, row.base.where)},
        {key: "value", title: "Here", numeric: true,
          cell: (row) => evaluations.value(row.value, row.cells, part, row.where)},
        {key: "low", title: "95 % from", numeric: true},
        {key: "high", title: "to", numeric: true},
        {key: "decline", title: "Decline", numeric: true, cell: (row) => evaluations.percent(row.decline)},
        {key: "n", title: "Samples", numeric: true},
        {key: "reason", title: "Note"},
      ],
      rows: lines.flatMap((line) => line.tests.map((there) => ({
        ...there, label: line.label, tested: there.evaluation.label, base: line.base,
        n: Number.isFinite(there.n) ? there.n : null,
        reason: [there.reason, line.base.value === null ? `in domain: ${line.base.reason}` : ""]
          .filter((text) => text).join("; "),
      }))),
    };
  }

  stp.section({
    id: "other-tests",
    title: "Other tests",
    about: "How scores change from the training dataset to other datasets.",
    has: () => series().length > 0,
    draw(root) {
      const all = series();
      const of = (so) => all.find((one) => one.id === so.trained);
      const rowsOf = (one) => one.tests.flatMap(evaluations.valuesOf);
      const chosen = stp.filters(root, [
        {key: "trained", label: "Trained on", preferred: () => all.find((one) => one.base)?.id,
          options: all.map((one) => [one.id, one.label])},
        {key: "metric", label: "Metric", options: (so) =>
          evaluations.parts(of(so).tests[0], rowsOf(of(so)), (row) => row.value !== null)},
      ]);
      const one = of(chosen);
      const tests = one.base ? [one.base, ...one.tests] : one.tests;
      evaluations.whose(root, tests.flatMap(evaluations.cellsOf));
      const row = rowsOf(one).find((r) => evaluations.partId(r) === chosen.metric);
      if (!row) return evaluations.absent(root, `No model trained on ${one.label} was scored.`);
      const name = evaluations.partText(one.tests[0], row);
      const lines = linesOf(one, chosen.metric);
      const held = lines.filter((line) => line.tests.some((there) => there.value !== null));
      if (!held.length) {
        const why = evaluations.reasons(lines.flatMap((line) => line.tests), "no value");
        return evaluations.absent(root, `${name} has no value: ${why}.`);
      }
      const sloped = hasBase(held);
      if (!sloped) {
        const why = one.base ? `${name}: ${evaluations.reasons(held.map((line) => line.base), "no value")}`
          : `${evaluations.titleOf(one.from)} on ${one.label}: not evaluated in this store`;
        root.append(h("p", {class: "absent", role: "note"},
          `No change can be shown, only values on other tests: ${why}.`));
      }
      const gaps = lines.flatMap((line) => line.tests.filter((there) => there.value === null)
        .map((there) => `${line.label} on ${there.evaluation.label} (${there.reason})`));
      if (gaps.length) root.append(h("p", {class: "note"}, `Without a value: ${gaps.join("; ")}.`));
      const hidden = evaluations.switches(root, held.map((line) => line.label));
      const isTurned = evaluations.narrow() && one.tests.length * (sloped ? 2 : 1) > 4;
      stp.plot(root, {
        name: "other-tests",
        title: `Trained on ${one.label}: ${name}`,
        description: description(one, held, row.convention, name),
        traces: traces(held, hidden, row),
        layout: {
          height: evaluations.height(held.length) + (isTurned ? 80 : 0),
          xaxis: {
            tickvals: one.tests.flatMap((_, i) => sloped ? [i * GAP, i * GAP + 1] : [i]),
            tickangle: isTurned ? -90 : 0,
            ticktext: one.tests.flatMap((test) => [
              ...sloped ? [isTurned ? "in domain" : "in<br>domain"] : [], tick(test, isTurned)]),
            range: [-0.5, sloped ? (one.tests.length - 1) * GAP + 1.5 : one.tests.length - 0.5],
          },
          yaxis: {title: {text: evaluations.axisTitle(name, one.tests[0], row)}},
        },
        numbers: () => numbers(held, row),
      });
    },
  });
})();
