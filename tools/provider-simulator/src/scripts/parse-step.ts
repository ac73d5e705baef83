import { validateHeaderName, validateHeaderValue } from 'node:http';
import { integerOf, NAME_CHARACTERS_MAX, nameOf, objectOf, wordOf } from './check-field.js';
import { InvalidControlInput } from './script.js';
import type { ScriptAction, ScriptUsage } from './script.js';

/** Longest delay of a step, in milliseconds. */
export const DELAY_MS_MAX = 3_600_000;
/** Largest token number in a usage step. */
const TOKENS_MAX = Number.MAX_SAFE_INTEGER;
const TOKEN_FIELDS = ['input', 'cachedInput', 'cacheWrite', 'output'];
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export type ParsedStep = Exclude<ScriptAction, { kind: 'answer' | 'error' }> | { kind: 'usage'; usage: ScriptUsage };

/** Parses one step. Its first known field determines which other fields are allowed. */
export function parseStep(input: unknown, path: string): ParsedStep {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new InvalidControlInput(`${path} must be an object`);
  }
  if ('chunk' in input) return parseChunk(objectOf(input, path, ['chunk', 'delayMs']), path);
  if ('bytesBase64' in input) return parseBytes(objectOf(input, path, ['bytesBase64', 'delayMs']), path);
  if ('usage' in input) return { kind: 'usage', usage: parseUsage(objectOf(input, path, ['usage'])['usage'], path) };
  if ('waitFor' in input) {
    const step = objectOf(input, path, ['waitFor']);
    return { kind: 'wait', semaphore: nameOf(step['waitFor'], `${path}.waitFor`, NAME_CHARACTERS_MAX) };
  }
  if ('end' in input) {
    const step = objectOf(input, path, ['end']);
    return { kind: 'end', how: wordOf(step['end'], `${path}.end`, ['normal', 'reset', 'stall', 'cut'] as const) };
  }
  if ('status' in input || 'headers' in input || 'headersDelayMs' in input) {
    return parseHead(objectOf(input, path, ['status', 'headers', 'headersDelayMs']), path);
  }
  if ('delayMs' in input)
    return { kind: 'pause', delayMs: delayOf(objectOf(input, path, ['delayMs']), 'delayMs', path) };
  throw new InvalidControlInput(
    `${path} must have one of status, headers, headersDelayMs, chunk, bytesBase64, delayMs, waitFor, usage, end`,
  );
}

function parseHead(step: Record<string, unknown>, path: string): ParsedStep {
  const status = step['status'] === undefined ? 200 : integerOf(step['status'], `${path}.status`, 200, 599);
  const headers = step['headers'] === undefined ? {} : parseHeaders(step['headers'], `${path}.headers`);
  return { kind: 'head', status, headers, delayMs: delayOf(step, 'headersDelayMs', path) };
}

function parseHeaders(input: unknown, path: string): Record<string, string | string[]> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw new InvalidControlInput(`${path} must be an object of strings or arrays of strings`);
  }
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(input)) {
    const values: unknown[] = Array.isArray(value) ? value : [value];
    const texts = values.filter((text): text is string => typeof text === 'string' && isHeader(name, text));
    if (texts.length === 0 || texts.length !== values.length) {
      throw new InvalidControlInput(
        `${path}["${name}"] must be a valid header: a string or a non-empty array of strings`,
      );
    }
    headers[name] = Array.isArray(value) ? texts : (texts[0] as string);
  }
  return headers;
}

function isHeader(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

function parseChunk(step: Record<string, unknown>, path: string): ParsedStep {
  if (typeof step['chunk'] !== 'string') throw new InvalidControlInput(`${path}.chunk must be a string`);
  return { kind: 'bytes', bytes: Buffer.from(step['chunk'], 'utf8'), delayMs: delayOf(step, 'delayMs', path) };
}

function parseBytes(step: Record<string, unknown>, path: string): ParsedStep {
  const text = step['bytesBase64'];
  if (typeof text !== 'string' || !BASE64.test(text)) {
    throw new InvalidControlInput(`${path}.bytesBase64 must be padded base64`);
  }
  return { kind: 'bytes', bytes: Buffer.from(text, 'base64'), delayMs: delayOf(step, 'delayMs', path) };
}

/**
 * An object with only the simulator's token names must have valid numbers. Any other object is in
 * the provider's own form.
 */
function parseUsage(input: unknown, path: string): ScriptUsage {
  if (input === null) return null;
  if (typeof input !== 'object' || Array.isArray(input)) {
    throw new InvalidControlInput(`${path}.usage must be an object or null`);
  }
  const usage = input as Record<string, unknown>;
  if (!isTokenCounts(usage)) return usage;
  const counts = Object.entries(usage).map(([name, count]) => {
    return [name, integerOf(count, `${path}.usage.${name}`, 0, TOKENS_MAX)] as const;
  });
  const { input: all, cachedInput = 0, cacheWrite = 0 } = Object.fromEntries(counts);
  if (all !== undefined && cachedInput + cacheWrite > all) {
    throw new InvalidControlInput(`${path}.usage: cachedInput and cacheWrite are parts of input`);
  }
  return Object.fromEntries(counts);
}

/** Reports whether a usage object is in the neutral form that each endpoint translates. */
export function isTokenCounts(usage: Record<string, unknown>): boolean {
  const names = Object.keys(usage);
  return names.length > 0 && names.every((name) => TOKEN_FIELDS.includes(name));
}

function delayOf(step: Record<string, unknown>, field: string, path: string): number {
  return step[field] === undefined ? 0 : integerOf(step[field], `${path}.${field}`, 0, DELAY_MS_MAX);
}
