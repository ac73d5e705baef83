import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeUuidV7 } from '@gateway/contracts/ids';
import type { ReleaseEntry, VersionedBalance } from '@gateway/contracts/messages';
import { splitFunding } from '@gateway/metering';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { testEpoch } from '@gateway/testkit/random';
import type { AccountDump } from '../read/read-account.js';
import { AUTHOR, PRICE, admitEntry, batch, heartbeatOf, makeAccount, makeWorld, release } from '../../test/world.js';
import type { Admitted, Replica, TestAccount, World } from '../../test/world.js';

const STEPS = 250;
const SEEDS = [1, 20_261_120, testSeed()];

let world: World;
let replicas: Replica[];

beforeAll(async () => {
  world = await makeWorld();
  replicas = [await world.replica(), await world.replica()];
});
afterAll(() => world.stop());

/** Sums up the holds independently of the scripts. */
function sumsOf({ holds }: AccountDump): {
  slots: number;
  held: Record<string, number>;
  templates: Record<string, number>;
} {
  const held: Record<string, number> = {};
  const templates: Record<string, number> = {};
  const add = (name: string, value: number) => (held[name] = (held[name] ?? 0) + value);
  let slots = 0;
  for (const { hold, template } of holds) {
    if (hold.state === 'gone') continue;
    if (template === null) throw new Error(`the shape of a hold is missing: ${hold.template}`);
    templates[hold.template] = (templates[hold.template] ?? 0) + 1;
    slots += hold.slot ? 1 : 0;
    const amount = hold.state === 'done' ? hold.amount : hold.worst;
    const walletMax = hold.walletMax === null ? null : BigInt(hold.walletMax);
    const split = splitFunding(BigInt(amount), BigInt(hold.planMax), walletMax);
    add('wallet', hold.state === 'done' || hold.walletMax === null ? Number(split.wallet) : hold.walletMax);
    if (hold.state !== 'done' && hold.walletMax !== null) add('plan', hold.worst - hold.walletMax);
    const planPays = hold.state === 'done' ? Number(split.plan) : 0;
    add(`km:${template.key}:${template.month}`, amount);
    add(`mm:${template.member}:${template.month}`, amount);
    if (hold.session !== null) add(`session:${hold.session}`, 1);
    for (const { type, unit } of template.windows) {
      if (unit === 'requests' && type === 'weekly') add(`w:weekly:requests:${template.weekly}`, 1);
      if (unit === 'usd' && type === 'session_5h') add(`w:session_5h:usd:${hold.session}`, planPays);
    }
    if (template.allotment === 'requests') add(`al:requests:${template.model}:${template.subscription?.id}`, 1);
  }
  return { slots, held: withoutZeros(held), templates };
}

const withoutZeros = (sums: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(sums).filter(([, value]) => value !== 0));

async function expectConsistent(account: TestAccount): Promise<AccountDump> {
  const dump = await replicas[0]!.admission.readAccount(account.account);
  const { slots, held, templates } = sumsOf(dump);
  expect(withoutZeros(dump.held)).toEqual(held);
  expect(dump.slots).toBe(slots);
  expect(dump.templates).toEqual(templates);
  return dump;
}

test.each(SEEDS)('held sums and slots equal the sum of the holds after each step, seed %i', async (seed) => {
  const random = new SeededRandom(seed);
  const pick = <T>(items: readonly T[]): T | undefined => items[random.below(items.length)];
  const now = replicas[0]!.clock.now();
  const account = makeAccount(world, {
    wallet: 40 * PRICE,
    memberCap: 1_000 * PRICE,
    key: { capNanoUsd: 1_000 * PRICE },
    terms: {
      concurrency: 12,
      plan: { id: 'pro', name: 'Pro', tier: 'pro' },
      models: ['acme/fixed'],
      windows: [
        { type: 'session_5h', unit: 'usd', limit: 60 * PRICE, label: 's' },
        { type: 'weekly', unit: 'requests', limit: 150, label: 'w' },
      ],
      allotments: [{ model: 'acme/fixed', unit: 'requests', limit: 200 }],
      subscription: { id: `sub-random-${seed}`, start: now - 1_000, end: now + 400 * 86_400_000 },
    },
  });
  let version = 1;
  let wallet = 40 * PRICE;
  const live: Admitted[] = [];
  const ended: Admitted[] = [];
  const takeLive = () => live.splice(random.below(live.length), 1)[0];
  const admitSome = async () => {
    const model = random.chance(0.6) ? 'acme/fixed' : 'acme/tokens';
    const count = 1 + random.below(4);
    const replica = pick(replicas)!;
    const bounds = {
      promptBytes: random.below(900),
      arrayElements: 0,
      attachments: 0,
      outputTokensMax: 100_000,
    };
    const entries = Array.from({ length: count }, () => admitEntry(replica.clock, [account.digest], { model, bounds }));
    const { answers } = await batch(replica, { admits: entries });
    for (const answer of answers.values()) if (answer.kind === 'admitted' && answer.hold) live.push(answer as Admitted);
  };
  const releaseOne = async () => {
    const call = random.chance(0.85) ? takeLive() : pick(ended);
    if (!call) return;
    const amount = Math.floor(random.next() * 1.3 * call.hold.worstNanoUsd);
    const releases: ReleaseEntry[] = random.chance(0.15)
      ? [{ blind: true, id: call.id, digests: [account.digest] }]
      : [release(call, random.chance(0.7) ? 'ok' : 'void', amount)];
    await batch(pick(replicas)!, { releases });
    ended.push(call);
  };
  const closeSome = async () => {
    const closed = [pick(ended)?.id, random.chance(0.3) ? takeLive()?.id : undefined].filter((id) => id !== undefined);
    version += 1;
    wallet += Math.floor((random.next() - 0.45) * PRICE);
    const rows: VersionedBalance[] = random.chance(0.7) ? [{ name: 'wallet', value: wallet, version }] : [];
    await pick(replicas)!.admission.applySnapshots({
      ledgerEpoch: testEpoch(1),
      accounts: [{ account: account.account, rows, closed }],
    });
  };
  const heartbeatSome = async () => {
    const calls = live
      .filter(() => random.chance(0.8))
      .map(({ id, hold, epoch }) => ({ id, hold, callEpoch: epoch, endpoint: null }));
    const lost = random.chance(0.2) ? pick(ended) : undefined;
    const made = lost
      ? [{ id: makeUuidV7(replicas[0]!.clock.now()), hold: lost.hold, callEpoch: 'another.epoch' }]
      : [];
    const named = [...calls, ...made].map((call) => ({ ...call, endpoint: '/v1/messages' as const }));
    await pick(replicas)!.admission.heartbeat(heartbeatOf(world, 'edge1', version, { calls: named }));
  };
  const takeBackOne = async () => {
    const call = random.chance(0.8) ? pick(live) : pick(ended);
    if (call) await pick(replicas)!.admission.releaseSlot({ requestId: call.id, author: AUTHOR });
  };
  const passTime = async () => {
    world.advance(Math.floor(random.next() ** 4 * 150_000));
    await pick(replicas)!.admission.sweep();
  };
  for (let step = 0; step < STEPS; step += 1) {
    const choice = random.next();
    if (choice < 0.4) await admitSome();
    else if (choice < 0.7) await releaseOne();
    else if (choice < 0.8) await closeSome();
    else if (choice < 0.87) await heartbeatSome();
    else if (choice < 0.92) await takeBackOne();
    else await passTime();
    await expectConsistent(account);
  }
  const left = (await expectConsistent(account)).holds.map(({ id }) => id);
  expect(ended.length).toBeGreaterThan(30);
  await replicas[0]!.admission.applySnapshots({
    ledgerEpoch: testEpoch(1),
    accounts: [{ account: account.account, rows: [], closed: left }],
  });
  const end = await expectConsistent(account);
  expect(end).toMatchObject({ slots: 0, held: {}, templates: {} });
});
