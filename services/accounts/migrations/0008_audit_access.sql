-- The log says where a request came from, and has sign-ins, reads of files and refused attempts beside changes.

ALTER TABLE audit_log
  -- `change`; `access`: somebody signed in or out, or read a file; `refused`: attempts that were refused, counted by minute.
  ADD COLUMN kind text NOT NULL DEFAULT 'change' CHECK (kind IN ('change', 'access', 'refused')),
  -- The network of the client: an IPv4 address, or the /64 of an IPv6 address.
  ADD COLUMN client text CHECK (length(client) BETWEEN 1 AND 64),
  ADD COLUMN agent text CHECK (length(agent) BETWEEN 1 AND 200),
  ADD COLUMN request_id text COLLATE "C" CHECK (length(request_id) BETWEEN 1 AND 64);
CREATE INDEX audit_log_kind ON audit_log (kind, id) WHERE kind <> 'change';
GRANT INSERT (kind, client, agent, request_id) ON audit_log TO ${role};

-- Refused attempts are kept for 90 days, everything else for ever. Deletes at most so many; how many went.
CREATE FUNCTION forget_refused_attempts(most integer) RETURNS integer LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
  WITH gone AS (
    DELETE FROM audit_log WHERE id IN (
      SELECT id FROM (SELECT id, at FROM audit_log WHERE kind = 'refused' ORDER BY id LIMIT most) AS oldest
       WHERE at < now() - interval '90 days')
    RETURNING 1)
  SELECT count(*)::integer FROM gone
$$;
REVOKE ALL ON FUNCTION forget_refused_attempts(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forget_refused_attempts(integer) TO ${role};

-- As before; networks and browsers of whoever loses the address go too.
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
       WHERE object_id = person AND (client IS NOT NULL OR agent IS NOT NULL);
    END IF;
  END LOOP;
  UPDATE audit_log
     SET before = erase_fields(before, fields, put), after = erase_fields(after, fields, put),
         erased_at = now(), erased_fields = fields
   WHERE account = closed AND (jsonb_exists_any(before, fields) OR jsonb_exists_any(after, fields));
  GET DIAGNOSTICS entries = ROW_COUNT;
  RETURN entries;
END $$;
