import { hash } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import { makeUuidV7, timeOfUuidV7 } from '@gateway/contracts/ids';
import type { LedgerEntryLine, UsageRecordLine } from '@gateway/contracts/operator';
import { duringTests, onceUsed } from '@gateway/testkit/during-tests';
import { expectAccepted } from '../../test/accepted.js';
import { toExpiredEvent, createHold, createSettledEvent, START } from '../../test/events.js';
import { ledgerVerbs } from '../../test/ledger-verbs.js';
import { startLedger } from '../../test/ledger-world.js';
import { readCsv } from '../../test/read-csv.js';
import { LEDGER_ENTRY_COLUMNS } from './handlers.js';
import { EXPORT_BYTES_MAX, EXPORT_LINES_MAX, makePage } from './page.js';

const MINUTE = 60_000;

const ledger = duringTests(startLedger);
const verbs = onceUsed(() => ledgerVerbs(ledger));
beforeEach(() => ledger.empty());

const callAt = (ms: number, account = 'a', amount = 7) =>
  createSettledEvent(createHold(account), amount, { id: makeUuidV7(ms) });
const linesOf = <T>(text: string): T[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as T);
const listIds = (text: string): string[] => linesOf<UsageRecordLine>(text).map(({ requestId }) => requestId);

/** Settles calls of two accounts, one per minute. */
async function settleMany(total: number): Promise<string[]> {
  const calls = Array.from({ length: total }, (_, index) =>
    callAt(START + index * MINUTE, index % 2 === 0 ? 'a' : 'b'),
  );
  for (let at = 0; at < calls.length; at += 250) await verbs.settle(...calls.slice(at, at + 250));
  return calls.map(({ id }) => id);
}

test('an export is ordered by ID, in several pages with a checksum each', async () => {
  const ids = await settleMany(EXPORT_LINES_MAX + 20);
  const { text, pages } = await verbs.recordsFile();
  expect(listIds(text)).toEqual(ids);
  expect(pages.map(({ lines, more }) => [lines, more])).toEqual([
    [EXPORT_LINES_MAX, true],
    [20, false],
  ]);
  for (const page of pages) expect(page.sha256).toBe(hash('sha256', page.text, 'hex'));
  expect(pages.map(({ lastId }) => lastId)).toEqual([ids[EXPORT_LINES_MAX - 1], ids.at(-1)]);
  const ofOne = await verbs.recordsFile({ account: 'b', from: START + 2 * MINUTE, to: START + 10 * MINUTE });
  expect(listIds(ofOne.text)).toEqual([3, 5, 7, 9].map((index) => ids[index]));
});

test.each(['csv', 'jsonl'] as const)(
  'a %s export resumed after any line equals the remaining bytes of the whole',
  async (format) => {
    await settleMany(30);
    await verbs.fund(
      'a',
      { kind: 'credit', amountUsd: '5', reason: '=1+1,\r\n"x"', reference: 'r', relatesTo: null },
      START,
    );
    const records = (await verbs.recordsFile({ format })).text;
    for (const { requestId } of linesOf<UsageRecordLine>((await verbs.recordsFile()).text)) {
      const rest = (await verbs.recordsFile({ format }, requestId)).text;
      expect(records.endsWith(rest)).toBe(true);
      const before = records.slice(0, records.length - rest.length);
      expect(before.slice(0, -1).split('\n').at(-1)).toContain(requestId);
    }
    const entries = (await verbs.entriesFile({ format })).text;
    const lines = linesOf<LedgerEntryLine>((await verbs.entriesFile()).text);
    for (const [index, { entryId }] of lines.entries()) {
      const rest = (await verbs.entriesFile({ format }, entryId)).text;
      expect(entries.endsWith(rest)).toBe(true);
      const head = format === 'csv' ? entries.slice(0, entries.indexOf('\n') + 1) : '';
      if (format === 'csv') expect(readCsv(head + rest)).toHaveLength(lines.length - index - 1);
      else expect(linesOf(rest)).toHaveLength(lines.length - index - 1);
    }
  },
);

test('an empty export is only a CSV head, or nothing', async () => {
  expect((await verbs.recordsFile()).pages).toMatchObject([{ text: '', lines: 0, lastId: null, more: false }]);
  expect(readCsv((await verbs.recordsFile({ format: 'csv' })).text)).toEqual([]);
  const [id = ''] = await settleMany(1);
  expect((await verbs.recordsFile({ format: 'csv' }, id)).pages).toMatchObject([
    { text: '', lastId: null, more: false },
  ]);
});

test('the columns of ledger entries and their order are fixed', () => {
  expect(LEDGER_ENTRY_COLUMNS.map(({ name }) => name).join()).toBe(
    'entryId,transactionId,kind,accountId,requestId,corrects,ledgerAccount,amountUsd,at,reference,reason,relatesTo,actor',
  );
});

test('a call that is settled late is exported once', async () => {
  const ids = await settleMany(10);
  const cursor = ids[4] ?? '';
  const place = timeOfUuidV7(cursor);
  const [before, behind] = [callAt(place - 1), callAt(place + 1)];
  const read = listIds((await verbs.recordsFile({ to: place + 1 })).text);
  await verbs.settle(before, behind);
  const rest = listIds((await verbs.recordsFile({}, cursor)).text);
  const joined = [...read, ...rest];
  expect(joined.filter((id) => id === behind.id)).toHaveLength(1);
  expect(joined).not.toContain(before.id);
  expect(new Set(joined).size).toBe(joined.length);
  const anew = listIds((await verbs.recordsFile()).text);
  expect(anew).toEqual([...ids, before.id, behind.id].sort());
});

test('a corrected call is one record and two transactions whose entries add up', async () => {
  const call = callAt(START);
  await verbs.settle({ ...toExpiredEvent(call), attempts: call.attempts });
  const first = linesOf<UsageRecordLine>((await verbs.recordsFile()).text);
  await verbs.settle(call);
  const second = linesOf<UsageRecordLine>((await verbs.recordsFile()).text);
  expect([...first, ...second].map(({ outcome, chargedUsd }) => [outcome, chargedUsd])).toEqual([
    ['expired', '0.00'],
    ['settled', '0.000000007'],
  ]);
  expect(second[0]?.recordedAt.localeCompare(first[0]?.recordedAt ?? '')).toBe(1);
  const entries = linesOf<LedgerEntryLine>((await verbs.entriesFile()).text);
  expect(entries.filter(({ ledgerAccount }) => ledgerAccount === 'wallet:a').map(({ amountUsd }) => amountUsd)).toEqual(
    ['-0.000000007'],
  );
  expect(new Set(entries.map(({ kind }) => kind))).toEqual(new Set(['usage', 'usage_correction']));
  expect(entries.every(({ requestId }) => requestId === call.id)).toBe(true);
});

test('an exported wallet entry has actor, reason and related object', async () => {
  const paid = expectAccepted(
    await verbs.fund(
      'a',
      { kind: 'credit', amountUsd: '5', reason: 'paid', reference: 'inv-1', relatesTo: null },
      START,
    ),
  ).transaction.id;
  const spec = { kind: 'refund' as const, amountUsd: '-2', reason: '=back', reference: 'inv-1-r', relatesTo: paid };
  expectAccepted(await verbs.fund('a', spec, START + 1));
  const lines = linesOf<LedgerEntryLine>((await verbs.entriesFile()).text);
  expect(lines.map(({ at: _at, entryId: _id, transactionId: _t, ...line }) => line)).toMatchObject([
    { ledgerAccount: 'wallet:a', amountUsd: '5.00', kind: 'credit', reference: 'inv-1', actor: 'operator:ada' },
    { ledgerAccount: 'funding', amountUsd: '-5.00', relatesTo: null },
    { ledgerAccount: 'wallet:a', amountUsd: '-2.00', kind: 'refund', reason: '=back', relatesTo: paid },
    { ledgerAccount: 'funding', amountUsd: '2.00', requestId: null, corrects: null },
  ]);
});

test('a page that would be too large for the bus has fewer lines, at least one', () => {
  const columns = [{ name: 'x', kind: 'text' as const, value: (line: string) => line }];
  const page = (lines: string[]) =>
    makePage(lines, { format: 'csv', columns, idOf: (line) => line.slice(0, 1), first: false, more: false });
  const large = (letter: string): string => letter + '"'.repeat(EXPORT_BYTES_MAX / 5);
  expect(page([large('a'), large('b'), large('c')])).toMatchObject({ lines: 1, lastId: 'a', more: true });
  expect(page([large('a')])).toMatchObject({ lines: 1, more: false });
  expect(Buffer.byteLength(JSON.stringify(page([large('a'), large('b')]).text))).toBeLessThan(1_000_000);
});
