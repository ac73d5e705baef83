import type { NewFigures } from './domain/dated-versions.js';
import type { CatalogSnapshot, DatedFigures, Kind, Model, Named, Provider, Source } from './domain/objects.js';

/** What a price version belongs to. */
export type Priced = { readonly model: string } | { readonly source: string };

export type ChangeAction =
  | 'put_provider'
  | 'put_model'
  | 'put_source'
  | 'delete_provider'
  | 'delete_model'
  | 'delete_source'
  | 'reseal_credentials';

export interface ChangeRecord {
  readonly actor: string;
  readonly action: ChangeAction;
  readonly objectId: string;
  /** Views: without credentials. */
  readonly before: object | null;
  readonly after: object | null;
}

/** A kept change. */
export interface RecordedChange {
  readonly revision: number;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly objectId: string;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
}

/** One page: objects behind `after` in the order of their ids (null: from the first), at most `limit`. */
export interface Page<After> {
  readonly after: After | null;
  readonly limit: number;
}

/** Objects as they are at one instant; deleted ones are not there. */
export interface ObjectReads {
  /** The database's time, epoch milliseconds: one clock for all replicas. */
  readonly nowMs: number;
  provider(id: string): Promise<Provider | null>;
  model(id: string): Promise<Model | null>;
  source(id: string): Promise<Source | null>;
  /** Those that `shownVersions` needs: in force or to come. */
  versions(owner: Priced): Promise<readonly DatedFigures[]>;
}

export interface CatalogReads extends ObjectReads {
  providers(page: Page<string>): Promise<Provider[]>;
  models(page: Page<string>): Promise<Model[]>;
  /** Those of one model, or all. */
  sources(page: Page<string> & { readonly model: string | null }): Promise<Source[]>;
  providersOf(ids: readonly string[]): Promise<ReadonlyMap<string, Provider>>;
  /** The model of each of these sources that is there. */
  modelsOfSources(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  versionsOf(of: 'prices' | 'costs', owners: readonly string[]): Promise<ReadonlyMap<string, readonly DatedFigures[]>>;
  /** Newest first, those before revision `after`; of one object's id, or all. */
  changes(page: Page<number> & { readonly object: string | null }): Promise<RecordedChange[]>;
}

/** One change under the catalog's lock: what is read stays true until it commits. */
export interface CatalogTx extends ObjectReads {
  /** Before this change, then of its newest record. */
  revision(): number;
  withCredential(): Promise<Source[]>;
  /** A source that refers to this provider or model; null: none does. */
  sourceUsing(kind: 'provider' | 'model', id: string): Promise<string | null>;
  /** Models with more sources than that. */
  crowdedModels(sourcesMax: number): Promise<ReadonlySet<string>>;
  countObjects(): Promise<number>;
  saveProvider(provider: Provider): Promise<void>;
  saveModel(model: Model): Promise<void>;
  saveSource(source: Source): Promise<void>;
  /** The row stays, without a credential; versions written until now never count again. */
  remove(kind: Kind, id: string): Promise<void>;
  addVersion(owner: Priced, figures: NewFigures): Promise<DatedFigures>;
  /** Increases the revision and keeps who changed what. */
  record(change: ChangeRecord): Promise<void>;
}

/** A change of many objects. */
export interface DocumentTx extends CatalogTx {
  /** Every provider, model and source that is there. */
  names(): readonly Named[];
}

export interface CatalogStore {
  /** One change after the other. A refusal takes back what the work did before it. */
  change<T extends object>(work: (tx: CatalogTx) => Promise<T>): Promise<T>;
  /** The same for many objects at once. `keeps` false: everything is taken back. */
  changeMany<T extends object>(work: (tx: DocumentTx) => Promise<T>, options: { readonly keeps: boolean }): Promise<T>;
  read<T>(work: (reads: CatalogReads) => Promise<T>): Promise<T>;
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

/** A change is announced, and its publication awaited. */
export interface Announcer {
  announce(): void;
  /** The newest revision that is known to be published; null before the first time. */
  revision(): number | null;
  /** Resolves when that revision is published, or with false after the time. Never rejects. */
  published(revision: number, timeoutMs: number): Promise<boolean>;
}

/** Which revision the edges and admissions decide by. */
export interface Followers {
  /** Whether all that are alive decide by this revision or a later one, or do within the time. Never rejects. */
  haveAll(revision: number, timeoutMs: number): Promise<boolean>;
}
