/** The simulator's two addresses. A model with two sources uses one each. */
export type ListenerName = 'a' | 'b';

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
const TOKEN_FIELDS: readonly string[] = [
  'input',
  'cachedInput',
  'cacheWrite',
  'output',
] satisfies (keyof TokenCounts)[];

/**
 * Partial token numbers, an object in the provider's own form that is written unchanged, or null:
 * the response reports no usage.
 */
export type ScriptUsage = Readonly<Record<string, unknown>> | null;

/**
 * The end of a scripted response: `normal` as in HTTP; `reset` with a TCP reset; `stall` without
 * further bytes until the client disconnects; `cut` by closing the connection without the last
 * chunk.
 */
type End = 'normal' | 'reset' | 'stall' | 'cut';

/** One step of a script. It has fields of one kind ({@link FORMS}); the README describes each. */
export interface ScriptStep {
  readonly status?: number | undefined;
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly chunk?: string | Buffer | undefined;
  readonly delayMs?: number | undefined;
  readonly waitFor?: string | undefined;
  readonly usage?: ScriptUsage | undefined;
  readonly end?: End | undefined;
}
const FORMS: readonly (readonly string[])[] = [
  ['status', 'headers'],
  ['chunk', 'delayMs'],
  ['waitFor'],
  ['usage'],
  ['end'],
];

/** The response to the next `times` calls of a model (default 1), on one listener or on both. */
export interface Script {
  readonly model: string;
  readonly times?: number | undefined;
  readonly listener?: ListenerName | undefined;
  readonly steps: readonly ScriptStep[];
}

/** Checked steps, and the facts of all of them that determine the content of the response. */
export interface CheckedSteps {
  readonly steps: readonly ScriptStep[];
  /** Undefined without a status step. */
  readonly status: number | undefined;
  readonly hasChunks: boolean;
  readonly usage: ScriptUsage | undefined;
  readonly end: End;
}

/** Reports whether a usage object is in the neutral form that each endpoint translates. */
export function isTokenCounts(value: Readonly<Record<string, unknown>>): value is Partial<TokenCounts> {
  const names = Object.keys(value);
  return names.length > 0 && names.every((field) => TOKEN_FIELDS.includes(field));
}

/**
 * Refuses steps that could not be played together. A test must not pass because a part of its
 * script was ignored.
 * @throws Error with the number of the step
 */
export function checkSteps(steps: readonly ScriptStep[]): CheckedSteps {
  let status: number | undefined;
  let hasChunks = false;
  let usage: ScriptUsage | undefined;
  for (const [index, step] of steps.entries()) {
    const refuseIf = (isWrong: boolean, text: string): void => {
      if (isWrong) throw new Error(`steps[${index}]: ${text}`);
    };
    const fields = Object.entries(step).flatMap(([field, value]) => (value === undefined ? [] : field));
    const isOneKind = FORMS.some((form) => fields.every((field) => form.includes(field)));
    const kinds = FORMS.map((form) => form.join(' and ')).join('; ');
    refuseIf(fields.length === 0 || !isOneKind, `must have fields of one kind: ${kinds}`);
    refuseIf(step.end !== undefined && index !== steps.length - 1, 'end must be the last step');
    if (step.usage !== undefined) {
      refuseIf(usage !== undefined, 'a script has one usage step at most');
      usage = step.usage;
      const { input = Infinity, cachedInput = 0, cacheWrite = 0 } = usage && isTokenCounts(usage) ? usage : {};
      refuseIf(cachedInput + cacheWrite > input, 'cachedInput and cacheWrite must be parts of input');
    }
    if (step.status !== undefined || step.headers !== undefined) {
      refuseIf(status !== undefined, 'a script has one status step at most');
      refuseIf(hasChunks, 'the status step must come before every chunk');
      status = step.status ?? 200;
    }
    hasChunks ||= step.chunk !== undefined;
  }
  if (usage !== undefined && (hasChunks || (status ?? 200) >= 300))
    throw new Error('usage cannot be combined with chunks or a status from 300');
  return { steps, status, hasChunks, usage, end: steps.at(-1)?.end ?? 'normal' };
}
