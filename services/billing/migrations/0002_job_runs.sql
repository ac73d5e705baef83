-- Runs of the operators' jobs, which are programs next to the services: backup, audit and others.

-- One row per job, with its last run. `since`: a first success is expected after this time.
CREATE TABLE job_runs (
  job text PRIMARY KEY CHECK (job ~ '^[a-z][a-z-]{0,29}$'),
  since timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  outcome text CHECK (outcome IN ('succeeded', 'failed')),
  -- The end of the last run that succeeded.
  succeeded_at timestamptz,
  -- One line of counts and times for operators, without secrets.
  figures text NOT NULL DEFAULT '' CHECK (length(figures) <= 200 AND figures !~ '[\r\n]'),
  CHECK ((finished_at IS NULL) = (outcome IS NULL))
);
-- An installation needs these from its first day. The rows of other jobs appear with their first run.
INSERT INTO job_runs (job) VALUES ('backup'), ('audit');

-- Stores the end of a run as the last one of its job. Commands call it with the role of billing or
-- of the user that migrates; another backup tool can call it too (UPGRADING.md).
CREATE FUNCTION record_job_run(name text, result text, facts text) RETURNS void LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp
  AS $$
    INSERT INTO job_runs AS run (job, finished_at, outcome, succeeded_at, figures)
    VALUES (name, statement_timestamp(), result, CASE result WHEN 'succeeded' THEN statement_timestamp() END, facts)
    ON CONFLICT (job) DO UPDATE
       SET finished_at = excluded.finished_at, outcome = excluded.outcome, figures = excluded.figures,
           succeeded_at = coalesce(excluded.succeeded_at, run.succeeded_at)
  $$;

GRANT SELECT ON job_runs TO ${role};
REVOKE ALL ON FUNCTION record_job_run(text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION record_job_run(text, text, text) TO ${role};
