import { setTimeout as delay } from 'node:timers/promises';
import { runPrinted } from './calls.mjs';
import { expect } from './results.mjs';
import { RunningSystem } from './running-system.mjs';
import { callAndCharge, started, stopInOrder, wallet } from './story-steps.mjs';

/** Bounds that the local start promises after it or npm is killed. */
const KILLED_MS = 5_000;
const GIVEN_UP_MS = 10_000;
const AT_ONCE_MS = 3_000;
/** A stopping edge waits 10 s for its requests. After this time it is waiting for sure. */
const INTO_DRAIN_MS = 2_000;

export async function afterKill(checkout, victimOf, row) {
  const { system } = await started(checkout, 'npm start', row);
  await callAndCharge(checkout, system.printedCalls()[0], row);
  system.remember();
  const killedAt = performance.now();
  process.kill(victimOf(system), 'SIGKILL');
  await system.gone(KILLED_MS);
  row('everything ended after the kill', (performance.now() - killedAt) / 1000, 'no process left');
  const { system: next } = await started(checkout, 'npm start after it', row);
  const left = await wallet(checkout);
  await stopInOrder(next, row);
  return `the wallet shows every charge: ${left}`;
}

export async function secondCtrlC(checkout, row) {
  const { system } = await started(checkout, 'npm start', row);
  const { providerUrls } = system.remember();
  const steps = [{ status: 200, headers: { 'content-type': 'text/event-stream' } }, { end: 'stall' }];
  const script = JSON.stringify({ model: 'gpt-4o-mini', times: 1, steps });
  for (const url of providerUrls) {
    const answer = await fetch(`${url}/__script`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: script,
    });
    expect(answer.ok, 'the simulator to take a script', await answer.text());
  }
  const call = runPrinted(system.printedCalls()[1]).catch(() => undefined);
  await until('the call to reach the provider', async () => {
    const { data } = await (await fetch(`${providerUrls[0]}/__calls?model=gpt-4o-mini&after=0`)).json();
    return data.length > 0;
  });
  system.pressCtrlC();
  await delay(INTO_DRAIN_MS);
  const serving = checkout.root.processes().length;
  expect(serving > 3, 'the system to wait for the call that runs', system.tail());
  const pressedAt = performance.now();
  system.pressCtrlC();
  await system.gone(AT_ONCE_MS);
  await call;
  const seconds = (performance.now() - pressedAt) / 1000;
  row('everything ended after the second Ctrl-C', seconds, 'no process left');
  return `one Ctrl-C waits for the call (seen for ${INTO_DRAIN_MS / 1000} s), the second one ends everything at once`;
}

/**
 * bash replaces itself by its last command, so the starter gets the signal from the terminal and
 * again from npm.
 */
export async function ctrlCWithBash(checkout, row) {
  const { system } = await started(checkout, 'npm start', row, ['--port', '0'], {
    npm_config_script_shell: '/bin/bash',
  });
  await stopInOrder(system, row);
  return 'taken for one';
}

export async function ctrlCDuringStart(checkout, row) {
  const system = new RunningSystem(checkout, ['--port', '0'], {});
  await system.waitFor(/^servers ready/m);
  const pressedAt = performance.now();
  system.pressCtrlC();
  await system.gone(GIVEN_UP_MS);
  row('everything ended after Ctrl-C', (performance.now() - pressedAt) / 1000, 'no process left');
  const { system: next } = await started(checkout, 'npm start after it', row);
  const left = await wallet(checkout);
  await stopInOrder(next, row);
  return `the next start is as before; wallet ${left}`;
}

async function until(what, ask) {
  const end = performance.now() + AT_ONCE_MS;
  while (!(await ask())) {
    expect(performance.now() < end, what);
    await delay(20);
  }
}
