import type { z } from 'zod';
import { memberCreate, memberPut, memberView } from '../operator/accounts.js';

/** An invitation by email. Only the email verifies an address. */
export const invitation = memberCreate.omit({ emailVerified: true });
export type Invitation = z.input<typeof invitation>;

/**
 * A member in the account's list. It omits whether the address is verified, because that concerns
 * the user and not the account.
 */
export const pageMember = memberView.omit({ emailVerified: true });
export type PageMember = z.infer<typeof pageMember>;

/** New role and cap of a member. The address cannot change. */
export const pageMemberPut = memberPut.pick({ role: true, monthlySpendCapUsd: true });
export type PageMemberPut = z.input<typeof pageMemberPut>;
