-- Schema of accounts: users, accounts, members, API keys, operators and the audit log.

-- Tables

-- People who sign in. Email addresses are stored in lower case and are unique.
CREATE TABLE users (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^usr_[0-9a-f]{32}$'),
  email text NOT NULL CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 320),
  email_verified boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- PHC string of a scrypt hash. Null: no password is set, for example after an invitation.
  password_hash text CHECK (length(password_hash) <= 300 AND password_hash LIKE '$scrypt$%'),
  -- Time of the sign-up. Null: another person created the user, or the sign-up is kept.
  signed_up_at timestamptz,
  UNIQUE (email),
  -- A password can only be set through the link in the email that verifies the address.
  CONSTRAINT users_password_verified CHECK (email_verified OR password_hash IS NULL)
);
CREATE INDEX users_signed_up ON users (signed_up_at) WHERE signed_up_at IS NOT NULL AND NOT email_verified;

-- Customers. The versions of accounts, members and keys increase with each change that admission
-- must know.
CREATE TABLE accounts (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^acc_[0-9a-f]{32}$'),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  type text NOT NULL CHECK (type IN ('personal', 'team')),
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'suspended', 'closed')),
  version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- A command creates one object, even if it is sent several times.
  command uuid UNIQUE
);

-- Users in accounts. The row of a member who left stays, because old keys and the audit log refer
-- to it. The same person can return as another member.
CREATE TABLE members (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^mem_[0-9a-f]{32}$'),
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  user_id text COLLATE "C" NOT NULL REFERENCES users,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  cap_nano_usd bigint CHECK (cap_nano_usd BETWEEN 1 AND 9000000000000000),
  version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  command uuid UNIQUE,
  deleted_at timestamptz CHECK (deleted_at IS NULL OR role <> 'owner'),
  -- Target of the foreign key of api_keys.
  UNIQUE (account, id)
);
CREATE UNIQUE INDEX members_account_user ON members (account, user_id) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX members_owner ON members (account) WHERE role = 'owner';
CREATE INDEX members_user ON members (user_id);

-- The fill factor leaves space for updates of last_used_at, which no index contains.
CREATE TABLE api_keys (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^key_[0-9a-f]{32}$'),
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  member text COLLATE "C" NOT NULL,
  kind text NOT NULL DEFAULT 'api' CHECK (kind IN ('api', 'playground')),
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  -- HMAC-SHA-256 of the secret under the pepper, hexadecimal. The secret is not stored.
  digest text COLLATE "C" NOT NULL UNIQUE CHECK (digest ~ '^[0-9a-f]{64}$'),
  masked_secret text NOT NULL CHECK (length(masked_secret) BETWEEN 1 AND 100),
  -- Expiry is not stored as a state: it follows from `expires_at`.
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'suspended', 'revoked')),
  expires_at timestamptz,
  cap_nano_usd bigint CHECK (cap_nano_usd BETWEEN 1 AND 9000000000000000),
  allowed_models text[] CHECK (cardinality(allowed_models) > 0),
  version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  command uuid UNIQUE,
  last_used_at timestamptz,
  FOREIGN KEY (account, member) REFERENCES members (account, id)
) WITH (fillfactor = 80);
CREATE INDEX api_keys_account ON api_keys (account, id);
CREATE INDEX api_keys_member ON api_keys (member);
-- Each member has one playground key, so that the member's cap applies to the playground.
CREATE UNIQUE INDEX api_keys_playground_member ON api_keys (member) WHERE kind = 'playground';

-- The key version that each rotation command created. Rows are kept as long as a command can be
-- repeated.
CREATE TABLE key_rotations (
  command uuid PRIMARY KEY,
  key text COLLATE "C" NOT NULL REFERENCES api_keys,
  version bigint NOT NULL CHECK (version > 1),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX key_rotations_created_at ON key_rotations (created_at);

CREATE TABLE sessions (
  -- HMAC-SHA-256 of the cookie's value under the session secret, hexadecimal. The value is not
  -- stored.
  digest text COLLATE "C" PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
  user_id text COLLATE "C" NOT NULL REFERENCES users,
  created_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id, created_at);
CREATE INDEX sessions_seen_at ON sessions (seen_at);

CREATE TABLE mail_tokens (
  -- SHA-256 of a token, hexadecimal. Only the email contains the token.
  digest text COLLATE "C" PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
  user_id text COLLATE "C" NOT NULL REFERENCES users,
  kind text NOT NULL CHECK (kind IN ('verify', 'reset', 'invitation')),
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX mail_tokens_user ON mail_tokens (user_id, kind, created_at);
CREATE INDEX mail_tokens_expires_at ON mail_tokens (expires_at);

-- Attempts per kind and slot. Subjects are hashed into a fixed number of slots: the table cannot be
-- filled by a client, and it contains no addresses or clients.
CREATE TABLE attempts (
  kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 40),
  slot integer NOT NULL CHECK (slot BETWEEN 0 AND 262143),
  attempts integer NOT NULL CHECK (attempts >= 0),
  began_at timestamptz NOT NULL,
  PRIMARY KEY (kind, slot)
) WITH (fillfactor = 80);
CREATE INDEX attempts_began_at ON attempts (began_at);

-- The salt of attempt_slot. Without a secret salt, a client could compute an address that shares
-- the slot of another address.
CREATE TABLE attempt_salt (
  -- The table has one row.
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  salt bytea NOT NULL CHECK (octet_length(salt) = 32)
);
-- 244 random bits; a UUID has 122.
INSERT INTO attempt_salt (salt)
  VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- Users of the operator API. The row of a deleted operator stays for the audit log; its name can be
-- used again.
CREATE TABLE operators (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^opr_[0-9a-f]{32}$'),
  name text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$' AND lower(name) <> 'root'),
  role text NOT NULL CHECK (role IN ('admin', 'operator', 'finance', 'readonly')),
  -- HMAC-SHA-256 of the token under the pepper, hexadecimal. The token is not stored.
  digest text COLLATE "C" NOT NULL UNIQUE CHECK (digest ~ '^[0-9a-f]{64}$'),
  created_by text NOT NULL CHECK (length(created_by) BETWEEN 1 AND 200),
  created_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  command uuid UNIQUE,
  -- Null: never. Set when the operator is created, and not changed later.
  expires_at timestamptz
);
CREATE UNIQUE INDEX operators_name ON operators (lower(name)) WHERE deleted_at IS NULL;

CREATE TABLE operator_sessions (
  -- HMAC-SHA-256 of the cookie's value under the session secret, hexadecimal. The value is not
  -- stored.
  digest text COLLATE "C" PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
  -- Null: a session of the deployment's own token, which has no row in operators.
  operator text COLLATE "C" REFERENCES operators,
  -- HMAC-SHA-256 under the pepper of the deployment's token that started the session. The session
  -- ends when that token is replaced.
  root_digest text COLLATE "C" CHECK (root_digest ~ '^[0-9a-f]{64}$'),
  created_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL,
  CHECK ((operator IS NULL) <> (root_digest IS NULL))
);
CREATE INDEX operator_sessions_operator ON operator_sessions (operator, created_at);
CREATE INDEX operator_sessions_seen_at ON operator_sessions (seen_at);

-- Requests of the operator API with an idempotency key, and their responses.
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

-- Audit log: changes, sign-ins and reads of files, kept indefinitely, and refused attempts, kept
-- for 90 days. Contains no secrets and no digests. Personal fields can be erased from an entry;
-- actor, action and time stay.
CREATE TABLE audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL CHECK (length(actor) BETWEEN 1 AND 200),
  action text NOT NULL,
  account text COLLATE "C",
  object_id text COLLATE "C" NOT NULL,
  before jsonb,
  after jsonb,
  erased_at timestamptz,
  erased_fields text[],
  -- `change`; `access`: a sign-in, a sign-out or a read of a file; `refused`: the number of refused
  -- attempts in a minute.
  kind text NOT NULL DEFAULT 'change' CHECK (kind IN ('change', 'access', 'refused')),
  -- Network of the client: an IPv4 address, or the /64 of an IPv6 address.
  client text CHECK (length(client) BETWEEN 1 AND 64),
  agent text CHECK (length(agent) BETWEEN 1 AND 200),
  request_id text COLLATE "C" CHECK (length(request_id) BETWEEN 1 AND 64),
  CHECK ((erased_at IS NULL) = (erased_fields IS NULL))
);
CREATE INDEX audit_log_account ON audit_log (account, id);
CREATE INDEX audit_log_object ON audit_log (object_id, id);
CREATE INDEX audit_log_kind ON audit_log (kind, id) WHERE kind <> 'change';
-- For the functions that erase the networks and user agents of a person.
CREATE INDEX audit_log_origin ON audit_log (actor) WHERE client IS NOT NULL OR agent IS NOT NULL;

-- Changes that admission must receive before the API responds.
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

-- Alerts received from billing. Each is emailed once, even if billing sends it several times.
CREATE TABLE emailed_alerts (
  alert text COLLATE "C" PRIMARY KEY CHECK (length(alert) BETWEEN 1 AND 128),
  account text COLLATE "C" NOT NULL REFERENCES accounts,
  received_at timestamptz NOT NULL DEFAULT now()
);

-- Emails that wait for delivery, one row per recipient. A row contains the member's ID: address and
-- names are read when the email is sent.
CREATE TABLE mail_outbox (LIKE outbox INCLUDING ALL)
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Spend caps that wait for delivery to billing. A separate outbox, so that changes for admission do
-- not wait while billing is unavailable.
CREATE TABLE billing_outbox (LIKE outbox INCLUDING ALL)
  WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Functions

-- Returns one of 2^18 slots. The service has no privilege to read the salt. A length-extension
-- attack needs the whole digest, and only 18 bits of it are used. No kind contains a colon.
CREATE FUNCTION attempt_slot(kind text, subject text) RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
  SELECT (get_byte(digest, 0) << 10) | (get_byte(digest, 1) << 2) | (get_byte(digest, 2) >> 6)
    FROM attempt_salt, sha256(salt || convert_to(kind || ':' || subject, 'UTF8')) AS digest
$$;

-- Deletes at most `rows_max` entries for refused attempts that are older than 90 days, and returns
-- their number.
CREATE FUNCTION delete_refused_attempts(rows_max integer) RETURNS integer LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
  WITH gone AS (
    DELETE FROM audit_log WHERE id IN (
      SELECT id FROM (SELECT id, at FROM audit_log WHERE kind = 'refused' ORDER BY id LIMIT rows_max) AS oldest
       WHERE at < now() - interval '90 days')
    RETURNING 1)
  SELECT count(*)::integer FROM gone
$$;

-- Replaces the values of `fields` in a view by `replacement`.
CREATE FUNCTION erase_fields(view jsonb, fields text[], replacement text) RETURNS jsonb LANGUAGE sql IMMUTABLE
  RETURN view || coalesce(
    (SELECT jsonb_object_agg(key, to_jsonb(replacement)) FROM jsonb_each(view) WHERE key = ANY (fields) AND value <> 'null'), '{}');

-- Erases names and addresses of a closed account, in the transaction that closes it. The networks
-- and user agents of people who lose their address go too: in log entries about the person and in
-- entries of the person's own actions. The service has no other privilege to change names,
-- addresses or the log. Returns the number of log entries from which names or addresses were
-- erased.
CREATE FUNCTION erase_closed_account(closed text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
DECLARE
  replacement CONSTANT text := 'erased';
  fields CONSTANT text[] := ARRAY['name', 'email'];
  person text;
  placeholder text;
  entries bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM accounts WHERE id = closed AND state = 'closed') THEN
    RAISE EXCEPTION 'account % is not closed', closed USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  UPDATE accounts SET name = replacement WHERE id = closed;
  UPDATE api_keys SET name = replacement WHERE account = closed;
  FOR person IN SELECT DISTINCT user_id FROM members WHERE account = closed ORDER BY 1 LOOP
    -- Serializes with a transaction that adds this person to another account.
    PERFORM FROM users WHERE id = person FOR UPDATE;
    IF EXISTS (SELECT FROM members other WHERE other.user_id = person AND other.account <> closed
                  AND other.deleted_at IS NULL) THEN
      -- Other accounts still use the address: this account gets a placeholder.
      placeholder := 'usr_' || replace(gen_random_uuid()::text, '-', '');
      INSERT INTO users (id, email, email_verified) VALUES (placeholder, replacement || ':' || placeholder, false);
      UPDATE members SET user_id = placeholder WHERE account = closed AND user_id = person;
    ELSE
      -- Without its address, the user cannot become a member again.
      UPDATE users SET email = replacement || ':' || id, email_verified = false, password_hash = NULL WHERE id = person;
      DELETE FROM sessions WHERE user_id = person;
      DELETE FROM mail_tokens WHERE user_id = person;
      UPDATE audit_log SET client = NULL, agent = NULL
       WHERE (object_id = person OR actor = 'user:' || person) AND (client IS NOT NULL OR agent IS NOT NULL);
    END IF;
  END LOOP;
  UPDATE audit_log
     SET before = erase_fields(before, fields, replacement), after = erase_fields(after, fields, replacement),
         erased_at = now(), erased_fields = fields
   WHERE account = closed AND (jsonb_exists_any(before, fields) OR jsonb_exists_any(after, fields));
  GET DIAGNOSTICS entries = ROW_COUNT;
  RETURN entries;
END $$;

-- Deletes a user who signed up more than seven days ago and did not verify the address, together
-- with the account of the sign-up and its log entries. A user with a usable link in an email is not
-- deleted: a link that was sent again late stays valid as long as its email says. A user is kept
-- for good if the user belongs to another account, or if the account has a key, an alert or a
-- change by another actor. The service has no other privilege to delete users. Returns false if
-- nothing was deleted.
CREATE FUNCTION delete_sign_up(person text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
DECLARE
  own text;
BEGIN
  PERFORM FROM users
    WHERE id = person AND signed_up_at < now() - interval '7 days' AND NOT email_verified FOR UPDATE;
  -- A separate statement, so that it sees a link that was sent before the lock was granted.
  IF NOT FOUND OR EXISTS (SELECT FROM mail_tokens WHERE user_id = person AND expires_at > now()) THEN
    RETURN false;
  END IF;
  SELECT min(account) INTO own FROM members WHERE user_id = person HAVING count(*) = 1;
  PERFORM FROM accounts WHERE id = own FOR UPDATE;
  IF own IS NULL
      OR NOT EXISTS (SELECT FROM audit_log WHERE account = own AND action = 'sign_up' AND actor = 'user:' || person)
      OR EXISTS (SELECT FROM audit_log WHERE account = own AND actor <> 'user:' || person)
      OR EXISTS (SELECT FROM members WHERE account = own AND user_id <> person)
      OR EXISTS (SELECT FROM api_keys WHERE account = own)
      OR EXISTS (SELECT FROM emailed_alerts WHERE account = own) THEN
    UPDATE users SET signed_up_at = NULL WHERE id = person;
    RETURN false;
  END IF;
  DELETE FROM sessions WHERE user_id = person;
  DELETE FROM mail_tokens WHERE user_id = person;
  DELETE FROM members WHERE account = own;
  DELETE FROM accounts WHERE id = own;
  DELETE FROM users WHERE id = person;
  DELETE FROM audit_log WHERE account = own OR (object_id = person AND account IS NULL);
  RETURN true;
END $$;

-- Privileges of the service

GRANT SELECT, INSERT, UPDATE (email_verified, password_hash, signed_up_at) ON users TO ${role};
GRANT SELECT, INSERT (id, name, type, command), UPDATE (state, version) ON accounts TO ${role};
GRANT SELECT, INSERT (id, account, user_id, role, cap_nano_usd, command),
  UPDATE (role, cap_nano_usd, version, deleted_at) ON members TO ${role};
GRANT SELECT,
  INSERT (id, account, member, kind, name, digest, masked_secret, expires_at, cap_nano_usd, allowed_models, command),
  UPDATE (digest, masked_secret, state, version, last_used_at) ON api_keys TO ${role};
GRANT SELECT, INSERT, DELETE ON key_rotations TO ${role};
GRANT SELECT, INSERT, UPDATE (digest, seen_at), DELETE ON sessions TO ${role};
GRANT SELECT, INSERT, DELETE ON mail_tokens TO ${role};
GRANT SELECT, INSERT, UPDATE (attempts, began_at), DELETE ON attempts TO ${role};
GRANT SELECT, INSERT (id, name, role, digest, created_by, command, expires_at),
  UPDATE (deleted_at) ON operators TO ${role};
GRANT SELECT, INSERT, UPDATE (digest, seen_at), DELETE ON operator_sessions TO ${role};
GRANT SELECT, INSERT, UPDATE (fingerprint, command, status, body, created_at), DELETE ON idempotency_keys TO ${role};
GRANT SELECT, INSERT (actor, action, account, object_id, before, after, kind, client, agent, request_id) ON audit_log TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox TO ${role};
GRANT SELECT, INSERT (alert, account) ON emailed_alerts TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON mail_outbox TO ${role};
GRANT SELECT, INSERT, UPDATE, DELETE ON billing_outbox TO ${role};

REVOKE ALL ON FUNCTION attempt_slot(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION attempt_slot(text, text) TO ${role};
REVOKE ALL ON FUNCTION delete_refused_attempts(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_refused_attempts(integer) TO ${role};
REVOKE ALL ON FUNCTION erase_closed_account(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_closed_account(text) TO ${role};
REVOKE ALL ON FUNCTION delete_sign_up(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_sign_up(text) TO ${role};
