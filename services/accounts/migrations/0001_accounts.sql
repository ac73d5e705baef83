-- Users, accounts, members and API keys.

-- People who sign in. An address belongs to one user, however it is written.
CREATE TABLE users (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^usr_[0-9a-f]{32}$'),
  email text NOT NULL CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 320),
  email_verified boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (email)
);
GRANT SELECT, INSERT, UPDATE (email_verified) ON users TO ${role};

-- Customers. Versions of accounts, members and keys grow with each change that admission must know.
CREATE TABLE accounts (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^acc_[0-9a-f]{32}$'),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  type text NOT NULL CHECK (type IN ('personal', 'team')),
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'suspended')),
  version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
  created_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT (id, name, type), UPDATE (state, version) ON accounts TO ${role};

-- Users in accounts.
CREATE TABLE members (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^mem_[0-9a-f]{32}$'),
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  user_id text COLLATE "C" NOT NULL REFERENCES users,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  cap_nano_usd bigint CHECK (cap_nano_usd BETWEEN 1 AND 9000000000000000),
  version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (account, user_id),
  -- What a key of this account refers to.
  UNIQUE (account, id)
);
CREATE UNIQUE INDEX members_owner ON members (account) WHERE role = 'owner';
CREATE INDEX members_user ON members (user_id);
GRANT SELECT, INSERT (id, account, user_id, role, cap_nano_usd), UPDATE (role, cap_nano_usd, version)
  ON members TO ${role};

CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^key_[0-9a-f]{32}$'),
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  member text COLLATE "C" NOT NULL,
  kind text NOT NULL DEFAULT 'api' CHECK (kind IN ('api', 'playground')),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  -- HMAC-SHA-256 of the secret under the pepper, hexadecimal. The secret itself is kept nowhere.
  digest text COLLATE "C" NOT NULL UNIQUE CHECK (digest ~ '^[0-9a-f]{64}$'),
  masked_secret text NOT NULL CHECK (length(masked_secret) BETWEEN 1 AND 100),
  -- Expired is not a state that is stored: it follows from `expires_at`.
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'suspended', 'revoked')),
  expires_at timestamptz,
  cap_nano_usd bigint CHECK (cap_nano_usd BETWEEN 1 AND 9000000000000000),
  allowed_models text[] CHECK (cardinality(allowed_models) > 0),
  version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (account, member) REFERENCES members (account, id)
);
CREATE INDEX api_keys_account ON api_keys (account, id);
CREATE UNIQUE INDEX api_keys_playground ON api_keys (account) WHERE kind = 'playground';
GRANT SELECT, INSERT (id, account, member, kind, name, digest, masked_secret, expires_at, cap_nano_usd, allowed_models),
  UPDATE (digest, masked_secret, state, version) ON api_keys TO ${role};

-- Who did what, for ever. Holds neither secrets nor digests.
CREATE TABLE audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
  action text NOT NULL,
  account text COLLATE "C",
  object_id text COLLATE "C" NOT NULL,
  before jsonb,
  after jsonb
);
CREATE INDEX audit_log_account ON audit_log (account, id);
CREATE INDEX audit_log_object ON audit_log (object_id, id);
GRANT SELECT, INSERT (actor, action, account, object_id, before, after) ON audit_log TO ${role};

-- Changes that admission must have before they are answered.
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
