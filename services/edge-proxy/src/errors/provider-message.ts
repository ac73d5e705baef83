/** Characters of a provider's text that reach the client (docs/behaviour.md#failover). */
export const PROVIDER_MESSAGE_LENGTH_MAX = 2_000;
/** Characters that are cleaned; what lies behind them could not be shown anyway. */
export const CLEANED_LENGTH_MAX = 4_000;
/** Characters that are read of a text before its runs of spaces are one. */
const KNOWN_LENGTH_MAX = 64 * 1024;
/**
 * A run of characters of that length, with a part of that length, is taken for a secret or an id.
 */
const OPAQUE_LENGTH_MIN = 24;
const OPAQUE_PART_MIN = 12;

const REMOVED = '[removed]';

/** What is removed, in this order: the wider form before the narrower one inside it. */
const REMOVALS: readonly RegExp[] = [
  // addresses with a scheme
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>`]+/gi,
  /\bwww\.[^\s"'<>`]+/gi,
  /[a-z0-9._%+-]{1,64}@[a-z0-9.-]{1,255}\.[a-z]{2,24}\b/gi,
  // host names, of providers and of machines inside
  /\b(?:[a-z0-9_-]{1,63}\.){1,8}(?:com|net|org|io|ai|dev|cloud|co|app|eu|us|uk|de|fr|cn|local|internal|svc|lan)\b(?::\d{1,5})?(?:\/[^\s"'<>`]*)?/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /\blocalhost(?::\d{1,5})?\b/gi,
  /(?:\b[0-9a-f]{1,4}:){3,7}(?::?[0-9a-f]{1,4})+/gi,
  // headers and assignments
  /\b(?:bearer|basic) [^\s"'<>`,;]{4,}/gi,
  /\b(?:api[ _-]?key|access[ _-]?key|secret(?:[ _-]?key)?|auth(?:orization)?|access[ _-]?token|token|password|passwd|credential)s?(?: provided)?["']? ?[:=] ?["']?(?!\d+\b)[^\s"'<>`,;]{4,}/gi,
  // keys by their makers' prefixes, also masked ones (sk-ab****cd)
  /\b(?:sk|xai|pplx|gsk|hf|nvapi|ghp|gho|glpat|xox[abprs])[-_][a-z0-9_*.…-]{4,}/gi,
  /\b[a-z0-9]{2,16}_(?:live|test)_[a-z0-9_*]{4,}/gi,
  /\bAIza[a-z0-9_*-]{4,}/gi,
  /\b(?:AKIA|ASIA)[A-Z0-9*]{4,}/g,
  /\beyJ[a-z0-9_-]{4,}(?:\.[a-z0-9_-]{0,4000}){0,2}/gi,
  // organisations, projects, accounts
  /\b(?:organi[sz]ation|project|tenant|workspace|subscription|deployment)s?(?: id)? ?[:=]? ["'`]?(?=[a-z0-9_-]{0,64}\d)[a-z0-9_-]{4,64}\b["'`]?/gi,
  /\barn:aws[a-z-]*:[^\s"'<>`,;]+/gi,
  /\b(?:projects|organizations|subscriptions|resourceGroups|accounts|tenants)\/[^\s"'<>`,;]+/gi,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
];

/**
 * Prefixes of ids and keys that are also beginnings of ordinary names (`user_location`): only what
 * looks random goes.
 */
const PREFIXED =
  /\b(?:org|organi[sz]ation|proj|project|user|acct|account|tenant|team|workspace|ws|cus|req|request|key|tok|pk|rk|r8|fw|csk|sess|ek|live|test)[-_]([a-z0-9_*-]{6,})/gi;

/**
 * A provider's text without what must not leave the gateway: credentials, addresses, organisation
 * ids, control characters; at most {@link PROVIDER_MESSAGE_LENGTH_MAX} characters. Rather too much
 * is removed than too little. Takes time that grows with the text's length only: runs of spaces are
 * one space before anything is looked for, and every expression is bounded.
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

/** Cuts before the last word that might be cut itself: half a key is no longer known as one. */
function cutAtSpace(text: string, isCut: boolean): string {
  if (text.length <= CLEANED_LENGTH_MAX && !isCut) return text;
  const space = text.lastIndexOf(' ', CLEANED_LENGTH_MAX);
  return space < 0 ? '' : text.slice(0, space);
}

/** Digits, a mask, or mixed case: no name that a person gave. */
function looksRandom(text: string): boolean {
  return /[0-9*]/.test(text) || (/[A-Z]/.test(text) && /[a-z]/.test(text)) || text.length >= OPAQUE_LENGTH_MIN;
}

/** A long run with a long part of letters and digits mixed; names of models have short parts. */
function isOpaque(run: string): boolean {
  if (run.length < OPAQUE_LENGTH_MIN) return false;
  return run.split(/[-_/]/).some((part) => part.length >= OPAQUE_PART_MIN && /\d/.test(part) && /[A-Za-z]/.test(part));
}
