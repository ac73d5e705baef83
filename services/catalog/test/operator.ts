import type { Bus } from '@gateway/bus';
import {
  catalogApply,
  catalogAudit,
  catalogDelete,
  catalogGetAlias,
  catalogGetModel,
  catalogGetProvider,
  catalogGetSource,
  catalogListAliases,
  catalogListModels,
  catalogListProfiles,
  catalogListProviders,
  catalogListSources,
  catalogRevisionUsed,
  catalogPutAlias,
  catalogPutModel,
  catalogPutProvider,
  catalogPutSource,
  catalogSourceHealth,
  type BodyOf,
} from '@gateway/contracts/messages';
import { AUTHOR, modelSpec, providerSpec, sourceSpec } from './specs.js';

type ApplyObject = BodyOf<typeof catalogApply>['objects'][number];
interface Page {
  cursor?: string | null;
  limit?: number;
}
const page = ({ cursor = null, limit = 50 }: Page) => ({ cursor, limit });

/** Creates a client that sends the dashboard's catalog requests. */
export function operatorOn(bus: Bus) {
  return {
    putProvider: (id: string, more = {}, sealedCredential?: string | null) =>
      bus.request(catalogPutProvider, {
        id,
        spec: providerSpec(more),
        author: AUTHOR,
        ...(sealedCredential === undefined ? {} : { sealedCredential }),
      }),
    putModel: (id: string, more = {}) => bus.request(catalogPutModel, { id, spec: modelSpec(more), author: AUTHOR }),
    putSource: (id: string, more = {}, sealedCredential?: string | null) =>
      bus.request(catalogPutSource, {
        id,
        spec: sourceSpec(more),
        author: AUTHOR,
        ...(sealedCredential === undefined ? {} : { sealedCredential }),
      }),
    getProvider: (id: string) => bus.request(catalogGetProvider, { id }),
    putAlias: (id: string, modelId: string) => bus.request(catalogPutAlias, { id, spec: { modelId }, author: AUTHOR }),
    getAlias: (id: string) => bus.request(catalogGetAlias, { id }),
    listAliases: (of: Page = {}) => bus.request(catalogListAliases, page(of)),
    getModel: (id: string) => bus.request(catalogGetModel, { id }),
    getSource: (id: string) => bus.request(catalogGetSource, { id }),
    listProviders: (of: Page = {}) => bus.request(catalogListProviders, page(of)),
    listProfiles: () => bus.request(catalogListProfiles, {}),
    listModels: (of: Page = {}) => bus.request(catalogListModels, page(of)),
    listSources: (of: Page & { model?: string | null } = {}) =>
      bus.request(catalogListSources, { model: of.model ?? null, ...page(of) }),
    remove: (kind: 'provider' | 'model' | 'source' | 'alias', id: string) =>
      bus.request(catalogDelete, { kind, id, author: AUTHOR }),
    apply: (objects: ApplyObject[], { prune = false, dryRun = false } = {}) =>
      bus.request(catalogApply, { objects, prune, dryRun, author: AUTHOR }),
    audit: (of: Page & { object?: string | null } = {}) =>
      bus.request(catalogAudit, { object: of.object ?? null, ...page(of) }),
    sourceHealth: (of: Page = {}) => bus.request(catalogSourceHealth, page(of)),
  };
}
export type Operator = ReturnType<typeof operatorOn>;

/** Returns a response that is not a refusal, else throws. */
export async function accepted<T extends object>(
  answer: Promise<T>,
): Promise<Exclude<T, { refused: { code: string; message: string; param: string | null } }>> {
  const value = await answer;
  if ('refused' in value) throw new Error(JSON.stringify(value));
  return value as Exclude<T, { refused: { code: string; message: string; param: string | null } }>;
}

/** Reports the catalog revision of an edge or admission replica. */
export function tellRevision(bus: Bus, replica: string, revision: number, last = false): void {
  if (!bus.publish(catalogRevisionUsed, {}, { replica, revision, last })) throw new Error('the bus is disconnected');
}
