import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { specificationRows } from './contract-specification.js';
import { startContractWorld } from './contract-world.js';
import type { ContractWorld } from './contract-world.js';

/** One test and the rows of the specification that it proves. */
export interface ContractCase {
  readonly title: string;
  /** Ids of `specificationRows`. */
  readonly covers: readonly string[];
  run(world: ContractWorld): Promise<void>;
}

/** Makes tests of the cases, on the shared system; they run beside each other. */
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
      if (world === undefined) throw new Error('the tests began before their world');
      await run(world);
    });
  }
}
