import { billingApplyPlans, catalogApply, type AnswerOf } from '@gateway/contracts/messages';
import { isRefusal, type ApplyDocument, type ManagementRefusal } from '@gateway/contracts/operator';
import type { May } from '../access.js';
import type { Handled } from '../route.js';
import type { Door } from '../../ports.js';
import { judgeChanges } from './judge-changes.js';
import { placed, splitObjects, type SplitObjects } from './split-objects.js';

export interface ApplyOptions {
  readonly dryRun: boolean;
  readonly prune: boolean;
  readonly actor: string;
  readonly may: May;
}

type CatalogAnswer = Exclude<AnswerOf<typeof catalogApply>, ManagementRefusal>;
type PlansAnswer = Exclude<AnswerOf<typeof billingApplyPlans>, ManagementRefusal>;

const NO_CATALOG: CatalogAnswer = { changes: [], unchanged: 0, revision: 0, inForce: true };
const NO_PLANS: PlansAnswer = { changes: [], unchanged: 0 };

/**
 * Applies a document that two services keep. Both are asked for a dry run first, so that nothing is changed unless both
 * accept all of it and whoever asks has the right to each change; then the catalog, then the plans, each in one transaction.
 */
export async function applyObjects(door: Door, document: ApplyDocument, options: ApplyOptions): Promise<Handled> {
  const split = splitObjects(door.secrets, document);
  if (isRefusal(split)) return split;
  const { dryRun, prune, actor, may } = options;
  const wanted = { dryRun, prune, actor };
  const tried = { ...wanted, dryRun: true };
  const [catalogTried, plansTried] = await Promise.all([askCatalog(door, split, tried), askPlans(door, split, tried)]);
  if (isRefusal(catalogTried)) return catalogTried;
  if (isRefusal(plansTried)) return plansTried;
  const forbidden = judgeChanges([...catalogTried.changes, ...plansTried.changes], may);
  if (forbidden !== null) return forbidden;
  if (dryRun) return answer(true, catalogTried, plansTried);

  const catalog = await askCatalog(door, split, wanted);
  if (isRefusal(catalog)) return catalog;
  const plans = await askPlans(door, split, wanted);
  if (!isRefusal(plans)) return answer(false, catalog, plans);
  const { refused } = plans;
  return {
    refused: { ...refused, message: `the catalog's objects are applied, the plans are not: ${refused.message}` },
  };
}

function answer(dryRun: boolean, catalog: CatalogAnswer, plans: PlansAnswer): Handled {
  const changes = [...catalog.changes, ...plans.changes];
  const unchanged = catalog.unchanged + plans.unchanged;
  return { status: 200, body: { dryRun, changes, unchanged, inForce: !dryRun && catalog.inForce } };
}

async function askCatalog(
  { services }: Door,
  { catalog, catalogPlaces }: SplitObjects,
  options: Omit<ApplyOptions, 'may'>,
): Promise<CatalogAnswer | ManagementRefusal> {
  if (catalog.length === 0 && !options.prune) return NO_CATALOG;
  const answered = await services.request(catalogApply, { objects: catalog, ...options });
  return isRefusal(answered) ? placed(answered, catalogPlaces) : answered;
}

async function askPlans(
  { services }: Door,
  { plans, planPlaces }: SplitObjects,
  options: Omit<ApplyOptions, 'may'>,
): Promise<PlansAnswer | ManagementRefusal> {
  if (plans.length === 0 && !options.prune) return NO_PLANS;
  const answered = await services.request(billingApplyPlans, { plans, ...options });
  return isRefusal(answered) ? placed(answered, planPlaces) : answered;
}
