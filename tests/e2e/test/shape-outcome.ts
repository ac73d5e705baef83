import type { PriceClass, UsageRecordView } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import type { TestResponse } from './call.js';
import { restMsOf, type ReadHealth } from './source-health.js';
import { chargeOfShape, TOKEN_KINDS, type Charged, type TokenKind } from './shape-prices.js';

/** A recorded provider response, as services/edge-proxy/test/recorded-shapes.ts reads it. */
export interface Shape {
  readonly name: string;
  readonly endpoint: string;
  readonly kind: 'plain' | 'stream' | 'error';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Request fields in addition to the minimal request of the endpoint. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly requestHeaders: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly isStream: boolean;
  readonly expected: {
    /** Input tokens without cache reads and cache writes. */
    readonly input?: number | null;
    readonly cachedInput?: number | null;
    readonly cacheWrite?: number | null;
    readonly cacheWrite1h?: number | null;
    /** Absent if the response does not report its usage. The gateway then estimates the charge. */
    readonly output?: number | null;
    readonly class?: PriceClass | string;
    readonly units?: Readonly<Record<string, number>>;
    readonly kinds?: Partial<Readonly<Record<TokenKind, number>>>;
    readonly errorClass?: string | null;
    /** The wait that the provider requests in a header or in its message. */
    readonly retryAfterMs?: number | null;
    /** The response has status 200 but is not usable. */
    readonly unusable?: boolean;
    /** Status and code if the gateway refuses the request. Then no source is queried. */
    readonly refused?: string;
    /**
     * Whether the client receives the response including its error, because it had begun or the
     * error is final.
     */
    readonly begun?: boolean;
    /** Whether the gateway's message has the provider's words, because tools search for them. */
    readonly repeats?: boolean;
    /** The status that an error inside a response reports. */
    readonly saidStatus?: number;
    readonly names?: string;
    /** Whether no client request can cause this error, whatever model its message names. */
    readonly certain?: boolean;
  };
}

/** The visible results of one request: for its client, for the operator, and in the ledger. */
export interface Outcome {
  readonly client: string;
  readonly retryAfter: string | null;
  readonly record: object | null;
  readonly health: { readonly state: string; readonly failuresInARow: number; readonly restMs: number | null } | null;
  /** The error class in the edge's log, and whether the log quotes the provider's message. */
  readonly log: string | null;
}

/**
 * Minimum length of a quotation: this many equal characters are not a coincidence. The log needs
 * fewer, because the edge removes parts of the message.
 */
const QUOTED_CHARS = 20;
const LOGGED_CHARS = 8;
const COUNT_TOKENS = '/v1/messages/count_tokens';
const COOL_DOWN_MS = 5_000;
const COOL_DOWN_MS_MAX = 600_000;
const COOLED = { restMs: 30_000 };
const FAILED = { isLogged: false, failuresInARow: 1 };

export function expectedOutcome(shape: Shape): Outcome {
  const { endpoint, expected, isStream } = shape;
  const isUnbilled = endpoint === COUNT_TOKENS;
  if (expected.refused !== undefined) {
    return { client: `${expected.refused}, our words`, retryAfter: null, record: null, health: null, log: null };
  }
  if (shape.kind !== 'error' && expected.errorClass == null && expected.unusable !== true) {
    const client = isStream ? '200, its events' : '200, its bytes';
    const health = { state: 'healthy', failuresInARow: 0, restMs: null };
    return { client, retryAfter: null, record: isUnbilled ? null : recordOf(expected), health, log: null };
  }
  const [status, code, more = {}] = expectedError(shape);
  const { repeats = false, isLogged = true, failuresInARow = 0, restMs = null } = more;
  const words = repeats || expected.repeats === true ? "the provider's words" : 'our words';
  // A failed plain response is relayed unchanged if no other source is left.
  const begun = isStream ? `200, begun, an error${endpoint === '/v1/responses' ? '' : ', cut'}` : '200, its bytes';
  return {
    client: expected.begun === true ? begun : `${status} ${code}, ${words}`,
    retryAfter: expected.begun === true ? null : retryAfterOf(shape),
    record: isUnbilled ? null : { outcome: 'voided', evidence: 'none', tokens: null, charge: 0n },
    health: { state: restMs === null ? 'healthy' : 'cooling', failuresInARow, restMs },
    log: isLogged ? `${expected.errorClass}, the provider's words` : null,
  };
}

interface ErrorFacts {
  /** Whether the client receives the provider's message instead of our own. Default: no. */
  readonly repeats?: boolean;
  /** Whether the edge logs the error class and the provider's message. Default: yes. */
  readonly isLogged?: boolean;
  readonly failuresInARow?: number;
  readonly restMs?: number;
}

/** The result when the only source returns an error of a class (docs/behaviour.md#failover). */
function expectedError(shape: Shape): readonly [status: number, code: string, facts?: ErrorFacts] {
  const { name, status, endpoint, expected } = shape;
  const repeats = !endpoint.startsWith('/v1/messages');
  const isBody = status === 400 || status === 422;
  switch (expected.errorClass) {
    case 'body':
      return [400, 'invalid_request', { repeats }];
    case 'content':
      return [400, 'invalid_request', { repeats: repeats && isBody }];
    case 'item':
      return isBody ? [400, 'invalid_request', { repeats }] : [404, 'model_not_found'];
    case 'credential':
      return [status === 403 ? 403 : 401, 'upstream_auth_error', COOLED];
    case 'funds':
      return [403, 'upstream_auth_error', COOLED];
    // A client can cause these, so they count only after three accounts have received them.
    case 'forbidden':
      return [403, 'upstream_auth_error'];
    case 'not_found':
      return [404, 'model_not_found'];
    case 'model':
      return [404, 'model_not_found', expected.names !== undefined || expected.certain === true ? COOLED : {}];
    case 'quota': {
      const seconds = retryAfterOf(shape);
      const restMs = seconds === null ? COOL_DOWN_MS : Math.min(Number(seconds) * 1_000, COOL_DOWN_MS_MAX);
      return [429, 'rate_limit_exceeded', { isLogged: false, restMs }];
    }
    case 'late':
      return [504, 'upstream_timeout', FAILED];
    case 'overload': {
      const said = status === 200 ? expected.saidStatus : status;
      // A 529 from the only source is retried once.
      const failuresInARow = status === 529 ? 2 : 1;
      return [said !== undefined && said >= 500 ? said : 502, 'upstream_error', { ...FAILED, failuresInARow }];
    }
    case undefined:
    case null:
      if (expected.unusable === true) return [502, 'upstream_error', FAILED];
  }
  throw new Error(`${name}: no expected result for this error class`);
}

function retryAfterOf({ expected: { errorClass, retryAfterMs } }: Shape): string | null {
  return errorClass === 'quota' && retryAfterMs != null ? String(Math.ceil(retryAfterMs / 1_000)) : null;
}

function recordOf({ units = {}, kinds = {}, ...expected }: Shape['expected']): object {
  const { input, cachedInput, cacheWrite, cacheWrite1h, output } = expected;
  const inputs = { cachedInput: cachedInput ?? 0, cacheWrite: cacheWrite ?? 0, cacheWrite1h: cacheWrite1h ?? 0 };
  const allInput = Object.values(inputs).reduce((sum, count) => sum + count, input ?? 0);
  const tokens = { input: allInput, ...inputs, output: output ?? 0 };
  const charged: Charged = { tokens, class: (expected.class ?? 'standard') as PriceClass, units, kinds };
  const hasKinds = Object.values(kinds).some((count) => count > 0);
  const allKinds = Object.fromEntries(TOKEN_KINDS.map((kind) => [kind, kinds[kind] ?? 0]));
  const common = { outcome: 'settled', class: charged.class, units, kinds: hasKinds ? allKinds : null };
  if (typeof output !== 'number') return { ...common, evidence: 'estimated', tokens: null, charge: 'by tokens' };
  return { ...common, evidence: 'reported', tokens, charge: chargeOfShape(charged) };
}

export interface Seen {
  readonly answer: TestResponse;
  readonly record: UsageRecordView | undefined;
  readonly health: ReadHealth | undefined;
  readonly logged: { readonly class: string; readonly providerText: string | null } | undefined;
}

export function seenOutcome(shape: Shape, { answer, record, health, logged }: Seen): Outcome {
  const retryAfter = answer.headers['retry-after'];
  const isQuoted = quotes(shape.text, logged?.providerText ?? '', LOGGED_CHARS);
  return {
    client: clientOf(shape, answer),
    retryAfter: retryAfter === undefined ? null : String(retryAfter),
    record: record === undefined ? null : seenRecord(record),
    health: health === undefined ? null : seenHealth(health, expectedOutcome(shape).health?.restMs ?? null),
    log: logged === undefined ? null : `${logged.class}, ${isQuoted ? "the provider's words" : 'nothing of it'}`,
  };
}

function seenHealth(health: ReadHealth, expectedMs: number | null): Outcome['health'] {
  const restMs = restMsOf(health, expectedMs);
  const isOver = restMs !== null && health.restsUntil === null;
  return { state: isOver ? 'cooling' : health.state, failuresInARow: health.failuresInARow, restMs };
}

function seenRecord({ outcome, evidence, tokens, chargedUsd, ...extras }: UsageRecordView): object {
  const charge = parseUsd(chargedUsd);
  if (outcome !== 'settled') return { outcome, evidence, tokens, charge };
  const settled = { outcome, class: extras.class, units: extras.units, kinds: extras.kinds, evidence };
  if (evidence === 'reported') return { ...settled, tokens, charge };
  const none = { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 };
  const estimate = { ...none, ...tokens };
  const rated = chargeOfShape({ tokens: estimate, class: 'standard', units: extras.units ?? {}, kinds: {} });
  return { ...settled, tokens: null, charge: charge === rated && estimate.input > 0 ? 'by tokens' : charge };
}

function clientOf({ text, isStream }: Shape, { status, text: seen, cut }: TestResponse): string {
  if (status !== 200) {
    const { code, message } = (JSON.parse(seen) as { error: { code: string; message: string } }).error;
    return `${status} ${code}, ${quotes(text, message, QUOTED_CHARS) ? "the provider's words" : 'our words'}`;
  }
  if (!isStream) return seen === text ? '200, its bytes' : '200, other bytes';
  if (cut) return '200, begun, an error, cut';
  if (seen.includes('event: error')) return '200, begun, an error';
  const strange = seen.split('\n\n').filter((sseEvent) => !text.includes(sseEvent));
  return strange.length === 0 ? '200, its events' : `200, other events: ${strange.join()}`;
}

/** Whether a text quotes at least `chars` consecutive characters of the provider's message. */
function quotes(written: string, text: string, chars: number): boolean {
  const flat = `${written}\n${written.replace(/\\(["\\/])/g, '$1').replace(/\\n/g, '\n')}`;
  const last = Math.max(0, text.length - chars);
  for (let at = 0; at <= last; at += 1) if (flat.includes(text.slice(at, at + chars))) return text !== '';
  return false;
}
