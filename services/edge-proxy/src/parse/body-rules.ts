import type { BodyRule } from '@gateway/contracts/operator';
import { findCutSpans, type Splice } from './body-splices.js';
import { scanObject, type Member } from '../json/json-scanner.js';

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
