import { z } from 'zod';
import { modelId, month, objectId } from '../messages/scalars.js';

export { modelId, month, objectId };

/** At most 9,000,000 (`WIRE_NANO_USD_MAX`), with at most nine places. */
const AMOUNT = '(?:[0-8]?[0-9]{1,6}(?:[.][0-9]{1,9})?|9000000(?:[.]0{1,9})?)';
const AMOUNT_TEXT = 'decimal string of USD such as "12.50", at most nine places and 9,000,000';
const NOT_ZERO = '(?=.*[1-9])';

/** A decimal string of USD; a JSON number is refused, because it cannot be exact. */
export const usdPositive = z.string().regex(new RegExp(`^${AMOUNT}$`), `a non-negative ${AMOUNT_TEXT}`);
/** An amount that is moved in either direction: not zero. */
export const usdMoved = z.string().regex(new RegExp(`^${NOT_ZERO}-?${AMOUNT}$`), `a ${AMOUNT_TEXT}, other than zero`);
/** A cap: null is no cap, zero is refused. */
export const usdCap = z
  .string()
  .regex(new RegExp(`^${NOT_ZERO}${AMOUNT}$`), `a ${AMOUNT_TEXT}, above zero; leave it out for no cap`);

/** RFC 3339 UTC. */
export const time = z.iso.datetime();
/** A time that somebody sends, from 1970 on: times travel as epoch milliseconds that are not negative. */
export const instant = time.regex(/^(?:19[7-9]|[2-9][0-9]{2})/, 'a time in UTC from 1970 on');

/**
 * Characters that no text of ours holds: controls (PostgreSQL stores no U+0000, the others break lists and mails), halves of
 * surrogate pairs, line separators and byte order marks.
 */
const UNSTORABLE = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\ufeff\\ud800-\\udfff';
const UNSTORABLE_TEXT = 'without control characters and halves of characters';
/** Free text on one line, of 1 to `charsMax` code points, kept as it is sent. */
export function lineOfText(charsMax: number) {
  const form = new RegExp(`^[^${UNSTORABLE}]{1,${charsMax}}$`, 'u');
  return z.string().regex(form, `1 to ${charsMax} characters, ${UNSTORABLE_TEXT}`);
}
const LABEL_CHARS_MAX = 200;
/** A name or a reason: one line of 1 to 200 code points that are not all blank, kept without blanks around it. */
export const label = z
  .string()
  .regex(
    new RegExp(`^(?=.*[^\\s])[^${UNSTORABLE}]{1,${LABEL_CHARS_MAX}}$`, 'u'),
    `1 to ${LABEL_CHARS_MAX} characters, not all blank, ${UNSTORABLE_TEXT}`,
  )
  .trim();
export const email = z.email().max(320);
