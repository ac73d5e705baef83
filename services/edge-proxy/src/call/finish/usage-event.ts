import { type AttemptRecord, type UsageEvent, toPriceFigures } from '@gateway/contracts/messages';
import { type PriceFigures, STANDARD, rate, recordedCost } from '@gateway/metering';
import type { MeterResult } from '../../formats/meter.js';
import type { Catalog } from '../../ports.js';
import { type CallEnd, type Charge, computeCharge } from '../../pricing/charge.js';
import { type BilledExtras, computeBilledExtras } from '../../pricing/served.js';
import { type AdmittedCall, callTime, computeBoundFigures } from '../call.js';
import type { Deadlines } from '../deadlines.js';
import type { EdgeMetrics } from '../edge-metrics.js';

/** Parts of {@link buildUsageEvent}. */
export interface UsageEventParts {
  readonly catalog: Pick<Catalog, 'source' | 'model' | 'sourcesOf'>;
  readonly deadlines: Pick<Deadlines, 'nowMs'>;
  readonly metrics: Pick<EdgeMetrics, 'chargedAboveHold' | 'costReported'>;
  /** Counts responses with a class or tool use without a price, and logs a sample of them. */
  readonly unpricedServed: {
    found(served: { source: string | null; requestId: string; unpriced: readonly string[] }): void;
  };
}

/** How an admitted call has ended. */
export interface CallEnding {
  readonly ended: CallEnd;
  readonly meter: MeterResult | null;
  /** The status that the client received; null if none. */
  readonly status: number | null;
  /** The source whose response was relayed. */
  readonly source: string | null;
}

/**
 * Builds the usage event of a call. Null: the call has no record, because its endpoint is not
 * billed or no source was tried.
 */
export function buildUsageEvent(parts: UsageEventParts, call: AdmittedCall, ending: CallEnding): UsageEvent | null {
  const { held, price } = call;
  if (held === null || price === null || call.attempts.length === 0) return null;
  const figures = toPriceFigures(price);
  const { served, unpriced } = computeServed(parts, call, ending, figures);
  const charge = computeCharge({
    ended: ending.ended,
    meter: ending.meter,
    bounds: call.parsed.bounds,
    figures: computeBoundFigures(parts, call),
    price: figures,
    hold: { worstNanoUsd: BigInt(held.hold.worstNanoUsd) },
    served,
  });
  if (charge.amountNanoUsd > BigInt(held.hold.worstNanoUsd)) parts.metrics.chargedAboveHold();
  const { usage } = charge;
  return {
    id: call.id,
    rank: 2,
    outcome: charge.outcome,
    hold: held.hold,
    endpoint: call.row.path,
    streamed: call.parsed.stream,
    startedAt: call.startedAt,
    endedAt: callTime(parts, call),
    firstByteAt: call.firstByteAt,
    status: ending.status,
    source: ending.source,
    usage,
    evidence: charge.evidence,
    price,
    amountNanoUsd: Number(charge.amountNanoUsd),
    attempts: toRecordedAttempts(parts, call, ending, charge),
    ...(usage === null || charge.served === STANDARD ? {} : { served: charge.served }),
    ...(usage === null || unpriced.length === 0 ? {} : { unpriced: [...unpriced] }),
  };
}

/** Returns the billed class and units. Reports those without a price to the operator. */
function computeServed(
  parts: UsageEventParts,
  { id, reading, parsed }: AdmittedCall,
  { meter, source }: CallEnding,
  price: PriceFigures,
): BilledExtras {
  if (reading === null || meter === null) return { served: STANDARD, unpriced: [] };
  const upstreamModel = source === null ? undefined : parts.catalog.source(source)?.source.upstreamModel;
  const sent = { ...reading.read, models: [parsed.model, upstreamModel ?? parsed.model] };
  const finding = computeBilledExtras(reading.rules, sent, meter.reported ?? null, price.extras);
  const { unpriced } = finding;
  if (unpriced.length > 0) parts.unpricedServed.found({ source, requestId: id, unpriced });
  return finding;
}

/** Adds the probable usage and the reported cost to the last attempt. */
function toRecordedAttempts(
  parts: UsageEventParts,
  { attempts }: AdmittedCall,
  ending: CallEnding,
  { probableUsage: usage, served }: Charge,
): AttemptRecord[] {
  const last = attempts.at(-1);
  return attempts.map((attempt) => {
    if (attempt !== last) return attempt;
    const withUsage = usage === null || served === STANDARD ? { ...attempt, usage } : { ...attempt, usage, served };
    return withReportedCost(parts, ending, withUsage);
  });
}

/** Adds the cost that the provider reports, and records its difference from the computed cost. */
function withReportedCost({ metrics }: UsageEventParts, { meter }: CallEnding, attempt: AttemptRecord): AttemptRecord {
  const reported = meter?.reported?.costNanoUsd;
  if (reported === undefined) return attempt;
  const { usage, cost, served, source } = attempt;
  if (usage !== null && cost !== null) {
    const computed = rate(usage, toPriceFigures(cost), served);
    const isRecorded = recordedCost(computed, BigInt(reported)) === BigInt(reported);
    metrics.costReported(source, { computedNanoUsd: Number(computed), reportedNanoUsd: reported, isRecorded });
  }
  return { ...attempt, reportedCostNanoUsd: reported };
}
