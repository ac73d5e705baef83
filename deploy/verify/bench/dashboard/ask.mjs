// Asking the pages' API as a browser does, and how long it took.

const TOO_LONG = 503;

/**
 * Milliseconds to the last byte; without end when the gateway gave it up. Any other answer than the
 * case expects ends the run.
 */
export async function ask(person, { name, path, entries }) {
  const begunMs = performance.now();
  const answer = await fetch(`${person.url}${path}`, { headers: { cookie: person.cookie } });
  const text = await answer.text();
  const tookMs = performance.now() - begunMs;
  if (answer.status === TOO_LONG) return Number.POSITIVE_INFINITY;
  if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${text}`);
  const found = JSON.parse(text).data?.length ?? 0;
  if (found < entries) throw new Error(`${name}: ${found} entries, expected at least ${entries}`);
  return tookMs;
}

/**
 * Asks case after case, one every so often, until it is stopped; notes each time under the name of
 * its case.
 */
export function askEvery(person, cases, everyMs, times) {
  let running = true;
  const begunMs = performance.now();
  const done = (async () => {
    for (let asked = 0; running; asked += 1) {
      const dueMs = begunMs + asked * everyMs - performance.now();
      if (dueMs > 0) await new Promise((resolve) => setTimeout(resolve, dueMs));
      const next = cases[asked % cases.length];
      times.get(next.name).push(await ask(person, next));
    }
  })();
  return {
    async stop() {
      running = false;
      await done;
    },
  };
}

export function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
