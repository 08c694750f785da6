"use strict";
// The questionnaire: shows one question at a time, keeps answers in localStorage, and saves them as
// a CSV file. It knows choices by opaque ids only. What differs by the kind of item: `beside` is what is
// shown beside the choices; in a study with a `round` a browser keeps the name of its rater; with a
// `session` the page is for one rater, who says with a slider how good a video is.
(() => {
  const study = JSON.parse(document.getElementById("study").textContent);
  const byId = (id) => document.getElementById(id);
  const rates = study.item === "rating";
  const joined = (...parts) => parts.filter(Boolean).join("-");
  const STORAGE = joined("human-study", study.study, study.round, study.rater, study.session);
  const RATER = `human-study-${study.study}-rater`; // of all rounds
  const COLUMNS = ["study", "rater", "age", "gender", "position", "question", "choice", "shown", "seconds", "answered_at"];

  // -- random order and stored state

  // A random whole number in 0..n-1.
  function below(n) {
    const limit = 2 ** 32 - (2 ** 32 % n);
    const word = new Uint32Array(1);
    do crypto.getRandomValues(word); while (word[0] >= limit);
    return word[0] % n;
  }

  function shuffled(list) {
    const result = [...list];
    for (let i = result.length - 1; i > 0; i--) {
      const j = below(i + 1);
      [result[i], result[j]] = [result[j], result[i]];
    }
    return result;
  }

  function newRater() {
    const bytes = crypto.getRandomValues(new Uint8Array(8));
    return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  }

  function knownRater() {
    try {
      return study.round && localStorage.getItem(RATER);
    } catch {
      return null;
    }
  }

  // Questions that the rater answered in an earlier round are for others.
  const rater = study.rater || knownRater() || newRater();
  const training = new Set(study.training.map((question) => question.id)); // comes first, and is not saved
  const asked = [...study.training, ...study.questions].filter((question) => !question.answered_by?.includes(rater));
  const questions = new Map(asked.map((question) => [question.id, question]));

  // Questions, and the predictions of each question, are in a random order for each rater.
  function newState(name) {
    const shown = {}, ids = [...questions.keys()];
    for (const question of questions.values()) shown[question.id] = shuffled(question.choices);
    return {
      rater: name,
      begun: false, finished: false, age: "", gender: "", at: 0,
      order: [...shuffled(ids.filter((id) => training.has(id))), ...shuffled(ids.filter((id) => !training.has(id)))],
      shown, answers: {}, seconds: {},
    };
  }

  let stored = null; // the state in localStorage, as this page last read or wrote it

  function load() {
    try {
      stored = localStorage.getItem(STORAGE);
      const old = JSON.parse(stored);
      if (old && old.order.length === questions.size && old.order.every((id) => questions.has(id))) return old;
    } catch { /* nothing, or nothing usable */ }
    return newState(rater);
  }

  // If another window with this page has continued, or has deleted the answers, this one is outdated:
  // it loads the stored state, so that deleted answers do not come back.
  function keep(leaving = false) {
    try {
      if (localStorage.getItem(STORAGE) === stored) {
        const text = JSON.stringify(state);
        localStorage.setItem(STORAGE, text); // fails where there is no room
        if (study.round) localStorage.setItem(RATER, state.rater);
        stored = text;
      } else if (!leaving) {
        location.reload();
      }
    } catch {
      byId("unkept").hidden = false;
    }
  }

  let state = load();

  // -- moving pictures: one clock for all clips of a question

  const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const PAUSE = 4; // frames that the last one stays, so that the end can be seen
  let clips = []; // {canvas, sheets: [given, rest]}; of ratings enlarged, the pictures of all frames
  let loading = null; // the clips of the question that was asked last
  let frames = 0, given = 0, frame = 0, playing = !reduced, since = 0;

  function picture(id) {
    const image = new Image();
    image.src = study.pictures[id].uri;
    return { ...study.pictures[id], image, ready: image.decode() };
  }

  function drawFrame(canvas, sheet, i) {
    const [width, height] = sheet.size, [across, down] = sheet.pitch;
    const x = (i % sheet.columns) * across, y = Math.floor(i / sheet.columns) * down;
    canvas.getContext("2d").drawImage(sheet.image, x, y, width, height, 0, 0, width, height);
  }

  // All frames of a video, as high as videos of a study of ratings are at least.
  function enlarged(sheet) {
    const [width, height] = sheet.size, [wide, high] = shownSize(sheet);
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    return Array.from({ length: sheet.frames }, (_, i) => {
      drawFrame(canvas, sheet, i);
      const picture = canvas.getContext("2d", { willReadFrequently: true }).getImageData(0, 0, width, height);
      return high > height ? bicubic(picture, wide, high) : picture;
    });
  }

  function shownSize({ size: [width, height] }) {
    const factor = Math.max(1, (study.height ?? 0) / height);
    return [Math.round(width * factor), Math.round(height * factor)];
  }

  function draw() {
    const ahead = given && frame >= given;
    for (const { canvas, sheets, pictures } of clips) {
      if (pictures) canvas.getContext("2d").putImageData(pictures[frame], 0, 0);
      else if (frame < given) drawFrame(canvas, sheets[0], frame);
      else drawFrame(canvas, sheets.at(-1), frame - given);
      canvas.classList.toggle("ahead", Boolean(ahead));
    }
    byId("seek").value = frame;
    const stage = !given ? "" : ahead ? ": to predict" : ": given";
    byId("frame").textContent = `${frame + 1} of ${frames}${stage}`;
    byId("frame").classList.toggle("ahead", Boolean(ahead));
    byId("seek").setAttribute("aria-valuetext", byId("frame").textContent);
  }

  function tick(now) {
    const step = 1000 / study.frames_per_second;
    const stays = frame === frames - 1 && !rates ? PAUSE * step : step;
    if (playing && frames && now - since >= stays) {
      frame = (frame + 1) % frames;
      since = now;
      draw();
    }
    requestAnimationFrame(tick);
  }

  function play(on) {
    playing = on;
    since = performance.now();
    byId("play").textContent = on ? "Pause" : "Play";
  }

  // -- seconds for which a question is visible

  let clock = 0;
  function count(visible = !document.hidden) {
    const now = performance.now();
    if (visible && !byId("ask").hidden) {
      const id = state.order[state.at];
      state.seconds[id] = (state.seconds[id] || 0) + (now - clock) / 1000;
    }
    clock = now;
  }

  // -- the screen

  function show(section) {
    for (const id of ["start", "ask", "end"]) byId(id).hidden = id !== section;
    byId(`${section}-title`).focus();
    scrollTo(0, 0);
  }

  function candidate(id, letter) {
    const label = document.createElement("label");
    label.className = "clip";
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true");
    const name = document.createElement("span");
    name.className = "name";
    const input = document.createElement("input");
    Object.assign(input, { type: "radio", name: "choice", value: id });
    input.setAttribute("aria-label", `${study.choice} ${letter}`);
    input.setAttribute("aria-keyshortcuts", String(study.letters.indexOf(letter) + 1));
    name.append(input, letter);
    label.append(canvas, name);
    return { label, canvas };
  }

  function caption(figure, text) {
    figure.querySelector("figcaption").textContent = text;
    const canvas = figure.querySelector("canvas");
    canvas.setAttribute("aria-label", text);
    return canvas;
  }

  // The video to rate, beside the natural one.
  function toRate() {
    const figure = byId("real").cloneNode(true);
    figure.id = "rated";
    return { label: figure, canvas: caption(figure, study.choice) };
  }

  function answered() {
    return Object.keys(state.answers).filter((id) => !training.has(id)).length;
  }

  async function ask() {
    const id = state.order[state.at];
    const question = questions.get(id);
    const total = state.order.length - training.size;
    byId("ask-title").textContent = training.has(id)
      ? `Training ${state.at + 1} of ${training.size}`
      : `Question ${state.at + 1 - training.size} of ${total}`;
    byId("progress").max = total;
    byId("progress").value = answered();
    byId("back").disabled = state.at === 0;
    byId("broken").hidden = true;
    clips = [];
    frames = 0;
    byId("frame").textContent = "";
    const context = question.given ? [picture(question.given)] : [];
    const next = question.beside
      ? [{ canvas: byId("real").querySelector("canvas"), sheets: [...context, picture(question.beside)] }] : [];
    const labels = state.shown[id].map((name, i) => {
      const { label, canvas } = rates ? toRate() : candidate(name, study.letters[i]);
      next.push({ canvas, sheets: [...context, picture(name)] });
      return label;
    });
    const [width, height] = shownSize(next[0].sheets[0]);
    for (const { canvas } of next) Object.assign(canvas, { width, height });
    if (rates) {
      byId("rated")?.remove();
      byId("real").after(...labels);
      byId("rating").value = state.answers[id]?.choice ?? 50;
    } else {
      byId("candidates").replaceChildren(...labels);
    }
    for (const input of document.getElementsByName("choice")) input.checked = input.value === state.answers[id]?.choice;
    refresh();
    if (byId("ask").hidden) clock = performance.now();
    show("ask");
    loading = next;
    try {
      // All clips start together, once the last one is decoded.
      await Promise.all(next.flatMap((clip) => clip.sheets.map((sheet) => sheet.ready)));
    } catch {
      byId("broken").hidden = false;
      return;
    }
    if (loading !== next) return; // the rater has gone to another question
    if (rates) for (const clip of next) clip.pictures = enlarged(clip.sheets[0]);
    clips = next;
    given = context.length && context[0].frames;
    frames = given + next[0].sheets.at(-1).frames;
    frame = 0;
    byId("seek").max = frames - 1;
    play(playing);
    draw();
  }

  function refresh() {
    const answer = state.answers[state.order[state.at]];
    byId("next").disabled = !answer;
    byId("rating-value").textContent = answer ? answer.choice : "not rated yet";
  }

  function choose(choice) {
    const id = state.order[state.at];
    count();
    state.answers[id] = { choice, seconds: state.seconds[id] || 0, at: new Date().toISOString() };
    keep();
    if (rates && !training.has(id)) remember(Date.now());
    byId("progress").value = answered();
    refresh();
  }

  function go(to) {
    count();
    if (to < 0) return;
    if (to >= state.order.length) return finish();
    state.at = to;
    keep();
    ask();
  }

  function finish() {
    count();
    state.finished = true;
    keep();
    const done = answered();
    byId("sum").textContent = questions.size
      ? `You answered ${done} of ${state.order.length - training.size} questions.`
      : "You have answered all of these questions before: they are for other people.";
    byId("again").hidden = !questions.size;
    byId("save").disabled = done === 0;
    frames = 0;
    show("end");
  }

  // -- the file of answers

  function field(value) {
    const text = String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv() {
    const lines = [COLUMNS];
    state.order.forEach((id, position) => {
      const answer = state.answers[id];
      if (!answer || training.has(id)) return;
      lines.push([
        study.study, state.rater, state.age, state.gender, position + 1 - training.size, id, answer.choice,
        state.shown[id].join(" "), answer.seconds.toFixed(1), answer.at,
      ]);
    });
    return lines.map((line) => line.map(field).join(",") + "\n").join("");
  }

  function save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.download = `${joined("answers", study.study, state.rater, study.round, study.session)}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  // -- sessions of a rater, which have to be apart

  const session = (number) => `human-study-${study.study}-${study.rater}-session-${number}`;

  function remember(moment) {
    try {
      localStorage.setItem(session(study.session), moment);
    } catch { /* whoever reads the answers sees their times */ }
  }

  // A text about the previous session, and whether this one is too early.
  function wait() {
    if (!rates || study.session === 1) return ["", false];
    let last = null;
    try {
      last = localStorage.getItem(session(study.session - 1));
    } catch { /* nothing is known */ }
    const next = last && Number(last) + study.hours * 3600e3;
    if (next > Date.now()) return [`This session can begin on ${new Date(next).toLocaleString()}. Please load the page again then.`, true];
    return [`This is session ${study.session} of ${study.sessions}: please begin ${study.hours} hours after the one before, or later.`, false];
  }

  // -- events

  byId("consent-form").addEventListener("submit", (event) => {
    event.preventDefault();
    Object.assign(state, { begun: true, age: byId("age").value, gender: byId("gender").value });
    keep();
    ask();
  });
  byId("answer").addEventListener("change", (event) => {
    if (["choice", "rating"].includes(event.target.name)) choose(event.target.value);
  });
  byId("rating").addEventListener("input", () => { byId("rating-value").textContent = byId("rating").value; });
  // A click on the initial place of the slider causes no event `input`.
  byId("rating").addEventListener("pointerup", () => choose(byId("rating").value));
  byId("answer").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!byId("next").disabled) go(state.at + 1);
  });
  byId("back").addEventListener("click", () => go(state.at - 1));
  byId("skip").addEventListener("click", () => {
    delete state.answers[state.order[state.at]];
    go(state.at + 1);
  });
  byId("finish").addEventListener("click", finish);
  byId("again").addEventListener("click", () => {
    state.finished = false;
    keep();
    ask();
  });
  byId("save").addEventListener("click", save);
  byId("forget").addEventListener("click", () => {
    load(); // answers that another window has stored go, too
    state = newState(study.rater || newRater());
    keep();
    // Without reloading the page: it could be loaded before the new state is written, and bring the
    // answers back.
    loading = null;
    frames = 0;
    playing = !reduced;
    byId("consent-form").reset();
    byId("forget").closest("details").open = false;
    show("start");
  });
  byId("play").addEventListener("click", () => play(!playing));
  byId("seek").addEventListener("input", () => {
    play(false);
    frame = Number(byId("seek").value);
    if (clips.length) draw();
  });
  // When the event comes, the visibility has changed already.
  document.addEventListener("visibilitychange", () => count(document.hidden));
  addEventListener("pagehide", () => { count(); keep(true); });
  document.addEventListener("keydown", (event) => {
    if (byId("ask").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    // Buttons, and radio buttons that are not chosen yet, use these keys themselves.
    const target = event.target;
    if (event.key === " " && target.tagName !== "BUTTON" && (target.type !== "radio" || target.checked)) {
      event.preventDefault();
      play(!playing);
    } else if (event.key === "Enter" && target.tagName !== "BUTTON" && !target.closest("#answer")) {
      if (!byId("next").disabled) go(state.at + 1);
    } else if (/^[0-9]$/.test(event.key) && !rates) {
      const inputs = [...byId("candidates").querySelectorAll("input")];
      const input = event.key === "0" ? byId("none-line").querySelector("input") : inputs[event.key - 1];
      if (!input || (event.key === "0" && !study.cannot_tell)) return;
      input.checked = true;
      input.focus({ preventScroll: true });
      choose(input.value);
    }
  });

  // -- the start

  function fill(id, values) {
    byId(`${id}-line`).hidden = !values.length;
    byId(id).append(...values.map((value) => new Option(value, value)));
  }
  fill("age", study.age_groups);
  fill("gender", study.genders);
  byId("about").hidden = !study.age_groups.length && !study.genders.length;
  document.title = byId("start-title").textContent = study.title;
  byId("intro").textContent = `${study.intro}${questions.size}.`;
  byId("real").hidden = !study.beside;
  if (study.beside) caption(byId("real"), study.beside);
  if (rates) {
    document.querySelector("main").classList.add("rates");
    for (const id of ["seek", "frame", "choose-keys", "candidates"]) byId(id).hidden = true;
    byId("rating-line").hidden = false;
  }
  if (study.cannot_tell) {
    byId("none-text").textContent = study.none_text;
    byId("none-key-text").textContent = study.none_text.toLowerCase();
  }
  byId("consent-text").textContent = study.consent;
  const [waiting, early] = wait();
  byId("note").textContent = study.note + waiting;
  byId("note").hidden = !byId("note").textContent;
  byId("begin").disabled = early;
  byId("return").textContent = study.return_to;
  byId("ask-text").textContent = study.text;
  byId("none-line").hidden = byId("none-key").hidden = !study.cannot_tell;
  byId("last-key").textContent = study.letters.length;
  byId("study-id").textContent = study.study;
  keep();
  if (state.finished || !questions.size) finish();
  else if (state.begun) ask();
  else show("start");
  requestAnimationFrame(tick);
})();

// Enlarge pictures by bicubic interpolation (Keys 1981, a = -1/2). Beyond an edge there is nothing: the
// weights of the pixels within are divided by their sum, as in Pillow.
function bicubic(picture, width, height) {
  const across = taps(picture.width, width), down = taps(picture.height, height);
  const wide = new Float32Array(picture.height * width * 3);
  for (let y = 0; y < picture.height; y++) {
    for (let x = 0; x < width; x++) {
      const { first, weights } = across[x];
      for (let channel = 0; channel < 3; channel++) {
        let sum = 0;
        for (let i = 0; i < weights.length; i++) {
          sum += weights[i] * picture.data[4 * (y * picture.width + first + i) + channel];
        }
        wide[3 * (y * width + x) + channel] = sum;
      }
    }
  }
  const result = new ImageData(width, height);
  for (let y = 0; y < height; y++) {
    const { first, weights } = down[y];
    for (let x = 0; x < width; x++) {
      const pixel = 4 * (y * width + x);
      for (let channel = 0; channel < 3; channel++) {
        let sum = 0;
        for (let i = 0; i < weights.length; i++) sum += weights[i] * wide[3 * ((first + i) * width + x) + channel];
        result.data[pixel + channel] = sum; // rounded, and clipped to 0..255
      }
      result.data[pixel + 3] = 255;
    }
  }
  return result;
}

// For each new sample: the first old one that counts, and the weights of it and those behind it.
function taps(from, to) {
  const kernel = (x) => (x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0);
  return Array.from({ length: to }, (_, i) => {
    const centre = ((i + 0.5) * from) / to;
    const first = Math.max(0, Math.trunc(centre - 1.5)), last = Math.min(from, Math.trunc(centre + 2.5));
    const weights = Array.from({ length: last - first }, (_, k) => kernel(Math.abs(first + k - centre + 0.5)));
    const sum = weights.reduce((a, b) => a + b, 0);
    return { first, weights: weights.map((weight) => weight / sum) };
  });
}
