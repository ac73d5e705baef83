-- Who has a link in a mail that can still be used is not deleted under it: a link that was sent again shortly before the seven days
-- are over is good for as long as its mail says.
CREATE OR REPLACE FUNCTION forget_sign_up(person text) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
DECLARE
  own text;
BEGIN
  PERFORM FROM users
    WHERE id = person AND signed_up_at < now() - interval '7 days' AND NOT email_verified FOR UPDATE;
  -- A statement of its own: a link that was being mailed is seen when the lock is there.
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
