import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { specificationRows } from './contract-specification.js';
import { startContractWorld } from './contract-world.js';
import type { ContractWorld } from './contract-world.js';

/** One test and the rows of the specification that it covers. */
export interface ContractCase {
  readonly title: string;
  /** IDs of `specificationRows`. */
  readonly covers: readonly string[];
  run(world: ContractWorld): Promise<void>;
}

/** Creates tests from the cases. They run concurrently on the shared system. */
export function testCases(cases: readonly ContractCase[]): void {
  const rows = new Set(specificationRows());
  let world: ContractWorld | undefined;
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
