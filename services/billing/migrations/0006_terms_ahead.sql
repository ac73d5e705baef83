-- Admission is told of a period before it begins, so that it goes from one to the next by its own time.

ALTER TABLE subscription_timers
  -- The period that follows, as admission was told of it last; null: none. `told_period` is the one before.
  ADD COLUMN told_next text COLLATE "C";
-- Periods to come that are there already are told.
UPDATE subscription_timers timer SET due_at = now()
 WHERE EXISTS (SELECT FROM subscription_periods period
                WHERE period.account = timer.account AND period.ended_at IS NULL AND period.period_start > now());

-- Plans with a new version: the periods to come are told anew, in the order of their start and account.
CREATE TABLE plan_refreshes (
  plan_id text COLLATE "C" PRIMARY KEY,
  -- The last one that was gone through.
  after_start timestamptz NOT NULL,
  after_account text COLLATE "C" NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON plan_refreshes TO ${role};
CREATE INDEX subscription_periods_plan_start ON subscription_periods (plan_id, period_start, account) WHERE ended_at IS NULL;
