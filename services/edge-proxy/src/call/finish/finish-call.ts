import { shardOfBucket } from '@gateway/contracts/ids';
import { type UsageEvent, usageEvents } from '@gateway/contracts/messages';
import { type Logger, NO_SPAN, type Span, startSpan } from '@gateway/service-kit';
import type { AdmissionClient } from '../../admission/admission-client.js';
import type { MeterResult } from '../../formats/meter.js';
import type { CallWithHold, RunningCalls } from '../../heartbeats/running-calls.js';
import type { UsageJournal } from '../../journal/store-usage.js';
import { IDS_PER_RESPONSE_MAX } from '../../stored-ids/answer-names.js';
import type { StoredIdCache } from '../../stored-ids/remembered-answers.js';
import type { CallResult } from '../attempt/attempt-sources.js';
import { type AdmittedCall, callTime, freeBody } from '../call.js';
import type { Deadline } from '../deadlines.js';
import type { EdgeMetrics } from '../edge-metrics.js';
import { type RespondParts, respond } from '../respond.js';
import { type CallEnding, type UsageEventParts, buildUsageEvent } from './usage-event.js';

/** Longest waits of the last chunk for record and release (docs/behaviour.md#answers). */
const RECORD_WAIT_MS = 2_000;
const RELEASE_WAIT_MS = 200;

/** Parts of {@link finishCall}. */
export type FinishParts = UsageEventParts &
  RespondParts & {
    readonly journal: Pick<UsageJournal, 'append'>;
    readonly admissionClient: Pick<AdmissionClient, 'release' | 'mayMeetOwnHold'>;
    readonly running: Pick<RunningCalls, 'remove'>;
    readonly answers: Pick<StoredIdCache, 'remember'>;
    readonly log: Logger;
    readonly metrics: Pick<
      EdgeMetrics,
      | 'answerUnremembered'
      | 'callEnded'
      | 'firstByte'
      | 'lastPieceUnconfirmed'
      | 'modelCallEnded'
      | 'operationEnded'
      | 'timeAdded'
    >;
  };

/**
 * Ends an admitted call: stores its usage event, releases its hold, and sends the last chunk when
 * docs/protocol.md#r4 permits it. Returns the status that the client received.
 */
export async function finishCall(parts: FinishParts, call: AdmittedCall, result: CallResult): Promise<number | null> {
  freeBody(call);
  const endedAtMs = parts.deadlines.nowMs();
  const ending = toCallEnding(call, result);
  const idsStored = storeIds(parts, call, result);
  const event = buildUsageEvent(parts, call, ending);

  const stored = storeEvent(parts, call, event);
  const released = releaseCall(parts, call, event, stored);
  recordEnd(parts, call, ending, event, endedAtMs);
  if (result.kind === 'delivered' && result.delivery.ended === 'complete') {
    if (idsStored !== null) await idsStored;
    await stored?.came;
    await released?.came;
  } else if (result.kind === 'failed') await released?.came;
  if (result.kind !== 'gone' && ending.ended !== 'client_disconnected') recordAddedTime(parts, call, endedAtMs);
  respond(parts, call, result, event?.usage ?? null);

  parts.log.debug(
    { requestId: call.id, ending: ending.ended, ms: callTime(parts, call) - call.startedAt },
    'call ended',
  );
  return ending.status;
}

/** Stores the usage event. The heartbeats list the call until the stream has its event. */
function storeEvent(parts: FinishParts, call: AdmittedCall, event: UsageEvent | null): Confirmation | null {
  const { id, held } = call;
  if (held === null) return null;
  if (event === null) {
    parts.running.remove(id);
    return null;
  }
  const stored = new Confirmation(parts, RECORD_WAIT_MS, 'record');
  const span = call.span === NO_SPAN ? NO_SPAN : startSendSpan(call);
  const { traceparent } = span;
  const sent = traceparent === undefined ? event : { ...event, traceparent };
  parts.journal.append(shardOfBucket(held.bucket), sent, () => {
    parts.running.remove(id);
    span.end();
    stored.confirm();
  });
  return stored;
}

/**
 * Releases a charged call while its event is stored: this frees its slot, and its hold keeps the
 * charge. A void release ends the hold at once, so it is sent after the event is stored; otherwise
 * a crash would lose the record. A call without an event is released void at once.
 * @returns null: the last chunk does not wait for the release
 */
function releaseCall(
  parts: FinishParts,
  call: AdmittedCall,
  event: UsageEvent | null,
  stored: Confirmation | null,
): Confirmation | null {
  const { held, roomLeft, span } = call;
  if (held === null) return null;
  const isCharged = event?.outcome === 'settled';
  // The client's next request must not be refused because of this call's slot or worst case.
  const mayMeetIt = !isCharged || parts.admissionClient.mayMeetOwnHold(held.hold.account, roomLeft);
  const released = mayMeetIt ? new Confirmation(parts, RELEASE_WAIT_MS, 'release') : null;
  const release = { outcome: isCharged ? 'ok' : 'void', amountNanoUsd: event?.amountNanoUsd ?? 0 } as const;
  if (isCharged || stored === null) sendRelease(parts, span, held, release, released);
  else stored.onConfirmed(() => sendRelease(parts, span, held, release, released));
  return released;
}

/** Sends the release. `released` (if not null) is confirmed when the slot is released. */
function sendRelease(
  { admissionClient }: FinishParts,
  parent: Span,
  { id, hold, callEpoch }: CallWithHold,
  ending: { readonly outcome: 'ok' | 'void'; readonly amountNanoUsd: number },
  released: Confirmation | null,
): void {
  const span = parent === NO_SPAN ? NO_SPAN : startSpan('release', { parent: parent.traceparent, kind: 'client' });
  const answered = (): void => {
    span.end();
    released?.confirm();
  };
  admissionClient.release({ blind: false, id, hold, callEpoch, ...ending }, answered, released === null);
}

/** The last chunk waits up to `ms` for this confirmation. Each expired wait is counted. */
class Confirmation {
  /** Resolves when the confirmation has arrived, or when the wait has expired. */
  readonly came: Promise<void>;
  readonly #deadline: Deadline;
  #resolve!: () => void;
  #next: (() => void) | null = null;

  constructor({ deadlines, metrics }: FinishParts, ms: number, what: 'record' | 'release') {
    this.came = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#deadline = deadlines.in(ms, () => {
      metrics.lastPieceUnconfirmed(what);
      this.#resolve();
    });
  }

  /** Calls `next` when the confirmation arrives, however late. */
  onConfirmed(next: () => void): void {
    this.#next = next;
  }

  confirm(): void {
    this.#next?.();
    this.#deadline.cancel();
    this.#resolve();
  }
}

function toCallEnding(call: AdmittedCall, result: CallResult): CallEnding {
  switch (result.kind) {
    case 'delivered': {
      const { ended, meter, failed } = result.delivery;
      return {
        ended: failed === true ? 'failed' : ended,
        meter,
        status: call.firstByteAt === null ? null : 200,
        source: result.source.source.id,
      };
    }
    case 'failed':
      return { ended: 'failed', meter: null, status: result.error.status, source: null };
    case 'gone': {
      const last = call.attempts.at(-1);
      const isOwed = call.ended === null && last?.outcome === 'abandoned' && last.possiblyPaid;
      const sent = isOwed ? { meter: NOTHING_DELIVERED, source: last.source } : { meter: null, source: null };
      return { ended: 'client_disconnected', status: null, ...sent };
    }
  }
}

/**
 * Meter result of a call that was sent and whose client left before the response. The provider
 * charges at least the input.
 */
const NOTHING_DELIVERED: MeterResult = { usage: null, problem: 'absent', deliveredBytes: 0, finished: false };

/**
 * Stores the IDs of a response that its provider keeps, with the account and the source. The last
 * chunk must wait for the returned promise, so that every edge finds the IDs in the client's next
 * request. Null: nothing to wait for.
 */
function storeIds(parts: FinishParts, call: AdmittedCall, result: CallResult): Promise<void> | null {
  if (result.kind !== 'delivered') return null;
  const { delivery, source } = result;
  const found = delivery.meter?.ids;
  if (found === undefined || source.source.keepsState === false) return null;
  if (found.isCut) {
    parts.metrics.answerUnremembered('lost');
    parts.log.warn({ requestId: call.id, max: IDS_PER_RESPONSE_MAX }, 'a response has more IDs than are stored');
  }
  const ids = call.parsed.answers.isStored ? [...found.stored, ...found.containers] : found.containers;
  if (ids.length === 0) return null;
  const remembered = parts.answers.remember(call.account, ids, source.source.id);
  return delivery.ended === 'complete' ? remembered : null;
}

function recordEnd(
  { metrics }: FinishParts,
  call: AdmittedCall,
  ending: CallEnding,
  event: UsageEvent | null,
  endedAtMs: number,
): void {
  if (call.firstByteAt !== null) metrics.firstByte((call.firstByteAt - call.startedAt) / 1000);
  metrics.callEnded(call.row.path, ending.status);
  const seconds = (endedAtMs - call.begunAtMs) / 1_000;
  metrics.operationEnded(call.row, ending.ended, seconds, ending.meter?.usage ?? null);
  metrics.modelCallEnded(call.parsed.model, call.attempts.at(-1)?.provider, ending.ended, event);
}

/**
 * Records the time that the gateway added to a call that a source has had: all of it since the
 * whole request had arrived, except the time of the sources.
 */
function recordAddedTime({ metrics, deadlines }: FinishParts, call: AdmittedCall, endedAtMs: number): void {
  const last = call.attempts.at(-1);
  if (last === undefined) return;
  const beforeMs = Math.max(0, endedAtMs - call.readyAtMs - call.sourcesMs);
  metrics.timeAdded(last.source, beforeMs, deadlines.nowMs() - endedAtMs);
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
