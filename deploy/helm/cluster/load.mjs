// Runs in a pod: sends twenty plain requests a second next to forty continuously open streams.
// Prints one line of JSON for each that ended.
const { EDGE_URL: url, API_KEY: key } = process.env;
const CALL_EVERY_MS = 50;
const STREAMS = 40;
const CALL_MS_MAX = 60_000;
const STREAM_MS_MAX = 120_000;
const AFTER_FAILURE_MS = 500;

setInterval(() => void report('call', 'check/plain', false, CALL_MS_MAX), CALL_EVERY_MS);
for (let stream = 0; stream < STREAMS; stream += 1) void keepStreaming(stream);

async function keepStreaming(stream) {
  await pause((stream * 30_000) / STREAMS);
  for (;;) {
    const isWhole = await report('stream', 'check/stream', true, STREAM_MS_MAX);
    if (!isWhole) await pause(AFTER_FAILURE_MS);
  }
}

async function report(kind, model, stream, msMax) {
  const at = Date.now();
  const { status, problem } = await ask(model, stream, msMax);
  console.log(JSON.stringify({ kind, at, ms: Date.now() - at, status, problem }));
  return problem === null;
}

/** `problem` is null for a complete response, `status` is null without a response head. */
async function ask(model, stream, msMax) {
  let status = null;
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hello' }] }),
      signal: AbortSignal.timeout(msMax),
    });
    status = response.status;
    const text = await response.text();
    if (status !== 200) return { status, problem: JSON.parse(text).error?.code ?? 'unknown' };
    return { status, problem: stream && !text.trimEnd().endsWith('data: [DONE]') ? 'cut' : null };
  } catch (error) {
    return { status, problem: error.cause?.code ?? error.name };
  }
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
