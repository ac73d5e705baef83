import type { CatalogSource } from '@gateway/contracts/messages';
import type { BodyRule } from '@gateway/contracts/operator';
import { type Member, scanObject } from '../json/json-scanner.js';
import { type Splice, applySplices, findCutSpans } from './body-splices.js';
import type { NegativeLimit } from './fields.js';
import type { ParseResult, ParsedCall } from './parse-call.js';

export interface ForwardOptions {
  readonly upstreamModel: string;
  /** Request usage in the stream: the result of {@link shouldRequestUsage}. */
  readonly addStreamUsage: boolean;
  /** The source's rule for bodies of this endpoint; absent if it has none. */
  readonly rule?: BodyRule | undefined;
}

/**
 * Returns whether the gateway requests the usage chunk itself. It then removes the chunk from the
 * stream (`dropUsageChunk`).
 * @param sourceCan the source's `streamUsage`
 */
export function shouldRequestUsage(call: ParsedCall, sourceCan: boolean): boolean {
  return sourceCan && call.stream && !call.includeUsage && call.row.streamUsageOption;
}

/**
 * Returns whether the gateway creates the usage event that the client requested. It does so for
 * sources that do not support the option, unless the provider's events report the usage anyway.
 * @param sourceCan the source's `streamUsage`
 */
export function shouldCreateUsageEvent({ stream, row, spans }: ParsedCall, sourceCan: boolean): boolean {
  return !sourceCan && stream && row.streamUsageOption && spans.streamOptions?.includeUsage === true;
}

/**
 * Returns the source's changes to this body. Removes `stream_options` if the source does not
 * support them.
 */
export function withStreamUsageRule(
  { row, spans }: ParsedCall,
  { streamUsage, body }: Pick<CatalogSource, 'streamUsage' | 'body'>,
): BodyRule | undefined {
  const rule = body?.[row.path];
  if (streamUsage || !row.streamUsageOption || spans.streamOptions === null) return rule;
  return { ...rule, remove: [...(rule?.remove ?? []), 'stream_options'] };
}

/**
 * Builds the body for a source (docs/behaviour.md#requests-to-sources). Replaces the top-level
 * `model`, adds `include_usage` if requested, and removes the members that the endpoint cuts. All
 * other bytes stay unchanged. Returns chunks that refer to `body`, so that a large body is not held
 * twice.
 * @param body the bytes of the parsed request
 */
export function buildForwardBody(call: ParsedCall, body: Buffer, options: ForwardOptions): Buffer[] {
  const { rule } = options;
  const { cuts } = call.spans;
  if (rule !== undefined)
    return applySplices(body, buildRuleSplices(body, rule, call.row.cut, buildSplices(call, options)));
  return applySplices(body, [...buildSplices(call, options), ...cuts.map((cut) => ({ ...cut, text: '' }))]);
}

function buildSplices(call: ParsedCall, { upstreamModel, addStreamUsage }: ForwardOptions): Splice[] {
  const { model, streamOptions } = call.spans;
  const modelText = JSON.stringify(upstreamModel);
  if (!addStreamUsage) return [{ ...model, text: modelText }];
  if (streamOptions === null) return [{ ...model, text: `${modelText},"stream_options":{"include_usage":true}` }];
  return [{ start: model.start, end: model.end, text: modelText }, buildStreamOptionsSplice(streamOptions)];
}

function buildStreamOptionsSplice(options: NonNullable<ParsedCall['spans']['streamOptions']>): Splice {
  const { start, end, isNull, isEmpty, includeUsageSpan } = options;
  if (isNull) return { start, end, text: '{"include_usage":true}' };
  if (includeUsageSpan !== null) return { ...includeUsageSpan, text: 'true' };
  return { start: start + 1, end: start + 1, text: `"include_usage":true${isEmpty ? '' : ','}` };
}

/** Returns whether a source accepts a call with this limit; null means no limit. */
export function acceptsLimit(
  limit: NegativeLimit | null,
  { unlimitedMaxTokens = [] }: Pick<CatalogSource, 'unlimitedMaxTokens'>,
): boolean {
  return limit === null || unlimitedMaxTokens.includes(limit.value);
}

/** Builds the refusal of a limit that none of the call's sources accepts. */
export function refuseLimit({ name }: NegativeLimit): Extract<ParseResult, { ok: false }> {
  const message = `"${name}" must be an integer of at least 0.`;
  return { ok: false, finding: { code: 'invalid_request', message, param: name } };
}

/**
 * Computes the changes that a source's rule makes to a body. Scans the top level a second time,
 * which only the few sources with a rule need. If the rule and `others` change the same member,
 * only the rule's change applies.
 * @param body a body that was parsed before
 * @param cut members that the endpoint always removes
 */
export function buildRuleSplices(
  body: Buffer,
  rule: BodyRule,
  cut: ReadonlySet<string>,
  others: readonly Splice[],
): Splice[] {
  const scanned = scanObject(body);
  if (!scanned.ok) throw new Error('the body was parsed once but cannot be scanned again');
  const { members } = scanned;
  const names = new Set(members.map(({ name }) => name));
  const { set = {}, rename = {} } = rule;
  const twice = Object.keys(rename).filter((name) => names.has(rename[name] ?? ''));
  const left = new Set([...cut, ...(rule.remove ?? []), ...twice]);
  const own = [
    ...findCutSpans(left, members).map((span) => ({ ...span, text: '' })),
    ...members.flatMap((member) => (left.has(member.name) ? [] : buildMemberChanges(member, set, rename))),
  ];
  const added = Object.keys(set).filter((name) => !names.has(name) || left.has(name));
  const kept = others.filter((other) => !own.some(({ start, end }) => other.start >= start && other.end <= end));
  return [...buildAdditions(members, added, set, left), ...own, ...kept];
}

function buildMemberChanges(
  member: Member,
  set: NonNullable<BodyRule['set']>,
  rename: Readonly<Record<string, string>>,
): Splice[] {
  const changes: Splice[] = [];
  const newName = Object.hasOwn(rename, member.name) ? rename[member.name] : undefined;
  if (newName !== undefined) {
    changes.push({ start: member.nameStart, end: member.start, text: `${JSON.stringify(newName)}:` });
  }
  if (Object.hasOwn(set, member.name)) {
    changes.push({ start: member.start, end: member.end, text: JSON.stringify(set[member.name]) });
  }
  return changes;
}

/** Inserts new members before the first one. */
function buildAdditions(
  members: readonly Member[],
  names: readonly string[],
  set: NonNullable<BodyRule['set']>,
  left: ReadonlySet<string>,
): Splice[] {
  const first = members[0];
  if (names.length === 0 || first === undefined) return [];
  const text = names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(set[name])}`).join(',');
  const isLast = members.every(({ name }) => left.has(name));
  return [{ start: first.nameStart, end: first.nameStart, text: isLast ? text : `${text},` }];
}
