import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readSpecificationRows } from './contract-specification.js';
import { startContractWorld } from './contract-world.js';
import type { ContractSystem } from './contract-world.js';

/** One test and the rows of the specification that it covers. */
export interface ContractCase {
  readonly title: string;
  /** IDs of `readSpecificationRows`. */
  readonly covers: readonly string[];
  run(world: ContractSystem): Promise<void>;
}

/** Creates tests from the cases. They run concurrently on the shared system. */
export function testCases(cases: readonly ContractCase[]): void {
  const rows = new Set(readSpecificationRows());
  let world: ContractSystem | undefined;
  beforeAll(async () => {
    world = await startContractWorld();
  });
  afterAll(async () => {
    await world?.stop();
  });
  for (const { title, covers, run } of cases) {
    test.concurrent(title, async () => {
      expect(covers.filter((row) => !rows.has(row))).toEqual([]);
      if (world === undefined) throw new Error('the test started before the contract world');
      await run(world);
    });
  }
}
