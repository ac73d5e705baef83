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

/**
 * Where keys, arguments and fields stand that go to the scripts: the one table, for both sides.
 * TypeScript writes them by these names ({@link inOrder}). The scripts read them by the names of
 * `lua/generated/positions.lua`, which is written of this table.
 */
export const POSITIONS = {
  /** Keys of a call: scripts of a bucket have the first three, those of an account more. */
  KEY: ['token', 'due', 'asked', 'account', 'holds', 'keyRecord', 'texts'],
  /** What the arguments of every run begin with; those of its script follow. */
  RUN: ['runId', 'clockOffset'],
  /** Then the windows, each a text, and the fields from `ADMIT_FIELD.key` on. */
  ADMIT: [
    'mode',
    'isCounted',
    'account',
    'id',
    'idTime',
    'validFrom',
    'validUntil',
    'keyVersion',
    'termsVersion',
    'keyRank',
    'minutePrefix',
    'requestsPerMinute',
    'factRank',
    'funding',
    'concurrency',
    'worst',
    'least',
    'shape',
    'shapeText',
    'edge',
    'leaseMs',
    'expiryMs',
    'monthStart',
    'keyCap',
    'keyMonthRow',
    'memberMonthRow',
    'allotment',
    'session',
    'windows',
  ],
  /** Of an account, read at once; two more for each window and for the allotment. */
  ADMIT_FIELD: [
    'loadedUnder',
    'loadedAt',
    'state',
    'slots',
    'termsVersion',
    'session',
    'latest',
    'renewedAt',
    'wallet',
    'heldOfWallet',
    'heldOfPlan',
    'key',
    'references',
    'member',
    'keyMonth',
    'heldOfKey',
    'memberMonth',
    'heldOfMember',
  ],
  RELEASE: ['account', 'id', 'idTime', 'outcome', 'amount', 'tag'],
  /** After it, when a hold that was lost may be created. */
  RELEASE_HOLD: ['admitted', 'worst', 'planMax', 'walletMax', 'session', 'shape', 'shapeText'],
  /** Then rows, members and keys, each a `RECORD`, and closed ids; as many as it says. */
  APPLY: [
    'account',
    'ledgerEpoch',
    'loadToken',
    'loadStart',
    'isComplete',
    'caughtUp',
    'accountVersion',
    'accountState',
    'stateVersion',
    'termsVersion',
    'textId',
    'text',
    'periods',
    'rows',
    'members',
    'keys',
    'closed',
  ],
  /** Lines of the summary of an account; then its parts. */
  SUMMARY: ['ledgerEpoch', 'stateVersion', 'termsVersion'],
  SUMMARY_PART: ['field', 'text'],
  /** Then the accounts, in the order of their keys. */
  CONFIRM: ['loadToken', 'loadStart', 'ledgerEpoch'],
  CONFIRM_ACCOUNT: ['version', 'summary'],
  /** `content`: of a row its value, of a member the cap, of a key its record. */
  RECORD: ['name', 'content', 'version'],
  /** Then each account with its calls. */
  HEARTBEAT: ['accounts', 'holds', 'leaseMs', 'expiryMs', 'isRestoring'],
  HEARTBEAT_ACCOUNT: ['account', 'calls'],
  HEARTBEAT_CALL: ['id', 'tag'],
  CREATE: [
    'account',
    'id',
    'tag',
    'edge',
    'leaseMs',
    'expiryMs',
    'admitted',
    'worst',
    'planMax',
    'walletMax',
    'session',
    'shape',
    'shapeText',
    'onlyRestoring',
  ],
  TAKE: ['account', 'id'],
  DUE: ['replica', 'othersMs', 'ownMs', 'listens', 'silenceMs', 'leaseMs'],
  SWEEP: ['accounts', 'holds', 'entriesMax', 'askedAgainMax', 'silentUntil'],
  TOKEN: ['action', 'token'],
  REPLACE: ['token', 'staleBefore'],
  LEASE: ['replica', 'leaseMs'],
  /** Then the fields that are asked for. */
  READ: ['keyField'],
  LIST: ['holds', 'cursor', 'pattern', 'entriesMax'],
} as const;

type Positions = typeof POSITIONS;
export type PositionTable = keyof Positions;

/** What one argument of a script is; numbers are integers. */
export type ScriptArgument = string | number;

/** The values in the order of the table. The compiler says when one is missing. */
export function inOrder<T extends PositionTable>(
  table: T,
  values: Readonly<Record<Positions[T][number], ScriptArgument>>,
): ScriptArgument[] {
  const ordered: ScriptArgument[] = [];
  for (const name of POSITIONS[table]) ordered.push((values as Readonly<Record<string, ScriptArgument>>)[name] ?? '');
  return ordered;
}

/** The value of this name among arguments that {@link inOrder} made. */
export function argumentOf<T extends PositionTable>(
  table: T,
  name: Positions[T][number],
  args: readonly ScriptArgument[],
): ScriptArgument | undefined {
  return args[(POSITIONS[table] as readonly string[]).indexOf(name)];
}

/** All others follow the arguments of `RUN`. Of some a script has several, one after the other. */
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

/** The text of `lua/generated/positions.lua`. Lua counts from 1; `size` is the last place. */
export function positionsInLua(): string {
  const tables = Object.entries(POSITIONS).map(([table, names]) => {
    const before = RELATIVE.has(table) ? 0 : POSITIONS.RUN.length;
    const places = names.map((name, index) => `  ${luaName(name)} = ${before + index + 1},\n`);
    return `${table} = {\n${places.join('')}  size = ${before + names.length},\n}\n`;
  });
  return `-- Written of src/limit-store/script-rules.ts by UPDATE_GOLDEN=1 before its test. Do not edit.\n${tables.join('')}`;
}

function luaName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
