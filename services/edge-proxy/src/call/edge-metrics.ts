import type { MemoryFailure } from '../stored-ids/remembered-answers.js';
import { ERROR_CATALOGUE, type ErrorCode } from '@gateway/contracts/errors';
import { ATTEMPT_OUTCOMES, ENDPOINTS, type AttemptRecord, type Endpoint } from '@gateway/contracts/messages';
import { counter, histogram } from '@gateway/service-kit';
import type { LoadReason } from '../load/judge-load.js';
import { LACKS, type Lack } from '../quotas/held-share.js';
import { makeModelMetrics, type ModelMetrics } from './model-metrics.js';

const STATUS_CLASSES = ['2xx', '4xx', '5xx', 'none'] as const;
const TIME_TO_FIRST_BYTE_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600];
/**
 * Sources that have series of their own, the first that this process tries; the rest are `other`.
 * Series: outcomes × sources.
 */
const NAMED_SOURCES_MAX = 64;
const NANO_PER_USD = 1e9;
const ERROR_CODES = Object.keys(ERROR_CATALOGUE) as ErrorCode[];

/**
 * What the edge counts. Labels come from closed lists and the catalog: nothing that a client sends
 * becomes one.
 */
export interface EdgeMetrics extends ModelMetrics {
  /** `status` null: the client got none. */
  callEnded(endpoint: Endpoint, status: number | null): void;
  errorAnswered(code: ErrorCode): void;
  /** `source`: its id in the catalog. */
  attemptEnded(source: string, outcome: AttemptRecord['outcome']): void;
  /** A provider refuses the gateway's own credentials or account: somebody has to look. */
  credentialsRefused(): void;
  /** A source's address is a private one: it was not connected to. */
  privateSourceRefused(): void;
  /** A provider served a class, or counted uses of a tool, that has no price. */
  unpricedServed(): void;
  /** A response reported its cost; `isRecorded`: it is the recorded one. */
  costReported(
    source: string,
    cost: { readonly computedNanoUsd: number; readonly reportedNanoUsd: number; readonly isRecorded: boolean },
  ): void;
  /** A provider reported more than what was held for the call: the rest may become debt. */
  chargedAboveHold(): void;
  firstByte(seconds: number): void;
  /** The last piece went out without the record's acknowledgement or the release's answer. */
  lastPieceUnconfirmed(waitedFor: 'record' | 'release'): void;
  /** The shared store of answers' sources did not take one in time, or did not tell one. */
  answerUnremembered(what: MemoryFailure): void;
  /** A try was sent to a source of whose quota this edge held no share: nothing else was left. */
  sentOverQuota(source: string, lack: Lack): void;
  /** A share in a source's quotas was not renewed. */
  quotaShareFailed(): void;
  storeFailed(): void;
  heartbeatFailed(): void;
  /** A call was refused before anything was asked or read: the process is overloaded. */
  callShed(reason: LoadReason): void;
  /**
   * Nobody has the key that a client presented, or it was not looked up, for its network presented
   * many such.
   */
  unknownKey(outcome: 'refused' | 'unasked'): void;
  /** A connection was closed at once: its client has as many as it may have. */
  connectionRefused(): void;
}

export function makeEdgeMetrics(): EdgeMetrics {
  const calls = counter('gateway_edge_calls_total', 'Calls to model endpoints by status class', {
    endpoint: ENDPOINTS,
    status: STATUS_CLASSES,
  });
  const errors = counter('gateway_edge_errors_total', 'Errors answered, by code', { code: ERROR_CODES });
  const attempts = counter('gateway_edge_attempts_total', 'Tries of sources by outcome', {
    source: { max: NAMED_SOURCES_MAX },
    outcome: ATTEMPT_OUTCOMES,
  });
  const credentials = counter(
    'gateway_edge_credentials_refused_total',
    "Answers of providers that refuse the gateway's own credentials or account",
  );
  const privateSources = counter(
    'gateway_edge_private_sources_refused_total',
    'Tries of sources whose address is private, which were not connected to',
  );
  const unpriced = counter(
    'gateway_edge_unpriced_served_total',
    'Answers that report a class or uses of a tool without a price',
  );
  const reportedCosts = counter(
    'gateway_edge_reported_cost_usd_total',
    "Cost of answers that report the provider's own, which is recorded, and what was computed for them",
    { source: { max: NAMED_SOURCES_MAX }, cost: ['reported', 'computed'] },
  );
  const costsIgnored = counter(
    'gateway_edge_reported_cost_ignored_total',
    'Answers whose reported cost was 0 or more than 100 times the computed one',
    { source: { max: NAMED_SOURCES_MAX } },
  );
  const aboveHold = counter(
    'gateway_edge_charged_above_hold_total',
    'Calls that cost more than what was held for them',
  );
  const firstByte = histogram(
    'gateway_edge_first_byte_seconds',
    'Time from the request to the first byte of a successful answer',
    TIME_TO_FIRST_BYTE_S,
  );
  const unconfirmed = counter('gateway_edge_last_piece_unconfirmed_total', 'Answers ended before a confirmation came', {
    waited_for: ['record', 'release'],
  });
  const unremembered = counter(
    'gateway_edge_answer_memory_failures_total',
    'Requests whose IDs were not looked up, last chunks that did not wait for their IDs to be stored, IDs lost',
    { step: ['look_up', 'remember', 'lost'] },
  );
  const overQuota = counter(
    'gateway_edge_over_quota_total',
    'Tries that were sent without a share of the quota of their source, because no other was left',
    { source: { max: NAMED_SOURCES_MAX }, lack: LACKS },
  );
  const sharesFailed = counter(
    'gateway_edge_quota_share_failures_total',
    'Renewals of shares in the quotas of sources that failed or were late',
  );
  const storesFailed = counter('gateway_edge_usage_store_failures_total', 'Failed tries to store usage events');
  const heartbeatsFailed = counter('gateway_edge_beat_failures_total', 'Beats that were not stored');
  const shed = counter('gateway_edge_calls_shed_total', 'Calls refused at once while the process was overloaded', {
    reason: ['delay', 'memory'],
  });
  const unknownKeys = counter(
    'gateway_edge_unknown_keys_total',
    'Keys of the right form that nobody has, and keys that were not looked up',
    { outcome: ['refused', 'unasked'] },
  );
  const connections = counter(
    'gateway_edge_connections_refused_total',
    'Connections closed at once because their client has as many as it may have',
  );
  return {
    ...makeModelMetrics(),
    unknownKey: (outcome) => unknownKeys.of({ outcome }).add(),
    connectionRefused: () => connections.add(),
    callEnded: (endpoint, status) => calls.of({ endpoint, status: classOf(status) }).add(),
    errorAnswered: (code) => errors.of({ code }).add(),
    attemptEnded: (source, outcome) => attempts.of({ source, outcome }).add(),
    credentialsRefused: () => credentials.add(),
    privateSourceRefused: () => privateSources.add(),
    unpricedServed: () => unpriced.add(),
    costReported(source, { computedNanoUsd, reportedNanoUsd, isRecorded }) {
      if (!isRecorded) return costsIgnored.of({ source }).add();
      reportedCosts.of({ source, cost: 'reported' }).add(reportedNanoUsd / NANO_PER_USD);
      reportedCosts.of({ source, cost: 'computed' }).add(computedNanoUsd / NANO_PER_USD);
    },
    chargedAboveHold: () => aboveHold.add(),
    firstByte: (seconds) => firstByte.observe(seconds),
    lastPieceUnconfirmed: (waited_for) => unconfirmed.of({ waited_for }).add(),
    answerUnremembered: (step) => unremembered.of({ step }).add(),
    sentOverQuota: (source, lack) => overQuota.of({ source, lack }).add(),
    quotaShareFailed: () => sharesFailed.add(),
    storeFailed: () => storesFailed.add(),
    heartbeatFailed: () => heartbeatsFailed.add(),
    callShed: (reason) => shed.of({ reason }).add(),
  };
}

function classOf(status: number | null): (typeof STATUS_CLASSES)[number] {
  if (status === null) return 'none';
  if (status < 400) return '2xx';
  return status < 500 ? '4xx' : '5xx';
}
