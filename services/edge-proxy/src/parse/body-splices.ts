import type { Member, Span } from '../json/json-scanner.js';

/** Replaces the bytes from `start` to `end` by a text, or inserts the text if both are equal. */
export interface Splice extends Span {
  readonly text: string;
}

/**
 * Returns the spans of the named members. Each span includes the comma before its member, or the
 * comma after it at the beginning of the object.
 */
export function findCutSpans(names: ReadonlySet<string>, members: readonly Member[]): readonly Span[] {
  if (names.size === 0) return NO_SPANS;
  const spans: Span[] = [];
  let kept: Member | null = null;
  for (const [index, member] of members.entries()) {
    if (!names.has(member.name)) kept = member;
    else if (kept !== null) spans.push({ start: members[index - 1]?.end ?? member.nameStart, end: member.end });
    else spans.push({ start: member.nameStart, end: members[index + 1]?.nameStart ?? member.end });
  }
  return spans;
}

const NO_SPANS: readonly Span[] = [];

/**
 * Returns the chunks of the body with the splices applied. Splices must not overlap. An insertion
 * comes before a replacement at the same position.
 */
export function applySplices(body: Buffer, splices: readonly Splice[]): Buffer[] {
  const pieces: Buffer[] = [];
  let kept = 0;
  for (const { start, end, text } of [...splices].sort(
    (one, other) => one.start - other.start || one.end - other.end,
  )) {
    pieces.push(body.subarray(kept, start), Buffer.from(text));
    kept = end;
  }
  pieces.push(body.subarray(kept));
  return pieces;
}
