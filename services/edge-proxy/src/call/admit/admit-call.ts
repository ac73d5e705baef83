import { type GatewayError, gatewayError, refusalError } from '@gateway/contracts/errors';
import type { AdmitEntry, AdmittedAnswer, CatalogSource } from '@gateway/contracts/messages';
import { type Logger, NO_SPAN } from '@gateway/service-kit';
import type { AdmissionClient } from '../../admission/admission-client.js';
import type { AdmitOutcome, OpenOutcome, RefusalResult } from '../../admission/tick-batch.js';
import type { AbortReason, CallWithHold, RunningCalls } from '../../heartbeats/running-calls.js';
import { UNAUTHENTICATED_BODIES } from '../../memory/held-bytes.js';
import { refuseLimit, acceptsLimit } from '../../parse/forward-body.js';
import { applyModelMaximum } from '../../parse/output-bound.js';
import {
  BODY_BYTES_MAX,
  type BodyFinding,
  type ParseResult,
  type ParsedCall,
  buildTooLargeFinding,
} from '../../parse/parse-call.js';
import type { BodyParser, Catalog, ClientHeaders, RequestBody } from '../../ports.js';
import { collectReadings } from '../../pricing/requested-extras.js';
import { withClassHeaders } from '../../pricing/price-facts.js';
import type { AdmittedCall, Call, EdgeSettings } from '../call.js';
import type { Deadlines } from '../deadlines.js';
import { type KeyLookupParts, checkKeyLookup, recordKeyOutcome } from './key-lookup.js';

/**
 * Largest announced body that is read before the first request to admission
 * (docs/behaviour.md#order-of-refusals), for keys that admission has confirmed recently and for all
 * others.
 */
const BODY_BYTES_BEFORE_ADMIT = 256 * 1024;
const UNKNOWN_BODY_BYTES_BEFORE_ADMIT = 16 * 1024;

/**
 * Age after which the call gets a new ID. Admission rejects IDs that differ more than 30 s from its
 * time, and a body may arrive slowly.
 */
const ID_AGE_MS_MAX = 15_000;

/** Parts of {@link admitCall}. */
export interface AdmitParts extends KeyLookupParts {
  readonly settings: Pick<EdgeSettings, 'errors' | 'upstreamDeadlineMs'>;
  readonly admissionClient: Pick<AdmissionClient, 'open' | 'admit' | 'release'>;
  readonly bodies: BodyParser;
  readonly catalog: Pick<Catalog, 'resolve' | 'model' | 'sourcesOf'>;
  readonly running: Pick<RunningCalls, 'add'>;
  readonly deadlines: Pick<Deadlines, 'nowMs'>;
  readonly log: Logger;
}

/** Result of admission: the call is admitted, refused with an error, or its client has gone. */
export type Admission =
  | { readonly kind: 'admitted'; readonly call: AdmittedCall }
  | { readonly kind: 'error'; readonly error: GatewayError }
  | { readonly kind: 'gone' };

/** Requests admission for a call. Every heartbeat lists an admitted call with a hold. */
export function admitCall(parts: AdmitParts, call: Call): Promise<Admission> {
  return call.admitSpan === NO_SPAN ? readAndRequest(parts, call) : admitTraced(parts, call);
}

async function admitTraced(parts: AdmitParts, call: Call): Promise<Admission> {
  const { span, admitSpan } = call;
  try {
    const admission = await readAndRequest(parts, call);
    admitSpan.set({ 'gateway.admission': admission.kind });
    if (admission.kind === 'error') admitSpan.set({ 'gateway.error.code': admission.error.code });
    if (admission.kind === 'admitted') span.set({ 'gen_ai.request.model': admission.call.parsed.model });
    return admission;
  } finally {
    admitSpan.end();
  }
}

/**
 * Reads the body and requests admission. A small announced body needs one request. For others
 * *open* comes before the body, so that clients without a valid key cannot make the edge read large
 * bodies.
 */
function readAndRequest(parts: AdmitParts, call: Call): Promise<Admission> {
  const lookUp = checkKeyLookup(parts, call, call.begunAtMs);
  if (lookUp.kind === 'error') return Promise.resolve(lookUp);
  const { account } = lookUp;
  const announced = call.request.headers.contentLength;
  if (announced !== null && announced > BODY_BYTES_MAX) return admitUnread(parts, call, false);
  const readsFirst = announced !== null && mayReadFirst(announced, account !== null);
  return readsFirst ? readAndAdmit(parts, call, account, false) : openAndAdmit(parts, call);
}

function mayReadFirst(announced: number, isKnown: boolean): boolean {
  if (isKnown) return announced <= BODY_BYTES_BEFORE_ADMIT;
  return announced <= UNKNOWN_BODY_BYTES_BEFORE_ADMIT && UNAUTHENTICATED_BODIES.fits(announced);
}

async function openAndAdmit(parts: AdmitParts, call: Call): Promise<Admission> {
  const outcome = await parts.admissionClient.open({ id: call.id, digests: call.digests, ...traceFields(call) });
  recordKeyOutcome(parts, call, outcome);
  if (outcome.kind !== 'opened') return { kind: 'error', error: toGatewayError(parts, outcome, null) };
  return readAndAdmit(parts, call, outcome.account, true);
}

async function readAndAdmit(
  parts: AdmitParts,
  call: Call,
  account: string | null,
  opened: boolean,
): Promise<Admission> {
  const read = await call.request.readBody(BODY_BYTES_MAX, account);
  switch (read.kind) {
    case 'gone':
      return { kind: 'gone' };
    case 'overload':
      return { kind: 'error', error: gatewayError('admission_error') };
    case 'too_large':
      return admitUnread(parts, call, opened);
    case 'complete':
      call.readyAtMs = parts.deadlines.nowMs();
      return admitBody(parts, call, read.body, opened);
  }
}

/** Frees the body unless the call is admitted. */
async function admitBody(parts: AdmitParts, call: Call, body: RequestBody, opened: boolean): Promise<Admission> {
  let isAdmitted = false;
  try {
    const { contentType, contentEncoding, classHeaders } = call.request.headers;
    const parsing = parts.bodies.parse(call.row, { contentType, contentEncoding }, body);
    const result = resolveModel(parts, parsing instanceof Promise ? await parsing : parsing, classHeaders);
    const outcome = await requestAdmission(
      parts,
      call,
      result.ok ? toBodyQuestion(parts, result.call) : toFindingQuestion(result.finding),
      opened,
    );
    recordKeyOutcome(parts, call, outcome);
    const admission = result.ok
      ? toAdmission(parts, call, outcome, result.call, body)
      : toRefusal(parts, call, outcome, result.finding);
    isAdmitted = admission.kind === 'admitted';
    return admission;
  } finally {
    if (!isAdmitted) body.free();
  }
}

/**
 * Replaces an alias by the catalog ID, and a missing bound by the model's. Refuses an endless limit
 * if no source of the model accepts it.
 */
function resolveModel(
  parts: AdmitParts,
  result: ParseResult,
  classHeaders: ClientHeaders['classHeaders'],
): ParseResult {
  if (!result.ok) return result;
  const model = parts.catalog.resolve(result.call.model);
  const named = model === result.call.model ? result.call : { ...result.call, model };
  const call =
    classHeaders.length === 0 ? named : { ...named, priceFacts: withClassHeaders(named.priceFacts, classHeaders) };
  if (call.endlessLimit !== null && findCandidateSources(parts, call).length === 0)
    return refuseLimit(call.endlessLimit);
  return { ok: true, call: applyModelMaximum(call, parts.catalog.model(call.model)) };
}

/** The enabled sources that serve the call's endpoint and accept its limit. */
function findCandidateSources(
  { catalog }: AdmitParts,
  { row, model, endlessLimit }: ParsedCall,
): readonly CatalogSource[] {
  return catalog
    .sourcesOf(model)
    .filter((each) => each.enabled && each.endpoints.includes(row.path) && acceptsLimit(endlessLimit, each));
}

async function admitUnread(parts: AdmitParts, call: Call, opened: boolean): Promise<Admission> {
  const finding = buildTooLargeFinding();
  return toRefusal(parts, call, await requestAdmission(parts, call, toFindingQuestion(finding), opened), finding);
}

function toAdmission(
  parts: AdmitParts,
  call: Call,
  outcome: AdmitOutcome,
  parsed: ParsedCall,
  body: RequestBody,
): Admission {
  if (outcome.kind !== 'admitted') return { kind: 'error', error: toGatewayError(parts, outcome, null) };
  if (call.request.answer.isGone) {
    releaseVoid(parts, outcome);
    return { kind: 'gone' };
  }
  body.opened();
  const admitted = toAdmittedCall(parts, call, outcome, parsed, body);
  if (admitted.held !== null) parts.running.add(admitted.held);
  return { kind: 'admitted', call: admitted };
}

function toAdmittedCall(
  parts: AdmitParts,
  call: Call,
  { account, hold, price, bucket, epoch, sources, roomLeft = 0 }: AdmittedAnswer,
  parsed: ParsedCall,
  body: RequestBody,
): AdmittedCall {
  const held: CallWithHold | null =
    hold === null
      ? null
      : {
          id: call.id,
          endpoint: call.row.path,
          hold,
          bucket,
          callEpoch: epoch,
          abort: (why) => endFromOutside(admitted, why),
        };
  const admitted: AdmittedCall = {
    request: call.request,
    id: call.id,
    row: call.row,
    digests: call.digests,
    startedAt: call.startedAt,
    begunAtMs: call.begunAtMs,
    readyAtMs: call.readyAtMs,
    span: call.span,
    admitSpan: call.admitSpan,
    parsed,
    body,
    deadlineAt: parts.deadlines.nowMs() + parts.settings.upstreamDeadlineMs,
    sourceIds: sources,
    account,
    held,
    price,
    roomLeft,
    attempts: [],
    sourcesMs: 0,
    reading: null,
    firstByteAt: null,
    ended: null,
    onEnded: null,
  };
  return admitted;
}

function endFromOutside(call: AdmittedCall, why: AbortReason): void {
  const error =
    why === 'admission'
      ? gatewayError(
          'account_suspended',
          'This call was ended: the account is suspended, or an operator took its slot.',
        )
      : gatewayError('admission_error', 'The gateway was stopped before this answer was complete. Try again.');
  call.ended ??= error;
  call.onEnded?.(error);
}

function toRefusal(parts: AdmitParts, call: Call, outcome: AdmitOutcome, finding: BodyFinding): Admission {
  if (outcome.kind !== 'admitted') return { kind: 'error', error: toGatewayError(parts, outcome, finding) };
  parts.log.error({ requestId: call.id }, 'a request without an acceptable body was admitted');
  releaseVoid(parts, outcome);
  return { kind: 'error', error: gatewayError('admission_error') };
}

type BodyQuestion = Pick<
  AdmitEntry,
  'model' | 'bounds' | 'bodyRefusal' | 'requestedExtras' | 'unpricedField' | 'unpricedName'
>;

function toBodyQuestion(parts: AdmitParts, parsed: ParsedCall): BodyQuestion {
  const { model, bounds, priceFacts } = parsed;
  const question = { model, bounds, bodyRefusal: null };
  const { members, tools, hasOddTools } = priceFacts;
  if (members.length === 0 && tools.length === 0 && !hasOddTools) return question;
  return { ...question, ...collectReadings(priceFacts, findCandidateSources(parts, parsed)) };
}

/** Sends the edge's finding to admission, so that one list decides which error comes first. */
function toFindingQuestion({ code }: BodyFinding): BodyQuestion {
  return { model: null, bounds: null, bodyRefusal: code };
}

function requestAdmission(
  parts: AdmitParts,
  call: Call,
  question: BodyQuestion,
  opened: boolean,
): Promise<AdmitOutcome> {
  if (parts.deadlines.nowMs() - call.begunAtMs > ID_AGE_MS_MAX) call.id = call.request.renewId();
  const { id, digests, row } = call;
  return parts.admissionClient.admit(
    { id, digests, endpoint: row.path, ...question, opened, ...traceFields(call) },
    row.billed,
  );
}

/** Releases an admission without a sent request. It has no usage record. */
function releaseVoid(parts: AdmitParts, { id, hold, epoch: callEpoch }: AdmittedAnswer): void {
  if (hold === null) return;
  parts.admissionClient.release({ blind: false, id, hold, callEpoch, outcome: 'void', amountNanoUsd: 0 }, null);
}

function toGatewayError(
  parts: AdmitParts,
  outcome: Exclude<AdmitOutcome | OpenOutcome, { kind: 'admitted' | 'opened' }>,
  finding: BodyFinding | null,
): GatewayError {
  if (outcome.kind === 'fault') return gatewayError(outcome.code);
  return toFindingError(outcome, finding) ?? refusalError(outcome.code, outcome.facts, parts.settings.errors);
}

/** Returns the edge's own error for a refused body. Admission only knows the code. */
function toFindingError({ code }: RefusalResult, finding: BodyFinding | null): GatewayError | null {
  if (finding === null || finding.code !== code) return null;
  return gatewayError(finding.code, finding.message, { param: finding.param });
}

function traceFields({ admitSpan: { traceparent } }: Call): { traceparent?: string } {
  return traceparent === undefined ? NO_TRACE : { traceparent };
}

const NO_TRACE = {};
