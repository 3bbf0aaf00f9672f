// Finding a token among those that a step recorded. One module with player.mjs, which see.

// What the reader types for white space is how a label shows it; #50 is the token of that id.
const asLabel = (query) => query.replaceAll("\\n", "⏎").replaceAll("\\t", "⇥").replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "␣");
const plainLabel = (candidate) => candidate.label.replace(/^■ /, "");

// The rows that a query leaves, and the token that it names: exactly, or as the only one left.
function findTokens(step, query) {
  if (!query || !step) return { rows: step?.shown ?? [], match: null };
  const wanted = asLabel(query), id = /^#\d+$/.test(query) ? Number(query.slice(1)) : null;
  const exact = step.candidates.find((c) => plainLabel(c) === wanted || c.token_id === id) ?? null;
  const contains = (c) => c === exact || plainLabel(c).toLowerCase().includes(wanted.toLowerCase());
  const rows = step.candidates.filter(contains).sort((a, b) => (b === exact) - (a === exact));
  return { rows, match: exact ?? (rows.length === 1 ? rows[0] : null) };
}

// The token that sentence, walk and picture are about: clicked, typed, or the one that was drawn.
function shownCandidate(trace, at) {
  const step = trace.steps[at.step];
  if (at.picked || !step) return at.picked;
  return at.query ? findTokens(step, at.query).match : currentCandidate(trace, at);
}

// A page knows only what was recorded.
function notFound(trace, step, query) {
  const isWhole = step.candidates.length === trace.vocabulary_size, { rows } = findTokens(step, query);
  const others = rows.length ? ` ${rows.length} recorded tokens contain it.` : "";
  return [make("code", {}, asLabel(query)), isWhole ? ` is no token of this vocabulary.${others}` : ` is not recorded at this step: open in the lab.${others}`];
}

function countRows(trace, step, found, at) {
  if (at.query) return `${found.rows.length} of ${step.candidates.length} recorded`;
  const hidden = trace.vocabulary_size - found.rows.length;
  return hidden > 0 ? `and ${hidden.toLocaleString("en")} more` : "";
}
