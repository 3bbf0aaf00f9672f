// The player: one recorded run, or two side by side, to step through by click or by key, without a kernel.
//
// Everything it shows is in model.get("recording"): {trace, svg, shown}, the trace as minidecoder.lens.trace writes
// it, the machine as minidecoder.viz.graph drew it, and of each step the candidates that get a row; of two runs also
// {other, divergence}. Nothing is computed anew; nothing moves but what matters.
//
// In front of this file stand the other .mjs files, in the order of player.py. A position is (step, byte): `step`
// tokens have been drawn and `byte` bytes of the next one have been walked.
// Every text goes into the page through textContent, so that a token that looks like HTML is only ever text.

const BYTE_MS = 350, GLIDE_MS = 250, LONGEST_GLIDE_MS = 1000, PAUSE_MS = 1100, HURRY_MS = 300, LIVE_MS = 120;

// `address`: the location of a page of our own, whose fragment then says where we are.
function render({ model, el, address = null }) {
  return playerOf(model.get("recording"), el, { address }).stop; // anywidget calls it when the picture is taken away
}

// `live`: what goes on where a run is still open (lab.mjs); `around`: what takes the theme and fills the screen with it.
function playerOf(sent, el, { address = null, live = null, around = null } = {}) {
  const runs = [sent, sent.other].filter(Boolean).map(readable);
  const isPair = runs.length > 1, names = isPair ? ["A", "B"] : [""];
  const shared = { bytes: false, speed: 1, pause: () => {}, changed: () => {}, live, divergence: isPair ? sent.divergence : null };
  const views = runs.map((run, i) => buildView(run, names[i], live));
  const bar = buildBar(isPair, live);
  const root = isPair ? arrangePair(views, bar) : arrangeAlone(views[0], bar);
  root.tabIndex = 0;
  const players = runs.map((run, i) => makePlayer(run.trace, views[i], shared, i));
  const player = conduct(players, views, bar, shared, root);
  const tellParting = () => isPair && drawParting(root.querySelector(".parting"), shared.divergence, runs);
  tellParting();
  el.append(root);
  const stopListening = listen({ root, bar, views, player, shared, address, sent, around });
  const resized = new ResizeObserver(player.redraw); // also tells the first size, once there is one
  for (const view of views) resized.observe(view.machine?.box ?? view.root);
  player.goTo(address ? readAddress(address) : { step: 0 });
  return { root, bar, views, player, shared, tellParting, stop: () => { player.pause(); resized.disconnect(); stopListening(); } };
}

// The candidates as rows, and the moves by name; what was sent stays as it is, for the export.
function readable({ trace, svg, shown }) {
  return { trace: { ...trace, steps: readableSteps(trace.steps, shown) }, svg };
}

function readableSteps(steps, shown) {
  return steps.map((step, i) => {
    const candidates = readableRows(step.candidates);
    return { ...withMoves(step), candidates, shown: shown[i].map((place) => candidates[place]) };
  });
}

const withMoves = (part) => ({ ...part, path: part.path.map(([byte, state]) => ({ byte, state })) });

function readableRows(columns) {
  return columns.token_id.map((_, i) => withMoves(Object.fromEntries(Object.keys(columns).map((name) => [name, columns[name][i]]))));
}

// How many tokens have been drawn at the end of a run. While it is open its last step is only a proposal.
const lastOf = (trace) => trace.steps.length - (trace.open ? 1 : 0);

// ---------------------------------------------------------------- stepping through one run

function makePlayer(trace, view, shared, place) {
  let bytes = layOutBytes(trace);
  const at = { step: 0, byte: 0, picked: null, query: "", found: null, frame: 0, pressed: -HURRY_MS };
  const lengthOf = (step) => trace.steps[step]?.path.length ?? 0;

  // Who presses keys faster than the pictures move, or jumps, gets each picture at once.
  function go(step, byte = 0, moves = []) {
    cancelAnimationFrame(at.frame);
    const { root } = view, now = performance.now();
    const hurried = root.dataset.moving === "yes" || now - at.pressed < HURRY_MS || !moves.length;
    Object.assign(at, { step: Math.min(Math.max(step, 0), lastOf(trace)), picked: null, found: null, pressed: moves.length ? now : at.pressed });
    at.byte = Math.min(byte, Math.max(0, lengthOf(at.step) - 1));
    Object.assign(root.dataset, { step: at.step, byte: at.byte, steps: lastOf(trace), state: stateAt(trace, at) ?? "", snap: hurried ? "yes" : "no" });
    drawText(trace, view, at, shared.bytes, shared.divergence);
    shared.changed();
    if (view.machine && !hurried && !matchMedia("(prefers-reduced-motion: reduce)").matches) glide(moves, drawRest);
    else drawRest();
  }

  // The same position again, in a window of another size.
  function redraw() {
    if (view.root.dataset.moving === "yes") return;
    view.root.dataset.snap = "yes";
    drawText(trace, view, at, shared.bytes, shared.divergence);
    drawRest();
  }

  function drawRest() {
    view.root.dataset.moving = "no";
    drawCandidates(trace, view, at, pick);
    drawMachine();
    if (view.stack) markStack(view.stack, trace, at);
    drawSentences(trace, view, at, shared.bytes);
    keepReachable(view);
    shared.changed();
  }

  function drawMachine() {
    const { machine } = view;
    if (!machine) return;
    fit(machine);
    const walked = bytes[at.step]?.[at.byte - 1] ?? (at.byte === 0 ? bytes[at.step - 1]?.at(-1) : null);
    const chosen = shownCandidate(trace, at);
    const start = trace.steps[at.step]?.state ?? stateAt(trace, at);
    markMachine(machine, stateAt(trace, at), chosen ? stopsOf(start, chosen.path) : [], chosen?.allowed === false && chosen.kind === "text");
    if (walked) putMarker(machine, between(machine, walked.from, walked.to, walked.end), isInside(walked.state));
    else putMarker(machine, null, false);
    follow(machine, walked && isInside(walked.state) ? machine.marker : machine.state(stateAt(trace, at)));
  }

  // The marker walks the bytes one after another; the bars change when it has arrived.
  function glide(moves, then) {
    const each = (shared.bytes ? BYTE_MS : Math.min(GLIDE_MS, LONGEST_GLIDE_MS / moves.length)) / shared.speed;
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
    if (at.step >= lastOf(trace)) return;
    const rest = bytes[at.step].slice(at.byte);
    if (shared.bytes && at.byte + 1 < lengthOf(at.step)) go(at.step, at.byte + 1, rest.slice(0, 1));
    else go(at.step + 1, 0, shared.bytes ? rest.slice(0, 1) : rest);
  }

  function back() {
    if (!shared.bytes) return go(at.byte > 0 ? at.step : at.step - 1);
    if (at.byte > 0) return go(at.step, at.byte - 1);
    go(at.step - 1, Math.max(0, lengthOf(at.step - 1) - 1));
  }

  function pick(candidate) {
    shared.pause();
    if (candidate && candidate === at.picked) shared.live?.take(place, candidate);
    at.picked = candidate;
    view.root.dataset.snap = "yes";
    drawRest();
  }

  const pickId = (id) => { const found = trace.steps[at.step]?.candidates.find((c) => c.token_id === id); if (found) pick(found); };
  const look = () => { at.query = view.search.value; at.found = null; pick(null); };
  view.search.addEventListener("input", look);
  const show = (found) => { at.found = found; view.root.dataset.snap = "yes"; drawRest(); };
  const renew = () => { bytes = layOutBytes(trace); };
  return { at, trace, get last() { return lastOf(trace); }, go, next, back, redraw, pickId, look, show, renew };
}

// ---------------------------------------------------------------- all runs together

// Runs keep step: whoever is behind goes on, so that in byte view a short token waits for the longer one beside it.
function conduct(players, views, bar, shared, root) {
  const last = () => Math.max(...players.map((player) => player.last));
  const leader = () => players.find((player) => player.last === last());
  const isAtEnd = () => leader().at.step >= last();
  let timer = 0;

  function forward() {
    const open = players.filter((player) => player.at.step < player.last), least = Math.min(...open.map((player) => player.at.step));
    for (const player of open) if (player.at.step === least) player.next();
  }

  // Where a run is still open and shows all it has, its next token is drawn first.
  const isDry = () => players.some(({ trace, at, last: end }) => trace.open && at.step >= end);

  async function next() {
    if (isDry()) await shared.live?.ahead();
    forward();
    if (isAtEnd() && !shared.live?.isOpen()) pause();
  }

  function back() {
    pause();
    const furthest = Math.max(...players.map((player) => player.at.step));
    for (const player of players) if (player.at.step === furthest && (player.at.step || player.at.byte)) player.back();
  }

  function play() {
    if (timer) return pause();
    if (isAtEnd() && !shared.live?.isOpen()) go(0);
    const beat = async () => {
      const turn = timer, isNew = isDry();
      await next();
      if (timer === turn) timer = setTimeout(beat, (isNew ? LIVE_MS : PAUSE_MS) / shared.speed); // unless it was paused meanwhile
    };
    timer = setTimeout(beat, (isDry() ? 0 : 300) / shared.speed);
    showPlaying(bar, true);
  }

  function pause() {
    clearTimeout(timer);
    timer = 0;
    showPlaying(bar, false);
  }

  function go(step) {
    pause();
    for (const player of players) player.go(step);
  }

  // An address: byte and token are those of the first run.
  function goTo({ step = 0, byte = 0, token = null }) {
    go(step);
    if (byte) players[0].go(step, byte);
    if (token !== null) players[0].pickId(token);
  }

  const stay = () => players.forEach(({ at, go: goOne }) => goOne(at.step, at.byte));
  const redraw = () => players.forEach((player) => player.redraw());
  shared.pause = pause;
  shared.changed = () => { drawBar(bar, views, leader(), players, root, shared.live); shared.moved?.(); };
  return { next: () => { pause(); return next(); }, back, play, pause, go, goTo, stay, redraw, forward, get last() { return last(); }, players };
}

function drawBar(bar, views, leader, players, root, live) {
  const { at, last } = leader;
  if (views.length > 1) Object.assign(root.dataset, { step: at.step, byte: at.byte, steps: last });
  bar.count.textContent = live?.isOpen() && at.step === last ? `step ${at.step}` : `step ${at.step} / ${last}`;
  bar.slider.max = last;
  bar.slider.value = at.step;
  bar.slider.setAttribute("aria-valuetext", `step ${at.step} of ${last}`);
  bar.back.disabled = bar.first.disabled = players.every((player) => player.at.step === 0 && player.at.byte === 0);
  bar.last.disabled = at.step === last;
  bar.next.disabled = at.step === last && !live?.isOpen();
  bar.play.disabled = last === 0 && !live?.isOpen();
  const told = views.map((view) => (view.name ? `${view.name}: ${view.told ?? ""}` : view.told ?? "")).join(" ");
  if (bar.live.textContent !== told) bar.live.textContent = told;
  live?.moved();
}

function showPlaying(bar, playing) {
  const name = playing ? "pause" : bar.playName;
  bar.play.replaceChildren(icon(playing ? "pause" : "play"), ` ${name}`);
  bar.play.setAttribute("aria-label", name);
}

// The sentence above two runs, with the way to the place.
function drawParting(told, divergence, runs) {
  const isOpen = runs.some(({ trace }) => trace.open);
  if (divergence === null) return told.replaceChildren(isOpen ? "So far the two runs draw the same tokens." : "The two runs draw the same tokens.");
  const drawn = runs.map(({ trace }) => (divergence < lastOf(trace) ? `\`${trace.steps[divergence].label}\`` : trace.kept ? "was kept here" : "draws nothing more"))
    .map((what) => (what.startsWith("`") ? `draws ${what}` : what));
  const jump = button("parts", `go to step ${divergence}, where the runs part`, "d", "≠");
  told.replaceChildren(jump, ...withCode(` The runs part at token ${divergence + 1}: A ${drawn[0]}, B ${drawn[1]}.`));
}
