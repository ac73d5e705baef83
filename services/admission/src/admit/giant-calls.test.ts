import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { refusalError } from '@gateway/contracts/errors';
import { bucketOfAccount, makeUuidV7 } from '@gateway/contracts/ids';
import type { AdmitEntry, BatchAnswer, ReleaseEntry } from '@gateway/contracts/messages';
import { AMOUNT_NANO_USD_MAX, keyMonthRow, memberMonthRow, monthOf } from '@gateway/metering';
import { testEpoch } from '@gateway/testkit/random';
import fc from 'fast-check';
import { findBucketKeys } from '../limit-store/key-rules.js';
import { TextConnection } from '../../test/model/redis-text.js';
import {
  PRICE,
  admit,
  admitEntry,
  batch,
  heartbeatOf,
  makeAccount,
  makeWorld,
  mustAdmit,
  release,
} from '../../test/world.js';
import type { Admitted, Replica, TestAccount, World } from '../../test/world.js';

const LARGEST = Number(AMOUNT_NANO_USD_MAX);
const USD = 1_000_000_000;
const DAY_MS = 86_400_000;
const CONTEXT = {
  billingLinkUrl: 'https://b.example',
  chatBaseUrl: 'https://c.example',
  messagesBaseUrl: 'https://m.example',
};
/** The edge's value for `max_tokens: 90000000000000000`. */
const GIANT_TOKENS = Number.MAX_SAFE_INTEGER;
/** At nine nano-USD per token, the cost is below the largest amount and odd. */
const ODD_TOKENS = 777_777_777_777_777;
const ODD = ODD_TOKENS * 9;

let world: World;
let replicas: Replica[];
let one: Replica;

beforeAll(async () => {
  // It speaks to Redis by hand, in the first database.
  world = await makeWorld({ own: true });
  replicas = [await world.replica(), await world.replica()];
  one = replicas[0]!;
});
afterAll(() => world.stop());

/** A plan without windows pays for every model. */
function makePersonal(options: Pick<Parameters<typeof makeAccount>[1] & object, 'key' | 'memberCap'> = {}) {
  const now = one.clock.now();
  return makeAccount(world, {
    wallet: null,
    terms: {
      plan: { id: 'flat', name: 'Flat', tier: 'flat' },
      models: null,
      subscription: { id: 'sub-flat', start: now - 1_000, end: now + 20 * DAY_MS },
    },
    ...options,
  });
}

function call({ digest }: TestAccount, outputTokensMax: number): AdmitEntry {
  const bounds = { promptBytes: 0, arrayElements: 0, attachments: 0, outputTokensMax };
  return admitEntry(one.clock, [digest], { model: 'acme/tokens', bounds });
}

/** Reads the monthly sums of key and member as texts, because numbers would round them. */
async function monthsOf({ account, key, member }: TestAccount): Promise<(string | undefined)[]> {
  const { accounts, holds } = findBucketKeys(bucketOfAccount(account));
  const [fields] = await one.limitStore.dump(accounts + account, holds + account);
  const month = monthOf(one.clock.now());
  return [fields[`h:${keyMonthRow(key, month)}`], fields[`h:${memberMonthRow(member, month)}`]];
}

function codeOf(answer: BatchAnswer): string {
  if (answer.kind !== 'refused') return answer.kind;
  const { status, code } = refusalError(answer.code, answer.facts, CONTEXT);
  return `${status} ${code}`;
}

test('a giant call without a cap causes no cap refusal, nor does a concurrent call', async () => {
  const account = makePersonal();
  const giant = await mustAdmit(one, call(account, GIANT_TOKENS));
  expect(giant.hold.worstNanoUsd).toBe(LARGEST);
  const usual = await mustAdmit(one, call(account, 10));
  expect(await monthsOf(account)).toEqual(['9000000000000090', '9000000000000090']);
  await batch(one, { releases: [release(giant, 'ok', 70), release(usual, 'ok', 90)] });
  expect(await monthsOf(account)).toEqual(['160', '160']);
  const month = monthOf(one.clock.now());
  const rows = [keyMonthRow(account.key, month), memberMonthRow(account.member, month)];
  const spent = rows.map((name) => ({ name, value: 160, version: 2 }));
  const snapshot = { account: account.account, rows: spent, closed: [giant.id, usual.id] };
  await one.admission.applySnapshots({ ledgerEpoch: testEpoch(1), accounts: [snapshot] });
  // The account has spent something.
  expect(codeOf(await admit(one, call(account, GIANT_TOKENS)))).toBe('admitted');
});

test('concurrent giant calls release exactly their held sums, in any order', async () => {
  const account = makePersonal();
  const entries = Array.from({ length: 60 }, (_unused, index) => call(account, index % 3 ? ODD_TOKENS : GIANT_TOKENS));
  const answers = await Promise.all(entries.map((entry, index) => admit(replicas[index % 2]!, entry)));
  expect(answers.map(({ kind }) => kind)).toEqual(entries.map(() => 'admitted'));
  const held = String(20n * AMOUNT_NANO_USD_MAX + 40n * BigInt(ODD));
  expect(await monthsOf(account)).toEqual([held, held]);
  const [voided, closed, done] = [0, 1, 2].map((third) => answers.filter((_answer, index) => index % 5 === third)) as [
    Admitted[],
    Admitted[],
    Admitted[],
  ];
  const rest = answers.filter((_answer, index) => index % 5 > 2) as Admitted[];
  const close = (calls: readonly Admitted[]) => {
    const snapshot = { account: account.account, rows: [], closed: calls.map(({ id }) => id) };
    return one.admission.applySnapshots({ ledgerEpoch: testEpoch(1), accounts: [snapshot] });
  };
  const ends: ReleaseEntry[] = [
    ...voided.map((ended) => release(ended, 'void')),
    // Amounts up to the largest allowed one, and above it.
    ...done.map((ended, index) => release(ended, 'ok', index % 2 ? LARGEST - index : 3)),
  ];
  await Promise.all([batch(one, { releases: ends }), close(closed)]);
  const costs = done.map((_ended, index) => BigInt(index % 2 ? LARGEST - index : 3));
  const left = [...rest.map(({ hold }) => BigInt(hold.worstNanoUsd)), ...costs].reduce((sum, cost) => sum + cost);
  expect(await monthsOf(account)).toEqual([String(left), String(left)]);
  await close([...done, ...rest]);
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 0, held: {}, templates: {} });
});

test('giant calls are held again after a loss of the limit store and end normally', async () => {
  const account = makePersonal();
  const calls = await Promise.all([GIANT_TOKENS, ODD_TOKENS].map((tokens) => mustAdmit(one, call(account, tokens))));
  await batch(one, { releases: calls.map((ended) => release(ended, 'void')) });
  const lost = [...calls, ...calls].map(({ hold }) => ({
    id: makeUuidV7(one.clock.now()),
    hold,
    callEpoch: 'another.epoch',
  }));
  const listed = lost.map((running) => ({ ...running, endpoint: '/v1/chat/completions' as const }));
  await one.admission.heartbeat(heartbeatOf(world, 'edge1', 1, { calls: listed }));
  const held = String(2n * (AMOUNT_NANO_USD_MAX + BigInt(ODD)));
  expect(await monthsOf(account)).toEqual([held, held]);
  await batch(one, {
    releases: lost.map((ended) => ({ ...ended, blind: false, outcome: 'void', amountNanoUsd: 0 })),
  });
  expect(await one.admission.readAccount(account.account)).toMatchObject({ slots: 0, held: {}, templates: {} });
});

test('the caps of a key and of a member have different codes', async () => {
  const keyed = makePersonal({ key: { capNanoUsd: USD } });
  const membered = makePersonal({ memberCap: USD });
  expect(codeOf(await admit(one, call(keyed, GIANT_TOKENS)))).toBe('403 monthly_spend_cap_exceeded');
  expect(codeOf(await admit(one, call(membered, GIANT_TOKENS)))).toBe('402 member_cap_reached');
  // They hold nothing any more.
  expect(codeOf(await admit(one, call(keyed, 10)))).toBe('admitted');
  expect(codeOf(await admit(one, call(membered, 10)))).toBe('admitted');
});

test('the largest cap covers exactly the largest worst case', async () => {
  const account = makePersonal({ key: { capNanoUsd: LARGEST } });
  await mustAdmit(one, call(account, GIANT_TOKENS));
  const refused = await admit(one, call(account, 1));
  expect(refused).toMatchObject({
    code: 'monthly_spend_cap_exceeded',
    facts: { limit: LARGEST, used: 0, held: LARGEST, worst: 9 },
  });
});

test('a cap that is set later counts the running giant calls', async () => {
  const account = makePersonal();
  const running = await Promise.all([GIANT_TOKENS, ODD_TOKENS].map((tokens) => mustAdmit(one, call(account, tokens))));
  await one.admission.apply({ keys: [account.changeKey({ capNanoUsd: USD })] });
  const refused = await admit(one, call(account, 10));
  // The held sum exceeds the largest amount of a message.
  expect(refused).toMatchObject({
    code: 'monthly_spend_cap_exceeded',
    facts: { limit: USD, used: 0, held: LARGEST, worst: 90 },
  });
  await batch(one, { releases: running.map((ended) => release(ended, 'void')) });
  expect(codeOf(await admit(one, call(account, 10)))).toBe('admitted');
});

test('a sum adds and subtracts any amount exactly', async () => {
  const part = (name: string) => readFileSync(new URL(`../../lua/shared/${name}.lua`, import.meta.url), 'utf8');
  const script = `${part('epoch')}\n${part('amounts')}
    local sums = {}
    for at = 1, #ARGV, 2 do
      local more = add_exactly(ARGV[at], tonumber(ARGV[at + 1]))
      sums[#sums + 1] = more
      sums[#sums + 1] = add_exactly(more, -tonumber(ARGV[at + 1]))
    end
    return sums`;
  const edges = [0n, 1n, 10n ** 9n - 1n, 10n ** 9n, AMOUNT_NANO_USD_MAX, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n];
  const sum = fc.oneof(fc.constantFrom(...edges), fc.bigInt(0n, 2n ** 54n), fc.bigInt(0n, 10n ** 20n));
  const amount = fc.oneof(fc.constantFrom(...edges.slice(0, 5)), fc.bigInt(0n, AMOUNT_NANO_USD_MAX));
  const pairs = fc.sample(fc.tuple(sum, amount), 3_000);
  const redis = await TextConnection.open(world.server.url);
  const [[failed, sums] = []] = await redis.exec([['eval', script, 0, ...pairs.flat().map(String)]]);
  redis.close();
  expect(failed).toBeNull();
  expect(sums).toEqual(pairs.flatMap(([before, added]) => [String(before + added), String(before)]));
});

test('a giant call that the wallet must pay is refused for insufficient funds', async () => {
  const account = makeAccount(world, { wallet: 50 * PRICE });
  const refused = await admit(one, call(account, GIANT_TOKENS));
  expect(refused).toMatchObject({
    code: 'insufficient_credits',
    facts: { available: 50 * PRICE, held: 0, worst: LARGEST },
  });
});
