-- Schema of billing. The ledger is double-entry and append-only, and the database checks it.

-- Functions that tables and views use

-- Returns the 48 bits of milliseconds inside a UUIDv7.
CREATE FUNCTION id_ms(id uuid) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
  RETURN ('x0000' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(64)::bigint;

-- Returns the ID of the correction of a call: the call's ID with one bit inverted.
CREATE FUNCTION correction_id(id uuid) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT
  RETURN overlay(id::text PLACING translate(substr(id::text, 20, 1), '89ab', '98ba') FROM 20 FOR 1)::uuid;

-- Returns the total cost of the attempts of a call; null if no cost is known.
CREATE FUNCTION attempts_cost(attempts jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
  RETURN (SELECT sum((attempt ->> 'costNanoUsd')::bigint)::bigint FROM jsonb_array_elements(attempts) AS attempt);

-- Returns the smallest ID of a millisecond.
CREATE FUNCTION uuid_floor(epoch_ms bigint) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT
  RETURN (lpad(to_hex(epoch_ms), 12, '0') || repeat('0', 20))::uuid;

-- Returns a new ledger epoch: a UUIDv7 that is later than the known ones. Epochs are ordered by the
-- time at which they began (docs/decisions/0113).
CREATE FUNCTION create_ledger_epoch(VARIADIC known text[]) RETURNS text LANGUAGE sql SET search_path = ${schema}, pg_temp
  AS $$
    SELECT substr(began, 1, 8) || '-' || substr(began, 9) || '-7' || substr(gen_random_uuid()::text, 16)
      FROM (
        SELECT lpad(to_hex(greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, max(id_ms(one::uuid)) + 1)), 12, '0')
          FROM unnest(known) one
      ) new (began)
  $$;

-- Tables

-- One row: the ledger's epoch, which a restored copy replaces, and the first month that is kept.
CREATE TABLE ledger_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  ledger_epoch text NOT NULL,
  -- Earlier months were dropped. Their events become dead letters, and their partitions are not created
  -- again.
  first_month date NOT NULL DEFAULT DATE '2020-01-01' CHECK (first_month = date_trunc('month', first_month)::date),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Suffix of the names of billing's stream consumers: the epoch of the latest restore. A ledger
  -- that lost commits begins a new epoch and keeps its consumers (docs/decisions/0102).
  consumers text NOT NULL
);
INSERT INTO ledger_state (ledger_epoch, consumers)
  SELECT begun, begun FROM create_ledger_epoch(VARIADIC ARRAY[]::text[]) AS begun;

-- Customers. The version increases, under the lock on the row, with each change of a balance or
-- of the terms.
CREATE TABLE accounts (
  account text COLLATE "C" PRIMARY KEY CHECK (length(account) BETWEEN 1 AND 128),
  version bigint NOT NULL DEFAULT 0 CHECK (version >= 0),
  -- Version of the latest change of the terms (plan, subscription, limits).
  terms_version bigint NOT NULL DEFAULT 0 CHECK (terms_version BETWEEN 0 AND version),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Increases with each change of a spend cap of the account's keys and members. Together with
  -- terms_version it identifies the limits of the account.
  caps_version bigint NOT NULL DEFAULT 0 CHECK (caps_version >= 0),
  -- A closed account gets no credit and no subscription, and cannot be opened again. Its ledger
  -- stays, and late calls are still settled.
  closed_at timestamptz,
  -- Represents the account in the partitioned tables.
  number integer GENERATED ALWAYS AS IDENTITY UNIQUE
) WITH (fillfactor = 70);

-- Texts that many usage records share: keys, members, models, sources, endpoints, versions,
-- periods. Records contain the number of a text. A row is inserted in the transaction of the first
-- record that needs it.
CREATE TABLE names (
  number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE
);

-- Projections: balances and counters by name (wallet, km:, mm:, w:, al:). Written in the
-- transaction of the ledger entries that change them.
CREATE TABLE balances (
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 300),
  value bigint NOT NULL CHECK (value BETWEEN -9000000000000000 AND 9000000000000000),
  version bigint NOT NULL CHECK (version > 0),
  PRIMARY KEY (account, name)
) WITH (fillfactor = 70);

-- Ledger transactions of commands. The transactions of calls are derived from usage records; the
-- views ledger_transactions and ledger_entries contain both. This table, command_entries and
-- call_records are partitioned by the month of the time inside their UUIDv7 key, and not by a
-- clock: a redelivery at midnight finds the row of the first delivery (docs/protocol.md#r16).
CREATE TABLE command_transactions (
  id uuid NOT NULL,
  posted_at timestamptz NOT NULL DEFAULT now(),
  -- The database transaction that inserted the row. Only it may insert the entries.
  posted_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
  account_number integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('credit', 'refund', 'chargeback', 'adjustment')),
  PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX command_transactions_account ON command_transactions (account_number, id);

CREATE TABLE command_entries (
  transaction_id uuid NOT NULL,
  -- 1, 2, 3, … within the transaction.
  ordinal smallint NOT NULL CHECK (ordinal > 0),
  ledger_account text COLLATE "C" NOT NULL CHECK (
    CASE split_part(ledger_account, ':', 1)
      WHEN 'wallet' THEN ledger_account LIKE 'wallet:_%' AND ledger_account NOT LIKE 'wallet:%:%'
      WHEN 'revenue' THEN ledger_account IN ('revenue:wallet', 'revenue:plan')
      WHEN 'plan' THEN ledger_account LIKE 'plan:_%:_%' AND ledger_account NOT LIKE 'plan:%:%:%' AND ledger_account NOT LIKE 'plan::%'
      WHEN 'provider-cost' THEN ledger_account LIKE 'provider-cost:_%' AND ledger_account NOT LIKE 'provider-cost:%:%'
      ELSE ledger_account IN ('funding', 'adjustment', 'cost')
    END
  ),
  amount_nano_usd bigint NOT NULL
    CHECK (amount_nano_usd <> 0 AND amount_nano_usd BETWEEN -9000000000000000 AND 9000000000000000),
  PRIMARY KEY (transaction_id, ordinal)
) PARTITION BY RANGE (transaction_id);

-- Additions to and deductions from wallets by operators and payments. The reference makes each
-- entry unique.
CREATE TABLE wallet_entries (
  reference text PRIMARY KEY CHECK (length(reference) BETWEEN 1 AND 200),
  transaction_id uuid NOT NULL UNIQUE,
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  kind text NOT NULL CHECK (kind IN ('credit', 'refund', 'chargeback', 'adjustment')),
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd <> 0),
  -- Balance of the wallet after this entry.
  balance_nano_usd bigint NOT NULL,
  reason text NOT NULL,
  relates_to text,
  actor text NOT NULL,
  posted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX wallet_entries_account ON wallet_entries (account, transaction_id);
CREATE INDEX wallet_entries_relates_to ON wallet_entries (relates_to) WHERE relates_to IS NOT NULL;

-- Heads of the hash chains over ledger transactions. Each shard of accounts has its own chain, so
-- that workers of different shards do not wait for each other. A database transaction that posts
-- appends one block to each chain that it touches, under the lock on the chain's head.
CREATE TABLE chain_heads (
  chain smallint PRIMARY KEY CHECK (chain >= 0),
  -- Number of blocks.
  number bigint NOT NULL DEFAULT 0 CHECK (number >= 0),
  -- The link of the last transaction of the last block.
  link bytea NOT NULL CHECK (length(link) = 32)
) WITH (fillfactor = 10);
-- One chain per shard (libs/contracts). The first link is the hash of the chain's name.
INSERT INTO chain_heads (chain, link)
  SELECT chain, sha256(convert_to('chain ' || chain, 'UTF8')) FROM generate_series(0, 3) AS chain;

CREATE TABLE chain_blocks (
  chain smallint NOT NULL CHECK (chain >= 0),
  -- 1, 2, 3, … within the chain.
  number bigint NOT NULL CHECK (number > 0),
  -- 48 bytes for each ledger transaction, in the order of the chain: its ID and its link.
  members bytea NOT NULL CHECK (length(members) > 0 AND length(members) % 48 = 0),
  posted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (chain, number)
);
-- Hashes cannot be compressed.
ALTER TABLE chain_blocks ALTER COLUMN members SET STORAGE EXTERNAL;

-- One row: the number of ledger transactions that are in no chain. 0, except in ledgers that the
-- benchmark fills directly.
CREATE TABLE chain_start (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  earlier_transactions bigint NOT NULL
);
INSERT INTO chain_start (earlier_transactions) VALUES (0);

-- Inbox, usage record and ledger transaction in one row. (id, rank, content_hash) identifies a
-- delivery, and the ledger entries of the charge follow from the amounts (docs/decisions/0086). A
-- record of a higher rank is an additional row. Columns are in the order of their widths, and
-- values that are usually absent are null, so that the row of a plain call has no padding.
CREATE TABLE call_records (
  recorded_at timestamptz NOT NULL DEFAULT now(),
  -- The plan pays plan_nano_usd, the wallet pays the rest.
  charged_nano_usd bigint NOT NULL CHECK (charged_nano_usd BETWEEN 0 AND 9000000000000000),
  -- Worst-case cost. Admission fixed it together with the funding, the periods and the
  -- balances of the call.
  worst_nano_usd bigint NOT NULL,
  -- Null: 0.
  plan_nano_usd bigint CHECK (plan_nano_usd BETWEEN 1 AND charged_nano_usd),
  -- Cost of all attempts at the providers; null while it is unknown.
  cost_nano_usd bigint CHECK (cost_nano_usd BETWEEN 0 AND 9000000000000000),
  -- Cost of the record of the lower rank, if it has one.
  corrected_cost_nano_usd bigint CHECK (corrected_cost_nano_usd > 0),
  -- Null: 0.
  plan_max_nano_usd bigint,
  -- Null: the wallet pays without an upper bound.
  wallet_max_nano_usd bigint,
  id uuid NOT NULL,
  account_number integer NOT NULL,
  key_number integer NOT NULL,
  member_number integer NOT NULL,
  model_number integer NOT NULL,
  -- Milliseconds after the time inside the ID; negative: before it.
  admitted_ms integer,
  started_ms integer,
  -- Milliseconds after the start.
  ended_ms integer,
  first_byte_ms integer,
  source_number integer,
  endpoint_number integer,
  price_version_number integer,
  -- Null: the usage is unknown. In the other token columns null means 0.
  input_tokens integer,
  output_tokens integer,
  cached_input_tokens integer,
  cache_write_tokens integer,
  cache_write_1h_tokens integer,
  -- Provider and cost version of a single attempt. Its source, status, usage and cost are those of
  -- the record.
  attempt_provider_number integer,
  attempt_version_number integer,
  subscription_number integer,
  -- Milliseconds after the time inside the ID; negative: before it.
  session_ms integer,
  week_ms integer,
  -- Usage windows of the call, three bits each, the first one in the lowest bits: 1 to 6 for
  -- session_5h, weekly and monthly, each by usd and by requests.
  window_codes integer,
  rank smallint NOT NULL CHECK (rank IN (1, 2)),
  -- 1 expired, 2 settled, 3 voided.
  outcome_code smallint NOT NULL CHECK (outcome_code BETWEEN 1 AND 3),
  -- 2 estimated, 3 none; null: reported.
  evidence_code smallint CHECK (evidence_code BETWEEN 2 AND 3),
  status smallint,
  -- 1 completed, 2 rejected, 3 unreachable, 4 timed_out, 5 broken, 6 abandoned; null: no attempt,
  -- or several.
  attempt_outcome_code smallint CHECK (attempt_outcome_code BETWEEN 1 AND 6),
  -- 1 usd, 2 requests.
  allotment_code smallint CHECK (allotment_code BETWEEN 1 AND 2),
  streamed boolean NOT NULL,
  -- True: a record of rank 1 exists, and this transaction corrects it.
  corrects boolean NOT NULL,
  attempt_possibly_paid boolean,
  -- First half of a SHA-256 hash.
  content_hash bytea NOT NULL CHECK (length(content_hash) = 16),
  -- Null: the month of the ID.
  month text,
  -- All times, in epoch milliseconds, and all token counts, if one of them does not fit its column:
  -- admitted, started, first byte, ended, session, week, input, cached input, cache write, cache
  -- write 1h, output.
  exact bigint[] CHECK (cardinality(exact) = 11),
  -- Several attempts, or one that differs from its record.
  attempts jsonb,
  -- Price class: 1 priority, 2 flex, 3 fast; null: standard (docs/decisions/0091).
  class_code smallint,
  -- Numbers of uses by the name of their unit; null: none.
  units jsonb,
  -- Tokens by kind (audioInput, imageInput, audioOutput, imageOutput); null: all tokens are text.
  token_kinds jsonb,
  -- Token counts of each sampling of a response that has several, so that each can be rated by its
  -- own tier: input, cached input, cache writes, cache writes for an hour, output; then, if there
  -- are tokens of other kinds, audio input, image input, audio output, image output. Null: one
  -- sampling.
  samplings jsonb,
  -- Names of what was served without a price; null: nothing.
  unpriced jsonb,
  CHECK (exact IS NOT NULL OR num_nulls(admitted_ms, started_ms, ended_ms) = 0),
  CHECK (outcome_code = 2 OR charged_nano_usd = 0),
  CHECK ((outcome_code = 1) = (rank = 1)),
  CHECK (rank = 2 OR NOT corrects),
  CHECK (corrects OR corrected_cost_nano_usd IS NULL),
  CHECK (plan_nano_usd IS NULL OR subscription_number IS NOT NULL),
  -- The cost of a call is the sum of the costs of its attempts.
  CHECK (attempts IS NULL OR attempt_outcome_code IS NULL AND cost_nano_usd IS NOT DISTINCT FROM attempts_cost(attempts)),
  CHECK (attempts IS NOT NULL OR cost_nano_usd IS NULL OR attempt_provider_number IS NOT NULL),
  PRIMARY KEY (id, rank)
) PARTITION BY RANGE (id);
CREATE INDEX call_records_account ON call_records (account_number, id);
-- These indexes are small: they contain no settled calls, no charges that correct nothing and no
-- calls with a single attempt.
CREATE INDEX call_records_unsettled ON call_records (account_number, outcome_code, id) WHERE outcome_code <> 2;
CREATE INDEX call_records_correction ON call_records (correction_id(id)) WHERE corrects;
CREATE INDEX call_records_account_correction ON call_records (account_number, correction_id(id)) WHERE corrects;
CREATE INDEX call_records_attempts ON call_records (id) WHERE attempts IS NOT NULL;

-- Dead letters: events that could not be settled, for examination by an operator. The hash prevents
-- a second row for a redelivery.
CREATE TABLE dead_letters (
  content_hash bytea PRIMARY KEY CHECK (length(content_hash) = 32),
  request_id uuid,
  account text COLLATE "C",
  shard smallint NOT NULL,
  stream_sequence bigint NOT NULL,
  reason text NOT NULL,
  detail text NOT NULL,
  event bytea NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dead_letters_request ON dead_letters (request_id);

-- Retries of dead letters, and their results.
CREATE TABLE dead_letter_replays (
  content_hash bytea NOT NULL REFERENCES dead_letters,
  replayed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
  -- One for each event of the message.
  outcomes text[] NOT NULL,
  -- True: all events of the message are settled.
  resolved boolean NOT NULL,
  PRIMARY KEY (content_hash, replayed_at)
);

-- Stream messages above the floor whose events are settled: one row per batch. A message can be
-- redelivered in another batch. Rows without a message above the floor are deleted. Each message
-- has its time, which distinguishes messages of a recreated stream from those of the lost one.
CREATE TABLE applied_batches (
  first_sequence bigint NOT NULL CHECK (first_sequence > 0),
  last_sequence bigint NOT NULL CHECK (last_sequence >= first_sequence),
  -- Maximum of stored_at.
  last_stored_at timestamptz NOT NULL,
  sequences bigint[] NOT NULL,
  stored_at timestamptz[] NOT NULL,
  CHECK (cardinality(sequences) > 0 AND cardinality(sequences) = cardinality(stored_at))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
-- Rows are short-lived: the arrays are stored in the row and not compressed.
ALTER TABLE applied_batches ALTER COLUMN sequences SET STORAGE PLAIN, ALTER COLUMN stored_at SET STORAGE PLAIN;
CREATE INDEX applied_batches_first ON applied_batches (first_sequence);

-- One row. All messages up to the floor are settled.
CREATE TABLE stream_progress (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  floor_sequence bigint NOT NULL DEFAULT 0 CHECK (floor_sequence >= 0),
  -- Latest time at which a message up to the floor was stored.
  floor_stored_at timestamptz NOT NULL DEFAULT to_timestamp(0),
  -- Messages that were stored earlier belong to a stream that no longer exists.
  stream_since timestamptz NOT NULL DEFAULT to_timestamp(0)
) WITH (fillfactor = 10);
INSERT INTO stream_progress DEFAULT VALUES;

-- The settled position of the stream over time. The stream is trimmed up to a mark that is older
-- than the replay reserve.
CREATE TABLE stream_marks (
  marked_at timestamptz PRIMARY KEY DEFAULT now(),
  sequence bigint NOT NULL CHECK (sequence >= 0)
);

-- The worker of each shard and its latest sign of life. If a worker hangs, its database session is
-- ended, which releases the lock on the shard.
CREATE TABLE shard_holders (
  shard smallint PRIMARY KEY CHECK (shard >= 0),
  backend_pid integer NOT NULL,
  backend_started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 10);

-- Sums of settled records by the hour (UTC) of their IDs, written in the transaction of the
-- records. A record is counted once: settled records are never replaced.
CREATE TABLE usage_hours (
  account text COLLATE "C" NOT NULL,
  -- Start of the hour, epoch milliseconds.
  hour_ms bigint NOT NULL CHECK (hour_ms % 3600000 = 0),
  key_id text COLLATE "C" NOT NULL,
  member_id text COLLATE "C" NOT NULL,
  model_id text COLLATE "C" NOT NULL,
  calls bigint NOT NULL CHECK (calls > 0),
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  -- For five minutes and for one hour.
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  plan_nano_usd bigint NOT NULL CHECK (plan_nano_usd >= 0),
  wallet_nano_usd bigint NOT NULL CHECK (wallet_nano_usd >= 0),
  -- Calls that the wallet paid at least in part. Statements count them as transactions.
  wallet_calls bigint NOT NULL,
  cache_write_1h_tokens bigint NOT NULL,
  PRIMARY KEY (account, hour_ms, key_id, member_id, model_id)
) WITH (fillfactor = 70);

-- Plans. Versions of a plan are immutable, and a subscription period keeps the version that it
-- began with.
CREATE TABLE plans (
  id text COLLATE "C" PRIMARY KEY,
  -- Version of new subscription periods.
  current_version integer NOT NULL CHECK (current_version > 0),
  deleted_at timestamptz
);

CREATE TABLE plan_versions (
  plan_id text COLLATE "C" NOT NULL,
  version integer NOT NULL CHECK (version > 0),
  spec jsonb NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (plan_id, version)
);
-- Deferred, so that a plan and its first version can be inserted in either order.
ALTER TABLE plans ADD FOREIGN KEY (id, current_version) REFERENCES plan_versions (plan_id, version)
  DEFERRABLE INITIALLY DEFERRED;

CREATE TABLE subscription_periods (
  -- Part of names of balances and ledger accounts, so it contains no colon.
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$'),
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  plan_id text COLLATE "C" NOT NULL,
  plan_version integer NOT NULL,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL CHECK (period_end > period_start),
  renews boolean NOT NULL,
  -- Time of an early end: by an operator, or because another period replaced this one.
  ended_at timestamptz,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Day of the month on which a period of whole months begins and ends; in shorter months the last
  -- day. A renewal inherits it. Null: the days of period_start and period_end.
  anchor_day smallint CHECK (anchor_day BETWEEN 1 AND 31),
  -- The period that this one renews.
  renewal_of text COLLATE "C" REFERENCES subscription_periods,
  FOREIGN KEY (plan_id, plan_version) REFERENCES plan_versions (plan_id, version)
);
CREATE INDEX subscription_periods_account ON subscription_periods (account, period_start);
-- Prevents a second renewal of the same period.
CREATE UNIQUE INDEX subscription_periods_start ON subscription_periods (account, period_start) WHERE ended_at IS NULL;
CREATE INDEX subscription_periods_plan ON subscription_periods (plan_id, period_end) WHERE ended_at IS NULL;
CREATE INDEX subscription_periods_plan_start ON subscription_periods (plan_id, period_start, account) WHERE ended_at IS NULL;

-- The next time at which an account's terms change without a command, or its subscription is
-- renewed. One row for each account that has such a time.
CREATE TABLE subscription_timers (
  account text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  due_at timestamptz NOT NULL,
  -- The current period that was last sent to admission; null: none.
  sent_period text COLLATE "C",
  -- The following period that was last sent to admission, so that admission changes from one to the
  -- next at the right time; null: none.
  sent_next text COLLATE "C"
);
CREATE INDEX subscription_timers_due_at ON subscription_timers (due_at);

-- Plans with a new version. Their future periods are sent to admission again, in the order of start
-- and account.
CREATE TABLE plan_refreshes (
  plan_id text COLLATE "C" PRIMARY KEY,
  -- Position of the last period that was processed.
  after_start timestamptz NOT NULL,
  after_account text COLLATE "C" NOT NULL
);

-- Limits that override an account's plan or the defaults; null: not overridden.
CREATE TABLE account_limits (
  account text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  requests_per_minute integer CHECK (requests_per_minute > 0),
  concurrency integer CHECK (concurrency > 0),
  active_keys_max integer CHECK (active_keys_max > 0),
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now()
);

-- Audit log: one row per change by an operator and per renewal, inserted in the transaction of the
-- change. Contains no secrets.
CREATE TABLE changes (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL,
  action text NOT NULL,
  account text COLLATE "C",
  object_id text COLLATE "C" NOT NULL,
  before jsonb,
  after jsonb,
  -- The command that made the change; a repeated command changes nothing.
  command uuid,
  -- Origin of the request. All three are null if the service acted by itself. The network is an
  -- IPv4 address, or the /64 of an IPv6 address.
  client text CHECK (length(client) BETWEEN 1 AND 64),
  agent text CHECK (length(agent) BETWEEN 1 AND 200),
  request_id text COLLATE "C" CHECK (length(request_id) BETWEEN 1 AND 64)
);
CREATE INDEX changes_account ON changes (account, id);
CREATE INDEX changes_object_id ON changes (object_id, id);
CREATE INDEX changes_origin ON changes (actor) WHERE client IS NOT NULL OR agent IS NOT NULL;

-- A copy of the monthly spend caps of accounts. Admission enforces them; billing compares them with
-- the usage to raise alerts.
CREATE TABLE spend_caps (
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('key', 'member')),
  id text COLLATE "C" NOT NULL CHECK (length(id) BETWEEN 1 AND 128),
  -- Null: the cap was removed.
  cap_nano_usd bigint CHECK (cap_nano_usd >= 0),
  version bigint NOT NULL CHECK (version >= 0),
  PRIMARY KEY (account, kind, id)
);

-- Alerts. The primary key prevents a second alert for the same threshold. Subject and period are
-- the two parts of the name of the balance that reached the threshold.
CREATE TABLE alerts (
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  subject text COLLATE "C" NOT NULL CHECK (subject ~ '^(w|km|mm):'),
  period text COLLATE "C" NOT NULL,
  threshold smallint NOT NULL CHECK (threshold IN (50, 75, 90, 100)),
  id uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
  -- Position in lists.
  number bigint GENERATED ALWAYS AS IDENTITY,
  -- Values when the alert was raised: nano-USD, or calls for a window of requests.
  limit_value bigint NOT NULL CHECK (limit_value >= 0),
  used_value bigint NOT NULL,
  period_start timestamptz NOT NULL,
  period_end timestamptz NOT NULL CHECK (period_end > period_start),
  raised_at timestamptz NOT NULL DEFAULT now(),
  CHECK (used_value::numeric * 100 >= limit_value::numeric * threshold),
  PRIMARY KEY (account, subject, period, threshold)
);
CREATE INDEX alerts_account_number ON alerts (account, number);

-- Receivers of an account's events.
CREATE TABLE webhooks (
  account text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2000),
  enabled boolean NOT NULL,
  -- Signing secret, encrypted to billing's public key with the context webhook:<account>.
  sealed_secret text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now()
);

-- Events for webhooks and the results of their deliveries. Old rows are deleted.
CREATE TABLE webhook_deliveries (
  -- ID of the event: the ID of the alert.
  event uuid PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed', 'dropped')),
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  -- In the order of time.
  last_attempts jsonb NOT NULL DEFAULT '[]',
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz CHECK ((ended_at IS NULL) = (state = 'waiting'))
) WITH (fillfactor = 70);
CREATE INDEX webhook_deliveries_account ON webhook_deliveries (account, number);

-- Numbers of refused calls, which the replicas of admission report periodically. They are only
-- displayed; no decision uses them.
CREATE TABLE refused_calls (
  account text COLLATE "C" NOT NULL,
  -- Start of the minute, epoch milliseconds.
  minute_ms bigint NOT NULL CHECK (minute_ms % 60000 = 0),
  code text COLLATE "C" NOT NULL CHECK (length(code) BETWEEN 1 AND 64),
  -- Empty: the key is unknown.
  key_id text COLLATE "C" NOT NULL,
  calls bigint NOT NULL CHECK (calls > 0),
  -- IDs of the latest calls, in the order of time.
  last_ids uuid[] NOT NULL CHECK (cardinality(last_ids) <= 5),
  PRIMARY KEY (account, minute_ms, code, key_id)
) WITH (fillfactor = 70);
CREATE INDEX refused_calls_minute ON refused_calls (minute_ms);

-- Messages to admission that must be delivered (docs/protocol.md#r10).
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  key text NOT NULL,
  body jsonb NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  -- Earliest time of the next attempt. During a delivery: the end of the worker's lease.
  due_at timestamptz NOT NULL DEFAULT now(),
  claim uuid,
  created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX outbox_key_id ON outbox (key, id);
CREATE INDEX outbox_due_at ON outbox (due_at);

-- Alerts for accounts, which emails them. A separate outbox, so that messages to admission do not
-- wait while accounts is unavailable.
CREATE TABLE alert_outbox (LIKE outbox INCLUDING ALL)
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Events for customers' webhook receivers, which can be slow or unavailable for days.
CREATE TABLE webhook_outbox (LIKE outbox INCLUDING ALL)
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Views

-- All ranks of all calls. Numbers and codes are the last columns, for conditions that use an index.
CREATE VIEW usage_record_ranks AS
SELECT record.id, record.rank, record.content_hash,
       accounts.account,
       (SELECT name FROM names WHERE number = record.key_number) AS key_id,
       (SELECT name FROM names WHERE number = record.member_number) AS member_id,
       (SELECT name FROM names WHERE number = record.model_number) AS model_id,
       (SELECT name FROM names WHERE number = record.source_number) AS source_id,
       (SELECT name FROM names WHERE number = record.endpoint_number) AS endpoint,
       record.streamed,
       (ARRAY['expired', 'settled', 'voided'])[record.outcome_code] AS outcome,
       (ARRAY['reported', 'estimated', 'none'])[coalesce(record.evidence_code, 1)] AS evidence,
       record.status,
       timestamptz 'epoch' + coalesce(exact[2], id_ms(id) + started_ms) * interval '1 millisecond' AS started_at,
       timestamptz 'epoch' + CASE WHEN exact IS NULL THEN id_ms(id) + started_ms + first_byte_ms ELSE exact[3] END
         * interval '1 millisecond' AS first_byte_at,
       timestamptz 'epoch' + coalesce(exact[4], id_ms(id) + started_ms + ended_ms) * interval '1 millisecond' AS ended_at,
       CASE WHEN exact IS NULL THEN input_tokens ELSE exact[7] END AS input_tokens,
       CASE WHEN exact IS NOT NULL THEN exact[8] WHEN input_tokens IS NOT NULL THEN coalesce(cached_input_tokens, 0) END
         AS cached_input_tokens,
       CASE WHEN exact IS NOT NULL THEN exact[9] WHEN input_tokens IS NOT NULL THEN coalesce(cache_write_tokens, 0) END
         AS cache_write_tokens,
       CASE WHEN exact IS NOT NULL THEN exact[10] WHEN input_tokens IS NOT NULL THEN coalesce(cache_write_1h_tokens, 0) END
         AS cache_write_1h_tokens,
       CASE WHEN exact IS NOT NULL THEN exact[11] WHEN input_tokens IS NOT NULL THEN coalesce(output_tokens, 0) END
         AS output_tokens,
       (SELECT name FROM names WHERE number = record.price_version_number) AS price_version,
       record.charged_nano_usd,
       coalesce(record.plan_nano_usd, 0) AS plan_nano_usd,
       record.charged_nano_usd - coalesce(record.plan_nano_usd, 0) AS wallet_nano_usd,
       record.cost_nano_usd,
       timestamptz 'epoch' + coalesce(exact[1], id_ms(id) + admitted_ms) * interval '1 millisecond' AS admitted_at,
       record.worst_nano_usd,
       coalesce(record.plan_max_nano_usd, 0) AS plan_max_nano_usd,
       record.wallet_max_nano_usd,
       coalesce(record.month,
                to_char((timestamptz 'epoch' + id_ms(id) * interval '1 millisecond') AT TIME ZONE 'UTC', 'YYYY-MM'))
         AS month,
       CASE WHEN exact IS NULL THEN id_ms(id) + session_ms ELSE exact[5] END AS session_start_ms,
       CASE WHEN exact IS NULL THEN id_ms(id) + week_ms ELSE exact[6] END AS week_start_ms,
       (SELECT name FROM names WHERE number = record.subscription_number) AS subscription_period,
       CASE WHEN window_codes IS NULL THEN ARRAY[]::text[] ELSE ARRAY(
         SELECT (ARRAY['session_5h/usd', 'session_5h/requests', 'weekly/usd', 'weekly/requests', 'monthly/usd',
                       'monthly/requests'])[window_codes >> 3 * place & 7]
           FROM generate_series(0, 5) AS place WHERE window_codes >> 3 * place > 0 ORDER BY place) END AS windows,
       (ARRAY['usd', 'requests'])[record.allotment_code] AS allotment,
       CASE WHEN record.attempts IS NOT NULL THEN record.attempts
            WHEN attempt_outcome_code IS NULL THEN '[]'
            ELSE jsonb_build_array(jsonb_build_object(
              'source', (SELECT name FROM names WHERE number = record.source_number),
              'provider', (SELECT name FROM names WHERE number = attempt_provider_number),
              'outcome', (ARRAY['completed', 'rejected', 'unreachable', 'timed_out', 'broken', 'abandoned'])[attempt_outcome_code],
              'status', record.status,
              'possiblyPaid', attempt_possibly_paid,
              'usage', CASE
                WHEN exact IS NOT NULL AND exact[7] IS NOT NULL THEN jsonb_build_object(
                  'input', exact[7], 'cachedInput', exact[8], 'cacheWrite', exact[9], 'cacheWrite1h', exact[10],
                  'output', exact[11])
                WHEN input_tokens IS NOT NULL THEN jsonb_build_object(
                  'input', input_tokens, 'cachedInput', coalesce(cached_input_tokens, 0),
                  'cacheWrite', coalesce(cache_write_tokens, 0), 'cacheWrite1h', coalesce(cache_write_1h_tokens, 0),
                  'output', coalesce(output_tokens, 0)) END,
              'costVersion', (SELECT name FROM names WHERE number = attempt_version_number),
              'costNanoUsd', cost_nano_usd)) END AS attempts,
       record.recorded_at,
       record.account_number, record.key_number, record.member_number, record.model_number, record.outcome_code,
       (ARRAY['priority', 'flex', 'fast'])[record.class_code] AS price_class, record.units, record.token_kinds,
       record.samplings, record.unpriced
  FROM call_records record LEFT JOIN accounts ON accounts.number = record.account_number;

-- The record of each call: its highest rank. The subquery runs only for records of rank 1.
CREATE VIEW usage_records AS
SELECT * FROM usage_record_ranks record
 WHERE rank = 2 OR (SELECT true FROM call_records higher WHERE higher.id = record.id AND higher.rank = 2) IS NULL;

-- Returns the difference that a correction makes to the cost of each provider, in the form of
-- attempts; an empty list: no difference. A function and not part of the view, because few
-- corrections need it.
CREATE FUNCTION correction_costs(corrected uuid) RETURNS jsonb LANGUAGE plpgsql STABLE SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
BEGIN
  RETURN (
    SELECT coalesce(jsonb_agg(jsonb_build_object('provider', provider, 'costNanoUsd', cost) ORDER BY first), '[]')
      FROM (SELECT attempt ->> 'provider' AS provider, min((2 - rank) * 100 + place) AS first,
                   sum(CASE rank WHEN 1 THEN -1 ELSE 1 END * (attempt ->> 'costNanoUsd')::bigint)::bigint AS cost
              FROM usage_record_ranks, jsonb_array_elements(attempts) WITH ORDINALITY AS item (attempt, place)
             WHERE id = corrected AND (attempt ->> 'costNanoUsd')::bigint <> 0 GROUP BY 1) provider
     WHERE cost <> 0);
END $$;

-- Differences between records of the higher rank and those of the lower rank, which charge nothing
-- and rarely have a cost.
CREATE VIEW corrections AS
SELECT id, correction_id(id) AS transaction_id, recorded_at, account_number,
       charged_nano_usd - coalesce(plan_nano_usd, 0) AS wallet, coalesce(plan_nano_usd, 0) AS plan,
       coalesce(cost_nano_usd, 0) - coalesce(corrected_cost_nano_usd, 0) AS cost,
       attempt_provider_number, subscription_number, corrected_cost_nano_usd,
       CASE WHEN corrected_cost_nano_usd IS NOT NULL THEN correction_costs(id) ELSE attempts END AS attempts
  FROM call_records WHERE corrects;

-- The three parts of the ledger, each with an index on its IDs: transactions of commands, charges
-- of calls, and corrections. A record without charge and cost has no transaction.
CREATE VIEW command_heads AS
SELECT id, kind, account, NULL::uuid AS request_id, NULL::uuid AS corrects, posted_at, account_number
  FROM command_transactions LEFT JOIN accounts ON number = account_number;

CREATE VIEW usage_heads AS
SELECT id, 'usage'::text AS kind, account, id AS request_id, NULL::uuid AS corrects, recorded_at AS posted_at, account_number
  FROM call_records LEFT JOIN accounts ON number = account_number
 WHERE NOT call_records.corrects AND (charged_nano_usd <> 0 OR cost_nano_usd <> 0);

CREATE VIEW correction_heads AS
SELECT correction.transaction_id AS id, 'usage_correction'::text AS kind, account, correction.id AS request_id,
       correction.id AS corrects, recorded_at AS posted_at, account_number
  FROM corrections correction LEFT JOIN accounts ON number = account_number
 WHERE wallet <> 0 OR plan <> 0 OR cost <> 0 OR corrected_cost_nano_usd IS NOT NULL AND attempts <> '[]';

-- All ledger transactions. The entries of commands are stored, those of calls follow from the
-- records.
CREATE VIEW ledger_transactions AS
SELECT * FROM command_heads UNION ALL SELECT * FROM usage_heads UNION ALL SELECT * FROM correction_heads;

-- The amounts that charges of calls move.
CREATE VIEW charges AS
SELECT id AS transaction_id, account_number, charged_nano_usd - coalesce(plan_nano_usd, 0) AS wallet,
       coalesce(plan_nano_usd, 0) AS plan, coalesce(cost_nano_usd, 0) AS cost, attempt_provider_number,
       subscription_number, attempts
  FROM call_records WHERE NOT corrects AND (charged_nano_usd <> 0 OR cost_nano_usd <> 0)
UNION ALL
SELECT transaction_id, account_number, wallet, plan, cost, attempt_provider_number, subscription_number, attempts
  FROM corrections;

-- Liabilities and revenue are positive, assets and expenses negative. The wallet pays the part of a
-- charge that the plan does not pay. If a call has several attempts, each provider is owed the cost
-- of its own, in the order of its first attempt.
CREATE VIEW ledger_entries AS
SELECT transaction_id, ordinal, ledger_account, amount_nano_usd FROM command_entries
UNION ALL
SELECT charge.transaction_id,
       (entry.place - CASE WHEN entry.place > 2 AND charge.wallet = 0 THEN 2 ELSE 0 END
                    - CASE WHEN entry.place > 4 AND charge.plan = 0 THEN 2 ELSE 0 END)::smallint,
       CASE entry.place WHEN 1 THEN 'wallet:' || account WHEN 2 THEN 'revenue:wallet'
                        WHEN 3 THEN concat('plan:', account, ':', period.name) WHEN 4 THEN 'revenue:plan'
                        WHEN 5 THEN 'cost' ELSE 'provider-cost:' || provider.name END,
       entry.amount
  FROM charges charge
  LEFT JOIN accounts ON accounts.number = charge.account_number
  LEFT JOIN names period ON period.number = charge.subscription_number
  LEFT JOIN names provider ON provider.number = charge.attempt_provider_number
 CROSS JOIN LATERAL (VALUES
         (1, -charge.wallet), (2, charge.wallet), (3, -charge.plan), (4, charge.plan), (5, -charge.cost),
         (6, CASE WHEN charge.attempts IS NULL THEN charge.cost ELSE 0 END)) AS entry (place, amount)
 WHERE entry.amount <> 0
UNION ALL
SELECT charge.transaction_id,
       (provider.place + CASE WHEN charge.wallet = 0 THEN 0 ELSE 2 END + CASE WHEN charge.plan = 0 THEN 0 ELSE 2 END
                       + CASE WHEN charge.cost = 0 THEN 0 ELSE 1 END)::smallint,
       'provider-cost:' || provider.name, provider.amount
  FROM charges charge
 CROSS JOIN LATERAL (
         SELECT attempt ->> 'provider' AS name, sum((attempt ->> 'costNanoUsd')::bigint)::bigint AS amount,
                row_number() OVER (ORDER BY min(place)) AS place
           FROM jsonb_array_elements(charge.attempts) WITH ORDINALITY AS item (attempt, place)
          WHERE (attempt ->> 'costNanoUsd')::bigint <> 0 GROUP BY 1) provider
 WHERE charge.attempts IS NOT NULL;

-- Functions

-- Refuses changes of append-only tables, in addition to the missing privileges. A superuser can
-- repair the ledger after SET gateway.ledger_repair = 'on'.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF current_setting('gateway.ledger_repair', true) = 'on'
     AND EXISTS (SELECT FROM pg_roles WHERE rolname = current_user AND rolsuper) THEN
    IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
    RETURN NEW;
  END IF;
  RAISE EXCEPTION '% of % is refused: it is append-only', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- Refuses writes through views.
CREATE FUNCTION refuse_view_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: it is append-only, and a view', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- Checks that the entries of a command's transaction sum to 0 and are inserted in the same
-- statement as its head. Entries cannot be added later: a complete set begins with ordinal 1, which
-- already exists.
CREATE FUNCTION check_added_entries() RETURNS trigger LANGUAGE plpgsql
  -- The set has thousands of rows and the table millions. These settings prevent a plan that reads
  -- the whole table.
  SET search_path = ${schema}, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  wrong record;
BEGIN
  SELECT added.*, head.posted_by IS DISTINCT FROM pg_current_xact_id() OR added.entries <> added.last AS apart INTO wrong
    FROM (SELECT transaction_id, count(*) AS entries, max(ordinal) AS last, sum(amount_nano_usd) AS total
            FROM added_entries GROUP BY 1) added
    LEFT JOIN command_transactions head ON head.id = added.transaction_id
   WHERE head.posted_by IS DISTINCT FROM pg_current_xact_id() OR added.entries <> added.last
      OR added.entries < 2 OR added.total <> 0
   LIMIT 1;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF wrong.apart THEN
    RAISE EXCEPTION 'entries of ledger transaction % are incomplete or not inserted with its head', wrong.transaction_id
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RAISE EXCEPTION 'ledger transaction % has % entries that sum to %', wrong.transaction_id, wrong.entries, wrong.total
    USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- Checks that each inserted head has entries. Sets of entries are complete, so the check looks for
-- ordinal 2 only.
CREATE FUNCTION check_added_heads() RETURNS trigger LANGUAGE plpgsql
  SET search_path = ${schema}, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  bare uuid;
BEGIN
  SELECT head.id INTO bare
    FROM added_heads head LEFT JOIN command_entries entry ON entry.transaction_id = head.id AND entry.ordinal = 2
   WHERE entry.ordinal IS NULL LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'ledger transaction % has no entries that sum to 0 in the statement of its head', bare
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;

-- Checks that a block follows the previous block of its chain. The primary key prevents duplicates.
CREATE FUNCTION check_next_block() RETURNS trigger LANGUAGE plpgsql SET search_path = ${schema}, pg_temp AS $$
BEGIN
  IF NEW.number > 1 AND NOT EXISTS (SELECT FROM chain_blocks WHERE chain = NEW.chain AND number = NEW.number - 1) THEN
    RAISE EXCEPTION 'block % of chain % does not follow a block', NEW.number, NEW.chain
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;

-- Checks that the record of the higher rank corrects the lower one of the same call and account,
-- and that no other record is a correction.
CREATE FUNCTION check_added_records() RETURNS trigger LANGUAGE plpgsql
  SET search_path = ${schema}, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  wrong uuid;
BEGIN
  SELECT added.id INTO wrong
    FROM added_records added
    LEFT JOIN call_records other ON other.id = added.id AND other.rank = (3 - added.rank)::smallint
   WHERE CASE WHEN other.id IS NULL THEN added.corrects
              ELSE other.account_number <> added.account_number OR NOT (added.corrects OR other.corrects)
                OR (added.corrects AND coalesce(added.corrected_cost_nano_usd, 0) <> coalesce(other.cost_nano_usd, 0)) END
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'usage record % does not follow the one of the lower rank', wrong
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;

-- Sets the ID of an alert: a UUID of version 8 (RFC 9562, 5.8), computed from its primary key. An
-- alert that is raised again after a restore has the same ID, by which receivers recognize it.
CREATE FUNCTION set_alert_id() RETURNS trigger LANGUAGE plpgsql SET search_path = ${schema}, pg_temp
  AS $$
    DECLARE
      digest text := encode(sha256(convert_to(format('%s %s %s %s', NEW.account, NEW.subject, NEW.period, NEW.threshold), 'UTF8')), 'hex');
    BEGIN
      NEW.id := substr(digest, 1, 12) || '8' || substr(digest, 14, 3) || '8' || substr(digest, 18, 15);
      RETURN NEW;
    END
  $$;

-- Creates the triggers of a partition. Triggers of the parent table do not run for a statement that
-- names the partition.
CREATE FUNCTION create_month_triggers(parent text, part text) RETURNS void LANGUAGE plpgsql SET search_path = ${schema}, pg_temp AS $$
BEGIN
  IF parent = 'command_transactions' THEN
    EXECUTE format('CREATE TRIGGER balanced AFTER INSERT ON %I REFERENCING NEW TABLE AS added_heads
                      FOR EACH STATEMENT EXECUTE FUNCTION check_added_heads()', part);
  ELSIF parent = 'command_entries' THEN
    EXECUTE format('CREATE TRIGGER complete AFTER INSERT ON %I REFERENCING NEW TABLE AS added_entries
                      FOR EACH STATEMENT EXECUTE FUNCTION check_added_entries()', part);
  ELSE
    EXECUTE format('CREATE TRIGGER ranked AFTER INSERT ON %I REFERENCING NEW TABLE AS added_records
                      FOR EACH STATEMENT EXECUTE FUNCTION check_added_records()', part);
  END IF;
END $$;

-- Creates the partitions of a month. The service creates them in advance through this function and
-- has no privilege to create tables. Returns false if the month was dropped or is too far in the
-- future.
CREATE FUNCTION ensure_month(month_start date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
DECLARE
  -- Later than any test clock. An invalid ID from after it creates no table.
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
  FOREACH parent IN ARRAY ARRAY['command_transactions', 'command_entries', 'call_records'] LOOP
    part := parent || '_' || to_char(month_start, 'YYYY_MM');
    CONTINUE WHEN EXISTS (
      SELECT FROM pg_catalog.pg_class WHERE relname = part AND relnamespace = '${schema}'::regnamespace
    );
    -- Attached after its creation: creating it as a partition would block all readers of the parent.
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part, parent);
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON %I EXECUTE FUNCTION refuse_change()', part);
    PERFORM create_month_triggers(parent, part);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, part, lower_id, upper_id);
  END LOOP;
  RETURN true;
END $$;

-- Begins a new epoch after a restore from a backup (docs/protocol.md#r17), and returns it. The
-- service has no other privilege to change ledger_state than this function and the next one.
CREATE FUNCTION begin_ledger_epoch() RETURNS text LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp
  AS $$
    UPDATE ledger_state
       SET (ledger_epoch, consumers) = (SELECT made, made FROM (SELECT create_ledger_epoch(ledger_epoch) AS made) new)
    RETURNING ledger_epoch
  $$;

-- Begins a new epoch after the ledger lost commits, and returns it. `seen` is the latest epoch that
-- was observed, which the ledger may have lost. Returns null if the current epoch is no longer
-- `former`.
CREATE FUNCTION begin_ledger_epoch_after(former text, seen text) RETURNS text LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp
  AS $$
    UPDATE ledger_state SET ledger_epoch = create_ledger_epoch(former, seen) WHERE ledger_epoch = former RETURNING ledger_epoch
  $$;

-- Erases the networks and user agents of people whose last account was closed, and returns the
-- number of log entries. The service has no other privilege to update the log.
CREATE FUNCTION erase_origins(people text[]) RETURNS bigint LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
  WITH erased AS (
    UPDATE changes SET client = NULL, agent = NULL
     WHERE actor = ANY (SELECT 'user:' || person FROM unnest(people) AS person)
       AND (client IS NOT NULL OR agent IS NOT NULL)
    RETURNING 1)
  SELECT count(*) FROM erased
$$;

-- Triggers

-- Append-only tables.
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON names FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON command_transactions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON command_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wallet_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON chain_blocks FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON call_records FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON dead_letters FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON dead_letter_replays FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON plan_versions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON alerts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE DELETE ON changes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only_but_origins BEFORE UPDATE ON changes FOR EACH ROW
  WHEN ((OLD.client IS NULL AND OLD.agent IS NULL) OR NEW.client IS NOT NULL OR NEW.agent IS NOT NULL
        OR to_jsonb(OLD) - 'client' - 'agent' IS DISTINCT FROM to_jsonb(NEW) - 'client' - 'agent')
  EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON names EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON command_transactions EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON command_entries EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON wallet_entries EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON chain_blocks EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON call_records EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON dead_letters EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON dead_letter_replays EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON plan_versions EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON changes EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON alerts EXECUTE FUNCTION refuse_change();

-- Exception: networks and user agents can be erased from the audit log.

-- Views.
CREATE TRIGGER append_only INSTEAD OF UPDATE OR DELETE ON usage_records FOR EACH ROW EXECUTE FUNCTION refuse_view_change();
CREATE TRIGGER append_only INSTEAD OF UPDATE OR DELETE ON ledger_transactions
  FOR EACH ROW EXECUTE FUNCTION refuse_view_change();
CREATE TRIGGER append_only INSTEAD OF UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse_view_change();

-- Checks and values of inserted rows.
CREATE TRIGGER complete AFTER INSERT ON command_entries
  REFERENCING NEW TABLE AS added_entries FOR EACH STATEMENT EXECUTE FUNCTION check_added_entries();
CREATE TRIGGER balanced AFTER INSERT ON command_transactions
  REFERENCING NEW TABLE AS added_heads FOR EACH STATEMENT EXECUTE FUNCTION check_added_heads();
CREATE TRIGGER next_block BEFORE INSERT ON chain_blocks FOR EACH ROW EXECUTE FUNCTION check_next_block();
CREATE TRIGGER ranked AFTER INSERT ON call_records
  REFERENCING NEW TABLE AS added_records FOR EACH STATEMENT EXECUTE FUNCTION check_added_records();
CREATE TRIGGER set_id BEFORE INSERT ON alerts FOR EACH ROW EXECUTE FUNCTION set_alert_id();

-- Schema of the role finance

-- Views for the role finance, with a version in their names. The meaning of a view never changes; a
-- new form is a new view. Views read tables with the privileges of their owner.
CREATE SCHEMA finance;

-- Returns the time inside an ID. Calls and wallet entries belong to the month of their IDs, and not
-- to the month in which they were posted.
CREATE FUNCTION finance.time_of(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT
  RETURN timestamptz 'epoch'
    + ('x0000' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(64)::bigint * interval '1 millisecond';

CREATE FUNCTION finance.month_of(id uuid) RETURNS text LANGUAGE sql STABLE STRICT
  RETURN to_char(finance.time_of(id) AT TIME ZONE 'UTC', 'YYYY-MM');

-- Exact. A division would round.
CREATE FUNCTION finance.usd(nano numeric) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT
  RETURN (nano * 0.000000001)::numeric(28, 9);

-- Calls. `attempts` has the costs of each attempt, `unpriced` what was served without a price.
CREATE VIEW finance.usage_records_v1 AS
SELECT id AS request_id, account AS account_id, key_id, member_id, model_id, source_id, endpoint, streamed, outcome, evidence,
       status, finance.month_of(id) AS month, finance.time_of(id) AS called_at, started_at, first_byte_at, ended_at,
       input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, price_version,
       finance.usd(charged_nano_usd) AS charged_usd, finance.usd(plan_nano_usd) AS plan_usd,
       finance.usd(wallet_nano_usd) AS wallet_usd, finance.usd(cost_nano_usd) AS cost_usd, subscription_period,
       (SELECT coalesce(jsonb_agg(jsonb_build_object(
                 'source_id', one -> 'source', 'provider_id', one -> 'provider', 'outcome', one -> 'outcome',
                 'status', one -> 'status', 'possibly_paid', one -> 'possiblyPaid', 'cost_version', one -> 'costVersion',
                 'cost_usd', finance.usd((one ->> 'costNanoUsd')::numeric)::text) ORDER BY place), '[]')
          FROM jsonb_array_elements(attempts) WITH ORDINALITY AS attempt (one, place)) AS attempts,
       recorded_at,
       coalesce(price_class, 'standard') AS price_class, coalesce(units, '{}') AS units,
       coalesce((token_kinds ->> 'audioInput')::bigint, 0) AS audio_input_tokens,
       coalesce((token_kinds ->> 'imageInput')::bigint, 0) AS image_input_tokens,
       coalesce((token_kinds ->> 'audioOutput')::bigint, 0) AS audio_output_tokens,
       coalesce((token_kinds ->> 'imageOutput')::bigint, 0) AS image_output_tokens,
       samplings, unpriced
  FROM ${schema}.usage_records;

CREATE VIEW finance.ledger_transactions_v1 AS
SELECT head.id AS transaction_id, head.kind, head.account AS account_id, head.request_id, head.corrects,
       finance.month_of(head.id) AS month, head.posted_at, entry.reference, entry.reason, entry.relates_to, entry.actor
  FROM ${schema}.ledger_transactions head LEFT JOIN ${schema}.wallet_entries entry ON entry.transaction_id = head.id;

CREATE VIEW finance.ledger_entries_v1 AS
SELECT entry.transaction_id, entry.ordinal, head.kind, head.account AS account_id, finance.month_of(head.id) AS month,
       entry.ledger_account, finance.usd(entry.amount_nano_usd) AS amount_usd, head.posted_at
  FROM ${schema}.ledger_entries entry JOIN ${schema}.ledger_transactions head ON head.id = entry.transaction_id;

CREATE VIEW finance.wallet_balances_v1 AS
SELECT wallet.account AS account_id, finance.usd(wallet.value) AS balance_usd, account.closed_at
  FROM ${schema}.balances wallet JOIN ${schema}.accounts account ON account.account = wallet.account
 WHERE wallet.name = 'wallet';

-- One row for each account and month with movements. The opening balance plus the movements is the
-- closing balance.
CREATE VIEW finance.statements_v1 AS
WITH moved_by_number AS (
  SELECT head.account_number AS number, finance.month_of(head.id) AS month, head.kind, entry.amount_nano_usd AS amount
    FROM ${schema}.command_heads head JOIN ${schema}.command_entries entry ON entry.transaction_id = head.id
   WHERE entry.ledger_account = 'wallet:' || head.account
  UNION ALL
  SELECT account_number, finance.month_of(transaction_id), 'usage', -wallet FROM ${schema}.charges WHERE wallet <> 0
), moved AS (
  SELECT account, month, sum(amount) FILTER (WHERE kind = 'credit') AS credits,
         sum(amount) FILTER (WHERE kind = 'refund') AS refunds,
         sum(amount) FILTER (WHERE kind = 'chargeback') AS chargebacks,
         sum(amount) FILTER (WHERE kind = 'adjustment') AS adjustments,
         sum(amount) FILTER (WHERE kind = 'usage') AS usage, sum(amount) AS total
    FROM moved_by_number JOIN ${schema}.accounts USING (number) GROUP BY 1, 2
), used_by_number AS (
  SELECT account_number AS number, finance.month_of(id) AS month, count(*) AS calls, sum(charged_nano_usd) AS charged,
         sum(coalesce(plan_nano_usd, 0)) AS plan
    FROM ${schema}.call_records WHERE outcome_code = 2 GROUP BY 1, 2
), used AS (
  SELECT account, month, calls, charged, plan, charged - plan AS wallet
    FROM used_by_number JOIN ${schema}.accounts USING (number)
), both_of AS (
  SELECT account, month, credits, refunds, chargebacks, adjustments, usage, coalesce(total, 0) AS total,
         coalesce(calls, 0) AS calls, charged, plan, wallet,
         sum(coalesce(total, 0)) OVER (PARTITION BY account ORDER BY month) AS closing
    FROM moved FULL JOIN used USING (account, month)
)
SELECT account AS account_id, month, finance.usd(closing - total) AS opening_usd,
       finance.usd(coalesce(credits, 0)) AS credits_usd, finance.usd(coalesce(refunds, 0)) AS refunds_usd,
       finance.usd(coalesce(chargebacks, 0)) AS chargebacks_usd, finance.usd(coalesce(adjustments, 0)) AS adjustments_usd,
       finance.usd(coalesce(usage, 0)) AS usage_usd, finance.usd(closing) AS closing_usd, calls,
       finance.usd(coalesce(charged, 0)) AS charged_usd, finance.usd(coalesce(plan, 0)) AS plan_usd,
       finance.usd(coalesce(wallet, 0)) AS wallet_usd
  FROM both_of;

-- Usage of each key, member and model in a month.
CREATE VIEW finance.statement_lines_v1 AS
WITH used AS (
  SELECT account_number, finance.month_of(id) AS month,
         CASE grouping(key_number, member_number, model_number) WHEN 3 THEN 'key' WHEN 5 THEN 'member' ELSE 'model' END AS line_of,
         coalesce(key_number, member_number, model_number) AS line_number, count(*) AS calls,
         sum(charged_nano_usd) AS charged, sum(coalesce(plan_nano_usd, 0)) AS plan
    FROM ${schema}.call_records WHERE outcome_code = 2
   GROUP BY account_number, finance.month_of(id), GROUPING SETS ((key_number), (member_number), (model_number))
)
SELECT account AS account_id, month, line_of, name AS line_id, calls, finance.usd(charged) AS charged_usd,
       finance.usd(plan) AS plan_usd, finance.usd(charged - plan) AS wallet_usd
  FROM used JOIN ${schema}.accounts ON accounts.number = account_number JOIN ${schema}.names ON names.number = line_number;

-- Sums of all ledger accounts by class. The total is 0.
CREATE VIEW finance.trial_balance_v1 AS
SELECT CASE WHEN ledger_account LIKE 'wallet:%' THEN 'wallet' WHEN ledger_account LIKE 'plan:%' THEN 'plan'
            ELSE ledger_account END AS ledger_account,
       finance.usd(sum(amount_nano_usd)) AS amount_usd
  FROM ${schema}.ledger_entries GROUP BY 1;

-- Privileges of the service

GRANT SELECT ON ledger_state TO ${role};
GRANT SELECT, INSERT (account), UPDATE (version, terms_version, caps_version, closed_at) ON accounts TO ${role};
GRANT SELECT, INSERT (name) ON names TO ${role};
GRANT SELECT, INSERT, UPDATE (value, version) ON balances TO ${role};
GRANT SELECT, INSERT (id, account_number, kind) ON command_transactions TO ${role};
GRANT SELECT, INSERT ON command_entries TO ${role};
GRANT SELECT,
  INSERT (reference, transaction_id, account, kind, amount_nano_usd, balance_nano_usd, reason, relates_to, actor)
  ON wallet_entries TO ${role};
GRANT SELECT, UPDATE (number, link) ON chain_heads TO ${role};
GRANT SELECT, INSERT (chain, number, members) ON chain_blocks TO ${role};
GRANT SELECT ON chain_start TO ${role};
GRANT SELECT, INSERT ON call_records TO ${role};
GRANT SELECT ON usage_record_ranks TO ${role};
GRANT SELECT ON usage_records TO ${role};
GRANT SELECT ON command_heads, usage_heads, correction_heads TO ${role};
GRANT SELECT ON ledger_transactions TO ${role};
GRANT SELECT ON ledger_entries TO ${role};
GRANT SELECT, INSERT ON dead_letters TO ${role};
GRANT SELECT, INSERT (content_hash, actor, outcomes, resolved) ON dead_letter_replays TO ${role};
GRANT SELECT, INSERT, DELETE ON applied_batches TO ${role};
GRANT SELECT, UPDATE ON stream_progress TO ${role};
GRANT SELECT, INSERT, DELETE ON stream_marks TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON shard_holders TO ${role};
GRANT SELECT, INSERT,
  UPDATE (calls, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, plan_nano_usd, wallet_nano_usd,
          wallet_calls, cache_write_1h_tokens)
  ON usage_hours TO ${role};
GRANT SELECT, INSERT, UPDATE (current_version, deleted_at) ON plans TO ${role};
GRANT SELECT, INSERT ON plan_versions TO ${role};
GRANT SELECT, INSERT, UPDATE (plan_id, plan_version, period_end, renews, ended_at, anchor_day)
  ON subscription_periods TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON subscription_timers TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON plan_refreshes TO ${role};
GRANT SELECT, INSERT, UPDATE ON account_limits TO ${role};
GRANT SELECT,
  INSERT (actor, action, account, object_id, before, after, command, client, agent, request_id)
  ON changes TO ${role};
GRANT SELECT, INSERT, UPDATE (cap_nano_usd, version) ON spend_caps TO ${role};
GRANT SELECT, INSERT (account, subject, period, threshold, limit_value, used_value, period_start, period_end)
  ON alerts TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON webhooks TO ${role};
GRANT SELECT, INSERT (event, account), UPDATE (state, attempts, last_attempts, ended_at), DELETE
  ON webhook_deliveries TO ${role};
GRANT SELECT, INSERT, UPDATE (calls, last_ids), DELETE ON refused_calls TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON alert_outbox TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_outbox TO ${role};

REVOKE ALL ON FUNCTION begin_ledger_epoch() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION begin_ledger_epoch() TO ${role};
REVOKE ALL ON FUNCTION create_month_triggers(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION ensure_month(date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_month(date) TO ${role};
REVOKE ALL ON FUNCTION begin_ledger_epoch_after(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION begin_ledger_epoch_after(text, text) TO ${role};
REVOKE ALL ON FUNCTION erase_origins(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_origins(text[]) TO ${role};

-- Privileges of finance

GRANT USAGE ON SCHEMA finance TO ${finance};
GRANT SELECT ON ALL TABLES IN SCHEMA finance TO ${finance};
