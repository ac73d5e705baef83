import { USAGE_GROUPS_TOTAL } from '@gateway/contracts/ids';
import { every } from '@gateway/service-kit';
import type { UsageDelivery } from '../stream/stream.js';
import { processDeliveries, type ProcessingDeps } from './process-deliveries.js';

/** Retry interval for subjects that this process does not hold. */
const POLL_MS = 200;

export interface UsageWorkerDeps extends ProcessingDeps {
  readonly locks: { hold(subject: number): Promise<boolean>; release(): Promise<void> };
  consume(subject: number, handler: (batch: UsageDelivery[]) => Promise<void>): { stop(): Promise<void> };
}

export interface UsageWorker {
  /** Called when the locks are lost: another process may already work on the subjects. */
  lost(): void;
  /** Returns the subjects that this process works on. */
  subjects(): number[];
  stop(): Promise<void>;
}

/** Works on every subject that it can lock, one batch of deliveries at a time per subject. */
export function startUsageWorker(deps: UsageWorkerDeps, groups = USAGE_GROUPS_TOTAL): UsageWorker {
  const consumers = new Map<number, { stop(): Promise<void> }>();
  let stopped = false;

  /** Sleeps while this process holds all subjects. */
  const poll = async (): Promise<number> => {
    for (let subject = 0; subject < groups && !stopped; subject += 1) {
      if (consumers.has(subject) || !(await deps.locks.hold(subject)) || stopped) continue;
      consumers.set(
        subject,
        deps.consume(subject, (batch) => processDeliveries(deps, subject, batch)),
      );
    }
    return consumers.size === groups ? Infinity : POLL_MS;
  };

  const stopConsumers = async (): Promise<void> => {
    const running = [...consumers.values()];
    consumers.clear();
    await Promise.all(running.map((consumer) => consumer.stop()));
  };

  const polling = every(POLL_MS, poll, {
    atOnce: true,
    failed: (err) => deps.log.warn({ err }, 'subjects could not be locked; will retry'),
  });
  return {
    lost() {
      deps.log.warn({}, 'the subject locks were lost');
      void stopConsumers();
      polling.wake();
    },
    subjects: () => [...consumers.keys()],
    async stop() {
      stopped = true;
      await polling.stop();
      await stopConsumers();
      await deps.locks.release();
    },
  };
}
