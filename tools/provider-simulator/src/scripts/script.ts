import { validateHeaderName, validateHeaderValue } from 'node:http';

/** The simulator's two addresses. A model with two sources uses one each. */
export type ListenerName = 'a' | 'b';

/**
 * The end of a scripted response: `normal` as in HTTP; `reset` with a TCP reset; `stall` without
 * further bytes until the client disconnects; `cut` by closing the connection without the last
 * chunk.
 */
export type ScriptEnd = (typeof ENDS)[number];
const ENDS = ['normal', 'reset', 'stall', 'cut'] as const;

/**
 * Token numbers that each endpoint translates into its own usage object. `cachedInput` and
 * `cacheWrite` are parts of `input`.
 */
export interface TokenCounts {
  input: number;
  cachedInput: number;
  cacheWrite: number;
  output: number;
}

/**
 * Partial token numbers, an object in the provider's own form that is written unchanged, or null:
 * the response reports no usage.
 */
export type ScriptUsage = Partial<TokenCounts> | Record<string, unknown> | null;

type Headers = Record<string, string | string[]>;

/** One step of a script as clients send it. The README describes each combination. */
export type ScriptStep =
  | { status?: number; headers?: Headers }
  | { chunk: string; delayMs?: number }
  | { bytesBase64: string; delayMs?: number }
  | { delayMs: number }
  | { waitFor: string }
  | { usage: ScriptUsage }
  | { end: ScriptEnd };

/** The response to the next `times` calls of a model (default 1), on one listener or on both. */
export interface Script {
  model: string;
  times?: number;
  listener?: ListenerName;
  steps: ScriptStep[];
}

/** A validated script as a sequence of actions with all defaults filled in. */
export type ScriptAction =
  | { kind: 'head'; status: number; headers: Headers }
  | { kind: 'bytes'; bytes: Buffer; delayMs: number }
  | { kind: 'pause'; delayMs: number }
  | { kind: 'wait'; semaphore: string }
  | { kind: 'answer'; usage: ScriptUsage | undefined }
  | { kind: 'error'; status: number }
  | { kind: 'end'; how: ScriptEnd };

/** A queued script. `actions` always ends with one `end`. */
export interface PreparedScript {
  model: string;
  times: number;
  listener: ListenerName | undefined;
  actions: ScriptAction[];
}

/** Thrown for an invalid script or other control input. The text names the field. */
export class InvalidControlInput extends Error {
  override readonly name = 'InvalidControlInput';
}

/** A check of a field, and its description for errors. */
type Check = readonly [isValid: (value: unknown) => boolean, expected: string];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const integerFrom = (least: number, most: number): Check => [
  (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
  `an integer from ${least} to ${most}`,
];
const oneOf = (words: readonly string[]): Check => [
  (value) => words.some((word) => word === value),
  `one of ${words.join(', ')}`,
];
export const NAME: Check = [
  (value) => typeof value === 'string' && value !== '' && value.length <= 256,
  'a string of 1 to 256 characters',
];
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DELAY = integerFrom(0, 3_600_000);
const STEPS_MAX = 100_000;

const SCRIPT: Readonly<Record<keyof Script, Check>> = {
  model: NAME,
  times: integerFrom(1, 1_000_000_000),
  listener: oneOf(['a', 'b']),
  steps: [
    (value) => Array.isArray(value) && value.length > 0 && value.length <= STEPS_MAX,
    `an array of 1 to ${STEPS_MAX} steps`,
  ],
};
const HEAD = { status: integerFrom(200, 599), headers: [areHeaders, 'valid headers'] } as const;
/** The fields of each kind of step. The first field that a step has determines its kind. */
const STEPS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  chunk: { chunk: [(value) => typeof value === 'string', 'a string'], delayMs: DELAY },
  bytesBase64: {
    bytesBase64: [(value) => typeof value === 'string' && BASE64.test(value), 'padded base64'],
    delayMs: DELAY,
  },
  usage: { usage: [isUsage, 'null, token numbers, or an object of the provider'] },
  waitFor: { waitFor: NAME },
  end: { end: oneOf(ENDS) },
  status: HEAD,
  headers: HEAD,
  delayMs: { delayMs: DELAY },
};

/** Checks the fields of an object. @throws InvalidControlInput that names the field */
export function checkFields(
  value: unknown,
  path: string,
  checks: Readonly<Record<string, Check>>,
  required: readonly string[] = [],
): Record<string, unknown> {
  if (!isObject(value)) throw new InvalidControlInput(`${path} must be an object`);
  for (const name of new Set([...required, ...Object.keys(value)])) {
    const check = checks[name];
    const known = Object.keys(checks).join(', ');
    if (check === undefined) throw new InvalidControlInput(`${path} has an unknown field "${name}"; known: ${known}`);
    const isAbsent = value[name] === undefined && !required.includes(name);
    if (!isAbsent && !check[0](value[name])) throw new InvalidControlInput(`${path}.${name} must be ${check[1]}`);
  }
  return value;
}

function areHeaders(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).every(([name, content]) => {
    const texts: unknown[] = Array.isArray(content) ? content : [content];
    try {
      validateHeaderName(name);
      for (const text of texts) validateHeaderValue(name, text as string);
    } catch {
      return false;
    }
    return texts.length > 0 && texts.every((text) => typeof text === 'string');
  });
}

const TOKEN_FIELDS = ['input', 'cachedInput', 'cacheWrite', 'output'];

/** Reports whether a usage object is in the neutral form that each endpoint translates. */
export function isTokenCounts(usage: Record<string, unknown>): boolean {
  const names = Object.keys(usage);
  return names.length > 0 && names.every((name) => TOKEN_FIELDS.includes(name));
}

function isUsage(value: unknown): boolean {
  if (value === null) return true;
  if (!isObject(value)) return false;
  if (!isTokenCounts(value)) return true;
  const {
    input = Number.MAX_SAFE_INTEGER,
    cachedInput = 0,
    cacheWrite = 0,
    output = 0,
  } = value as Partial<TokenCounts>;
  const isCount = (count: number): boolean => Number.isSafeInteger(count) && count >= 0;
  return [input, cachedInput, cacheWrite, output].every(isCount) && cachedInput + cacheWrite <= input;
}

/**
 * Validates a script and converts it into a sequence of actions. An invalid script must not be
 * ignored, because a test would then pass for the wrong reason.
 * @throws InvalidControlInput
 */
export function parseScript(input: unknown): PreparedScript {
  const {
    model,
    times = 1,
    listener,
    steps,
  } = checkFields(input, 'script', SCRIPT, ['model', 'steps']) as unknown as Script;
  for (const [index, step] of steps.entries()) {
    const path = `steps[${index}]`;
    const first = Object.keys(STEPS).find((name) => isObject(step) && name in step);
    if (isObject(step) && first === undefined)
      throw new InvalidControlInput(`${path} must have one of ${Object.keys(STEPS).join(', ')}`);
    checkFields(step, path, STEPS[first ?? ''] ?? {}, first === undefined ? [] : [first]);
  }
  return { model, times, listener, actions: toActions(steps) };
}

/** Checks the order of the steps, and adds missing content and the end. */
function toActions(steps: readonly ScriptStep[]): ScriptAction[] {
  const actions: ScriptAction[] = [];
  let usage: { usage: ScriptUsage } | undefined;
  let how: ScriptEnd = 'normal';
  for (const [index, step] of steps.entries()) {
    const refuse = (text: string): never => {
      throw new InvalidControlInput(`steps[${index}]: ${text}`);
    };
    const has = (kind: ScriptAction['kind']): boolean => actions.some((action) => action.kind === kind);
    if ('end' in step) {
      if (index !== steps.length - 1) refuse('end must be the last step');
      how = step.end;
    } else if ('usage' in step) {
      if (usage !== undefined) refuse('a script has one usage step at most');
      usage = step;
    } else if ('chunk' in step || 'bytesBase64' in step) {
      const bytes = 'chunk' in step ? Buffer.from(step.chunk) : Buffer.from(step.bytesBase64, 'base64');
      actions.push({ kind: 'bytes', bytes, delayMs: step.delayMs ?? 0 });
    } else if ('waitFor' in step) actions.push({ kind: 'wait', semaphore: step.waitFor });
    else if ('delayMs' in step) actions.push({ kind: 'pause', delayMs: step.delayMs });
    else {
      const { status = 200, headers = {} } = step as Extract<ScriptStep, { status?: number }>;
      if (has('head')) refuse('a script has one status step at most');
      if (has('bytes')) refuse('the status step must come before every chunk');
      actions.push({ kind: 'head', status, headers });
    }
  }
  const hasBytes = actions.some(({ kind }) => kind === 'bytes');
  const status = actions.find((action) => action.kind === 'head')?.status ?? 200;
  if (usage !== undefined && (hasBytes || status >= 300))
    throw new InvalidControlInput('usage cannot be combined with chunks or a status from 300');
  // An abnormal end without content means that the provider failed before its first byte. A usage
  // step requires the default response first.
  const hasDefaultContent = !hasBytes && (how === 'normal' || usage !== undefined);
  if (hasDefaultContent && status < 300 && status !== 204 && status !== 205)
    actions.push({ kind: 'answer', usage: usage?.usage });
  else if (hasDefaultContent && status >= 400) actions.push({ kind: 'error', status });
  return [...actions, { kind: 'end', how }];
}
