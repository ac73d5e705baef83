import { setImmediate } from 'node:timers/promises';
import { until } from '@gateway/testkit';
import type { CatalogSource } from '@gateway/contracts/messages';
import { sealCredential, sourceEntry, type EdgeWorld } from './edge-world.js';

export interface OwnSource {
  readonly url: string;
  readonly limits?: Partial<CatalogSource['limits']>;
  readonly more?: Partial<CatalogSource>;
  /** Null for a source without a credential. */
  readonly credential?: string | null;
}

export interface OwnModel {
  readonly model: string;
  /** The model name sent to the provider. Provider scripts for it affect only this model. */
  readonly upstreamModel: string;
  /** Source IDs in order of priority. */
  readonly ids: readonly string[];
}

let models = 0;

/** Publishes models whose sources have no recorded failures. Resolves when the edge has them. */
export async function publishOwnModels(
  world: EdgeWorld,
  wanted: readonly (readonly OwnSource[])[],
): Promise<OwnModel[]> {
  const made = wanted.map((sources): OwnModel => {
    models += 1;
    const id = models;
    return { model: `pub/own-${id}`, upstreamModel: `up-${id}`, ids: sources.map((_, index) => `own-${id}-${index}`) };
  });
  const before = takenOver(world);
  const added: CatalogSource[] = [];
  for (const [at, sources] of wanted.entries()) {
    for (const [index, source] of sources.entries()) added.push(entryOf(made[at] as OwnModel, index, source));
    // Yields after each model, since sealing hundreds of credentials in one tick would delay the
    // replies to the bus server's pings.
    await setImmediate();
  }
  await world.publishCatalog((entries) => entries.sources.push(...added));
  for (const { model, ids } of made) world.admission.sources.set(model, [...ids]);
  await until('the edge has applied the catalog', () => takenOver(world) > before);
  return made;
}

function entryOf({ model, upstreamModel, ids }: OwnModel, index: number, source: OwnSource): CatalogSource {
  const { url, limits, more, credential } = source;
  const id = ids[index] as string;
  const unlimited = { headersTimeoutMs: null, firstEventTimeoutMs: null, silenceTimeoutMs: null };
  const sealed = credential == null ? { sealedCredential: null } : { sealedCredential: sealCredential(credential, id) };
  return sourceEntry(id, url, {
    model,
    upstreamModel,
    priority: index,
    limits: { ...unlimited, ...limits },
    ...(credential === undefined ? {} : sealed),
    ...more,
  });
}

export async function publishOwnModel(world: EdgeWorld, ...sources: OwnSource[]): Promise<OwnModel> {
  return (await publishOwnModels(world, [sources]))[0] as OwnModel;
}

function takenOver(world: EdgeWorld): number {
  return world.log.filter(({ text }) => text === 'catalog applied').length;
}
