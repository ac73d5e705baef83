import { every, gauge } from '@gateway/service-kit';
import type { JobState, JobStore } from './store.js';

/** Interval for reading the runs of jobs. */
const POLL_MS = 60_000;

export interface WatchJobsDeps {
  readonly store: Pick<JobStore, 'states'>;
  readonly log: { warn(facts: object, text: string): void };
  /** Default: {@link POLL_MS}. */
  readonly everyMs?: number;
}

/**
 * Exports the age of each job's last success, and whether its last run failed. The label is `task`,
 * because Prometheus uses `job` for the target. There are no values after a failed poll.
 */
export function watchJobs({ store, log, everyMs = POLL_MS }: WatchJobsDeps): { stop(): Promise<void> } {
  let states: readonly JobState[] = [];
  gauge(
    'gateway_billing_job_success_age_seconds',
    'Time since the last success of a job of operators; without one, since the installation',
    () => states.map(({ job, ageSeconds }) => [job, ageSeconds] as const),
    { label: 'task' },
  );
  gauge(
    'gateway_billing_job_failed',
    'Whether the last run of a job of operators failed',
    () => states.map(({ job, hasFailed }) => [job, Number(hasFailed)] as const),
    { label: 'task' },
  );
  const poll = async (): Promise<void> => {
    states = await store.states();
  };
  const failed = (err: unknown): void => {
    states = [];
    log.warn({ err }, 'the runs of jobs could not be read; will retry');
  };
  return every(everyMs, poll, { atOnce: true, failed });
}
