// Sends requests to the pages' API as a browser does and measures their duration.

const TOO_LONG = 503;

/**
 * Returns the milliseconds to the last byte, or infinity if the gateway timed out (503). Any other
 * unexpected response ends the run.
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
 * Sends one request every `everyMs`, case after case, until it is stopped. Records each duration
 * under the name of its case.
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
