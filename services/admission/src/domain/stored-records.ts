import { shortHash } from '@gateway/contracts/ids';
import type { AccountTerms, KeyRecord } from '@gateway/contracts/messages';
import { readTerms } from './terms.js';

/** Terms as the gate keeps them: most of the text is the same for all accounts of a plan and is kept once in a bucket. */
export interface StoredTerms {
  /** Names the shared text by its content. */
  readonly id: string;
  readonly text: string;
  /** The running period: id, start and end in ms; empty without one. */
  readonly period: string;
}

export function storeTerms(terms: AccountTerms): StoredTerms {
  const { subscription } = terms;
  const text = JSON.stringify({ ...terms, subscription: null });
  const period = subscription === null ? '' : `${subscription.id} ${subscription.start} ${subscription.end}`;
  return { id: shortHash(text), text, period };
}

/** What {@link storeTerms} made; an empty text: billing has none. @throws SyntaxError for another text */
export function readStoredTerms(text: string, period: string): AccountTerms {
  const terms = readTerms(text);
  if (period === '') return terms;
  const [id = '', start, end] = period.split(' ');
  return { ...terms, subscription: { id, start: Number(start), end: Number(end) } };
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

/** A key's record without what its name says, and without what most keys have alike. */
export function storeKey(record: KeyRecord): string {
  const { member, kind, digest, state, expiresAt, capNanoUsd, allowedModels, version } = record;
  const shortDigest = Buffer.from(digest, 'hex').toString('base64url');
  const facts: KeyFacts = [member, shortDigest, version, kind, state, expiresAt, capNanoUsd, allowedModels];
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
