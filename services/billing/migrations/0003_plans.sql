-- Plans are immutable versions; a subscription period keeps the version that it began with.

CREATE TABLE plans (
  id text COLLATE "C" PRIMARY KEY,
  -- The version that new subscription periods get.
  current_version integer NOT NULL CHECK (current_version > 0),
  deleted_at timestamptz
);
GRANT SELECT, INSERT, UPDATE (current_version, deleted_at) ON plans TO ${role};

CREATE TABLE plan_versions (
  plan_id text COLLATE "C" NOT NULL,
  version integer NOT NULL CHECK (version > 0),
  spec jsonb NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (plan_id, version)
);
GRANT SELECT, INSERT ON plan_versions TO ${role};
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON plan_versions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON plan_versions EXECUTE FUNCTION refuse_change();
-- Deferred, so that a plan and its first version can be written in either order.
ALTER TABLE plans ADD FOREIGN KEY (id, current_version) REFERENCES plan_versions (plan_id, version)
  DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE subscription_periods (
  -- Stands in row names and in ledger accounts: no colon.
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$'),
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  plan_id text COLLATE "C" NOT NULL,
  plan_version integer NOT NULL,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL CHECK (period_end > period_start),
  renews boolean NOT NULL,
  -- Ended before its time: by an operator, or because another period took its place.
  ended_at timestamptz,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (plan_id, plan_version) REFERENCES plan_versions (plan_id, version)
);
CREATE INDEX subscription_periods_account ON subscription_periods (account, period_start);
GRANT SELECT, INSERT, UPDATE (plan_version, renews, ended_at) ON subscription_periods TO ${role};
