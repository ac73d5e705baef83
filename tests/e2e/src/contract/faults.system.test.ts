import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startProviderSimulator } from '@gateway/provider-simulator';
import type { ProviderSimulator } from '@gateway/provider-simulator';
import { closeConnections } from '../../test/contract-call.js';
import { DEADLINE_MS, FAULT_CASES } from '../../test/contract-fault-cases.js';
import type { FaultWorld } from '../../test/contract-fault-cases.js';
import { readSpecificationRows } from '../../test/contract-specification.js';
import { startOwnSystem } from '../../test/own-system.js';
import type { OwnSystem } from '../../test/own-system.js';

const ENDPOINTS = ['/v1/chat/completions', '/v1/messages'] as const;
const PRICES = { inputPerMillion: '0', outputPerMillion: '0', perCall: '0.01' };

let system: OwnSystem;
let simulator: ProviderSimulator;
let world: FaultWorld;
beforeAll(async () => {
  system = await startOwnSystem('contract-faults', { GATEWAY_UPSTREAM_DEADLINE_MS: String(DEADLINE_MS) });
  simulator = await startProviderSimulator();
  const { operator, local } = system;
  const urls = [simulator.urls[0]];
  const source = { endpoints: [...ENDPOINTS] };
  const [hanging, model] = [await operator.model(PRICES, urls, source), await operator.model(PRICES, urls, source)];
  simulator.script({ model: `up-${hanging.id.slice('test/'.length)}`, times: 100, steps: [{ end: 'stall' }] });
  const { account, secret } = await operator.account('100.00');
  await operator.limits(account, 10_000, 100);
  const fresh = await operator.account('100.00');
  world = { local, operator, hanging: hanging.id, model: model.id, secret, freshSecret: fresh.secret };
}, 60_000);
afterAll(async () => {
  await simulator?.close();
  await closeConnections();
  await system?.stop();
}, 60_000);

test.each(FAULT_CASES.map((each) => [each.title, each] as const))(
  '%s',
  async (_title, { covers, run }) => {
    expect(covers.filter((row) => !readSpecificationRows().includes(row))).toEqual([]);
    await run(world);
  },
  60_000,
);
