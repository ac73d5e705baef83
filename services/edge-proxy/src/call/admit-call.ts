import { type GatewayError, gatewayError, refusalError } from '@gateway/contracts/errors';
import { digestOfSecret, hasKeyForm } from '@gateway/contracts/ids';
import type { AdmitEntry, AdmittedAnswer, CatalogSource } from '@gateway/contracts/messages';
import type { AdmitOutcome, OpenOutcome, RefusalResult } from '../admission/tick-batch.js';
import { collectReadings } from '../pricing/asks.js';
import { withClassHeaders } from '../pricing/price-facts.js';
import { refuseLimit, acceptsLimit } from '../parse/forward-body.js';
import { applyModelMaximum } from '../parse/output-bound.js';
import {
  BODY_BYTES_MAX,
  type BodyFinding,
  type ParseResult,
  type ParsedCall,
  buildTooLargeFinding,
} from '../parse/parse-call.js';
import { UNOPENED_BODIES } from '../memory/held-bytes.js';
import type { ClientHeaders, RequestBody } from '../ports.js';
import type { Call, Edge, EdgeSettings } from './call.js';
import { checkKeyLookup, recordKeyOutcome, readPresentedKey } from './key-look-up.js';

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

/** Result of admission: the call is admitted, refused with an error, or its client has gone. */
export type Admission =
  | {
      readonly kind: 'admitted';
      readonly answer: AdmittedAnswer;
      readonly parsed: ParsedCall;
      readonly body: RequestBody;
    }
  | { readonly kind: 'error'; readonly error: GatewayError }
  | { readonly kind: 'gone' };

type KeyDigests =
  { readonly kind: 'digests'; readonly digests: string[] } | { readonly kind: 'error'; readonly error: GatewayError };

/** Computes the key's digests, or returns `missing_api_key` or `invalid_api_key`. */
export function computeKeyDigests(headers: ClientHeaders, settings: EdgeSettings): KeyDigests {
  const presented = readPresentedKey(headers);
  if (presented.kind === 'missing')
    return { kind: 'error', error: refusalError('missing_api_key', {}, settings.errors) };
  if (presented.kind === 'ambiguous' || !hasKeyForm(presented.key, settings.keyPrefixes)) {
    return { kind: 'error', error: refusalError('invalid_api_key', {}, settings.errors) };
  }
  const digests = [digestOfSecret(presented.key, settings.pepper.current.reveal())];
  if (settings.pepper.previous) digests.push(digestOfSecret(presented.key, settings.pepper.previous.reveal()));
  return { kind: 'digests', digests };
}

/**
 * Reads the body and requests admission. A small announced body needs one request. For others
 * *open* comes before the body, so that clients without a valid key cannot make the edge read large
 * bodies.
 */
export function admitCall(edge: Edge, call: Call): Promise<Admission> {
  const lookUp = checkKeyLookup(edge, call, call.begunAtMs);
  if (lookUp.kind === 'error') return Promise.resolve(lookUp);
  const { account } = lookUp;
  const announced = call.request.headers.contentLength;
  if (announced !== null && announced > BODY_BYTES_MAX) return admitUnread(edge, call, false);
  const readsFirst = announced !== null && mayReadFirst(announced, account !== null);
  return readsFirst ? readAndAdmit(edge, call, account, false) : openAndAdmit(edge, call);
}

function mayReadFirst(announced: number, isKnown: boolean): boolean {
  if (isKnown) return announced <= BODY_BYTES_BEFORE_ADMIT;
  return announced <= UNKNOWN_BODY_BYTES_BEFORE_ADMIT && UNOPENED_BODIES.fits(announced);
}

async function openAndAdmit(edge: Edge, call: Call): Promise<Admission> {
  const outcome = await edge.admissionClient.open({ id: call.id, digests: call.digests, ...traceFields(call) });
  recordKeyOutcome(edge, call, outcome);
  if (outcome.kind !== 'opened') return { kind: 'error', error: toGatewayError(edge, outcome, null) };
  return readAndAdmit(edge, call, outcome.account, true);
}

async function readAndAdmit(edge: Edge, call: Call, account: string | null, opened: boolean): Promise<Admission> {
  const read = await call.request.readBody(BODY_BYTES_MAX, account);
  switch (read.kind) {
    case 'gone':
      return { kind: 'gone' };
    case 'overload':
      return { kind: 'error', error: gatewayError('admission_error') };
    case 'too_large':
      return admitUnread(edge, call, opened);
    case 'complete':
      return admitBody(edge, call, read.body, opened);
  }
}

/** Frees the body unless the call is admitted. */
async function admitBody(edge: Edge, call: Call, body: RequestBody, opened: boolean): Promise<Admission> {
  let isAdmitted = false;
  try {
    const { contentType, contentEncoding, classHeaders } = call.request.headers;
    const parsing = edge.bodies.parse(call.row, { contentType, contentEncoding }, body);
    const result = resolveModel(edge, parsing instanceof Promise ? await parsing : parsing, classHeaders);
    const outcome = await requestAdmission(
      edge,
      call,
      result.ok ? toBodyQuestion(edge, result.call) : toFindingQuestion(result.finding),
      opened,
    );
    recordKeyOutcome(edge, call, outcome);
    const admission = result.ok
      ? toAdmission(edge, call, outcome, result.call, body)
      : toRefusal(edge, call, outcome, result.finding);
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
function resolveModel(edge: Edge, result: ParseResult, classHeaders: ClientHeaders['classHeaders']): ParseResult {
  if (!result.ok) return result;
  const model = edge.catalog.resolve(result.call.model);
  const named = model === result.call.model ? result.call : { ...result.call, model };
  const call =
    classHeaders.length === 0 ? named : { ...named, priceFacts: withClassHeaders(named.priceFacts, classHeaders) };
  if (call.endlessLimit !== null && findCandidateSources(edge, call).length === 0)
    return refuseLimit(call.endlessLimit);
  return { ok: true, call: applyModelMaximum(call, edge.catalog.model(call.model)) };
}

/** The enabled sources that serve the call's endpoint and accept its limit. */
function findCandidateSources({ catalog }: Edge, { row, model, endlessLimit }: ParsedCall): readonly CatalogSource[] {
  return catalog
    .sourcesOf(model)
    .filter((each) => each.enabled && each.endpoints.includes(row.path) && acceptsLimit(endlessLimit, each));
}

async function admitUnread(edge: Edge, call: Call, opened: boolean): Promise<Admission> {
  const finding = buildTooLargeFinding();
  return toRefusal(edge, call, await requestAdmission(edge, call, toFindingQuestion(finding), opened), finding);
}

function toAdmission(edge: Edge, call: Call, outcome: AdmitOutcome, parsed: ParsedCall, body: RequestBody): Admission {
  if (outcome.kind !== 'admitted') return { kind: 'error', error: toGatewayError(edge, outcome, null) };
  if (!call.request.answer.isGone) {
    body.opened();
    return { kind: 'admitted', answer: outcome, parsed, body };
  }
  releaseVoid(edge, outcome);
  return { kind: 'gone' };
}

function toRefusal(edge: Edge, call: Call, outcome: AdmitOutcome, finding: BodyFinding): Admission {
  if (outcome.kind !== 'admitted') return { kind: 'error', error: toGatewayError(edge, outcome, finding) };
  edge.log.error({ requestId: call.id }, 'a call without an acceptable body was admitted');
  releaseVoid(edge, outcome);
  return { kind: 'error', error: gatewayError('admission_error') };
}

type BodyQuestion = Pick<AdmitEntry, 'model' | 'bounds' | 'bodyRefusal' | 'asks' | 'unpricedField' | 'unpricedName'>;

function toBodyQuestion(edge: Edge, parsed: ParsedCall): BodyQuestion {
  const { model, bounds, priceFacts } = parsed;
  const question = { model, bounds, bodyRefusal: null };
  const { members, tools, hasOddTools } = priceFacts;
  if (members.length === 0 && tools.length === 0 && !hasOddTools) return question;
  return { ...question, ...collectReadings(priceFacts, findCandidateSources(edge, parsed)) };
}

/** Sends the edge's finding to admission, so that one list decides which error comes first. */
function toFindingQuestion({ code }: BodyFinding): BodyQuestion {
  return { model: null, bounds: null, bodyRefusal: code };
}

function requestAdmission(edge: Edge, call: Call, question: BodyQuestion, opened: boolean): Promise<AdmitOutcome> {
  if (edge.deadlines.nowMs() - call.begunAtMs > ID_AGE_MS_MAX) call.id = call.request.renewId();
  const { id, digests, row } = call;
  return edge.admissionClient.admit(
    { id, digests, endpoint: row.path, ...question, opened, ...traceFields(call) },
    row.billed,
  );
}

/** Releases an admission under which nothing was sent. It has no usage record. */
export function releaseVoid(edge: Pick<Edge, 'admissionClient'>, { id, hold, token: tag }: AdmittedAnswer): void {
  if (hold === null) return;
  edge.admissionClient.release({ blind: false, id, hold, tag, outcome: 'void', amountNanoUsd: 0 }, null);
}

function toGatewayError(
  edge: Edge,
  outcome: Exclude<AdmitOutcome | OpenOutcome, { kind: 'admitted' | 'opened' }>,
  finding: BodyFinding | null,
): GatewayError {
  if (outcome.kind === 'fault') return gatewayError(outcome.code);
  return toFindingError(outcome, finding) ?? refusalError(outcome.code, outcome.facts, edge.settings.errors);
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
