import pg from 'pg';

const CONNECT_MS = 10_000;

/** The end of a run, as billing's table `job_runs` stores it. */
export interface JobRun {
  readonly job: 'backup' | 'restore' | 'reseal';
  readonly outcome: 'succeeded' | 'failed';
  /** One line of counts and times without secrets, at most 200 characters. */
  readonly figures: string;
}

/**
 * Stores the end of a run for the metrics of billing. If that fails, it only prints a warning: a
 * backup is valid also if the schema is older than this program.
 * @param url of the primary, with the role of billing or the user that migrates
 */
export async function recordRun(url: string, { job, outcome, figures }: JobRun): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT billing.record_job_run($1, $2, $3)', [job, outcome, figures]);
  } catch (error) {
    console.error(`the run was not recorded: ${(error as Error).message}`);
  } finally {
    await client.end();
  }
}
