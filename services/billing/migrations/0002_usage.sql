-- Usage: one record per request id, and how far the stream is settled.

-- Inbox and record in one: (id, rank, content_hash) decides what a delivery means.
CREATE TABLE usage_records (
  id uuid NOT NULL,
  rank smallint NOT NULL CHECK (rank IN (1, 2)),
  content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
  account text COLLATE "C" NOT NULL,
  key_id text NOT NULL,
  member_id text NOT NULL,
  model_id text NOT NULL,
  source_id text,
  endpoint text,
  streamed boolean NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('settled', 'voided', 'expired')),
  evidence text NOT NULL CHECK (evidence IN ('reported', 'estimated', 'none')),
  status smallint,
  started_at timestamptz NOT NULL,
  first_byte_at timestamptz,
  ended_at timestamptz NOT NULL,
  input_tokens bigint,
  cached_input_tokens bigint,
  cache_write_tokens bigint,
  cache_write_1h_tokens bigint,
  output_tokens bigint,
  price_version text,
  charged_nano_usd bigint NOT NULL CHECK (charged_nano_usd >= 0),
  plan_nano_usd bigint NOT NULL CHECK (plan_nano_usd >= 0),
  wallet_nano_usd bigint NOT NULL CHECK (wallet_nano_usd >= 0),
  -- What the providers charge for all attempts; null while it is unknown.
  cost_nano_usd bigint CHECK (cost_nano_usd >= 0),
  -- What admission fixed: the funding, and the periods and rows that the call counts in.
  admitted_at timestamptz NOT NULL,
  worst_nano_usd bigint NOT NULL,
  plan_max_nano_usd bigint NOT NULL,
  -- Null: wallet-funded, without bound.
  wallet_max_nano_usd bigint,
  month text NOT NULL,
  session_start_ms bigint,
  week_start_ms bigint,
  subscription_period text,
  -- `<type>/<unit>` of each window that the call counts in.
  windows text[] NOT NULL,
  allotment text CHECK (allotment IN ('usd', 'requests')),
  attempts jsonb NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT now(),
  CHECK (charged_nano_usd = plan_nano_usd + wallet_nano_usd),
  CHECK (outcome = 'settled' OR charged_nano_usd = 0),
  CHECK ((outcome = 'expired') = (rank = 1)),
  PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX usage_records_account ON usage_records (account, id);
GRANT SELECT, INSERT, UPDATE ON usage_records TO ${role};

-- A record is only ever replaced by one of a higher rank.
CREATE FUNCTION check_record_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.id = OLD.id AND NEW.account = OLD.account AND NEW.rank > OLD.rank THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'usage record % is only replaced by a higher rank', OLD.id
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER higher_rank_only BEFORE UPDATE ON usage_records FOR EACH ROW EXECUTE FUNCTION check_record_change();
CREATE TRIGGER no_delete BEFORE DELETE ON usage_records FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON usage_records EXECUTE FUNCTION refuse_change();

-- Events that could not become a record, for a person to look at. The hash keeps a redelivery from adding another row.
CREATE TABLE set_aside_events (
  content_hash bytea PRIMARY KEY CHECK (length(content_hash) = 32),
  request_id uuid,
  account text COLLATE "C",
  shard smallint NOT NULL,
  stream_sequence bigint NOT NULL,
  reason text NOT NULL,
  detail text NOT NULL,
  event bytea NOT NULL,
  set_aside_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX set_aside_events_request ON set_aside_events (request_id);
GRANT SELECT, INSERT ON set_aside_events TO ${role};
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON set_aside_events FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON set_aside_events EXECUTE FUNCTION refuse_change();

-- Stream messages whose events are settled, above the floor; rows at or below it are deleted. The time is part of the
-- key, so that messages of a stream that was lost and made anew are not taken for those of the old one.
CREATE TABLE applied_messages (
  sequence bigint NOT NULL CHECK (sequence > 0),
  stored_at timestamptz NOT NULL,
  shard smallint NOT NULL,
  PRIMARY KEY (sequence, stored_at)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
GRANT SELECT, INSERT, DELETE ON applied_messages TO ${role};

-- One row: every message up to the floor is settled.
CREATE TABLE stream_progress (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  floor_sequence bigint NOT NULL DEFAULT 0 CHECK (floor_sequence >= 0),
  -- The latest time at which a message up to the floor was stored.
  floor_stored_at timestamptz NOT NULL DEFAULT to_timestamp(0),
  -- Messages stored earlier belong to a stream that is no more.
  stream_since timestamptz NOT NULL DEFAULT to_timestamp(0)
) WITH (fillfactor = 10);
INSERT INTO stream_progress DEFAULT VALUES;
GRANT SELECT, UPDATE ON stream_progress TO ${role};

-- What was settled when: the stream is trimmed up to a mark that is older than the replay reserve.
CREATE TABLE stream_marks (
  marked_at timestamptz PRIMARY KEY DEFAULT now(),
  sequence bigint NOT NULL CHECK (sequence >= 0)
);
GRANT SELECT, INSERT, DELETE ON stream_marks TO ${role};

-- Messages to admission that must arrive (rule 10).
CREATE TABLE outbox (
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
CREATE INDEX outbox_key_id ON outbox (key, id);
CREATE INDEX outbox_due_at ON outbox (due_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO ${role};

-- Partitions are made ahead by the service through this function; it has no right of its own to make tables.
CREATE FUNCTION uuid_floor(epoch_ms bigint) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT
  RETURN (lpad(to_hex(epoch_ms), 12, '0') || repeat('0', 20))::uuid;

-- False: the month was dropped or lies too far ahead to be real.
CREATE FUNCTION ensure_month(month_start date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
DECLARE
  -- Far enough for any test clock, near enough that a garbled id makes no table.
  last_month CONSTANT date := date_trunc('month', now() + interval '10 years')::date;
  lower_id CONSTANT uuid := uuid_floor((extract(epoch FROM month_start::timestamp) * 1000)::bigint);
  upper_id CONSTANT uuid := uuid_floor((extract(epoch FROM month_start::timestamp + interval '1 month') * 1000)::bigint);
  parent text;
  part text;
BEGIN
  IF month_start <> date_trunc('month', month_start)::date
     OR month_start < (SELECT first_month FROM ledger_state) OR month_start > last_month THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('ensure_month ${schema}', 0));
  FOREACH parent IN ARRAY ARRAY['ledger_transactions', 'ledger_entries', 'usage_records'] LOOP
    part := parent || '_' || to_char(month_start, 'YYYY_MM');
    CONTINUE WHEN EXISTS (
      SELECT FROM pg_catalog.pg_class WHERE relname = part AND relnamespace = '${schema}'::regnamespace
    );
    -- Made apart and attached: making it as a partition at once would lock out every reader of the parent.
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part, parent);
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON %I EXECUTE FUNCTION refuse_change()', part);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, part, lower_id, upper_id);
  END LOOP;
  RETURN true;
END $$;
REVOKE ALL ON FUNCTION ensure_month(date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_month(date) TO ${role};
