// The parts of the page: one view for each run, and one bar of controls for all of them.
//
// One module with player.mjs, which see. A view knows nothing of the controls, so that two can stand side by side.

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
  save: "M10.7 3h2.6v9l3.2-3.2 1.8 1.8L12 17 5.7 10.6l1.8-1.8 3.2 3.2zM4 18.5h16V21H4z",
};

const icon = (name) => shape("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, shape("path", { d: ICONS[name] }));

function button(name, label, key, content = icon(name)) {
  return make("button", { type: "button", class: name, "aria-label": label, title: key ? `${label} (${key})` : label }, content);
}

const KEYS = [["→ ←", "next, back (also Page Down, Page Up)"], ["Home End", "first, last"], ["Space", "play, pause"], ["s", "speed"],
  ["b", "byte view"], ["/", "find a token"], ["d", "where two runs part"], ["f", "full screen"], ["t", "dark or light"],
  ["e", "export: SVG, PNG, JSON"], ["?", "this help"]];
const LIVE_KEYS = [["x", "take the marked token"]];
const LIVE_ROWS = 12, LIVE_FRAMES = 6; // of a run that grows nobody knows its fullest step

function buildView({ trace, svg }, name, live = null) {
  const pattern = trace.pattern?.trim().replaceAll("\n", "⏎") ?? "no constraint";
  const parts = {
    isLive: live !== null,
    root: make("section", { class: "mdp", "aria-label": name ? `run ${name}` : "A run, step by step" }),
    name, blocks: [], tail: [],
    pattern: make("code", { title: pattern, tabindex: -1 }, pattern),
    text: make("div", { class: "strip", role: "group", "aria-label": "text so far" }),
    where: make("p", { class: "where" }),
    walk: make("p", { class: "walk", role: "group", "aria-label": "the token, byte by byte" }),
    search: make("input", { type: "search", placeholder: "find", "aria-label": "find a token", autocomplete: "off", spellcheck: "false" }),
    rows: make("ol", { class: "rows" }),
    more: make("span", { class: "more" }),
    result: make("div", { class: "result", role: "group", "aria-label": "the whole result" }),
    why: make("p", { class: "why" }),
    facts: make("p", { class: "facts" }),
  };
  parts.machine = trace.machine === null ? null : machineView(svg);
  parts.stack = trace.machine === null && trace.steps.some((step) => step.stack.length) ? stackView(trace, live ? LIVE_FRAMES : 1) : null;
  parts.slots = [];
  parts.fewest = Math.max(live ? Math.min(LIVE_ROWS, trace.vocabulary_size) : 1, ...trace.steps.map((step) => step.shown.length));
  haveSlots(parts, parts.fewest);
  parts.root.classList.toggle("free", !parts.machine && !parts.stack);
  return parts;
}

function buildBar(isPair, live = null) {
  return {
    playName: live ? "run" : "play", extra: live?.controls ?? [],
    count: make("span", { class: "count" }),
    slider: make("input", { type: "range", min: 0, max: 0, value: 0, step: 1, "aria-label": "step" }),
    theme: button("theme", "dark or light", "t", icon("dark")),
    save: button("save", "export", "e", icon("save")),
    full: button("full", "full screen", "f"),
    help: button("help", "keys", "?", "?"),
    keys: make("dl", { class: "keys pop", hidden: true },
      ...KEYS.filter(([key]) => isPair || key !== "d").concat(live ? LIVE_KEYS : []).flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)])),
    saves: make("div", { class: "saves pop", role: "group", "aria-label": "export", hidden: true },
      ...["SVG", "PNG", "JSON"].map((kind) => make("button", { type: "button", class: kind.toLowerCase() }, kind))),
    first: button("first", "first", "Home"),
    back: button("back", "back", "←"),
    next: button("next", "next", "→"),
    last: button("last", "last", "End"),
    play: button("play", "play", "Space"),
    speed: button("speed", "speed", "s", "1×"),
    bytes: make("input", { type: "checkbox", class: "bytes" }),
    live: make("p", { class: "hidden", "aria-live": "polite" }),
  };
}

const toolsOf = (bar) => [make("span", { class: "tools" }, bar.theme, bar.save, bar.full, bar.help), bar.keys, bar.saves];

const controlsOf = (bar, ...more) => make("div", { class: "controls" }, bar.first, bar.back, bar.next, bar.last, bar.play, bar.speed,
  make("label", {}, bar.bytes, " byte view"), ...bar.extra, ...more);

const soFar = (view, ...more) => make("div", { class: "sofar" }, make("span", { class: "label" }, "text so far"), view.text, ...more);

function stageOf(view) {
  const picture = view.machine ?? view.stack;
  return make("div", { class: "stage" }, ...(picture ? [make("div", { class: "left" }, view.where, picture.box, view.walk)] : []),
    make("div", { class: "right" }, columnNames(view), view.rows, make("p", { class: "legend" }, ...legend(), view.more), view.result));
}

function arrangeAlone(view, bar) {
  const head = make("header", {}, make("span", { class: "label" }, "pattern"), view.pattern, ...toolsOf(bar));
  view.root.append( // in the lab the pattern stands in the form
    ...(view.isLive ? [soFar(view, bar.count, bar.slider, ...toolsOf(bar))] : [head, soFar(view, bar.count, bar.slider)]),
    stageOf(view),
    make("footer", {}, view.why, controlsOf(bar, view.facts)),
    bar.live);
  return view.root;
}

// Two runs under one bar: A at the left, or above on a phone.
function arrangePair(views, bar) {
  for (const view of views) {
    view.root.classList.add("side");
    view.root.append(make("header", {}, make("b", { class: "name" }, view.name), view.pattern), soFar(view), stageOf(view),
      make("footer", {}, view.why, view.facts));
  }
  return make("section", { class: "mdp pair", "aria-label": "Two runs, step by step" },
    make("header", {}, make("p", { class: "parting" }), bar.count, bar.slider, ...toolsOf(bar)),
    make("div", { class: "halves" }, ...views.map((view) => view.root)),
    make("footer", {}, controlsOf(bar)),
    bar.live);
}

function columnNames({ search }) {
  return make("p", { class: "columns" }, search, make("span", { class: "axis", "aria-hidden": "true" }, ...["0", "50", "100 %"].map((mark) => make("span", {}, mark))),
    ...["before", "after"].map((name) => make("span", { "aria-hidden": "true" }, name)));
}

function legend() {
  const kinds = [["before", "before the mask"], ["after", "after"], ["blocked", "✕ blocked"]];
  return [make("span", {}, "▶ drawn next"), ...kinds.map(([kind, what]) => make("span", {}, make("i", { class: `swatch ${kind}` }), what))];
}

// As many rows as the fullest step needs, made once: stepping fills them anew and moves nothing.
function haveSlots({ slots, rows }, count) {
  while (slots.length < count) {
    const slot = {
      label: make("span", { class: "token" }), track: make("span", { class: "track" }),
      was: make("span", { class: "was" }), is: make("span", { class: "is" }),
    };
    slot.row = make("button", { type: "button", class: "row" }, slot.label, slot.track, slot.was, slot.is);
    slot.item = make("li", {}, slot.row);
    rows.append(slot.item);
    slots.push(slot);
  }
}
