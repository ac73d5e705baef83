import { shortHash } from '@gateway/contracts/ids';
import type { AccountTerms, BodyOf, KeyRecord, accountsUnchanged } from '@gateway/contracts/messages';
import { type KeyTerms, KEY_TERMS, NO_KEY_TERMS } from '@gateway/contracts/operator';
import { readTerms } from './terms-rules.js';

type Period = NonNullable<AccountTerms['subscription']>;

/**
 * Terms in the form of the limit store. Most of the text is the same for all accounts of a plan and
 * is stored once per bucket.
 */
export interface StoredTerms {
  /** Identifies the shared text by its content. */
  readonly id: string;
  readonly text: string;
  /** The running period and, after a `|`, the next known one: ID, start and end in ms, or empty. */
  readonly period: string;
}

/**
 * Placeholder for the next period in the shared text, because that period belongs to the account.
 * It never begins, so it has no effect if it is taken for a real period.
 */
const NEXT_PERIOD: Period = { id: '-', start: 8.64e15, end: 8.64e15 };

export function storeTerms(terms: AccountTerms): StoredTerms {
  const { subscription, next } = terms;
  const shared = { ...terms, subscription: null, ...(next && { next: { ...next, subscription: NEXT_PERIOD } }) };
  const text = JSON.stringify(shared);
  return { id: shortHash(text), text, period: `${textOf(subscription)}|${textOf(next?.subscription ?? null)}` };
}

/**
 * Parses the result of {@link storeTerms}. An empty text means that billing has no terms.
 * @throws SyntaxError for any other text
 */
export function readStoredTerms(text: string, periods: string): AccountTerms {
  const terms = readTerms(text);
  const [current, following] = periods.split('|').map(periodOf);
  const next = terms.next && following && { ...terms.next, subscription: following };
  return { ...terms, ...(current && { subscription: current }), ...(next && { next }) };
}

function textOf(period: Period | null): string {
  return period === null ? '' : `${period.id} ${period.start} ${period.end}`;
}

function periodOf(text: string): Period | null {
  if (text === '') return null;
  const [id = '', start, end] = text.split(' ');
  return { id, start: Number(start), end: Number(end) };
}

type KeyFacts = [
  member: string,
  digest: string,
  version: number,
  kind: KeyRecord['kind'],
  state: KeyRecord['state'],
  expiresAt: number | null,
  capNanoUsd: number | null,
  ...terms: KeyTerms[keyof KeyTerms][],
];
const TERMS = Object.keys(KEY_TERMS) as (keyof KeyTerms)[];
/** Values that most keys have. They are omitted at the end of a text. */
const USUAL: readonly unknown[] = [
  undefined,
  undefined,
  undefined,
  'api',
  'active',
  null,
  null,
  ...TERMS.map(() => null),
];

/**
 * Shortens a key's record: without its own ID and without the values that most keys have. A revoked
 * key is stored without its terms, because they may be long and are not needed.
 */
export function storeKey(record: KeyRecord): string {
  const { member, kind, digest, state, expiresAt, capNanoUsd, version } = record;
  const shortDigest = Buffer.from(digest, 'hex').toString('base64url');
  const terms = state === 'revoked' ? NO_KEY_TERMS : record;
  const common = [member, shortDigest, version, kind, state, expiresAt, capNanoUsd] as const;
  const facts: KeyFacts = [...common, ...TERMS.map((name) => terms[name])];
  const unusual = facts.findLastIndex((fact, at) => fact !== USUAL[at]);
  return JSON.stringify(facts.slice(0, unusual + 1));
}

/** Parses the result of {@link storeKey}. @throws SyntaxError for any other text */
export function readStoredKey(text: string, account: string, key: string): KeyRecord {
  const facts = JSON.parse(text) as unknown[];
  const whole = [...facts, ...USUAL.slice(facts.length)] as KeyFacts;
  const [member, shortDigest, version, kind, state, expiresAt, capNanoUsd, ...stored] = whole;
  const digest = Buffer.from(shortDigest, 'base64url').toString('hex');
  const terms = Object.fromEntries(TERMS.map((name, at) => [name, stored[at]])) as KeyTerms;
  return { account, key, member, kind, digest, state, expiresAt, capNanoUsd, ...terms, version };
}

/** The versions of one account's records that the limit store has received. */
export type StoredVersions = BodyOf<typeof accountsUnchanged>['accounts'][number];

/** @param fields of the account in Redis, all or some of them, with their texts */
export function readStoredVersions(
  account: string,
  version: number,
  fields: Iterable<readonly [field: string, text: string]>,
): StoredVersions {
  const records: StoredVersions = { account, version, keys: [], members: [] };
  for (const [field, text] of fields) {
    const id = field.slice(2);
    // A key's field has the epoch suffix before the version. A member's field has the cap after it.
    if (field.startsWith('k:')) records.keys.push({ id, version: Number(text.split(' ')[1]) });
    else if (field.startsWith('m:')) records.members.push({ id, version: Number(text.split(' ')[0]) });
  }
  return records;
}
