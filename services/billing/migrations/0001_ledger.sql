-- The ledger: double entry, append-only, checked by the database itself.

-- One row: what tells this ledger from a restored copy of it, and which months it still keeps.
CREATE TABLE ledger_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  incarnation text NOT NULL DEFAULT gen_random_uuid()::text,
  -- Months before it were dropped: an event of theirs is set aside, its partition is not made again.
  first_month date NOT NULL DEFAULT DATE '2020-01-01' CHECK (first_month = date_trunc('month', first_month)::date),
  created_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO ledger_state DEFAULT VALUES;
GRANT SELECT ON ledger_state TO ${role};

-- Customers. The version grows under the row's lock with each change of a standing row or of the terms.
CREATE TABLE accounts (
  account text COLLATE "C" PRIMARY KEY CHECK (length(account) BETWEEN 1 AND 128),
  version bigint NOT NULL DEFAULT 0 CHECK (version >= 0),
  -- The version at which the terms (plan, subscription, limits) last changed.
  terms_version bigint NOT NULL DEFAULT 0 CHECK (terms_version BETWEEN 0 AND version),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Grows with each change of a cap of the account's keys and members: together with terms_version it says which limits
  -- of an account are known already.
  caps_version bigint NOT NULL DEFAULT 0 CHECK (caps_version >= 0),
  -- Final: no credit and no subscription any more. The ledger of the account stays, and late calls still settle.
  closed_at timestamptz,
  -- Stands for the account in the big tables.
  number integer GENERATED ALWAYS AS IDENTITY UNIQUE
) WITH (fillfactor = 70);
GRANT SELECT, INSERT (account), UPDATE (version, terms_version, caps_version, closed_at) ON accounts TO ${role};

-- Texts that many usage records share (keys, members, models, sources, endpoints, versions, periods), each once: records
-- hold its number. Filled in the transaction of the first record that needs it.
CREATE TABLE names (
  number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE
);
GRANT SELECT, INSERT (name) ON names TO ${role};

-- Projections: balances and counters by name (wallet, km:, mm:, w:, al:), written in the transaction of their entries.
CREATE TABLE standing_rows (
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  name text COLLATE "C" NOT NULL CHECK (length(name) BETWEEN 1 AND 300),
  value bigint NOT NULL CHECK (value BETWEEN -9000000000000000 AND 9000000000000000),
  version bigint NOT NULL CHECK (version > 0),
  PRIMARY KEY (account, name)
) WITH (fillfactor = 70);
GRANT SELECT, INSERT, UPDATE (value, version) ON standing_rows TO ${role};

-- Big tables are split by the month of the time inside the UUIDv7 that is their key: never by a clock, so that a
-- redelivery at midnight meets the row of the first delivery (docs/protocol.md#r16).

-- Transactions of commands. Those of calls are derived from their usage records: the views ledger_transactions and
-- ledger_entries unite both.
CREATE TABLE command_transactions (
  id uuid NOT NULL,
  posted_at timestamptz NOT NULL DEFAULT now(),
  -- The database transaction that wrote it: entries are taken from no other.
  posted_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
  account_number integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('credit', 'refund', 'chargeback', 'adjustment')),
  PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX command_transactions_account ON command_transactions (account_number, id);
GRANT SELECT, INSERT (id, account_number, kind) ON command_transactions TO ${role};

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
GRANT SELECT, INSERT ON command_entries TO ${role};

-- What operators and payments put into or take out of a wallet; the reference makes each happen once.
CREATE TABLE wallet_entries (
  reference text PRIMARY KEY CHECK (length(reference) BETWEEN 1 AND 200),
  transaction_id uuid NOT NULL UNIQUE,
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  kind text NOT NULL CHECK (kind IN ('credit', 'refund', 'chargeback', 'adjustment')),
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd <> 0),
  -- The wallet after this entry.
  balance_nano_usd bigint NOT NULL,
  reason text NOT NULL,
  relates_to text,
  actor text NOT NULL,
  posted_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX wallet_entries_account ON wallet_entries (account, transaction_id);
CREATE INDEX wallet_entries_relates_to ON wallet_entries (relates_to) WHERE relates_to IS NOT NULL;
GRANT SELECT,
  INSERT (reference, transaction_id, account, kind, amount_nano_usd, balance_nano_usd, reason, relates_to, actor)
  ON wallet_entries TO ${role};

-- The first lock on history is that no right to change it is granted; this is the second. A superuser who means it
-- says so: SET gateway.ledger_repair = 'on'.
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

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON names FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON command_transactions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON command_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wallet_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON names EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON command_transactions EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON command_entries EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON wallet_entries EXECUTE FUNCTION refuse_change();

-- Transactions of commands are posted in one statement, heads and entries together, and checked as one set at its end. Nothing
-- can be added later: a whole set of entries begins with ordinal 1, which a head that has entries has already.

CREATE FUNCTION check_added_entries() RETURNS trigger LANGUAGE plpgsql
  -- A set of thousands against millions: never by reading all of them, whatever was planned for the first set.
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
    RAISE EXCEPTION 'entries of ledger transaction % do not come whole and with it', wrong.transaction_id
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RAISE EXCEPTION 'ledger transaction % has % entries that sum to %', wrong.transaction_id, wrong.entries, wrong.total
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER whole_and_in_time AFTER INSERT ON command_entries
  REFERENCING NEW TABLE AS added_entries FOR EACH STATEMENT EXECUTE FUNCTION check_added_entries();

-- Entries come whole or not at all, so one with ordinal 2 stands for all of them.
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
CREATE TRIGGER balanced AFTER INSERT ON command_transactions
  REFERENCING NEW TABLE AS added_heads FOR EACH STATEMENT EXECUTE FUNCTION check_added_heads();

-- The hash chain over ledger transactions.

-- One chain for each shard of accounts, so that the workers of different shards never wait for each other. Every database
-- transaction that posts appends one block to each chain that it touches, under the lock of the chain's head.
CREATE TABLE chain_heads (
  chain smallint PRIMARY KEY CHECK (chain >= 0),
  -- Blocks so far.
  number bigint NOT NULL DEFAULT 0 CHECK (number >= 0),
  -- The link of the last transaction of the last block.
  link bytea NOT NULL CHECK (length(link) = 32)
) WITH (fillfactor = 10);
-- As many as there are shards (contracts). The first link is of the chain's own name.
INSERT INTO chain_heads (chain, link)
  SELECT chain, sha256(convert_to('chain ' || chain, 'UTF8')) FROM generate_series(0, 3) AS chain;
GRANT SELECT, UPDATE (number, link) ON chain_heads TO ${role};

CREATE TABLE chain_blocks (
  chain smallint NOT NULL CHECK (chain >= 0),
  -- 1, 2, 3, … within the chain.
  number bigint NOT NULL CHECK (number > 0),
  -- 48 bytes for each ledger transaction, in the order of the chain: its id and its link.
  members bytea NOT NULL CHECK (length(members) > 0 AND length(members) % 48 = 0),
  posted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (chain, number)
);
-- Hashes do not compress.
ALTER TABLE chain_blocks ALTER COLUMN members SET STORAGE EXTERNAL;
GRANT SELECT, INSERT (chain, number, members) ON chain_blocks TO ${role};
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON chain_blocks FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON chain_blocks EXECUTE FUNCTION refuse_change();

-- A block is the next one of its chain: a second writer of a number meets the primary key, a gap meets this.
CREATE FUNCTION check_next_block() RETURNS trigger LANGUAGE plpgsql SET search_path = ${schema}, pg_temp AS $$
BEGIN
  IF NEW.number > 1 AND NOT EXISTS (SELECT FROM chain_blocks WHERE chain = NEW.chain AND number = NEW.number - 1) THEN
    RAISE EXCEPTION 'block % of chain % does not follow a block', NEW.number, NEW.chain
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER next_block BEFORE INSERT ON chain_blocks FOR EACH ROW EXECUTE FUNCTION check_next_block();

-- One row: ledger transactions that were posted before there were chains stand in none of them.
CREATE TABLE chain_start (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  earlier_transactions bigint NOT NULL
);
INSERT INTO chain_start (earlier_transactions) VALUES (0);
GRANT SELECT ON chain_start TO ${role};

-- For the command that declares a copy of the ledger, restored from a backup, to be the ledger (docs/protocol.md#r17): the only
-- right to change this row.
CREATE FUNCTION begin_incarnation() RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = ${schema}, pg_temp
  AS $$ UPDATE ledger_state SET incarnation = gen_random_uuid()::text RETURNING incarnation $$;
REVOKE ALL ON FUNCTION begin_incarnation() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION begin_incarnation() TO ${role};

-- Usage: one record per request id, and how far the stream is settled.

-- The 48 bits of milliseconds inside an id.
CREATE FUNCTION id_ms(id uuid) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
  RETURN ('x0000' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(64)::bigint;
-- The id of the correction of a call: its own with one bit turned.
CREATE FUNCTION correction_id(id uuid) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT
  RETURN overlay(id::text PLACING translate(substr(id::text, 20, 1), '89ab', '98ba') FROM 20 FOR 1)::uuid;
-- What the attempts of a call cost us together; null while that of none is known.
CREATE FUNCTION attempts_cost(attempts jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT
  RETURN (SELECT sum((attempt ->> 'costNanoUsd')::bigint)::bigint FROM jsonb_array_elements(attempts) AS attempt);

-- Inbox, record and ledger transaction in one: (id, rank, content_hash) decides what a delivery means, and the entries of
-- the charge follow from the amounts (docs/decisions/0086). A record of a higher rank is a row beside the old one. Columns
-- stand in the order of their widths, and what is mostly absent is null: a row of a plain call has no gaps.
CREATE TABLE call_records (
  recorded_at timestamptz NOT NULL DEFAULT now(),
  -- The plan pays its part, the wallet the rest.
  charged_nano_usd bigint NOT NULL CHECK (charged_nano_usd BETWEEN 0 AND 9000000000000000),
  -- What admission fixed: the funding, and the periods and rows that the call counts in.
  worst_nano_usd bigint NOT NULL,
  -- Null: 0.
  plan_nano_usd bigint CHECK (plan_nano_usd BETWEEN 1 AND charged_nano_usd),
  -- What the providers charge for all attempts; null while it is unknown.
  cost_nano_usd bigint CHECK (cost_nano_usd BETWEEN 0 AND 9000000000000000),
  -- What the record of the lower rank says, if it has a cost.
  corrected_cost_nano_usd bigint CHECK (corrected_cost_nano_usd > 0),
  -- Null: 0.
  plan_max_nano_usd bigint,
  -- Null: wallet-funded, without bound.
  wallet_max_nano_usd bigint,
  id uuid NOT NULL,
  account_number integer NOT NULL,
  key_number integer NOT NULL,
  member_number integer NOT NULL,
  model_number integer NOT NULL,
  -- Milliseconds after the time inside the id, or before it.
  admitted_ms integer,
  started_ms integer,
  -- Milliseconds after the start.
  ended_ms integer,
  first_byte_ms integer,
  source_number integer,
  endpoint_number integer,
  price_version_number integer,
  -- Null: no usage is known. Of the others null is 0.
  input_tokens integer,
  output_tokens integer,
  cached_input_tokens integer,
  cache_write_tokens integer,
  cache_write_1h_tokens integer,
  -- Of the only attempt: provider and cost version. Its source, status, usage and cost are the record's.
  attempt_provider_number integer,
  attempt_version_number integer,
  subscription_number integer,
  -- Milliseconds after the time inside the id, or before it.
  session_ms integer,
  week_ms integer,
  -- Windows that the call counts in, three bits each, the first one lowest: 1 to 6 for session_5h, weekly, monthly by usd
  -- and by requests.
  window_codes integer,
  rank smallint NOT NULL CHECK (rank IN (1, 2)),
  -- 1 expired, 2 settled, 3 voided.
  outcome_code smallint NOT NULL CHECK (outcome_code BETWEEN 1 AND 3),
  -- 2 estimated, 3 none; null: reported.
  evidence_code smallint CHECK (evidence_code BETWEEN 2 AND 3),
  status smallint,
  -- 1 completed, 2 rejected, 3 unreachable, 4 timed_out, 5 broken, 6 abandoned; null: no attempt, or several.
  attempt_outcome_code smallint CHECK (attempt_outcome_code BETWEEN 1 AND 6),
  -- 1 usd, 2 requests.
  allotment_code smallint CHECK (allotment_code BETWEEN 1 AND 2),
  streamed boolean NOT NULL,
  -- A record of rank 1 was there before: the transaction is a correction.
  corrects boolean NOT NULL,
  attempt_possibly_paid boolean,
  -- The first half of the SHA-256.
  content_hash bytea NOT NULL CHECK (length(content_hash) = 16),
  -- Null: that of the id.
  month text,
  -- Times and counts of tokens of which one does not fit its column: all of them, times in epoch milliseconds (admitted,
  -- started, first byte, ended, session, week, input, cached input, cache write, cache write 1h, output).
  exact bigint[] CHECK (cardinality(exact) = 11),
  -- Several attempts, or one that is not like its record.
  attempts jsonb,
  CHECK (exact IS NOT NULL OR num_nulls(admitted_ms, started_ms, ended_ms) = 0),
  CHECK (outcome_code = 2 OR charged_nano_usd = 0),
  CHECK ((outcome_code = 1) = (rank = 1)),
  CHECK (rank = 2 OR NOT corrects),
  CHECK (corrects OR corrected_cost_nano_usd IS NULL),
  CHECK (plan_nano_usd IS NULL OR subscription_number IS NOT NULL),
  -- What a call has cost is what its attempts have cost.
  CHECK (attempts IS NULL OR attempt_outcome_code IS NULL AND cost_nano_usd IS NOT DISTINCT FROM attempts_cost(attempts)),
  CHECK (attempts IS NOT NULL OR cost_nano_usd IS NULL OR attempt_provider_number IS NOT NULL),
  PRIMARY KEY (id, rank)
) PARTITION BY RANGE (id);
CREATE INDEX call_records_account ON call_records (account_number, id);
-- So few that no settled call has an entry in them, nor a charge that corrects nothing, nor a call with one attempt.
CREATE INDEX call_records_unsettled ON call_records (account_number, outcome_code, id) WHERE outcome_code <> 2;
CREATE INDEX call_records_correction ON call_records (correction_id(id)) WHERE corrects;
CREATE INDEX call_records_account_correction ON call_records (account_number, correction_id(id)) WHERE corrects;
CREATE INDEX call_records_attempts ON call_records (id) WHERE attempts IS NOT NULL;
GRANT SELECT, INSERT ON call_records TO ${role};
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON call_records FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON call_records EXECUTE FUNCTION refuse_change();

-- Of two ranks of one call the higher one corrects the lower one, of the same account; nothing else corrects.
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
CREATE TRIGGER ranked AFTER INSERT ON call_records
  REFERENCING NEW TABLE AS added_records FOR EACH STATEMENT EXECUTE FUNCTION check_added_records();

-- Every rank of every call. Numbers and codes come last, for conditions that indexes are to find.
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
       record.account_number, record.key_number, record.member_number, record.model_number, record.outcome_code
  FROM call_records record LEFT JOIN accounts ON accounts.number = record.account_number;
GRANT SELECT ON usage_record_ranks TO ${role};

-- The record of each call: its highest rank. A lower one is looked for only beside a rank that may have a higher one.
CREATE VIEW usage_records AS
SELECT * FROM usage_record_ranks record
 WHERE rank = 2 OR (SELECT true FROM call_records higher WHERE higher.id = record.id AND higher.rank = 2) IS NULL;
GRANT SELECT ON usage_records TO ${role};

-- What a correction owes each provider beyond what the lower rank has cost, in the form of attempts; an empty list:
-- nothing. Apart from the views, because so few corrections need it.
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

-- What records of the higher rank add to those of the lower rank, which charge nothing and rarely have a cost.
CREATE VIEW corrections AS
SELECT id, correction_id(id) AS transaction_id, recorded_at, account_number,
       charged_nano_usd - coalesce(plan_nano_usd, 0) AS wallet, coalesce(plan_nano_usd, 0) AS plan,
       coalesce(cost_nano_usd, 0) - coalesce(corrected_cost_nano_usd, 0) AS cost,
       attempt_provider_number, subscription_number, corrected_cost_nano_usd,
       CASE WHEN corrected_cost_nano_usd IS NOT NULL THEN correction_costs(id) ELSE attempts END AS attempts
  FROM call_records WHERE corrects;

-- The parts of the ledger, each with an index for the order of its ids: transactions of commands, charges of calls, and
-- charges that correct. Of a record that charges nothing and costs nothing there is no transaction.
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
GRANT SELECT ON command_heads, usage_heads, correction_heads TO ${role};

-- All ledger transactions, and their entries: those of commands as they are stored, those of calls as their records say.
CREATE VIEW ledger_transactions AS
SELECT * FROM command_heads UNION ALL SELECT * FROM usage_heads UNION ALL SELECT * FROM correction_heads;
GRANT SELECT ON ledger_transactions TO ${role};

-- What charges of calls move.
CREATE VIEW charges AS
SELECT id AS transaction_id, account_number, charged_nano_usd - coalesce(plan_nano_usd, 0) AS wallet,
       coalesce(plan_nano_usd, 0) AS plan, coalesce(cost_nano_usd, 0) AS cost, attempt_provider_number,
       subscription_number, attempts
  FROM call_records WHERE NOT corrects AND (charged_nano_usd <> 0 OR cost_nano_usd <> 0)
UNION ALL
SELECT transaction_id, account_number, wallet, plan, cost, attempt_provider_number, subscription_number, attempts
  FROM corrections;

-- Signs: what we owe or have earned is positive, what we own or have spent negative. The wallet pays what the plan does
-- not; of several attempts each provider is owed what its own have cost, in the order of their first.
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
GRANT SELECT ON ledger_entries TO ${role};

-- Nothing is written through the views.
CREATE FUNCTION refuse_derived() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: it is append-only, and a view', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER append_only INSTEAD OF UPDATE OR DELETE ON usage_records FOR EACH ROW EXECUTE FUNCTION refuse_derived();
CREATE TRIGGER append_only INSTEAD OF UPDATE OR DELETE ON ledger_transactions
  FOR EACH ROW EXECUTE FUNCTION refuse_derived();
CREATE TRIGGER append_only INSTEAD OF UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse_derived();

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

-- When an event that was set aside was tried again, and what became of it.
CREATE TABLE set_aside_replays (
  content_hash bytea NOT NULL REFERENCES set_aside_events,
  replayed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
  -- One for each event of it.
  outcomes text[] NOT NULL,
  -- Nothing of it is set aside any more.
  resolved boolean NOT NULL,
  PRIMARY KEY (content_hash, replayed_at)
);
GRANT SELECT, INSERT (content_hash, actor, outcomes, resolved) ON set_aside_replays TO ${role};
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON set_aside_replays FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON set_aside_replays EXECUTE FUNCTION refuse_change();

-- Stream messages whose events are settled, above the floor: a row for each batch, which may come again in other batches.
-- Rows with no message above the floor are deleted. Each message has its time, so that those of a stream that was lost and
-- made anew are not taken for those of the old one.
CREATE TABLE applied_batches (
  first_sequence bigint NOT NULL CHECK (first_sequence > 0),
  last_sequence bigint NOT NULL CHECK (last_sequence >= first_sequence),
  -- The latest of the times.
  last_stored_at timestamptz NOT NULL,
  sequences bigint[] NOT NULL,
  stored_at timestamptz[] NOT NULL,
  CHECK (cardinality(sequences) > 0 AND cardinality(sequences) = cardinality(stored_at))
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
-- A row is written once and read for a moment: it stays in its page.
ALTER TABLE applied_batches ALTER COLUMN sequences SET STORAGE PLAIN, ALTER COLUMN stored_at SET STORAGE PLAIN;
CREATE INDEX applied_batches_first ON applied_batches (first_sequence);
GRANT SELECT, INSERT, DELETE ON applied_batches TO ${role};

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

-- Who works on a shard, and when it last said so: a holder that hangs loses its session, and so the shard's lock.
CREATE TABLE shard_holders (
  shard smallint PRIMARY KEY CHECK (shard >= 0),
  backend_pid integer NOT NULL,
  backend_started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 10);
GRANT SELECT, INSERT, UPDATE, DELETE ON shard_holders TO ${role};

-- Sums of the settled records by the hour (UTC) inside their ids, written in the transaction of the records. A record counts
-- once and for ever: only records that are not settled give way to others.
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
  -- Of both kinds.
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  plan_nano_usd bigint NOT NULL CHECK (plan_nano_usd >= 0),
  wallet_nano_usd bigint NOT NULL CHECK (wallet_nano_usd >= 0),
  -- Of the calls, those whose wallet paid: what a statement counts as transactions. An hour is to be believed only where
  -- as many were counted as there are: billing of a release before adds calls and counts none of them.
  wallet_calls bigint NOT NULL DEFAULT 0,
  counted_calls bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account, hour_ms, key_id, member_id, model_id)
) WITH (fillfactor = 70);
GRANT SELECT, INSERT,
  UPDATE (calls, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, plan_nano_usd, wallet_nano_usd,
          wallet_calls, counted_calls)
  ON usage_hours TO ${role};

-- Partitions are made ahead by the service through this function; it has no right of its own to make tables.
CREATE FUNCTION uuid_floor(epoch_ms bigint) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT
  RETURN (lpad(to_hex(epoch_ms), 12, '0') || repeat('0', 20))::uuid;

-- Triggers of a parent do not see who names a partition: the partitions of the ledger have their own.
CREATE FUNCTION guard_month(parent text, part text) RETURNS void LANGUAGE plpgsql SET search_path = ${schema}, pg_temp AS $$
BEGIN
  IF parent = 'command_transactions' THEN
    EXECUTE format('CREATE TRIGGER balanced AFTER INSERT ON %I REFERENCING NEW TABLE AS added_heads
                      FOR EACH STATEMENT EXECUTE FUNCTION check_added_heads()', part);
  ELSIF parent = 'command_entries' THEN
    EXECUTE format('CREATE TRIGGER whole_and_in_time AFTER INSERT ON %I REFERENCING NEW TABLE AS added_entries
                      FOR EACH STATEMENT EXECUTE FUNCTION check_added_entries()', part);
  ELSE
    EXECUTE format('CREATE TRIGGER ranked AFTER INSERT ON %I REFERENCING NEW TABLE AS added_records
                      FOR EACH STATEMENT EXECUTE FUNCTION check_added_records()', part);
  END IF;
END $$;
REVOKE ALL ON FUNCTION guard_month(text, text) FROM PUBLIC;

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
  FOREACH parent IN ARRAY ARRAY['command_transactions', 'command_entries', 'call_records'] LOOP
    part := parent || '_' || to_char(month_start, 'YYYY_MM');
    CONTINUE WHEN EXISTS (
      SELECT FROM pg_catalog.pg_class WHERE relname = part AND relnamespace = '${schema}'::regnamespace
    );
    -- Made apart and attached: making it as a partition at once would lock out every reader of the parent.
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part, parent);
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON %I EXECUTE FUNCTION refuse_change()', part);
    PERFORM guard_month(parent, part);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, part, lower_id, upper_id);
  END LOOP;
  RETURN true;
END $$;
REVOKE ALL ON FUNCTION ensure_month(date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_month(date) TO ${role};

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
  -- The day of the month on which a period of whole months begins and ends; in shorter months their last day. A renewal
  -- has that of the period it was made of. Null: what start and end show.
  anchor_day smallint CHECK (anchor_day BETWEEN 1 AND 31),
  -- The period that this one was made of, because that one renews.
  renewal_of text COLLATE "C" REFERENCES subscription_periods,
  FOREIGN KEY (plan_id, plan_version) REFERENCES plan_versions (plan_id, version)
);
CREATE INDEX subscription_periods_account ON subscription_periods (account, period_start);
-- Makes a renewal happen once, whoever writes it.
CREATE UNIQUE INDEX subscription_periods_start ON subscription_periods (account, period_start) WHERE ended_at IS NULL;
CREATE INDEX subscription_periods_plan ON subscription_periods (plan_id, period_end) WHERE ended_at IS NULL;
CREATE INDEX subscription_periods_plan_start ON subscription_periods (plan_id, period_start, account) WHERE ended_at IS NULL;
GRANT SELECT, INSERT, UPDATE (plan_id, plan_version, period_end, renews, ended_at, anchor_day)
  ON subscription_periods TO ${role};

-- When an account's terms change by themselves, or its subscription is to be renewed: one row for each account that waits
-- for something.
CREATE TABLE subscription_timers (
  account text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  due_at timestamptz NOT NULL,
  -- The period that admission was told of last; null: none.
  told_period text COLLATE "C",
  -- The period that follows, as admission was told of it last, so that it goes from one to the next by its own time;
  -- null: none.
  told_next text COLLATE "C"
);
CREATE INDEX subscription_timers_due_at ON subscription_timers (due_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON subscription_timers TO ${role};

-- Plans with a new version: the periods to come are told anew, in the order of their start and account.
CREATE TABLE plan_refreshes (
  plan_id text COLLATE "C" PRIMARY KEY,
  -- The last one that was gone through.
  after_start timestamptz NOT NULL,
  after_account text COLLATE "C" NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON plan_refreshes TO ${role};

-- Limits of one account that stand in place of its plan's or the defaults; null: not overridden.
CREATE TABLE account_limits (
  account text COLLATE "C" PRIMARY KEY REFERENCES accounts,
  requests_per_minute integer CHECK (requests_per_minute > 0),
  concurrency integer CHECK (concurrency > 0),
  active_keys_max integer CHECK (active_keys_max > 0),
  changed_by text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE ON account_limits TO ${role};

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
  -- The signing secret, sealed to billing's public key; context webhook:<account>.
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

-- How often admission refused what, as its replicas tell now and then: for people to look at, nothing is decided by it.
CREATE TABLE refused_calls (
  account text COLLATE "C" NOT NULL,
  -- Start of the minute, epoch milliseconds.
  minute_ms bigint NOT NULL CHECK (minute_ms % 60000 = 0),
  code text COLLATE "C" NOT NULL CHECK (length(code) BETWEEN 1 AND 64),
  -- Empty: of no key that is known.
  key_id text COLLATE "C" NOT NULL,
  calls bigint NOT NULL CHECK (calls > 0),
  -- Of the newest ones, the newest last.
  last_ids uuid[] NOT NULL CHECK (cardinality(last_ids) <= 5),
  PRIMARY KEY (account, minute_ms, code, key_id)
) WITH (fillfactor = 70);
CREATE INDEX refused_calls_minute ON refused_calls (minute_ms);
GRANT SELECT, INSERT, UPDATE (calls, last_ids), DELETE ON refused_calls TO ${role};

-- Messages to admission that must arrive (docs/protocol.md#r10).
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

-- What finance reads: views with a version in their name. A view is never changed in what it says; a new form is a new
-- view beside it. Views read with the rights of their owner, so no table has to be granted.
CREATE SCHEMA finance;
GRANT USAGE ON SCHEMA finance TO ${finance};

-- The time inside an id: calls and wallet entries belong to the month of their ids, whenever they were posted.
CREATE FUNCTION finance.time_of(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT
  RETURN timestamptz 'epoch'
    + ('x0000' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(64)::bigint * interval '1 millisecond';
CREATE FUNCTION finance.month_of(id uuid) RETURNS text LANGUAGE sql STABLE STRICT
  RETURN to_char(finance.time_of(id) AT TIME ZONE 'UTC', 'YYYY-MM');
-- Exact: a division would round.
CREATE FUNCTION finance.usd(nano numeric) RETURNS numeric LANGUAGE sql IMMUTABLE STRICT
  RETURN (nano * 0.000000001)::numeric(28, 9);

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
       recorded_at
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
  FROM ${schema}.standing_rows wallet JOIN ${schema}.accounts account ON account.account = wallet.account
 WHERE wallet.name = 'wallet';

-- One row for each account and month in which something moved; opening and movements give closing.
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

-- What each key, member and model used in a month.
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

-- All ledger accounts by class; their sum is zero.
CREATE VIEW finance.trial_balance_v1 AS
SELECT CASE WHEN ledger_account LIKE 'wallet:%' THEN 'wallet' WHEN ledger_account LIKE 'plan:%' THEN 'plan'
            ELSE ledger_account END AS ledger_account,
       finance.usd(sum(amount_nano_usd)) AS amount_usd
  FROM ${schema}.ledger_entries GROUP BY 1;

GRANT SELECT ON ALL TABLES IN SCHEMA finance TO ${finance};
