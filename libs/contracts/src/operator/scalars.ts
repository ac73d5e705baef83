import { z } from 'zod';
import { modelId, month, objectId } from '../messages/scalars.js';

export { modelId, month, objectId };

// Patterns appear in the public documents. Digits are [0-9], because languages interpret the class
// of digits differently.

/** Decimal places of an amount. Amounts are at most 9,000,000 (`WIRE_NANO_USD_MAX`). */
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

/** A decimal string of USD. A JSON number is refused, because it cannot be exact. */
export const usdPositive = z.string().regex(new RegExp(`^${AMOUNT}$`), `a non-negative ${AMOUNT_TEXT}`);
/** A non-zero amount in either direction. */
export const usdMoved = z.string().regex(new RegExp(`^-?${ABOVE_ZERO}$`), `a ${AMOUNT_TEXT}, other than zero`);
/** A cap. Null means no cap, and zero is refused. */
export const usdCap = z
  .string()
  .regex(new RegExp(`^${ABOVE_ZERO}$`), `a ${AMOUNT_TEXT}, above zero; leave it out for no cap`);

/** The form of {@link externalId}. */
export const EXTERNAL_ID_FORM = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
/**
 * A stable name that an operator gives to an account or a key: a DNS label, so that it is never a
 * generated ID. It is kept after the account was closed, so it should not name a person.
 */
export const externalId = z
  .string()
  .regex(new RegExp(`^${EXTERNAL_ID_FORM}$`), '1 to 63 lower-case letters, digits and -, as in a DNS label');

/** RFC 3339 UTC. */
export const time = z.iso.datetime();
const YEAR = '(?:19[7-9][0-9]|[2-9][0-9]{3})';
const LEAP_YEAR =
  '(?:19(?:7[26]|8[048]|9[26])|[2-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[3579][26])00)';
const DAY_OF_YEAR =
  '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))';
const TIME_OF_DAY = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:[.][0-9]{1,9})?';
/** A time from a client, from 1970 on, because messages have non-negative epoch milliseconds. */
export const instant = z
  .string()
  .regex(
    new RegExp(`^(?:${YEAR}-${DAY_OF_YEAR}|${LEAP_YEAR}-02-29)T${TIME_OF_DAY}Z$`),
    'a time in UTC from 1970 on, such as 2026-01-31T12:00:00Z',
  );

/**
 * Characters that are refused in all texts: control characters (PostgreSQL cannot store U+0000,
 * others break lists and emails), line separators and byte order marks. Unpaired surrogates are
 * refused too, but a pattern cannot express that for every language.
 */
const REFUSED_CHARACTERS = '\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029\\ufeff';
const STORABLE_TEXT = 'without control characters and halves of characters';
/** Creates the schema of one line of text with 1 to `charsMax` characters (UTF-16), unchanged. */
export function lineOfText(charsMax: number) {
  return storable(`[^${REFUSED_CHARACTERS}]+`, charsMax, `1 to ${charsMax} characters, ${STORABLE_TEXT}`);
}
const LABEL_CHARS_MAX = 200;
/** The storable characters of `\s`. Only they may precede the first other character. */
const BLANKS = ' \\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000';
/**
 * A name or a reason: one line of 1 to 200 characters (UTF-16) that are not all blank. Blanks
 * around it are removed.
 */
export const label = storable(
  `[${BLANKS}]*[^\\s${REFUSED_CHARACTERS}][^${REFUSED_CHARACTERS}]*`,
  LABEL_CHARS_MAX,
  `1 to ${LABEL_CHARS_MAX} characters, not all blank, ${STORABLE_TEXT}`,
).trim();

/**
 * Creates a text schema. It stops at the first failed rule, so that no pattern is applied to a text
 * that is too long.
 */
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
 * An address with at most 64 characters before the @ (RFC 5321, 4.5.3.1.1) and 320 in total. The
 * schema has only a pattern and no `format`, because readers of the document define an email
 * address differently.
 */
export const email = z.string().max(320, { abort: true }).regex(new RegExp(EMAIL), 'not an email address');
