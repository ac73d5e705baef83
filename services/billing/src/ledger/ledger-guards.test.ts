import { beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { makeUuidV7, timeOfUuidV7, UUID_PATTERN } from '@gateway/contracts/ids';
import { dumpSchema, inTransaction, onPool } from '@gateway/postgres';
import { duringTests } from '@gateway/testkit/during-tests';
import { START } from '../../test/events.js';
import { startLedger } from '../../test/ledger-world.js';
import { readLedgerState } from './store.js';

const ledger = duringTests(startLedger);

beforeAll(() => ledger.pool.query(`SELECT ensure_month('2026-11-01')`));

type Entries = readonly (readonly [ledgerAccount: string, amountNanoUsd: number])[];
const BALANCED: Entries = [
  ['wallet:a', -5],
  ['revenue:wallet', 5],
];

type Query = (text: string, values: unknown[]) => Promise<unknown>;

/** Inserts head and entries in one statement, as the ledger requires. */
async function postBy(query: Query, id: string, entries: Entries): Promise<void> {
  await query(
    `WITH head AS (INSERT INTO billing.command_transactions (id, kind, account_number) VALUES ($1, 'credit', 1))
     INSERT INTO billing.command_entries (transaction_id, ordinal, ledger_account, amount_nano_usd)
     SELECT $1, ordinality, account, amount FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS entry (account, amount)`,
    [id, entries.map(([account]) => account), entries.map(([, amount]) => amount)],
  );
}

async function addEntries(query: Query, id: string, entries: Entries, first = 1): Promise<void> {
  await query(
    `INSERT INTO billing.command_entries (transaction_id, ordinal, ledger_account, amount_nano_usd)
     SELECT $1, $2::int - 1 + ordinality, account, amount
       FROM unnest($3::text[], $4::bigint[]) WITH ORDINALITY AS entry (account, amount)`,
    [id, first, entries.map(([account]) => account), entries.map(([, amount]) => amount)],
  );
}

/** Posts one ledger transaction with the service's role. */
async function post(entries: Entries): Promise<string> {
  const id = makeUuidV7(START);
  await postBy((text, values) => ledger.pool.query(text, values), id, entries);
  return id;
}

test('the schema matches the golden schema', async () => {
  const golden = new URL('../../schema.golden.txt', import.meta.url);
  const dump = await dumpSchema(ledger.admin, 'billing');
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(golden, dump);
  expect(dump).toBe(readFileSync(golden, 'utf8'));
});

describe('a ledger transaction', () => {
  test('is accepted when its entries sum to zero', async () => {
    const all = [
      'wallet:a',
      'revenue:wallet',
      'revenue:plan',
      'plan:a:p',
      'funding',
      'adjustment',
      'cost',
      'provider-cost:p',
    ];
    await post(all.map((name, at) => [name, at % 2 === 0 ? 1 : -1]));
    const id = await post(BALANCED);
    const { rows } = await ledger.pool.query('SELECT ordinal FROM ledger_entries WHERE transaction_id = $1', [id]);
    expect(rows).toHaveLength(2);
  });

  // Covers i1
  test.each<[string, Entries]>([
    [
      'does not sum to zero',
      [
        ['wallet:a', -5],
        ['revenue:wallet', 4],
      ],
    ],
    ['has one entry', [['wallet:a', -5]]],
    ['has no entries', []],
  ])('is rejected when it %s', async (_what, entries) => {
    await expect(post(entries)).rejects.toThrow(/entries that sum to/);
  });

  test.each<[string, Entries]>([
    [
      'an entry of zero',
      [
        ['wallet:a', 0],
        ['revenue:wallet', 0],
      ],
    ],
    ...[
      'purse:a',
      'wallet:',
      'wallet:a:b',
      'revenue:all',
      'plan:a',
      'plan::p',
      'plan:a:',
      'plan:a:b:c',
      'provider-cost:',
      'costs',
    ].map((name): [string, Entries] => [
      `an unknown ledger account ${name}`,
      [
        [name, -5],
        ['revenue:wallet', 5],
      ],
    ]),
    [
      'an amount out of bounds',
      [
        ['wallet:a', -9_000_000_000_000_001],
        ['revenue:wallet', 9_000_000_000_000_001],
      ],
    ],
  ])('is rejected with %s', async (_what, entries) => {
    await expect(post(entries)).rejects.toThrow(/violates check constraint/);
  });

  test.each(['the service', 'the superuser'])('is rejected in parts, in any order, from %s', async (who) => {
    const pool = who === 'the service' ? ledger.pool : ledger.admin;
    const id = makeUuidV7(START);
    const head = (query: Query) =>
      query(`INSERT INTO billing.command_transactions (id, kind, account_number) VALUES ($1, 'credit', 1)`, [id]);
    await expect(inTransaction(pool, (tx) => head((text, values) => tx.execute(text, values)))).rejects.toThrow(
      /has no entries/,
    );
    await expect(
      inTransaction(pool, async (tx) => {
        const query: Query = (text, values) => tx.execute(text, values);
        await postBy(query, id, BALANCED);
        await addEntries(query, id, BALANCED, 3);
      }),
    ).rejects.toThrow(/are incomplete/);
  });

  test('is checked in a partition as in its parent', async () => {
    const id = makeUuidV7(START);
    await expect(
      ledger.admin.query(
        `INSERT INTO billing.command_transactions_2026_11 (id, kind, account_number) VALUES ($1, 'credit', 1)`,
        [id],
      ),
    ).rejects.toThrow(/has no entries/);
    await expect(
      ledger.admin.query(`INSERT INTO billing.command_entries_2026_11 VALUES ($1, 1, 'cost', 1), ($1, 2, 'cost', -1)`, [
        id,
      ]),
    ).rejects.toThrow(/are incomplete/);
  });

  test.each(['the service', 'the superuser'])('rejects later entries, even balanced ones, from %s', async (who) => {
    const id = await post(BALANCED);
    const pool = who === 'the service' ? ledger.pool : ledger.admin;
    for (const first of [1, 3])
      await expect(addEntries((text, values) => pool.query(text, values), id, BALANCED, first)).rejects.toThrow(
        /are incomplete|duplicate key/,
      );
  });

  test('rejects a forged time of writing', async () => {
    await expect(
      ledger.pool.query(
        `INSERT INTO command_transactions (id, kind, account_number, posted_by) VALUES ($1, 'credit', 1, '1')`,
        [makeUuidV7(START)],
      ),
    ).rejects.toThrow(/permission denied/);
  });

  test('rejects entries without a head', async () => {
    await expect(
      addEntries((text, values) => ledger.pool.query(text, values), makeUuidV7(START), BALANCED),
    ).rejects.toThrow(/are incomplete/);
  });
});

interface RecordChanges {
  readonly id?: string;
  readonly rank?: 1 | 2;
  readonly account?: number;
  readonly corrects?: boolean;
  /** Additional columns with SQL values. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Inserts the record of an unsettled call with the service's role. */
async function addRecord({ id, rank = 2, account = 1, corrects = false, more = {} }: RecordChanges): Promise<string> {
  const recordId = id ?? makeUuidV7(START);
  const columns = {
    charged_nano_usd: '0',
    worst_nano_usd: '0',
    key_number: '1',
    member_number: '1',
    model_number: '1',
    admitted_ms: '0',
    started_ms: '0',
    ended_ms: '0',
    outcome_code: rank === 1 ? '1' : '3',
    evidence_code: '3',
    streamed: 'false',
    content_hash: `decode(repeat('00', 16), 'hex')`,
    ...more,
  };
  await ledger.pool.query(
    `INSERT INTO call_records (id, rank, account_number, corrects, ${Object.keys(columns).join(', ')})
     VALUES ($1, $2, $3, $4, ${Object.values(columns).join(', ')})`,
    [recordId, rank, account, corrects],
  );
  return recordId;
}

describe('a usage record', () => {
  test('of the higher rank corrects the one of the lower rank, once', async () => {
    const id = await addRecord({ rank: 1 });
    await expect(addRecord({ id })).rejects.toThrow(/does not follow/);
    await expect(addRecord({ id, corrects: true, account: 2 })).rejects.toThrow(/does not follow/);
    await addRecord({ id, corrects: true });
    for (const rank of [1, 2] as const)
      await expect(addRecord({ id, rank, corrects: rank === 2 })).rejects.toThrow(/duplicate key/);
  });

  test('that comes first corrects nothing, and a lower rank is rejected after it', async () => {
    await expect(addRecord({ corrects: true })).rejects.toThrow(/does not follow/);
    const id = await addRecord({});
    await expect(addRecord({ id, rank: 1 })).rejects.toThrow(/does not follow/);
  });

  const attempts = `'[{"provider": "p", "costNanoUsd": 3}, {"provider": "q", "costNanoUsd": 4}]'`;
  const settled = { outcome_code: '2', charged_nano_usd: '5' };
  test.each<[string, RecordChanges['more']]>([
    ['a plan part above the charge', { ...settled, plan_nano_usd: '6', subscription_number: '1' }],
    ['a plan part without a period', { ...settled, plan_nano_usd: '5' }],
    ['a charge without a settlement', { charged_nano_usd: '5' }],
    ['a cost that differs from its attempts', { attempts, cost_nano_usd: '8' }],
    ['a cost without a provider', { cost_nano_usd: '8' }],
    ['neither a time column nor an exact time', { started_ms: 'NULL' }],
  ])('is rejected with %s', async (_what, more) => {
    await expect(addRecord({ more: more ?? {} })).rejects.toThrow(/violates check constraint/);
  });

  test('is accepted with a plan part up to the charge and the cost of all its attempts', async () => {
    await addRecord({
      more: { ...settled, plan_nano_usd: '5', subscription_number: '1', attempts, cost_nano_usd: '7' },
    });
  });
});

describe('history', () => {
  const tables = ['command_transactions', 'command_entries', 'wallet_entries', 'dead_letters', 'call_records', 'names'];

  beforeAll(async () => {
    await ledger.admin.query(`
      INSERT INTO billing.accounts (account) VALUES ('a');
      INSERT INTO billing.wallet_entries
        (reference, transaction_id, account, kind, amount_nano_usd, balance_nano_usd, reason, actor)
        VALUES ('r', gen_random_uuid(), 'a', 'credit', 1, 1, 'test', 'test');
      INSERT INTO billing.dead_letters (content_hash, shard, stream_sequence, reason, detail, event)
        VALUES (sha256('x'), 0, 1, 'unreadable', 'test', 'x');
      INSERT INTO billing.names (name) VALUES ('key')`);
    await addRecord({});
  });

  test.each(tables)('%s: the service has no privilege to delete or truncate', async (table) => {
    await expect(ledger.pool.query(`DELETE FROM ${table}`)).rejects.toThrow(/permission denied/);
    await expect(ledger.pool.query(`TRUNCATE ${table}`)).rejects.toThrow(/permission denied/);
  });

  test.each(['command_transactions', 'command_entries', 'wallet_entries', 'dead_letters', 'call_records', 'names'])(
    '%s: even a superuser cannot change rows',
    async (table) => {
      const id = await post(BALANCED);
      expect(id).toBeTruthy();
      const column =
        { command_entries: 'ledger_account', dead_letters: 'reason', call_records: 'rank', names: 'name' }[table] ??
        'kind';
      await expect(ledger.pool.query(`UPDATE ${table} SET ${column} = ${column}`)).rejects.toThrow(/permission denied/);
      await expect(ledger.admin.query(`UPDATE billing.${table} SET ${column} = ${column}`)).rejects.toThrow(
        /append-only/,
      );
      await expect(ledger.admin.query(`DELETE FROM billing.${table}`)).rejects.toThrow(/append-only/);
      await expect(ledger.admin.query(`TRUNCATE billing.${table} CASCADE`)).rejects.toThrow(/append-only/);
    },
  );

  test('partitions are protected like their parents', async () => {
    await post(BALANCED);
    await expect(
      ledger.pool.query('INSERT INTO command_entries_2026_11 SELECT * FROM command_entries'),
    ).rejects.toThrow(/permission denied/);
    for (const text of ['DELETE FROM', 'TRUNCATE'])
      await expect(ledger.admin.query(`${text} billing.command_entries_2026_11`)).rejects.toThrow(/append-only/);
  });

  test('a superuser can repair after setting gateway.ledger_repair', async () => {
    const id = await post(BALANCED);
    await inTransaction(ledger.admin, async (tx) => {
      await tx.execute(`SET LOCAL gateway.ledger_repair = 'on'`);
      await tx.execute('DELETE FROM billing.command_entries WHERE transaction_id = $1', [id]);
      await tx.execute('DELETE FROM billing.command_transactions WHERE id = $1', [id]);
    });
    expect(await onPool(ledger.pool).query('SELECT FROM ledger_transactions WHERE id = $1', [id])).toEqual([]);
  });

  test('the service cannot repair with the same setting', async () => {
    await post(BALANCED);
    await expect(
      inTransaction(ledger.pool, async (tx) => {
        await tx.execute(`SET LOCAL gateway.ledger_repair = 'on'`);
        await tx.execute(`UPDATE command_entries SET amount_nano_usd = 1`);
      }),
    ).rejects.toThrow(/permission denied/);
  });
});

describe('the hash chains', () => {
  const append = (number: number, pool = ledger.pool): Promise<unknown> =>
    pool.query(
      `INSERT INTO billing.chain_blocks (chain, number, members) VALUES (0, $1, decode(repeat('ab', 48), 'hex'))`,
      [number],
    );

  test('accept only the next block, and each number once', async () => {
    await expect(append(2)).rejects.toThrow(/does not follow a block/);
    await append(1);
    await append(2);
    await expect(append(2)).rejects.toThrow(/duplicate key/);
    await expect(append(4)).rejects.toThrow(/does not follow a block/);
  });

  test.each(['UPDATE billing.chain_blocks SET members = members', 'DELETE FROM billing.chain_blocks'])(
    '%s is rejected for the service and for a superuser',
    async (text) => {
      await expect(ledger.pool.query(text)).rejects.toThrow(/permission denied/);
      await expect(ledger.admin.query(text)).rejects.toThrow(/append-only/);
    },
  );

  test('the service cannot set the ledger epoch', async () => {
    await expect(ledger.pool.query(`UPDATE ledger_state SET ledger_epoch = 'mine'`)).rejects.toThrow(
      /permission denied/,
    );
  });
});

// Covers r17
test('an epoch is later than the previous and the seen one, and begins only once', async () => {
  const beginAfter = async (former: string, seen: string): Promise<string | null> =>
    (
      await onPool(ledger.pool).one<{ begun: string | null }>('SELECT begin_ledger_epoch_after($1, $2) AS begun', [
        former,
        seen,
      ])
    )?.begun ?? null;
  const { ledgerEpoch: first } = await readLedgerState(ledger.pool);
  const second = await beginAfter(first, first);
  for (const epoch of [first, second]) expect(epoch).toMatch(UUID_PATTERN);
  expect(Math.abs(timeOfUuidV7(second ?? '') - Date.now())).toBeLessThan(60_000);
  expect(await beginAfter(first, first)).toBeNull();
  const lost = 'f0000000-0000-7000-8000-000000000000';
  const third = await beginAfter(second ?? '', lost);
  const fourth = await beginAfter(third ?? '', second ?? '');
  expect([third, fourth].map((epoch) => epoch?.slice(0, 15))).toEqual(['f0000000-0001-7', 'f0000000-0002-7']);
  expect((await readLedgerState(ledger.pool)).ledgerEpoch).toBe(fourth);
});

describe('months', () => {
  const ensure = async (month: string): Promise<boolean> =>
    (await onPool(ledger.pool).one<{ kept: boolean }>('SELECT ensure_month($1) AS kept', [month]))?.kept === true;

  test('are created once by concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => ensure('2027-03-01')));
    expect(answers).toEqual(Array.from({ length: 8 }, () => true));
  });

  test.each(['2019-12-01', '2026-11-02', '2226-01-01'])('%s is not kept', async (month) => {
    expect(await ensure(month)).toBe(false);
  });

  test('the service cannot create or drop tables', async () => {
    await expect(ledger.pool.query('CREATE TABLE other (a int)')).rejects.toThrow(/permission denied/);
    await expect(ledger.pool.query('DROP TABLE call_records_2026_11')).rejects.toThrow(/must be owner/);
  });
});
