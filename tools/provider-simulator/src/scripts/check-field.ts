import { InvalidControlInput } from './script.js';

/** Longest name of a model or a semaphore, in characters. */
export const NAME_CHARACTERS_MAX = 256;

/**
 * Returns the value as a plain object whose keys are all in `allowed`; throws {@link
 * InvalidControlInput} otherwise.
 */
export function objectOf(value: unknown, path: string, allowed: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidControlInput(`${path} must be an object`);
  }
  for (const key of Object.keys(value)) {
    if (!allowed.includes(key)) {
      throw new InvalidControlInput(`${path} has an unknown field "${key}"; known: ${allowed.join(', ')}`);
    }
  }
  return value as Record<string, unknown>;
}

/** Returns the value as an integer from `least` to `most`. */
export function integerOf(value: unknown, path: string, least: number, most: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
    throw new InvalidControlInput(`${path} must be an integer from ${least} to ${most}`);
  }
  return value;
}

/** Returns the value as a string of 1 to `most` characters. */
export function nameOf(value: unknown, path: string, most: number): string {
  if (typeof value !== 'string' || value === '' || value.length > most) {
    throw new InvalidControlInput(`${path} must be a string of 1 to ${most} characters`);
  }
  return value;
}

/** Returns the value if it is one of the words. */
export function wordOf<Word extends string>(value: unknown, path: string, words: readonly Word[]): Word {
  const word = words.find((candidate) => candidate === value);
  if (word === undefined) {
    throw new InvalidControlInput(`${path} must be one of ${words.map((each) => `"${each}"`).join(', ')}`);
  }
  return word;
}
