import type { z } from 'zod';
import { memberCreate, memberPut } from '../operator/accounts.js';

/** A person who is invited by mail; only the mail proves an address. */
export const invitation = memberCreate.omit({ emailVerified: true });
export type Invitation = z.input<typeof invitation>;

/** Role and cap of a member; the address stays. */
export const pageMemberPut = memberPut.pick({ role: true, monthlySpendCapUsd: true });
export type PageMemberPut = z.input<typeof pageMemberPut>;
