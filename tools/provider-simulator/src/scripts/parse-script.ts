import { integerOf, NAME_CHARACTERS_MAX, nameOf, objectOf, wordOf } from './check-field.js';
import { parseStep } from './parse-step.js';
import type { ParsedStep } from './parse-step.js';
import { InvalidControlInput } from './script.js';
import type { PreparedScript, ScriptAction } from './script.js';

/** Most calls that use one script. */
export const SCRIPT_TIMES_MAX = 1_000_000_000;
/** Most steps in one script. */
export const SCRIPT_STEPS_MAX = 100_000;

/**
 * Validates a script and converts it into a sequence of actions. Throws `InvalidControlInput` with
 * the field's name. An invalid script must not be ignored, because a test would then pass for the
 * wrong reason.
 */
export function parseScript(input: unknown): PreparedScript {
  const script = objectOf(input, 'script', ['model', 'times', 'listener', 'steps']);
  if (!Array.isArray(script['steps']) || script['steps'].length === 0 || script['steps'].length > SCRIPT_STEPS_MAX) {
    throw new InvalidControlInput(`steps must be an array of 1 to ${SCRIPT_STEPS_MAX} steps`);
  }
  const { times, listener } = script;
  return {
    model: nameOf(script['model'], 'model', NAME_CHARACTERS_MAX),
    times: times === undefined ? 1 : integerOf(times, 'times', 1, SCRIPT_TIMES_MAX),
    listener: listener === undefined ? undefined : wordOf(listener, 'listener', ['a', 'b'] as const),
    actions: completeActions(script['steps'].map((step, index) => parseStep(step, `steps[${index}]`))),
  };
}

const NORMAL_END = { kind: 'end', how: 'normal' } as const;

/** Checks the order of the steps and adds missing content and the end. */
function completeActions(steps: ParsedStep[]): ScriptAction[] {
  checkOrder(steps);
  const actions: ScriptAction[] = steps.filter((step) => step.kind !== 'usage' && step.kind !== 'end');
  const usage = steps.find((step) => step.kind === 'usage');
  const end = steps.find((step) => step.kind === 'end') ?? NORMAL_END;
  const status = steps.find((step) => step.kind === 'head')?.status ?? 200;
  const hasBytes = steps.some((step) => step.kind === 'bytes');
  if (usage !== undefined && (hasBytes || status >= 300)) {
    throw new InvalidControlInput(
      'usage changes the default response and cannot be combined with chunks or a status from 300',
    );
  }
  // An abnormal end without content means that the provider failed before its first byte. A usage
  // step requires the default response first.
  const hasDefaultContent = !hasBytes && (end.how === 'normal' || usage !== undefined);
  if (hasDefaultContent && status < 300 && status !== 204 && status !== 205) {
    actions.push({ kind: 'answer', usage: usage?.usage });
  } else if (hasDefaultContent && status >= 400) {
    actions.push({ kind: 'error', status });
  }
  return [...actions, end];
}

function checkOrder(steps: ParsedStep[]): void {
  let hasHead = false;
  let hasUsage = false;
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'head') {
      if (hasHead) throw new InvalidControlInput(`steps[${index}]: a script has one status step at most`);
      if (steps.slice(0, index).some((before) => before.kind === 'bytes')) {
        throw new InvalidControlInput(`steps[${index}]: the status step must come before every chunk`);
      }
      hasHead = true;
    } else if (step.kind === 'usage') {
      if (hasUsage) throw new InvalidControlInput(`steps[${index}]: a script has one usage step at most`);
      hasUsage = true;
    } else if (step.kind === 'end' && index !== steps.length - 1) {
      throw new InvalidControlInput(`steps[${index}]: end must be the last step`);
    }
  }
}
