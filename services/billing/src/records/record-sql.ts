import { DIRECT_COLUMNS, type ServedClassUnits } from '@gateway/contracts/messages';
import type { TokenCounts, TokenKinds, TokenUsage, WindowType, WindowUnit } from '@gateway/metering';
import { toSnakeCase } from './columns-sql.js';
import {
  type AttemptOutcome,
  type DirectValues,
  pickDirectValues,
  type StoredCounts,
  type UsageRecord,
} from './rules.js';

/** Columns of a SELECT from `usage_records` that {@link recordFromRow} needs. */
export const RECORD_COLUMNS = `id, rank, content_hash, account, key_id, member_id, model_id, source_id,
  outcome, evidence, started_at, first_byte_at, ended_at, input_tokens, cached_input_tokens, cache_write_tokens,
  cache_write_1h_tokens, output_tokens, price_version, charged_nano_usd, plan_nano_usd, wallet_nano_usd, cost_nano_usd,
  admitted_at, worst_nano_usd, plan_max_nano_usd, wallet_max_nano_usd, month, session_start_ms, week_start_ms,
  subscription_period, windows, allotment, attempts, price_class, units, token_kinds, samplings,
  ${DIRECT_COLUMNS.map(({ name }) => `${toSnakeCase(name)} AS "${name}"`).join(', ')}`;

/** A row from the driver: int8 as bigint, timestamptz as Date, jsonb parsed. */
export interface RecordRow extends DirectValues {
  id: string;
  rank: number;
  content_hash: Buffer;
  account: string;
  key_id: string;
  member_id: string;
  model_id: string;
  source_id: string | null;
  outcome: UsageRecord['outcome'];
  evidence: UsageRecord['evidence'];
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
  price_class: ServedClassUnits['class'] | null;
  units: ServedClassUnits['units'] | null;
  token_kinds: TokenKinds | null;
  samplings: StoredCounts[] | null;
}

type StoredAttempt = Omit<AttemptOutcome, 'costNanoUsd'> & { readonly costNanoUsd: number | null };

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
    ...pickDirectValues(row),
    outcome: row.outcome,
    evidence: row.evidence,
    startedAt: row.started_at.getTime(),
    firstByteAt: row.first_byte_at?.getTime() ?? null,
    endedAt: row.ended_at.getTime(),
    usage: usageFromRow(row),
    served: servedFromRow(row),
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
    ...(row.token_kinds === null ? {} : { kinds: row.token_kinds }),
    ...(row.samplings === null ? {} : { samplings: row.samplings.map(countsFromStored) }),
  };
}

function countsFromStored(stored: StoredCounts): TokenCounts {
  const [input = 0, cachedInput = 0, cacheWrite = 0, cacheWrite1h = 0, output = 0, ...kinds] = stored;
  const counts = { input, cachedInput, cacheWrite, cacheWrite1h, output };
  const [audioInput = 0, imageInput = 0, audioOutput = 0, imageOutput = 0] = kinds;
  return kinds.length === 0 ? counts : { ...counts, kinds: { audioInput, imageInput, audioOutput, imageOutput } };
}

function servedFromRow({ price_class, units }: RecordRow): ServedClassUnits | null {
  return price_class === null && units === null ? null : { class: price_class ?? 'standard', units: units ?? {} };
}

function fromStoredAttempt(attempt: StoredAttempt): AttemptOutcome {
  return { ...attempt, costNanoUsd: attempt.costNanoUsd === null ? null : BigInt(attempt.costNanoUsd) };
}

function windowFromText(text: string): UsageRecord['windows'][number] {
  const [type, unit] = text.split('/');
  return { type: type as WindowType, unit: unit as WindowUnit };
}

function numberOrNull(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
