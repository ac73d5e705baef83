import { shortHash } from '@gateway/contracts/ids';
import type { AccountTerms, BodyOf, KeyRecord, accountsUnchanged } from '@gateway/contracts/messages';
import { readTerms } from './terms-rules.js';

type Period = NonNullable<AccountTerms['subscription']>;

/**
 * Terms as the limit store keeps them: most of the text is the same for all accounts of a plan and
 * is kept once in a bucket.
 */
export interface StoredTerms {
  /** Names the shared text by its content. */
  readonly id: string;
  readonly text: string;
  /**
   * The running period and, after a `|`, the next one that is known: id, start and end in ms; empty
   * without one.
   */
  readonly period: string;
}

/**
 * What stands in a text for the next period, which is the account's own. Who takes it for one waits
 * for ever.
 */
const NEXT_PERIOD: Period = { id: '-', start: 8.64e15, end: 8.64e15 };

export function storeTerms(terms: AccountTerms): StoredTerms {
  const { subscription, next } = terms;
  const shared = { ...terms, subscription: null, ...(next && { next: { ...next, subscription: NEXT_PERIOD } }) };
  const text = JSON.stringify(shared);
  return { id: shortHash(text), text, period: `${textOf(subscription)}|${textOf(next?.subscription ?? null)}` };
}

/**
 * What {@link storeTerms} made; an empty text: billing has none. @throws SyntaxError for another
 * text
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
  allowedModels: string[] | null,
];
/** What most keys are: at the end of a text it is left out. */
const USUAL: readonly unknown[] = [undefined, undefined, undefined, 'api', 'active', null, null, null];

/**
 * A key's record without what its name says, without what most keys have alike, and of one that is
 * revoked for good without its models: their list may be long, and nobody asks for it.
 */
export function storeKey(record: KeyRecord): string {
  const { member, kind, digest, state, expiresAt, capNanoUsd, allowedModels, version } = record;
  const shortDigest = Buffer.from(digest, 'hex').toString('base64url');
  const models = state === 'revoked' ? null : allowedModels;
  const facts: KeyFacts = [member, shortDigest, version, kind, state, expiresAt, capNanoUsd, models];
  const unusual = facts.findLastIndex((fact, at) => fact !== USUAL[at]);
  return JSON.stringify(facts.slice(0, unusual + 1));
}

/** What {@link storeKey} made. @throws SyntaxError for another text */
export function readStoredKey(text: string, account: string, key: string): KeyRecord {
  const facts = JSON.parse(text) as unknown[];
  const whole = [...facts, ...USUAL.slice(facts.length)] as KeyFacts;
  const [member, shortDigest, version, kind, state, expiresAt, capNanoUsd, allowedModels] = whole;
  const digest = Buffer.from(shortDigest, 'base64url').toString('hex');
  return { account, key, member, kind, digest, state, expiresAt, capNanoUsd, allowedModels, version };
}

/** The versions of one account's records that the limit store was told. */
export type KeptRecords = BodyOf<typeof accountsUnchanged>['accounts'][number];

/** @param fields of the account in Redis, all or some, with their texts */
export function keptRecords(
  account: string,
  version: number,
  fields: Iterable<readonly [field: string, text: string]>,
): KeptRecords {
  const records: KeptRecords = { account, version, keys: [], members: [] };
  for (const [field, text] of fields) {
    const id = field.slice(2);
    // A key's mark stands before its version, a member's cap after it.
    if (field.startsWith('k:')) records.keys.push({ id, version: Number(text.split(' ')[1]) });
    else if (field.startsWith('m:')) records.members.push({ id, version: Number(text.split(' ')[0]) });
  }
  return records;
}
