import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';
import type { z } from 'zod';

const PATH_CHARS_MAX = 200;

type CheckResult<T> = { readonly value: T } | ManagementRefusal;

/** Returns the validated input, or `invalid_request` with the path of the first fault. */
export function checkInput<S extends z.ZodType>(schema: S, input: unknown): CheckResult<z.output<S>> {
  const parsed = schema.safeParse(input);
  if (!parsed.success) {
    const { path, text } = describeIssue(parsed.error.issues[0] as z.core.$ZodIssue, [], input);
    return refuseAt(path, text);
  }
  const unknown = unknownField(input, parsed.data);
  return unknown === null ? { value: parsed.data } : refuseAt(unknown, 'is not known');
}

function refuseAt(path: readonly PropertyKey[], text: string): ManagementRefusal {
  const param = paramPath(path);
  return refuse('invalid_request', `${param ?? 'the body'}: ${text}`, param);
}

/** Describes an issue and its path without the input, which may hold a credential. */
function describeIssue(
  issue: z.core.$ZodIssue,
  above: readonly PropertyKey[],
  input: unknown,
): { path: readonly PropertyKey[]; text: string } {
  const path = [...above, ...issue.path];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // Reports the alternative that matched the most of the input.
    const deepest = issue.errors.flatMap((issues) => issues.slice(0, 1)).sort((a, b) => b.path.length - a.path.length);
    if (deepest[0] !== undefined) return describeIssue(deepest[0], path, input);
  }
  if (issue.code === 'invalid_key') return { path, text: issue.issues[0]?.message ?? issue.message };
  if (issue.code !== 'invalid_type') return { path, text: issue.message };
  const value = valueAt(input, path);
  if (value === undefined) return { path, text: 'is required' };
  if (issue.expected === 'string' && typeof value === 'number') {
    return { path, text: 'must be a string, not a JSON number; money is a decimal string such as "12.50"' };
  }
  return { path, text: issue.message };
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, step) => (typeof value === 'object' && value !== null ? (value as never)[step] : undefined),
    input,
  );
}

/** Formats a path in the body, such as `prices.tiers[0].inputPerMillion`. Null: the whole body. */
function paramPath(path: readonly PropertyKey[]): string | null {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += text === '' ? String(step) : `.${String(step)}`;
  }
  return text === '' ? null : text.slice(0, PATH_CHARS_MAX);
}

/**
 * Returns the path of the first field of `input` that its validated form lacks, or null. Zod drops
 * unknown fields without an error, but a misspelled field must be refused.
 */
function unknownField(input: unknown, validated: unknown, path: PropertyKey[] = []): PropertyKey[] | null {
  if (typeof input !== 'object' || input === null || typeof validated !== 'object' || validated === null) return null;
  for (const [key, value] of Object.entries(input)) {
    const here = [...path, Array.isArray(input) ? Number(key) : key];
    if (!Object.hasOwn(validated, key)) return here;
    const found = unknownField(value, (validated as Record<string, unknown>)[key], here);
    if (found !== null) return found;
  }
  return null;
}
