import type { ApplyChange, ManagementRefusal } from '@gateway/contracts/operator';
import { canonicalJson } from '../../http/idempotency.js';
import { refusePermission, type Permission, type PermissionCheck } from '../access.js';

/** Fields of a model with prices. */
const PRICES = ['prices', 'upcomingPrices'];

/** Refuses the first change without permission in a dry run. Null: all are permitted. */
export function checkChanges(changes: readonly ApplyChange[], may: PermissionCheck): ManagementRefusal | null {
  const given = new Set(
    changes.flatMap(({ kind, id, credentialChanged }) => (kind === 'provider' && credentialChanged ? [id] : [])),
  );
  for (const change of changes) {
    const missing = requiredPermissions(change, given).find(([permission]) => !may(permission));
    if (missing === undefined) continue;
    const [permission, what] = missing;
    return refusePermission(permission, `${change.kind} ${change.id}: ${what}`);
  }
  return null;
}

type Needed = readonly [permission: Permission, what: string];

/** @param given providers whose credential is part of the changes */
function requiredPermissions(
  { kind, change, before, after, credentialChanged }: ApplyChange,
  given: ReadonlySet<string>,
): Needed[] {
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
  if (kind === 'source' && sharesWithNewHost(before, after) && !given.has(String(after?.['providerId']))) {
    return [
      ['write', 'this change'],
      ['credentials', "another host with the provider's credential (give the source one, or the provider's again)"],
    ];
  }
  return [['write', 'this change']];
}

type View = ApplyChange['before'];

/** Returns whether a source would send a provider's credential to a new host. */
function sharesWithNewHost(before: View, after: View): boolean {
  if (after?.['credentialOf'] !== 'provider') return false;
  const shared = before?.['credentialOf'] === 'provider' && before['providerId'] === after['providerId'];
  return !shared || hostOf(before) !== hostOf(after);
}

function split(view: Readonly<Record<string, unknown>> | null) {
  const fields = Object.entries(view ?? {}).filter(([name]) => name !== 'priceVersion');
  const isPrice = ([name, value]: [string, unknown]) =>
    // A model without prices equals one that does not exist yet.
    PRICES.includes(name) && value !== null && !(Array.isArray(value) && value.length === 0);
  return {
    prices: Object.fromEntries(fields.filter(isPrice)),
    others: Object.fromEntries(fields.filter(([name]) => !PRICES.includes(name))),
  };
}

/** Returns scheme, host and port. */
function hostOf(view: View): string | null {
  const url = view?.['baseUrl'];
  return typeof url === 'string' ? new URL(url).origin : null;
}
