import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { checkCharge, runPrinted, walletNanoUsd } from './calls.mjs';
import { Checkout, lastLines } from './checkout.mjs';
import { expect } from './results.mjs';
import { RunningSystem } from './running-system.mjs';

const DEMO_CREDIT_NANO_USD = 25_000_000_000n;
const ORDERLY_STOP_MS = 20_000;
/** The promise of the local start when it, or npm, is killed. */
const KILLED_MS = 5_000;
const GIVEN_UP_MS = 10_000;
const AT_ONCE_MS = 3_000;
/** A stopping edge waits 10 s for its calls: after this time it is surely waiting, and far from the end. */
const INTO_DRAIN_MS = 2_000;
const TEST_LIMIT_MS = 1_200_000;
const SECOND_START_MS_MAX = 20_000;

/**
 * What is checked for one user, in order. Each story returns its result or throws; after one that is essential nothing
 * further makes sense.
 */
export function storiesOf({ user, root, source, options }) {
  const first = new Checkout(root, user, source, 'gateway');
  const second = new Checkout(root, user, source, 'another gateway');
  const tests = options.skipTests || (user.name !== 'root' && !options.userTests) ? [] : [testStory(first)];
  let demoKey = null;
  return [
    { title: 'git clone', essential: true, tell: () => first.clone() },
    { title: 'npm ci, first', essential: true, tell: () => first.install() },
    {
      title: 'first start, calls, charges, Ctrl-C',
      essential: true,
      tell: async (row) => {
        demoKey = await firstStart(first, row);
        return 'answered, charged, in the wallet';
      },
    },
    { title: 'second start, same key, same wallet, Ctrl-C', tell: (row) => secondStart(first, demoKey, row) },
    {
      title: 'kill -9 of the starter',
      tell: (row) => afterKill(first, (system) => system.running.pids.starter[0], row),
    },
    { title: 'kill -9 of npm', tell: (row) => afterKill(first, (system) => system.npmPid, row) },
    { title: 'Ctrl-C while a call runs, then again', tell: (row) => secondCtrlC(first, row) },
    { title: 'Ctrl-C where the shell of npm gives way to its command', tell: (row) => ctrlCWithBash(first, row) },
    { title: 'Ctrl-C during the start', tell: (row) => ctrlCDuringStart(first, row) },
    { title: 'git clone to a path with a space', tell: () => second.clone() },
    { title: 'npm ci, second (the npm cache is warm)', tell: () => second.install() },
    { title: 'two checkouts side by side', tell: (row) => sideBySide(first, second, row) },
    { title: 'npm run doctor, npm run reset', tell: () => doctorAndReset(second) },
    ...tests,
  ];
}

async function firstStart(checkout, row) {
  const { system } = await started(checkout, 'npm start, first', row);
  for (const call of system.printedCalls()) await callAndCharge(checkout, call, row);
  await wallet(checkout);
  const { demoApiKey } = system.running;
  await stopInOrder(system, row);
  return demoApiKey;
}

async function secondStart(checkout, demoKey, row) {
  const { system, seconds } = await started(checkout, 'npm start, second', row);
  expect(seconds * 1000 < SECOND_START_MS_MAX, `a second start within ${SECOND_START_MS_MAX / 1000} s`, system.tail());
  expect(system.running.demoApiKey === demoKey, 'the demo key of the first start', system.tail());
  expect(system.output.includes(demoKey), 'the demo key to be printed again', system.tail());
  const left = await wallet(checkout);
  await callAndCharge(checkout, system.printedCalls()[0], row);
  await wallet(checkout);
  await stopInOrder(system, row);
  return `same key; wallet as left by the first start: ${left}`;
}

async function afterKill(checkout, victimOf, row) {
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

async function secondCtrlC(checkout, row) {
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
  await until(async () => {
    const { data } = await (await fetch(`${providerUrls[0]}/__calls?model=gpt-4o-mini&after=0`)).json();
    return data.length > 0;
  }, 'the call to reach the provider');
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

/** bash replaces itself by its last command: then the starter gets the signal from the terminal and once more from npm. */
async function ctrlCWithBash(checkout, row) {
  const { system } = await started(checkout, 'npm start', row, ['--port', '0'], {
    npm_config_script_shell: '/bin/bash',
  });
  await stopInOrder(system, row);
  return 'taken for one';
}

async function ctrlCDuringStart(checkout, row) {
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

async function sideBySide(first, second, row) {
  const taken = !(await isFree(8080));
  const { system: one } = await started(first, 'first checkout: npm start', row, []);
  await refusesTakenPort(second, new URL(one.running.edgeUrl).port);
  const { system: two } = await started(second, 'second checkout: npm start', row, []);
  const said = /port 8080 is taken: using (\d+)/;
  expect(
    taken === said.test(one.output),
    taken ? 'the first to say that 8080 is taken' : 'the first to take 8080',
    one.tail(),
  );
  expect(said.test(two.output), 'the second to say that 8080 is taken', two.tail());
  expect(one.running.edgeUrl !== two.running.edgeUrl, 'two addresses', `${one.tail()}\n${two.tail()}`);
  await Promise.all([
    callAndCharge(first, one.printedCalls()[0], row),
    callAndCharge(second, two.printedCalls()[1], row),
  ]);
  await Promise.all([wallet(first), wallet(second)]);
  one.remember();
  one.pressCtrlC();
  one.expectOrderlyEnd(await one.gone(ORDERLY_STOP_MS, { alone: false }));
  await callAndCharge(second, two.printedCalls()[0], row);
  await stopInOrder(two, row);
  return taken
    ? 'both serve; 8080 was taken by another program of this machine, and both said so'
    : 'both serve; the first has 8080, the second says that it is taken (and refuses it when given); one stops, the other goes on';
}

async function refusesTakenPort(checkout, port) {
  const { code, output } = await checkout.command(['npm', 'start', '--', '--port', port]);
  const refused = code !== 0 && output.includes(`port ${port} (--port) is taken`);
  expect(refused, 'a given port that is taken to stop the start', lastLines(output));
}

async function doctorAndReset(checkout) {
  const doctor = await checkout.command(['npm', 'run', 'doctor']);
  const found = ['postgres', 'nats', 'redis'].every((name) =>
    new RegExp(`^${name} +[\\d.]+ +project`, 'm').test(doctor.output),
  );
  expect(
    doctor.code === 0 && found,
    '"npm run doctor" to name version and place of each server',
    lastLines(doctor.output),
  );
  const reset = await checkout.command(['npm', 'run', 'reset']);
  const gone = !existsSync(checkout.root.path(checkout.state));
  expect(reset.code === 0 && gone, '"npm run reset" to delete the state', lastLines(reset.output));
  return 'the servers are named; the state is deleted';
}

function testStory(checkout) {
  return {
    title: 'npm test',
    tell: async () => {
      const { code, output } = await checkout.command(['npm', 'test'], { limitMs: TEST_LIMIT_MS });
      const left = checkout.root.processes();
      expect(code === 0, '"npm test" to end with 0', lastLines(output, 60));
      expect(left.length === 0, 'no process left after "npm test"', left.join('\n'));
      console.log(lastLines(output, 20));
      return lastLines(output, 1);
    },
  };
}

async function started(checkout, title, row, args, env) {
  const startedAt = performance.now();
  const system = await RunningSystem.start(checkout, args, env);
  const seconds = (performance.now() - startedAt) / 1000;
  row(title, seconds, stepsOf(system));
  return { system, seconds };
}

async function stopInOrder(system, row) {
  system.remember();
  const pressedAt = performance.now();
  system.pressCtrlC();
  const groups = await system.gone(ORDERLY_STOP_MS);
  row('Ctrl-C', (performance.now() - pressedAt) / 1000, system.expectOrderlyEnd(groups));
}

async function callAndCharge(checkout, text, row) {
  const startedAt = performance.now();
  const answer = await runPrinted(text);
  const seconds = (performance.now() - startedAt) / 1000;
  row(`the printed curl, ${answer.streamed ? 'streamed' : 'plain'}`, seconds, await checkCharge(checkout, answer));
}

/** Compares the wallet with the credit less everything that this checkout has spent. */
async function wallet(checkout) {
  const { amount, output } = await walletNanoUsd(checkout);
  const expected = DEMO_CREDIT_NANO_USD - checkout.spentNanoUsd;
  expect(amount === expected, `a wallet of ${expected} nano-USD`, output);
  return `$${/wallet \$(\S+)/.exec(output)[1]}`;
}

/** The seconds that the start itself prints. */
function stepsOf(system) {
  return [...system.output.matchAll(/^(.+?) in (\d+\.\d) s/gm)]
    .map(([, what, seconds]) => `${what.trim()} ${seconds} s`)
    .join(', ');
}

async function until(holds, expectation) {
  const end = performance.now() + AT_ONCE_MS;
  while (!(await holds())) {
    expect(performance.now() < end, expectation);
    await delay(20);
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
