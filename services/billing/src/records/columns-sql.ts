import { timeOfUuidV7 } from '@gateway/contracts/ids';
import { DIRECT_COLUMNS, type DirectColumnSpec } from '@gateway/contracts/messages';
import { monthOf, type TokenCounts, type WindowType, type WindowUnit } from '@gateway/metering';
import { bools, hashes, int2s, int4s, int8s, texts, uuids } from '../ledger/array-sql.js';
import type { AttemptOutcome, StoredCounts, UsageRecord } from './rules.js';

export interface NewRecord {
  readonly record: UsageRecord;
  /** The record with the lower rank that this one corrects; null if there is none. */
  readonly corrects: UsageRecord | null;
}

/** The numbers that represent texts in the big tables. */
export interface Numbers {
  readonly accounts: ReadonlyMap<string, number>;
  readonly names: ReadonlyMap<string, number>;
}

/** Codes in stored records. A code never changes its meaning, even if the contract changes. */
export const OUTCOME_CODES = { expired: 1, settled: 2, voided: 3 } as const;
const EVIDENCE_CODES = { reported: null, estimated: 2, none: 3 } as const;
const ATTEMPT_CODES = { completed: 1, rejected: 2, unreachable: 3, timed_out: 4, broken: 5, abandoned: 6 } as const;
const CLASS_CODES = { standard: null, priority: 1, flex: 2, fast: 3 } as const;
const UNIT_CODES: Readonly<Record<WindowUnit, number>> = { usd: 1, requests: 2 };
const WINDOW_CODES: Readonly<Record<WindowType, number>> = { session_5h: 0, weekly: 2, monthly: 4 };
/** Bits per window. */
const WINDOW_BITS = 3;

/** Returns the texts of a record that are stored as numbers. */
export function listNames(record: UsageRecord): string[] {
  const { key, member, model, source, priceVersion, subscriptionPeriod } = record;
  const attempt = findOnlyAttempt(record);
  const names = [key, member, model];
  for (const name of [source, priceVersion, subscriptionPeriod, attempt?.provider, attempt?.costVersion])
    if (name != null) names.push(name);
  for (const { name } of NAME_COLUMNS) {
    const text = record[name] as string | null;
    if (text !== null) names.push(text);
  }
  return names;
}
const NAME_COLUMNS = DIRECT_COLUMNS.filter(({ stored }) => stored === 'name');

/** A record with values that several columns share. */
interface Row extends NewRecord {
  readonly idMs: number;
  readonly exact: string | null;
  readonly attempt: AttemptOutcome | null;
}

interface Column {
  readonly name: string;
  /** Type of the array for `unnest`. */
  readonly type: 'uuid' | 'text' | 'smallint' | 'integer' | 'bigint' | 'boolean' | 'bytea';
  /** Encodes the values in the server's binary format. */
  readonly valuesOf: (rows: readonly Row[], numbers: Numbers) => Buffer;
  /** Type for casting the unnested item; absent if it needs no cast. */
  readonly as?: 'bigint[]' | 'jsonb';
}

type Value<T> = (row: Row) => T | null;

const bigint = (name: string, value: Value<bigint>): Column => ({
  name,
  type: 'bigint',
  valuesOf: (rows) => int8s(rows.map(value)),
});
/** If one value does not fit, all of them are stored in `exact`, and these columns are null. */
const integer = (name: string, value: Value<number>): Column => ({
  name,
  type: 'integer',
  valuesOf: (rows) => int4s(rows.map((row) => (row.exact === null ? value(row) : null))),
});
const smallint = (name: string, value: Value<number>): Column => ({
  name,
  type: 'smallint',
  valuesOf: (rows) => int2s(rows.map(value)),
});
const json = (name: string, value: (row: Row) => object | null | undefined): Column => ({
  name,
  type: 'text',
  valuesOf: (rows) =>
    texts(
      rows.map((row) => {
        const item = value(row);
        return item == null ? null : JSON.stringify(item);
      }),
    ),
  as: 'jsonb',
});
const boolean = (name: string, value: Value<boolean>): Column => ({
  name,
  type: 'boolean',
  valuesOf: (rows) => bools(rows.map(value)),
});
const number = (name: string, value: Value<string>): Column => ({
  name,
  type: 'integer',
  valuesOf: (rows, { names }) =>
    int4s(
      rows.map((row) => {
        const text = value(row);
        return text === null ? null : findNumber(names, text);
      }),
    ),
});

/** For a count that is mostly 0. */
const orNull = (count: number | undefined): number | null => count || null;
const bigintOrNull = (amount: bigint): bigint | null => (amount === 0n ? null : amount);

/** A column with the value of the record's field; the table of columns has the types. */
function directColumn({ name, stored }: DirectColumnSpec): Column {
  const column = toSnakeCase(name);
  const value = ({ record }: Row) => record[name] as never;
  switch (stored) {
    case 'boolean':
      return boolean(column, value);
    case 'smallint':
      return smallint(column, value);
    case 'integer':
      return { name: column, type: 'integer', valuesOf: (rows) => int4s(rows.map(value)) };
    case 'text':
      return { name: column, type: 'text', valuesOf: (rows) => texts(rows.map(value)) };
    case 'name':
      return number(`${column}_number`, value);
    case 'jsonb':
      return json(column, value);
  }
}

/** Converts a column's name to its SQL name. */
export function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** All columns of `call_records` except the recording time. */
const COLUMNS: readonly Column[] = [
  bigint('charged_nano_usd', ({ record }) => record.chargedNanoUsd),
  bigint('worst_nano_usd', ({ record }) => record.worstNanoUsd),
  bigint('plan_nano_usd', ({ record }) => bigintOrNull(record.planNanoUsd)),
  bigint('cost_nano_usd', ({ record }) => record.costNanoUsd),
  bigint('corrected_cost_nano_usd', ({ corrects }) => bigintOrNull(corrects?.costNanoUsd ?? 0n)),
  bigint('plan_max_nano_usd', ({ record }) => bigintOrNull(record.planMaxNanoUsd)),
  bigint('wallet_max_nano_usd', ({ record }) => record.walletMaxNanoUsd),
  { name: 'id', type: 'uuid', valuesOf: (rows) => uuids(rows.map(({ record }) => record.id)) },
  {
    name: 'account_number',
    type: 'integer',
    valuesOf: (rows, { accounts }) => int4s(rows.map(({ record }) => findNumber(accounts, record.account))),
  },
  number('key_number', ({ record }) => record.key),
  number('member_number', ({ record }) => record.member),
  number('model_number', ({ record }) => record.model),
  integer('admitted_ms', ({ record, idMs }) => record.admittedAt - idMs),
  integer('started_ms', ({ record, idMs }) => record.startedAt - idMs),
  integer('ended_ms', ({ record }) => record.endedAt - record.startedAt),
  integer('first_byte_ms', ({ record }) => since(record.firstByteAt, record.startedAt)),
  number('source_number', ({ record }) => record.source),
  number('price_version_number', ({ record }) => record.priceVersion),
  integer('input_tokens', ({ record }) => record.usage?.input ?? null),
  integer('output_tokens', ({ record }) => orNull(record.usage?.output)),
  integer('cached_input_tokens', ({ record }) => orNull(record.usage?.cachedInput)),
  integer('cache_write_tokens', ({ record }) => orNull(record.usage?.cacheWrite)),
  integer('cache_write_1h_tokens', ({ record }) => orNull(record.usage?.cacheWrite1h)),
  number('attempt_provider_number', ({ attempt }) => attempt?.provider ?? null),
  number('attempt_version_number', ({ attempt }) => attempt?.costVersion ?? null),
  number('subscription_number', ({ record }) => record.subscriptionPeriod),
  integer('session_ms', ({ record, idMs }) => since(record.session5h, idMs)),
  integer('week_ms', ({ record, idMs }) => since(record.weekly, idMs)),
  {
    name: 'window_codes',
    type: 'integer',
    valuesOf: (rows) => int4s(rows.map(({ record }) => orNull(encodeWindows(record.windows)))),
  },
  smallint('rank', ({ record }) => record.rank),
  smallint('outcome_code', ({ record }) => OUTCOME_CODES[record.outcome]),
  smallint('evidence_code', ({ record }) => EVIDENCE_CODES[record.evidence]),
  smallint('attempt_outcome_code', ({ attempt }) => attempt && ATTEMPT_CODES[attempt.outcome]),
  smallint('allotment_code', ({ record }) => record.allotment && UNIT_CODES[record.allotment]),
  boolean('corrects', ({ corrects }) => corrects !== null),
  boolean('attempt_possibly_paid', ({ attempt }) => attempt && attempt.possiblyPaid),
  { name: 'content_hash', type: 'bytea', valuesOf: (rows) => hashes(rows.map(({ record }) => record.contentHash)) },
  {
    name: 'month',
    type: 'text',
    valuesOf: (rows) => texts(rows.map(({ record, idMs }) => (record.month === monthOf(idMs) ? null : record.month))),
  },
  { name: 'exact', type: 'text', valuesOf: (rows) => texts(rows.map(({ exact }) => exact)), as: 'bigint[]' },
  { name: 'attempts', type: 'text', valuesOf: (rows) => texts(rows.map(formatAttempts)), as: 'jsonb' },
  smallint('class_code', ({ record }) => CLASS_CODES[record.served?.class ?? 'standard']),
  json('units', ({ record }) => (hasUnits(record) ? record.served?.units : null)),
  json('token_kinds', ({ record }) => record.usage?.kinds),
  json('samplings', ({ record }) => record.usage?.samplings?.map(storedCounts)),
  ...DIRECT_COLUMNS.map(directColumn),
];

/** Returns the counts of a sampling in column order, followed by the counts of its kinds. */
function storedCounts({ input, cachedInput, cacheWrite, cacheWrite1h, output, kinds }: TokenCounts): StoredCounts {
  const counts: StoredCounts = [input, cachedInput, cacheWrite, cacheWrite1h, output];
  if (kinds !== undefined) counts.push(kinds.audioInput, kinds.imageInput, kinds.audioOutput, kinds.imageOutput);
  return counts;
}

const LIST = COLUMNS.map(({ name }) => name).join(', ');
const STORED = COLUMNS.map(({ name, as }) => (as === undefined ? `item.${name}` : `item.${name}::${as}`)).join(', ');
const ARRAYS = COLUMNS.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ');

/** Inserts records; the parameters are {@link recordValues}. */
export const INSERT_RECORDS = `INSERT INTO call_records (${LIST}) SELECT ${STORED} FROM unnest(${ARRAYS}) AS item (${LIST})`;

/** @throws Error if a name of a record has no number */
export function recordValues(records: readonly NewRecord[], numbers: Numbers): Buffer[] {
  const rows = records.map(toRow);
  return COLUMNS.map(({ valuesOf }) => valuesOf(rows, numbers));
}

function toRow({ record, corrects }: NewRecord): Row {
  const idMs = timeOfUuidV7(record.id);
  return { record, corrects, idMs, exact: formatExact(record, idMs), attempt: findOnlyAttempt(record) };
}

function findNumber(numbers: ReadonlyMap<string, number>, name: string): number {
  const found = numbers.get(name);
  if (found === undefined) throw new Error(`${name} has no number`);
  return found;
}

function since(time: number | null, start: number): number | null {
  return time === null ? null : time - start;
}

/** Returns null if all times and counts fit their columns, which is true for almost all calls. */
function formatExact(record: UsageRecord, idMs: number): string | null {
  const { admittedAt, startedAt, firstByteAt, endedAt, session5h, weekly, usage } = record;
  const counts = [usage?.input, usage?.cachedInput, usage?.cacheWrite, usage?.cacheWrite1h, usage?.output];
  const fits =
    isInt4(admittedAt - idMs) &&
    isInt4(startedAt - idMs) &&
    isInt4(endedAt - startedAt) &&
    (firstByteAt === null || isInt4(firstByteAt - startedAt)) &&
    (session5h === null || isInt4(session5h - idMs)) &&
    (weekly === null || isInt4(weekly - idMs)) &&
    counts.every((count) => count === undefined || isInt4(count));
  if (fits) return null;
  const items = [admittedAt, startedAt, firstByteAt, endedAt, session5h, weekly, ...counts];
  return `{${items.map((item) => item ?? 'NULL').join(',')}}`;
}

function isInt4(value: number): boolean {
  return value === (value | 0);
}

/**
 * Returns the attempt of a call with exactly one attempt, if the record contains the same data.
 * Null if the call has anything other than tokens of the standard class at a computed cost.
 */
function findOnlyAttempt({ attempts, source, status, usage, served }: UsageRecord): AttemptOutcome | null {
  const [attempt] = attempts;
  if (attempt === undefined || attempts.length > 1) return null;
  if (served !== null || attempt.served !== undefined) return null;
  if (attempt.usage?.kinds !== undefined || attempt.usage?.samplings !== undefined) return null;
  if (attempt.reportedCostNanoUsd !== undefined) return null;
  return attempt.source === source && attempt.status === status && isSameUsage(attempt.usage, usage) ? attempt : null;
}

function isSameUsage(one: AttemptOutcome['usage'], other: UsageRecord['usage']): boolean {
  if (one === null || other === null) return one === other;
  return (
    one.input === other.input &&
    one.cachedInput === other.cachedInput &&
    one.cacheWrite === other.cacheWrite &&
    one.cacheWrite1h === other.cacheWrite1h &&
    one.output === other.output
  );
}

function hasUnits({ served }: UsageRecord): boolean {
  return served !== null && Object.keys(served.units).length > 0;
}

/** Costs are bounded like all amounts, so a JSON number represents them exactly. */
function formatAttempts({ record: { attempts }, attempt }: Row): string | null {
  if (attempts.length === 0 || attempt !== null) return null;
  return JSON.stringify(
    attempts.map((one) => ({ ...one, costNanoUsd: one.costNanoUsd === null ? null : Number(one.costNanoUsd) })),
  );
}

function encodeWindows(windows: UsageRecord['windows']): number {
  return windows.reduce(
    (codes, { type, unit }, place) => codes | ((WINDOW_CODES[type] + UNIT_CODES[unit]) << (place * WINDOW_BITS)),
    0,
  );
}
