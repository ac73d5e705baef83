import type { CatalogSnapshot, DatedFigures, Model, Provider, Source } from './domain/objects.js';
import type { NewFigures } from './domain/dated-versions.js';

/** What a price version belongs to. */
export type Priced = { readonly model: string } | { readonly source: string };

export interface ChangeRecord {
  readonly actor: string;
  readonly action: 'put_provider' | 'put_model' | 'put_source' | 'reseal_credentials';
  readonly objectId: string;
  /** Without credentials. */
  readonly before: object | null;
  readonly after: object | null;
}

/** One change under the catalog's lock: what is read stays true until it commits. */
export interface CatalogTx {
  /** The database's time, epoch milliseconds: one clock for all replicas. */
  readonly nowMs: number;
  /** Before this change. */
  readonly revision: number;
  provider(id: string): Promise<Provider | null>;
  model(id: string): Promise<Model | null>;
  source(id: string): Promise<Source | null>;
  sources(): Promise<Source[]>;
  /** Other sources of the model. */
  countOtherSources(model: string, source: string): Promise<number>;
  countObjects(): Promise<number>;
  saveProvider(provider: Provider): Promise<void>;
  saveModel(model: Model): Promise<void>;
  saveSource(source: Source): Promise<void>;
  /** Those that `shownVersions` needs: in force or to come. */
  versions(owner: Priced): Promise<readonly DatedFigures[]>;
  addVersion(owner: Priced, figures: NewFigures): Promise<void>;
  /** Increases the revision and keeps who changed what. Answers the new revision. */
  record(change: ChangeRecord): Promise<number>;
}

export interface CatalogStore {
  change<T>(work: (tx: CatalogTx) => Promise<T>): Promise<T>;
  /** Everything that is published, read at one instant. */
  snapshot(): Promise<CatalogSnapshot>;
  revision(): Promise<number>;
  /** The revision becomes at least this, for a database older than what was published from it. */
  raiseRevision(atLeast: number): Promise<void>;
}

/** Lets one replica at a time touch the bucket, without a connection that is held meanwhile. */
export interface PublicationLease {
  /** False: another replica has it, or this one has it already. */
  take(): Promise<boolean>;
  giveBack(): Promise<void>;
}

/** The bucket that edges and admission mirror. */
export interface CatalogBucket {
  /** Revision of the published catalog; null when there is none. */
  publishedRevision(): Promise<number | null>;
  publish(entries: ReadonlyMap<string, string>, revision: number): Promise<void>;
}

/** Sealed texts are opened here only to compare and renew them; the plaintext leaves nothing. */
export interface CredentialSeal {
  /** The text under the current key; null when it does not open for this source. */
  current(sealed: string, source: string): string | null;
  /** Whether two sealed texts of a source hold the same credential. */
  same(a: string | null, b: string | null, source: string): boolean;
}

/** A change is announced, and its publication awaited. */
export interface Announcer {
  announce(): void;
  /** Resolves when that revision is published, or with false after the time. Never rejects. */
  published(revision: number, timeoutMs: number): Promise<boolean>;
}
