-- People sign in: passwords, sessions, tokens of mails, and counted attempts.

-- PHC string of a scrypt hash. Null: nobody has set one, as for somebody who was invited.
ALTER TABLE users
  ADD COLUMN password_hash text CHECK (length(password_hash) <= 300 AND password_hash LIKE '$scrypt$%');
GRANT UPDATE (password_hash) ON users TO ${role};

CREATE TABLE sessions (
  -- HMAC-SHA-256 of the cookie's value under the session secret, hexadecimal. The value itself is kept nowhere.
  digest text COLLATE "C" PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
  user_id text COLLATE "C" NOT NULL REFERENCES users,
  created_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id, created_at);
CREATE INDEX sessions_seen_at ON sessions (seen_at);
GRANT SELECT, INSERT, UPDATE (digest, seen_at), DELETE ON sessions TO ${role};

CREATE TABLE mail_tokens (
  -- SHA-256 of a token, hexadecimal. The token is only in the mail.
  digest text COLLATE "C" PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
  user_id text COLLATE "C" NOT NULL REFERENCES users,
  kind text NOT NULL CHECK (kind IN ('verify', 'reset', 'invitation')),
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX mail_tokens_user ON mail_tokens (user_id, kind, created_at);
CREATE INDEX mail_tokens_expires_at ON mail_tokens (expires_at);
GRANT SELECT, INSERT, DELETE ON mail_tokens TO ${role};

-- Attempts by what they are counted for. Subjects are spread over a fixed number of slots, so that nobody can fill the
-- table, and no address or client stands in it.
CREATE TABLE attempts (
  kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 40),
  slot integer NOT NULL CHECK (slot BETWEEN 0 AND 262143),
  attempts integer NOT NULL CHECK (attempts >= 0),
  began_at timestamptz NOT NULL,
  PRIMARY KEY (kind, slot)
) WITH (fillfactor = 80);
CREATE INDEX attempts_began_at ON attempts (began_at);
GRANT SELECT, INSERT, UPDATE (attempts, began_at), DELETE ON attempts TO ${role};

-- As before, and whoever loses the address loses password, sessions and tokens with it.
CREATE OR REPLACE FUNCTION erase_closed_account(closed text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
DECLARE
  put CONSTANT text := 'erased';
  fields CONSTANT text[] := ARRAY['name', 'email'];
  person text;
  nobody text;
  entries bigint;
BEGIN
  IF NOT EXISTS (SELECT FROM accounts WHERE id = closed AND state = 'closed') THEN
    RAISE EXCEPTION 'account % is not closed', closed USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  UPDATE accounts SET name = put WHERE id = closed;
  UPDATE api_keys SET name = put WHERE account = closed;
  FOR person IN SELECT DISTINCT user_id FROM members WHERE account = closed ORDER BY 1 LOOP
    -- Whoever makes this person a member of another account at this moment is waited for, or waits and finds nobody.
    PERFORM FROM users WHERE id = person FOR UPDATE;
    IF EXISTS (SELECT FROM members other WHERE other.user_id = person AND other.account <> closed
                  AND other.deleted_at IS NULL) THEN
      -- The address is still that of other accounts: here its place is taken by nobody.
      nobody := 'usr_' || replace(gen_random_uuid()::text, '-', '');
      INSERT INTO users (id, email, email_verified) VALUES (nobody, put || ':' || nobody, false);
      UPDATE members SET user_id = nobody WHERE account = closed AND user_id = person;
    ELSE
      -- No address: nobody can be made a member by it.
      UPDATE users SET email = put || ':' || id, email_verified = false, password_hash = NULL WHERE id = person;
      DELETE FROM sessions WHERE user_id = person;
      DELETE FROM mail_tokens WHERE user_id = person;
    END IF;
  END LOOP;
  UPDATE audit_log
     SET before = erase_fields(before, fields, put), after = erase_fields(after, fields, put),
         erased_at = now(), erased_fields = fields
   WHERE account = closed AND (jsonb_exists_any(before, fields) OR jsonb_exists_any(after, fields));
  GET DIAGNOSTICS entries = ROW_COUNT;
  RETURN entries;
END $$;
