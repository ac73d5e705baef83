import {
  catalogProvider,
  catalogSource,
  CONNECTION_HEADERS,
  providerCredentialPlace,
  type CatalogSource,
} from '@gateway/contracts/messages';
import { hasKeyOf, isSealedToCurrent, openSealed, SealError, type OpeningKeys } from '@gateway/service-kit';
import { CredentialError, type Authorizer, type Authorizers, type DecryptedSource } from '../ports.js';

export interface SourceEntriesParts {
  readonly keys: OpeningKeys;
  readonly authorizers: Authorizers;
  /** Called if a source cannot be opened. It stays unused until its entry changes. */
  readonly onUnusable: (id: string, err: unknown) => void;
  readonly open?: typeof openSealed;
}

/** A provider's credential, for those of its sources that have no credential. */
interface SharedCredential {
  readonly sealed: string;
  /** Null until it is opened. */
  plaintext: string | null;
}

/** An opened credential. It is kept until the sealed text or the source's `auth` changes. */
interface Credential {
  readonly sealed: string | null;
  /** The source's `auth` as JSON. */
  readonly auth: string;
  /** The text to send as it is, or null. */
  readonly plaintext: string | null;
  readonly authorizer: Authorizer | null;
}

/**
 * The sources of the catalog, with the credentials of their providers. Opening a credential takes
 * 0.13 ms, so opening 20,000 at once would block the process for seconds. Each credential is
 * therefore opened when its source is first used, and again only if its sealed text has changed. A
 * provider's credential is opened once for all its sources. Whether the edge has a key for a
 * credential is checked at load.
 */
export class SourceEntries {
  readonly #parts: SourceEntriesParts;
  /** All entries that could be parsed, unusable ones included. */
  readonly #read = new Map<string, CatalogSource>();
  readonly #entries = new Map<string, CatalogSource>();
  readonly #shared = new Map<string, SharedCredential>();
  readonly #opened = new Map<string, DecryptedSource>();
  readonly #credentials = new Map<string, Credential>();
  readonly #unreadable = new Set<string>();
  readonly #outdated = new Set<string>();
  /** Why a source is unusable, by source ID. */
  readonly #problems = new Map<string, string>();

  constructor(parts: SourceEntriesParts) {
    this.#parts = parts;
  }

  /** Number of sources left out because no key opens their credential, as far as known. */
  get unreadable(): number {
    return this.#unreadable.size;
  }

  /** Number of sources whose credential is not sealed to the current key. */
  get outdated(): number {
    return this.#outdated.size;
  }

  /**
   * Replaces the source's previous entry, even if the new one cannot be parsed.
   * @throws SealError if no configured key can open its credential
   */
  take(id: string, text: string): void {
    try {
      this.#take(id, text);
    } catch (err) {
      this.#problems.set(id, formatProblem(err));
      throw err;
    }
  }

  #take(id: string, text: string): void {
    this.#forget(id);
    this.#read.delete(id);
    this.#put(catalogSource.parse(JSON.parse(text)));
  }

  /** @throws SealError if no configured key can open its credential */
  #put(source: CatalogSource): void {
    const { id } = source;
    this.#forget(id);
    this.#read.set(id, source);
    const sealed = this.#sealedOf(source);
    const known = this.#credentials.get(id);
    if (known?.sealed !== sealed || known.auth !== JSON.stringify(source.auth)) this.#forgetCredential(id);
    if (sealed !== null && !hasKeyOf(sealed, this.#parts.keys)) {
      this.#unreadable.add(id);
      throw new SealError('sealed to an unknown key');
    }
    if (sealed !== null && !isSealedToCurrent(sealed, this.#parts.keys)) this.#outdated.add(id);
    this.#entries.set(id, source);
  }

  /** Returns the source's sealed credential, or else that of its provider. */
  #sealedOf({ provider, sealedCredential }: CatalogSource): string | null {
    return sealedCredential ?? this.#shared.get(provider)?.sealed ?? null;
  }

  /**
   * Stores a provider's credential, or deletes it if `text` is `undefined`. The entries of the
   * sources that use it are replaced, so that health recorded for the old credential does not apply
   * to the new one.
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
        this.#problems.set(source.id, formatProblem(err));
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

  /** Returns why the source cannot be used, or null if no problem is known. */
  problemOf(id: string): string | null {
    return this.#problems.get(id) ?? null;
  }

  /**
   * Returns the source, and opens its credential at the first use. Returns undefined if the source
   * does not exist or is unusable.
   */
  opened(id: string): DecryptedSource | undefined {
    const known = this.#opened.get(id);
    const source = this.#entries.get(id);
    if (known !== undefined || source === undefined) return known;
    try {
      const { plaintext, authorizer } = this.#credentialOf(id, source);
      const opened = openSource(source, plaintext, authorizer);
      this.#opened.set(id, opened);
      return opened;
    } catch (err) {
      this.#leaveOut(id);
      if (err instanceof SealError) this.#unreadable.add(id);
      this.#problems.set(id, formatProblem(err));
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

  /** @throws SealError if the credential cannot be opened */
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

/** The texts of these two errors contain no secret. A parser's error may quote one. */
function formatProblem(err: unknown): string {
  if (err instanceof CredentialError) return err.message;
  if (err instanceof SealError) return `its credential cannot be opened (${err.message}): enter it again`;
  return 'its catalog entry cannot be read: the edges may run an earlier release than the catalog';
}

/**
 * Builds the parts of a request to the source: origin, path and headers.
 * @param credential sent as it is; null if there is none
 * @param authorizer signs or fetches a token; null if the source needs none
 */
export function openSource(
  source: CatalogSource,
  credential: string | null,
  authorizer: Authorizer | null = null,
): DecryptedSource {
  const base = new URL(source.baseUrl);
  const headers: string[] = [];
  if (credential !== null) {
    if (source.auth.type === 'bearer') headers.push('authorization', `Bearer ${credential}`);
    else if (source.auth.type === 'header') headers.push(source.auth.header.toLowerCase(), credential);
  }
  for (const [name, value] of Object.entries(source.headers)) {
    if (!CONNECTION_HEADERS.includes(name.toLowerCase())) headers.push(name.toLowerCase(), value);
  }
  return { source, origin: base.origin, basePath: base.pathname.replace(/(?<!\/)\/+$/, ''), headers, authorizer };
}
