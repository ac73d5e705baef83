import { makeCall } from './contract-situation.js';
import type { ErrorSituation } from './contract-situation.js';

const forbidden = { status: 403, type: 'permission_denied_error', messagesType: 'permission_error' };
const unpaid = { status: 402, type: 'insufficient_quota', messagesType: 'billing_error', billing: true } as const;

/** Refusals because the request is not funded. */
export const MONEY_REFUSALS: readonly ErrorSituation[] = [
  {
    expected: { ...forbidden, code: 'monthly_spend_cap_exceeded', billing: true },
    arrange: async (world) => {
      const { secret } = await world.operator.account('1.00', { capUsd: '0.009999999' });
      return makeCall(secret, world.model.id);
    },
  },
  {
    expected: { ...forbidden, code: 'tier_permission_denied', billing: true },
    arrange: async (world) => {
      const other = await world.makeModel();
      const { account, secret } = await world.operator.account('1.00');
      await world.operator.credit(account, '-1.00');
      await world.subscribe(account, { models: [other.id] });
      return makeCall(secret, world.model.id);
    },
  },
  {
    expected: { ...unpaid, code: 'insufficient_credits' },
    arrange: async (world) => makeCall((await world.operator.account('0.009999999')).secret, world.model.id),
  },
  {
    expected: { ...unpaid, code: 'no_funding' },
    arrange: async (world) => {
      const { account, secret } = await world.operator.account('1.00');
      await world.operator.credit(account, '-1.00');
      return makeCall(secret, world.model.id);
    },
  },
  {
    expected: { ...unpaid, code: 'outstanding_debt' },
    arrange: async (world) => {
      const { account, secret } = await world.operator.account('1.00');
      await world.operator.credit(account, '-1.000000001');
      return makeCall(secret, world.model.id);
    },
  },
  {
    expected: { ...unpaid, code: 'member_cap_reached' },
    arrange: async (world) => {
      const team = await world.teamAccount();
      await world.operator.credit(team.id, '1.00');
      const { secret } = await world.operator.key(team.id);
      await world.capOwner(team, '0.009999999');
      return makeCall(secret, world.model.id);
    },
  },
];
