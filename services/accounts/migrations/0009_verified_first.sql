-- A password belongs to a verified address: it is set by the link in the mail that verifies it. Sign-ups that nobody verifies go.

-- Passwords and sessions that a stranger may have made before; the person sets a password by a link.
DELETE FROM sessions WHERE user_id IN (SELECT id FROM users WHERE NOT email_verified);
UPDATE users SET password_hash = NULL WHERE NOT email_verified AND password_hash IS NOT NULL;
ALTER TABLE users ADD CONSTRAINT users_password_verified CHECK (email_verified OR password_hash IS NULL);

-- When the person signed up; null: somebody else made them, or the sign-up is to be kept.
ALTER TABLE users ADD COLUMN signed_up_at timestamptz;
UPDATE users u SET signed_up_at = l.at
  FROM audit_log l WHERE NOT u.email_verified AND l.action = 'sign_up' AND l.actor = 'user:' || u.id;
CREATE INDEX users_signed_up ON users (signed_up_at) WHERE signed_up_at IS NOT NULL AND NOT email_verified;
GRANT UPDATE (signed_up_at) ON users TO ${role};

-- Deletes somebody who signed up more than seven days ago and never verified the address, with the account of that sign-up and what
-- the log says of it. The service has no right to do that to anybody else: who belongs to another account, whose account has a key
-- or an alert, or was changed by somebody else, stays and is not asked for again. False: nothing was deleted.
CREATE FUNCTION forget_sign_up(person text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
DECLARE
  own text;
BEGIN
  PERFORM FROM users
    WHERE id = person AND signed_up_at < now() - interval '7 days' AND NOT email_verified FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  SELECT min(account) INTO own FROM members WHERE user_id = person HAVING count(*) = 1;
  PERFORM FROM accounts WHERE id = own FOR UPDATE;
  IF own IS NULL
      OR NOT EXISTS (SELECT FROM audit_log WHERE account = own AND action = 'sign_up' AND actor = 'user:' || person)
      OR EXISTS (SELECT FROM audit_log WHERE account = own AND actor <> 'user:' || person)
      OR EXISTS (SELECT FROM members WHERE account = own AND user_id <> person)
      OR EXISTS (SELECT FROM api_keys WHERE account = own)
      OR EXISTS (SELECT FROM mailed_alerts WHERE account = own) THEN
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
REVOKE ALL ON FUNCTION forget_sign_up(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forget_sign_up(text) TO ${role};
