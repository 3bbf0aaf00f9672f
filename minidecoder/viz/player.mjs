// The player: one recorded run to step through, by click or by key, without a kernel.
//
// Everything it shows is in model.get("recording"): {trace, svg}, the trace as minidecoder.lens.trace writes
// it and the machine as minidecoder.viz.graph drew it. Nothing is computed anew; nothing moves but what matters.
//
// In front of this file stand machine.mjs, with what concerns the machine, and tokens.mjs, with how a token is set.
// A position is (step, byte): `step` tokens have been drawn and `byte` bytes of the next one have been walked.
// Every text goes into the page through textContent, so that a token that looks like HTML is only ever text.

const BYTE_MS = 350, GLIDE_MS = 250, LONGEST_GLIDE_MS = 1000, PAUSE_MS = 1100, HURRY_MS = 300;

function render({ model, el }) {
  const { trace: sent, svg } = model.get("recording");
  const trace = { ...sent, steps: sent.steps.map((step) => ({ ...withMoves(step), candidates: step.candidates.map(withMoves) })) };
  const view = buildPage(trace, svg);
  const player = makePlayer(trace, view);
  el.append(view.root);
  const stopListening = listen(view, player);
  const resized = new ResizeObserver(player.redraw); // also tells the first size, once there is one
  resized.observe(view.machine?.box ?? view.root);
  player.go(0);
  return () => { player.pause(); resized.disconnect(); stopListening(); }; // anywidget calls this when the picture is taken away
}

const withMoves = (part) => ({ ...part, path: part.path.map(([byte, state]) => ({ byte, state })) });

export default { render };

// ---------------------------------------------------------------- building the page

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

// Icons are drawn, because few fonts have all of these signs. 24 x 24, filled.
const ICONS = {
  first: "M5 5h2.5v14H5zM20 5v14L9 12z", back: "M18 5v14L6 12z", next: "M6 5v14l12-7z", last: "M16.5 5H19v14h-2.5zM4 5v14l11-7z",
  play: "M3 5v14l9-7zM12 5v14l9-7z", pause: "M6 5h4v14H6zM14 5h4v14h-4z", dark: "M14 3a9 9 0 1 0 7 13a8 8 0 0 1-7-13z",
  light: "M12 7a5 5 0 1 0 .01 0zM11 1h2v4h-2zM11 19h2v4h-2zM1 11h4v2H1zM19 11h4v2h-4zM4 5.4 5.4 4l2.8 2.8-1.4 1.4zM15.8 17.2l1.4-1.4L20 18.6 18.6 20zM4 18.6l2.8-2.8 1.4 1.4L5.4 20zM15.8 6.8 18.6 4 20 5.4l-2.8 2.8z",
  full: "M3 3h7v2.5H5.5V10H3zM14 3h7v7h-2.5V5.5H14zM3 14h2.5v4.5H10V21H3zM18.5 14H21v7h-7v-2.5h4.5z",
};

const icon = (name) => shape("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, shape("path", { d: ICONS[name] }));

function button(name, label, key, content = icon(name)) {
  return make("button", { type: "button", class: name, "aria-label": label, title: key ? `${label} (${key})` : label }, content);
}

const KEYS = [["→ ←", "next, back (also Page Down, Page Up)"], ["Home End", "first, last"], ["Space", "play, pause"],
  ["b", "byte view"], ["f", "full screen"], ["t", "dark or light"], ["?", "this help"]];

function buildPage(trace, svg) {
  const root = make("section", { class: "mdp", tabindex: 0, "aria-label": "A run, step by step" });
  const pattern = trace.pattern?.replaceAll("\n", "⏎") ?? "no constraint";
  const parts = {
    root,
    pattern: make("code", { title: pattern }, pattern),
    theme: button("theme", "dark or light", "t", icon("dark")),
    full: button("full", "full screen", "f"),
    help: button("help", "keys", "?", "?"),
    keys: make("dl", { class: "keys", hidden: true }, ...KEYS.flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)])),
    text: make("div", { class: "strip", role: "group", "aria-label": "text so far" }),
    count: make("span", { class: "count" }),
    slider: make("input", { type: "range", min: 0, max: trace.steps.length, value: 0, step: 1, "aria-label": "step" }),
    where: make("p", { class: "where" }),
    walk: make("p", { class: "walk", role: "group", "aria-label": "the token, byte by byte" }),
    rows: make("ol", { class: "rows" }),
    more: make("span", { class: "more" }),
    result: make("div", { class: "result", role: "group", "aria-label": "the whole result" }),
    why: make("p", { class: "why" }),
    facts: make("p", { class: "facts" }),
    first: button("first", "first", "Home"),
    back: button("back", "back", "←"),
    next: button("next", "next", "→"),
    last: button("last", "last", "End"),
    play: button("play", "play", "Space"),
    bytes: make("input", { type: "checkbox", class: "bytes" }),
    live: make("p", { class: "hidden", "aria-live": "polite" }),
  };
  parts.machine = trace.machine === null ? null : machineView(svg);
  parts.slots = buildSlots(trace, parts.rows);
  arrange(parts);
  return parts;
}

function arrange(parts) {
  parts.root.classList.toggle("free", !parts.machine);
  parts.root.append(
    make("header", {}, make("span", { class: "label" }, "pattern"), parts.pattern,
      make("span", { class: "tools" }, parts.theme, parts.full, parts.help), parts.keys),
    make("div", { class: "sofar" }, make("span", { class: "label" }, "text so far"), parts.text, parts.count, parts.slider),
    make("div", { class: "stage" }, ...(parts.machine ? [make("div", { class: "left" }, parts.where, parts.machine.box, parts.walk)] : []),
      make("div", { class: "right" }, columnNames(), parts.rows, make("p", { class: "legend" }, ...legend(), parts.more), parts.result)),
    make("footer", {}, parts.why,
      make("div", { class: "controls" }, parts.first, parts.back, parts.next, parts.last, parts.play,
        make("label", {}, parts.bytes, " byte view"), parts.facts)),
    parts.live);
}

function columnNames() {
  return make("p", { class: "columns", "aria-hidden": "true" }, make("span", {}, "token"),
    make("span", { class: "axis" }, ...["0", "50", "100 %"].map((mark) => make("span", {}, mark))),
    make("span", {}, "before"), make("span", {}, "after"));
}

function legend() {
  const kinds = [["before", "before the mask"], ["after", "after"], ["blocked", "✕ blocked"]];
  return [make("span", {}, "▶ drawn next"), ...kinds.map(([kind, what]) => make("span", {}, make("i", { class: `swatch ${kind}` }), what))];
}

// As many rows as the fullest step needs, made once: stepping fills them anew and moves nothing.
function buildSlots(trace, list) {
  const count = Math.max(1, ...trace.steps.map((step) => step.candidates.length));
  return Array.from({ length: count }, () => {
    const slot = {
      label: make("span", { class: "token" }), track: make("span", { class: "track" }),
      was: make("span", { class: "was" }), is: make("span", { class: "is" }),
    };
    slot.row = make("button", { type: "button", class: "row" }, slot.label, slot.track, slot.was, slot.is);
    list.append(make("li", {}, slot.row));
    return slot;
  });
}

// ---------------------------------------------------------------- stepping

function makePlayer(trace, view) {
  const last = trace.steps.length, bytes = layOutBytes(trace);
  const at = { step: 0, byte: 0, picked: null, timer: 0, frame: 0, pressed: -HURRY_MS };
  const lengthOf = (step) => trace.steps[step]?.path.length ?? 0;

  // Who presses keys faster than the pictures move, or jumps, gets each picture at once.
  function go(step, byte = 0, moves = []) {
    cancelAnimationFrame(at.frame);
    const { root } = view, now = performance.now();
    const hurried = root.dataset.moving === "yes" || now - at.pressed < HURRY_MS || !moves.length;
    Object.assign(at, { step: Math.min(Math.max(step, 0), last), byte, picked: null, pressed: moves.length ? now : at.pressed });
    Object.assign(root.dataset, { step: at.step, byte: at.byte, steps: last, state: stateAt(trace, at) ?? "", snap: hurried ? "yes" : "no" });
    drawText(trace, view, at);
    if (view.machine && !hurried && !matchMedia("(prefers-reduced-motion: reduce)").matches) glide(moves, drawRest);
    else drawRest();
  }

  // The same position again, in a window of another size.
  function redraw() {
    if (view.root.dataset.moving === "yes") return;
    view.root.dataset.snap = "yes";
    drawText(trace, view, at);
    drawRest();
  }

  function drawRest() {
    view.root.dataset.moving = "no";
    drawCandidates(trace, view, at, pick);
    drawMachine();
    drawSentences(trace, view, at);
    keepReachable(view);
  }

  function drawMachine() {
    const { machine } = view;
    if (!machine) return;
    fit(machine);
    const walked = bytes[at.step]?.[at.byte - 1] ?? (at.byte === 0 ? bytes[at.step - 1]?.at(-1) : null);
    const chosen = at.picked ?? currentCandidate(trace, at);
    const start = trace.steps[at.step]?.state ?? stateAt(trace, at);
    markMachine(machine, stateAt(trace, at), chosen ? stopsOf(start, chosen.path) : [], chosen?.allowed === false && chosen.kind === "text");
    if (walked) putMarker(machine, between(machine, walked.from, walked.to, walked.end), isInside(walked.state));
    else putMarker(machine, null, false);
    follow(machine, walked && isInside(walked.state) ? machine.marker : machine.state(stateAt(trace, at)));
  }

  // The marker walks the bytes one after another; the bars change when it has arrived.
  function glide(moves, then) {
    const each = view.bytes.checked ? BYTE_MS : Math.min(GLIDE_MS, LONGEST_GLIDE_MS / moves.length);
    const began = performance.now();
    view.root.dataset.moving = "yes";
    view.machine.state(moves[0].from)?.classList.remove("live");
    const tick = (now) => {
      const done = Math.max(0, now - began) / each, move = moves[Math.min(Math.floor(done), moves.length - 1)];
      if (done >= moves.length) return then();
      const t = done % 1, eased = t * t * (3 - 2 * t);
      putMarker(view.machine, between(view.machine, move.from, move.to, move.start + (move.end - move.start) * eased), true);
      follow(view.machine, view.machine.marker);
      at.frame = requestAnimationFrame(tick);
    };
    at.frame = requestAnimationFrame(tick);
  }

  function next() {
    if (at.step >= last) return pause();
    const rest = bytes[at.step].slice(at.byte);
    if (view.bytes.checked && at.byte + 1 < lengthOf(at.step)) go(at.step, at.byte + 1, rest.slice(0, 1));
    else go(at.step + 1, 0, view.bytes.checked ? rest.slice(0, 1) : rest);
  }

  function back() {
    pause();
    if (!view.bytes.checked) return go(at.byte > 0 ? at.step : at.step - 1);
    if (at.byte > 0) return go(at.step, at.byte - 1);
    go(at.step - 1, Math.max(0, lengthOf(at.step - 1) - 1));
  }

  function pick(candidate) {
    pause();
    at.picked = candidate;
    view.root.dataset.snap = "yes";
    drawRest();
  }

  function play() {
    if (at.timer) return pause();
    if (at.step >= last) go(0);
    const beat = () => { next(); at.timer = at.step < last ? setTimeout(beat, PAUSE_MS) : pause(); };
    at.timer = setTimeout(beat, 300);
    showPlaying(view, true);
  }

  function pause() {
    clearTimeout(at.timer);
    at.timer = 0;
    showPlaying(view, false);
  }

  return { go: (step) => { pause(); go(step); }, next: () => { pause(); next(); }, back, play, pause, redraw, stay: () => go(at.step, at.byte), last };
}

function showPlaying(view, playing) {
  view.play.replaceChildren(icon(playing ? "pause" : "play"), playing ? " pause" : " play");
  view.play.setAttribute("aria-label", playing ? "pause" : "play");
}

// The state after the bytes walked so far.
function stateAt(trace, at) {
  const step = trace.steps[at.step];
  if (!step) return trace.steps.at(-1)?.state_after ?? null;
  return at.byte > 0 ? step.path[at.byte - 1].state : step.state;
}

function currentCandidate(trace, at) {
  const step = trace.steps[at.step];
  return step?.candidates.find((candidate) => candidate.token_id === step.token_id) ?? null;
}

// ---------------------------------------------------------------- drawing one position

// What the tokens spell, where a block alone does not show it: a character cut into bytes.
function spelled(trace, at) {
  const moves = trace.steps.slice(0, at.step).flatMap((step) => step.path).concat(trace.steps[at.step]?.path.slice(0, at.byte) ?? []);
  const text = new TextDecoder().decode(Uint8Array.from(moves, (move) => move.byte), { stream: true });
  return /[^\x00-\x7f]/.test(text) ? `reads ${text}` : "";
}

function drawText(trace, view, at) {
  const done = trace.steps.slice(0, at.step).map((step, i) => tokenBlock(step, i === at.step - 1 ? " newest" : ""));
  const pending = at.byte || view.bytes.checked ? trace.steps[at.step]?.path ?? [] : [];
  const half = pending.length ? [make("span", { class: "block half" }, ...pending.map((m, i) => byteBox(m.byte, progress(i, at, view))))] : [];
  view.text.replaceChildren(...done, ...half, make("span", { class: "caret" }), make("span", { class: "spelled" }, spelled(trace, at)));
  view.text.scrollLeft = view.text.scrollWidth;
  markCut(view);
  view.count.textContent = `step ${at.step} / ${trace.steps.length}`;
  view.slider.value = at.step;
  view.slider.setAttribute("aria-valuetext", `step ${at.step} of ${trace.steps.length}`);
  view.back.disabled = view.first.disabled = at.step === 0 && at.byte === 0;
  view.next.disabled = view.last.disabled = at.step === trace.steps.length;
}

// Whether the byte at `index` of the token has been walked, or is next.
const progress = (index, at, view) => (index < at.byte ? "done" : index === at.byte && view.bytes.checked ? "pending" : "");

const markCut = ({ text }) => text.classList.toggle("cut", text.scrollLeft > 1);

function drawCandidates(trace, view, at, pick) {
  const step = trace.steps[at.step], candidates = step?.candidates ?? [];
  view.slots.forEach((slot, i) => {
    const candidate = candidates[i];
    slot.row.disabled = !candidate;
    slot.row.onclick = candidate ? () => pick(candidate) : null;
    fillSlot(slot, candidate, Boolean(candidate) && candidate.token_id === step.token_id, at.picked ?? currentCandidate(trace, at));
  });
  const shown = view.slots.find((slot) => slot.row.classList.contains("shown"))?.row;
  if (shown) view.rows.scrollTop = Math.min(Math.max(view.rows.scrollTop, shown.offsetTop + shown.offsetHeight - view.rows.clientHeight), shown.offsetTop);
  const hidden = trace.vocabulary_size - candidates.length;
  view.more.textContent = step && hidden > 0 ? `and ${hidden.toLocaleString("en")} more` : "";
  view.root.classList.toggle("ended", !step);
  view.result.replaceChildren(...(step ? [] : wholeResult(trace)));
}

function fillSlot(slot, candidate, drawn, shown) {
  const asked = candidate?.logit !== null || candidate?.before !== 1;
  slot.row.className = ["row", candidate?.kind, candidate && !candidate.allowed && "blocked", drawn && "drawn",
    candidate && candidate === shown && "shown"].filter(Boolean).join(" ");
  slot.label.replaceChildren(...(candidate ? labelOf(candidate) : []));
  slot.label.title = candidate?.label ?? "";
  slot.label.classList.toggle("faint", FAINT.test(candidate?.label ?? ""));
  slot.track.replaceChildren(...(candidate ? bars(asked ? candidate.before : 0, candidate.after) : []));
  slot.was.textContent = candidate ? (asked ? percent(candidate.before) : "not asked") : "";
  slot.is.textContent = !candidate ? "" : candidate.allowed ? percent(candidate.after) : "✕";
  if (candidate?.allowed === false) slot.is.append(make("span", { class: "hidden" }, "blocked"));
  slot.row.setAttribute("aria-pressed", String(Boolean(candidate) && candidate === shown));
}

function drawSentences(trace, view, at) {
  const step = trace.steps[at.step], candidate = at.picked ?? currentCandidate(trace, at);
  const accepting = trace.machine?.states.some((s) => s.name === stateAt(trace, at) && s.accepting);
  const inside = isInside(stateAt(trace, at) ?? ""), drawn = view.machine?.state(stateAt(trace, at));
  const where = [inside && "inside a character", accepting && "accepting", !inside && !drawn && "not drawn"].filter(Boolean);
  view.where.replaceChildren("state ", make("b", {}, stateAt(trace, at) ?? "–"), ...where.map((what) => ` · ${what}`));
  view.walk.replaceChildren(...(candidate && step.state ? walkOf(step.state, candidate, at, view) : ["\u00a0"]));
  view.why.replaceChildren(...withCode(step ? reason(step, candidate, at) : ending(trace)));
  view.facts.replaceChildren(...withCode(step ? facts(trace, step) : "\u00a0"));
  view.facts.title = view.facts.textContent;
  view.live.textContent = `Step ${at.step} of ${trace.steps.length}${step?.state ? `, state ${stateAt(trace, at)}` : ""}. ${view.why.textContent}`;
}

// A part that scrolls must be reachable by key; one that does not should be no stop on the way.
function keepReachable(view) {
  for (const part of [view.pattern, view.text, view.machine?.box, view.walk, view.why, view.result].filter(Boolean)) {
    part.tabIndex = part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1 ? 0 : -1;
  }
}

// Why the shown token lives or dies; of its own accord, first why the model did not get its favourite.
function reason(step, candidate, at) {
  if (!candidate?.why) return unconstrained(step);
  const favourite = step.candidates.find((c) => c.token_id === step.favourite);
  return step.favourite_blocked && favourite && !at.picked ? `${favourite.why} ${candidate.why}` : candidate.why;
}

const unconstrained = (step) => `No constraint: every token may follow. \`${step.label}\` is drawn with probability ${percent(step.probability)}.`;

// s1 .→ s2 5→ s3: the states between the bytes of a token.
function walkOf(start, candidate, at, view) {
  const moves = candidate.path.flatMap((move, i) => [" ", byteBox(move.byte, at.picked ? "" : progress(i, at, view)), " → ",
    move.state === "dead" ? make("b", { class: "dead" }, "✕") : make("b", {}, move.state)]);
  return [make("b", {}, start), ...moves];
}

function facts(trace, step) {
  const allowed = `allowed ${step.allowed_count.toLocaleString("en")} of ${trace.vocabulary_size.toLocaleString("en")}`;
  if (step.feasible_mass === null) return `${allowed} · the model is not asked`;
  const favourite = step.candidates.find((candidate) => candidate.token_id === step.favourite);
  const overruled = step.favourite_blocked && favourite ? ` · favourite \`${favourite.label}\` ✕ blocked` : "";
  return `${allowed} · mass kept ${percent(step.feasible_mass)}${overruled}`;
}

function ending(trace) {
  if (trace.finish_reason === "stop") return "The text has ended with EOS: nothing may follow.";
  return `Stopped at the token limit${trace.is_complete ? "." : ": the text is not a whole match yet."}`;
}

// ---------------------------------------------------------------- clicks, keys, theme

function listen(view, player) {
  const { root } = view;
  const on = (node, action) => node.addEventListener("click", action);
  const toggleHelp = () => showHelp(view, view.keys.hidden);
  const toggleFull = () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen());
  view.full.hidden = !document.fullscreenEnabled; // an iPhone has none
  on(view.first, () => player.go(0));
  on(view.back, player.back);
  on(view.next, player.next);
  on(view.last, () => player.go(player.last));
  on(view.play, player.play);
  on(view.help, toggleHelp);
  on(view.full, toggleFull);
  view.bytes.addEventListener("change", player.stay);
  view.text.addEventListener("scroll", () => markCut(view));
  view.slider.addEventListener("input", () => player.go(Number(view.slider.value)));
  const actions = {
    ArrowRight: player.next, ArrowLeft: player.back, PageDown: player.next, PageUp: player.back,
    Home: () => player.go(0), End: () => player.go(player.last), " ": player.play, b: () => view.bytes.click(),
    f: () => view.full.hidden || toggleFull(), t: () => view.theme.click(), "?": toggleHelp,
  };
  root.addEventListener("keydown", (event) => {
    if (event.key !== "?") showHelp(view, false);
    onKey(event, actions);
  });
  root.addEventListener("pointerdown", (event) => { if (!event.target.closest("button, input, label")) root.focus({ preventScroll: true }); });
  return followTheme(view);
}

function showHelp(view, shown) {
  view.keys.hidden = !shown;
  view.help.setAttribute("aria-expanded", String(shown));
}

// subtle: in a notebook the page has keys of its own (b inserts a cell, d d deletes one). A key without Ctrl
// or ⌘ goes no further than this; with them, and anywhere else on the page, keys are left alone.
function onKey(event, actions) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.stopPropagation();
  const onButton = event.target.closest("button, input[type=checkbox]") && event.key === " ";
  const action = actions[event.key];
  if (!action || onButton) return;
  event.preventDefault();
  action();
}

// The notebook's theme if there is one, else the reader's system, until the button says otherwise.
function followTheme(view) {
  const { body } = document;
  const show = (dark) => {
    view.root.dataset.theme = dark ? "dark" : "light";
    view.theme.replaceChildren(icon(dark ? "light" : "dark"));
  };
  const inNotebook = () => show(body.dataset.jpThemeLight === "false");
  const changes = new MutationObserver(inNotebook);
  if (body.dataset.jpThemeLight === undefined) show(matchMedia("(prefers-color-scheme: dark)").matches);
  else {
    inNotebook();
    changes.observe(body, { attributeFilter: ["data-jp-theme-light"] });
  }
  view.theme.addEventListener("click", () => {
    changes.disconnect();
    show(view.root.dataset.theme === "light");
  });
  return () => changes.disconnect();
}
