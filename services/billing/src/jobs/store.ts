import { onPool, type Pool } from '@gateway/postgres';

/** Jobs of operators whose runs are exported as metrics. Programs next to the service run them. */
export const JOBS = ['backup', 'audit', 'chain-heads', 'restore', 'reseal'] as const;
export type Job = (typeof JOBS)[number];

/** The end of a run. */
export interface JobRun {
  readonly job: Job;
  readonly outcome: 'succeeded' | 'failed';
  /** One line of counts and times without secrets, at most 200 characters. */
  readonly figures: string;
}

/** The state of a job that has run, or that every installation is expected to run. */
export interface JobState {
  readonly job: Job;
  /** Seconds since the last success; without one, since the job was first expected. */
  readonly ageSeconds: number;
  /** Whether the last run failed. */
  readonly hasFailed: boolean;
}

export type JobStore = ReturnType<typeof createJobStore>;

export function createJobStore(pool: Pool) {
  const db = onPool(pool);
  return {
    /** Stores the end of a run as the last one of its job. */
    async record({ job, outcome, figures }: JobRun): Promise<void> {
      await db.execute('SELECT record_job_run($1, $2, $3)', [job, outcome, figures]);
    },

    /** Returns the state of each job in {@link JOBS} that has a row. */
    states: (): Promise<JobState[]> =>
      db.query<JobState>(
        `SELECT job, extract(epoch FROM now() - coalesce(succeeded_at, since))::float8 AS "ageSeconds",
                coalesce(outcome = 'failed', false) AS "hasFailed"
           FROM job_runs WHERE job = ANY ($1) ORDER BY job`,
        [JOBS],
      ),
  };
}
