import type { ContractModel, ContractSystem } from './contract-world.js';

/** Plans of one period, so that used windows and allotments stay used. */
export function orderPlans(world: ContractSystem, account: string, model: ContractModel, slow: ContractModel) {
  const periodStart = Date.now() - 60_000;
  const move = async (plan: object): Promise<void> => {
    await world.subscribe(account, plan, periodStart);
  };
  // One cent of it is used. The rest does not cover another call.
  const usd = { type: 'weekly', unit: 'usd', limit: '0.0101' };
  const requests = (limit: number): object => ({ type: 'monthly', unit: 'requests', limit });
  const allotment = (limit: number): object => ({ modelId: model.id, unit: 'requests', limit });
  return {
    begin: () => move({ windows: [{ ...usd, limit: '1' }, requests(10)], modelAllotments: [allotment(10)] }),
    exhaust: () => move({ windows: [usd, requests(1)], modelAllotments: [allotment(1)] }),
    withAllotment: () => move({ windows: [usd, requests(10)], modelAllotments: [allotment(1)] }),
    withFewCredits: () => move({ windows: [usd, requests(10)] }),
    withoutModel: () => move({ models: [slow.id] }),
  };
}
