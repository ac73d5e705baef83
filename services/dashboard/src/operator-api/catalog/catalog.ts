import {
  catalogApply,
  catalogDelete,
  catalogGetAlias,
  catalogGetModel,
  catalogGetPriceProposal,
  catalogGetProvider,
  catalogGetSource,
  catalogListAliases,
  catalogListModels,
  catalogListProfiles,
  catalogListProviders,
  catalogListSources,
  catalogProposePrices,
  catalogPutAlias,
  catalogPutModel,
  catalogPutProvider,
  catalogPutSource,
  edgeTestSource,
  providerCredentialPlace,
  type CommandAuthor,
} from '@gateway/contracts/messages';
import {
  aliasPut,
  aliasSaved,
  aliasSpec,
  aliasView,
  isRefusal,
  type CatalogObject,
  type ManagementRefusal,
  modelPut,
  modelSaved,
  modelSpec,
  modelView,
  priceProposalPut,
  priceProposalSaved,
  priceProposalView,
  providerProfile,
  providerPut,
  providerSaved,
  providerSpec,
  providerView,
  refuse,
  sourcePut,
  sourceSaved,
  sourceSpec,
  sourceTestView,
  sourceView,
} from '@gateway/contracts/operator';
import { z } from 'zod';
import { checkChanges } from './judge-changes.js';
import { sealCredential } from './seal-credential.js';
import type { RouteResult } from '../../http/route.js';
import { defineRoute, listRoute, readRoute, respondPage, respondWith, type Services } from '../route.js';
import type { PermissionCheck } from '../access.js';
import { byAlias, byId, byModelId, modelId, toPage, pageQuery, toSpec } from '../parameters.js';

const MODEL_PATH = '/models/{publisher}/{model}';
/** The parts that all routes of a kind have in common. */
const DELETE = {
  method: 'DELETE',
  access: 'write',
  answers: { 204: null },
  refusals: ['in_use', 'not_in_force'],
} as const;
const putRoute = <V extends z.ZodType>(saved: V) =>
  ({
    method: 'PUT',
    access: 'write',
    answers: { 200: saved, 201: saved },
    refusals: ['in_use', 'state_conflict', 'not_in_force'],
  }) as const;
const statusOf = (change: 'created' | 'changed' | 'unchanged'): 200 | 201 => (change === 'created' ? 201 : 200);

export const PROVIDER_ROUTES = [
  defineRoute({
    ...listRoute(providerView),
    id: 'listProviders',
    path: '/providers',
    summary: 'Lists providers',
    handle: async ({ services, query }) =>
      respondPage(await services.request(catalogListProviders, toPage(query)), (page) => page.providers),
  }),
  defineRoute({
    ...putRoute(providerSaved),
    id: 'putProvider',
    path: '/providers/{id}',
    summary: 'Creates or replaces a provider; an omitted credential is kept, null removes it',
    params: byId,
    body: providerPut,
    async handle({ services, secrets, params, body, author, may }) {
      const sealed = sealCredential(secrets, providerCredentialPlace(params.id), body.credential, 'credential', may);
      if (isRefusal(sealed)) return sealed;
      const spec = toSpec(providerSpec, body);
      const answer = await services.request(catalogPutProvider, { id: params.id, spec, ...sealed, author });
      if (isRefusal(answer)) return answer;
      return { status: statusOf(answer.change), body: { ...answer.provider, inForce: answer.inForce } };
    },
  }),
  defineRoute({
    ...readRoute(providerView),
    id: 'getProvider',
    path: '/providers/{id}',
    summary: 'Returns a provider, without its credential',
    params: byId,
    handle: async ({ services, params }) =>
      respondWith(200, await services.request(catalogGetProvider, params), (answer) => answer.provider),
  }),
  defineRoute({
    ...DELETE,
    id: 'deleteProvider',
    path: '/providers/{id}',
    summary: 'Deletes a provider that no source refers to',
    params: byId,
    handle: ({ services, params, author }) => deleteObject(services, 'provider', params.id, author),
  }),
];

export const PROFILE_ROUTES = [
  defineRoute({
    id: 'listProfiles',
    method: 'GET',
    path: '/profiles',
    summary: 'Lists the profiles of providers: address, parameters, endpoints, key, caveats',
    access: 'read',
    answers: { 200: z.object({ data: z.array(providerProfile) }) },
    handle: async ({ services }) =>
      respondWith(200, await services.request(catalogListProfiles, {}), ({ profiles }) => ({ data: profiles })),
  }),
];

export const MODEL_ROUTES = [
  defineRoute({
    ...listRoute(modelView),
    id: 'listModels',
    path: '/models',
    summary: 'Lists models with current and upcoming prices',
    handle: async ({ services, query }) =>
      respondPage(await services.request(catalogListModels, toPage(query)), (page) => page.models),
  }),
  defineRoute({
    ...putRoute(modelSaved),
    id: 'putModel',
    path: MODEL_PATH,
    summary: 'Creates or replaces a model; omitted prices are kept',
    access: 'catalog',
    params: byModelId,
    body: modelPut,
    async handle({ services, params, body, author, may }) {
      const spec = toSpec(modelSpec, body);
      if (!may('write') || !(may('money') || body.prices === undefined)) {
        const refusal = await checkChange(services, { kind: 'model', id: params.modelId, spec }, author, may);
        if (refusal !== null) return refusal;
      }
      const answer = await services.request(catalogPutModel, { id: params.modelId, spec, author });
      if (isRefusal(answer)) return answer;
      return { status: statusOf(answer.change), body: { ...answer.model, inForce: answer.inForce } };
    },
  }),
  defineRoute({
    ...readRoute(modelView),
    id: 'getModel',
    path: MODEL_PATH,
    summary: 'Returns a model',
    params: byModelId,
    handle: async ({ services, params }) =>
      respondWith(200, await services.request(catalogGetModel, { id: params.modelId }), (answer) => answer.model),
  }),
  defineRoute({
    ...DELETE,
    id: 'deleteModel',
    path: MODEL_PATH,
    summary: 'Deletes a model that no source and no alias refers to',
    params: byModelId,
    handle: ({ services, params, author }) => deleteObject(services, 'model', params.modelId, author),
  }),
];

export const ALIAS_ROUTES = [
  defineRoute({
    ...listRoute(aliasView),
    id: 'listAliases',
    path: '/aliases',
    summary: 'Lists aliases: names that clients may send instead of a catalog ID',
    handle: async ({ services, query }) =>
      respondPage(await services.request(catalogListAliases, toPage(query)), (page) => page.aliases),
  }),
  defineRoute({
    ...putRoute(aliasSaved),
    id: 'putAlias',
    path: '/aliases/{alias}',
    summary: 'Creates or replaces an alias; the name must not be a catalog ID',
    params: byAlias,
    body: aliasPut,
    async handle({ services, params, body, author }) {
      const spec = toSpec(aliasSpec, body);
      const answer = await services.request(catalogPutAlias, { id: params.alias, spec, author });
      if (isRefusal(answer)) return answer;
      return { status: statusOf(answer.change), body: { ...answer.alias, inForce: answer.inForce } };
    },
  }),
  defineRoute({
    ...readRoute(aliasView),
    id: 'getAlias',
    path: '/aliases/{alias}',
    summary: 'Returns an alias',
    params: byAlias,
    handle: async ({ services, params }) =>
      respondWith(200, await services.request(catalogGetAlias, { id: params.alias }), (answer) => answer.alias),
  }),
  defineRoute({
    ...DELETE,
    id: 'deleteAlias',
    path: '/aliases/{alias}',
    summary: 'Deletes an alias',
    params: byAlias,
    handle: ({ services, params, author }) => deleteObject(services, 'alias', params.alias, author),
  }),
];

export const PRICE_PROPOSAL_ROUTES = [
  defineRoute({
    ...readRoute(priceProposalView),
    id: 'getPriceProposal',
    path: '/price-proposal',
    summary: 'Returns the last comparison of costs and prices with public lists and provider-reported costs',
    refusals: ['not_found'],
    handle: async ({ services }) =>
      respondWith(200, await services.request(catalogGetPriceProposal, {}), (answer) => answer.proposal),
  }),
  defineRoute({
    id: 'putPriceProposal',
    method: 'PUT',
    path: '/price-proposal',
    summary: 'Stores the result of a comparison without applying it; new differences raise an alert',
    access: 'write',
    body: priceProposalPut,
    answers: { 200: priceProposalSaved },
    handle: async ({ services, body: proposal, author }) =>
      respondWith(200, await services.request(catalogProposePrices, { proposal, author }), (answer) => answer.proposal),
  }),
];

export const SOURCE_ROUTES = [
  defineRoute({
    ...listRoute(sourceView),
    id: 'listSources',
    path: '/sources',
    summary: 'Lists upstream sources of all models, or of one',
    query: pageQuery.extend({ modelId: modelId.optional() }),
    async handle({ services, query }) {
      const body = { model: query.modelId ?? null, ...toPage(query) };
      return respondPage(await services.request(catalogListSources, body), (page) => page.sources);
    },
  }),
  defineRoute({
    ...putRoute(sourceSaved),
    id: 'putSource',
    path: '/sources/{id}',
    summary: 'Creates or replaces a source; an omitted credential is kept, null removes it',
    params: byId,
    body: sourcePut,
    async handle({ services, secrets, params, body, author, may }) {
      const sealed = sealCredential(secrets, params.id, body.credential, 'credential', may);
      if (isRefusal(sealed)) return sealed;
      const spec = toSpec(sourceSpec, body);
      // An operator who sends a credential already knows it.
      if (!may('credentials') && (body.credential ?? null) === null) {
        const refusal = await checkChange(services, { kind: 'source', id: params.id, spec, ...sealed }, author, may);
        if (refusal !== null) return refusal;
      }
      const answer = await services.request(catalogPutSource, { id: params.id, spec, ...sealed, author });
      if (isRefusal(answer)) return answer;
      return { status: statusOf(answer.change), body: { ...answer.source, inForce: answer.inForce } };
    },
  }),
  defineRoute({
    ...readRoute(sourceView),
    id: 'getSource',
    path: '/sources/{id}',
    summary: 'Returns a source, without its credential',
    params: byId,
    handle: async ({ services, params }) =>
      respondWith(200, await services.request(catalogGetSource, params), (answer) => answer.source),
  }),
  defineRoute({
    ...DELETE,
    id: 'deleteSource',
    path: '/sources/{id}',
    summary: 'Deletes a source',
    params: byId,
    handle: ({ services, params, author }) => deleteObject(services, 'source', params.id, author),
  }),
  defineRoute({
    id: 'testSource',
    method: 'POST',
    path: '/sources/{id}/test',
    summary:
      'Tests each endpoint of a source with one request that no account pays for, and reports faults; the provider may charge for it',
    access: 'write',
    params: byId,
    answers: { 200: sourceTestView },
    refusals: ['state_conflict', 'not_in_force'],
    async handle({ services, access, params, author }) {
      const known = await services.request(catalogGetSource, params);
      if (isRefusal(known)) return known;
      await access.noted({ action: 'test_source', ...author, objectId: params.id });
      const answer = await services.request(edgeTestSource, { source: params.id, revision: known.revision });
      if (isRefusal(answer) && answer.refused.code === 'too_many_attempts')
        return { ...answer, retryAfterSeconds: TESTED_AGAIN_S };
      return respondWith(200, answer, ({ test }) => test);
    },
  }),
];

/** `retry-after` of a test above the edge's rate limit, in seconds. */
const TESTED_AGAIN_S = 2;

/** Runs a dry run of a PUT and returns the refusal if the role may not make the change. */
async function checkChange(
  services: Services,
  object: CatalogObject,
  author: CommandAuthor,
  may: PermissionCheck,
): Promise<ManagementRefusal | null> {
  const tried = await services.request(catalogApply, { objects: [object], prune: false, dryRun: true, author });
  // The PUT itself reports faults of the object.
  return isRefusal(tried) ? null : checkChanges(tried.changes, may);
}

async function deleteObject(
  services: Services,
  kind: 'provider' | 'model' | 'source' | 'alias',
  id: string,
  author: CommandAuthor,
): Promise<RouteResult> {
  const answer = await services.request(catalogDelete, { kind, id, author });
  if (isRefusal(answer)) return answer;
  if (answer.inForce) return { status: 204 };
  return refuse('not_in_force', `the ${kind} is deleted, but not all replicas have confirmed the change yet`);
}
