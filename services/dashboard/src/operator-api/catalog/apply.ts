import { billingApplyPlans, catalogApply, type AnswerOf, type CommandAuthor } from '@gateway/contracts/messages';
import {
  applyAnswer,
  applyDocument,
  isRefusal,
  type ApplyDocument,
  type ManagementRefusal,
} from '@gateway/contracts/operator';
import { z } from 'zod';
import type { PermissionCheck } from '../access.js';
import type { RouteResult } from '../../http/route.js';
import { flag } from '../parameters.js';
import { defineRoute, type Context, type Services } from '../route.js';
import { checkChanges } from './judge-changes.js';
import { toDocumentPath, splitObjects, type SplitObjects } from './split-objects.js';

export const APPLY_ROUTES = [
  defineRoute({
    id: 'apply',
    method: 'POST',
    path: '/apply',
    summary:
      'Creates and replaces the providers, models, sources, aliases and plans of a document; with prune, deletes all others',
    access: 'catalog',
    query: z.object({ dryRun: flag, prune: flag }),
    body: applyDocument,
    bodyForm: 'document',
    answers: { 200: applyAnswer },
    refusals: ['in_use', 'state_conflict', 'not_in_force'],
    handle: ({ services, secrets, query, body, author, may }) =>
      applyObjects({ services, secrets }, body, {
        dryRun: query.dryRun === 'true',
        prune: query.prune === 'true',
        author,
        may,
      }),
  }),
];

interface ApplyOptions {
  readonly dryRun: boolean;
  readonly prune: boolean;
  readonly author: CommandAuthor;
  readonly may: PermissionCheck;
}

type CatalogAnswer = Exclude<AnswerOf<typeof catalogApply>, ManagementRefusal>;
type PlansAnswer = Exclude<AnswerOf<typeof billingApplyPlans>, ManagementRefusal>;

const NO_CATALOG: CatalogAnswer = { changes: [], unchanged: 0, revision: 0, inForce: true };
const NO_PLANS: PlansAnswer = { changes: [], unchanged: 0 };

/**
 * Applies a document whose objects belong to two services. Nothing changes unless both services
 * accept all of it in a dry run and the operator has the permission for each change. Then the
 * catalog applies its part, then billing its plans, each in one transaction.
 */
async function applyObjects(
  { services, secrets }: Pick<Context, 'services' | 'secrets'>,
  document: ApplyDocument,
  options: ApplyOptions,
): Promise<RouteResult> {
  const { dryRun, prune, author, may } = options;
  const split = splitObjects(secrets, document, may);
  if (isRefusal(split)) return split;
  const wanted = { dryRun, prune, author };
  const tried = { ...wanted, dryRun: true };
  const [catalogTried, plansTried] = await Promise.all([
    applyToCatalog(services, split, tried),
    applyPlans(services, split, tried),
  ]);
  if (isRefusal(catalogTried)) return catalogTried;
  if (isRefusal(plansTried)) return plansTried;
  const forbidden = checkChanges([...catalogTried.changes, ...plansTried.changes], may);
  if (forbidden !== null) return forbidden;
  if (dryRun) return answer(true, catalogTried, plansTried);

  const catalog = await applyToCatalog(services, split, wanted);
  if (isRefusal(catalog)) return catalog;
  const plans = await applyPlans(services, split, wanted);
  if (!isRefusal(plans)) return answer(false, catalog, plans);
  const { refused } = plans;
  return {
    refused: { ...refused, message: `the catalog's objects were applied, the plans were not: ${refused.message}` },
  };
}

function answer(dryRun: boolean, catalog: CatalogAnswer, plans: PlansAnswer): RouteResult {
  const changes = [...catalog.changes, ...plans.changes];
  const unchanged = catalog.unchanged + plans.unchanged;
  return { status: 200, body: { dryRun, changes, unchanged, inForce: !dryRun && catalog.inForce } };
}

async function applyToCatalog(
  services: Services,
  { catalog, catalogPlaces }: SplitObjects,
  options: Omit<ApplyOptions, 'may'>,
): Promise<CatalogAnswer | ManagementRefusal> {
  if (catalog.length === 0 && !options.prune) return NO_CATALOG;
  const answered = await services.request(catalogApply, { objects: catalog, ...options });
  return isRefusal(answered) ? toDocumentPath(answered, catalogPlaces) : answered;
}

async function applyPlans(
  services: Services,
  { plans, planPlaces }: SplitObjects,
  options: Omit<ApplyOptions, 'may'>,
): Promise<PlansAnswer | ManagementRefusal> {
  if (plans.length === 0 && !options.prune) return NO_PLANS;
  const answered = await services.request(billingApplyPlans, { plans, ...options });
  return isRefusal(answered) ? toDocumentPath(answered, planPlaces) : answered;
}
