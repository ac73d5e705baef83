import { ERROR_CATALOGUE, type ErrorCode } from '@gateway/contracts/errors';
import { ENDPOINTS, type Endpoint } from '@gateway/contracts/messages';
import type { TokenUsage } from '@gateway/metering';
import { type Histogram, counter, histogram } from '@gateway/service-kit';
import type { EndpointSpec } from '../formats/endpoints.js';
import type { LoadReason } from '../load/watch-load.js';
import type { CallEnd } from '../pricing/charge.js';
import type { StoredIdFailure } from '../stored-ids/remembered-answers.js';
import { type CatalogMetrics, type NamingCatalog, makeCatalogMetrics } from './catalog-metrics.js';

const STATUS_CLASSES = ['2xx', '4xx', '5xx', 'none'] as const;
const TIME_TO_FIRST_BYTE_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600];
/** Bounds on both sides of the times after which usual proxies cut a silent request. */
const LEFT_S = [1, 10, 29, 31, 59, 61, 99, 102, 119, 121, 299, 302, 349, 352];
const ERROR_CODES = Object.keys(ERROR_CATALOGUE) as ErrorCode[];

/** The edge's metrics. Labels come from fixed lists and the catalog, never from client input. */
export interface EdgeMetrics extends ModelMetrics, CatalogMetrics {
  /** `status` null: the client received no status. */
  callEnded(endpoint: Endpoint, status: number | null): void;
  errorAnswered(code: ErrorCode): void;
  /** A provider refused the gateway's own credentials or account. An operator must act. */
  credentialsRefused(): void;
  /** No connection was made because the source's address is private. */
  privateSourceRefused(): void;
  /** A provider reported a class or tool uses without a price. */
  unpricedServed(): void;
  /** A call cost more than its hold. The difference may become debt. */
  chargedAboveHold(): void;
  firstByte(seconds: number): void;
  /** A client left an admitted call before its first byte, `seconds` after the call's arrival. */
  leftBeforeFirstByte(seconds: number): void;
  /** The last chunk was sent before the record was acknowledged or the release was answered. */
  lastPieceUnconfirmed(waitedFor: 'record' | 'release'): void;
  /** The shared store of response IDs did not store or return IDs in time. */
  answerUnremembered(what: StoredIdFailure): void;
  /** A share of a source's quotas was not renewed. */
  quotaShareFailed(): void;
  storeFailed(): void;
  heartbeatFailed(): void;
  /** A call was refused at once because the process is overloaded. */
  callShed(reason: LoadReason): void;
  /**
   * A client presented an unknown key, or a key that was not looked up because its network
   * presented too many unknown ones.
   */
  unknownKey(outcome: 'refused' | 'not_looked_up'): void;
  /** A connection was closed at once because its client has reached its limit. */
  connectionRefused(): void;
}

/** @param catalog decides which models and sources have their own series */
export function makeEdgeMetrics(catalog: NamingCatalog): EdgeMetrics {
  const calls = counter('gateway_edge_requests_total', 'Requests to model endpoints by status class', {
    endpoint: ENDPOINTS,
    status: STATUS_CLASSES,
  });
  const errors = counter('gateway_edge_errors_total', 'Error responses by code', { code: ERROR_CODES });
  const credentials = counter(
    'gateway_edge_credentials_refused_total',
    "Responses of providers that refuse the gateway's own credentials or account",
  );
  const privateSources = counter(
    'gateway_edge_private_sources_refused_total',
    'Attempts refused because the address of the source is private',
  );
  const unpriced = counter(
    'gateway_edge_unpriced_responses_total',
    'Responses that report a class or tool uses without a price',
  );
  const aboveHold = counter('gateway_edge_charges_above_hold_total', 'Requests that cost more than their hold');
  const firstByte = histogram(
    'gateway_edge_time_to_first_byte_seconds',
    'Time from the request to the first byte of a successful response',
    TIME_TO_FIRST_BYTE_S,
  );
  const leftEarly = histogram(
    'gateway_edge_left_before_first_byte_seconds',
    'Time from the request until its client left, of clients that left before the first byte',
    LEFT_S,
  );
  const unconfirmed = counter(
    'gateway_edge_last_chunk_unconfirmed_total',
    'Responses that ended before a confirmation arrived',
    { waited_for: ['record', 'release'] },
  );
  const unremembered = counter(
    'gateway_edge_response_id_failures_total',
    'Requests whose IDs were not looked up, last chunks that did not wait for their IDs to be stored, IDs lost',
    { step: ['lookup', 'store', 'lost'] },
  );
  const sharesFailed = counter(
    'gateway_edge_quota_share_failures_total',
    'Renewals of quota shares that failed or were late',
  );
  const storesFailed = counter('gateway_edge_usage_store_failures_total', 'Failed attempts to store usage events');
  const heartbeatsFailed = counter('gateway_edge_heartbeat_failures_total', 'Heartbeats that were not stored');
  const shed = counter(
    'gateway_edge_requests_shed_total',
    'Requests refused at once while the process was overloaded',
    { reason: ['delay', 'memory'] },
  );
  const unknownKeys = counter(
    'gateway_edge_unknown_keys_total',
    'Well-formed unknown keys, and keys that were not looked up',
    { outcome: ['refused', 'not_looked_up'] },
  );
  const connections = counter(
    'gateway_edge_connections_refused_total',
    'Connections closed at once because their client has reached its limit',
  );
  return {
    ...makeModelMetrics(),
    ...makeCatalogMetrics(catalog),
    unknownKey: (outcome) => unknownKeys.of({ outcome }).add(),
    connectionRefused: () => connections.add(),
    callEnded: (endpoint, status) => calls.of({ endpoint, status: toStatusClass(status) }).add(),
    errorAnswered: (code) => errors.of({ code }).add(),
    credentialsRefused: () => credentials.add(),
    privateSourceRefused: () => privateSources.add(),
    unpricedServed: () => unpriced.add(),
    chargedAboveHold: () => aboveHold.add(),
    firstByte: (seconds) => firstByte.observe(seconds),
    leftBeforeFirstByte: (seconds) => leftEarly.observe(seconds),
    lastPieceUnconfirmed: (waited_for) => unconfirmed.of({ waited_for }).add(),
    answerUnremembered: (step) => unremembered.of({ step }).add(),
    quotaShareFailed: () => sharesFailed.add(),
    storeFailed: () => storesFailed.add(),
    heartbeatFailed: () => heartbeatsFailed.add(),
    callShed: (reason) => shed.of({ reason }).add(),
  };
}

function toStatusClass(status: number | null): (typeof STATUS_CLASSES)[number] {
  if (status === null) return 'none';
  if (status < 400) return '2xx';
  return status < 500 ? '4xx' : '5xx';
}

/** Names, labels and buckets follow the semantic conventions for generative AI. */
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];
const DURATION_S = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36,
];
const FIRST_TOKEN_S = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60];

/** A complete response has an empty label, which Prometheus treats as absent. */
const ERROR_TYPES = {
  complete: '',
  cut: 'cut',
  failed: 'failed',
  client_disconnected: 'client_disconnected',
} as const satisfies Record<CallEnd, string>;

/**
 * Metrics of model usage in the names of the semantic conventions. Models and providers are labels
 * of {@link CatalogMetrics} only: their number times these buckets would be too many series.
 */
export interface ModelMetrics {
  /** An admitted call has ended. `seconds`: since its arrival. `usage` null: not reported. */
  operationEnded(row: EndpointSpec, ended: CallEnd, seconds: number, usage: TokenUsage | null): void;
  /** The first generated text of a stream has arrived, `seconds` after the call. */
  firstToken(row: EndpointSpec, seconds: number): void;
}

/** The series of one operation that are in use. */
interface OperationCells {
  readonly ends: Partial<Record<CallEnd, Histogram>>;
  input?: Histogram;
  output?: Histogram;
  firstToken?: Histogram;
}

export function makeModelMetrics(): ModelMetrics {
  const operation = { gen_ai_operation_name: OPERATIONS } as const;
  const tokens = histogram('gen_ai_client_token_usage', 'Tokens of a call as its provider counted them', TOKENS, {
    ...operation,
    gen_ai_token_type: ['input', 'output'],
  });
  const durations = histogram(
    'gen_ai_client_operation_duration_seconds',
    'Time from the arrival of an admitted call to the end of its response',
    DURATION_S,
    { ...operation, error_type: Object.values(ERROR_TYPES) },
  );
  const firstTokens = histogram(
    'gen_ai_server_time_to_first_token_seconds',
    'Time from the arrival of a streamed call to its first generated text',
    FIRST_TOKEN_S,
    operation,
  );
  // Kept, so that a call does not allocate labels.
  const cells: Partial<Record<Operation, OperationCells>> = {};
  const cellsOf = (name: Operation): OperationCells => (cells[name] ??= { ends: {} });
  return {
    operationEnded(row, ended, seconds, usage) {
      const gen_ai_operation_name = toOperationName(row);
      const of = cellsOf(gen_ai_operation_name);
      (of.ends[ended] ??= durations.of({ gen_ai_operation_name, error_type: ERROR_TYPES[ended] })).observe(seconds);
      if (usage === null) return;
      (of.input ??= tokens.of({ gen_ai_operation_name, gen_ai_token_type: 'input' })).observe(usage.input);
      (of.output ??= tokens.of({ gen_ai_operation_name, gen_ai_token_type: 'output' })).observe(usage.output);
    },
    firstToken(row, seconds) {
      const gen_ai_operation_name = toOperationName(row);
      (cellsOf(gen_ai_operation_name).firstToken ??= firstTokens.of({ gen_ai_operation_name })).observe(seconds);
    },
  };
}

/**
 * Operation names of the semantic conventions for generative AI. The conventions have no name for
 * token counting.
 */
export const OPERATIONS = ['chat', 'text_completion', 'embeddings', 'count_tokens'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Returns the operation name of an endpoint. */
export function toOperationName({ kind, format }: Pick<EndpointSpec, 'kind' | 'format'>): Operation {
  if (kind === 'embedding') return 'embeddings';
  if (format === 'token_count') return 'count_tokens';
  return format === 'completion' ? 'text_completion' : 'chat';
}
