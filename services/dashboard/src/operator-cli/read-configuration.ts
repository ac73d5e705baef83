import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ACCOUNT_KINDS, configurationFile, isRefusal, type AccountObject } from '@gateway/contracts/operator';
import { checkInput } from '../http/check-input.js';
import { readDocument } from '../http/read-document.js';
import { inOneLine } from '../operator-api/catalog/seal-credential.js';
import { UsageError } from './program.js';

/** A configuration file, checked and with its credentials. */
export interface Configuration {
  /** The objects of an apply document, as in the file. */
  readonly document: readonly unknown[];
  /** The index of each of them in the file. */
  readonly places: readonly number[];
  readonly accounts: readonly AccountObject[];
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a configuration file (`-`: standard input), and the credentials that it names as
 * `{fromFile: PATH}`, relative to the file. An error has the place, kind and ID of the object and
 * quotes no value.
 * @throws UsageError
 */
export function readConfiguration(file: string): Configuration {
  const read = readDocument(readText(file, file));
  if (isRefusal(read)) throw new UsageError(`${file}: ${read.refused.message}`);
  const given = (read.value as { objects?: unknown } | null)?.objects;
  const objects = Array.isArray(given) ? given.map((object, place) => withCredential(object, place, file)) : [];
  const checked = checkInput(configurationFile, Array.isArray(given) ? { objects } : read.value);
  if (isRefusal(checked)) {
    const { message, param } = checked.refused;
    throw new UsageError(`${file}: ${message}${nameAt(objects, param)}`);
  }
  const accounts: AccountObject[] = [];
  const places: number[] = [];
  for (const [place, object] of checked.value.objects.entries()) {
    if (isOfAccount(object)) accounts.push(object);
    else places.push(place);
  }
  return { document: places.map((place) => objects[place]), places, accounts };
}

function isOfAccount(object: { readonly kind: string }): object is AccountObject {
  return (ACCOUNT_KINDS as readonly string[]).includes(object.kind);
}

/** Replaces `{fromFile: PATH}` by the text of that file. */
function withCredential(object: unknown, place: number, file: string): unknown {
  const { spec } = (object ?? {}) as { spec?: Fields };
  const path = (spec?.['credential'] as Fields | null | undefined)?.['fromFile'];
  if (typeof path !== 'string') return object;
  const where = `${file}: objects[${place}].spec.credential.fromFile`;
  const credential = inOneLine(readText(resolve(dirname(file), path), where).trimEnd());
  return { ...(object as Fields), spec: { ...spec, credential } };
}

function readText(path: string, where: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new UsageError(`${where}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Names the object of a path such as `objects[2].spec.name`. */
function nameAt(objects: readonly unknown[], param: string | null): string {
  const place = /^objects\[(\d+)\]/.exec(param ?? '')?.[1];
  const { kind, id } = (objects[Number(place)] ?? {}) as Fields;
  return typeof kind === 'string' && typeof id === 'string' ? ` (${kind} ${id})` : '';
}
