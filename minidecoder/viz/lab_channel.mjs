// The way to the kernel: questions and their answers. One module with lab.mjs, which see.

const SLOW_MS = 1500;
const ENDED = "The kernel was restarted or has ended, and this lab with it: run its cell again.";
const BUSY = "The kernel is busy, perhaps with another cell. If it was restarted, run this cell again.";

// Questions to the kernel, each with a number; what another view of the same lab asked is not for us.
function channelTo(model, ended, slow) {
  const waiting = new Map(), name = Math.random().toString(36).slice(2);
  let count = 0, dead = false, asked = Promise.resolve(); // answers come in the order of the questions

  const heard = (content) => { waiting.get(content.id)?.(content); waiting.delete(content.id); };
  const gone = () => {
    dead = true;
    for (const answer of waiting.values()) answer({ error: { message: ENDED } });
    waiting.clear();
    ended(ENDED);
  };

  function ask(message) {
    if (dead) return Promise.resolve({ error: { message: ENDED } });
    const id = `${name}-${(count += 1)}`;
    asked = new Promise((resolve) => {
      let isLate = false;
      const late = setTimeout(() => { isLate = true; slow(BUSY); }, SLOW_MS);
      waiting.set(id, (answer) => { clearTimeout(late); if (isLate) slow(""); resolve(answer); });
      model.send({ id, ...message });
    });
    return asked;
  }

  model.on("msg:custom", heard);
  model.on("comm_live_update", gone);
  return { ask, quiet: () => asked.then(() => {}), isDead: () => dead, close: () => { model.off("msg:custom", heard); model.off("comm_live_update", gone); } };
}
