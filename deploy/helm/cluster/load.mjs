// Load and its comparison with the ledger, for `check:compose` and `check:cluster`. In a pod
// (LOAD_URL is set) it sends until SIGTERM and prints one line of JSON for each request.

/** Prices of the models of the load in nano-USD per token: input, output. */
const NANO_USD = [150, 600];
const CALL_MS_MAX = 60_000;
const STREAM_MS_MAX = 120_000;
const AFTER_FAILURE_MS = 500;
/** The streams begin one after the other in this time. */
const SPREAD_MS = 30_000;
const USAGE = /"prompt_tokens":(\d+),"completion_tokens":(\d+)/g;

/**
 * @typedef {{ url: string, key: string, plain: string, callEveryMs: number, streamed?: string, streams?: number }} Load `plain` and `streamed` are models
 * @typedef {{ kind: 'call' | 'stream', at: number, ms: number, status: number | null, problem: string | null, id: string | null, nanoUsd: number }} Line
 */

/**
 * Sends plain requests at a fixed rate next to open streams. No request is sent again. Reports each
 * request when it has ended; `problem` is null for a complete response.
 * @param {Load} load
 * @param {(line: Line) => void} report
 * @returns a function that ends the load and resolves when each request has ended
 */
export function startLoad({ url, key, plain, callEveryMs, streamed = plain, streams = 0 }, report) {
  const running = new Set();
  let isOver = false;
  const send = async (kind, model) => {
    const at = Date.now();
    const line = { kind, at, ...(await ask(url, key, model, kind === 'stream')), ms: Date.now() - at };
    report(line);
    return line.problem === null;
  };
  const keepStreaming = async (index) => {
    await pause((index * SPREAD_MS) / streams);
    while (!isOver) if (!(await send('stream', streamed))) await pause(AFTER_FAILURE_MS);
  };
  const timer = setInterval(() => {
    const sent = send('call', plain).finally(() => running.delete(sent));
    running.add(sent);
  }, callEveryMs);
  const streaming = Array.from({ length: streams }, (_, index) => keepStreaming(index));
  return async () => {
    isOver = true;
    clearInterval(timer);
    await Promise.all([...running, ...streaming]);
  };
}

async function ask(url, key, model, stream) {
  const found = { status: null, id: null, nanoUsd: 0 };
  const options = stream ? { stream, stream_options: { include_usage: true } } : {};
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, ...options, messages: [{ role: 'user', content: 'Say hello.' }] }),
      signal: AbortSignal.timeout(stream ? STREAM_MS_MAX : CALL_MS_MAX),
    });
    found.status = response.status;
    found.id = response.headers.get('x-gateway-request-id');
    const text = await response.text();
    if (!response.ok) return { ...found, problem: /"code": ?"(\w+)"/.exec(text)?.[1] ?? 'unknown' };
    if (stream && !text.trimEnd().endsWith('data: [DONE]')) return { ...found, problem: 'cut' };
    const [, ...tokens] = [...text.matchAll(USAGE)].at(-1) ?? [];
    return { ...found, nanoUsd: tokens.reduce((sum, count, place) => sum + count * NANO_USD[place], 0), problem: null };
  } catch (error) {
    return { ...found, problem: error.cause?.code ?? error.name };
  }
}

/**
 * Reads the number of charges and their sum by request ID, for requests since a time.
 * @returns {Promise<Map<string, { times: number, nanoUsd: number }>>}
 */
export async function readCharges({ url, token }, sinceMs) {
  const path = `/operator/v1/exports/ledger-entries?format=jsonl&from=${new Date(sinceMs).toISOString()}`;
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  const charges = new Map();
  for (const line of text.split('\n').filter(Boolean)) {
    const { requestId, ledgerAccount, amountUsd } = JSON.parse(line);
    if (requestId === null || !ledgerAccount.startsWith('revenue:')) continue;
    const { times, nanoUsd } = charges.get(requestId) ?? { times: 0, nanoUsd: 0 };
    charges.set(requestId, { times: times + 1, nanoUsd: nanoUsd + Math.round(amountUsd * 1e9) });
  }
  return charges;
}

/**
 * Returns the complete responses that the ledger does not have exactly once with their amount.
 * @param {readonly Line[]} lines
 */
export function compareLedger(lines, charges) {
  const complete = lines.filter(({ problem }) => problem === null);
  return complete.flatMap(({ id, nanoUsd }) => {
    const found = charges.get(id) ?? { times: 0, nanoUsd: 0 };
    if (found.times === 1 && found.nanoUsd === nanoUsd) return [];
    return [`${id}: ${found.times} charges of ${found.nanoUsd} nano-USD instead of one of ${nanoUsd}`];
  });
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const { LOAD_URL: url, LOAD_KEY: key, LOAD_STREAMS: streams } = process.env;
if (url !== undefined) {
  const load = { url, key, plain: 'check/plain', callEveryMs: 50, streamed: 'check/stream', streams: Number(streams) };
  const stop = startLoad(load, (line) => console.log(JSON.stringify(line)));
  process.once('SIGTERM', () => void stop());
}
