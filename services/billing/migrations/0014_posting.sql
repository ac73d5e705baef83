-- Ledger transactions are posted in one statement, heads and entries together, and checked as one set at its end. What held
-- at the commit holds at the end of the statement now, and nothing can be added later: a whole set of entries begins with
-- ordinal 1, which a head that has entries has already.

CREATE OR REPLACE FUNCTION check_added_entries() RETURNS trigger LANGUAGE plpgsql
  -- A set of thousands against millions: never by reading all of them, whatever was planned for the first set.
  SET search_path = ${schema}, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  wrong record;
BEGIN
  SELECT added.*, head.posted_by IS DISTINCT FROM pg_current_xact_id() OR added.entries <> added.last AS apart INTO wrong
    FROM (SELECT transaction_id, count(*) AS entries, max(ordinal) AS last, sum(amount_nano_usd) AS total
            FROM added_entries GROUP BY 1) added
    LEFT JOIN ledger_transactions head ON head.id = added.transaction_id
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

-- Entries come whole or not at all, so one with ordinal 2 stands for all of them.
CREATE FUNCTION check_added_heads() RETURNS trigger LANGUAGE plpgsql
  SET search_path = ${schema}, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  bare uuid;
BEGIN
  SELECT head.id INTO bare
    FROM added_heads head LEFT JOIN ledger_entries entry ON entry.transaction_id = head.id AND entry.ordinal = 2
   WHERE entry.ordinal IS NULL LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'ledger transaction % has no entries that sum to 0 in the statement of its head', bare
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;

DROP TRIGGER balanced ON ledger_transactions;
DROP FUNCTION check_balance();
CREATE TRIGGER balanced AFTER INSERT ON ledger_transactions
  REFERENCING NEW TABLE AS added_heads FOR EACH STATEMENT EXECUTE FUNCTION check_added_heads();

-- The same names as before, told without a regular expression.
ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_ledger_account_check;
ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_ledger_account_check CHECK (
  CASE split_part(ledger_account, ':', 1)
    WHEN 'wallet' THEN ledger_account LIKE 'wallet:_%' AND ledger_account NOT LIKE 'wallet:%:%'
    WHEN 'revenue' THEN ledger_account IN ('revenue:wallet', 'revenue:plan')
    WHEN 'plan' THEN ledger_account LIKE 'plan:_%:_%' AND ledger_account NOT LIKE 'plan:%:%:%' AND ledger_account NOT LIKE 'plan::%'
    WHEN 'provider-cost' THEN ledger_account LIKE 'provider-cost:_%' AND ledger_account NOT LIKE 'provider-cost:%:%'
    ELSE ledger_account IN ('funding', 'adjustment', 'cost')
  END
);

-- Triggers of a parent do not see who names a partition: the partitions of the ledger have their own.
CREATE FUNCTION guard_month(parent text, part text) RETURNS void LANGUAGE plpgsql SET search_path = ${schema}, pg_temp AS $$
BEGIN
  IF parent = 'ledger_transactions' THEN
    EXECUTE format('CREATE TRIGGER balanced AFTER INSERT ON %I REFERENCING NEW TABLE AS added_heads
                      FOR EACH STATEMENT EXECUTE FUNCTION check_added_heads()', part);
  ELSIF parent = 'ledger_entries' THEN
    EXECUTE format('CREATE TRIGGER whole_and_in_time AFTER INSERT ON %I REFERENCING NEW TABLE AS added_entries
                      FOR EACH STATEMENT EXECUTE FUNCTION check_added_entries()', part);
  END IF;
END $$;
REVOKE ALL ON FUNCTION guard_month(text, text) FROM PUBLIC;

DO $$
DECLARE
  month record;
BEGIN
  FOR month IN SELECT parent.relname AS parent, part.relname AS part
                 FROM pg_inherits JOIN pg_class parent ON parent.oid = inhparent JOIN pg_class part ON part.oid = inhrelid
                WHERE parent.relkind = 'p' AND parent.relnamespace = '${schema}'::regnamespace LOOP
    PERFORM guard_month(month.parent, month.part);
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION ensure_month(month_start date) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
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
    PERFORM guard_month(parent, part);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, part, lower_id, upper_id);
  END LOOP;
  RETURN true;
END $$;
