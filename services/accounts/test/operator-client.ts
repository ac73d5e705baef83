import { randomBytes } from 'node:crypto';
import type { Bus } from '@gateway/bus';
import { digestOfSecret, makeSecret, maskSecret } from '@gateway/contracts/ids';
import {
  accountsAudit,
  accountsCreateAccount,
  accountsCreateKey,
  accountsCreateMember,
  accountsRotateKey,
  accountsSetKeyState,
  type CommandAuthor,
} from '@gateway/contracts/messages';
import type {
  AccountView,
  AuditEntryView,
  KeyView,
  ManagementRefusal,
  MemberCreate,
  MemberView,
} from '@gateway/contracts/operator';
import { expect } from '@jest/globals';

/** Author of test commands. */
export const AUTHOR: CommandAuthor = {
  actor: 'operator:test',
  origin: { client: '192.0.2.1', agent: 'tests', requestId: 'req_test' },
};
const PEPPER = 'a pepper for tests';

export interface SecretParts {
  readonly digest: string;
  readonly maskedSecret: string;
}

/** Returns the digest and the masked form that the dashboard sends of a new secret. */
export function secretParts(secret = makeSecret('mgw_live_')): SecretParts {
  return { digest: digestOfSecret(secret, PEPPER), maskedSecret: maskSecret(secret) };
}

export const randomEmail = (): string => `${randomBytes(6).toString('hex')}@example.com`;

export const refused = (code: string, param: string | null = null) => ({
  refused: expect.objectContaining({ code, param }),
});

/** Returns a response that is not a refusal, else throws. */
export function accepted<T extends object>(answer: T | ManagementRefusal): T {
  if ('refused' in answer) throw new Error(JSON.stringify(answer));
  return answer;
}

/** Creates a client that sends the most used requests of the dashboard. */
export function operatorClient(dashboard: Bus) {
  const putKey = (account: string, spec: object = {}, parts = secretParts(), command?: string) =>
    dashboard.request(accountsCreateKey, {
      account,
      spec: { name: 'A key', ...spec },
      ...parts,
      author: AUTHOR,
      command,
    });
  return {
    putKey,
    async makeAccount(
      more: { email?: string; emailVerified?: boolean; type?: 'team' | 'personal' } = {},
    ): Promise<AccountView> {
      const spec = { name: 'An account', email: randomEmail(), emailVerified: true, ...more };
      return accepted(await dashboard.request(accountsCreateAccount, { spec, author: AUTHOR })).account;
    },
    async makeKey(account: string, spec: object = {}, parts = secretParts()): Promise<KeyView> {
      return accepted(await putKey(account, spec, parts)).key;
    },
    rotate: (key: string, parts = secretParts(), command?: string) =>
      dashboard.request(accountsRotateKey, { key, ...parts, author: AUTHOR, command }),
    setState: (key: string, verb: 'revoke' | 'suspend' | 'reinstate') =>
      dashboard.request(accountsSetKeyState, { key, verb, author: AUTHOR }),
    async makeMember(account: string, more: Partial<MemberCreate> = {}): Promise<MemberView> {
      const spec = { email: randomEmail(), emailVerified: true, ...more };
      return accepted(await dashboard.request(accountsCreateMember, { account, spec, author: AUTHOR })).member;
    },
    async audit(filter: { account?: string; object?: string }, limit = 200): Promise<AuditEntryView[]> {
      const { account = null, object = null } = filter;
      return accepted(await dashboard.request(accountsAudit, { account, object, cursor: null, limit })).entries;
    },
  };
}
export type OperatorClient = ReturnType<typeof operatorClient>;
