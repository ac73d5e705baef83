-- Sessions of operators on the pages, and when an operator's token ends by itself.

-- Null: never. The service sets it when it makes the operator, and never again.
ALTER TABLE operators ADD COLUMN expires_at timestamptz;
GRANT INSERT (expires_at) ON operators TO ${role};

CREATE TABLE operator_sessions (
  -- HMAC-SHA-256 of the cookie's value under the session secret, hexadecimal. The value itself is kept nowhere.
  digest text COLLATE "C" PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
  -- Null: the holder of the deployment's own token, who is no row.
  operator text COLLATE "C" REFERENCES operators,
  -- HMAC-SHA-256 of the deployment's token that it began with, under the pepper: it ends with that token.
  root_digest text COLLATE "C" CHECK (root_digest ~ '^[0-9a-f]{64}$'),
  created_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  CHECK ((operator IS NULL) <> (root_digest IS NULL))
);
CREATE INDEX operator_sessions_operator ON operator_sessions (operator, created_at);
CREATE INDEX operator_sessions_seen_at ON operator_sessions (seen_at);
GRANT SELECT, INSERT, UPDATE (digest, seen_at), DELETE ON operator_sessions TO ${role};
