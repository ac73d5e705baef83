/** The scripts beside `src`, by file name. */
export const SCRIPT_NAMES = [
  'admit',
  'release',
  'apply',
  'due',
  'sweep',
  'beat',
  'create',
  'token',
  'replace',
  'lease',
  'read',
  'list',
  'take',
  'summary',
  'confirm',
] as const;
export type ScriptName = (typeof SCRIPT_NAMES)[number];

/** One run of a script. The limit store puts run id and clock offset before the arguments. */
export interface ScriptCall {
  readonly script: ScriptName;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/**
 * Every script answers a list of texts: its state or outcome, Redis time in ms, then what the
 * outcome has.
 */
export type ScriptReply = readonly string[];

/** Redis time of a reply in milliseconds. */
export function timeOfReply(reply: ScriptReply): number {
  return Number(reply[1]);
}
