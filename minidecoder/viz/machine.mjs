// The machine in the player: what is lit, where the marker stands, and the way a token takes.
//
// player.py puts this file in front of player.mjs, so that they are one module: a page opened from a file
// may not import another file. The picture is graphviz's and never laid out anew; only classes change.

const SVG = "http://www.w3.org/2000/svg";
const MANY_STATES = 40;
const SMALLEST_SCALE = 0.86, SCROLLED_BELOW = 0.65, SCROLLED_SCALE = 1.25, LARGEST_SCALE = 2.4; // an edge label has 14 px at 1

function machineView(svgText) {
  const svg = document.importNode(new DOMParser().parseFromString(svgText, "image/svg+xml").documentElement, true);
  const box = make("div", { class: "machine-box", role: "group", "aria-label": "the machine" }, svg);
  const marker = shape("circle", { r: 9, class: "marker" });
  const cross = shape("g", { class: "cross" }, shape("path", { class: "stub" }), shape("path", { class: "sign" }));
  svg.querySelector("g").append(cross, marker);
  const byId = new Map([...svg.querySelectorAll("[id]")].map((node) => [node.id, node]));
  const ends = new Map([...byId.keys()].filter((id) => id.startsWith("edge-")).map((id) => [id, id.split("-").slice(1)]));
  svg.classList.toggle("large", svg.querySelectorAll(".node").length > MANY_STATES);
  return { box, svg, marker, cross, ends, byId, state: (name) => byId.get(`state-${name}`), edge: (a, b) => byId.get(`edge-${a}-${b}`) };
}

function shape(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function centre(machine, name) {
  const ring = machine.state(name)?.querySelector("ellipse");
  return ring && { x: ring.cx.baseVal.value, y: ring.cy.baseVal.value, r: ring.rx.baseVal.value };
}

// The point a fraction of the way from one state to another: out of the circle, along the edge, into the next.
function between(machine, from, to, fraction) {
  const start = centre(machine, from), end = centre(machine, to);
  const line = machine.edge(from, to)?.querySelector("path");
  if (!line || !start || !end) return end ?? start;
  const length = line.getTotalLength(), total = start.r + length + end.r, at = fraction * total;
  const tip = line.getPointAtLength(Math.min(Math.max(at - start.r, 0), length));
  if (at < start.r) return mix(start, tip, at / start.r);
  return at > start.r + length ? mix(tip, end, (at - start.r - length) / end.r) : tip;
}

const mix = (a, b, t) => ({ x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t });

function putMarker(machine, point, visible) {
  if (point) machine.marker.setAttribute("transform", `translate(${point.x} ${point.y})`);
  machine.marker.classList.toggle("visible", Boolean(point) && visible);
}

function markMachine(machine, liveState, stops, blocked) {
  for (const node of machine.svg.querySelectorAll(".live, .path, .reached, .blocked, .near")) {
    node.classList.remove("live", "path", "reached", "blocked", "near");
  }
  machine.state(liveState)?.classList.add("live");
  stops.slice(1).forEach((name, i) => {
    machine.edge(stops[i], name)?.classList.add("path", ...(blocked ? ["blocked"] : []));
  });
  const end = stops.at(-1);
  if (end !== undefined && end !== liveState && !blocked) machine.state(end)?.classList.add("reached");
  if (machine.svg.classList.contains("large")) markNear(machine, [liveState, ...stops]);
  putCross(machine, blocked ? centre(machine, end) : null);
}

// The ways out of these states, and where they lead.
function markNear(machine, names) {
  for (const name of names) machine.state(name)?.classList.add("near");
  for (const [id, [from, to]] of machine.ends) {
    if (!names.includes(from)) continue;
    machine.byId.get(id).classList.add("near");
    machine.state(to)?.classList.add("near");
  }
}

function putCross(machine, at) {
  machine.cross.classList.toggle("visible", Boolean(at));
  if (!at) return;
  const y = at.y + at.r, [stub, sign] = machine.cross.children;
  stub.setAttribute("d", `M${at.x},${y}v14`);
  sign.setAttribute("d", `M${at.x - 7},${y + 16}l14,14m0,-14l-14,14`);
}

// As large as its box allows, up to 2.4 times; what would be a little too small to read is as small as may be, and what would
// be much too small is drawn well legible; both scroll.
function fit({ box, svg }) {
  const { width, height } = svg.viewBox.baseVal, unit = parseFloat(getComputedStyle(box).fontSize) / 16;
  const whole = Math.min(box.clientWidth / width, box.clientHeight / height) / unit;
  const scale = unit * (whole < SCROLLED_BELOW ? SCROLLED_SCALE : Math.min(Math.max(whole, SMALLEST_SCALE), LARGEST_SCALE));
  svg.style.width = `${Math.floor(width * scale)}px`;
  svg.style.height = `${Math.floor(height * scale)}px`;
}

// A machine larger than its box scrolls by itself, no further than it must: what matters stays in the middle part.
function follow({ box }, node) {
  if (!node) return;
  const frame = box.getBoundingClientRect(), here = node.getBoundingClientRect();
  const beyond = (at, start, size) => Math.min(at - start - 0.25 * size, 0) + Math.max(at - start - 0.6 * size, 0);
  box.scrollLeft += beyond(here.left + here.width / 2, frame.left, frame.width);
  box.scrollTop += beyond(here.top + here.height / 2, frame.top, frame.height);
}

// ---------------------------------------------------------------- where a token goes

const isInside = (state) => /^b\d+$/.test(state); // between the bytes of one character: not in the picture

// The states people see along `path`, from `start`; the ones inside a character are left out.
function stopsOf(start, path) {
  return [start, ...path.map((move) => move.state).filter((state) => state !== "dead" && !isInside(state))];
}

// One entry for each byte of the whole run: the edge it lies on, and how far along (a 3-byte character: thirds).
function layOutBytes(trace) {
  const moves = trace.steps.flatMap((step, s) => step.path.map((move, b) => ({ s, b, state: move.state })));
  let from = trace.steps[0]?.state, pending = [];
  for (const move of moves) {
    pending.push(move);
    if (isInside(move.state)) continue;
    pending.forEach((m, i) => Object.assign(m, { from, to: move.state, start: i / pending.length, end: (i + 1) / pending.length }));
    from = move.state;
    pending = [];
  }
  for (const move of pending) Object.assign(move, { from, to: from, start: 0, end: 0 }); // cut in mid character
  return trace.steps.map((_, s) => moves.filter((move) => move.s === s));
}
