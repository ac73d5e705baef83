import {
  KEY_TERMS,
  pickFields,
  refuse,
  type KeyCreate,
  type KeyTerms,
  type ManagementRefusal,
} from '@gateway/contracts/operator';
import { accountClosed, readCap, type Account, type ApiKey, type Funding, type Membership } from '../base/rules.js';

export interface KeyInput {
  /** Null: the account does not exist. */
  readonly account: Account | null;
  /** The future owner of the key. Null: the member does not exist. */
  readonly membership: Membership | null;
  /** Keys of the account that count toward its maximum. */
  readonly activeKeys: number;
  readonly funding: Funding;
}

/** The fields of a new key that the spec determines. */
export type NewKeyTerms = Pick<ApiKey, 'member' | 'name' | 'capNanoUsd' | 'expiresAt' | keyof KeyTerms>;

/** Applies the specification's key rules 1 and 3 in order, after checking the request. */
export function decideNewKey(spec: KeyCreate, input: KeyInput, nowMs: number): NewKeyTerms | ManagementRefusal {
  const { account, membership, funding } = input;
  const cap = capOf(spec, funding);
  const expiresAt = spec.expiresAt === null || spec.expiresAt === undefined ? null : Date.parse(spec.expiresAt);
  if (expiresAt !== null && expiresAt <= nowMs)
    return refuse('invalid_request', 'expiresAt must be in the future', 'expiresAt');
  if (!account) return refuse('not_found', 'there is no such account');
  if (account.state === 'closed') return accountClosed();
  if (!membership) return refuse('not_found', 'the account has no such member', 'memberId');
  if (account.state === 'suspended') return refuse('state_conflict', 'the account is suspended');
  if (!membership.user.emailVerified)
    return refuse('email_not_verified', `the email address ${membership.user.email} is not verified yet`);
  if (!funding.planActive && (funding.walletNanoUsd ?? 0n) <= 0n)
    return refuse('no_funding', 'a key needs an active plan or a positive wallet balance');
  if (input.activeKeys >= funding.activeKeysMax)
    return refuse(
      'key_limit_reached',
      `the account has ${input.activeKeys} keys of at most ${funding.activeKeysMax}; revoke one first`,
    );
  return {
    member: membership.member.id,
    name: spec.name,
    capNanoUsd: cap,
    expiresAt,
    ...pickFields(KEY_TERMS, spec),
    allowedModels: allowedModelsOf(spec),
  };
}

/**
 * Returns the cap, or the plan's current default if it is absent. Later changes of the plan do not
 * change the key.
 */
function capOf(spec: KeyCreate, funding: Funding): bigint | null {
  const cap = readCap(spec.monthlySpendCapUsd);
  if (cap !== null) return cap;
  return funding.defaultKeyCapNanoUsd === 0n ? null : funding.defaultKeyCapNanoUsd;
}

function allowedModelsOf({ allowedModels }: KeyCreate): string[] | null {
  return allowedModels && allowedModels.length > 0 ? [...new Set(allowedModels)] : null;
}
