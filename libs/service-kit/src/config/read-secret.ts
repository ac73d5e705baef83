import { readFileSync, statSync } from 'node:fs';
import type { Outcome } from './config.js';
import { splitUrl } from '../network-address.js';
import { Secret } from '../secrets/secret.js';

export interface SecretOptions {
  /** Minimum length in bytes of UTF-8. Default: 1. */
  readonly minBytes?: number;
  /** The secret must look random: {@link looksRandom}. */
  readonly random?: boolean;
  readonly optional?: boolean;
}

export interface KeyOptions {
  /** Exact length of the key. */
  readonly bytes: number;
}

type Optional = { readonly optional: boolean };

const SECRET_FILE_BYTES_MAX = 65_536;

/** Reads a secret. Problems name sizes and forms, never a value. */
export function readSecret(name: string, env: NodeJS.ProcessEnv, options: SecretOptions): Outcome<Secret | null> {
  const found = secretText(name, env);
  if ('problem' in found) return found;
  if (found.value === null) return options.optional === true ? { value: null } : { problem: notSet(name) };
  const bytes = Buffer.byteLength(found.value);
  const minBytes = options.minBytes ?? 1;
  if (bytes < minBytes) return { problem: `holds ${bytes} bytes, at least ${minBytes} are needed` };
  if (options.random === true && !looksRandom(found.value)) return { problem: `does not look random: ${RANDOM_RULE}` };
  return { value: new Secret(found.value) };
}

const RANDOM_CHARS_MIN = 32;
const RANDOM_DISTINCT_MIN = 8;
const RANDOM_RULE =
  `it needs at least ${RANDOM_CHARS_MIN} characters, ${RANDOM_DISTINCT_MIN} different ones, and must not be one text repeated; ` +
  'make one with: openssl rand -hex 32';

/** 32 random hexadecimal digits have fewer than 8 different ones once in 20 million cases. */
function looksRandom(text: string): boolean {
  const chars = [...text];
  return (
    chars.length >= RANDOM_CHARS_MIN &&
    new Set(chars).size >= RANDOM_DISTINCT_MIN &&
    (text + text).indexOf(text, 1) === text.length
  );
}

export function readSecretUrl(
  name: string,
  env: NodeJS.ProcessEnv,
  options: SecretOptions & { readonly schemes: readonly string[] },
): Outcome<Secret | null> {
  const read = readSecret(name, env, options);
  if ('problem' in read || read.value === null) return read;
  const wrong = splitUrl(read.value.reveal()).some(
    (url) => !URL.canParse(url) || !options.schemes.includes(new URL(url).protocol.slice(0, -1)),
  );
  if (!wrong) return read;
  return { problem: `must be a URL that begins with ${options.schemes.map((scheme) => `${scheme}://`).join(' or ')}` };
}

export function readKey(
  name: string,
  env: NodeJS.ProcessEnv,
  options: KeyOptions & Optional,
): Outcome<Secret<Buffer> | null> {
  const found = secretText(name, env);
  if ('problem' in found) return found;
  if (found.value === null) return options.optional ? { value: null } : { problem: notSet(name) };
  const key = decodeKey(found.value);
  if (key === null) return { problem: `must be ${options.bytes} bytes written as hex or base64` };
  if (key.length !== options.bytes)
    return { problem: `holds a key of ${key.length} bytes, exactly ${options.bytes} are needed` };
  return { value: new Secret(key) };
}

/**
 * Returns the text of NAME, or of the file that NAME_FILE names without its last line end. Null if
 * neither is set.
 */
function secretText(name: string, env: NodeJS.ProcessEnv): Outcome<string | null> {
  const direct = env[name] ?? '';
  const file = env[`${name}_FILE`] ?? '';
  if (direct !== '' && file !== '') return { problem: `is set twice; keep either ${name} or ${name}_FILE` };
  if (direct !== '') return { value: direct };
  if (file === '') return { value: null };
  try {
    if (statSync(file).size > SECRET_FILE_BYTES_MAX) {
      return { problem: `names a file of more than ${SECRET_FILE_BYTES_MAX} bytes`, name: `${name}_FILE` };
    }
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    return text === '' ? { problem: 'names an empty file', name: `${name}_FILE` } : { value: text };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { problem: `names a file that cannot be read (${code ?? 'unknown reason'})`, name: `${name}_FILE` };
  }
}

/** Tries hex first: a text of hex digits is also valid base64, but of another length. */
function decodeKey(text: string): Buffer | null {
  if (/^([0-9a-fA-F]{2})+$/.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return Buffer.from(text, 'base64');
  return null;
}

function notSet(name: string): string {
  return `is not set; set ${name}, or ${name}_FILE to the path of a file that holds it`;
}
