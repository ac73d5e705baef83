import { checkCharge, runPrinted, walletNanoUsd } from './calls.mjs';
import { expect } from './results.mjs';
import { RunningSystem } from './running-system.mjs';

const DEMO_CREDIT_NANO_USD = 25_000_000_000n;
export const ORDERLY_STOP_MS = 20_000;

export async function started(checkout, title, row, args, env) {
  const startedAt = performance.now();
  const system = await RunningSystem.start(checkout, args, env);
  const seconds = (performance.now() - startedAt) / 1000;
  row(title, seconds, stepsOf(system));
  return { system, seconds };
}

export async function stopInOrder(system, row) {
  system.remember();
  const pressedAt = performance.now();
  system.pressCtrlC();
  const groups = await system.gone(ORDERLY_STOP_MS);
  row('Ctrl-C', (performance.now() - pressedAt) / 1000, system.expectOrderlyEnd(groups));
}

export async function callAndCharge(checkout, text, row) {
  const startedAt = performance.now();
  const answer = await runPrinted(text);
  const seconds = (performance.now() - startedAt) / 1000;
  row(`the printed curl, ${answer.streamed ? 'streamed' : 'plain'}`, seconds, await checkCharge(checkout, answer));
}

/** Compares the wallet with the credit minus all costs of this checkout. */
export async function wallet(checkout) {
  const { amount, output } = await walletNanoUsd(checkout);
  const expected = DEMO_CREDIT_NANO_USD - checkout.spentNanoUsd;
  expect(amount === expected, `a wallet of ${expected} nano-USD`, output);
  return `$${/wallet \$(\S+)/.exec(output)[1]}`;
}

/** Returns the seconds that the start itself prints. */
function stepsOf(system) {
  return [...system.output.matchAll(/^(.+?) in (\d+\.\d) s/gm)]
    .map(([, what, seconds]) => `${what.trim()} ${seconds} s`)
    .join(', ');
}
