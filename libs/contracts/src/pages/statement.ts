import { z } from 'zod';
import { statementView } from '../operator/money.js';
import { month } from '../operator/scalars.js';

export const pageStatementQuery = z.object({ month });

const { byKey, byMember } = statementView.shape;
/** What people call it: the name of a key, the address of a member, also of those that are gone. */
const label = z.string();

/** A statement with the names that people know. */
export const pageStatement = statementView.extend({
  byKey: z.array(byKey.element.extend({ label })),
  byMember: z.array(byMember.element.extend({ label })),
});
export type PageStatement = z.infer<typeof pageStatement>;
