import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import { until, type Replica } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { accepted, operatorOn, tellRevision, type Operator } from '../../test/operator.js';
import { startCatalogWorld } from '../../test/catalog-world.js';

const EVERY_MS = 200;
const PLAYS_MAX = 5;

const world = duringTests(startCatalogWorld);
let operator: Operator;
let edge: Bus;
let admission: Bus;
let replicas: Replica[] = [];
const stops: (() => void)[] = [];
let names = 0;

beforeAll(async () => {
  operator = operatorOn(await world.connect('dashboard'));
  edge = await world.connect('edge-proxy');
  admission = await world.connect('admission');
  replicas = await Promise.all([world.start(), world.start()]);
  await until('both are ready', () => replicas.every(({ ready }) => ready.report().ready));
});

const stopAll = (): void => {
  for (const stop of stops.splice(0)) stop();
};
afterEach(stopAll);

/**
 * Runs a test that requires a report of each replica in every interval. Repeats it if a service, a
 * server or this process was paused for more than two intervals.
 */
async function undisturbed(play: () => Promise<void>): Promise<void> {
  for (let plays = 1; ; plays += 1) {
    let [stoodStillMs, isOver] = [0, false];
    const watching = (async () => {
      for (let from = performance.now(); !isOver; from = performance.now()) {
        await operator.getProvider('acme').catch(() => undefined);
        await delay(EVERY_MS / 10);
        stoodStillMs = Math.max(stoodStillMs, performance.now() - from);
      }
    })();
    try {
      return await play();
    } catch (error) {
      if (stoodStillMs <= 2 * EVERY_MS || plays === PLAYS_MAX) throw error;
    } finally {
      isOver = true;
      await watching;
    }
    stopAll();
  }
}

/**
 * Starts a simulated replica that reports its revision in every interval until the end of the test.
 */
function follow(bus: Bus, from: number) {
  const replica = `${bus.service}.r${(names += 1)}`;
  let revision = from;
  const tell = () => tellRevision(bus, replica, revision);
  const timer = setInterval(tell, EVERY_MS / 2);
  tell();
  stops.push(() => {
    clearInterval(timer);
    tellRevision(bus, replica, revision, true);
  });
  return {
    reach(newRevision: number) {
      revision = newRevision;
      tell();
    },
    fallSilent: () => clearInterval(timer),
    sayLast() {
      clearInterval(timer);
      tellRevision(bus, replica, revision, true);
    },
  };
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
test(
  'a change is in force when the last edge and admission replica has it',
  () =>
    undisturbed(async () => {
      for (let n = 0; n < 6; n += 1) {
        const before = await newest();
        const followers = [follow(edge, before), follow(admission, before)];
        let answered = false;
        const answer = change().finally(() => (answered = true));
        await committed(before);
        followers[0]?.reach(before + 1);
        // The wait for the other replica takes longer than a read.
        await operator.getProvider('acme');
        expect(answered).toBe(false);
        followers[1]?.reach(before + 1);
        expect(await answer).toMatchObject({ change: 'changed', revision: before + 1, inForce: true });
        for (const stop of stops.splice(0)) stop();
      }
    }),
  60_000,
);

test(
  'a change that is not in force after three seconds responds with false',
  () =>
    undisturbed(async () => {
      const behind = follow(edge, await newest());
      const begun = performance.now();
      const answer = await accepted(change());
      expect(answer.inForce).toBe(false);
      expect(performance.now() - begun).toBeGreaterThan(2_900);
      behind.reach(answer.revision);
      await until('the next response has inForce', async () => {
        const again = await accepted(operator.putProvider('acme', { ...answer.provider }));
        expect(again).toMatchObject({ change: 'unchanged', revision: answer.revision });
        return again.inForce;
      });
    }),
  60_000,
);

test(
  'a change does not wait for a stopped or silent replica',
  () =>
    undisturbed(async () => {
      const leaving = follow(admission, await newest());
      leaving.sayLast();
      const dying = follow(edge, await newest());
      dying.fallSilent();
      expect(await change()).toMatchObject({ inForce: true });
    }),
  60_000,
);

test('a started catalog reports changes as in force only after the listening time', async () => {
  await Promise.all(replicas.map((replica) => replica.stop()));
  const behind = follow(edge, await newest());
  replicas = [await world.start({ times: { mirroredEveryMs: 60_000 } })];
  await until('ready', () => replicas.every(({ ready }) => ready.report().ready));
  behind.sayLast();
  expect(await change()).toMatchObject({ change: 'changed', inForce: false });
});

test(
  'a stop does not wait for replicas with an older revision',
  () =>
    undisturbed(async () => {
      await Promise.all(replicas.map((replica) => replica.stop()));
      replicas = [await world.start()];
      await until('ready', () => replicas.every(({ ready }) => ready.report().ready));
      const before = await newest();
      follow(edge, before);
      const answer = change();
      await committed(before);
      const begun = performance.now();
      await replicas[0]?.stop();
      expect(performance.now() - begun).toBeLessThan(2_500);
      expect(await answer).toMatchObject({ change: 'changed', inForce: false });
    }),
  60_000,
);
