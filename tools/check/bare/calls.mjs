import { spawn } from 'node:child_process';
import { expect } from './results.mjs';

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
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (piece) => (output += piece));
  child.stderr.setEncoding('utf8').on('data', (piece) => (errors += piece));
  const code = await new Promise((resolve) => child.once('close', (status, signal) => resolve(status ?? signal)));
  const seen = `${text}\n\nexit ${code}\n${output}\n${errors}`;
  const id = /^x-gateway-request-id: (\S+)/im.exec(output)?.[1];
  expect(code === 0 && /^HTTP\/1\.1 200\b/m.test(output), 'the printed curl to end with status 200', seen);
  expect(id !== undefined, 'the header x-gateway-request-id', seen);
  const streamed = /^content-type: text\/event-stream/im.test(output);
  expect(!streamed || /\n\ndata: \[DONE\]\s*$/.test(output), 'a stream that ends with "data: [DONE]"', seen);
  return { id, streamed, seen };
}

/** Queries the ledger until the record exists. `one-call.test.ts` compares charges with prices. */
export async function checkCharge(checkout, { id, seen }) {
  const until = performance.now() + LEDGER_WAIT_MS;
  let shown;
  do shown = await checkout.command(['npm', 'run', 'ledger', '--', id]);
  while (shown.code !== 0 && performance.now() < until);
  const said = () => `${shown.output}\n\nthe response was:\n${seen}`;
  expect(shown.code === 0, `"npm run ledger -- ${id}" to find the call`, said);
  const [, charged] = /"chargedUsd": "([\d.]+)"/.exec(shown.output) ?? [];
  expect(charged !== undefined && nanoUsd(charged) > 0n, 'a charge', said);
  const entries = [...shown.output.matchAll(/^ +(-?\d+(?:\.\d+)?) {2}/gm)].map(([, amount]) => nanoUsd(amount));
  expect(entries.length >= 2, 'ledger entries', said);
  expect(entries.reduce((sum, amount) => sum + amount, 0n) === 0n, 'entries that sum to zero', said);
  checkout.spentNanoUsd += nanoUsd(charged);
  return `$${charged}`;
}

/** Returns the wallet of `npm run ledger` in nano-USD. */
export async function walletNanoUsd(checkout) {
  const { code, output } = await checkout.command(['npm', 'run', 'ledger']);
  const found = /wallet \$(-?\d+(?:\.\d+)?)/.exec(output);
  expect(code === 0 && found !== null, '"npm run ledger" to show a wallet', output);
  return { amount: nanoUsd(found[1]), output };
}

function nanoUsd(text) {
  const [whole, fraction = ''] = text.replace('-', '').split('.');
  const amount = BigInt(whole + fraction.padEnd(NANO_DIGITS, '0'));
  return text.startsWith('-') ? -amount : amount;
}
