import { USAGE_GROUPS_TOTAL } from '@gateway/contracts/ids';
import { every } from '@gateway/service-kit';
import type { UsageDelivery } from './read-chunks.js';
import { settleDeliveries, type SettleDeps } from './settle-deliveries.js';

/** How often a subject that somebody else works on, or nobody, is tried. */
const POLL_MS = 200;

export interface UsageWorkerDeps extends SettleDeps {
  readonly locks: { hold(subject: number): Promise<boolean>; release(): Promise<void> };
  consume(subject: number, handler: (batch: UsageDelivery[]) => Promise<void>): { stop(): Promise<void> };
}

export interface UsageWorker {
  /** The locks were lost: somebody else may work on the subjects already. */
  lost(): void;
  /** Subjects that this process works on. */
  subjects(): number[];
  stop(): Promise<void>;
}

/**
 * Works on every subject that this process can get, one batch of deliveries after the other within
 * a subject.
 */
export function startUsageWorker(deps: UsageWorkerDeps, groups = USAGE_GROUPS_TOTAL): UsageWorker {
  const consumers = new Map<number, { stop(): Promise<void> }>();
  let stopped = false;

  /** Nothing is tried while all are held: an idle process sleeps. */
  const poll = async (): Promise<number> => {
    for (let subject = 0; subject < groups && !stopped; subject += 1) {
      if (consumers.has(subject) || !(await deps.locks.hold(subject)) || stopped) continue;
      consumers.set(
        subject,
        deps.consume(subject, (batch) => settleDeliveries(deps, subject, batch)),
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
    failed: (err) => deps.log.warn({ err }, 'no subject could be taken; it is tried again'),
  });
  return {
    lost() {
      deps.log.warn({}, 'the locks of the subjects were lost');
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
