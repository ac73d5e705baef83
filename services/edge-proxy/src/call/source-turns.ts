import type { DatedVersion, PricedVersion } from '@gateway/contracts/messages';
import { estimateUsage } from '@gateway/metering';
import type { DecryptedSource } from '../ports.js';
import { NO_SEAT, type SourceChoice } from '../quotas/source-quotas.js';
import type { AttemptOutcome } from './attempt-source.js';
import type { AdmittedCall, Edge } from './call.js';
import { computeBoundFigures } from './finish-call.js';

const FIRST: SourceChoice = { at: 0, seat: NO_SEAT };

/**
 * Selects the next source: the first one, unless the edge has no share of its quotas left and
 * another source has one.
 */
export function selectNextSource(
  edge: Edge,
  call: AdmittedCall,
  left: readonly { readonly opened: DecryptedSource }[],
): SourceChoice | Promise<SourceChoice> {
  if (left[0]?.opened.source.quota === undefined) return FIRST;
  const sources = left.map(({ opened }) => opened.source);
  return edge.quotas.next(sources, () => estimateTokens(edge, call, 0));
}

/** Resolves after `ms`, or at once when the client leaves or the call is ended from outside. */
export function pauseCall(edge: Edge, call: AdmittedCall, ms: number): Promise<void> {
  const { answer } = call.request;
  if (answer.isGone || call.ended !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const deadline = edge.deadlines.in(ms, () => end());
    const end = (): void => {
      deadline.cancel();
      call.onEnded = null;
      resolve();
    };
    call.onEnded = end;
    answer.onGone(end);
  });
}

/** Tokens that the provider counted for an attempt, estimated if not reported. */
export function countTokens(edge: Edge, call: AdmittedCall, { judged, delivery }: AttemptOutcome): number {
  const meter = delivery?.meter ?? null;
  if (meter?.usage != null) return meter.usage.input + meter.usage.output;
  if (meter === null && !judged.possiblyPaid) return 0;
  return estimateTokens(edge, call, meter?.deliveredBytes ?? 0);
}

function estimateTokens(edge: Edge, call: AdmittedCall, deliveredBytes: number): number {
  const { input, output } = estimateUsage(call.parsed.bounds, computeBoundFigures(edge, call), deliveredBytes);
  return input + output;
}

/** The version in effect at `atMs`. Null: there is none, or it is "unpriced". */
export function findVersionAt(versions: readonly DatedVersion[], atMs: number): PricedVersion | null {
  const inForce = versions.findLast(({ effectiveFrom }) => effectiveFrom <= atMs);
  if (inForce === undefined || inForce.figures === null) return null;
  return { version: inForce.version, figures: inForce.figures };
}
