import type { Member, Span } from '../json/json-scanner.js';

/** What is put in the place of some bytes of a body; where `start` is `end`, between two bytes. */
export interface Splice extends Span {
  readonly text: string;
}

/**
 * The members of those names, each with the comma before it; at the beginning of the object with
 * the one after it.
 */
export function cutSpans(names: ReadonlySet<string>, members: readonly Member[]): readonly Span[] {
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
 * The pieces of the body with the splices between them. They lie apart from each other; of two at
 * one place the one that puts something in comes first.
 */
export function spliced(body: Buffer, splices: readonly Splice[]): Buffer[] {
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
