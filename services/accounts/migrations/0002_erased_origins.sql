-- Who loses the address leaves no network and no user agent in the log: neither in entries about the person nor in those of what
-- the person did, as a sign-up, which is about its account, or a file, which is about its route.
CREATE INDEX audit_log_origin ON audit_log (actor) WHERE client IS NOT NULL OR agent IS NOT NULL;

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
      UPDATE audit_log SET client = NULL, agent = NULL
       WHERE (object_id = person OR actor = 'user:' || person) AND (client IS NOT NULL OR agent IS NOT NULL);
    END IF;
  END LOOP;
  UPDATE audit_log
     SET before = erase_fields(before, fields, put), after = erase_fields(after, fields, put),
         erased_at = now(), erased_fields = fields
   WHERE account = closed AND (jsonb_exists_any(before, fields) OR jsonb_exists_any(after, fields));
  GET DIAGNOSTICS entries = ROW_COUNT;
  RETURN entries;
END $$;
