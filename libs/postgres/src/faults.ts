/**
 * The five characters of PostgreSQL's code, or null when the error did not come from the server.
 */
export function sqlStateOf(error: unknown): string | null {
  const code = codeOf(error);
  return code !== null && /^[0-9A-Z]{5}$/.test(code) && !isNodeCode(code) ? code : null;
}

/** The server asks for the same transaction again: serialization failure or deadlock. */
export function isRetryable(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '40001' || state === '40P01';
}

/**
 * Whether the fault lies in the data of one statement (wrong form, violated constraint, an
 * exception raised by a function), so that the same statement fails again while others work.
 * Everything else (no connection, no memory, no table, no right, a time-out) concerns all
 * statements alike and is worth another try later.
 */
export function isDataFault(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state !== null && DATA_CLASSES.has(state.slice(0, 2));
}

/**
 * Whether the database cannot take a value as it was sent (class 22): a character, a number or a
 * time that it has no place for.
 */
export function isValueFault(error: unknown): boolean {
  return sqlStateOf(error)?.startsWith('22') ?? false;
}

/**
 * Whether the database could not be reached or could not work: the connection failed, the server is
 * starting, stopping or read-only, or it ran out of connections, memory, disk or time. Nothing is
 * known about the statement itself, except that a commit may have happened.
 */
export function isConnectionFault(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== null) return CONNECTION_STATES.has(state) || CONNECTION_CLASSES.has(state.slice(0, 2));
  const code = codeOf(error);
  if (code !== null && isNodeCode(code)) return true;
  const { message, errors } = partsOf(error);
  // One address may stand for several: the socket then reports what happened at each.
  if (Array.isArray(errors)) return errors.some(isConnectionFault);
  return typeof message === 'string' && DRIVER_TEXTS.some((text) => message.startsWith(text));
}

/**
 * What an error is to those who asked for the work: a code, or an error for the log alone.
 * PostgreSQL's own errors quote the row, digests included: of those only state, table and
 * constraint are kept.
 */
export function faultOf(error: unknown): 'dependency_unavailable' | 'invalid_value' | { readonly logged: unknown } {
  if (isConnectionFault(error)) return 'dependency_unavailable';
  if (isValueFault(error)) return 'invalid_value';
  const state = sqlStateOf(error);
  if (state === null) return { logged: error };
  const { table, constraint } = error as { readonly table?: string; readonly constraint?: string };
  const text = `the database refused a statement: ${state} ${table ?? ''} ${constraint ?? ''}`;
  return { logged: new Error(text.trimEnd()) };
}

/** 21 cardinality, 22 data, 23 constraint, 44 check option, P0 raised by a function. */
const DATA_CLASSES = new Set(['21', '22', '23', '44', 'P0']);
/** 08 connection, 53 resources, 58 system, XX internal. */
const CONNECTION_CLASSES = new Set(['08', '53', '58', 'XX']);
const CONNECTION_STATES = new Set([
  '25006', // read only: connected to a standby after a fail-over
  '25P03', // idle in transaction for too long
  '25P04', // transaction took too long
  '57014', // statement took too long
  '57P01', // stopped by an administrator
  '57P02', // server crashed
  '57P03', // server is starting or stopping
  '57P05', // idle for too long
  '55P03', // lock not available in time
]);

/** The driver's own errors carry no code. */
const DRIVER_TEXTS = [
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Query read timeout',
  'Cannot use a pool after calling end',
  'The server does not support SSL',
];

const NODE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EMFILE',
  'ENFILE',
  'ENOENT',
  'EACCES',
]);

function isNodeCode(code: string): boolean {
  return NODE_CODES.has(code);
}

function codeOf(error: unknown): string | null {
  const { code } = partsOf(error);
  return typeof code === 'string' ? code : null;
}

/**
 * By shape, not by class: an error may come from another realm (a worker, a test's own globals).
 */
function partsOf(error: unknown): { readonly code?: unknown; readonly message?: unknown; readonly errors?: unknown } {
  return typeof error === 'object' && error !== null ? error : {};
}
