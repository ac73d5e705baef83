import { refuse, type ApplyChange, type ManagementRefusal } from '@gateway/contracts/operator';
import { canonicalJson } from '../../http/idempotency.js';
import { ROLES_BY_ACCESS, type Access, type May } from '../access.js';

/** Fields of a model that are money. */
const PRICES = ['prices', 'upcomingPrices'];

/**
 * The first of these changes, as a dry run answers them, that whoever asks has no right to make;
 * null: all may be made.
 */
export function judgeChanges(changes: readonly ApplyChange[], may: May): ManagementRefusal | null {
  for (const change of changes) {
    const missing = rightsFor(change).find(([right]) => !may(right));
    if (missing === undefined) continue;
    const [right, what] = missing;
    const roles = ROLES_BY_ACCESS[right].join(' or ');
    return refuse('operator_forbidden', `${change.kind} ${change.id}: ${what} needs the role ${roles}`);
  }
  return null;
}

type Needed = readonly [right: Access, what: string];

function rightsFor({ kind, change, before, after, credentialChanged }: ApplyChange): Needed[] {
  if (change === 'unchanged') return [];
  if (kind === 'plan') return [['money', 'a plan']];
  if (kind === 'model' && after !== null) {
    const [old, next] = [split(before), split(after)];
    const isPriced = canonicalJson(old.prices) !== canonicalJson(next.prices);
    const isOther = before === null || canonicalJson(old.others) !== canonicalJson(next.others);
    return [
      ...(isPriced ? [['money', 'a price'] as const] : []),
      ...(isOther ? [['write', 'this change'] as const] : []),
    ];
  }
  const isMoved =
    hostOf(before) !== hostOf(after) && before?.['hasCredential'] === true && after?.['hasCredential'] === true;
  if (kind === 'source' && isMoved && !credentialChanged) {
    return [
      ['write', 'this change'],
      ['credentials', 'another host with the stored credential (give the credential again)'],
    ];
  }
  return [['write', 'this change']];
}

function split(view: Readonly<Record<string, unknown>> | null) {
  const fields = Object.entries(view ?? {}).filter(([name]) => name !== 'priceVersion');
  const isPrice = ([name, value]: [string, unknown]) =>
    // A model without prices, and one that is not there yet, are the same.
    PRICES.includes(name) && value !== null && !(Array.isArray(value) && value.length === 0);
  return {
    prices: Object.fromEntries(fields.filter(isPrice)),
    others: Object.fromEntries(fields.filter(([name]) => !PRICES.includes(name))),
  };
}

/** Scheme, host and port. */
function hostOf(view: Readonly<Record<string, unknown>> | null): string | null {
  const url = view?.['baseUrl'];
  return typeof url === 'string' ? new URL(url).origin : null;
}
