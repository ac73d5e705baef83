import { expect, test } from '@jest/globals';
import { SeededRandom } from '@gateway/testkit/random';
import { testSeed } from '@gateway/testkit/seed';
import { isRouteRefusal } from '../../http/refusals.js';
import type { Services } from '../route.js';
import { listAudit, type AuditQuestion } from './list-audit.js';

interface Entry {
  id: string;
  at: string;
}

/**
 * Simulates the audit lists of the services: paged, newest first, with a cursor that names the last
 * entry.
 */
function makeRecords(): { services: Services; add(service: string, atMs: number): string; asked: string[] } {
  const records = new Map<string, Entry[]>([
    ['accounts', []],
    ['catalog', []],
    ['billing', []],
  ]);
  const asked: string[] = [];
  const request = (message: { name: string }, body: { cursor: string | null; limit: number }): Promise<unknown> => {
    const service = message.name.split('.')[0] as string;
    asked.push(service);
    const all = records.get(service) ?? [];
    // The cursor is the number of the last entry; entries are numbered from 1, oldest first.
    const end = body.cursor === null ? all.length : Number(body.cursor) - 1;
    const rest = all.slice(Math.max(0, end - body.limit), end).reverse();
    const entries = rest.map((entry) => ({
      ...entry,
      actor: 'operator:root',
      action: 'x',
      accountId: null,
      objectId: 'o',
      before: null,
      after: null,
    }));
    const more = end > body.limit;
    return Promise.resolve({ entries, nextCursor: more ? entries.at(-1)?.id.split('.')[1] : null });
  };
  return {
    services: { request } as unknown as Services,
    asked,
    add(service, atMs) {
      const own = records.get(service) as Entry[];
      const id = `${service}.${own.length + 1}`;
      own.push({ id, at: new Date(atMs).toISOString() });
      return id;
    },
  };
}

const question: AuditQuestion = { account: null, object: null, kind: null, cursor: null, limit: 7 };

async function page(services: Services, asked: AuditQuestion): Promise<{ ids: string[]; next: string | null }> {
  const answer = await listAudit(services, asked);
  if (isRouteRefusal(answer)) throw new Error(answer.refused.message);
  const { data, next_cursor: next } = answer.body as { data: Entry[]; next_cursor: string | null };
  return { ids: data.map(({ id }) => id), next };
}

async function readAll(
  services: Services,
  from: AuditQuestion,
  between: () => void = () => undefined,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor = from.cursor;
  do {
    const read = await page(services, { ...from, cursor });
    expect(read.ids.length).toBeLessThanOrEqual(from.limit);
    ids.push(...read.ids);
    cursor = read.next;
    between();
  } while (cursor !== null);
  return ids;
}

const SEEDS = 20;

test('the lists of three services merge into one while new entries arrive', async () => {
  const first = testSeed();
  for (let seed = first; seed < first + SEEDS; seed += 1) await readWhileNewOnesCome(seed);
});

async function readWhileNewOnesCome(seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const { services, add } = makeRecords();
  let at = 1_000;
  const addOne = (): string =>
    add(['accounts', 'catalog', 'billing'][Math.floor(random.next() ** 2 * 3)] as string, (at += 10));
  const expected = Array.from({ length: 200 }, addOne).reverse();
  for (const limit of [1, 3, 7, 50, 200]) {
    const read = await readAll(services, { ...question, limit });
    expect({ seed, limit, read }).toEqual({ seed, limit, read: expected });
  }
  const begun = await page(services, question);
  const rest = await readAll(services, { ...question, cursor: begun.next }, () => {
    for (let count = random.below(20); count > 0; count -= 1) addOne();
  });
  expect({ seed, read: [...begun.ids, ...rest] }).toEqual({ seed, read: expected });
}

test('with an account the catalog is not queried', async () => {
  const { services, add, asked } = makeRecords();
  add('catalog', 1);
  const own = add('billing', 2);
  expect(await page(services, { ...question, account: 'acc_1' })).toEqual({ ids: [own], next: null });
  expect(asked.sort()).toEqual(['accounts', 'billing']);
});

test('an empty audit log is one empty page', async () => {
  expect(await page(makeRecords().services, question)).toEqual({ ids: [], next: null });
});

test.each(['', 'nonsense', Buffer.from('{}').toString('base64url')])('the cursor %j is refused', async (cursor) => {
  const answer = await listAudit(makeRecords().services, { ...question, cursor });
  expect(answer).toMatchObject({ refused: { code: 'invalid_request', param: 'cursor' } });
});

test('the refusal of one service is the refusal of the list', async () => {
  const refused = { refused: { code: 'invalid_request', message: 'cursor', param: 'cursor' } };
  const services = { request: () => Promise.resolve(refused) } as unknown as Services;
  expect(await listAudit(services, question)).toEqual(refused);
});
