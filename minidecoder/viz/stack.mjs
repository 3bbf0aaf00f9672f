// The stack of a grammar in the player: a column of frames, the root at the bottom, the innermost rule on top and
// live. One module with player.mjs, which see. Frames are made once, so that nothing moves when one opens or closes.

function stackView(trace, fewest) {
  const depth = Math.max(fewest, ...trace.steps.map((step) => step.stack.length));
  const frames = Array.from({ length: depth }, () => {
    const rule = make("b", {}), state = make("span", {});
    return { rule, state, row: make("li", {}, rule, state) };
  });
  const list = make("ol", { class: "frames" }, ...frames.map((frame) => frame.row).reverse());
  return { frames, list, box: make("div", { class: "machine-box stack", role: "group", "aria-label": "the stack of open rules, the innermost first" }, list) };
}

// "array:s6" is the rule and where in it the text stands; a folded middle, "… 7 more …", has no state.
function markStack({ frames, list }, trace, at) {
  const open = stackAt(trace, at.step), same = sameFrames(stackAt(trace, at.step - 1), open);
  frames.forEach(({ rule, state, row }, i) => {
    const name = open[i] ?? "", colon = name.lastIndexOf(":");
    rule.textContent = colon > 0 ? name.slice(0, colon) : name || "\u00a0";
    state.textContent = colon > 0 ? name.slice(colon + 1) : "";
    row.className = ["frame", i >= open.length && "empty", i === open.length - 1 && "live", at.step > 0 && i >= same && i < open.length && "fresh"]
      .filter(Boolean).join(" ");
    row.toggleAttribute("aria-hidden", i >= open.length);
  });
  const top = frames[Math.max(0, open.length - 1)]?.row;
  if (top) list.scrollTop = top.offsetTop - frames.at(-1).row.offsetTop;
}

const stackAt = (trace, step) => trace.steps[step]?.stack ?? [];

function sameFrames(before, now) {
  let same = 0;
  while (same < now.length && before[same] === now[same]) same += 1;
  return same;
}

const FOLDED = /^… ([\d,]+) more …$/;

// What the last token did to it: "1 rule opened, 2 closed".
function stackChange(trace, at) {
  if (at.step === trace.steps.length && !trace.steps.at(-1)?.is_eos) return "its stack is not recorded";
  const now = stackAt(trace, at.step), before = stackAt(trace, at.step - 1);
  const rule = (frame) => frame.slice(0, frame.lastIndexOf(":"));
  const same = sameFrames(before.map(rule), now.map(rule));
  const folded = now.concat(before).some((frame) => FOLDED.test(frame)), depth = now.reduce((sum, frame) => sum + Number(FOLDED.exec(frame)?.[1].replaceAll(",", "") ?? 1), 0);
  const count = `${depth.toLocaleString("en")} rule${depth === 1 ? "" : "s"} open`;
  if (!at.step || folded) return count; // of a folded stack nobody knows what changed in its middle
  return [count, now.length > same && `${now.length - same} opened`, before.length > same && `${before.length - same} closed`].filter(Boolean).join(" · ");
}
