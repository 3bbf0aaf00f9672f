// The player as a picture, SVG or PNG, and the trace as JSON. One module with player.mjs, which see.
//
// The picture is what stands on the page, without its buttons: every box becomes a rectangle, every line of text a
// text, and the drawing of the machine is taken over with the colours that the style sheet gave it.

const LEFT_OUT = ".tools, .controls > :not(.facts), .pop, .hidden, .caret, input, [hidden], .halves + footer, .parts";
const DRAWN_STYLE = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "text-anchor", "visibility", "rx", "ry"];
const RESOLUTION = 2;

function pictureOf(root) {
  const frame = root.getBoundingClientRect(), size = { width: Math.ceil(frame.width), height: Math.ceil(frame.height) };
  const dead = getComputedStyle(root).getPropertyValue("--dead").trim();
  const hatch = shape("pattern", { id: "hatch", width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(-45)" },
    shape("rect", { width: 7, height: 2, fill: dead }));
  const svg = shape("svg", { xmlns: SVG, ...size, viewBox: `0 0 ${size.width} ${size.height}` }, shape("defs", {}, hatch));
  svg.append(shape("rect", { ...size, fill: getComputedStyle(root).backgroundColor }));
  paint(root, svg, frame);
  return svg;
}

function paint(node, into, frame) {
  const look = getComputedStyle(node);
  if (node.matches("[type=search]")) return into.append(columnHead(node, look, frame));
  if (node.matches(LEFT_OUT) || look.display === "none") return;
  if (node.matches("svg.machine, .machine-box > svg")) return into.append(drawn(node, frame));
  const isSeen = look.visibility === "visible", box = placed(node.getBoundingClientRect(), frame);
  if (isSeen) into.append(...boxOf(node, look, box));
  const scrolls = look.overflowX !== "visible" || look.overflowY !== "visible";
  const inner = scrolls ? shape("svg", { ...box, viewBox: `${box.x} ${box.y} ${box.width} ${box.height}` }) : into;
  if (scrolls && box.width && box.height) into.append(inner);
  for (const child of node.childNodes) {
    if (child.nodeType === Node.ELEMENT_NODE) paint(child, inner, frame);
    else if (child.nodeType === Node.TEXT_NODE && isSeen) inner.append(...linesOf(child).map((line) => textOf(line, look, frame)));
  }
}

// Where the page has a search field, the picture has the column's name.
function columnHead(input, look, frame) {
  const { left, top, height } = input.getBoundingClientRect(), size = parseFloat(look.fontSize);
  const text = shape("text", { x: left - frame.left + 6, y: top - frame.top + height / 2 + 0.35 * size, fill: look.color, "font-family": look.fontFamily, "font-size": look.fontSize });
  text.textContent = "token";
  return text;
}

const placed = (box, frame) => ({ x: box.left - frame.left, y: box.top - frame.top, width: box.width, height: box.height });

function boxOf(node, look, box) {
  if (!box.width || !box.height) return [];
  const isHatched = look.backgroundImage.startsWith("repeating"), isStruck = node.matches(".blocked .token");
  const border = parseFloat(look.borderTopWidth) || (isHatched ? parseFloat(look.outlineWidth) : 0);
  const fill = isHatched ? "url(#hatch)" : look.backgroundColor, line = isHatched ? look.outlineColor : look.borderTopColor;
  const parts = [];
  if (!isClear(fill) || (border && !isClear(line))) {
    parts.push(shape("rect", { ...box, rx: parseFloat(look.borderTopLeftRadius) || 0, fill: isClear(fill) ? "none" : fill, stroke: border ? line : "none",
      "stroke-width": border, "stroke-dasharray": look.borderTopStyle === "dashed" ? "4 3" : "none" }));
  }
  if (isStruck) parts.push(shape("path", { d: `M${box.x},${box.y + box.height}L${box.x + box.width},${box.y}`, stroke: look.color, "stroke-opacity": 0.5 }));
  if (node.matches(".row.drawn")) parts.push(shape("path", { d: `M${box.x + 6},${box.y + box.height / 2 - 5}v10l9,-5z`, fill: getComputedStyle(node, "::before").color }));
  if (node.matches(".newest")) parts.push(shape("rect", { x: box.x, y: box.y + box.height - 3, width: box.width, height: 3, fill: getComputedStyle(node).getPropertyValue("--live") }));
  return parts;
}

const isClear = (colour) => colour === "transparent" || /^rgba\(.*, 0\)$/.test(colour);

// The drawing of the machine, which then needs no style sheet.
function drawn(svg, frame) {
  const copy = svg.cloneNode(true), originals = [svg, ...svg.querySelectorAll("*")], copies = [copy, ...copy.querySelectorAll("*")];
  originals.forEach((node, i) => {
    const look = getComputedStyle(node);
    for (const name of DRAWN_STYLE) if (look[name] && look[name] !== "auto") copies[i].style.setProperty(name, look.getPropertyValue(name));
  });
  const box = placed(svg.getBoundingClientRect(), frame);
  for (const [name, value] of Object.entries(box)) copy.setAttribute(name, value);
  copy.style.removeProperty("rx");
  return copy;
}

// The pieces of a text node, one for each line that it takes on the page.
function linesOf(node) {
  const range = document.createRange(), lines = [];
  let index = 0;
  for (const character of node.data) {
    range.setStart(node, index);
    range.setEnd(node, index += character.length);
    const box = range.getClientRects()[0], line = lines.at(-1);
    if (!box?.width) continue;
    if (line && Math.abs(line.top - box.top) < box.height / 2) Object.assign(line, { text: line.text + character, right: box.right });
    else lines.push({ text: character, left: box.left, right: box.right, top: box.top, height: box.height });
  }
  return lines.filter((line) => line.text.trim());
}

function textOf(line, look, frame) {
  const text = shape("text", { x: line.left - frame.left, y: line.top - frame.top + 0.79 * line.height, fill: look.color, textLength: line.right - line.left,
    lengthAdjust: "spacingAndGlyphs", "font-family": look.fontFamily, "font-size": look.fontSize, "font-weight": look.fontWeight, style: "white-space: pre" });
  text.textContent = line.text.replace(/[^\x09\x0a\x0d\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd"); // what XML may not hold
  return text;
}

// ---------------------------------------------------------------- files

async function exportAs(kind, root, sent, name) {
  const traces = sent.other ? [sent.trace, sent.other.trace] : sent.trace; // one is what Trace.from_json reads
  if (kind === "json") return saveFile(new Blob([JSON.stringify(traces)], { type: "application/json" }), `${name}.json`);
  const picture = pictureOf(root), text = new XMLSerializer().serializeToString(picture);
  if (kind === "svg") return saveFile(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
  saveFile(await asPng(text, picture.width.baseVal.value, picture.height.baseVal.value), `${name}.png`);
}

async function asPng(svgText, width, height) {
  const image = new Image(), canvas = document.createElement("canvas");
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText)}`;
  await image.decode();
  Object.assign(canvas, { width: width * RESOLUTION, height: height * RESOLUTION });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function saveFile(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
