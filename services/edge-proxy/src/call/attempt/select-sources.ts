import { type GatewayError, gatewayError, refusalError } from '@gateway/contracts/errors';
import { toPriceFigures } from '@gateway/contracts/messages';
import { estimateUsage } from '@gateway/metering';
import type { Clock } from '@gateway/service-kit';
import type { SourceHealths } from '../../health/source-healths.js';
import { type AffinityKey, affinityKey, findSessionId } from '../../parse/affinity.js';
import { acceptsLimit } from '../../parse/forward-body.js';
import type { Catalog, DecryptedSource } from '../../ports.js';
import { type UnpricedPart, applyPrice, readPricingForSource } from '../../pricing/requested-extras.js';
import { NO_PERMIT, type SourceChoice, type SourceQuotas } from '../../quotas/source-quotas.js';
import { allowSources, checksIds, formatNotFound, listIdsToLookUp } from '../../sources/named-sources.js';
import { orderSources } from '../../sources/source-order.js';
import { NAMED_IDS_MAX } from '../../stored-ids/answer-names.js';
import type { StoredIdCache } from '../../stored-ids/remembered-answers.js';
import { type AdmittedCall, type EdgeSettings, type SourceReading, computeBoundFigures } from '../call.js';
import type { AttemptOutcome } from './attempt-judge.js';

/** Parts of {@link selectSources}. */
export interface SelectParts {
  readonly settings: Pick<EdgeSettings, 'errors'>;
  readonly catalog: Pick<Catalog, 'source'>;
  readonly health: Pick<SourceHealths, 'rank'>;
  readonly answers: Pick<StoredIdCache, 'sourcesOf'>;
  readonly clock: Clock;
}

/** Parts of {@link selectNextSource} and {@link countTokens}. */
export interface QuotaParts {
  readonly catalog: Pick<Catalog, 'model' | 'sourcesOf'>;
  readonly quotas: Pick<SourceQuotas, 'next'>;
}

/** A source that can get the request, and how it reads the request. */
export interface SourceCandidate {
  readonly opened: DecryptedSource;
  readonly reading: SourceReading;
  readonly freshConnection: boolean;
}

/**
 * Selects the sources that can get the request, in the order in which they are tried. Returns an
 * error if the request names unknown objects, or if it has a part that no source has a price for.
 */
export function selectSources(
  parts: SelectParts,
  call: AdmittedCall,
): SourceCandidate[] | GatewayError | Promise<SourceCandidate[] | GatewayError> {
  const known = call.sourceIds.flatMap((id) => parts.catalog.source(id) ?? []);
  if (call.parsed.answers.named.length === 0) return selectPricedSources(parts, call, known);
  return selectSourcesByIds(parts, call, known).then((allowed) =>
    'code' in allowed ? allowed : selectPricedSources(parts, call, allowed),
  );
}

const UNREADABLE_TEXT = 'The IDs in the request could not be looked up. Try again.';
const NOTHING_KNOWN: ReadonlyMap<string, string> = new Map();

/** The part of a call that {@link selectSourcesByIds} reads. */
interface NamingCall extends Pick<AdmittedCall, 'account'> {
  readonly parsed: Pick<AdmittedCall['parsed'], 'answers'>;
}

/**
 * Filters the sources that may get a call which names stored objects. Returns an error if no source
 * may, or if the lookup failed (docs/behaviour.md#stored-objects).
 */
export async function selectSourcesByIds(
  { answers }: Pick<SelectParts, 'answers'>,
  { account, parsed }: NamingCall,
  known: readonly DecryptedSource[],
): Promise<readonly DecryptedSource[] | GatewayError> {
  const { named } = parsed.answers;
  const sources = known.map(({ source }) => source);
  const isChecked = sources.some(checksIds);
  if (!isChecked && (sources.length < 2 || sources.every(({ keepsState }) => keepsState === false))) return known;
  const ids = named.length > NAMED_IDS_MAX ? [] : listIdsToLookUp(named);
  const found = ids.length === 0 ? NOTHING_KNOWN : await answers.sourcesOf(account, ids);
  if (found === null) return isChecked ? gatewayError('lookup_failed', UNREADABLE_TEXT) : known;
  const result = allowSources(sources, named, found);
  if (result.kind === 'allowed') return known.filter(({ source }) => result.ids.has(source.id));
  const { foreign } = result;
  if (foreign !== null) return gatewayError('invalid_request', formatNotFound(foreign), { param: foreign.param });
  const text = `The request names more than ${NAMED_IDS_MAX} stored objects.`;
  return gatewayError('invalid_request', text, { param: named.at(-1)?.param ?? null });
}

/**
 * Selects the sources whose version that admission pinned has a price for the class and tools of
 * the request. If there is none, the error names the part that the first source has no price for.
 */
function selectPricedSources(
  parts: SelectParts,
  call: AdmittedCall,
  known: readonly DecryptedSource[],
): SourceCandidate[] | GatewayError {
  const { parsed, price } = call;
  const extras = price === null ? null : toPriceFigures(price).extras;
  const priced: SourceCandidate[] = [];
  let unpriced: UnpricedPart | null = null;
  for (const opened of known) {
    if (!acceptsLimit(parsed.endlessLimit, opened.source)) continue;
    const rules = opened.source.pricing;
    const reading = readPricingForSource(opened.source, parsed.priceFacts);
    const read = reading.kind === 'unpriced' ? reading : applyPrice(reading, extras);
    if ('once' in read) priced.push({ opened, reading: { rules, read }, freshConnection: false });
    else unpriced ??= read;
  }
  if (priced.length > 0 || unpriced === null) return orderCandidates(parts, call, priced);
  const facts = { model: parsed.model, field: unpriced.field, unpriced: unpriced.name };
  return refusalError('model_not_priced', facts, parts.settings.errors);
}

function orderCandidates(
  { clock, health }: SelectParts,
  call: AdmittedCall,
  priced: SourceCandidate[],
): SourceCandidate[] {
  if (priced.length < 2) return priced;
  const byId = new Map(priced.map((each) => [each.opened.source.id, each]));
  const sources = priced.map(({ opened }) => opened.source);
  const nowMs = clock.nowMs();
  const rankOf = (source: string): number => health.rank(source, nowMs);
  return orderSources(sources, rankOf, () => computeAffinityKey(call)).flatMap(({ id }) => byId.get(id) ?? []);
}

/** Computes the affinity key. Must run before a source has the body, which may be freed later. */
function computeAffinityKey({ account, body, parsed, request }: AdmittedCall): AffinityKey {
  const { kind, spans } = parsed.affinity;
  const session = kind === 'cache_key' ? null : findSessionId(request.headers.raw);
  if (session === null) return affinityKey(account, body?.bytes ?? NO_BYTES, body === null ? [] : spans);
  const bytes = Buffer.from(session, 'latin1');
  return affinityKey(account, bytes, [{ start: 0, end: bytes.length }]);
}

const NO_BYTES = new Uint8Array(0);

const FIRST: SourceChoice = { at: 0, permit: NO_PERMIT };

/**
 * Selects the next source: the first one, unless the edge has no share of its quotas left and
 * another source has one.
 */
export function selectNextSource(
  parts: QuotaParts,
  call: AdmittedCall,
  left: readonly { readonly opened: DecryptedSource }[],
): SourceChoice | Promise<SourceChoice> {
  if (left[0]?.opened.source.quota === undefined) return FIRST;
  const sources = left.map(({ opened }) => opened.source);
  return parts.quotas.next(sources, () => estimateTokens(parts, call, 0));
}

/** Tokens that the provider counted for an attempt, estimated if not reported. */
export function countTokens(parts: QuotaParts, call: AdmittedCall, { judged, delivery }: AttemptOutcome): number {
  const meter = delivery?.meter ?? null;
  if (meter?.usage != null) return meter.usage.input + meter.usage.output;
  if (meter === null && !judged.possiblyPaid) return 0;
  return estimateTokens(parts, call, meter?.deliveredBytes ?? 0);
}

function estimateTokens(parts: QuotaParts, call: AdmittedCall, deliveredBytes: number): number {
  const { input, output } = estimateUsage(call.parsed.bounds, computeBoundFigures(parts, call), deliveredBytes);
  return input + output;
}
