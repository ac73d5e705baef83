import { spawn } from 'node:child_process';
import { expect } from './results.mjs';

/**
 * Nano-USD per token of openai/gpt-4o-mini, the model of the printed commands, as in the demo
 * catalog.
 */
const PRICE = { input: 150n, cachedInput: 75n, output: 600n };
const CALL_LIMIT_MS = 30_000;
const LEDGER_WAIT_MS = 5_000;
const NANO_DIGITS = 9;

/**
 * Runs a printed `curl` literally in this machine's shell, because the bare root has no curl. The
 * network is the same.
 */
export async function runPrinted(text) {
  const child = spawn('sh', ['-c', text], { stdio: ['ignore', 'pipe', 'pipe'], timeout: CALL_LIMIT_MS });
  let output = '';
  let complaints = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => (output += piece));
  child.stderr.setEncoding('utf8').on('data', (piece) => (complaints += piece));
  const code = await new Promise((resolve) => child.once('close', (status, signal) => resolve(status ?? signal)));
  const seen = () => `${text}\n\nexit ${code}\n${output}\n${complaints}`;
  expect(code === 0, 'the printed curl to end with 0', seen);
  return readAnswer(output, seen);
}

/** Queries the ledger until the record exists, and compares the charge with price × usage. */
export async function checkCharge(checkout, { id, usage, seen }) {
  const expected = chargeOf(usage);
  const until = performance.now() + LEDGER_WAIT_MS;
  let shown;
  do shown = await checkout.command(['npm', 'run', 'ledger', '--', id]);
  while (shown.code !== 0 && performance.now() < until);
  const said = () => `${shown.output}\n\nthe response was:\n${seen()}`;
  expect(shown.code === 0, `"npm run ledger -- ${id}" to find the call`, said);
  const start = shown.output.indexOf('\n{');
  const end = shown.output.indexOf('\n}', start) + 2;
  const record = JSON.parse(shown.output.slice(start, end));
  expect(record.requestId === id, `the record of ${id}`, said);
  expect(record.outcome === 'settled', 'the call to be settled', said);
  expect(nanoUsd(record.chargedUsd) === expected, `a charge of ${expected} nano-USD (price × usage)`, said);
  const entries = [...shown.output.slice(end).matchAll(/^ +(-?\d+(?:\.\d+)?) {2}/gm)].map(([, amount]) =>
    nanoUsd(amount),
  );
  expect(entries.length >= 2, 'ledger entries', said);
  expect(entries.reduce((sum, amount) => sum + amount, 0n) === 0n, 'entries that sum to zero', said);
  checkout.spentNanoUsd += expected;
  return `${usage.prompt_tokens} in, ${usage.completion_tokens} out: $${record.chargedUsd}`;
}

/** Returns the wallet of `npm run ledger` in nano-USD. */
export async function walletNanoUsd(checkout) {
  const { code, output } = await checkout.command(['npm', 'run', 'ledger']);
  const found = /wallet \$(-?\d+(?:\.\d+)?)/.exec(output);
  expect(code === 0 && found !== null, '"npm run ledger" to show a wallet', output);
  return { amount: nanoUsd(found[1]), output };
}

function readAnswer(output, seen) {
  const cut = output.indexOf('\r\n\r\n');
  const [status = '', ...headerLines] = output.slice(0, cut).split('\r\n');
  const headers = new Map(
    headerLines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  expect(/^HTTP\/1\.1 200\b/.test(status), 'status 200', seen);
  const id = headers.get('x-gateway-request-id');
  expect(Boolean(id), 'the header x-gateway-request-id', seen);
  const body = output.slice(cut + 4);
  const streamed = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const usage = streamed ? usageOfStream(body, seen) : JSON.parse(body).usage;
  expect(usage?.prompt_tokens > 0 && usage.completion_tokens > 0, 'a usage with tokens', seen);
  return { id, usage, streamed, seen };
}

function usageOfStream(body, seen) {
  expect(/\n\ndata: \[DONE\]\s*$/.test(body), 'a stream that ends with "data: [DONE]"', seen);
  const chunks = [...body.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json));
  expect(chunks.length >= 2, 'a stream of several chunks', seen);
  return chunks.findLast((chunk) => chunk.usage)?.usage;
}

function chargeOf(usage) {
  const cached = BigInt(usage.prompt_tokens_details?.cached_tokens ?? 0);
  const input = BigInt(usage.prompt_tokens) - cached;
  return input * PRICE.input + cached * PRICE.cachedInput + BigInt(usage.completion_tokens) * PRICE.output;
}

export function nanoUsd(text) {
  const [whole, fraction = ''] = text.replace('-', '').split('.');
  const amount = BigInt(whole + fraction.padEnd(NANO_DIGITS, '0'));
  return text.startsWith('-') ? -amount : amount;
}
