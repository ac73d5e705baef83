import { isRefusal, type ManagementRefusal } from '@gateway/contracts/operator';
import { counter } from '@gateway/service-kit';
import type { SaveResponse } from './save.js';

/** Maximum concurrent changes. They wait for one lock, so more would only wait. */
export const CHANGES = { concurrencyMax: 64 };
export const READS = { concurrencyMax: 64 };

const OUTCOMES = ['created', 'changed', 'unchanged', 'deleted', 'applied', 'refused', 'fault'] as const;
type Outcome = (typeof OUTCOMES)[number];

const changes = counter('gateway_catalog_changes_total', 'Completed changes of the catalog', {
  object: ['provider', 'model', 'source', 'alias', 'document'],
  outcome: [...OUTCOMES],
});
type ChangedObject = 'provider' | 'model' | 'source' | 'alias' | 'document';

/** Converts the result of a request to its response. A refusal is returned unchanged. */
export async function answer<T extends object, A>(
  work: Promise<T | ManagementRefusal>,
  formed: (result: T) => A,
): Promise<A | ManagementRefusal> {
  const result = await work;
  return isRefusal(result) ? result : formed(result);
}

/** Counts the outcome of a change. */
export async function counted<T extends object>(
  object: ChangedObject,
  work: Promise<T | ManagementRefusal>,
  outcomeOf: (result: T) => Outcome,
): Promise<T | ManagementRefusal> {
  const count = (outcome: Outcome): void => changes.of({ object, outcome }).add();
  try {
    const result = await work;
    count(isRefusal(result) ? 'refused' : outcomeOf(result));
    return result;
  } catch (error) {
    count('fault');
    throw error;
  }
}

/** Returns the response of a PUT and counts its change. `formed` names the view. */
export function answerSaved<View extends object, A>(
  object: ChangedObject,
  work: Promise<SaveResponse<View> | ManagementRefusal>,
  formed: (view: View) => A,
) {
  return answer(
    counted(object, work, ({ change }) => change),
    ({ view, ...saved }) => ({ ...saved, ...formed(view) }),
  );
}
