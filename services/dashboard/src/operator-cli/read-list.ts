import { readFileSync, statSync } from 'node:fs';
import { bundledList, bundledPrices, listOn, type BundledList } from '../price-lists/bundled-list.js';
import { readLitellm } from '../price-lists/litellm.js';
import { readModelsDev } from '../price-lists/models-dev.js';
import { LIST_FORMATS, WrongList, type ListFormat, type PriceList } from '../price-lists/price-list.js';
import { Unfit } from './program.js';

const BUNDLED = new URL('../../lists/models.json', import.meta.url);
const BYTES_MAX = 64 * 1024 * 1024;
const TIMEOUT_MS = 60_000;
/** Where the lists are published. */
const ADDRESSES: Readonly<Record<Exclude<ListFormat, 'bundled'>, string>> = {
  'models.dev': 'https://models.dev/api.json',
  litellm: 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
};
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** The list that comes with this release, as it is today. */
export function readBundledList(): BundledList {
  return today(bundledList.parse(JSON.parse(readFileSync(BUNDLED, 'utf8'))));
}

function today(list: BundledList): BundledList {
  return listOn(list, new Date().toISOString().slice(0, 10));
}

/**
 * A list from a file, from an address, or from where it is published. At most 64 MiB, there within
 * a minute; only over TLS, unless it comes from this machine.
 * @throws Unfit
 */
export async function readPriceList(
  format: string | null,
  { file, url }: { readonly file: string | null; readonly url: string | null },
): Promise<PriceList> {
  const known = LIST_FORMATS.find((one) => one === format);
  if (known === undefined) throw new Unfit(`--from is one of ${LIST_FORMATS.join(', ')}`);
  if (file !== null && url !== null) throw new Unfit('--file or --list-url, not both');
  if (known === 'bundled') {
    if (url !== null) throw new Unfit('the bundled list comes from no address: --file reads another one');
    return file === null ? bundledPrices(readBundledList()) : bundledFrom(parsed(textOfFile(file)));
  }
  const text = file === null ? await fetched(url ?? ADDRESSES[known]) : textOfFile(file);
  try {
    return known === 'litellm' ? readLitellm(parsed(text)) : readModelsDev(parsed(text));
  } catch (error) {
    throw error instanceof WrongList ? new Unfit(error.message) : error;
  }
}

function bundledFrom(value: unknown): PriceList {
  const read = bundledList.safeParse(value);
  if (!read.success) throw new Unfit('the file has not the form of the bundled list');
  return bundledPrices(today(read.data));
}

function textOfFile(file: string): string {
  const { size } = statSync(file);
  if (size > BYTES_MAX) throw new Unfit(`${file} has ${size} bytes; a list has at most ${BYTES_MAX}`);
  return readFileSync(file, 'utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Unfit('the list is no JSON');
  }
}

async function fetched(address: string): Promise<string> {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isPlain = url?.protocol === 'http:' && LOOPBACK.test(url.hostname);
  if (url === null || !(url.protocol === 'https:' || isPlain))
    throw new Unfit(`${address}: a list is read over https, or over http from this machine`);
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (response.status >= 300 && response.status < 400)
    throw new Unfit(`${address} leads to ${response.headers.get('location') ?? 'another address'}: name that one`);
  if (!response.ok) throw new Unfit(`${address} answered ${response.status}`);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += (part as Uint8Array).length;
    if (bytes > BYTES_MAX) throw new Unfit(`${address} has more than ${BYTES_MAX} bytes`);
    parts.push(part as Uint8Array);
  }
  return Buffer.concat(parts).toString('utf8');
}
