import type { TokenUsage, WindowType, WindowUnit } from '@gateway/metering';
import { bools, hashes, int2s, int8s, texts, timestamps, uuids } from '../ledger/array-sql.js';
import type { AttemptOutcome, UsageRecord } from './rules.js';

/** One column of `usage_records`: how it is written from a record. */
interface Column {
  readonly name: string;
  /** Type of the array that `unnest` takes. */
  readonly type: 'uuid' | 'text' | 'smallint' | 'bigint' | 'boolean' | 'timestamptz' | 'bytea';
  /** Its values in the server's binary form. */
  readonly valuesOf: (records: readonly UsageRecord[]) => Buffer;
  /** What is stored of the unnested item; the item itself when absent. */
  readonly stored?: (item: string) => string;
}

type Value<T> = (record: UsageRecord) => T | null;

const uuid = (name: string, value: Value<string>): Column => ({
  name,
  type: 'uuid',
  valuesOf: (records) => uuids(records.map(value)),
});
const text = (name: string, value: Value<string>): Column => ({
  name,
  type: 'text',
  valuesOf: (records) => texts(records.map(value)),
});
const smallint = (name: string, value: Value<number>): Column => ({
  name,
  type: 'smallint',
  valuesOf: (records) => int2s(records.map(value)),
});
const bigint = (name: string, value: Value<number | bigint>): Column => ({
  name,
  type: 'bigint',
  valuesOf: (records) => int8s(records.map(value)),
});
const time = (name: string, value: Value<number>): Column => ({
  name,
  type: 'timestamptz',
  valuesOf: (records) => timestamps(records.map(value)),
});

/** All columns but `attempts`, which travels as one JSON array, and those with a default. */
export const RECORD_COLUMNS: readonly Column[] = [
  uuid('id', (r) => r.id),
  smallint('rank', (r) => r.rank),
  { name: 'content_hash', type: 'bytea', valuesOf: (records) => hashes(records.map((r) => r.contentHash)) },
  text('account', (r) => r.account),
  text('key_id', (r) => r.key),
  text('member_id', (r) => r.member),
  text('model_id', (r) => r.model),
  text('source_id', (r) => r.source),
  text('endpoint', (r) => r.endpoint),
  { name: 'streamed', type: 'boolean', valuesOf: (records) => bools(records.map((r) => r.streamed)) },
  text('outcome', (r) => r.outcome),
  text('evidence', (r) => r.evidence),
  smallint('status', (r) => r.status),
  time('started_at', (r) => r.startedAt),
  time('first_byte_at', (r) => r.firstByteAt),
  time('ended_at', (r) => r.endedAt),
  bigint('input_tokens', (r) => r.usage?.input ?? null),
  bigint('cached_input_tokens', (r) => r.usage?.cachedInput ?? null),
  bigint('cache_write_tokens', (r) => r.usage?.cacheWrite ?? null),
  bigint('cache_write_1h_tokens', (r) => r.usage?.cacheWrite1h ?? null),
  bigint('output_tokens', (r) => r.usage?.output ?? null),
  text('price_version', (r) => r.priceVersion),
  bigint('charged_nano_usd', (r) => r.chargedNanoUsd),
  bigint('plan_nano_usd', (r) => r.planNanoUsd),
  bigint('wallet_nano_usd', (r) => r.walletNanoUsd),
  bigint('cost_nano_usd', (r) => r.costNanoUsd),
  time('admitted_at', (r) => r.admittedAt),
  bigint('worst_nano_usd', (r) => r.worstNanoUsd),
  bigint('plan_max_nano_usd', (r) => r.planMaxNanoUsd),
  bigint('wallet_max_nano_usd', (r) => r.walletMaxNanoUsd),
  text('month', (r) => r.month),
  bigint('session_start_ms', (r) => r.session5h),
  bigint('week_start_ms', (r) => r.weekly),
  text('subscription_period', (r) => r.subscriptionPeriod),
  {
    ...text('windows', (r) => r.windows.map(windowText).join(',')),
    stored: (item) => `string_to_array(${item}, ',')`,
  },
  text('allotment', (r) => r.allotment),
];

/** For a SELECT: everything that {@link recordFromRow} reads. */
export const RECORD_SELECTION = [...RECORD_COLUMNS.map(({ name }) => name), 'attempts'].join(', ');

/** As the driver gives it: int8 as bigint, timestamptz as Date, jsonb parsed. */
export interface RecordRow {
  id: string;
  rank: number;
  content_hash: Buffer;
  account: string;
  key_id: string;
  member_id: string;
  model_id: string;
  source_id: string | null;
  endpoint: string | null;
  streamed: boolean;
  outcome: UsageRecord['outcome'];
  evidence: UsageRecord['evidence'];
  status: number | null;
  started_at: Date;
  first_byte_at: Date | null;
  ended_at: Date;
  input_tokens: bigint | null;
  cached_input_tokens: bigint | null;
  cache_write_tokens: bigint | null;
  cache_write_1h_tokens: bigint | null;
  output_tokens: bigint | null;
  price_version: string | null;
  charged_nano_usd: bigint;
  plan_nano_usd: bigint;
  wallet_nano_usd: bigint;
  cost_nano_usd: bigint | null;
  admitted_at: Date;
  worst_nano_usd: bigint;
  plan_max_nano_usd: bigint;
  wallet_max_nano_usd: bigint | null;
  month: string;
  session_start_ms: bigint | null;
  week_start_ms: bigint | null;
  subscription_period: string | null;
  windows: string[];
  allotment: WindowUnit | null;
  attempts: StoredAttempt[];
}

type StoredAttempt = Omit<AttemptOutcome, 'costNanoUsd'> & { readonly costNanoUsd: number | null };

/** The attempts of many records as one JSON array of arrays. */
export function attemptsJson(records: readonly UsageRecord[]): string {
  return JSON.stringify(records.map(({ attempts }) => attempts.map(toStoredAttempt)));
}

export function recordFromRow(row: RecordRow): UsageRecord {
  return {
    id: row.id,
    rank: row.rank,
    contentHash: row.content_hash.toString('hex'),
    account: row.account,
    key: row.key_id,
    member: row.member_id,
    model: row.model_id,
    source: row.source_id,
    endpoint: row.endpoint,
    streamed: row.streamed,
    outcome: row.outcome,
    evidence: row.evidence,
    status: row.status,
    startedAt: row.started_at.getTime(),
    firstByteAt: row.first_byte_at?.getTime() ?? null,
    endedAt: row.ended_at.getTime(),
    usage: usageFromRow(row),
    priceVersion: row.price_version,
    chargedNanoUsd: row.charged_nano_usd,
    planNanoUsd: row.plan_nano_usd,
    walletNanoUsd: row.wallet_nano_usd,
    costNanoUsd: row.cost_nano_usd,
    admittedAt: row.admitted_at.getTime(),
    worstNanoUsd: row.worst_nano_usd,
    planMaxNanoUsd: row.plan_max_nano_usd,
    walletMaxNanoUsd: row.wallet_max_nano_usd,
    month: row.month,
    session5h: numberOrNull(row.session_start_ms),
    weekly: numberOrNull(row.week_start_ms),
    subscriptionPeriod: row.subscription_period,
    windows: row.windows.map(windowFromText),
    allotment: row.allotment,
    attempts: row.attempts.map(fromStoredAttempt),
  };
}

function usageFromRow(row: RecordRow): TokenUsage | null {
  if (row.input_tokens === null) return null;
  return {
    input: Number(row.input_tokens),
    cachedInput: Number(row.cached_input_tokens),
    cacheWrite: Number(row.cache_write_tokens),
    cacheWrite1h: Number(row.cache_write_1h_tokens),
    output: Number(row.output_tokens),
  };
}

/** Costs are bounded like all amounts, so a JSON number holds them exactly. */
function toStoredAttempt(attempt: AttemptOutcome): StoredAttempt {
  return { ...attempt, costNanoUsd: numberOrNull(attempt.costNanoUsd) };
}

function fromStoredAttempt(attempt: StoredAttempt): AttemptOutcome {
  return { ...attempt, costNanoUsd: attempt.costNanoUsd === null ? null : BigInt(attempt.costNanoUsd) };
}

function windowText({ type, unit }: UsageRecord['windows'][number]): string {
  return `${type}/${unit}`;
}

function windowFromText(text: string): UsageRecord['windows'][number] {
  const [type, unit] = text.split('/');
  return { type: type as WindowType, unit: unit as WindowUnit };
}

function numberOrNull(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
