-- The hash chain over ledger transactions, and what keeps a ledger whole when a process hangs or a copy is restored.

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
INSERT INTO chain_start (earlier_transactions) SELECT count(*) FROM ledger_transactions;
GRANT SELECT ON chain_start TO ${role};

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

-- Who works on a shard, and when it last said so: a holder that hangs loses its session, and so the shard's lock.
CREATE TABLE shard_holders (
  shard smallint PRIMARY KEY CHECK (shard >= 0),
  backend_pid integer NOT NULL,
  backend_started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 10);
GRANT SELECT, INSERT, UPDATE, DELETE ON shard_holders TO ${role};

-- For the command that declares a copy of the ledger, restored from a backup, to be the ledger (rule 17): the only
-- right to change this row.
CREATE FUNCTION begin_incarnation() RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = ${schema}, pg_temp
  AS $$ UPDATE ledger_state SET incarnation = gen_random_uuid()::text RETURNING incarnation $$;
REVOKE ALL ON FUNCTION begin_incarnation() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION begin_incarnation() TO ${role};
