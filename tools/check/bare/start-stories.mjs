import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { lastLines } from './checkout.mjs';
import { expect } from './results.mjs';
import { ORDERLY_STOP_MS, callAndCharge, started, stopInOrder, wallet } from './story-steps.mjs';

const SECOND_START_MS_MAX = 20_000;
const EDGE_PORT = 8_080;

export async function firstStart(checkout, row) {
  const { system } = await started(checkout, 'npm start, first', row);
  for (const call of system.printedCalls()) await callAndCharge(checkout, call, row);
  await wallet(checkout);
  const { demoApiKey } = system.running;
  await stopInOrder(system, row);
  return demoApiKey;
}

export async function secondStart(checkout, demoKey, row) {
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

export async function sideBySide(first, second, row) {
  const taken = !(await isFree(EDGE_PORT));
  const { system: one } = await started(first, 'first checkout: npm start', row, []);
  await refusesTakenPort(second, new URL(one.running.edgeUrl).port);
  const { system: two } = await started(second, 'second checkout: npm start', row, []);
  const said = /port 8080 is taken: using (\d+)/;
  expect(
    taken === said.test(one.output),
    taken ? 'the first to report that 8080 is taken' : 'the first to take 8080',
    one.tail(),
  );
  expect(said.test(two.output), 'the second to report that 8080 is taken', two.tail());
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
    ? 'both serve; 8080 was taken by another program of this machine, and both reported it'
    : 'both serve; the first has 8080, the second reports that it is taken (and refuses it if given); one stops, the other continues';
}

export async function doctorAndReset(checkout) {
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

async function refusesTakenPort(checkout, port) {
  const { code, output } = await checkout.command(['npm', 'start', '--', '--port', port]);
  const refused = code !== 0 && output.includes(`port ${port} (--port) is taken`);
  expect(refused, 'a given port that is taken to stop the start', lastLines(output));
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
