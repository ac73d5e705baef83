/** Returns PostgreSQL's five-character code, or null if the error did not come from the server. */
export function readSqlState(error: unknown): string | null {
  const code = codeOf(error);
  return code !== null && /^[0-9A-Z]{5}$/.test(code) && !NODE_CODES.has(code) ? code : null;
}

/** Reports a serialization failure or deadlock; the transaction may be repeated. */
export function isRetryable(error: unknown): boolean {
  const state = readSqlState(error);
  return state === '40001' || state === '40P01';
}

/**
 * Reports whether the data of one statement caused the error (wrong format, violated constraint, an
 * exception raised by a function). The same statement then fails again while others succeed. All
 * other errors (no connection, no memory, no table, no privilege, a timeout) affect all statements
 * and may be retried later.
 */
export function isDataFault(error: unknown): boolean {
  const state = readSqlState(error);
  return state !== null && DATA_CLASSES.has(state.slice(0, 2));
}

/**
 * Reports whether the database cannot store a value (class 22), for example a character, a number
 * or a time that it does not support.
 */
export function isValueFault(error: unknown): boolean {
  return readSqlState(error)?.startsWith('22') ?? false;
}

/**
 * Reports whether the database was unreachable or unable to work: the connection failed, the server
 * is starting, stopping or read-only, or it ran out of connections, memory, disk or time. The
 * result of the statement is unknown; a commit may have happened.
 */
export function isConnectionFault(error: unknown): boolean {
  const state = readSqlState(error);
  if (state !== null) return CONNECTION_STATES.has(state) || CONNECTION_CLASSES.has(state.slice(0, 2));
  const code = codeOf(error);
  if (code !== null && NODE_CODES.has(code)) return true;
  const { message, errors } = partsOf(error);
  // A host name may have several addresses. The socket then reports one error per address.
  if (Array.isArray(errors)) return errors.some(isConnectionFault);
  return typeof message === 'string' && DRIVER_TEXTS.some((text) => message.startsWith(text));
}

/**
 * Reports whether a connection must not be reused after this error. One that misses a table may
 * have begun before the migration set the search path of its role, and then never sees the tables.
 */
export function endsConnection(error: unknown): boolean {
  return isConnectionFault(error) || readSqlState(error) === '42P01';
}

/**
 * Maps an error to a code for the requester, or to an error for the log. PostgreSQL's errors quote
 * the row, which may contain digests, so only state, table and constraint are kept.
 */
export function classifyFault(
  error: unknown,
): 'dependency_unavailable' | 'invalid_value' | { readonly logged: unknown } {
  if (isConnectionFault(error)) return 'dependency_unavailable';
  if (isValueFault(error)) return 'invalid_value';
  const state = readSqlState(error);
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
  '25006', // read-only: connected to a standby after a failover
  '25P03', // idle in transaction for too long
  '25P04', // transaction took too long
  '57014', // statement took too long
  '57P01', // stopped by an administrator
  '57P02', // server crashed
  '57P03', // server is starting or stopping
  '57P05', // idle for too long
  '55P03', // lock not available in time
]);

/** The driver's own errors have no code. */
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

function codeOf(error: unknown): string | null {
  const { code } = partsOf(error);
  return typeof code === 'string' ? code : null;
}

/**
 * Checks properties instead of the class, because an error may come from another realm (a worker, a
 * test's own globals).
 */
function partsOf(error: unknown): { readonly code?: unknown; readonly message?: unknown; readonly errors?: unknown } {
  return typeof error === 'object' && error !== null ? error : {};
}
