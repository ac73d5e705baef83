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
  created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
GRANT SELECT, INSERT (account), UPDATE (version, terms_version) ON accounts TO ${role};

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
-- redelivery at midnight meets the row of the first delivery (money and failure, rule 16).

CREATE TABLE ledger_transactions (
  id uuid NOT NULL,
  kind text NOT NULL
    CHECK (kind IN ('usage', 'usage_correction', 'credit', 'refund', 'chargeback', 'adjustment')),
  account text COLLATE "C" NOT NULL,
  request_id uuid,
  corrects uuid,
  posted_at timestamptz NOT NULL DEFAULT now(),
  -- The database transaction that wrote it: entries are taken from no other.
  posted_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX ledger_transactions_account ON ledger_transactions (account, id);
GRANT SELECT, INSERT (id, kind, account, request_id, corrects) ON ledger_transactions TO ${role};

CREATE TABLE ledger_entries (
  transaction_id uuid NOT NULL,
  -- 1, 2, 3, … within the transaction.
  ordinal smallint NOT NULL CHECK (ordinal > 0),
  ledger_account text COLLATE "C" NOT NULL CHECK (
    ledger_account IN ('revenue:wallet', 'revenue:plan', 'funding', 'adjustment', 'cost')
    OR ledger_account ~ '^(wallet:[^:]+|plan:[^:]+:[^:]+|provider-cost:[^:]+)$'
  ),
  amount_nano_usd bigint NOT NULL
    CHECK (amount_nano_usd <> 0 AND amount_nano_usd BETWEEN -9000000000000000 AND 9000000000000000),
  PRIMARY KEY (transaction_id, ordinal)
) PARTITION BY RANGE (transaction_id);
GRANT SELECT, INSERT ON ledger_entries TO ${role};

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

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger_transactions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON wallet_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON ledger_transactions EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON ledger_entries EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON wallet_entries EXECUTE FUNCTION refuse_change();

-- All entries of a ledger transaction come in one statement of the database transaction that wrote its head: their
-- ordinals are 1 to n, so that a second statement meets the first one's primary key.
CREATE FUNCTION check_added_entries() RETURNS trigger LANGUAGE plpgsql SET search_path = ${schema}, pg_temp AS $$
DECLARE
  late uuid;
BEGIN
  SELECT added.transaction_id INTO late
    FROM (SELECT transaction_id, count(*) AS entries, max(ordinal) AS last FROM added_entries GROUP BY 1) added
    LEFT JOIN ledger_transactions head ON head.id = added.transaction_id
   WHERE head.posted_by IS DISTINCT FROM pg_current_xact_id() OR added.entries <> added.last
   LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'entries of ledger transaction % do not come whole and with it', late
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER whole_and_in_time AFTER INSERT ON ledger_entries
  REFERENCING NEW TABLE AS added_entries FOR EACH STATEMENT EXECUTE FUNCTION check_added_entries();

CREATE FUNCTION check_balance() RETURNS trigger LANGUAGE plpgsql SET search_path = ${schema}, pg_temp AS $$
DECLARE
  entries bigint;
  total numeric;
BEGIN
  SELECT count(*), sum(amount_nano_usd) INTO entries, total FROM ledger_entries WHERE transaction_id = NEW.id;
  IF entries < 2 OR total <> 0 THEN
    RAISE EXCEPTION 'ledger transaction % has % entries that sum to %', NEW.id, entries, coalesce(total, 0)
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER balanced AFTER INSERT ON ledger_transactions
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_balance();
