import { readFileSync } from 'node:fs';
import type { ProviderProfile } from '@gateway/contracts/operator';
import type { ListedModel } from '../price-lists/bundled-list.js';
import { percentOf } from '../price-lists/decimal.js';
import { Unfit } from './program.js';

const VARIABLE = /^[A-Z][A-Z0-9_]*$/;

/** Hundredths of a percent. @throws Unfit */
export function markupOf(text: string | null): bigint | null {
  if (text === null) return null;
  const percent = percentOf(text);
  if (percent === null) throw new Unfit(`--markup ${text}: percent from 0 to 9999.99, such as 20 or 12.5`);
  return percent;
}

/**
 * The credential of a provider, out of the environment of this terminal; null: none is
 * wanted. Where a profile is let in by Google's tokens the variable names the file of the key.
 * @throws Unfit
 */
export function credentialOf(
  { auth, keyVariable, name }: ProviderProfile,
  { keyEnv, noKey }: { readonly keyEnv: string | null; readonly noKey: boolean },
  env: NodeJS.ProcessEnv,
): string | null {
  if (noKey && keyEnv !== null) throw new Unfit('--key-env or --no-key, not both');
  if (noKey || (keyEnv === null && auth.length === 0)) return null;
  const variable = keyEnv ?? keyVariable;
  if (variable === null) throw new Unfit(`${name} has no usual variable of a key: say --key-env NAME or --no-key`);
  if (!VARIABLE.test(variable)) throw new Unfit('--key-env takes the name of a variable, and never the key itself');
  const value = env[variable]?.trim() ?? '';
  if (value === '')
    throw new Unfit(`${variable} is not set here: set it, name another one with --key-env, or say --no-key`);
  return auth[0]?.type === 'google' ? keyFile(value, variable) : value;
}

/** On one line, as a credential is kept. */
function keyFile(path: string, variable: string): string {
  try {
    return JSON.stringify(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new Unfit(`${variable} names no file of a key: ${(error as Error).message}`);
  }
}

/**
 * What `--param name=value` says of everything that the profile leaves open.
 * @param baseUrl another address: what only that of the profile needs may be left out
 * @throws Unfit
 */
export function parametersOf(
  { id, base, endpoints, auth, parameters }: ProviderProfile,
  given: readonly string[],
  baseUrl: string | null,
): Record<string, string> {
  if (base === null && baseUrl === null) throw new Unfit(`${id} has no address of its own: say --base-url URL`);
  const found: Record<string, string> = {};
  for (const text of given) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    if (value === '') throw new Unfit(`--param ${text}: name=value is expected`);
    if (!Object.hasOwn(parameters, name)) throw new Unfit(`${id} has no parameter ${name}`);
    if (Object.hasOwn(found, name)) throw new Unfit(`--param ${name} is given twice`);
    found[name] = value;
  }
  const text = `${baseUrl === null ? base : ''}${JSON.stringify([endpoints, auth])}`;
  const missing = Object.entries(parameters).filter(
    ([name]) => !Object.hasOwn(found, name) && text.includes(`{${name}}`),
  );
  if (missing.length > 0) {
    const lines = missing.map(([name, about]) => `  --param ${name}=…   ${about}`);
    throw new Unfit(`${id} needs:\n${lines.join('\n')}`);
  }
  return found;
}

/**
 * The listed models that are meant: all, or those with these names at the gateway or at the
 * provider.
 * @throws Unfit
 */
export function modelsOf(
  listed: readonly ListedModel[],
  { endpoints, name }: ProviderProfile,
  wanted: string | null,
): ListedModel[] {
  const served = listed.filter((model) => model.endpoints.some((endpoint) => Object.hasOwn(endpoints, endpoint)));
  if (served.length === 0)
    throw new Unfit(`the bundled list has no models of ${name}: put them with their prices with apply`);
  if (wanted === null || wanted === 'all') return served;
  return [...new Set(wanted.split(','))].map((text) => {
    const found = served.find(({ id, model }) => [id, model, id.slice(id.indexOf('/') + 1)].includes(text));
    if (found !== undefined) return found;
    throw new Unfit(`the list has no model ${text}; of ${name} it has ${served.map(({ model }) => model).join(', ')}`);
  });
}
