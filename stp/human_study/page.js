"use strict";
// The questionnaire: shows one question at a time, keeps answers in localStorage, and saves them as
// a CSV file. It knows choices by opaque ids only. A study of pairs has `videos`: no truth is shown,
// and pages of several rounds, in which a browser keeps the name of its rater. A study of ratings has a
// `session`: the page is for one rater, who says with a slider how good a video is beside a natural one.
(() => {
  const study = JSON.parse(document.getElementById("study").textContent);
  const byId = (id) => document.getElementById(id);
  const pairs = "videos" in study;
  const rates = "session" in study;
  const part = pairs ? `-${study.round}` : rates ? `-${study.rater}-${study.session}` : "";
  const STORAGE = `human-study-${study.study}${part}`;
  const RATER = `human-study-${study.study}-rater`; // of all rounds
  const COLUMNS = ["study", "rater", "age", "gender", "position", "question", "choice", "shown", "seconds", "answered_at"];

  // -- chance and memory

  // A whole number in 0..n-1, every one equally likely.
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
      return pairs && localStorage.getItem(RATER);
    } catch {
      return null;
    }
  }

  // What a rater has answered in an earlier round is for others.
  const rater = study.rater || knownRater() || newRater();
  const training = new Set((study.training ?? []).map((question) => question.id)); // comes first, and is not saved
  const asked = [...(study.training ?? []), ...study.questions].filter((question) => !question.answered_by?.includes(rater));
  const questions = new Map(asked.map((question) => [question.id, question]));

  // Each rater sees the questions, and the predictions of each question, in an order of their own.
  function newState(name) {
    const shown = {}, ids = [...questions.keys()];
    for (const question of questions.values()) shown[question.id] = shuffled(question.choices.map((c) => c.id));
    return {
      rater: name,
      begun: false, finished: false, age: "", gender: "", at: 0,
      order: [...shuffled(ids.filter((id) => training.has(id))), ...shuffled(ids.filter((id) => !training.has(id)))],
      shown, answers: {}, seconds: {},
    };
  }

  let kept = null; // what lies in the browser, as this page knows it

  function load() {
    try {
      kept = localStorage.getItem(STORAGE);
      const found = JSON.parse(kept);
      if (found && found.order.length === questions.size && found.order.every((id) => questions.has(id))) return found;
    } catch { /* nothing, or nothing usable */ }
    return newState(rater);
  }

  // Where another window with this page has gone on since, or has deleted the answers, this one is
  // behind: it takes over what there is, lest what it knew comes back.
  function keep(leaving = false) {
    try {
      if (localStorage.getItem(STORAGE) === kept) {
        const text = JSON.stringify(state);
        localStorage.setItem(STORAGE, text); // fails where there is no room
        if (pairs) localStorage.setItem(RATER, state.rater);
        kept = text;
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

  function picture(sheet) {
    const image = new Image();
    image.src = sheet.uri;
    return { image, ready: image.decode(), frames: sheet.frames, columns: sheet.columns };
  }

  function drawFrame(canvas, sheet, i, question) {
    const [width, height] = question.size ?? study.size;
    const [across, down] = question.pitch ?? study.pitch;
    const x = (i % sheet.columns) * across, y = Math.floor(i / sheet.columns) * down;
    canvas.getContext("2d").drawImage(sheet.image, x, y, width, height, 0, 0, width, height);
  }

  // All frames of a video, as high as videos of a study of ratings are at least.
  function enlarged(sheet, question) {
    const [width, height] = question.size;
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const [wide, high] = shownSize(question);
    return Array.from({ length: sheet.frames }, (_, i) => {
      drawFrame(canvas, sheet, i, question);
      const picture = canvas.getContext("2d", { willReadFrequently: true }).getImageData(0, 0, width, height);
      return high > height ? bicubic(picture, wide, high) : picture;
    });
  }

  function shownSize(question) {
    const [width, height] = question.size ?? study.size;
    const factor = Math.max(1, (study.height ?? 0) / height);
    return [Math.round(width * factor), Math.round(height * factor)];
  }

  function draw() {
    const question = questions.get(state.order[state.at]);
    const ahead = !pairs && !rates && frame >= given;
    for (const { canvas, sheets, pictures } of clips) {
      if (pictures) canvas.getContext("2d").putImageData(pictures[frame], 0, 0);
      else if (frame < given) drawFrame(canvas, sheets[0], frame, question);
      else drawFrame(canvas, sheets[1], frame - given, question);
      canvas.classList.toggle("ahead", ahead);
    }
    byId("seek").value = frame;
    const stage = pairs || rates ? "" : ahead ? ": to predict" : ": given";
    byId("frame").textContent = `${frame + 1} of ${frames}${stage}`;
    byId("frame").classList.toggle("ahead", ahead);
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

  // -- how long a question is looked at: only while the page is visible

  let clock = 0;
  function count(visible = !document.hidden) {
    const now = performance.now();
    if (visible && !byId("ask").hidden) {
      const id = state.order[state.at];
      state.seconds[id] = (state.seconds[id] || 0) + (now - clock) / 1000;
    }
    clock = now;
  }

  // -- what is on the screen

  function show(section) {
    for (const id of ["start", "ask", "end"]) byId(id).hidden = id !== section;
    byId(`${section}-title`).focus();
    scrollTo(0, 0);
  }

  function candidate(choice, letter) {
    const label = document.createElement("label");
    label.className = "clip";
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true");
    const name = document.createElement("span");
    name.className = "name";
    const input = document.createElement("input");
    Object.assign(input, { type: "radio", name: "choice", value: choice.id });
    input.setAttribute("aria-label", `${pairs ? "Video" : "Prediction"} ${letter}`);
    input.setAttribute("aria-keyshortcuts", String(study.letters.indexOf(letter) + 1));
    name.append(input, letter);
    label.append(canvas, name);
    return { label, canvas };
  }

  // The video to rate, beside the natural one.
  function toRate() {
    const figure = byId("real").cloneNode(true);
    figure.id = "rated";
    figure.querySelector("figcaption").textContent = "Video to rate";
    figure.querySelector("canvas").setAttribute("aria-label", "Video to rate");
    return { label: figure, canvas: figure.querySelector("canvas") };
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
    const [width, height] = shownSize(question);
    const context = question.given ? picture(question.given) : { frames: 0 };
    const real = question.truth ?? question.natural;
    const made = real ? [{ canvas: byId("real").querySelector("canvas"), sheets: [context, picture(real)] }] : [];
    const labels = state.shown[id].map((name, i) => {
      const choice = question.choices.find((c) => c.id === name);
      const { label, canvas } = rates ? toRate() : candidate(choice, study.letters[i]);
      made.push({ canvas, sheets: [context, picture(pairs ? study.videos[name] : choice)] });
      return label;
    });
    for (const { canvas } of made) Object.assign(canvas, { width, height });
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
    loading = made;
    try {
      // All start together, when the last one is there.
      await Promise.all(made.flatMap((clip) => clip.sheets.map((sheet) => sheet.ready)));
    } catch {
      byId("broken").hidden = false;
      return;
    }
    if (loading !== made) return; // somebody went on
    if (rates) for (const clip of made) clip.pictures = enlarged(clip.sheets[1], question);
    clips = made;
    given = context.frames;
    frames = given + made[0].sheets[1].frames;
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
    const which = pairs ? `-${study.round}` : rates ? `-${study.session}` : "";
    link.download = `answers-${study.study}-${state.rater}${which}.csv`;
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

  // What to say of the session before, and whether it is too early.
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

  // -- what people do

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
  // Where the slider has been from the start nothing changes.
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
    load(); // what another window has kept since goes, too
    state = newState(study.rater || newRater());
    keep();
    // Not by loading the page anew: it could be there before what was just written is, and bring
    // the answers back.
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
  // At this moment the page has been what it no longer is.
  document.addEventListener("visibilitychange", () => count(document.hidden));
  addEventListener("pagehide", () => { count(); keep(true); });
  document.addEventListener("keydown", (event) => {
    if (byId("ask").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    // Buttons, and radio buttons that are not chosen yet, have a use of their own for these keys.
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

  // -- the first sight

  function fill(id, values) {
    byId(`${id}-line`).hidden = !values.length;
    byId(id).append(...values.map((value) => new Option(value, value)));
  }
  fill("age", study.age_groups);
  fill("gender", study.genders);
  byId("about").hidden = !study.age_groups.length && !study.genders.length;
  if (pairs || rates) {
    document.title = byId("start-title").textContent = study.title;
    byId("intro").textContent = `${study.intro}${questions.size}.`;
  } else {
    byId("number").textContent = questions.size;
  }
  if (rates) {
    document.querySelector("main").classList.add("rates");
    byId("real").querySelector("figcaption").textContent = "Natural video";
    byId("real").querySelector("canvas").setAttribute("aria-label", "Natural video");
    for (const id of ["seek", "frame", "choose-keys", "candidates"]) byId(id).hidden = true;
    byId("rating-line").hidden = false;
  } else if (pairs) {
    byId("real").hidden = true;
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
