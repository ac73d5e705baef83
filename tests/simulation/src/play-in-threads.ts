import { Worker } from 'node:worker_threads';
import { NO_TOTALS, addTotals, type Failure, type Totals } from './run/run-seeds.js';
import type { WorkerTask } from './worker.js';

const THREADS = 2;
const TELL_MS = 15_000;

interface Told {
  readonly totals: Totals;
  readonly failure: Failure | null;
}

/** Plays alternating seeds in threads. Stops all when one finds a failure. */
export async function playInThreads(from: number, seeds: number): Promise<Told> {
  const told: Told[] = Array.from({ length: THREADS }, () => ({ totals: NO_TOTALS, failure: null }));
  const sum = (): Totals => told.map(({ totals }) => totals).reduce(addTotals);
  const telling = setInterval(() => console.log(`${sum().seeds} of ${seeds} seeds`), TELL_MS);
  const workers: Worker[] = [];
  const ends = Array.from({ length: THREADS }, (_unused, place) => {
    const workerData: WorkerTask = { from: from + place, seeds: seeds - place, step: THREADS };
    const worker = new Worker(new URL('./worker.js', import.meta.url), { workerData });
    workers.push(worker);
    return new Promise<void>((resolve, reject) => {
      worker.on('message', (message: Told) => {
        told[place] = message;
        if (message.failure !== null) for (const other of workers) void other.terminate();
      });
      worker.once('error', reject);
      worker.once('exit', () => resolve());
    });
  });
  try {
    await Promise.all(ends);
  } finally {
    clearInterval(telling);
  }
  return { totals: sum(), failure: told.find(({ failure }) => failure !== null)?.failure ?? null };
}
