// Finding a token among those that a step recorded. One module with player.mjs, which see.

// What the reader types for white space is how a label shows it; #50 is the token of that id.
const asLabel = (query) => query.replaceAll("\\n", "⏎").replaceAll("\\t", "⇥").replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "␣");
const plainLabel = (candidate) => candidate.label.replace(/^■ /, "");

// The rows that a query leaves, and the token that it names: exactly, or as the only one left. `found`: what a
// kernel found among all tokens.
function findTokens(step, { query, found = null }) {
  if (found && step) return { rows: found.rows, match: query && (exactly(found.rows, query) ?? (found.rows.length === 1 ? found.rows[0] : null)) };
  if (!query || !step) return { rows: step?.shown ?? [], match: null };
  const wanted = asLabel(query), exact = exactly(step.candidates, query);
  const contains = (c) => c === exact || plainLabel(c).toLowerCase().includes(wanted.toLowerCase());
  const rows = step.candidates.filter(contains).sort((a, b) => (b === exact) - (a === exact));
  return { rows, match: exact ?? (rows.length === 1 ? rows[0] : null) };
}

function exactly(candidates, query) {
  const wanted = asLabel(query), id = /^#\d+$/.test(query) ? Number(query.slice(1)) : null;
  return candidates.find((c) => plainLabel(c) === wanted || c.token_id === id) ?? null;
}

// The token that sentence, walk and picture are about: clicked, typed, or the one that was drawn.
function shownCandidate(trace, at) {
  const step = trace.steps[at.step];
  if (at.picked || !step) return at.picked;
  return at.query ? findTokens(step, at).match : currentCandidate(trace, at);
}

// A page knows only what was recorded.
function notFound(trace, step, at, isLive) {
  if (isLive && !at.found) return [make("code", {}, asLabel(at.query)), " is looked up …"];
  const isWhole = at.found || step.candidates.length === trace.vocabulary_size, { rows } = findTokens(step, at);
  const others = rows.length ? ` ${(at.found?.total ?? rows.length).toLocaleString("en")} ${at.found ? "tokens" : "recorded tokens"} contain it.` : "";
  return [make("code", {}, asLabel(at.query)), isWhole ? ` is no token of this vocabulary.${others}` : ` is not recorded at this step: open in the lab.${others}`];
}

function countRows(trace, step, found, at) {
  if (at.found) return at.found.total > found.rows.length ? `${found.rows.length} of ${at.found.total.toLocaleString("en")}` : `${found.rows.length} found`;
  if (at.query) return `${found.rows.length} of ${step.candidates.length} recorded`;
  const hidden = trace.vocabulary_size - found.rows.length;
  return hidden > 0 ? `and ${hidden.toLocaleString("en")} more` : "";
}
