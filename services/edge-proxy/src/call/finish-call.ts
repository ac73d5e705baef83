import { shardOfBucket } from '@gateway/contracts/ids';
import { toPriceFigures, usageEvents, type AttemptRecord, type UsageEvent } from '@gateway/contracts/messages';
import {
  boundFigures,
  rate,
  recordedCost,
  STANDARD,
  type BoundFigures,
  type PriceFigures,
  type TokenUsage,
} from '@gateway/metering';
import { NO_SPAN, startSpan, type Span } from '@gateway/service-kit';
import type { CallWithHold } from '../heartbeats/running-calls.js';
import { computeCharge, type CallEnd, type Charge } from '../pricing/charge.js';
import type { MeterResult } from '../formats/meter.js';
import { computeBilledExtras, type BilledExtras } from '../pricing/served.js';
import { callTime, type AdmittedCall, type Edge } from './call.js';
import type { Deadline } from './deadlines.js';

/** Longest waits of the last chunk for record and release (docs/behaviour.md#answers). */
const RECORD_WAIT_MS = 2_000;
const RELEASE_WAIT_MS = 200;

/** How an admitted call has ended. */
export interface CallEnding {
  readonly ended: CallEnd;
  readonly meter: MeterResult | null;
  /** The status that the client received; null if none. */
  readonly status: number | null;
  /** The source whose response was relayed. */
  readonly source: string | null;
}

/** The confirmations for which the last chunk waits. */
export interface FinishConfirmations {
  /** Resolves when the event is in the stream, at the latest after {@link RECORD_WAIT_MS}. */
  readonly recorded: Promise<void>;
  /**
   * Resolves when the hold is released, at the latest after {@link RELEASE_WAIT_MS}. Resolves at
   * once for a charged call if the account has room for further calls.
   */
  readonly released: Promise<void>;
  /** The charged usage; null: the call is not charged. */
  readonly usage: TokenUsage | null;
}

const NOTHING = Promise.resolve();
const NOTHING_TO_WAIT_FOR: FinishConfirmations = { recorded: NOTHING, released: NOTHING, usage: null };

/**
 * Publishes the usage event of a call and releases its hold (docs/protocol.md#r4). For a charged
 * call both happen concurrently. A void release removes the hold at once, so its event is stored
 * first; otherwise a crash would lose the record. A call that was sent to no source has no record;
 * its hold is released void.
 */
export function finishCall(edge: Edge, call: AdmittedCall, ending: CallEnding): FinishConfirmations {
  const { held, price } = call;
  if (held === null || price === null) return NOTHING_TO_WAIT_FOR;
  if (call.attempts.length === 0) {
    edge.running.remove(call.id);
    const released = new Confirmation(edge, RELEASE_WAIT_MS, 'release');
    sendRelease(edge, call.span, held, VOID, released);
    return { recorded: NOTHING, released: released.came, usage: null };
  }
  const figures = toPriceFigures(price);
  const { served, unpriced } = computeServed(edge, call, ending, figures);
  const charge = computeCharge({
    ended: ending.ended,
    meter: ending.meter,
    bounds: call.parsed.bounds,
    figures: computeBoundFigures(edge, call),
    price: figures,
    hold: { worstNanoUsd: BigInt(held.hold.worstNanoUsd) },
    served,
  });
  if (charge.amountNanoUsd > BigInt(held.hold.worstNanoUsd)) {
    edge.metrics.chargedAboveHold();
  }
  const span = call.span === NO_SPAN ? NO_SPAN : startSendSpan(call);
  const event = toUsageEvent(edge, call, ending, { charge, unpriced, traceparent: span.traceparent });
  const isCharged = charge.outcome === 'settled';
  const release = { outcome: isCharged ? 'ok' : 'void', amountNanoUsd: event.amountNanoUsd } as const;
  const recorded = new Confirmation(edge, RECORD_WAIT_MS, 'record');
  // The client's next request must not be refused because of this call's slot or worst case.
  const mayMeetIt = !isCharged || edge.admissionClient.mayMeetOwnHold(held.hold.account, call.roomLeft);
  const released = mayMeetIt ? new Confirmation(edge, RELEASE_WAIT_MS, 'release') : null;
  edge.journal.append(shardOfBucket(held.bucket), event, () => {
    edge.running.remove(call.id);
    span.end();
    if (!isCharged) sendRelease(edge, call.span, held, release, released);
    recorded.confirm();
  });
  if (isCharged) sendRelease(edge, call.span, held, release, released);
  return { recorded: recorded.came, released: released?.came ?? NOTHING, usage: charge.usage };
}

const VOID = { outcome: 'void', amountNanoUsd: 0 } as const;

/** Returns the billed class and units. Reports those without a price to the operator. */
function computeServed(
  edge: Edge,
  { id, reading, parsed }: AdmittedCall,
  { meter, source }: CallEnding,
  price: PriceFigures,
): BilledExtras {
  if (reading === null || meter === null) return { served: STANDARD, unpriced: [] };
  const upstreamModel = source === null ? undefined : edge.catalog.source(source)?.source.upstreamModel;
  const sent = { ...reading.read, models: [parsed.model, upstreamModel ?? parsed.model] };
  const finding = computeBilledExtras(reading.rules, sent, meter.said ?? null, price.extras);
  const { unpriced } = finding;
  if (unpriced.length > 0) edge.unpricedServed.found({ source, requestId: id, unpriced });
  return finding;
}

/** Sends the release. `released` (if not null) is confirmed when the slot is released. */
function sendRelease(
  edge: Edge,
  parent: Span,
  { id, hold, tag }: CallWithHold,
  ending: { readonly outcome: 'ok' | 'void'; readonly amountNanoUsd: number },
  released: Confirmation | null,
): void {
  const span = parent === NO_SPAN ? NO_SPAN : startSpan('release', { parent: parent.traceparent, kind: 'client' });
  edge.admissionClient.release({ blind: false, id, hold, tag, ...ending }, () => {
    span.end();
    released?.confirm();
  });
}

/**
 * Starts the span of the usage event, which ends when the event is in the stream. Billing's spans
 * continue its trace.
 */
function startSendSpan(call: AdmittedCall): Span {
  return startSpan(`send ${usageEvents.stream}`, {
    parent: call.span.traceparent,
    kind: 'producer',
    attributes: {
      'messaging.system': 'nats',
      'messaging.operation.type': 'send',
      'messaging.destination.name': usageEvents.stream,
    },
  });
}

function toUsageEvent(
  edge: Edge,
  call: AdmittedCall,
  ending: CallEnding,
  { charge, unpriced, traceparent }: { charge: Charge; unpriced: readonly string[]; traceparent: string | undefined },
): UsageEvent {
  const { held, price } = call;
  if (held === null || price === null) throw new Error('only a call with a hold and a price has a record');
  const last = call.attempts.at(-1);
  const served = charge.served === STANDARD ? {} : { served: charge.served };
  const attempts = call.attempts.map((attempt) =>
    attempt === last
      ? withReportedCost(edge, ending, {
          ...attempt,
          usage: charge.probableUsage,
          ...(charge.probableUsage === null ? {} : served),
        })
      : attempt,
  );
  const event: UsageEvent = {
    id: call.id,
    rank: 2,
    outcome: charge.outcome,
    hold: held.hold,
    endpoint: call.row.path,
    streamed: call.parsed.stream,
    startedAt: call.startedAt,
    endedAt: callTime(edge, call),
    firstByteAt: call.firstByteAt,
    status: ending.status,
    source: ending.source,
    usage: charge.usage,
    evidence: charge.evidence,
    price,
    amountNanoUsd: Number(charge.amountNanoUsd),
    attempts,
    ...(charge.usage === null ? {} : served),
    ...(charge.usage === null || unpriced.length === 0 ? {} : { unpriced: [...unpriced] }),
  };
  return traceparent === undefined ? event : { ...event, traceparent };
}

/** Adds the cost that the provider reports, and records its difference from the computed cost. */
function withReportedCost({ metrics }: Edge, { meter }: CallEnding, attempt: AttemptRecord): AttemptRecord {
  const reported = meter?.said?.costNanoUsd;
  if (reported === undefined) return attempt;
  const { usage, cost, served, source } = attempt;
  if (usage !== null && cost !== null) {
    const computed = rate(usage, toPriceFigures(cost), served);
    const isRecorded = recordedCost(computed, BigInt(reported)) === BigInt(reported);
    metrics.costReported(source, { computedNanoUsd: Number(computed), reportedNanoUsd: reported, isRecorded });
  }
  return { ...attempt, reportedCostNanoUsd: reported };
}

/** Computes the bounds over all sources for the endpoint, as admission does for the hold. */
export function computeBoundFigures({ catalog }: Edge, { parsed: { model }, row }: AdmittedCall): BoundFigures {
  const serving = catalog.sourcesOf(model).filter(({ endpoints }) => endpoints.includes(row.path));
  return boundFigures(
    catalog.model(model),
    serving.map(({ attachments }) => attachments),
  );
}

/** A confirmation with a timeout of `ms`. Each expired timeout is counted. */
class Confirmation {
  readonly came: Promise<void>;
  readonly #deadline: Deadline;
  #resolve!: () => void;

  constructor(edge: Edge, ms: number, what: 'record' | 'release') {
    this.came = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#deadline = edge.deadlines.in(ms, () => {
      edge.metrics.lastPieceUnconfirmed(what);
      this.#resolve();
    });
  }

  confirm(): void {
    this.#deadline.cancel();
    this.#resolve();
  }
}
