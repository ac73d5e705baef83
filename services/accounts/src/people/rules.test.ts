import { describe, expect, test } from '@jest/globals';
import { decideMemberPut, refuseMemberDelete, refuseNewMember } from './rules.js';
import type { Account, Member, Membership } from '../base/rules.js';

const NOW = 1_700_000_000_000;
const TEAM: Account = { id: 'acc_1', name: 'A', type: 'team', state: 'active', version: 1, createdAt: 1 };
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

describe('a new member', () => {
  test.each<[string, Partial<Parameters<typeof refuseNewMember>[0]>, string]>([
    ['of a team', {}, 'accepted'],
    ['of a suspended team', { account: { ...TEAM, state: 'suspended' } }, 'accepted'],
    ['of no account', { account: null }, 'not_found'],
    ['of a personal account', { account: { ...TEAM, type: 'personal' } }, 'state_conflict'],
    ['where teams are off', { teamsEnabled: false }, 'state_conflict'],
    ['who is a member already', { isMember: true }, 'state_conflict'],
  ])('%s', (_name, input, expected) => {
    expect(codeOf(refuseNewMember({ account: TEAM, isMember: false, teamsEnabled: true, ...input }))).toBe(expected);
  });
});

describe('a replaced member', () => {
  test('as it is: nothing changes', () => {
    const change = decideMemberPut(SPEC, MEMBERSHIP, NOW);
    expect(change).toEqual({ member: MEMBER, verify: false });
    expect(change).toHaveProperty('member', MEMBER);
  });

  test('the cap raises the version, the role does not', () => {
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
  ] as const)('decideMemberPut() refuses %s without the permission for it', (_what, fields, right, param) => {
    const put = { ...SPEC, ...fields };
    expect(decideMemberPut(put, MEMBERSHIP, NOW, [right])).toMatchObject({
      refused: { code: 'operator_forbidden', param },
    });
    const other = right === 'keys' ? 'money' : 'keys';
    expect(codeOf(decideMemberPut(put, MEMBERSHIP, NOW, [other]))).toBe('accepted');
  });

  test('decideMemberPut() takes what stays and a lower role without permissions', () => {
    const admin = { ...MEMBERSHIP, member: { ...MEMBER, role: 'admin' as const } };
    for (const membership of [MEMBERSHIP, admin])
      expect(codeOf(decideMemberPut(SPEC, membership, NOW, ['keys', 'money']))).toBe('accepted');
  });

  test('an address is verified once and stays so', () => {
    const verified = { ...MEMBERSHIP, user: { ...MEMBERSHIP.user, emailVerified: true } };
    expect(decideMemberPut({ ...SPEC, emailVerified: true }, MEMBERSHIP, NOW)).toMatchObject({ verify: true });
    expect(decideMemberPut({ ...SPEC, emailVerified: true }, verified, NOW)).toMatchObject({ verify: false });
    expect(decideMemberPut(SPEC, verified, NOW)).toMatchObject({ verify: false });
  });

  test.each([
    ['another address', { email: 'eve@example.com' }, MEMBERSHIP, 'state_conflict', 'email'],
    ['a member as owner', { role: 'owner' }, MEMBERSHIP, 'state_conflict', 'role'],
    ['the owner as admin', { role: 'admin' }, OWNER, 'state_conflict', 'role'],
  ] as const)('%s is refused', (_name, more, membership, code, param) => {
    expect(decideMemberPut({ ...SPEC, ...more }, membership, NOW)).toMatchObject({ refused: { code, param } });
  });

  test("the owner's cap can change", () => {
    const put = decideMemberPut({ ...SPEC, role: 'owner', monthlySpendCapUsd: '7' }, OWNER, NOW);
    expect(put).toMatchObject({ member: { role: 'owner', capNanoUsd: 7_000_000_000n, version: NOW } });
  });
});

test.each([
  ['a member without keys', MEMBER, 0, 'accepted'],
  ['a member with a key', MEMBER, 1, 'in_use'],
  ['the owner', OWNER.member, 0, 'state_conflict'],
] as const)('%s leaves', (_name, member, keys, expected) => {
  expect(codeOf(refuseMemberDelete(member, keys))).toBe(expected);
});
