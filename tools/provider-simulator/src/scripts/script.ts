import { validateHeaderName, validateHeaderValue } from 'node:http';
import { z } from 'zod';

/** The simulator's two addresses. A model with two sources uses one each. */
export type ListenerName = 'a' | 'b';

/**
 * The end of a scripted response: `normal` as in HTTP; `reset` with a TCP reset; `stall` without
 * further bytes until the client disconnects; `cut` by closing the connection without the last
 * chunk.
 */
const end = z.enum(['normal', 'reset', 'stall', 'cut']);

const count = z.int().min(0);
/**
 * Token numbers that each endpoint translates into its own usage object. `cachedInput` and
 * `cacheWrite` are parts of `input`.
 */
const tokenCounts = z.strictObject({ input: count, cachedInput: count, cacheWrite: count, output: count });
export type TokenCounts = z.infer<typeof tokenCounts>;
const scriptedCounts = tokenCounts
  .partial()
  .refine(({ input = Infinity, cachedInput = 0, cacheWrite = 0 }) => cachedInput + cacheWrite <= input);

/**
 * Partial token numbers, an object in the provider's own form that is written unchanged, or null:
 * the response reports no usage.
 */
const usage = z
  .record(z.string(), z.unknown())
  .nullable()
  .refine(
    (value) => value === null || !isTokenCounts(value) || scriptedCounts.safeParse(value).success,
    'must be null, token numbers, or an object of the provider',
  );
export type ScriptUsage = z.infer<typeof usage>;

const headers = z
  .record(z.string(), z.union([z.string(), z.array(z.string()).min(1)]))
  .refine(areHeaders, 'must be valid headers');
export const label = z.string().min(1).max(256);
const STEPS_MAX = 100_000;
/** The fields of each kind of step. */
const FORMS = [
  ['status', 'headers'],
  ['chunk', 'delayMs'],
  ['bytesBase64', 'delayMs'],
  ['waitFor'],
  ['usage'],
  ['end'],
];

/** One step of a script as clients send it. The README describes each combination. */
const step = z
  .strictObject({
    status: z.int().min(200).max(599),
    headers,
    chunk: z.string(),
    bytesBase64: z.base64(),
    delayMs: z.int().min(0).max(3_600_000),
    waitFor: label,
    usage,
    end,
  })
  .partial()
  .refine(
    (value) => {
      const fields = Object.entries(value).flatMap(([field, one]) => (one === undefined ? [] : field));
      return fields.length > 0 && FORMS.some((form) => fields.every((field) => form.includes(field)));
    },
    `must have fields of one kind: ${FORMS.map((form) => form.join(' and ')).join('; ')}`,
  );
export type ScriptStep = z.infer<typeof step>;

/** The response to the next `times` calls of a model (default 1), on one listener or on both. */
const script = z.strictObject({
  model: label,
  times: z.int().min(1).max(1_000_000_000).optional(),
  listener: z.enum(['a', 'b']).optional(),
  steps: z.array(step).min(1).max(STEPS_MAX),
});
export type Script = z.infer<typeof script>;

/** A validated script as a sequence of actions with all defaults filled in. */
export type ScriptAction =
  | { kind: 'head'; status: number; headers: z.infer<typeof headers> }
  | { kind: 'bytes'; bytes: Buffer; delayMs: number }
  | { kind: 'pause'; delayMs: number }
  | { kind: 'wait'; semaphore: string }
  | { kind: 'answer'; usage: ScriptUsage | undefined }
  | { kind: 'error'; status: number }
  | { kind: 'end'; how: z.infer<typeof end> };

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

/** @throws InvalidControlInput that names the first wrong field */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const { data, error } = schema.safeParse(input);
  const [issue] = error?.issues ?? [];
  if (issue === undefined) return data as T;
  throw new InvalidControlInput([z.core.toDotPath(issue.path), issue.message].filter(Boolean).join(': '));
}

function areHeaders(value: Readonly<Record<string, string | readonly string[]>>): boolean {
  try {
    for (const [header, texts] of Object.entries(value)) {
      validateHeaderName(header);
      for (const text of [texts].flat()) validateHeaderValue(header, text);
    }
    return true;
  } catch {
    return false;
  }
}

/** Reports whether a usage object is in the neutral form that each endpoint translates. */
export function isTokenCounts(value: Readonly<Record<string, unknown>>): boolean {
  const names = Object.keys(value);
  return names.length > 0 && names.every((field) => Object.hasOwn(tokenCounts.shape, field));
}

/**
 * Validates a script and converts it into a sequence of actions. An invalid script must not be
 * ignored, because a test would then pass for the wrong reason.
 * @throws InvalidControlInput
 */
export function parseScript(input: unknown): PreparedScript {
  const { model, times = 1, listener, steps } = parseInput(script, input);
  return { model, times, listener, actions: toActions(steps) };
}

/** Checks the order of the steps, and adds missing content and the end. */
function toActions(steps: readonly ScriptStep[]): ScriptAction[] {
  const actions: ScriptAction[] = [];
  let scripted: ScriptUsage | undefined;
  let how: z.infer<typeof end> = 'normal';
  for (const [index, one] of steps.entries()) {
    const refuse = (text: string): never => {
      throw new InvalidControlInput(`steps[${index}]: ${text}`);
    };
    const has = (kind: ScriptAction['kind']): boolean => actions.some((action) => action.kind === kind);
    const { chunk, bytesBase64, delayMs = 0 } = one;
    if (one.end !== undefined) {
      if (index !== steps.length - 1) refuse('end must be the last step');
      how = one.end;
    } else if (one.usage !== undefined) {
      if (scripted !== undefined) refuse('a script has one usage step at most');
      scripted = one.usage;
    } else if (chunk !== undefined) actions.push({ kind: 'bytes', bytes: Buffer.from(chunk), delayMs });
    else if (bytesBase64 !== undefined)
      actions.push({ kind: 'bytes', bytes: Buffer.from(bytesBase64, 'base64'), delayMs });
    else if (one.waitFor !== undefined) actions.push({ kind: 'wait', semaphore: one.waitFor });
    else if (one.delayMs !== undefined) actions.push({ kind: 'pause', delayMs });
    else {
      if (has('head')) refuse('a script has one status step at most');
      if (has('bytes')) refuse('the status step must come before every chunk');
      actions.push({ kind: 'head', status: one.status ?? 200, headers: one.headers ?? {} });
    }
  }
  const hasBytes = actions.some(({ kind }) => kind === 'bytes');
  const status = actions.find((action) => action.kind === 'head')?.status ?? 200;
  if (scripted !== undefined && (hasBytes || status >= 300))
    throw new InvalidControlInput('usage cannot be combined with chunks or a status from 300');
  // An abnormal end without content means that the provider failed before its first byte. A usage
  // step requires the default response first.
  const hasDefaultContent = !hasBytes && (how === 'normal' || scripted !== undefined);
  if (hasDefaultContent && status < 300 && status !== 204 && status !== 205)
    actions.push({ kind: 'answer', usage: scripted });
  else if (hasDefaultContent && status >= 400) actions.push({ kind: 'error', status });
  return [...actions, { kind: 'end', how }];
}
