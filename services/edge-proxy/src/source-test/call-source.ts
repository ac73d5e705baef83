import { gatewayError } from '@gateway/contracts/errors';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { type PricedVersion, toPriceFigures } from '@gateway/contracts/messages';
import type { SourceTestCall } from '@gateway/contracts/operator';
import { formatUsd, rate } from '@gateway/metering';
import { NO_SPAN } from '@gateway/service-kit';
import type { AttemptOutcome } from '../call/attempt/attempt-judge.js';
import { type AttemptParts, attemptSource } from '../call/attempt/attempt.js';
import { type QuotaParts, countTokens, selectNextSource } from '../call/attempt/select-sources.js';
import type { AdmittedCall } from '../call/call.js';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import type { MeterResult } from '../formats/meter.js';
import { type ParsedCall, parseCall } from '../parse/parse-call.js';
import type {
  Authorizer,
  ClientHeaders,
  ClientResponse,
  DecryptedSource,
  SourceFailure,
  SourceSender,
} from '../ports.js';
import { readPricingForSource } from '../pricing/requested-extras.js';
import { findVersionAt } from '../pricing/charge.js';
import { computeBilledExtras } from '../pricing/served.js';
import { type TestTarget, classifyResult, cleanProviderText } from './test-findings.js';
import { type LimitField, type TestRequest, makeTestBody, wantsOtherLimit } from './test-requests.js';

/** Parts of {@link callSource}. */
export interface TestCallParts extends AttemptParts, QuotaParts {}

/** Results of a test call that are not part of its judgement. */
interface CallNotes {
  failure: SourceFailure | null;
  noCredential: string | null;
  isLate: boolean;
  /** The secrets that the request was authorized with. */
  readonly sent: string[];
}

/**
 * Makes one test call, sent and read exactly like a client's. It has no account: it is not
 * admitted, charged or recorded, and does not change the health of its source. Never rejects.
 * @param untilMs monotonic time limit of the call
 */
export async function callSource(
  parts: TestCallParts,
  opened: DecryptedSource,
  request: TestRequest,
  untilMs: number,
): Promise<SourceTestCall> {
  const startedAtMs = parts.deadlines.nowMs();
  const noted: CallNotes = { failure: null, noCredential: null, isLate: false, sent: secretsOf(opened.headers) };
  const testing = makeTestParts(parts, noted);
  const target = { ...opened, authorizer: opened.authorizer && makeTestAuthorizer(opened.authorizer, noted) };
  const tryWith = (limit: LimitField): Promise<TestAttempt> =>
    attemptWithRetry(testing, target, request, limit, untilMs, noted);
  let done = await tryWith('max_tokens');
  if (wantsOtherLimit(done.tried.judged)) done = await tryWith('max_completion_tokens');
  const { tried, call } = done;
  const { judged, delivery, firstByteMs } = tried;
  delivery?.over?.();
  const meter = judged.outcome === 'completed' ? (delivery?.meter ?? null) : null;
  const found = classifyResult({ judged, meter, ...noted, target: describeTarget(opened, call) });
  const amount = (version: PricedVersion | null): string | null => computeAmount(opened, call.parsed, meter, version);
  const nowMs = parts.clock.nowMs();
  return {
    ...request,
    ...found,
    providerText: cleanProviderText(judged.reported, noted.sent),
    status: judged.status,
    usage: meter?.usage ?? null,
    costUsd: amount(findVersionAt(opened.source.costs, nowMs)),
    priceUsd: amount(findVersionAt(parts.catalog.model(opened.source.model)?.prices ?? [], nowMs)),
    firstByteMs: firstByteMs === null ? null : Math.round(firstByteMs),
    totalMs: Math.round(parts.deadlines.nowMs() - startedAtMs),
  };
}

interface TestAttempt {
  readonly tried: AttemptOutcome;
  readonly call: AdmittedCall;
}

/** Attempts the call, and once more if a client's call would be repeated at the same source. */
async function attemptWithRetry(
  parts: TestCallParts,
  opened: DecryptedSource,
  request: TestRequest,
  limit: LimitField,
  untilMs: number,
  noted: CallNotes,
): Promise<TestAttempt> {
  const first = await tryOnce(parts, opened, request, limit, untilMs, noted, false);
  const { step } = first.tried.judged;
  const isRepeated = step === 'fresh_connection' || step === 'fresh_credential';
  return isRepeated ? tryOnce(parts, opened, request, limit, untilMs, noted, true) : first;
}

async function tryOnce(
  parts: TestCallParts,
  opened: DecryptedSource,
  request: TestRequest,
  limit: LimitField,
  untilMs: number,
  noted: CallNotes,
  freshConnection: boolean,
): Promise<TestAttempt> {
  noted.failure = null;
  const call = callOf(parts, opened, request, limit);
  const deadline = parts.deadlines.at(untilMs, () => {
    noted.isLate = true;
    call.onEnded?.(gatewayError('upstream_timeout'));
  });
  // Counts toward the quotas, but is sent even if they are used up: there is no other source.
  const { permit } = await selectNextSource(parts, call, [{ opened }]);
  const tried = await attemptSource(parts, call, opened, {
    freshConnection,
    isLastSource: false,
    keepsBody: false,
    over: permit.ended,
  });
  permit.counted(countTokens(parts, call, tried));
  deadline.cancel();
  return { tried, call };
}

/** Creates a call without a client, key, account and hold. */
function callOf(
  parts: TestCallParts,
  { source }: DecryptedSource,
  request: TestRequest,
  limit: LimitField,
): AdmittedCall {
  const row = ENDPOINT_TABLE.get(request.endpoint);
  if (row === undefined) throw new Error(`unknown endpoint ${request.endpoint}`);
  const bytes = makeTestBody(request, source.model, limit);
  const parsed = parseCall(row, JSON_BODY, bytes);
  if (!parsed.ok) throw new Error(`the test request is invalid: ${parsed.finding.message}`);
  const id = makeUuidV7(parts.clock.nowMs());
  const answer = new DiscardedResponse();
  const readBody = (): never => {
    throw new Error('a test request already has its body');
  };
  const begunAtMs = parts.deadlines.nowMs();
  return {
    request: { id, renewId: () => id, headers: NO_HEADERS, client: '', query: '', answer, readBody },
    id,
    row,
    digests: [],
    startedAt: parts.clock.nowMs(),
    begunAtMs,
    readyAtMs: begunAtMs,
    span: NO_SPAN,
    admitSpan: NO_SPAN,
    parsed: parsed.call,
    body: { bytes, opened: () => undefined, free: () => undefined },
    deadlineAt: begunAtMs + parts.settings.upstreamDeadlineMs,
    sourceIds: [source.id],
    account: '',
    held: null,
    price: null,
    roomLeft: 0,
    attempts: [],
    sourcesMs: 0,
    reading: null,
    firstByteAt: null,
    ended: null,
    onEnded: null,
  };
}

const JSON_BODY = { contentType: 'application/json', contentEncoding: undefined };

const NO_HEADERS: ClientHeaders = {
  authorization: null,
  hasTwoAuthorizations: false,
  apiKey: null,
  hasTwoApiKeys: false,
  contentType: JSON_BODY.contentType,
  contentEncoding: undefined,
  contentLength: null,
  accept: undefined,
  requestId: undefined,
  traceparent: undefined,
  openaiBeta: undefined,
  anthropicVersion: undefined,
  anthropicBeta: undefined,
  classHeaders: [],
  raw: [],
};

/** Returns the parts for tests: they record failures and leave the metrics of calls unchanged. */
function makeTestParts(parts: TestCallParts, noted: CallNotes): TestCallParts {
  const sources: SourceSender = {
    send: (request, reader) =>
      parts.sources.send(request, {
        sent: () => reader.sent(),
        bodyTaken: (reused) => reader.bodyTaken(reused),
        head: (status, headers) => reader.head(status, headers),
        data: (chunk) => reader.data(chunk),
        end: (openEnded) => reader.end(openEnded),
        failed(failure) {
          noted.failure = failure;
          reader.failed(failure);
        },
      }),
  };
  return {
    ...parts,
    sources,
    metrics: { ...parts.metrics, firstToken: () => undefined, leftBeforeFirstByte: () => undefined },
  };
}

/**
 * Returns an authorizer for tests. A refused token is replaced, as for a client. Of several keys
 * one is tried, and its cooldown does not change.
 */
function makeTestAuthorizer(authorizer: Authorizer, noted: CallNotes): Authorizer {
  const isToken = authorizer.kind === 'token';
  return {
    kind: authorizer.kind,
    headersFor(request) {
      const authorized = authorizer.headersFor(request);
      if (!(authorized instanceof Promise)) {
        noted.sent.push(...secretsOf(authorized.headers));
        return authorized;
      }
      noted.noCredential = 'it did not arrive in time';
      return authorized.then(
        (each) => {
          noted.noCredential = null;
          noted.sent.push(...secretsOf(each.headers));
          return each;
        },
        (err: unknown) => {
          noted.noCredential = err instanceof Error ? err.message : 'the request for it failed';
          throw err;
        },
      );
    },
    mayReplace: (version) => isToken && authorizer.mayReplace(version),
    judged(version, judged, account) {
      if (isToken) authorizer.judged(version, judged, account);
    },
  };
}

/** Returns the values of the headers, also without a `Bearer` prefix. */
function secretsOf(headers: readonly string[]): string[] {
  const values = headers.filter((_, at) => at % 2 === 1);
  return values.flatMap((value) => [value.replace(/^Bearer /, ''), value]);
}

function describeTarget(
  { source, origin, basePath, headers, authorizer }: DecryptedSource,
  { row, parsed }: AdmittedCall,
): TestTarget {
  const streamed = parsed.stream ? source.streamedPaths?.[row.path] : undefined;
  return {
    host: new URL(origin).host,
    path: basePath + (streamed ?? source.paths[row.path] ?? row.path),
    upstreamModel: source.upstreamModel,
    hasCredential: authorizer !== null || headers.includes(headerOf(source.auth)),
    isBilled: row.billed,
  };
}

/** Returns the header that carries the key. Empty if requests are signed or have a token. */
function headerOf(auth: DecryptedSource['source']['auth']): string {
  if (auth.type === 'bearer') return 'authorization';
  return auth.type === 'header' ? auth.header.toLowerCase() : '';
}

/** Returns the cost of the reported usage at a price version, in the class of the response. */
function computeAmount(
  { source }: DecryptedSource,
  { priceFacts, model }: ParsedCall,
  meter: MeterResult | null,
  version: PricedVersion | null,
): string | null {
  if (version === null || meter === null || meter.usage === null) return null;
  const figures = toPriceFigures(version);
  const read = readPricingForSource(source, priceFacts);
  if (read.kind === 'unpriced') return null;
  const sent = { ...read, models: [model, source.upstreamModel] };
  const { served } = computeBilledExtras(source.pricing, sent, meter.reported ?? null, figures.extras);
  return formatUsd(rate(meter.usage, figures, served));
}

/** A response without a client. Accepts all writes and discards them. */
export class DiscardedResponse implements ClientResponse {
  readonly isGone = false;
  hasBegun = false;

  onGone(): void {}
  onDrain(): void {}

  begin(): void {
    this.hasBegun = true;
  }

  write(): boolean {
    return true;
  }

  end(): void {}
  cut(): void {}
  destroy(): void {}

  isSent(): boolean {
    return true;
  }

  watchReading(): void {}
  unwatchReading(): void {}
}
