import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { Redis } from 'ioredis';
import type { StartedAdmission } from '../service.js';
import { makeBusWorld, type PlayBilling } from '../../test/bus-world.js';
import type { BusWorld } from '../../test/bus-world.js';
import { FakeEdge } from '../../test/fake-edge.js';
import { FakeLedger } from '../../test/fake-ledger.js';
import { Spending } from '../../test/spending.js';
import { PRICE, makeAccount, makeOwners, ownersOf } from '../../test/world.js';
import type { TestAccount } from '../../test/world.js';

const SEED = testSeed();
const CALLS_AT_ONCE = 8;
const WORKERS = 12;
/** One edge reports its calls late. A recovery that does not wait for it spends its money again. */
const SLOW_MS = 400;
/** So small that the wallets hardly change. */
const AMOUNT = 10;
/** Calls that an old Redis file restores hold their money until they expire. */
const DURATIONS = { leaseMs: 4_000, expiryMs: 8_000 };
/**
 * Maximum time until calls are admitted again after a loss. The recovery waits ten seconds for an
 * edge that died just before.
 */
const RECOVERY_MAX_MS = 30_000;

const owners = makeOwners();
const spending = new Spending();
let world: BusWorld;
let ledger: FakeLedger;
let replicas: StartedAdmission[];
let edges: FakeEdge[];
let redis: Redis;
let stopLoad = false;

/**
 * There are always more concurrent calls than the wallet can pay for, so any mistake in held sums
 * becomes visible.
 */
const accounts: TestAccount[] = [];
const outcomes = { admitted: 0, fault: 0 };
const refusals = new Set<string>();

beforeAll(async () => {
  // It kills Redis.
  const playBilling: PlayBilling = (billing) => void (ledger = new FakeLedger(billing, owners));
  world = await makeBusWorld(ownersOf(owners), { playBilling, own: true });
  await world.publishCatalog(1);
  const started = [await world.start('one', DURATIONS), await world.start('two', DURATIONS)];
  await until('both are ready', () => started.every(({ ready }) => ready.report().ready));
  replicas = started;
  edges = [];
  for (const name of ['edge-a', 'edge-b', 'edge-c']) {
    edges.push(await startEdge(name, name === 'edge-c' ? SLOW_MS : 0));
  }
  for (let made = 0; made < 2; made += 1) accounts.push(newAccount((CALLS_AT_ONCE + 0.5) * PRICE));
  redis = new Redis(world.redis.url, { lazyConnect: true });
  redis.on('error', () => undefined);
});
afterAll(async () => {
  stopLoad = true;
  for (const edge of edges) edge.kill();
  redis.disconnect();
  await world.stop();
});

const startEdge = async (name: string, lateMs = 0): Promise<FakeEdge> =>
  new FakeEdge(await world.connect('edge-proxy'), name, spending, () => replicas[0]!.clock.now(), lateMs);

function newAccount(wallet: number): TestAccount {
  const account = makeAccount({ owners }, { wallet });
  spending.fund(account.account, wallet);
  return account;
}

/**
 * Makes calls one after another until the load stops: short ones, and streams that continue during
 * a loss of Redis.
 */
async function work(edge: FakeEdge, account: TestAccount, longestMs: number, random: SeededRandom): Promise<void> {
  while (!stopLoad) {
    const outcome = await edge.start(account.digest);
    if (outcome.kind === 'refused') refusals.add(outcome.code);
    else outcomes[outcome.kind] += 1;
    const runsMs = 20 + random.below(outcome.kind === 'admitted' ? longestMs : 60);
    await new Promise((resolve) => setTimeout(resolve, runsMs));
    if (outcome.kind === 'admitted') await edge.end(outcome.call, AMOUNT);
  }
}

const admittedAgain = async (): Promise<void> => {
  const before = { ...outcomes };
  await until('requests are admitted again', () => outcomes.admitted > before.admitted + 100, RECOVERY_MAX_MS);
};
const allOpen = () =>
  until(
    'all buckets are open',
    async () => {
      if (!replicas.every(({ admission }) => admission.bucketsPending() === 0)) return false;
      const epochs = await redis
        .mget(Array.from({ length: 256 }, (_unused, bucket) => `{${bucket}}epoch`))
        .catch(() => []);
      return epochs.length === 256 && epochs.every((epoch) => epoch?.includes(' open '));
    },
    RECOVERY_MAX_MS,
  );

/**
 * Checks that funds and charges of each account become exact to the nano-USD without intervention.
 */
async function settleDown(some: readonly TestAccount[]): Promise<void> {
  await until('the edges are idle', () => edges.every((edge) => edge.idle()));
  // Holds that an old file restored are queried when they fall due.
  for (const { clock } of replicas) clock.shift(clock.offsetMs() + 70_000);
  for (const { account, state } of some) {
    await until(`nothing of ${account} is held, and its balance is the ledger's`, async () => {
      const dump = await replicas[0]!.admission.readAccount(account).catch(() => null);
      if (dump === null || dump.slots !== 0 || Object.keys(dump.held).length > 0) return false;
      return dump.rows['wallet']?.value === state.rows.get('wallet')?.value;
    });
    expect(ledger.charged(account)).toBe(spending.exposed(account));
  }
}

const LOSSES: Readonly<Record<string, () => Promise<unknown>>> = {
  flushed: () => redis.flushall(),
  'killed, and empty when it is back': () => world.redis.restart!({ kill: true, emptyState: true }),
  'killed, and back with an old file': async () => {
    await redis.save();
    const before = outcomes.admitted;
    await until('the file has grown old', () => outcomes.admitted > before + 50);
    await world.redis.restart!({ kill: true });
  },
};

test(`repeated losses of Redis under load cause no double spending, seed ${SEED}`, async () => {
  const load = accounts.flatMap((account, index) =>
    Array.from({ length: WORKERS }, (_unused, worker) => {
      const random = new SeededRandom(SEED + index * WORKERS + worker);
      return work(edges[worker % edges.length]!, account, worker % 2 === 0 ? 60 : 3_000, random);
    }),
  );
  await admittedAgain();
  for (const lose of [...Object.values(LOSSES), LOSSES['flushed']!]) {
    await lose();
    await allOpen();
    await admittedAgain();
  }
  stopLoad = true;
  await Promise.all(load);
  expect(spending.violations).toEqual([]);
  // Calls are refused only for the wallet, never because of a lost state.
  expect([...refusals]).toEqual(['insufficient_credits']);
  await settleDown(accounts);
}, 120_000);

test('the calls of a dead edge are held again from its last heartbeat', async () => {
  const account = newAccount(4 * PRICE);
  const dying = await startEdge('edge-dying');
  for (let made = 0; made < 3; made += 1) await dying.admit(account.digest);
  await dying.heartbeat();
  dying.kill();
  await redis.flushall();
  await allOpen();
  const last = await edges[0]!.admit(account.digest);
  expect(await edges[1]!.start(account.digest)).toEqual({ kind: 'refused', code: 'insufficient_credits' });
  expect(spending.violations).toEqual([]);
  await edges[0]!.end(last, 0);
  for (const { clock } of replicas) clock.shift(clock.offsetMs() + 15_000);
  await until('they are recorded as expired', () =>
    [...dying.running.keys()].every((id) => ledger.settled.get(id)?.outcome === 'expired'),
  );
  await until('nothing is held', async () =>
    Object.values((await replicas[0]!.admission.readAccount(account.account)).held).every((sum) => sum === 0),
  );
});

// Covers Redis is lost and billing is behind
test('accounts get faults after a loss of Redis until billing has caught up', async () => {
  const account = newAccount(2 * PRICE);
  ledger.behind = true;
  for (let made = 0; made < 2; made += 1) {
    await edges[0]!.end(await edges[0]!.admit(account.digest), PRICE);
  }
  await until('its releases are answered', () => edges[0]!.idle());
  await redis.flushall();
  await allOpen();
  // The ledger still has the whole wallet, and no heartbeat names a call. Only the stream contains
  // the spending.
  expect(account.state.rows.get('wallet')).toMatchObject({ value: 2 * PRICE });
  expect(await edges[1]!.start(account.digest)).toMatchObject({ kind: 'fault' });
  ledger.goOn();
  const refused = await until('it is decided', async () => {
    const outcome = await edges[1]!.start(account.digest);
    return outcome.kind === 'fault' ? null : outcome;
  });
  expect(refused).toMatchObject({ kind: 'refused', code: 'no_funding' });
  expect(spending.violations).toEqual([]);
});
