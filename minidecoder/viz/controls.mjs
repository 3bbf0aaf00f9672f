// Clicks, keys, theme and address. One module with player.mjs, which see.

const SPEEDS = [0.5, 1, 2, 4], ADDRESS_MS = 150;

function listen({ root, bar, views, player, shared, address, sent, around }) {
  const on = (node, action) => node?.addEventListener("click", action);
  const toggleHelp = () => pop(bar, bar.keys.hidden ? "keys" : null);
  const toggleSaves = () => { pop(bar, bar.saves.hidden ? "saves" : null); if (!bar.saves.hidden) bar.saves.firstChild.focus(); };
  const toggleFull = () => (document.fullscreenElement ? document.exitFullscreen() : (around ?? root).requestFullscreen());
  const part = () => (shared.divergence === null ? null : player.go(shared.divergence));
  let looked = -1; // of two runs each has its own field: asked again, the next one
  const find = () => { looked = (looked + 1) % views.length; views[looked].search.focus(); views[looked].search.select(); };
  bar.full.hidden = !document.fullscreenEnabled; // an iPhone has none
  on(bar.first, () => player.go(0));
  on(bar.back, player.back);
  on(bar.next, player.next);
  on(bar.last, () => player.go(player.last));
  on(bar.play, player.play);
  on(bar.speed, () => faster(bar, shared));
  on(bar.help, toggleHelp);
  on(bar.save, toggleSaves);
  on(bar.full, toggleFull);
  root.querySelector(".parting")?.addEventListener("click", (event) => { if (event.target.closest(".parts")) part(); });
  for (const kind of ["svg", "png", "json"]) {
    on(bar.saves.querySelector(`.${kind}`), () => { pop(bar, null); exportAs(kind, root, shared.live?.recording() ?? sent, kind === "json" ? "run" : `run-step-${root.dataset.step}`); });
  }
  bar.bytes.addEventListener("change", () => { shared.bytes = bar.bytes.checked; player.stay(); });
  for (const view of views) view.text.addEventListener("scroll", () => markCut(view));
  bar.slider.addEventListener("input", () => player.go(Number(bar.slider.value)));
  const actions = {
    ArrowRight: player.next, ArrowLeft: player.back, PageDown: player.next, PageUp: player.back,
    Home: () => player.go(0), End: () => player.go(player.last), " ": player.play, b: () => bar.bytes.click(), s: () => bar.speed.click(),
    f: () => bar.full.hidden || toggleFull(), t: () => bar.theme.click(), "?": toggleHelp, e: toggleSaves, "/": find, d: part, x: () => shared.live?.takePicked(),
  };
  root.addEventListener("keydown", (event) => {
    if (event.target.matches("input[type=search]")) return whileTyping(event, root);
    if (event.key === "Escape" || (event.key in actions && !"?e ".includes(event.key))) pop(bar, null);
    onKey(event, actions);
  });
  root.addEventListener("pointerdown", (event) => { if (!event.target.closest("button, input, label")) root.focus({ preventScroll: true }); });
  const stops = [followTheme([root, ...views.map((view) => view.root), ...(around ? [around] : [])], bar), address ? keepAddress(address, player, shared) : () => {}];
  return () => stops.forEach((stop) => stop());
}

// One of the two panels, or none.
function pop(bar, name) {
  for (const [panel, opener, own] of [[bar.keys, bar.help, "keys"], [bar.saves, bar.save, "saves"]]) {
    if (own !== name && panel.contains(document.activeElement)) opener.focus({ preventScroll: true }); // what is hidden loses the keys
    panel.hidden = own !== name;
    opener.setAttribute("aria-expanded", String(own === name));
  }
}

function faster(bar, shared) {
  shared.speed = SPEEDS[(SPEEDS.indexOf(shared.speed) + 1) % SPEEDS.length];
  bar.speed.textContent = `${shared.speed === 0.5 ? "½" : shared.speed}×`;
  bar.speed.setAttribute("aria-label", `speed ${shared.speed}×`);
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

// In the search field letters are letters; Escape empties it and gives the keys back.
function whileTyping(event, root) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.stopPropagation();
  if (event.key !== "Escape" && event.key !== "Enter") return;
  event.preventDefault();
  if (event.key === "Escape" && event.target.value) {
    event.target.value = "";
    event.target.dispatchEvent(new Event("input"));
  }
  root.focus({ preventScroll: true });
}

// The notebook's theme if there is one, else the reader's system, until the button says otherwise.
function followTheme(nodes, bar) {
  const { body } = document, outermost = nodes.at(-1);
  const show = (dark) => {
    for (const node of nodes) node.dataset.theme = dark ? "dark" : "light";
    bar.theme.replaceChildren(icon(dark ? "light" : "dark"));
  };
  const inNotebook = () => show(body.dataset.jpThemeLight === "false");
  const changes = new MutationObserver(inNotebook);
  if (outermost.dataset.chosen) show(outermost.dataset.theme === "dark");
  else if (body.dataset.jpThemeLight === undefined) show(matchMedia("(prefers-color-scheme: dark)").matches);
  else {
    inNotebook();
    changes.observe(body, { attributeFilter: ["data-jp-theme-light"] });
  }
  bar.theme.addEventListener("click", () => {
    changes.disconnect();
    outermost.dataset.chosen = "yes"; // also for the next run in the same frame
    show(nodes[0].dataset.theme === "light");
  });
  return () => changes.disconnect();
}

// ---------------------------------------------------------------- where we are, in the fragment of a page of our own

// #step=2&byte=1&token=5; what is no number counts as not there.
function readAddress(address) {
  const parts = new URLSearchParams(address.hash.slice(1));
  const number = (name) => (/^\d{1,9}$/.test(parts.get(name) ?? "") ? Number(parts.get(name)) : undefined);
  return { step: number("step"), byte: number("byte"), token: number("token") ?? null };
}

function keepAddress(address, player, shared) {
  const jump = () => player.goTo(readAddress(address));
  let timer = 0;
  const tell = () => {
    const { at } = player.players[0], step = Math.max(...player.players.map((one) => one.at.step));
    const parts = [step && `step=${step}`, at.byte && `byte=${at.byte}`, at.picked && `token=${at.picked.token_id}`].filter(Boolean);
    const fragment = parts.length ? `#${parts.join("&")}` : "";
    if (address.hash !== fragment) history.replaceState(null, "", address.href.split("#")[0] + fragment);
  };
  // subtle: browsers refuse more than some hundred changes in a few seconds, and a slider makes them.
  shared.moved = () => { clearTimeout(timer); timer = setTimeout(tell, ADDRESS_MS); };
  window.addEventListener("hashchange", jump);
  return () => { clearTimeout(timer); window.removeEventListener("hashchange", jump); };
}
