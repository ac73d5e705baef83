import type { z } from 'zod';
import { memberCreate, memberPut, memberView } from '../operator/accounts.js';

/** A person who is invited by mail; only the mail proves an address. */
export const invitation = memberCreate.omit({ emailVerified: true });
export type Invitation = z.input<typeof invitation>;

/**
 * A member as the account sees it: whether an address is verified is its owner's matter, in
 * whatever account.
 */
export const pageMember = memberView.omit({ emailVerified: true });
export type PageMember = z.infer<typeof pageMember>;

/** Role and cap of a member; the address stays. */
export const pageMemberPut = memberPut.pick({ role: true, monthlySpendCapUsd: true });
export type PageMemberPut = z.input<typeof pageMemberPut>;
