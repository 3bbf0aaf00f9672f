// The lab: a form, and under it the player of a run that is still open. The page asks and the kernel answers, one
// message each (lab_session.py tells them), so that nothing runs where nobody looks, and a run stops by not being
// asked on. In front of this file stand the player's modules, lab_form.mjs and lab_channel.mjs.

const POLL_MS = 150, LOOK_MS = 120, MOST_WAITING = 20;
const FILTERS = [["any", "all tokens"], ["allowed", "allowed"], ["blocked", "blocked"], ["part of a character", "parts of a character"], ["special", "special"]];

function renderLab({ model, el }) {
  const root = make("section", { class: "mdl", "aria-label": "the lab" });
  const status = make("p", { class: "status", role: "status" }), stage = make("div", { class: "run" });
  const line = channelTo(model, end, (text) => tell(text));
  let form = null, current = null, runs = [], opening = 0, stepping = Promise.resolve(), waiting = 0, timer = 0, asked = [];
  const take = make("button", { type: "button", class: "take", disabled: true, title: "go on with the marked token (x)" }, "take it");
  const filter = choiceOf("tokens shown", FILTERS);
  const live = { controls: [take, filter], isOpen: () => runs.some((run) => run.open), ahead, moved, recording,
    take: (place, candidate) => takeToken(place, candidate), takePicked: () => { if (!take.disabled) take.click(); } };
  filter.addEventListener("change", () => current?.player.players.forEach((player) => player.look()));
  const fold = make("button", { type: "button", class: "fold", "aria-expanded": "true" }, "hide the form");
  fold.addEventListener("click", () => {
    form.node.hidden = !form.node.hidden;
    fold.textContent = form.node.hidden ? "show the form" : "hide the form";
    fold.setAttribute("aria-expanded", String(!form.node.hidden));
  });
  // On a projector two runs need the room of the form.
  const makeRoom = () => { if (document.fullscreenElement === root && runs.length > 1 && !form.node.hidden) fold.click(); };
  document.addEventListener("fullscreenchange", makeRoom);
  root.append(make("div", { class: "below" }, status, fold), stage);
  el.append(root);
  root.dataset.theme = document.body.dataset.jpThemeLight === "false" ? "dark" : "light";
  begin();
  return () => { document.removeEventListener("fullscreenchange", makeRoom); line.close(); current?.stop(); clearTimeout(timer); };

  async function begin() {
    tell("asking the kernel …");
    const hello = await line.ask({ do: "hello" });
    if (hello.error) return end(hello.error.message);
    form = buildForm(hello, changed);
    root.prepend(form.node);
    form.write(hello.form);
    const isExample = ({ kind, text }) => kind === hello.form.kind && text === hello.form.text;
    form.parts.example.value = hello.gallery.find(isExample)?.name ?? "";
    form.parts.again.addEventListener("click", () => open());
    form.parts.keep.addEventListener("click", keep);
    form.node.addEventListener("keydown", onFormKey);
    await open();
  }

  // ---------------------------------------------------------------- what is run

  function changed(isNow, stays = false) {
    clearTimeout(timer);
    timer = setTimeout(() => open(stays), isNow ? 0 : TYPING_MS);
  }

  // Enter runs; in the text of a schema or grammar Enter is a new line, and Ctrl or ⌘ with it runs.
  async function onFormKey(event) {
    event.stopPropagation(); // the notebook has keys of its own
    const isMany = event.target === form.parts.text && form.parts.kind.value !== "regex";
    if (event.key !== "Enter" || event.target.matches("button, select") || (isMany && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    clearTimeout(timer);
    if (await open()) { current.root.focus(); current.player.play(); }
  }

  // Ask for a new run. `stays`: the tokens that were drawn are taken again, as another setting changes what comes next.
  async function open(stays = false) {
    const turn = ++opening, was = current?.player.players.find((_, i) => !runs[i].fixed);
    const tokens = stays && was ? was.trace.steps.slice(0, was.at.step).map((step) => step.token_id) : [];
    current?.player.pause();
    root.dataset.busy = "yes";
    let answer = await line.ask({ do: "open", form: form.read(), tokens });
    while (answer.busy && turn === opening) {
      busy(answer);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (turn === opening) answer = await line.ask({ do: "poll" });
    }
    if (turn !== opening) return false; // a newer question has taken its place
    root.dataset.busy = "no";
    if (answer.error) return fault(answer.error);
    if (answer.opened) return show(answer);
    tell(answer.stopped ?? "stopped");
    return false;
  }

  function fault(error) {
    const last = current?.views.at(-1).pattern.textContent;
    if (last && !line.isDead()) tell(...withCode(`Below still stands the last one that could be run: \`${last}\``));
    form.showFault(error);
    return false;
  }

  function busy({ busy: what, seconds }) {
    if (status.dataset.kind !== "busy") {
      const stop = make("button", { type: "button", class: "stop" }, "stop");
      stop.addEventListener("click", async () => {
        opening += 1;
        root.dataset.busy = "no";
        const answer = await line.ask({ do: "stop" });
        tell(answer.stopped ?? answer.error?.message ?? "stopped");
      });
      status.replaceChildren(make("i", { class: "turning" }), make("span", {}), stop);
      status.dataset.kind = "busy";
    }
    status.children[1].textContent = `${what} ${seconds.toFixed(1)} s`;
  }

  function tell(...words) {
    if (line.isDead()) return;
    status.replaceChildren(...words);
    status.dataset.kind = "";
  }

  function end(text) {
    status.replaceChildren(text);
    status.dataset.kind = "dead";
    root.dataset.dead = "yes";
    current?.player.pause();
  }

  function show(answer) {
    const hadFocus = current?.root.contains(document.activeElement), [first, second] = answer.runs;
    current?.stop();
    current = null; // what moves from here on belongs to the new runs
    form.clearFault();
    runs = answer.runs.map((run) => ({ ...run, open: !run.over && !run.stuck }));
    asked = [];
    const sent = second ? { ...first.recording, other: second.recording, divergence: null } : first.recording;
    for (const run of answer.runs) Object.assign(run.recording.trace, { open: !run.over && !run.stuck, stuck: run.stuck, kept: run.fixed });
    stage.replaceChildren();
    current = playerOf(sent, stage, { live, around: root });
    runs.forEach((run, i) => { const { name } = current.views[i]; if (run.title) current.views[i].pattern.title = run.title; if (name && run.fixed) current.views[i].root.dataset.fixed = "yes"; });
    part();
    current.player.go(answer.at ?? 0);
    tell(answer.note || timesOf(answer.milliseconds));
    if (hadFocus) current.root.focus({ preventScroll: true });
    return true;
  }

  // ---------------------------------------------------------------- the run goes on

  // One step of every open run, one after another. Presses faster than the kernel wait for it.
  // subtle: a question that is out may bring new runs, which a step that was meant for these must not move.
  function ahead() {
    if (waiting >= MOST_WAITING) return stepping;
    const asker = current;
    waiting += 1;
    stepping = stepping.then(line.quiet).then(() => (asker === current ? line.ask({ do: "step" }) : {})).then((answer) => {
      waiting -= 1;
      if (asker === current) apply(answer); // else another run has taken the place
    });
    return stepping;
  }

  async function takeToken(place, candidate) {
    const player = current.player.players[place], at = player.at.step;
    if (runs[place].fixed) return tell("This run was kept and stays as it is.");
    current.player.pause();
    const asker = current;
    await line.quiet();
    if (asker !== current) return;
    const answer = await line.ask({ do: "take", run: place, at, token: candidate.token_id });
    if (answer.error) return tell(`✕ ${answer.error.message}`);
    apply(answer);
    player.go(at);
    player.next();
  }

  function apply({ error, updates = [] }) {
    if (error) { current.player.pause(); return tell(`✕ ${error.message}`); }
    for (const update of updates) extend(update);
    part();
    const stuck = runs.find((run) => run.stuck && !run.fixed);
    if (stuck) tell(`✕ ${stuck.stuck}`);
  }

  function extend({ run: place, from, steps, shown, left, svg, over, stuck, text, is_complete, finish_reason }) {
    const run = runs[place], view = current.views[place], player = current.player.players[place], { trace } = player;
    trace.steps.splice(from, trace.steps.length, ...readableSteps(steps, shown));
    Object.assign(trace, { open: !over && !stuck, stuck, text, is_complete, finish_reason });
    Object.assign(run, { open: trace.open, over, stuck });
    run.left.splice(from, run.left.length, ...left);
    const sent = run.recording; // as it was sent, for the export
    sent.trace.steps.splice(from, sent.trace.steps.length, ...steps);
    sent.shown.splice(from, sent.shown.length, ...shown);
    Object.assign(sent.trace, { text, is_complete, finish_reason });
    if (svg) {
      sent.svg = svg;
      view.machine = swapped(view.machine, machineView(svg));
    }
    if (view.stack && trace.steps.some((step) => step.stack.length > view.stack.frames.length)) view.stack = swapped(view.stack, stackView(trace, LIVE_FRAMES));
    player.renew();
  }

  // Where two runs part, as far as both have come.
  function part() {
    if (runs.length < 2) return;
    const [a, b] = current.player.players.map(({ trace }) => trace), both = Math.min(lastOf(a), lastOf(b));
    let first = 0;
    while (first < both && a.steps[first].label === b.steps[first].label) first += 1;
    current.shared.divergence = first < both || (!a.open && !b.open && lastOf(a) !== lastOf(b)) ? first : null;
    current.tellParting();
  }

  async function keep() {
    const answer = await line.ask({ do: "keep" });
    if (answer.error) return tell(`✕ ${answer.error.message}`);
    form.parts.beside.value = "kept";
    tell("Kept: it stands beside the next run. Change something, or start over.");
  }

  // ---------------------------------------------------------------- where we are

  // The picture has changed: the counts on the cards, the token that could be taken, the tokens that are looked for.
  function moved() {
    if (!current) return;
    const { players } = current.player, own = runs.length - 1; // a run beside it stands first
    form.showLeft(runs[own].left[players[own].at.step]);
    const marked = players.map(markedToken), place = marked.findIndex(Boolean), token = marked[place];
    take.disabled = !token || !token.allowed || runs[place].fixed;
    take.replaceChildren(...withCode(token ? `take \`${token.label}\`` : "take it"));
    take.onclick = () => takeToken(place, token);
    players.forEach(lookUp);
  }

  function markedToken({ at, trace }) {
    const step = trace.steps[at.step];
    return (step && (at.picked ?? ((at.query || at.found) && findTokens(step, at).match))) || null;
  }

  function lookUp(player, place) {
    const { at, trace } = player, step = trace.steps[at.step];
    const key = step && (at.query || filter.value !== "any") ? [at.step, step.token_id, at.query, filter.value].join("\n") : null;
    if (asked[place]?.key === key && (at.found || asked[place]?.timer)) return;
    clearTimeout(asked[place]?.timer);
    asked[place] = { key, timer: key === null ? 0 : setTimeout(find, LOOK_MS) };

    async function find() {
      const answer = await line.ask({ do: "find", run: place, at: at.step, query: at.query, filter: filter.value, limit: 40 });
      if (asked[place]?.key !== key) return; // the reader has gone on
      asked[place].timer = 0;
      if (answer.error) return tell(`✕ ${answer.error.message}`);
      const known = new Map(step.candidates.map((candidate) => [candidate.token_id, candidate]));
      player.show({ rows: readableRows(answer.candidates).map((one) => known.get(one.token_id) ?? one), total: answer.total });
    }
  }

  function recording() {
    const [first, second] = runs.map((run) => run.recording);
    return second ? { ...first, other: second, divergence: current.shared.divergence } : first;
  }
}

const timesOf = ({ load = 0, compile = 0, first = 0 } = {}) => [load >= 100 && `model loaded in ${(load / 1000).toFixed(1)} s`, `compiled in ${Math.max(1, Math.round(compile))} ms`,
  `first step in ${Math.max(1, Math.round(first))} ms`].filter(Boolean).join(" · ");

function swapped(old, fresh) {
  old.box.replaceWith(fresh.box);
  return fresh;
}
