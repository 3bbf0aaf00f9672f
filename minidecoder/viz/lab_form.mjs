// The lab's form: what is asked of the kernel. It knows nothing of runs; `changed(isNow, stays)` tells that something was
// changed, whether that can wait for the next key, and whether the tokens that were drawn may stay. One module with lab.mjs, which see.

const TYPING_MS = 350;
const KINDS = [["regex", "pattern"], ["schema", "JSON Schema"], ["grammar", "grammar"], ["free", "none"]];
const BESIDE = [["nothing", "nothing"], ["free", "without the constraint"], ["usual order", "the usual order of steps"], ["kept", "the run that was kept"]];
const CHIPS = {
  mask: { title: "mask" }, temperature: { title: "temperature", min: 0, max: 10, step: 0.1 }, top_k: { title: "top-k", min: 0, max: 200000, step: 1 },
  top_p: { title: "top-p", min: 0.01, max: 1, step: 0.01 }, min_p: { title: "min-p", min: 0, max: 1, step: 0.01 },
};

const choiceOf = (label, pairs) => make("select", { "aria-label": label }, ...pairs.map(([value, title]) => make("option", { value }, title)));
const labelled = (text, node, name = "") => make("label", { class: name }, make("span", {}, text), node);

function buildForm({ form, sources, gallery }, changed) {
  const faultId = `mdl-fault-${Math.random().toString(36).slice(2)}`; // a page may hold several labs
  const parts = {
    example: choiceOf("example", [["", "your own"], ...gallery.map(({ name, title }) => [name, title])]),
    source: choiceOf("model", sources.map(({ name, title, note, missing }) => [name, missing ? `${title} (not installed)` : `${title} (${note.split(" ")[0]})`])),
    kind: choiceOf("constraint", KINDS),
    beside: choiceOf("beside it", BESIDE),
    text: make("textarea", { rows: 1, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": "the constraint", "aria-describedby": faultId }),
    behind: make("div", { class: "behind", "aria-hidden": "true" }),
    fault: make("p", { class: "fault", id: faultId, role: "alert" }),
    prompt: make("input", { type: "text", "aria-label": "prompt", autocomplete: "off", placeholder: "what the model reads first" }),
    max_tokens: make("input", { type: "number", min: 1, max: 1000, step: 1, "aria-label": "tokens at most" }),
    seed: make("input", { type: "number", min: 0, step: 1, "aria-label": "seed" }),
    again: make("button", { type: "button", class: "again" }, "start over"),
    keep: make("button", { type: "button", class: "keep", title: "keep this run, to stand beside the next one" }, "keep this run"),
  };
  const chips = buildChips(form, (isNow) => changed(isNow, true));
  const node = make("form", { class: "setup", "aria-label": "what is run" },
    make("div", { class: "line" }, labelled("example", parts.example), labelled("model", parts.source), labelled("beside it", parts.beside), parts.keep),
    make("div", { class: "line" }, labelled("constraint", parts.kind), make("div", { class: "paper" }, parts.behind, parts.text)),
    parts.fault,
    make("div", { class: "line" }, labelled("prompt", parts.prompt, "wide"), labelled("tokens at most", parts.max_tokens), labelled("seed", parts.seed), parts.again),
    chips.node);

  function write(values) {
    for (const name of ["source", "kind", "beside", "text", "prompt", "max_tokens", "seed"]) if (name in values) parts[name].value = values[name];
    if (values.order) chips.write(values);
    showText();
  }

  function read() {
    const text = (name) => parts[name].value, number = (name) => (text(name) === "" ? null : Number(text(name)));
    return { source: text("source"), kind: text("kind"), beside: text("beside"), text: text("text"), prompt: text("prompt"),
      max_tokens: number("max_tokens"), seed: number("seed"), ...chips.read() };
  }

  function showText() {
    const { text, kind, source } = parts, { note, missing } = sources.find(({ name }) => name === source.value) ?? {};
    source.title = missing || note || "";
    text.parentNode.classList.toggle("unused", kind.value === "free");
    text.disabled = kind.value === "free";
    text.style.height = "auto";
    text.style.height = `${Math.min(text.scrollHeight + 2, 128)}px`;
    clearFault();
  }

  // The place of an error under its letters: the same text lies behind the field, with a mark in it.
  function showFault({ message, where = null, field = "text" }) {
    clearFault();
    parts.fault.textContent = `✕ ${message}`;
    parts.fault.hidden = false;
    (parts[field] ?? chips.input(field) ?? parts.text).setAttribute("aria-invalid", "true");
    if (!where) return;
    const text = parts.text.value, marked = text.slice(where.start, where.end);
    parts.behind.replaceChildren(text.slice(0, where.start), make("mark", { class: marked ? "" : "end" }, marked || " "), `${text.slice(where.end)}\n`);
    follow();
  }

  function clearFault() {
    parts.fault.textContent = "";
    parts.fault.hidden = true;
    parts.behind.replaceChildren();
    for (const node_ of node.querySelectorAll("[aria-invalid]")) node_.removeAttribute("aria-invalid");
  }

  const follow = () => { parts.behind.scrollTop = parts.text.scrollTop; };
  parts.text.addEventListener("scroll", follow);
  parts.text.addEventListener("input", () => { parts.example.value = ""; showText(); changed(false); });
  for (const name of ["prompt", "max_tokens", "seed"]) parts[name].addEventListener("input", () => changed(false));
  for (const name of ["source", "kind", "beside"]) parts[name].addEventListener("change", () => { showText(); changed(true); });
  parts.kind.addEventListener("change", () => { parts.example.value = ""; });
  parts.example.addEventListener("change", () => {
    const chosen = gallery.find(({ name }) => name === parts.example.value);
    if (!chosen) return;
    const usable = chosen.sources.filter((name) => !sources.find((source) => source.name === name)?.missing);
    const source = usable.includes(parts.source.value) ? parts.source.value : usable[0] ?? parts.source.value;
    write({ kind: chosen.kind, text: chosen.text, prompt: chosen.prompt, max_tokens: chosen.max_tokens, source });
    changed(true);
  });
  node.addEventListener("submit", (event) => event.preventDefault());
  return { node, parts, read, write, showFault, clearFault, showLeft: chips.showLeft, showText };
}

// The steps between the model's logits and the draw, as a row of cards: each with its setting, and how many tokens it
// leaves. They are moved by their arrows, or by dragging.
function buildChips(form, changed) {
  const cards = Object.fromEntries(Object.entries(CHIPS).map(([name, chip]) => [name, cardOf(name, chip, form[name])]));
  const start = make("li", { class: "fixed" }, make("b", {}, "logits"), make("span", { class: "left" }));
  const node = make("ol", { class: "chips", "aria-label": "the steps from the logits to the draw" }, start);
  let order = [], dragged = null;

  function arrange(names) {
    order = names;
    node.replaceChildren(start, ...names.map((name) => cards[name].node));
    names.forEach((name, i) => {
      cards[name].earlier.disabled = i === 0;
      cards[name].later.disabled = i === names.length - 1;
    });
  }

  function move(name, place) {
    const names = order.filter((other) => other !== name);
    names.splice(Math.min(Math.max(place, 0), names.length), 0, name);
    if (names.every((other, i) => other === order[i])) return;
    arrange(names);
    changed(true);
  }

  for (const [name, card] of Object.entries(cards)) {
    const by = (step) => (event) => { move(name, order.indexOf(name) + step); (event.target.disabled ? card.node.querySelector("button:enabled") : event.target)?.focus(); };
    card.earlier.addEventListener("click", by(-1));
    card.later.addEventListener("click", by(1));
    card.input?.addEventListener("input", () => changed(false));
    card.grip.addEventListener("dragstart", (event) => { dragged = name; event.dataTransfer.setData("text/plain", name); event.dataTransfer.setDragImage(card.node, 10, 10); });
    card.node.addEventListener("dragover", (event) => { if (dragged) event.preventDefault(); });
    card.node.addEventListener("drop", (event) => { event.preventDefault(); if (dragged) move(dragged, order.indexOf(name)); dragged = null; });
    card.grip.addEventListener("dragend", () => { dragged = null; });
  }

  const settings = Object.keys(cards).filter((name) => cards[name].input);
  const read = () => ({ order, ...Object.fromEntries(settings.map((name) => [name, cards[name].input.value === "" ? null : Number(cards[name].input.value)])) });
  const write = (values) => { arrange([...values.order]); for (const name of settings) if (name in values) cards[name].input.value = values[name]; };

  // `left`: [["logits", 9], ["mask", 6], …], null where the model is not asked, undefined at the end.
  function showLeft(left) {
    const counts = Object.fromEntries(left ?? []), tell = (count) => (count === undefined ? "" : count.toLocaleString("en"));
    start.querySelector(".left").textContent = left === null ? "not asked" : tell(counts.logits);
    for (const [name, card] of Object.entries(cards)) {
      card.left.textContent = tell(counts[name]);
      card.node.classList.toggle("none", counts[name] === 0);
    }
  }

  return { node, read, write, showLeft, input: (name) => cards[name]?.input };
}

function cardOf(name, { title, ...range }, value) {
  const input = "step" in range ? make("input", { type: "number", ...range, value, "aria-label": title }) : null;
  const card = {
    input, grip: make("b", { draggable: "true", title: "drag to move" }, title), left: make("span", { class: "left", title: "tokens left after this step" }),
    earlier: make("button", { type: "button", "aria-label": `${title} earlier`, title: "earlier" }, "‹"),
    later: make("button", { type: "button", "aria-label": `${title} later`, title: "later" }, "›"),
  };
  card.node = make("li", { class: name }, card.earlier, card.grip, ...(input ? [input] : []), card.left, card.later);
  return card;
}
