import type { UsageRecordView } from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import type { TestResponse } from '../../test/call.js';
import { hasRested } from '../failover/health-watch.js';
import type { ReadHealth } from '../failover/health-watch.js';
import { expectedOfError, retryAfterOf } from './expected-of-error.js';
import { chargeOfShape } from './shape-prices.js';
import type { Charged, TokenKind } from './shape-prices.js';
import type { Shape } from './shape.js';

/** The visible results of one request: for its client, for the operator, and in the ledger. */
export interface Outcome {
  readonly client: string;
  readonly retryAfter: string | null;
  readonly record: object | null;
  readonly health: ShownHealth | string | null;
  /** The error class in the edge's log, and whether the log quotes the provider's message. */
  readonly log: string | null;
}

interface ShownHealth {
  readonly state: string;
  readonly failuresInARow: number;
  readonly restMs: number | null;
}

export interface Seen {
  readonly answer: TestResponse;
  readonly record: UsageRecordView | undefined;
  /** A string says why it was not seen. */
  readonly health: ReadHealth | string | null;
  readonly logged: { readonly class: string; readonly providerText: string | null } | undefined;
}

const COUNT_TOKENS = '/v1/messages/count_tokens';
/**
 * Minimum length of a quotation: this many equal characters are not a coincidence. The log needs
 * fewer, because the edge removes parts of the message.
 */
const QUOTED_CHARS = 20;
const LOGGED_CHARS = 8;
const KINDS: readonly TokenKind[] = ['audioInput', 'imageInput', 'audioOutput', 'imageOutput'];

export function expectedOutcome(shape: Shape): Outcome {
  const { endpoint, expected, isStream } = shape;
  if (expected.refused !== undefined) {
    return { client: `${expected.refused}, our words`, retryAfter: null, record: null, health: null, log: null };
  }
  if (shape.kind !== 'error' && expected.errorClass == null && expected.unusable !== true) {
    const client = isStream ? '200, its events' : '200, its bytes';
    const health = { state: 'healthy', failuresInARow: 0, restMs: null };
    return { client, retryAfter: null, record: recordOf(shape), health, log: null };
  }
  const error = expectedOfError(shape);
  const words = error.repeats || expected.repeats === true ? "the provider's words" : 'our words';
  const { restMs, failuresInARow } = error;
  return {
    client: expected.begun === true ? begun(shape) : `${error.status} ${error.code}, ${words}`,
    retryAfter: expected.begun === true ? null : retryAfterOf(shape),
    record: endpoint === COUNT_TOKENS ? null : { outcome: 'voided', evidence: 'none', tokens: null, charge: 0n },
    health: { state: restMs === null ? 'healthy' : 'cooling', failuresInARow, restMs },
    log: error.isLogged ? `${expected.errorClass}, the provider's words` : null,
  };
}

/**
 * Returns the expected result of a response that had begun. A failed plain response is relayed
 * unchanged if no other source is left.
 */
function begun({ endpoint, isStream }: Shape): string {
  if (!isStream) return '200, its bytes';
  return endpoint === '/v1/responses' ? '200, begun, an error' : '200, begun, an error, cut';
}

function recordOf({ endpoint, expected }: Shape): object | null {
  if (endpoint === COUNT_TOKENS) return null;
  const charged = chargedOf(expected);
  const { units, kinds } = charged;
  const common = { outcome: 'settled', class: charged.class, units, kinds: hasKinds(kinds) ? allKinds(kinds) : null };
  if (typeof expected.output !== 'number')
    return { ...common, evidence: 'estimated', tokens: null, charge: 'by tokens' };
  return { ...common, evidence: 'reported', tokens: shownTokens(charged), charge: chargeOfShape(charged) };
}

function chargedOf(expected: Shape['expected']): Charged {
  const { input, cachedInput, cacheWrite, cacheWrite1h, output, units = {}, kinds = {} } = expected;
  const tokens = {
    input: input ?? 0,
    cachedInput: cachedInput ?? 0,
    cacheWrite: cacheWrite ?? 0,
    cacheWrite1h: cacheWrite1h ?? 0,
    output: output ?? 0,
  };
  return { tokens, class: (expected.class ?? 'standard') as Charged['class'], units, kinds };
}

/** Returns the tokens in the form of the record's view, with all input in one number. */
function shownTokens({ tokens }: Charged): object {
  const { input, cachedInput, cacheWrite, cacheWrite1h, output } = tokens;
  return { input: input + cachedInput + cacheWrite + cacheWrite1h, cachedInput, cacheWrite, cacheWrite1h, output };
}

const hasKinds = (kinds: Charged['kinds']): boolean => Object.values(kinds).some((count) => count > 0);
const allKinds = (kinds: Charged['kinds']): object => Object.fromEntries(KINDS.map((kind) => [kind, kinds[kind] ?? 0]));

export function seenOutcome(shape: Shape, { answer, record, health, logged }: Seen): Outcome {
  const retryAfter = answer.headers['retry-after'];
  return {
    client: clientOf(shape, answer),
    retryAfter: retryAfter === undefined ? null : String(retryAfter),
    record: record === undefined ? null : seenRecord(record),
    health: health === null || typeof health === 'string' ? health : seenHealth(shape, health),
    log:
      logged === undefined
        ? null
        : `${logged.class}, ${quotes(shape.text, logged.providerText ?? '', LOGGED_CHARS) ? "the provider's words" : 'nothing of it'}`,
  };
}

function seenHealth(shape: Shape, health: ReadHealth): ShownHealth {
  const { state, failuresInARow, restsUntil, lastAttemptAt } = health;
  const expected = expectedOutcome(shape).health;
  if (typeof expected !== 'string' && expected !== null && hasRested(health, expected.restMs))
    return { ...expected, failuresInARow };
  const restMs = restsUntil === null ? null : Date.parse(restsUntil) - Date.parse(lastAttemptAt ?? '');
  return { state, failuresInARow, restMs };
}

function seenRecord({ outcome, evidence, tokens, chargedUsd, ...extras }: UsageRecordView): object {
  const charge = parseUsd(chargedUsd);
  if (outcome !== 'settled') return { outcome, evidence, tokens, charge };
  const settled = { outcome, class: extras.class, units: extras.units, kinds: extras.kinds, evidence };
  if (evidence === 'reported') return { ...settled, tokens, charge };
  const { input = 0, cachedInput = 0, cacheWrite = 0, cacheWrite1h = 0, output = 0 } = tokens ?? {};
  const parts = { cachedInput, cacheWrite, cacheWrite1h };
  const estimate = { ...parts, input: input - cachedInput - cacheWrite - cacheWrite1h, output };
  const asRated = chargeOfShape({ tokens: estimate, class: 'standard', units: extras.units ?? {}, kinds: {} });
  return { ...settled, tokens: null, charge: charge === asRated && input > 0 ? 'by tokens' : charge };
}

function clientOf({ text, isStream }: Shape, { status, text: seen, cut }: TestResponse): string {
  if (status !== 200) {
    const { code, message } = (JSON.parse(seen) as { error: { code: string; message: string } }).error;
    return `${status} ${code}, ${quotes(text, message) ? "the provider's words" : 'our words'}`;
  }
  if (!isStream) return seen === text ? '200, its bytes' : '200, other bytes';
  const events = seen.split('\n\n').filter((sseEvent) => sseEvent.trim() !== '');
  const strange = events.filter((sseEvent) => !text.includes(sseEvent));
  if (cut) return '200, begun, an error, cut';
  if (strange.length === 0 && !seen.includes('event: error')) return '200, its events';
  return seen.includes('event: error') ? '200, begun, an error' : `200, other events: ${strange.join()}`;
}

/** Whether a text quotes at least `chars` consecutive characters of the provider's message. */
function quotes(written: string, text: string, chars = QUOTED_CHARS): boolean {
  const flat = unescaped(written);
  const last = Math.max(0, text.length - chars);
  for (let at = 0; at <= last; at += 1) if (flat.includes(text.slice(at, at + chars))) return text !== '';
  return false;
}

function unescaped(written: string): string {
  return `${written}\n${written.replace(/\\(["\\/])/g, '$1').replace(/\\n/g, '\n')}`;
}
