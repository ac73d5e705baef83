-- Mails about alerts, and what billing is told of caps.

-- Alerts that billing has told: each is mailed once, however often it is told.
CREATE TABLE mailed_alerts (
  alert text COLLATE "C" PRIMARY KEY CHECK (length(alert) BETWEEN 1 AND 128),
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  taken_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT (alert, account) ON mailed_alerts TO ${role};

-- Mails on their way, one row for each person. A row names the member: address and names are read when it is sent.
CREATE TABLE mail_outbox (
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
CREATE INDEX mail_outbox_key_id ON mail_outbox (key, id);
CREATE INDEX mail_outbox_due_at ON mail_outbox (due_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON mail_outbox TO ${role};

-- Caps on their way to billing. An outbox of its own: billing may be away for long, and changes that wait for admission
-- must not wait behind that.
CREATE TABLE billing_outbox (
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
CREATE INDEX billing_outbox_key_id ON billing_outbox (key, id);
CREATE INDEX billing_outbox_due_at ON billing_outbox (due_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON billing_outbox TO ${role};

-- Billing does not know the caps that are there.
INSERT INTO billing_outbox (topic, key, body)
  SELECT 'caps', account, jsonb_build_object('account', account, 'caps', jsonb_build_array(
           jsonb_build_object('kind', kind, 'id', id, 'capNanoUsd', cap_nano_usd, 'version', version)))
    FROM (SELECT account, 'key' AS kind, id, cap_nano_usd, version FROM api_keys WHERE cap_nano_usd IS NOT NULL
          UNION ALL
          SELECT account, 'member', id, cap_nano_usd, version FROM members WHERE cap_nano_usd IS NOT NULL) capped
   ORDER BY account, id;
