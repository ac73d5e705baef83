import { z } from 'zod';
import { modelId, month, objectId } from '../messages/scalars.js';

export { modelId, month, objectId };

/** A decimal string of USD with at most nine places; a JSON number is refused, because it cannot be exact. */
export const usd = z
  .string()
  .regex(/^-?\d{1,7}(\.\d{1,9})?$/, 'a decimal string of USD such as "12.50", at most nine places');
export const usdPositive = z
  .string()
  .regex(/^\d{1,7}(\.\d{1,9})?$/, 'a non-negative decimal string of USD such as "12.50", at most nine places');
/** A cap: null is no cap, zero is refused. */
export const usdCap = usdPositive.refine(
  (text) => /[1-9]/.test(text),
  'a cap must be above zero; leave it out for no cap',
);
/** RFC 3339 UTC. */
export const time = z.iso.datetime();
export const label = z.string().trim().min(1).max(200);
export const email = z.email().max(320);
