-- What dashboards draw: the use of each hour, and the calls that were refused.

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
  PRIMARY KEY (account, hour_ms, key_id, member_id, model_id)
) WITH (fillfactor = 70);
GRANT SELECT, INSERT,
  UPDATE (calls, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, plan_nano_usd, wallet_nano_usd)
  ON usage_hours TO ${role};

INSERT INTO usage_hours
SELECT account,
       ('x0000' || substr(id::text, 1, 8) || substr(id::text, 10, 4))::bit(64)::bigint / 3600000 * 3600000,
       key_id, member_id, model_id, count(*), coalesce(sum(input_tokens), 0), coalesce(sum(cached_input_tokens), 0),
       coalesce(sum(cache_write_tokens + cache_write_1h_tokens), 0), coalesce(sum(output_tokens), 0),
       sum(plan_nano_usd), sum(wallet_nano_usd)
  FROM usage_records WHERE outcome = 'settled' GROUP BY 1, 2, 3, 4, 5;

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
