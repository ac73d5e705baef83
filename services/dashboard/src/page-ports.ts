import type { PagesConfig } from '@gateway/contracts/pages';
import type { Readable } from 'node:stream';
import type { Door } from './ports.js';

/** Whose playground key: each member of an account has one. */
export interface PlaygroundOwner {
  readonly account: string;
  readonly member: string;
}

/** Values of cookies and what follows from them. Nothing of it leaves the dashboard but the digests. */
export interface SessionSecrets {
  /** A new value of a session's cookie: 256 random bits in base64url. */
  makeSession(): string;
  /** Under the current secret, then under the previous one if there is one. */
  digestsOf(session: string): string[];
  /** Likewise of an operator's cookie: no person's can stand for it. */
  operatorDigestsOf(session: string): string[];
  /** What a page must send beside the cookie of this value. */
  csrfTokenOf(cookie: string): string;
  isCsrfToken(cookie: string, token: string): boolean;
  /**
   * Of a member's playground key (docs/behaviour.md#playground): the secret, and its digests under
   * this and the previous session secret.
   */
  playgroundKey(owner: PlaygroundOwner): { readonly secret: string; readonly digests: readonly string[] };
}

/** Hashes of passwords, made beside the event loop and few at a time. `busy`: too many wait, or too many of this client. */
export interface Passwords {
  hash(password: string, client: string): Promise<string | 'busy'>;
  /** `hash` null: nobody's password, compared all the same. */
  isRight(password: string, hash: string | null, client: string): Promise<boolean | 'busy'>;
  /** Whether it was made at another cost than new ones. */
  isOutdated(hash: string): boolean;
}

export interface EdgeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
}

/** The gateway as its clients see it. */
export interface EdgeClient {
  /** One chat completion with this key; the body comes as it is sent. Rejects when no edge answers. */
  chat(secret: string, body: object, signal: AbortSignal): Promise<EdgeAnswer>;
}

/** A built file of the pages. */
export interface WebFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzip: Buffer | null;
  /** Its name changes with its content. */
  readonly isHashed: boolean;
}

export interface WebFiles {
  /** The page itself; null: the pages are not built. */
  readonly index: string | null;
  /** By path. */
  readonly files: ReadonlyMap<string, WebFile>;
}

/** What every route of the pages has at hand. */
export interface PagesDoor extends Door {
  readonly sessions: SessionSecrets;
  readonly passwords: Passwords;
  readonly edge: EdgeClient;
  readonly settings: PagesSettings;
}

export interface PagesSettings {
  readonly config: PagesConfig;
  /** Cookies and HSTS as for TLS. */
  readonly secure: boolean;
  readonly origins: ReadonlySet<string>;
}
