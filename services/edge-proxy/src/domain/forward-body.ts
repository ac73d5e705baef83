import type { ParsedCall } from './parse-call.js';

export interface ForwardOptions {
  readonly upstreamModel: string;
  /** Ask for usage in the stream: result of {@link addsStreamUsage}. */
  readonly addStreamUsage: boolean;
}

interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
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
 * The body for a source (docs/behaviour.md#requests-to-sources): the value of the top-level `model`
 * replaced, `include_usage` added where asked for, the endpoint's cut members left out, every other
 * byte as it came: pieces of `body` and what is put between them, so that a large body is not held
 * twice.
 * @param body the bytes that the call was parsed from
 */
export function forwardBody(call: ParsedCall, body: Buffer, options: ForwardOptions): Buffer[] {
  const splices = splicesOf(call, options).sort((one, other) => one.start - other.start);
  const pieces: Buffer[] = [];
  let kept = 0;
  for (const { start, end, text } of splices) {
    pieces.push(body.subarray(kept, start), Buffer.from(text));
    kept = end;
  }
  pieces.push(body.subarray(kept));
  return pieces;
}

function splicesOf(call: ParsedCall, { upstreamModel, addStreamUsage }: ForwardOptions): Splice[] {
  const { model, streamOptions, cuts } = call.spans;
  const modelText = JSON.stringify(upstreamModel);
  if (cuts.length > 0) return [{ ...model, text: modelText }, ...cuts.map((cut) => ({ ...cut, text: '' }))];
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
