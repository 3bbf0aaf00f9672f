// One position of a run, drawn: the text, the table of tokens, the sentences. One module with player.mjs, which see.

// The state after the bytes walked so far.
function stateAt(trace, at) {
  const step = trace.steps[at.step];
  if (!step) return trace.steps.at(-1)?.state_after ?? trace.machine?.states[0].name ?? null;
  return at.byte > 0 ? step.path[at.byte - 1].state : step.state;
}

function currentCandidate(trace, at) {
  const step = trace.steps[at.step];
  return step?.candidates.find((candidate) => candidate.token_id === step.token_id) ?? null;
}

// What the tokens spell, where a block alone does not show it: a character cut into bytes.
function spelled(trace, at) {
  const moves = trace.steps.slice(0, at.step).flatMap((step) => step.path).concat(trace.steps[at.step]?.path.slice(0, at.byte) ?? []);
  const text = new TextDecoder().decode(Uint8Array.from(moves, (move) => move.byte), { stream: true });
  return /[^\x00-\x7f]/.test(text) ? `reads ${text}` : "";
}

// `divergence`: the token from which on two runs are not the same.
function drawText(trace, view, at, byBytes, divergence) {
  const { blocks } = view;
  while (blocks.length > at.step) blocks.pop().remove(); // of a long text only the end is made anew
  const added = trace.steps.slice(blocks.length, at.step).map((step, i) => tokenBlock(step, blocks.length + i === divergence ? " parts-here" : ""));
  blocks.at(-1)?.classList.remove("newest");
  blocks.push(...added);
  blocks.at(-1)?.classList.add("newest");
  const pending = at.byte || byBytes ? trace.steps[at.step]?.path ?? [] : [];
  const half = pending.length ? [make("span", { class: "block half" }, ...pending.map((m, i) => byteBox(m.byte, progress(i, at, byBytes))))] : [];
  view.tail.forEach((node) => node.remove());
  view.tail = [...half, make("span", { class: "caret" }), make("span", { class: "spelled" }, spelled(trace, at))];
  view.text.append(...added, ...view.tail);
  view.text.scrollLeft = view.text.scrollWidth;
  markCut(view);
}

// Whether the byte at `index` of the token has been walked, or is next.
const progress = (index, at, byBytes) => (index < at.byte ? "done" : index === at.byte && byBytes ? "pending" : "");

const markCut = ({ text }) => text.classList.toggle("cut", text.scrollLeft > 1);

function drawCandidates(trace, view, at, pick) {
  const step = trace.steps[at.step], found = findTokens(step, at), candidates = found.rows, chosen = shownCandidate(trace, at);
  haveSlots(view, candidates.length);
  view.slots.forEach((slot, i) => {
    const candidate = candidates[i];
    slot.row.disabled = !candidate;
    slot.item.hidden = i >= Math.max(view.fewest, candidates.length);
    slot.row.onclick = candidate ? () => pick(candidate) : null;
    fillSlot(slot, candidate, Boolean(candidate) && candidate.token_id === step.token_id, chosen);
  });
  const shown = view.slots.find((slot) => slot.row.classList.contains("shown"))?.row;
  if (shown) view.rows.scrollTop = Math.min(Math.max(view.rows.scrollTop, shown.offsetTop + shown.offsetHeight - view.rows.clientHeight), shown.offsetTop);
  view.more.textContent = step ? countRows(trace, step, found, at) : "";
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

function drawSentences(trace, view, at, byBytes) {
  const step = trace.steps[at.step], candidate = shownCandidate(trace, at);
  const accepting = trace.machine?.states.some((s) => s.name === stateAt(trace, at) && s.accepting);
  const inside = isInside(stateAt(trace, at) ?? ""), drawn = view.machine?.state(stateAt(trace, at));
  const where = [inside && "inside a character", accepting && "accepting", view.machine && !inside && !drawn && "not drawn", view.stack && stackChange(trace, at)].filter(Boolean);
  view.where.replaceChildren("state ", make("b", {}, stateAt(trace, at) ?? "–"), ...where.map((what) => ` · ${what}`));
  view.walk.replaceChildren(...(candidate && step.state ? walkOf(step.state, candidate, at, byBytes) : ["\u00a0"]));
  const isMissing = step && at.query && !candidate;
  view.why.replaceChildren(...(isMissing ? notFound(trace, step, at, view.isLive) : withCode(step ? reason(step, candidate, at) : ending(trace))));
  view.facts.replaceChildren(...withCode(step ? facts(trace, step, view.stack) : "\u00a0"));
  view.facts.title = view.facts.textContent;
  view.told = `Step ${at.step} of ${trace.steps.length}${step?.state ? `, state ${stateAt(trace, at)}` : ""}. ${view.why.textContent}`;
}

// A part that scrolls must be reachable by key; one that does not should be no stop on the way.
function keepReachable(view) {
  for (const part of [view.pattern, view.text, view.machine?.box, view.walk, view.why, view.result, view.stack?.list].filter(Boolean)) {
    part.tabIndex = part.scrollWidth > part.clientWidth + 1 || part.scrollHeight > part.clientHeight + 1 ? 0 : -1;
  }
}

// Why the shown token lives or dies; of its own accord, first why the model did not get its favourite.
function reason(step, candidate, at) {
  if (!candidate?.why) return unconstrained(step);
  const favourite = step.candidates.find((c) => c.token_id === step.favourite);
  return step.favourite_blocked && favourite && !at.picked && !at.query ? `${favourite.why} ${candidate.why}` : candidate.why;
}

const unconstrained = (step) => `No constraint: every token may follow. \`${step.label}\` is drawn with probability ${percent(step.probability)}.`;

// s1 .→ s2 5→ s3: the states between the bytes of a token.
function walkOf(start, candidate, at, byBytes) {
  const moves = candidate.path.flatMap((move, i) => [" ", byteBox(move.byte, at.picked || at.query ? "" : progress(i, at, byBytes)), " → ",
    move.state === "dead" ? make("b", { class: "dead" }, "✕") : make("b", {}, move.state)]);
  return [make("b", {}, start), ...moves];
}

function facts(trace, step, stackIsDrawn) {
  const stack = step.stack.length && !stackIsDrawn ? `${step.stack.join(" › ")} · ` : "";
  const allowed = `${stack}allowed ${step.allowed_count.toLocaleString("en")} of ${trace.vocabulary_size.toLocaleString("en")}`;
  if (step.feasible_mass === null) return `${allowed} · the model is not asked`;
  const favourite = step.candidates.find((candidate) => candidate.token_id === step.favourite);
  const overruled = step.favourite_blocked && favourite ? ` · favourite \`${favourite.label}\` ✕ blocked` : "";
  return `${allowed} · mass kept ${percent(step.feasible_mass)}${overruled}`;
}

function ending(trace) {
  if (trace.stuck) return trace.stuck;
  if (trace.steps.at(-1)?.is_eos) return "The text has ended with EOS: nothing may follow.";
  if (trace.finish_reason === "stop") return "Stopped at a stop string, which is no part of the text.";
  const where = trace.finish_reason === "interrupted" ? "Interrupted" : "Stopped at the token limit";
  return `${where}${trace.is_complete ? "." : ": the text is not a whole match yet."}`;
}
