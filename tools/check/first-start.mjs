// Runs a new user's first steps: `npm start` in a checkout without compiled code, one request with
// the printed key, Ctrl-C. A fully compiled tree would hide missing parts of the compilation in
// `npm start`.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Includes the time for fetching servers. */
const READY_LIMIT_MS = 300_000;
const END_LIMIT_MS = 60_000;
const CALL_LIMIT_MS = 30_000;
const SHOWN_CHARS = 4_000;
const CODE_AFTER_CTRL_C = [0, 130];

const state = mkdtempSync(join(tmpdir(), 'gateway-first-start-'));
const startedAt = performance.now();
const args = [
  'tools/local/start.mjs',
  '--port',
  '0',
  '--dashboard-port',
  '0',
  '--operator-port',
  '0',
  '--state',
  state,
];
const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
let output = '';
for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));

try {
  if (existsSync(`${ROOT}services/edge-proxy/dist`)) console.log('first start: this checkout was compiled before');
  const ready = await Promise.race([seen(/^ready: http:\S+$/m), ended, after(READY_LIMIT_MS)]);
  if (ready !== true) throw new Error(`not ready: ${ready}`);
  const { chatBaseUrl, demoApiKey, dashboardUrl } = JSON.parse(readFileSync(join(state, 'running.json'), 'utf8'));
  await call(chatBaseUrl, demoApiKey);
  const page = await fetch(dashboardUrl, { signal: AbortSignal.timeout(CALL_LIMIT_MS) });
  if (page.status !== 200) throw new Error(`the dashboard responded with ${page.status}`);
  child.kill('SIGINT');
  const code = await Promise.race([ended, after(END_LIMIT_MS)]);
  if (!CODE_AFTER_CTRL_C.includes(code)) throw new Error(`after Ctrl-C: ${code}`);
  console.log(`first start: ready, responded and ended in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
} catch (error) {
  console.error(`${output.slice(-SHOWN_CHARS)}\nfirst start: ${error.message}`);
  process.exitCode = 1;
} finally {
  child.kill('SIGKILL');
  await ended;
  rmSync(state, { recursive: true, force: true });
}
process.exit();

function seen(pattern) {
  return new Promise((resolve) => {
    const look = () => pattern.test(output) && resolve(true);
    child.stdout.on('data', look);
    look();
  });
}

function after(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms, `nothing after ${ms / 1_000} s`).unref());
}

async function call(chatBaseUrl, key) {
  const answer = await fetch(`${chatBaseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }),
    signal: AbortSignal.timeout(CALL_LIMIT_MS),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`a request failed with ${answer.status}: ${text}`);
}
