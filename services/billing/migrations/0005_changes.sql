-- Who changed what; and what makes subscriptions go on by themselves.

-- One row for each change by an operator (and each renewal), written in its transaction. Before and after are views: they
-- hold no secrets.
CREATE TABLE changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL,
  action text NOT NULL,
  account text COLLATE "C",
  object_id text COLLATE "C" NOT NULL,
  before jsonb,
  after jsonb
);
CREATE INDEX changes_account ON changes (account, id);
CREATE INDEX changes_object_id ON changes (object_id, id);
GRANT SELECT, INSERT (actor, action, account, object_id, before, after) ON changes TO ${role};
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON changes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON changes EXECUTE FUNCTION refuse_change();

ALTER TABLE subscription_periods
  -- The day of the month on which a period of whole months begins and ends; in shorter months their last day. A renewal
  -- has that of the period it was made of. Null: what start and end show.
  ADD COLUMN anchor_day smallint CHECK (anchor_day BETWEEN 1 AND 31),
  -- The period that this one was made of, because that one renews.
  ADD COLUMN renewal_of text COLLATE "C" REFERENCES subscription_periods;
-- Makes a renewal happen once, whoever writes it.
CREATE UNIQUE INDEX subscription_periods_start ON subscription_periods (account, period_start) WHERE ended_at IS NULL;
CREATE INDEX subscription_periods_plan ON subscription_periods (plan_id, period_end) WHERE ended_at IS NULL;
GRANT UPDATE (plan_id, period_end, anchor_day) ON subscription_periods TO ${role};

-- When an account's terms change by themselves, or its subscription is to be renewed: one row for each account that waits
-- for something.
CREATE TABLE subscription_timers (
  account text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  due_at timestamptz NOT NULL,
  -- The period that admission was told of last; null: none.
  told_period text COLLATE "C"
);
CREATE INDEX subscription_timers_due_at ON subscription_timers (due_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON subscription_timers TO ${role};
-- Whatever is there already is looked at once.
INSERT INTO subscription_timers (account, due_at, told_period)
  SELECT period.account, now(),
         (array_agg(period.id ORDER BY period.period_start DESC)
            FILTER (WHERE period.period_start <= now() AND period.period_end > now()))[1]
    FROM subscription_periods period WHERE period.ended_at IS NULL GROUP BY period.account;
