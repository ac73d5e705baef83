import { REFUSAL } from '@gateway/contracts/errors';
import type { CatalogSource } from '@gateway/contracts/messages';
import type { BodyRule } from '@gateway/contracts/operator';
import { ruleSplices } from './body-rules.js';
import { type Splice, spliced } from './body-splices.js';
import type { EndlessLimit } from './fields.js';
import type { ParseResult, ParsedCall } from './parse-call.js';

export interface ForwardOptions {
  readonly upstreamModel: string;
  /** Ask for usage in the stream: result of {@link addsStreamUsage}. */
  readonly addStreamUsage: boolean;
  /** What the source changes in bodies of this endpoint; absent: nothing. */
  readonly rule?: BodyRule | undefined;
}

/**
 * Whether the gateway asks for the usage chunk on the client's behalf, and takes it out again
 * (`dropUsageChunk`).
 * @param sourceCan the source's `streamUsage`
 */
export function addsStreamUsage(call: ParsedCall, sourceCan: boolean): boolean {
  return sourceCan && call.stream && !call.includeUsage && call.row.streamUsageOption;
}

/**
 * Whether a client that asked a stream for its usage gets an event with it from the gateway, unless
 * the provider's own events tell it.
 * @param sourceCan the source's `streamUsage`
 */
export function makesUsageEvent({ stream, row, spans }: ParsedCall, sourceCan: boolean): boolean {
  return !sourceCan && stream && row.streamUsageOption && spans.streamOptions?.includeUsage === true;
}

/** What a source changes in this body: `stream_options` are left out where it knows none. */
export function ruleFor(
  { row, spans }: ParsedCall,
  { streamUsage, body }: Pick<CatalogSource, 'streamUsage' | 'body'>,
): BodyRule | undefined {
  const rule = body?.[row.path];
  if (streamUsage || !row.streamUsageOption || spans.streamOptions === null) return rule;
  return { ...rule, remove: [...(rule?.remove ?? []), 'stream_options'] };
}

/**
 * The body for a source (docs/behaviour.md#requests-to-sources): the value of the top-level `model`
 * replaced, `include_usage` added where asked for, the endpoint's cut members left out, every other
 * byte as it came: pieces of `body` and what is put between them, so that a large body is not held
 * twice.
 * @param body the bytes that the call was parsed from
 */
export function forwardBody(call: ParsedCall, body: Buffer, options: ForwardOptions): Buffer[] {
  const { rule } = options;
  const { cuts } = call.spans;
  if (rule !== undefined) return spliced(body, ruleSplices(body, rule, call.row.cut, splicesOf(call, options)));
  return spliced(body, [...splicesOf(call, options), ...cuts.map((cut) => ({ ...cut, text: '' }))]);
}

function splicesOf(call: ParsedCall, { upstreamModel, addStreamUsage }: ForwardOptions): Splice[] {
  const { model, streamOptions } = call.spans;
  const modelText = JSON.stringify(upstreamModel);
  if (!addStreamUsage) return [{ ...model, text: modelText }];
  if (streamOptions === null) return [{ ...model, text: `${modelText},"stream_options":{"include_usage":true}` }];
  return [{ start: model.start, end: model.end, text: modelText }, streamOptionsSplice(streamOptions)];
}

function streamOptionsSplice(options: NonNullable<ParsedCall['spans']['streamOptions']>): Splice {
  const { start, end, isNull, isEmpty, includeUsageSpan } = options;
  if (isNull) return { start, end, text: '{"include_usage":true}' };
  if (includeUsageSpan !== null) return { ...includeUsageSpan, text: 'true' };
  return { start: start + 1, end: start + 1, text: `"include_usage":true${isEmpty ? '' : ','}` };
}

/** Whether a source takes a call with this limit; null: it has none. */
export function takesLimit(
  limit: EndlessLimit | null,
  { unlimitedMaxTokens = [] }: Pick<CatalogSource, 'unlimitedMaxTokens'>,
): boolean {
  return limit === null || unlimitedMaxTokens.includes(limit.value);
}

/** The limit is none at any source of the call. */
export function refusedLimit({ name }: EndlessLimit): Extract<ParseResult, { ok: false }> {
  const message = `"${name}" must be an integer of at least 0.`;
  return { ok: false, finding: { rank: REFUSAL.invalid_request, message, param: name } };
}
