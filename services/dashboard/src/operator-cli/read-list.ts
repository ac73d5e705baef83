import { readFileSync, statSync } from 'node:fs';
import type { ProviderProfile } from '@gateway/contracts/operator';
import {
  bundledList,
  bundledPrices,
  listedModelsOf,
  resolveList,
  type BundledList,
} from '../price-lists/bundled-list.js';
import { readLitellm } from '../price-lists/litellm.js';
import { readModelsDev } from '../price-lists/models-dev.js';
import {
  LIST_FORMATS,
  WrongList,
  type ListFormat,
  type OfferedModel,
  type PriceList,
  type PriceQuery,
} from '../price-lists/price-list.js';
import { readProviderModels } from '../price-lists/provider-models.js';
import { PrivateAddressError, publicLookup } from '@gateway/service-kit';
import { isPrivateHost } from '@gateway/service-kit/network-address';
import { lookup } from 'node:dns';
import { Agent, fetch } from 'undici';
import { UsageError, type ProgramContext } from './program.js';

const BUNDLED = new URL('../../lists/models.json', import.meta.url);
const BYTES_MAX = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
/** URLs where the lists are published. */
const ADDRESSES: Readonly<Record<Exclude<ListFormat, 'bundled'>, string>> = {
  'models.dev': 'https://models.dev/api.json',
  litellm: 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
};
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Reads the list bundled with this release, as of the UTC day of a time. */
export function readBundledList(nowMs: number): BundledList {
  return listAt(nowMs, bundledList.parse(JSON.parse(readFileSync(BUNDLED, 'utf8'))));
}

function listAt(nowMs: number, list: BundledList): BundledList {
  return resolveList(list, new Date(nowMs).toISOString().slice(0, 10));
}

/** Returns whether the bundled list has models that a profile serves. */
export function hasBundledModels({ id, endpoints }: Pick<ProviderProfile, 'id' | 'endpoints'>): boolean {
  const models = listedModelsOf(readBundledList(Date.now()), id);
  return models.some((model) => model.endpoints.some((endpoint) => Object.hasOwn(endpoints, endpoint)));
}

/**
 * Reads a list from a file, a URL, or where it is published. At most 64 MiB within a minute; only
 * over TLS, unless it comes from this machine.
 * @throws Unfit
 */
export async function readPriceList(
  format: string | null,
  { file, url }: ListPlace,
  { privateAllowed, nowMs }: ListReading,
): Promise<DatedList> {
  const known = LIST_FORMATS.find((one) => one === format);
  if (known === undefined) throw new UsageError(`--from is one of ${LIST_FORMATS.join(', ')}`);
  if (file !== null && url !== null) throw new UsageError('use --file or --list-url, not both');
  if (known === 'bundled') {
    if (url !== null) throw new UsageError('the bundled list has no URL: use --file to read another one');
    const list = file === null ? bundledPrices(readBundledList(nowMs)) : bundledFrom(parsed(textOfFile(file)), nowMs);
    return { list, changedMs: null };
  }
  const { text, changedMs } =
    file === null
      ? await fetchText(url ?? ADDRESSES[known], { privateAllowed })
      : { text: textOfFile(file), changedMs: statSync(file).mtimeMs };
  try {
    return { list: known === 'litellm' ? readLitellm(parsed(text)) : readModelsDev(parsed(text)), changedMs };
  } catch (error) {
    throw error instanceof WrongList ? new UsageError(error.message) : error;
  }
}

export interface ListReading {
  /** Whether URLs may be private addresses. */
  readonly privateAllowed: boolean;
  /** Epoch milliseconds. The bundled list has prices that begin on later days. */
  readonly nowMs: number;
}
export interface ListPlace {
  readonly file: string | null;
  readonly url: string | null;
}
export interface DatedList {
  readonly list: PriceList;
  /** Epoch milliseconds of the last change of the file or response; null: unknown. */
  readonly changedMs: number | null;
}

const DAY_MS = 86_400_000;
/** Age from which a list gets a warning. Providers change prices about every month. */
const OLD_DAYS = 30;

/**
 * Formats `List litellm of 2026-07-24, 127 days old`. A list's own date takes precedence over that
 * of its file.
 */
export function formatList({ list, changedMs }: DatedList, nowMs: number): string {
  const day = list.date ?? (changedMs === null ? null : new Date(changedMs).toISOString().slice(0, 10));
  if (day === null) return `List ${list.format}; its age is unknown: neither the list nor its server has a date`;
  const days = Math.max(0, Math.floor((nowMs - Date.parse(day)) / DAY_MS));
  const source = list.date === null ? ', by the date of its file' : '';
  const warning = days > OLD_DAYS ? '. Its prices may be out of date' : '';
  return `List ${list.format} of ${day}, ${days} ${days === 1 ? 'day' : 'days'} old${source}${warning}`;
}

/**
 * Reads the models of a provider from its API, with the key from this terminal.
 * @throws Unfit
 */
export async function readProvider(url: string, headers: Readonly<Record<string, string>>): Promise<OfferedModel[]> {
  // Private addresses are allowed because the operator named the provider's address.
  const { text } = await fetchText(url, { headers, privateAllowed: true });
  try {
    return readProviderModels(parsed(text));
  } catch (error) {
    throw error instanceof WrongList ? new UsageError(error.message) : error;
  }
}

function bundledFrom(value: unknown, nowMs: number): PriceList {
  const read = bundledList.safeParse(value);
  if (!read.success) throw new UsageError('the file does not have the format of the bundled list');
  return bundledPrices(listAt(nowMs, read.data));
}

function textOfFile(file: string): string {
  const { size } = statSync(file);
  if (size > BYTES_MAX) throw new UsageError(`${file} has ${size} bytes; a list has at most ${BYTES_MAX}`);
  return readFileSync(file, 'utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new UsageError('the list is not valid JSON');
  }
}

async function fetchText(
  address: string,
  { headers = {}, privateAllowed }: { headers?: Readonly<Record<string, string>>; privateAllowed: boolean },
): Promise<{ readonly text: string; readonly changedMs: number | null }> {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isPlain = url?.protocol === 'http:' && LOOPBACK.test(url.hostname);
  if (url === null || !(url.protocol === 'https:' || isPlain))
    throw new UsageError(`${address}: use https, or http from this machine`);
  const isFree = privateAllowed || isPlain;
  if (!isFree && isPrivateHost(url.hostname)) throw privateAddress(address);
  // The lookup checks the very addresses that the socket connects to.
  const agent = new Agent({ connect: isFree ? {} : { lookup: publicLookup(lookup) } });
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(url, { headers, redirect: 'manual', signal, dispatcher: agent });
    if (response.status >= 300 && response.status < 400)
      throw new UsageError(
        `${address} redirects to ${response.headers.get('location') ?? 'another address'}: name that one`,
      );
    if (!response.ok) throw new UsageError(`${address} returned status ${response.status}`);
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of response.body ?? []) {
      bytes += (part as Uint8Array).length;
      if (bytes > BYTES_MAX) throw new UsageError(`${address} has more than ${BYTES_MAX} bytes`);
      parts.push(part as Uint8Array);
    }
    const changedMs = Date.parse(response.headers.get('last-modified') ?? '');
    return { text: Buffer.concat(parts).toString('utf8'), changedMs: Number.isNaN(changedMs) ? null : changedMs };
  } catch (error) {
    throw (error as Error).cause instanceof PrivateAddressError ? privateAddress(address) : error;
  } finally {
    await agent.destroy();
  }
}

function privateAddress(address: string): UsageError {
  return new UsageError(`${address} is a private address: GATEWAY_ALLOW_PRIVATE_SOURCES=on allows it`);
}

/** Returns the settings for reading lists. Private addresses follow the sources' variable. */
export function listReading({ env, clock }: Pick<ProgramContext, 'env' | 'clock'>): ListReading {
  const privateAllowed = ['on', 'true', '1'].includes(env['GATEWAY_ALLOW_PRIVATE_SOURCES']?.toLowerCase() ?? '');
  return { privateAllowed, nowMs: clock.nowMs() };
}

/** Combines lists; a model is read from the first list that has it. */
export function combineLists(lists: readonly PriceList[]): PriceList {
  const [first] = lists;
  if (first === undefined) throw new UsageError('name a list with --from');
  const having = (wanted: PriceQuery): PriceList | undefined => lists.find((list) => list.find(wanted) !== null);
  return {
    ...first,
    find: (wanted) => having(wanted)?.find(wanted) ?? null,
    unread: (wanted) => having(wanted)?.unread(wanted) ?? [],
  };
}
