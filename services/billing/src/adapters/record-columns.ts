import type { TokenUsage, WindowType, WindowUnit } from '@gateway/metering';
import type { AttemptOutcome, UsageRecord } from '../domain/facts.js';

/** One column of `usage_records`: how it is written from a record. */
interface Column {
  readonly name: string;
  /** Type of the array that `unnest` takes. */
  readonly type: 'uuid' | 'text' | 'smallint' | 'bigint' | 'boolean';
  readonly value: (record: UsageRecord) => string | number | bigint | boolean | null;
  /** What is stored of the unnested item; the item itself when absent. */
  readonly stored?: (item: string) => string;
}

const fromMs = (item: string): string => `timestamptz 'epoch' + ${item} * interval '1 millisecond'`;
const fromHex = (item: string): string => `decode(${item}, 'hex')`;
const fromList = (item: string): string => `string_to_array(${item}, ',')`;

/** All columns but `attempts`, which travels as one JSON array, and those with a default. */
export const RECORD_COLUMNS: readonly Column[] = [
  { name: 'id', type: 'uuid', value: (r) => r.id },
  { name: 'rank', type: 'smallint', value: (r) => r.rank },
  { name: 'content_hash', type: 'text', value: (r) => r.contentHash, stored: fromHex },
  { name: 'account', type: 'text', value: (r) => r.account },
  { name: 'key_id', type: 'text', value: (r) => r.key },
  { name: 'member_id', type: 'text', value: (r) => r.member },
  { name: 'model_id', type: 'text', value: (r) => r.model },
  { name: 'source_id', type: 'text', value: (r) => r.source },
  { name: 'endpoint', type: 'text', value: (r) => r.endpoint },
  { name: 'streamed', type: 'boolean', value: (r) => r.streamed },
  { name: 'outcome', type: 'text', value: (r) => r.outcome },
  { name: 'evidence', type: 'text', value: (r) => r.evidence },
  { name: 'status', type: 'smallint', value: (r) => r.status },
  { name: 'started_at', type: 'bigint', value: (r) => r.startedAt, stored: fromMs },
  { name: 'first_byte_at', type: 'bigint', value: (r) => r.firstByteAt, stored: fromMs },
  { name: 'ended_at', type: 'bigint', value: (r) => r.endedAt, stored: fromMs },
  { name: 'input_tokens', type: 'bigint', value: (r) => r.usage?.input ?? null },
  { name: 'cached_input_tokens', type: 'bigint', value: (r) => r.usage?.cachedInput ?? null },
  { name: 'cache_write_tokens', type: 'bigint', value: (r) => r.usage?.cacheWrite ?? null },
  { name: 'cache_write_1h_tokens', type: 'bigint', value: (r) => r.usage?.cacheWrite1h ?? null },
  { name: 'output_tokens', type: 'bigint', value: (r) => r.usage?.output ?? null },
  { name: 'price_version', type: 'text', value: (r) => r.priceVersion },
  { name: 'charged_nano_usd', type: 'bigint', value: (r) => r.chargedNanoUsd },
  { name: 'plan_nano_usd', type: 'bigint', value: (r) => r.planNanoUsd },
  { name: 'wallet_nano_usd', type: 'bigint', value: (r) => r.walletNanoUsd },
  { name: 'cost_nano_usd', type: 'bigint', value: (r) => r.costNanoUsd },
  { name: 'admitted_at', type: 'bigint', value: (r) => r.admittedAt, stored: fromMs },
  { name: 'worst_nano_usd', type: 'bigint', value: (r) => r.worstNanoUsd },
  { name: 'plan_max_nano_usd', type: 'bigint', value: (r) => r.planMaxNanoUsd },
  { name: 'wallet_max_nano_usd', type: 'bigint', value: (r) => r.walletMaxNanoUsd },
  { name: 'month', type: 'text', value: (r) => r.month },
  { name: 'session_start_ms', type: 'bigint', value: (r) => r.session5h },
  { name: 'week_start_ms', type: 'bigint', value: (r) => r.weekly },
  { name: 'subscription_period', type: 'text', value: (r) => r.subscriptionPeriod },
  { name: 'windows', type: 'text', value: (r) => r.windows.map(windowText).join(','), stored: fromList },
  { name: 'allotment', type: 'text', value: (r) => r.allotment },
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
