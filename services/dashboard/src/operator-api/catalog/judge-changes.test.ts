import type { ApplyChange, OperatorRole } from '@gateway/contracts/operator';
import { expect, test } from '@jest/globals';
import { createPermissionCheck } from '../access.js';
import { checkChanges } from './judge-changes.js';

const change = (more: Partial<ApplyChange>): ApplyChange => ({
  kind: 'model',
  id: 'pub/model',
  change: 'changed',
  before: null,
  after: null,
  credentialChanged: false,
  ...more,
});
const MODEL = { displayName: 'Model', prices: { inputPerMillion: '1.00' }, priceVersion: 'v1', upcomingPrices: [] };
const SOURCE = { baseUrl: 'https://api.example.com/a', hasCredential: true, priority: 0 };
const SHARES = { ...SOURCE, hasCredential: false, credentialOf: 'provider', providerId: 'p' };
const ROLES: readonly OperatorRole[] = ['admin', 'operator', 'finance', 'readonly'];
const allowed = (one: ApplyChange) =>
  ROLES.filter((role) => checkChanges([one], createPermissionCheck({ role })) === null);
const model = (before: object | null, after: object | null) => change({ before, after } as Partial<ApplyChange>);
const source = (before: object | null, after: object, credentialChanged = false) =>
  change({ kind: 'source', id: 'src', before, after, credentialChanged } as Partial<ApplyChange>);

test.each([
  ['another price', model(MODEL, { ...MODEL, prices: { inputPerMillion: '0' } }), ['admin', 'finance']],
  ['no price any more', model(MODEL, { ...MODEL, prices: null }), ['admin', 'finance']],
  ['a price to come', model(MODEL, { ...MODEL, upcomingPrices: [{ version: 'v2' }] }), ['admin', 'finance']],
  ['another name', model(MODEL, { ...MODEL, displayName: 'Other', priceVersion: 'v2' }), ['admin', 'operator']],
  ['name and price', model(MODEL, { ...MODEL, displayName: 'Other', prices: null }), ['admin']],
  ['a new model without prices', model(null, { ...MODEL, prices: null, priceVersion: null }), ['admin', 'operator']],
  ['a new model with prices', model(null, MODEL), ['admin']],
  ['a model that goes', change({ change: 'deleted', before: MODEL }), ['admin', 'operator']],
  ['a plan', change({ kind: 'plan', id: 'pro', before: {}, after: { name: 'x' } }), ['admin', 'finance']],
  ['a plan that goes', change({ kind: 'plan', id: 'pro', change: 'deleted', before: {} }), ['admin', 'finance']],
  ['a provider', change({ kind: 'provider', id: 'p', after: { name: 'P' } }), ['admin', 'operator']],
  [
    'a source at the same host',
    source(SOURCE, { ...SOURCE, baseUrl: 'https://api.example.com/b' }),
    ['admin', 'operator'],
  ],
  ['a source at another host', source(SOURCE, { ...SOURCE, baseUrl: 'https://evil.example' }), ['admin']],
  ['a source without TLS any more', source(SOURCE, { ...SOURCE, baseUrl: 'http://api.example.com/a' }), ['admin']],
  [
    'another host and credential',
    source(SOURCE, { ...SOURCE, baseUrl: 'https://b.example' }, true),
    ['admin', 'operator'],
  ],
  [
    'another host without a credential',
    source({ ...SOURCE, hasCredential: false }, { ...SOURCE, baseUrl: 'https://b.example', hasCredential: false }),
    ['admin', 'operator'],
  ],
  ['a new source', source(null, SOURCE, true), ['admin', 'operator']],
  ["a new source with its provider's credential", source(null, SHARES), ['admin']],
  [
    "one at the same host with its provider's credential",
    source(SHARES, { ...SHARES, priority: 1 }),
    ['admin', 'operator'],
  ],
  ["its provider's credential at another host", source(SHARES, { ...SHARES, baseUrl: 'https://b.example' }), ['admin']],
  ["another provider's credential", source(SHARES, { ...SHARES, providerId: 'q' }), ['admin']],
  ["its provider's credential in place of its own", source(SOURCE, SHARES, true), ['admin']],
  ['nothing', change({ change: 'unchanged', kind: 'plan' }), ROLES],
])('allows %s to exactly its roles', (_name, one, roles) => expect(allowed(one)).toEqual(roles));

test('the refusal names the object and the role that it needs', () => {
  const moved = source(SOURCE, { ...SOURCE, baseUrl: 'https://evil.example' });
  const refusal = checkChanges([change({ change: 'unchanged' }), moved], createPermissionCheck({ role: 'operator' }));
  expect(refusal?.refused).toMatchObject({ code: 'operator_forbidden', param: null });
  expect(refusal?.refused.message).toMatch(/^source src: another host .*give the credential again.* admin$/);
});

test("an operator who sends a provider's credential may send it to any host", () => {
  const may = createPermissionCheck({ role: 'operator' });
  const given = change({ kind: 'provider', id: 'p', after: { name: 'P' }, credentialChanged: true });
  const shares = source(null, SHARES);
  expect(checkChanges([given, shares], may)).toBeNull();
  expect(checkChanges([{ ...given, id: 'q' }, shares], may)).not.toBeNull();
  expect(checkChanges([{ ...given, credentialChanged: false }, shares], may)?.refused.message).toMatch(
    /^source src: another host with the provider's credential .* admin$/,
  );
});
