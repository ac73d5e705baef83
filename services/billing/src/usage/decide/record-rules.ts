import {
  toPriceFigures,
  type PricedVersion,
  type ServedClassUnits,
  type UsageEvent,
  type WireTokenUsage,
} from '@gateway/contracts/messages';
import { type NanoUsd, rate, recordedCost, splitFunding, type TokenCounts } from '@gateway/metering';
import { type AttemptOutcome, pickDirectValues, type UsageRecord } from '../../records/rules.js';
import type { ReceivedEvent } from '../rules.js';

/** 16 bytes of the SHA-256, enough to make a second content with the same hash infeasible. */
const CONTENT_HASH_CHARS = 32;

/** Builds the record of an accepted event, only from the event (docs/protocol.md#r7). */
export function buildRecord({ event, contentHash }: ReceivedEvent): UsageRecord {
  const { hold } = event;
  const { periods } = hold;
  const charged = BigInt(event.amountNanoUsd);
  const split = splitFunding(charged, BigInt(hold.planMaxNanoUsd), bigintOrNull(hold.walletMaxNanoUsd));
  const attempts = event.attempts.map(buildAttempt);
  return {
    id: event.id,
    rank: event.rank,
    contentHash: contentHash.slice(0, CONTENT_HASH_CHARS),
    account: hold.account,
    key: hold.key,
    member: hold.member,
    model: hold.model,
    source: event.source,
    ...pickDirectValues(event),
    outcome: event.outcome,
    evidence: event.evidence,
    startedAt: event.startedAt,
    firstByteAt: event.firstByteAt,
    endedAt: event.endedAt,
    usage: event.usage === null ? null : copyUsage(event.usage),
    served: event.served === undefined ? null : copyServed(event.served),
    priceVersion: event.price === null ? null : event.price.version,
    chargedNanoUsd: charged,
    planNanoUsd: split.plan,
    walletNanoUsd: split.wallet,
    costNanoUsd: totalCost(attempts),
    admittedAt: hold.admittedAt,
    worstNanoUsd: BigInt(hold.worstNanoUsd),
    planMaxNanoUsd: BigInt(hold.planMaxNanoUsd),
    walletMaxNanoUsd: bigintOrNull(hold.walletMaxNanoUsd),
    month: periods.month,
    session5h: periods.session5h,
    weekly: periods.weekly,
    subscriptionPeriod: periods.subscription === null ? null : periods.subscription.id,
    windows: hold.windows,
    allotment: hold.allotment,
    attempts,
  };
}

/** Copies the known fields, because an event may have more and the result is stored as it is. */
function copyUsage(usage: WireTokenUsage): WireTokenUsage {
  const counts = copyCounts(usage);
  return usage.samplings === undefined ? counts : { ...counts, samplings: usage.samplings.map(copyCounts) };
}

function copyCounts({ input, cachedInput, cacheWrite, cacheWrite1h, output, kinds }: TokenCounts): TokenCounts {
  const counts = { input, cachedInput, cacheWrite, cacheWrite1h, output };
  if (kinds === undefined) return counts;
  const { audioInput, imageInput, audioOutput, imageOutput } = kinds;
  return { ...counts, kinds: { audioInput, imageInput, audioOutput, imageOutput } };
}

function copyServed({ class: name, units }: ServedClassUnits): ServedClassUnits {
  return { class: name, units };
}

/**
 * The cost is null if the usage or the cost version is unknown, because estimates are not recorded
 * as costs. A cost that the provider reported takes precedence over the computed one.
 */
function buildAttempt(attempt: UsageEvent['attempts'][number]): AttemptOutcome {
  const {
    source,
    provider,
    outcome,
    status,
    possiblyPaid,
    usage,
    cost,
    served,
    reportedCostNanoUsd: reported,
  } = attempt;
  const computed = cost === null || usage === null ? null : rateWire(usage, cost, served);
  return {
    source,
    provider,
    outcome,
    status,
    possiblyPaid,
    usage: usage === null ? null : copyUsage(usage),
    costVersion: cost === null ? null : cost.version,
    costNanoUsd: recordedCost(computed, reported === undefined ? undefined : BigInt(reported)),
    ...(reported === undefined ? {} : { reportedCostNanoUsd: reported }),
    ...(served === undefined ? {} : { served: copyServed(served) }),
  };
}

function totalCost(attempts: readonly AttemptOutcome[]): bigint | null {
  let total: bigint | null = null;
  for (const { costNanoUsd } of attempts) if (costNanoUsd !== null) total = (total ?? 0n) + costNanoUsd;
  return total;
}

function bigintOrNull(value: number | null): bigint | null {
  return value === null ? null : BigInt(value);
}

/** Rates a usage and its extras with a price or cost version from a message. */
export function rateWire(usage: WireTokenUsage, version: PricedVersion, served?: ServedClassUnits): NanoUsd {
  return rate(usage, toPriceFigures(version), served);
}
