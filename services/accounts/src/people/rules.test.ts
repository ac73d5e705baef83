import { describe, expect, test } from '@jest/globals';
import { decideMemberPut, refuseMemberDelete, refuseNewMember } from './rules.js';
import type { Account, Member, Membership } from '../base/rules.js';

const NOW = 1_700_000_000_000;
const TEAM: Account = {
  id: 'acc_1',
  name: 'A',
  type: 'team',
  state: 'active',
  version: 1,
  createdAt: 1,
  externalId: null,
};
const MEMBER: Member = {
  id: 'mem_1',
  account: 'acc_1',
  user: 'usr_1',
  role: 'member',
  capNanoUsd: 5_000_000_000n,
  version: 3,
  createdAt: 1,
};
const MEMBERSHIP: Membership = {
  member: MEMBER,
  user: { id: 'usr_1', email: 'ada@example.com', emailVerified: false },
};
const OWNER: Membership = { ...MEMBERSHIP, member: { ...MEMBER, role: 'owner' } };
const SPEC = { email: 'Ada@example.com', emailVerified: false, role: 'member', monthlySpendCapUsd: '5' } as const;

const codeOf = (answer: object | null) =>
  answer && 'refused' in answer ? (answer.refused as { code: string }).code : 'accepted';

describe('refuseNewMember()', () => {
  test.each<[string, Partial<Parameters<typeof refuseNewMember>[0]>, string]>([
    ['of a team', {}, 'accepted'],
    ['of a suspended team', { account: { ...TEAM, state: 'suspended' } }, 'accepted'],
    ['of an unknown account', { account: null }, 'not_found'],
    ['of a personal account', { account: { ...TEAM, type: 'personal' } }, 'state_conflict'],
    ['of a team if teams are disabled', { teamsEnabled: false }, 'state_conflict'],
    ['who is already a member', { isMember: true }, 'state_conflict'],
  ])('decides about a member %s', (_name, input, expected) => {
    expect(codeOf(refuseNewMember({ account: TEAM, isMember: false, teamsEnabled: true, ...input }))).toBe(expected);
  });
});

describe('decideMemberPut()', () => {
  test('changes nothing for equal fields', () => {
    const change = decideMemberPut(SPEC, MEMBERSHIP, NOW);
    expect(change).toEqual({ member: MEMBER, verify: false });
    expect(change).toHaveProperty('member', MEMBER);
  });

  test('raises the version for a new cap and not for a new role', () => {
    expect(decideMemberPut({ ...SPEC, monthlySpendCapUsd: '6' }, MEMBERSHIP, NOW)).toMatchObject({
      member: { ...MEMBER, capNanoUsd: 6_000_000_000n, version: NOW },
    });
    expect(decideMemberPut({ ...SPEC, monthlySpendCapUsd: null }, MEMBERSHIP, NOW)).toMatchObject({
      member: { ...MEMBER, capNanoUsd: null, version: NOW },
    });
    expect(decideMemberPut({ ...SPEC, role: 'admin' }, MEMBERSHIP, NOW)).toMatchObject({
      member: { ...MEMBER, role: 'admin', version: 3 },
    });
  });

  test.each([
    ['a higher role', { role: 'admin' }, 'keys', 'role'],
    ['a verified address', { emailVerified: true }, 'keys', 'emailVerified'],
    ['a higher cap', { monthlySpendCapUsd: '6' }, 'money', 'monthlySpendCapUsd'],
    ['no cap', { monthlySpendCapUsd: null }, 'money', 'monthlySpendCapUsd'],
  ] as const)('refuses %s without the permission for it', (_what, fields, right, param) => {
    const put = { ...SPEC, ...fields };
    expect(decideMemberPut(put, MEMBERSHIP, NOW, [right])).toMatchObject({
      refused: { code: 'operator_forbidden', param },
    });
    const other = right === 'keys' ? 'money' : 'keys';
    expect(codeOf(decideMemberPut(put, MEMBERSHIP, NOW, [other]))).toBe('accepted');
  });

  test('accepts equal fields and a lower role without permissions', () => {
    const admin = { ...MEMBERSHIP, member: { ...MEMBER, role: 'admin' as const } };
    for (const membership of [MEMBERSHIP, admin])
      expect(codeOf(decideMemberPut(SPEC, membership, NOW, ['keys', 'money']))).toBe('accepted');
  });

  test('verifies an address once and keeps it verified', () => {
    const verified = { ...MEMBERSHIP, user: { ...MEMBERSHIP.user, emailVerified: true } };
    expect(decideMemberPut({ ...SPEC, emailVerified: true }, MEMBERSHIP, NOW)).toMatchObject({ verify: true });
    expect(decideMemberPut({ ...SPEC, emailVerified: true }, verified, NOW)).toMatchObject({ verify: false });
    expect(decideMemberPut(SPEC, verified, NOW)).toMatchObject({ verify: false });
  });

  test.each([
    ['another address', { email: 'eve@example.com' }, MEMBERSHIP, 'state_conflict', 'email'],
    ['a member as owner', { role: 'owner' }, MEMBERSHIP, 'state_conflict', 'role'],
    ['the owner as admin', { role: 'admin' }, OWNER, 'state_conflict', 'role'],
  ] as const)('refuses %s', (_name, more, membership, code, param) => {
    expect(decideMemberPut({ ...SPEC, ...more }, membership, NOW)).toMatchObject({ refused: { code, param } });
  });

  test("changes the owner's cap", () => {
    const put = decideMemberPut({ ...SPEC, role: 'owner', monthlySpendCapUsd: '7' }, OWNER, NOW);
    expect(put).toMatchObject({ member: { role: 'owner', capNanoUsd: 7_000_000_000n, version: NOW } });
  });
});

test.each([
  ['a member without keys', MEMBER, 0, 'accepted'],
  ['a member with a key', MEMBER, 1, 'in_use'],
  ['the owner', OWNER.member, 0, 'state_conflict'],
] as const)('refuseMemberDelete() decides about %s', (_name, member, keys, expected) => {
  expect(codeOf(refuseMemberDelete(member, keys))).toBe(expected);
});
