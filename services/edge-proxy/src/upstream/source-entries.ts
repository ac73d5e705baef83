import {
  catalogProvider,
  catalogSource,
  CONNECTION_HEADERS,
  providerCredentialPlace,
  type CatalogSource,
} from '@gateway/contracts/messages';
import { hasKeyOf, isSealedToCurrent, openSealed, SealError, type OpeningKeys } from '@gateway/service-kit';
import { CredentialError, type Authorizer, type Authorizers, type OpenedSource } from '../ports.js';

export interface SourceEntriesParts {
  readonly keys: OpeningKeys;
  readonly authorizers: Authorizers;
  /** At its first use a source turned out to be unusable, and is left out until it changes. */
  readonly onUnusable: (id: string, err: unknown) => void;
  readonly open?: typeof openSealed;
}

/** Of a provider, for its sources that have none of their own. */
interface SharedCredential {
  readonly sealed: string;
  /** Null: it was not opened yet. */
  plaintext: string | null;
}

/** Kept as long as neither the sealed text nor the way to be let in changes. */
interface Credential {
  readonly sealed: string | null;
  /** The source's `auth`, as text. */
  readonly auth: string;
  /** What is sent as it is; null: nothing. */
  readonly plaintext: string | null;
  readonly authorizer: Authorizer | null;
}

/**
 * The sources of the catalog, with the credentials of their providers. Opening a credential takes
 * 0.13 ms, so 20,000 at once would hold the process for seconds: each is opened at the first use of
 * its source, and again only when its sealed text has changed; that of a provider is opened once
 * for all its sources. Whether a key for it is at hand is seen at once.
 */
export class SourceEntries {
  readonly #parts: SourceEntriesParts;
  /** All that can be read, those that cannot be used among them. */
  readonly #read = new Map<string, CatalogSource>();
  readonly #entries = new Map<string, CatalogSource>();
  readonly #shared = new Map<string, SharedCredential>();
  readonly #opened = new Map<string, OpenedSource>();
  readonly #credentials = new Map<string, Credential>();
  readonly #unreadable = new Set<string>();
  readonly #outdated = new Set<string>();
  /** Of those that cannot be used, in words. */
  readonly #problems = new Map<string, string>();

  constructor(parts: SourceEntriesParts) {
    this.#parts = parts;
  }

  /** Sources left out because no key at hand opens their credential, as far as that is known. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  /** Sources whose credential needs the previous key. */
  get outdated(): number {
    return this.#outdated.size;
  }

  /**
   * Takes the place of what was known of it, even when it cannot be read. @throws SealError when no
   * key for its credential is at hand
   */
  take(id: string, text: string): void {
    try {
      this.#take(id, text);
    } catch (err) {
      this.#problems.set(id, problemInWords(err));
      throw err;
    }
  }

  #take(id: string, text: string): void {
    this.#forget(id);
    this.#read.delete(id);
    this.#put(catalogSource.parse(JSON.parse(text)));
  }

  /** @throws SealError when no key for its credential is at hand */
  #put(source: CatalogSource): void {
    const { id } = source;
    this.#forget(id);
    this.#read.set(id, source);
    const sealed = this.#sealedOf(source);
    const known = this.#credentials.get(id);
    if (known?.sealed !== sealed || known.auth !== JSON.stringify(source.auth)) this.#forgetCredential(id);
    if (sealed !== null && !hasKeyOf(sealed, this.#parts.keys)) {
      this.#unreadable.add(id);
      throw new SealError('sealed to a key that is not at hand');
    }
    if (sealed !== null && !isSealedToCurrent(sealed, this.#parts.keys)) this.#outdated.add(id);
    this.#entries.set(id, source);
  }

  /** Of its own, else of its provider. */
  #sealedOf({ provider, sealedCredential }: CatalogSource): string | null {
    return sealedCredential ?? this.#shared.get(provider)?.sealed ?? null;
  }

  /**
   * Takes a provider's credential, or drops it with `undefined`. Its sources without one of their
   * own are new entries then: what was known against them may hold no longer.
   */
  takeProvider(id: string, text: string | undefined): void {
    const sealed = text === undefined ? undefined : catalogProvider.parse(JSON.parse(text)).sealedCredential;
    if (this.#shared.get(id)?.sealed === sealed) return;
    if (sealed === undefined) this.#shared.delete(id);
    else this.#shared.set(id, { sealed, plaintext: null });
    for (const source of [...this.#read.values()]) {
      if (source.provider !== id || source.sealedCredential !== null) continue;
      try {
        this.#put({ ...source });
      } catch (err) {
        this.#problems.set(source.id, problemInWords(err));
        this.#parts.onUnusable(source.id, err);
      }
    }
  }

  drop(id: string): void {
    this.#leaveOut(id);
    this.#read.delete(id);
  }

  #leaveOut(id: string): void {
    this.#forget(id);
    this.#forgetCredential(id);
  }

  all(): Iterable<CatalogSource> {
    return this.#entries.values();
  }

  entry(id: string): CatalogSource | undefined {
    return this.#entries.get(id);
  }

  /** Why it cannot be used; null: nothing is known against it. */
  problemOf(id: string): string | null {
    return this.#problems.get(id) ?? null;
  }

  /**
   * Opens the credential at the first use; undefined when there is no such source, or it is
   * unusable.
   */
  opened(id: string): OpenedSource | undefined {
    const known = this.#opened.get(id);
    const source = this.#entries.get(id);
    if (known !== undefined || source === undefined) return known;
    try {
      const { plaintext, authorizer } = this.#credentialOf(id, source);
      const opened = openedSource(source, plaintext, authorizer);
      this.#opened.set(id, opened);
      return opened;
    } catch (err) {
      this.#leaveOut(id);
      if (err instanceof SealError) this.#unreadable.add(id);
      this.#problems.set(id, problemInWords(err));
      this.#parts.onUnusable(id, err);
      return undefined;
    }
  }

  #credentialOf(id: string, source: CatalogSource): Credential {
    const known = this.#credentials.get(id);
    if (known !== undefined) return known;
    const { auth } = source;
    const sealed = this.#sealedOf(source);
    const plaintext = this.#plaintextOf(source);
    const authorizer = this.#parts.authorizers.acquire(auth, plaintext);
    const fixed = authorizer === null ? plaintext : null;
    const credential = { sealed, auth: JSON.stringify(auth), plaintext: fixed, authorizer };
    this.#credentials.set(id, credential);
    return credential;
  }

  /** @throws SealError when it does not open */
  #plaintextOf({ id, provider, sealedCredential }: CatalogSource): string | null {
    const { keys, open = openSealed } = this.#parts;
    if (sealedCredential !== null) return open(sealedCredential, id, keys);
    const shared = this.#shared.get(provider);
    if (shared === undefined) return null;
    return (shared.plaintext ??= open(shared.sealed, providerCredentialPlace(provider), keys));
  }

  #forgetCredential(id: string): void {
    const known = this.#credentials.get(id);
    if (known?.authorizer) this.#parts.authorizers.release(known.authorizer);
    this.#credentials.delete(id);
  }

  #forget(id: string): void {
    for (const each of [this.#entries, this.#opened, this.#unreadable, this.#outdated, this.#problems]) each.delete(id);
  }
}

/** Texts of these errors name no secret; that of a parser may. */
function problemInWords(err: unknown): string {
  if (err instanceof CredentialError) return err.message;
  if (err instanceof SealError) return `its credential does not open (${err.message}): give it again`;
  return 'its entry in the catalog cannot be read: edges may be of an earlier release than the catalog';
}

/**
 * A source as it is asked. @param credential what is sent as it is
 * @param authorizer null: nothing else lets it in
 */
export function openedSource(
  source: CatalogSource,
  credential: string | null,
  authorizer: Authorizer | null = null,
): OpenedSource {
  const base = new URL(source.baseUrl);
  const headers: string[] = [];
  if (credential !== null) {
    if (source.auth.type === 'bearer') headers.push('authorization', `Bearer ${credential}`);
    else if (source.auth.type === 'header') headers.push(source.auth.header.toLowerCase(), credential);
  }
  for (const [name, value] of Object.entries(source.headers)) {
    if (!CONNECTION_HEADERS.includes(name.toLowerCase())) headers.push(name.toLowerCase(), value);
  }
  return { source, origin: base.origin, basePath: base.pathname.replace(/\/+$/, ''), headers, authorizer };
}
