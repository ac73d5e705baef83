import { catalogSource, CONNECTION_HEADERS, type CatalogSource } from '@gateway/contracts/messages';
import { hasKeyOf, isSealedToCurrent, openSealed, SealError, type OpeningKeys } from '@gateway/service-kit';
import { CredentialError, type Authorizer, type Authorizers, type OpenedSource } from '../ports.js';

export interface SourceEntriesParts {
  readonly keys: OpeningKeys;
  readonly authorizers: Authorizers;
  /** At its first use a source turned out to be unusable, and is left out until it changes. */
  readonly onUnusable: (id: string, err: unknown) => void;
  readonly open?: typeof openSealed;
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
 * The sources of the catalog. Opening a credential takes 0.13 ms, so 20,000 at once would hold the
 * process for seconds: each is opened at the first use of its source, and again only when its
 * sealed text has changed. Whether a key for it is at hand is seen at once.
 */
export class SourceEntries {
  readonly #parts: SourceEntriesParts;
  readonly #entries = new Map<string, CatalogSource>();
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

  /** Sources whose credential needs the previous key, or that of earlier releases. */
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
    const source = catalogSource.parse(JSON.parse(text));
    const sealed = source.sealedCredential;
    const known = this.#credentials.get(id);
    if (known?.sealed !== sealed || known.auth !== JSON.stringify(source.auth)) this.#forgetCredential(id);
    if (sealed !== null && !hasKeyOf(sealed, this.#parts.keys)) {
      this.#unreadable.add(id);
      throw new SealError('sealed to a key that is not at hand');
    }
    if (sealed !== null && !isSealedToCurrent(sealed, this.#parts.keys)) this.#outdated.add(id);
    this.#entries.set(id, source);
  }

  drop(id: string): void {
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
      this.drop(id);
      if (err instanceof SealError) this.#unreadable.add(id);
      this.#problems.set(id, problemInWords(err));
      this.#parts.onUnusable(id, err);
      return undefined;
    }
  }

  #credentialOf(id: string, { sealedCredential: sealed, auth }: CatalogSource): Credential {
    const known = this.#credentials.get(id);
    if (known !== undefined) return known;
    const plaintext = sealed === null ? null : (this.#parts.open ?? openSealed)(sealed, id, this.#parts.keys);
    const authorizer = this.#parts.authorizers.acquire(auth, plaintext);
    const fixed = authorizer === null ? plaintext : null;
    const credential = { sealed, auth: JSON.stringify(auth), plaintext: fixed, authorizer };
    this.#credentials.set(id, credential);
    return credential;
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
