import { ANSWER_ID_BYTES_MAX } from '../answer-names.js';
import { isRecord, type JsonRecord } from './answer-json.js';

/** IDs that are kept of one response; a response with more keeps the first ones. */
export const IDS_PER_ANSWER_MAX = 1_024;

/** IDs in a response that later requests may name. */
export interface StoredIds {
  /** Of the response and its items: later requests may name them if the provider stores it. */
  readonly stored: readonly string[];
  /** Containers exist whether the response is stored or not. */
  readonly containers: readonly string[];
  /** It had more than {@link IDS_PER_ANSWER_MAX}. */
  readonly isCut: boolean;
}

/** Collects the IDs of a response, from its events or from the whole body. */
export class StoredIdReader {
  readonly #stored = new Set<string>();
  readonly #containers = new Set<string>();
  #isCut = false;

  /** A response object of the responses protocol, complete or not. */
  seeResponse(response: JsonRecord): void {
    this.#add(this.#stored, response['id']);
    const { output } = response;
    if (Array.isArray(output)) for (const item of output) this.seeItem(item);
  }

  seeItem(item: unknown): void {
    if (!isRecord(item)) return;
    this.#add(this.#stored, item['id']);
    this.#add(this.#containers, item['container_id']);
    const { environment } = item;
    if (isRecord(environment)) this.#add(this.#containers, environment['container_id']);
  }

  /** The `container` of a message. */
  seeContainer(container: unknown): void {
    if (isRecord(container)) this.#add(this.#containers, container['id']);
  }

  /** Undefined: there are none. */
  ids(): StoredIds | undefined {
    if (this.#stored.size === 0 && this.#containers.size === 0) return undefined;
    return { stored: [...this.#stored], containers: [...this.#containers], isCut: this.#isCut };
  }

  #add(ids: Set<string>, id: unknown): void {
    if (typeof id !== 'string' || id === '' || ids.has(id) || Buffer.byteLength(id) > ANSWER_ID_BYTES_MAX) return;
    if (this.#stored.size + this.#containers.size >= IDS_PER_ANSWER_MAX) this.#isCut = true;
    else ids.add(id);
  }
}

export function withIds<T extends object>(result: T, reader: StoredIdReader): T & { readonly ids?: StoredIds } {
  const ids = reader.ids();
  return ids === undefined ? result : { ...result, ids };
}
