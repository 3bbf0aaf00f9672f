// Tokens, bytes and probabilities as they are set in the player; one module with player.mjs, which see.

// Marks that are hardly seen at the size of a letter.
const FAINT = /^[.,'`·]+$/;

function tokenBlock(step, extra = "") {
  return make("span", { class: `block${step.is_eos ? " eos" : ""}${FAINT.test(step.label) ? " faint" : ""}${extra}` }, ...labelOf(step));
}

// A token's label: the sign of EOS as a box that is no text, with each ⟨F0⟩ as a byte in its box.
function labelOf({ label }) {
  const sign = label.startsWith("■ ") ? [make("i", { class: "sign" })] : [];
  const pieces = label.replace(/^■ /, "").split(/(⟨[89A-F][0-9A-F]⟩)/).filter(Boolean)
    .map((piece) => (/^⟨..⟩$/.test(piece) ? byteBox(parseInt(piece.slice(1, 3), 16)) : piece));
  return [...sign, ...pieces];
}

function byteLabel(byte) {
  return byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : byte.toString(16).toUpperCase().padStart(2, "0");
}

function byteBox(byte, look = "") {
  const plain = byte > 0x20 && byte < 0x7f;
  return make("span", { class: `byte${plain ? "" : " hex"} ${look}` }, byteLabel(byte));
}

// What stands between backticks is a token or bytes: set in mono on a block, as in the text.
function withCode(sentence) {
  const pieces = sentence.split("`");
  const code = (piece) => make("code", { class: piece.startsWith("■ ") && "eos" }, ...labelOf({ label: piece }));
  return pieces.length % 2 ? pieces.map((piece, i) => (i % 2 ? code(piece) : piece)) : [sentence];
}

const percent = (p) => (p === 0 ? "0 %" : p < 0.001 ? "< 0.1 %" : p < 0.0095 ? `${(100 * p).toFixed(1)} %` : `${Math.round(100 * p)} %`);

// Made anew each time, so that the blue bar starts from the grey one: the mask at work.
function bars(before, after) {
  const grey = make("i", { class: "before" }), blue = make("i", { class: "after" });
  grey.style.width = `${100 * before}%`;
  blue.style.width = `${100 * after}%`;
  blue.style.setProperty("--from", grey.style.width);
  return [grey, blue];
}

// Where there is nothing to choose from any more: the outcome, the text, and the tokens it was made of.
function wholeResult(trace) {
  const cut = trace.stuck || (trace.pattern !== null && !trace.is_complete), sign = trace.pattern === null && !trace.stuck ? "" : cut ? "✕ " : "✓ ";
  const outcome = trace.stuck ? "stuck: nothing can be drawn" : trace.pattern === null ? "no constraint" : cut ? "not a whole match" : "a whole match";
  return [
    make("p", { class: `outcome ${cut ? "cut" : "whole"}` }, sign, outcome),
    make("p", { class: "label" }, "the text"), make("p", { class: "said" }, trace.text),
    make("p", { class: "label" }, `its ${trace.steps.length} tokens`),
    make("p", { class: "pieces" }, ...trace.steps.map((step) => tokenBlock(step))),
  ];
}
