-- Members who leave, operators, repeated commands, and when keys were last used.

-- A command makes one object, however often it is sent.
ALTER TABLE accounts ADD COLUMN command uuid, ADD CONSTRAINT accounts_command_key UNIQUE (command);
GRANT INSERT (command) ON accounts TO ${role};

-- A member who left stays as what old keys and the log refer to; the same person can come back as another member.
ALTER TABLE members
  ADD COLUMN command uuid,
  ADD COLUMN deleted_at timestamptz CHECK (deleted_at IS NULL OR role <> 'owner'),
  ADD CONSTRAINT members_command_key UNIQUE (command),
  DROP CONSTRAINT members_account_user_id_key;
CREATE UNIQUE INDEX members_account_user ON members (account, user_id) WHERE deleted_at IS NULL;
GRANT INSERT (command), UPDATE (deleted_at) ON members TO ${role};

-- Room in each page: the last use is written again and again, and stands in no index.
ALTER TABLE api_keys
  ADD COLUMN command uuid,
  ADD COLUMN last_used_at timestamptz,
  ADD CONSTRAINT api_keys_command_key UNIQUE (command),
  SET (fillfactor = 80);
CREATE INDEX api_keys_member ON api_keys (member);
GRANT INSERT (command), UPDATE (last_used_at) ON api_keys TO ${role};

-- Which version of a key a command made. Kept for as long as a command can come again.
CREATE TABLE key_rotations (
  command uuid PRIMARY KEY,
  key text COLLATE "C" NOT NULL REFERENCES api_keys,
  version bigint NOT NULL CHECK (version > 1),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX key_rotations_created_at ON key_rotations (created_at);
GRANT SELECT, INSERT, DELETE ON key_rotations TO ${role};

-- Who may use the operator API. A deleted one stays for the log; its name is free again.
CREATE TABLE operators (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^opr_[0-9a-f]{32}$'),
  name text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$' AND lower(name) <> 'root'),
  role text NOT NULL CHECK (role IN ('admin', 'operator', 'finance', 'readonly')),
  -- HMAC-SHA-256 of the token under the pepper, hexadecimal. The token itself is kept nowhere.
  digest text COLLATE "C" NOT NULL UNIQUE CHECK (digest ~ '^[0-9a-f]{64}$'),
  created_by text NOT NULL CHECK (length(created_by) BETWEEN 1 AND 200),
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  command uuid UNIQUE
);
CREATE UNIQUE INDEX operators_name ON operators (lower(name)) WHERE deleted_at IS NULL;
GRANT SELECT, INSERT (id, name, role, digest, created_by, command), UPDATE (deleted_at) ON operators TO ${role};

-- Requests of the operator API that carry an idempotency key, with what they were answered.
CREATE TABLE idempotency_keys (
  operator text NOT NULL CHECK (length(operator) BETWEEN 1 AND 200),
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  fingerprint text COLLATE "C" NOT NULL CHECK (fingerprint ~ '^[0-9a-f]{64}$'),
  command uuid NOT NULL,
  status smallint CHECK (status BETWEEN 200 AND 499),
  body text CHECK (length(body) <= 200000),
  created_at timestamptz NOT NULL,
  PRIMARY KEY (operator, key),
  CHECK ((status IS NULL) = (body IS NULL))
);
CREATE INDEX idempotency_keys_created_at ON idempotency_keys (created_at);
GRANT SELECT, INSERT, UPDATE (fingerprint, command, status, body, created_at), DELETE ON idempotency_keys TO ${role};
