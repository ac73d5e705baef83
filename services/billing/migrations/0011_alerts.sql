-- Alerts at shares of limits, and the webhooks of customers that hear of them.

-- Grows with each change of a cap of the account's keys and members: together with terms_version it says which limits
-- of an account are known already.
ALTER TABLE accounts ADD COLUMN caps_version bigint NOT NULL DEFAULT 0 CHECK (caps_version >= 0);
GRANT UPDATE (caps_version) ON accounts TO ${role};

-- A mirror of the monthly caps that accounts keeps. Admission enforces them; here they are limits of alerts.
CREATE TABLE spend_caps (
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('key', 'member')),
  id text COLLATE "C" NOT NULL CHECK (length(id) BETWEEN 1 AND 128),
  -- Null: none any more.
  cap_nano_usd bigint CHECK (cap_nano_usd >= 0),
  version bigint NOT NULL CHECK (version >= 0),
  PRIMARY KEY (account, kind, id)
);
GRANT SELECT, INSERT, UPDATE (cap_nano_usd, version) ON spend_caps TO ${role};

-- The primary key makes an alert happen once, whoever raises it. Subject and period are the two parts of the name of the
-- standing row that reached the threshold.
CREATE TABLE alerts (
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  subject text COLLATE "C" NOT NULL CHECK (subject ~ '^(w|km|mm):'),
  period text COLLATE "C" NOT NULL,
  threshold smallint NOT NULL CHECK (threshold IN (50, 75, 90, 100)),
  id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  -- The order in which they are listed.
  number bigint GENERATED ALWAYS AS IDENTITY,
  -- Of the moment in which it was raised: nano-USD, or calls for a window of requests.
  limit_value bigint NOT NULL CHECK (limit_value >= 0),
  used_value bigint NOT NULL,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL CHECK (period_end > period_start),
  raised_at timestamptz NOT NULL DEFAULT now(),
  CHECK (used_value::numeric * 100 >= limit_value::numeric * threshold),
  PRIMARY KEY (account, subject, period, threshold)
);
CREATE INDEX alerts_account_number ON alerts (account, number);
GRANT SELECT, INSERT (account, subject, period, threshold, limit_value, used_value, period_start, period_end)
  ON alerts TO ${role};
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON alerts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON alerts EXECUTE FUNCTION refuse_change();

-- Where an account's events are posted to.
CREATE TABLE webhooks (
  account text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2000),
  enabled boolean NOT NULL,
  -- The signing secret under GATEWAY_CREDENTIALS_KEY, context webhook:<account>.
  sealed_secret text NOT NULL,
  -- The command of the last rotation: a repeated one changes nothing.
  rotated_by uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks TO ${role};

-- Events on their way to webhooks, and what became of them; old ones are deleted.
CREATE TABLE webhook_deliveries (
  -- The alert's id is the event's.
  event uuid PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed', 'dropped')),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- The newest last.
  last_attempts jsonb NOT NULL DEFAULT '[]',
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz CHECK ((ended_at IS NULL) = (state = 'waiting'))
) WITH (fillfactor = 70);
CREATE INDEX webhook_deliveries_account ON webhook_deliveries (account, number);
GRANT SELECT, INSERT (event, account), UPDATE (state, attempts, last_attempts, ended_at), DELETE
  ON webhook_deliveries TO ${role};

-- Alerts on their way to accounts, which mails them. An outbox of its own: accounts may be away for long, and commands that
-- wait for admission must not wait behind that.
CREATE TABLE alert_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  key text NOT NULL,
  body jsonb NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  -- Not before: the end of the lease of whoever delivers it, or the time of the next attempt.
  due_at timestamptz NOT NULL DEFAULT now(),
  claim uuid,
  created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX alert_outbox_key_id ON alert_outbox (key, id);
CREATE INDEX alert_outbox_due_at ON alert_outbox (due_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON alert_outbox TO ${role};

-- Events on their way to receivers of customers, which may be slow or away for days.
CREATE TABLE webhook_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  key text NOT NULL,
  body jsonb NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  -- Not before: the end of the lease of whoever delivers it, or the time of the next attempt.
  due_at timestamptz NOT NULL DEFAULT now(),
  claim uuid,
  created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX webhook_outbox_key_id ON webhook_outbox (key, id);
CREATE INDEX webhook_outbox_due_at ON webhook_outbox (due_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_outbox TO ${role};
