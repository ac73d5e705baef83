import { gatewayError } from '@gateway/contracts/errors';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { type PricedVersion, figuresOfVersion } from '@gateway/contracts/messages';
import type { SourceTestCall } from '@gateway/contracts/operator';
import { formatUsd, rate } from '@gateway/metering';
import { NO_SPAN } from '@gateway/service-kit';
import { type Tried, attemptSource } from '../call/attempt-source.js';
import type { AdmittedCall, Edge } from '../call/call.js';
import { nextTurn, tokensOf, versionAt } from '../call/source-turns.js';
import { ENDPOINT_TABLE } from '../formats/endpoints.js';
import type { MeterResult } from '../formats/meter.js';
import { readFor } from '../pricing/asks.js';
import { servedOf } from '../pricing/served.js';
import { type ParsedCall, parseCall } from '../parse/parse-call.js';
import type { Authorizer, ClientHeaders, OpenedSource, SourceFailure, SourceSender } from '../ports.js';
import { type TestTarget, findingOf, shownText } from './test-findings.js';
import { type LimitField, type TestRequest, testBody, wantsOtherLimit } from './test-requests.js';
import { UnreadAnswer } from './unread-answer.js';

/** Results of a test call that are not part of its judgement. */
interface Noted {
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
  edge: Edge,
  opened: OpenedSource,
  request: TestRequest,
  untilMs: number,
): Promise<SourceTestCall> {
  const startedAtMs = edge.deadlines.nowMs();
  const noted: Noted = { failure: null, noCredential: null, isLate: false, sent: secretsOf(opened.headers) };
  const testing = quietEdge(edge, noted);
  const target = { ...opened, authorizer: opened.authorizer && quietAuthorizer(opened.authorizer, noted) };
  const tryWith = (limit: LimitField): Promise<TriedCall> => tryTwice(testing, target, request, limit, untilMs, noted);
  let done = await tryWith('max_tokens');
  if (wantsOtherLimit(done.tried.judged)) done = await tryWith('max_completion_tokens');
  const { tried, call } = done;
  const { judged, delivery, firstByteMs } = tried;
  delivery?.over?.();
  const meter = judged.outcome === 'completed' ? (delivery?.meter ?? null) : null;
  const found = findingOf({ judged, meter, ...noted, target: targetOf(opened, call) });
  const amount = (version: PricedVersion | null): string | null => amountOf(opened, call.parsed, meter, version);
  const nowMs = edge.clock.nowMs();
  return {
    ...request,
    ...found,
    providerText: shownText(judged.said, noted.sent),
    status: judged.status,
    usage: meter?.usage ?? null,
    costUsd: amount(versionAt(opened.source.costs, nowMs)),
    priceUsd: amount(versionAt(edge.catalog.model(opened.source.model)?.prices ?? [], nowMs)),
    firstByteMs: firstByteMs === null ? null : Math.round(firstByteMs),
    totalMs: Math.round(edge.deadlines.nowMs() - startedAtMs),
  };
}

interface TriedCall {
  readonly tried: Tried;
  readonly call: AdmittedCall;
}

/** Attempts the call, and once more if a client's call would be repeated at the same source. */
async function tryTwice(
  edge: Edge,
  opened: OpenedSource,
  request: TestRequest,
  limit: LimitField,
  untilMs: number,
  noted: Noted,
): Promise<TriedCall> {
  const first = await tryOnce(edge, opened, request, limit, untilMs, noted, false);
  const { step } = first.tried.judged;
  const isRepeated = step === 'fresh_connection' || step === 'fresh_credential';
  return isRepeated ? tryOnce(edge, opened, request, limit, untilMs, noted, true) : first;
}

async function tryOnce(
  edge: Edge,
  opened: OpenedSource,
  request: TestRequest,
  limit: LimitField,
  untilMs: number,
  noted: Noted,
  freshConnection: boolean,
): Promise<TriedCall> {
  noted.failure = null;
  const call = callOf(edge, opened, request, limit);
  const deadline = edge.deadlines.at(untilMs, () => {
    noted.isLate = true;
    call.onEnded?.(gatewayError('upstream_timeout'));
  });
  // Counts toward the quotas, but is sent even if they are used up: there is no other source.
  const { seat } = await nextTurn(edge, call, [{ opened }]);
  const tried = await attemptSource(edge, call, opened, {
    freshConnection,
    isLastSource: false,
    keepsBody: false,
    over: seat.ended,
  });
  seat.counted(tokensOf(edge, call, tried));
  deadline.cancel();
  return { tried, call };
}

/** Creates a call without a client, key, account and hold. */
function callOf(edge: Edge, { source }: OpenedSource, request: TestRequest, limit: LimitField): AdmittedCall {
  const row = ENDPOINT_TABLE.get(request.endpoint);
  if (row === undefined) throw new Error(`unknown endpoint ${request.endpoint}`);
  const bytes = testBody(request, source.model, limit);
  const parsed = parseCall(row, JSON_BODY, bytes);
  if (!parsed.ok) throw new Error(`the test request is invalid: ${parsed.finding.message}`);
  const id = makeUuidV7(edge.clock.nowMs());
  const answer = new UnreadAnswer();
  const readBody = (): never => {
    throw new Error('a test request already has its body');
  };
  const begunAtMs = edge.deadlines.nowMs();
  return {
    request: { id, renewId: () => id, headers: NO_HEADERS, client: '', query: '', answer, readBody },
    id,
    row,
    digests: [],
    startedAt: edge.clock.nowMs(),
    begunAtMs,
    span: NO_SPAN,
    admitSpan: NO_SPAN,
    parsed: parsed.call,
    body: { bytes, opened: () => undefined, free: () => undefined },
    deadlineAt: begunAtMs + edge.settings.upstreamDeadlineMs,
    sourceIds: [source.id],
    account: '',
    held: null,
    price: null,
    roomLeft: 0,
    attempts: [],
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

/** Returns an edge for tests: it records failures and leaves the metrics of calls unchanged. */
function quietEdge(edge: Edge, noted: Noted): Edge {
  const sources: SourceSender = {
    send: (request, reader) =>
      edge.sources.send(request, {
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
  return { ...edge, sources, metrics: { ...edge.metrics, firstToken: () => undefined } };
}

/**
 * Returns an authorizer for tests. A refused token is replaced, as for a client. Of several keys
 * one is tried, and its cooldown does not change.
 */
function quietAuthorizer(authorizer: Authorizer, noted: Noted): Authorizer {
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

function targetOf(
  { source, origin, basePath, headers, authorizer }: OpenedSource,
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
function headerOf(auth: OpenedSource['source']['auth']): string {
  if (auth.type === 'bearer') return 'authorization';
  return auth.type === 'header' ? auth.header.toLowerCase() : '';
}

/** Returns the cost of the reported usage at a price version, in the class of the response. */
function amountOf(
  { source }: OpenedSource,
  { priceFacts, model }: ParsedCall,
  meter: MeterResult | null,
  version: PricedVersion | null,
): string | null {
  if (version === null || meter === null || meter.usage === null) return null;
  const figures = figuresOfVersion(version);
  const read = readFor(source, priceFacts);
  if (read.kind === 'unpriced') return null;
  const sent = { ...read, models: [model, source.upstreamModel] };
  const { served } = servedOf(source.pricing, sent, meter.said ?? null, figures.extras);
  return formatUsd(rate(meter.usage, figures, served));
}
