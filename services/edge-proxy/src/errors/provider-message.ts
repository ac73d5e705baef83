/** Maximum length of a provider's text in a client's error (docs/behaviour.md#failover). */
export const PROVIDER_MESSAGE_LENGTH_MAX = 2_000;
/** Characters that are cleaned. Text after them would not be shown. */
export const CLEANED_LENGTH_MAX = 4_000;
/** Characters that are read before runs of spaces are merged. */
const KNOWN_LENGTH_MAX = 64 * 1024;
/**
 * A run of at least this many characters, with a part of at least that many, counts as a secret or
 * an ID.
 */
const OPAQUE_LENGTH_MIN = 24;
const OPAQUE_PART_MIN = 12;

const REMOVED = '[removed]';

/** Patterns to remove, in this order: a wider pattern comes before a narrower one inside it. */
const REMOVALS: readonly RegExp[] = [
  // addresses with a scheme
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>`]+/gi,
  /\bwww\.[^\s"'<>`]+/gi,
  /[a-z0-9._%+-]{1,64}@[a-z0-9.-]{1,255}\.[a-z]{2,24}\b/gi,
  // host names of providers and internal machines
  /\b(?:[a-z0-9_-]{1,63}\.){1,8}(?:com|net|org|io|ai|dev|cloud|co|app|eu|us|uk|de|fr|cn|local|internal|svc|lan)\b(?::\d{1,5})?(?:\/[^\s"'<>`]*)?/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /\blocalhost(?::\d{1,5})?\b/gi,
  /(?:\b[0-9a-f]{1,4}:){3,7}(?::?[0-9a-f]{1,4})+/gi,
  // headers and assignments
  /\b(?:bearer|basic) [^\s"'<>`,;]{4,}/gi,
  /\b(?:api[ _-]?key|access[ _-]?key|secret(?:[ _-]?key)?|auth(?:orization)?|access[ _-]?token|token|password|passwd|credential)s?(?: provided)?["']? ?[:=] ?["']?(?!\d+\b)[^\s"'<>`,;]{4,}/gi,
  // keys with the prefixes of their issuers, also masked ones (sk-ab****cd)
  /\b(?:sk|xai|pplx|gsk|hf|nvapi|ghp|gho|glpat|xox[abprs])[-_][a-z0-9_*.…-]{4,}/gi,
  /\b[a-z0-9]{2,16}_(?:live|test)_[a-z0-9_*]{4,}/gi,
  /\bAIza[a-z0-9_*-]{4,}/gi,
  /\b(?:AKIA|ASIA)[A-Z0-9*]{4,}/g,
  /\beyJ[a-z0-9_-]{4,}(?:\.[a-z0-9_-]{0,4000}){0,2}/gi,
  // organizations, projects, accounts
  /\b(?:organi[sz]ation|project|tenant|workspace|subscription|deployment)s?(?: id)? ?[:=]? ["'`]?(?=[a-z0-9_-]{0,64}\d)[a-z0-9_-]{4,64}\b["'`]?/gi,
  /\barn:aws[a-z-]*:[^\s"'<>`,;]+/gi,
  /\b(?:projects|organizations|subscriptions|resourceGroups|accounts|tenants)\/[^\s"'<>`,;]+/gi,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
];

/**
 * Prefixes of IDs and keys that ordinary names have too (`user_location`). The name is removed only
 * if its other part looks random.
 */
const PREFIXED =
  /\b(?:org|organi[sz]ation|proj|project|user|acct|account|tenant|team|workspace|ws|cus|req|request|key|tok|pk|rk|r8|fw|csk|sess|ek|live|test)[-_]([a-z0-9_*-]{6,})/gi;

/**
 * Removes from a provider's text everything that must not leave the gateway: credentials,
 * addresses, organization IDs, control characters. Returns at most {@link
 * PROVIDER_MESSAGE_LENGTH_MAX} characters. In doubt, a part is removed. The time is linear in the
 * text's length: runs of spaces are merged first, and every expression is bounded.
 */
export function cleanMessage(message: string): string {
  const known = message.slice(0, KNOWN_LENGTH_MAX);
  let text = cutAtSpace(known.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' '), message.length > known.length);
  for (const removal of REMOVALS) text = text.replace(removal, REMOVED);
  text = text.replace(PREFIXED, (whole, rest: string) => (looksRandom(rest) ? REMOVED : whole));
  text = text.replace(/[^\s"'<>`,;]+/g, (run) => (run.includes('***') ? REMOVED : run));
  text = text.replace(/[A-Za-z0-9+/_=-]+/g, (run) => (isOpaque(run) ? REMOVED : run));
  text = text
    .replace(/(?:\[removed\]){2,}/g, REMOVED)
    .replace(/ {2,}/g, ' ')
    .trim();
  return Array.from(text).slice(0, PROVIDER_MESSAGE_LENGTH_MAX).join('');
}

/** Cuts before the last word that may be incomplete: half a key is not recognized as a key. */
function cutAtSpace(text: string, isCut: boolean): string {
  if (text.length <= CLEANED_LENGTH_MAX && !isCut) return text;
  const space = text.lastIndexOf(' ', CLEANED_LENGTH_MAX);
  return space < 0 ? '' : text.slice(0, space);
}

/**
 * Returns whether a text has digits, a mask or mixed case, which names chosen by people rarely
 * have.
 */
function looksRandom(text: string): boolean {
  return /[0-9*]/.test(text) || (/[A-Z]/.test(text) && /[a-z]/.test(text)) || text.length >= OPAQUE_LENGTH_MIN;
}

/**
 * Returns whether a run of characters could be a key: it is long, and one of its parts is long and
 * has letters and digits. The parts of model names are short.
 */
function isOpaque(run: string): boolean {
  if (run.length < OPAQUE_LENGTH_MIN) return false;
  return run.split(/[-_/]/).some((part) => part.length >= OPAQUE_PART_MIN && /\d/.test(part) && /[A-Za-z]/.test(part));
}
