import { z } from 'zod';
import { modelId, month, objectId } from '../messages/scalars.js';

export { modelId, month, objectId };

// Patterns stand in the public documents: digits are [0-9], because languages read the class of
// digits in different ways.

/** At most 9,000,000 (`WIRE_NANO_USD_MAX`), with at most nine places. */
const PLACES_MAX = 9;
const PLACES = `(?:[.][0-9]{1,${PLACES_MAX}})?`;
const WHOLE_ABOVE_ZERO = '(?:[1-9][0-9]{0,5}|[1-8][0-9]{6})';
const MOST = `9000000(?:[.]0{1,${PLACES_MAX}})?`;
const BELOW_ONE = Array.from(
  { length: PLACES_MAX },
  (_, zeros) => `0{${zeros}}[1-9][0-9]{0,${PLACES_MAX - 1 - zeros}}`,
);
const ABOVE_ZERO = `(?:${WHOLE_ABOVE_ZERO}${PLACES}|0[.](?:${BELOW_ONE.join('|')})|${MOST})`;
const AMOUNT = `(?:(?:0|${WHOLE_ABOVE_ZERO})${PLACES}|${MOST})`;
const AMOUNT_TEXT = 'decimal string of USD such as "12.50", at most nine places and 9,000,000';

/** A decimal string of USD; a JSON number is refused, because it cannot be exact. */
export const usdPositive = z.string().regex(new RegExp(`^${AMOUNT}$`), `a non-negative ${AMOUNT_TEXT}`);
/** An amount that is moved in either direction: not zero. */
export const usdMoved = z.string().regex(new RegExp(`^-?${ABOVE_ZERO}$`), `a ${AMOUNT_TEXT}, other than zero`);
/** A cap: null is no cap, zero is refused. */
export const usdCap = z
  .string()
  .regex(new RegExp(`^${ABOVE_ZERO}$`), `a ${AMOUNT_TEXT}, above zero; leave it out for no cap`);

/** RFC 3339 UTC. */
export const time = z.iso.datetime();
const YEAR = '(?:19[7-9][0-9]|[2-9][0-9]{3})';
const LEAP_YEAR =
  '(?:19(?:7[26]|8[048]|9[26])|[2-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[3579][26])00)';
const DAY_OF_YEAR =
  '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))';
const TIME_OF_DAY = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{1,9})?';
/**
 * A time that somebody sends, from 1970 on: times travel as epoch milliseconds that are not
 * negative.
 */
export const instant = z
  .string()
  .regex(
    new RegExp(`^(?:${YEAR}-${DAY_OF_YEAR}|${LEAP_YEAR}-02-29)T${TIME_OF_DAY}Z$`),
    'a time in UTC from 1970 on, such as 2026-01-31T12:00:00Z',
  );

/**
 * Characters that no text of ours holds: controls (PostgreSQL stores no U+0000, the others break
 * lists and mails), line separators and byte order marks. Halves of surrogate pairs are refused
 * too; a pattern cannot say so for every reader of the document.
 */
const UNSTORABLE = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\ufeff';
const UNSTORABLE_TEXT = 'without control characters and halves of characters';
/** Free text on one line, of 1 to `charsMax` characters (UTF-16), kept as it is sent. */
export function lineOfText(charsMax: number) {
  return storable(`[^${UNSTORABLE}]+`, charsMax, `1 to ${charsMax} characters, ${UNSTORABLE_TEXT}`);
}
const LABEL_CHARS_MAX = 200;
/** The characters of `\s` that can be stored. Nothing else may precede the first other one. */
const BLANKS = ' \\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000';
/**
 * A name or a reason: one line of 1 to 200 characters (UTF-16) that are not all blank, kept without
 * blanks around it.
 */
export const label = storable(
  `[${BLANKS}]*[^\\s${UNSTORABLE}][^${UNSTORABLE}]*`,
  LABEL_CHARS_MAX,
  `1 to ${LABEL_CHARS_MAX} characters, not all blank, ${UNSTORABLE_TEXT}`,
).trim();

/** Stops at the first rule that refuses: no pattern runs over a text that is too long. */
function storable(form: string, charsMax: number, message: string) {
  return z
    .string()
    .max(charsMax, { abort: true, message })
    .regex(new RegExp(`^${form}$`), { abort: true, message })
    .refine((text) => !/\p{Surrogate}/u.test(text), message);
}
const EMAIL =
  "^(?!\\.)(?!.*\\.\\.)[A-Za-z0-9_'+.-]{0,63}[A-Za-z0-9_+-]@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z]{2,63}$";
/**
 * An address with at most 64 characters before the @ (RFC 5321, 4.5.3.1.1), and 320 in all. The
 * pattern alone is the rule, and no `format` stands beside it: readers of the document differ in
 * what an email address is.
 */
export const email = z.string().max(320, { abort: true }).regex(new RegExp(EMAIL), 'not an email address');
