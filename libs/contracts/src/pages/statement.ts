import { z } from 'zod';
import { statementView } from '../operator/money.js';
import { month } from '../operator/scalars.js';

export const pageStatementQuery = z.object({ month });

const { byKey, byMember } = statementView.shape;
/** Readable name: the name of a key, or the address of a member, also if it was deleted. */
const label = z.string();

/** A statement with readable names. */
export const pageStatement = statementView.extend({
  byKey: z.array(byKey.element.extend({ label })),
  byMember: z.array(byMember.element.extend({ label })),
});
export type PageStatement = z.infer<typeof pageStatement>;
