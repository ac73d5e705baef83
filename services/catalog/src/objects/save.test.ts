import { ManualClock } from '@gateway/testkit/clocks';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { until, type Replica } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { accepted, operatorOn, tellRevision, type Operator } from '../../test/operator.js';
import { startCatalogWorld } from '../../test/catalog-world.js';

/** Interval at which replicas report. A change waits at most three seconds for them. */
const EVERY_MS = 60_000;
const LISTENING_MS = 1.25 * EVERY_MS;
const IN_FORCE_MS = 3_000;

const world = duringTests(startCatalogWorld);
let operator: Operator;
let edge: Bus;
let admission: Bus;
/** The clock of the replicas. */
const clock = new ManualClock();
const start = () => world.start({ clock, times: { followedEveryMs: EVERY_MS } });
let replicas: Replica[] = [];
const stops: (() => void)[] = [];
let names = 0;

beforeAll(async () => {
  operator = operatorOn(await world.connect('dashboard'));
  edge = await world.connect('edge-proxy');
  admission = await world.connect('admission');
  replicas = await Promise.all([start(), start()]);
  await until('both are ready', () => replicas.every(({ ready }) => ready.report().ready));
  await clock.advance(LISTENING_MS);
});

const stopAll = (): void => {
  for (const stop of stops.splice(0)) stop();
};
afterEach(stopAll);

/**
 * Starts a simulated replica that has reported its revision. It stops at the end of the test and
 * needs no further reports, because the clock does not advance.
 */
function follow(bus: Bus, from: number) {
  const replica = `${bus.service}.r${(names += 1)}`;
  tellRevision(bus, replica, from);
  const sayLast = () => tellRevision(bus, replica, from, true);
  stops.push(sayLast);
  return { reach: (revision: number) => tellRevision(bus, replica, revision), sayLast };
}

/** Waits for the response while `ms` pass repeatedly: the wait for replicas begins later. */
async function answerAfter<T>(answer: Promise<T>, ms: number, tell: () => void = () => undefined): Promise<T> {
  let hasAnswered = false;
  void answer.finally(() => (hasAnswered = true)).catch(() => undefined);
  await until('the response', async () => {
    tell();
    await clock.advance(ms);
    return hasAnswered;
  });
  return answer;
}

const newest = async () =>
  Number((await world.sql.one<{ revision: bigint }>('SELECT revision FROM catalog_state'))?.revision);
const change = () => operator.putProvider('acme', { name: `Name ${performance.now()}` });
/** Waits for the commit, so that a later report ends the wait. */
const committed = (before: number) => until('committed', async () => (await newest()) > before);

test('a change is in force without edges and admission after the listening time', async () => {
  expect(await change()).toMatchObject({ change: 'created', inForce: true });
});

// Covers r10
test('a change is in force when the last edge and admission replica has it', async () => {
  for (let n = 0; n < 6; n += 1) {
    const before = await newest();
    const followers = [follow(edge, before), follow(admission, before)];
    await Promise.all([edge.listening(), admission.listening()]);
    let answered = false;
    const answer = change().finally(() => (answered = true));
    await committed(before);
    followers[0]?.reach(before + 1);
    // The wait for the other replica takes longer than a read.
    await operator.getProvider('acme');
    expect(answered).toBe(false);
    followers[1]?.reach(before + 1);
    expect(await answer).toMatchObject({ change: 'changed', revision: before + 1, inForce: true });
    stopAll();
  }
});

test('a change that is not in force after three seconds responds with false', async () => {
  const before = await newest();
  const behind = follow(edge, before);
  await edge.listening();
  const answer = await answerAfter(accepted(change()), IN_FORCE_MS, () => behind.reach(before));
  expect(answer.inForce).toBe(false);
  behind.reach(answer.revision);
  const again = await accepted(operator.putProvider('acme', { ...answer.provider }));
  expect(again).toMatchObject({ change: 'unchanged', revision: answer.revision, inForce: true });
});

test('a change does not wait for a stopped or silent replica', async () => {
  follow(admission, await newest()).sayLast();
  follow(edge, await newest());
  await Promise.all([edge.listening(), admission.listening()]);
  await clock.advance(3 * EVERY_MS);
  expect(await change()).toMatchObject({ inForce: true });
});

test('a started catalog reports changes as in force only after the listening time', async () => {
  await Promise.all(replicas.map((replica) => replica.stop()));
  replicas = [await start()];
  await until('ready', () => replicas.every(({ ready }) => ready.report().ready));
  const answer = change();
  expect(await answerAfter(answer, IN_FORCE_MS)).toMatchObject({ change: 'changed', inForce: false });
  await clock.advance(LISTENING_MS);
  expect(await change()).toMatchObject({ inForce: true });
});

test('a stop does not wait for replicas with an older revision', async () => {
  const before = await newest();
  follow(edge, before);
  await edge.listening();
  const answer = change();
  await committed(before);
  // The clock does not advance, so only the stop ends the wait.
  await replicas[0]?.stop();
  expect(await answer).toMatchObject({ change: 'changed', inForce: false });
});
