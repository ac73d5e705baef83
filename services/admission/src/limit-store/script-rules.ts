type WordsOf<T extends string> = T extends `${infer First} ${infer Rest}` ? First | WordsOf<Rest> : T;

/** Returns the words of all lines in their order. */
function words<T extends string>(...lines: readonly T[]): readonly WordsOf<T>[] {
  return lines.flatMap((line) => line.split(' ')) as WordsOf<T>[];
}

/** The scripts in the folder `lua`, by file name. */
export const SCRIPT_NAMES = words(
  'admit release apply due sweep heartbeat create set-epoch replace lease read list take summary confirm',
);
export type ScriptName = (typeof SCRIPT_NAMES)[number];

/** One run of a script. The limit store inserts run ID and clock offset before the arguments. */
export interface ScriptCall {
  readonly script: ScriptName;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Each script returns a list of texts: state or outcome, Redis time in ms, then further values. */
export type ScriptReply = readonly string[];

/** Returns the Redis time of a reply in milliseconds. */
export function readReplyTime(reply: ScriptReply): number {
  return Number(reply[1]);
}

/**
 * Positions of keys, arguments and fields of the scripts: one table for both sides. TypeScript
 * writes values by these names ({@link toArguments}). The scripts read them by the same names in
 * snake case, like `ADMIT.key_cap` ({@link listLuaPositions}).
 */
export const POSITIONS = {
  /**
   * Keys of a call. Scripts for a bucket take the first three, scripts for an account take more.
   */
  KEY: ['epoch', 'due', 'unsettled', 'account', 'holds', 'keyRecord', 'texts'],
  /** The first arguments of every run. The arguments of the script follow. */
  RUN: ['runId', 'clockOffset'],
  /** Followed by the windows, each as one text, and the fields from `ADMIT_FIELD.key` on. */
  ADMIT: words(
    'mode isCounted account id idTime validFrom validUntil keyVersion termsVersion keyRefusal',
    'minutePrefix requestsPerMinute factRefusal funding concurrency worst least shape shapeText',
    'edge leaseMs expiryMs monthStart keyCap keyMonthRow memberMonthRow allotment session windows',
  ),
  /** Fields of an account, read at once. Two more follow for each window and for the allotment. */
  ADMIT_FIELD: words(
    'loadedUnder loadedAt state slots termsVersion session latest renewedAt wallet heldOfWallet',
    'heldOfPlan key references member keyMonth heldOfKey memberMonth heldOfMember',
  ),
  RELEASE: ['account', 'id', 'idTime', 'outcome', 'amount', 'callEpoch'],
  /** Follows `RELEASE` when a lost hold may be created. */
  RELEASE_HOLD: ['admitted', 'worst', 'planMax', 'walletMax', 'session', 'shape', 'shapeText'],
  /** Followed by balances, members and keys, each as a `RECORD`, and closed IDs. */
  APPLY: words(
    'account ledgerEpoch loadEpoch loadStart isComplete caughtUp accountVersion accountState',
    'stateVersion termsVersion textId text periods mayWait rows members keys closed',
  ),
  /** Lines of an account's summary. Its parts follow. */
  SUMMARY: ['ledgerEpoch', 'stateVersion', 'termsVersion'],
  SUMMARY_PART: ['field', 'text'],
  /** Followed by the accounts, in the order of their keys. */
  CONFIRM: ['loadEpoch', 'loadStart', 'ledgerEpoch'],
  CONFIRM_ACCOUNT: ['version', 'summary'],
  /** `content`: the value of a balance, the cap of a member, or the record of a key. */
  RECORD: ['name', 'content', 'version'],
  /** Followed by each account with its calls. */
  HEARTBEAT: ['accounts', 'holds', 'leaseMs', 'expiryMs', 'isRestoring'],
  HEARTBEAT_ACCOUNT: ['account', 'calls'],
  HEARTBEAT_CALL: ['id', 'callEpoch'],
  CREATE: words(
    'account id callEpoch edge leaseMs expiryMs admitted worst planMax walletMax session shape',
    'shapeText onlyRestoring',
  ),
  TAKE: ['account', 'id'],
  DUE: ['replica', 'othersMs', 'ownMs', 'listens', 'silenceMs', 'leaseMs'],
  SWEEP: ['accounts', 'holds', 'entriesMax', 'unsettledMax', 'silentUntil'],
  SET_EPOCH: ['action', 'epoch'],
  REPLACE: ['epoch', 'staleBefore'],
  LEASE: ['replica', 'leaseMs'],
  /** Followed by the requested fields. */
  READ: ['keyField'],
  LIST: ['holds', 'cursor', 'pattern', 'entriesMax'],
} as const;

type Positions = typeof POSITIONS;
export type PositionTable = keyof Positions;

/** One argument of a script. Numbers are integers. */
export type ScriptArgument = string | number;

/** Returns the values in the order of the table. The compiler reports a missing one. */
export function toArguments<T extends PositionTable>(
  table: T,
  values: Readonly<Record<Positions[T][number], ScriptArgument>>,
): ScriptArgument[] {
  const ordered: ScriptArgument[] = [];
  for (const name of POSITIONS[table]) ordered.push((values as Readonly<Record<string, ScriptArgument>>)[name] ?? '');
  return ordered;
}

/** Returns the value with this name from arguments that {@link toArguments} built. */
export function readArgument<T extends PositionTable>(
  table: T,
  name: Positions[T][number],
  args: readonly ScriptArgument[],
): ScriptArgument | undefined {
  return args[(POSITIONS[table] as readonly string[]).indexOf(name)];
}

/** Tables that do not begin after the arguments of `RUN`. Some occur several times in a script. */
const RELATIVE: ReadonlySet<string> = new Set([
  'KEY',
  'RUN',
  'ADMIT_FIELD',
  'RELEASE_HOLD',
  'RECORD',
  'SUMMARY',
  'SUMMARY_PART',
  'CONFIRM_ACCOUNT',
  'HEARTBEAT_ACCOUNT',
  'HEARTBEAT_CALL',
]);

/** Returns the positions by their names in Lua, which counts from 1; `size` is the last one. */
export function listLuaPositions(): ReadonlyMap<string, number> {
  const positions = Object.entries(POSITIONS).flatMap(([table, names]) => {
    const before = RELATIVE.has(table) ? 0 : POSITIONS.RUN.length;
    const places = names.map((name, index) => [`${table}.${toLuaName(name)}`, before + index + 1] as const);
    return [...places, [`${table}.size`, before + names.length] as const];
  });
  return new Map(positions);
}

function toLuaName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
