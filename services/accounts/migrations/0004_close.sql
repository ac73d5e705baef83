-- Accounts close for ever: what names a person is erased, what happened stays.

ALTER TABLE accounts
  DROP CONSTRAINT accounts_state_check,
  ADD CONSTRAINT accounts_state_check CHECK (state IN ('active', 'suspended', 'closed'));

-- An entry whose personal fields were erased says so; who did what, and when, stays.
ALTER TABLE audit_log
  ADD COLUMN erased_at timestamptz,
  ADD COLUMN erased_fields text[],
  ADD CHECK ((erased_at IS NULL) = (erased_fields IS NULL));

CREATE FUNCTION erase_fields(view jsonb, fields text[], put text) RETURNS jsonb LANGUAGE sql IMMUTABLE
  RETURN view || coalesce(
    (SELECT jsonb_object_agg(key, to_jsonb(put)) FROM jsonb_each(view) WHERE key = ANY (fields) AND value <> 'null'), '{}');

-- The service has no right to change names, addresses or the log. It may have those of a closed account erased, and only
-- so: through this function, in the transaction that closes it. Answers how many entries of the log it erased from.
CREATE FUNCTION erase_closed_account(closed text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
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
      UPDATE users SET email = put || ':' || id, email_verified = false WHERE id = person;
    END IF;
  END LOOP;
  UPDATE audit_log
     SET before = erase_fields(before, fields, put), after = erase_fields(after, fields, put),
         erased_at = now(), erased_fields = fields
   WHERE account = closed AND (jsonb_exists_any(before, fields) OR jsonb_exists_any(after, fields));
  GET DIAGNOSTICS entries = ROW_COUNT;
  RETURN entries;
END $$;
REVOKE ALL ON FUNCTION erase_closed_account(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_closed_account(text) TO ${role};
