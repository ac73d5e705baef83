import { parentPort, workerData } from 'node:worker_threads';
import { openRedis } from './run/open-redis.js';
import { NO_TOTALS, runSeeds, addTotals, type Totals } from './run/run-seeds.js';

/** Number of seeds between two reports to the parent thread. */
const TELL_EVERY = 50;

/** The task of a thread: the seeds that it plays. */
export interface WorkerTask {
  readonly from: number;
  readonly seeds: number;
  readonly step: number;
}

const { from, seeds, step } = workerData as WorkerTask;
const redis = await openRedis();
let sum: Totals = NO_TOTALS;
for (let first = from; first < from + seeds; first += step * TELL_EVERY) {
  const some = Array.from({ length: TELL_EVERY }, (_unused, index) => first + index * step);
  const { totals, failure } = await runSeeds(
    redis,
    some.filter((seed) => seed < from + seeds),
  );
  sum = addTotals(sum, totals);
  parentPort?.postMessage({ totals: sum, failure });
  if (failure !== null) break;
}
