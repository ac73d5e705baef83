-- Where the request of a change came from. All null: the service acted by itself. The network is an IPv4 address, or the
-- /64 of an IPv6 address.
ALTER TABLE changes
  ADD COLUMN client text CHECK (length(client) BETWEEN 1 AND 64),
  ADD COLUMN agent text CHECK (length(agent) BETWEEN 1 AND 200),
  ADD COLUMN request_id text COLLATE "C" CHECK (length(request_id) BETWEEN 1 AND 64);
GRANT INSERT (client, agent, request_id) ON changes TO ${role};
CREATE INDEX changes_origin ON changes (actor) WHERE client IS NOT NULL OR agent IS NOT NULL;

-- The log stays append-only, with one exception: networks and user agents can be erased.
DROP TRIGGER append_only ON changes;
CREATE TRIGGER append_only BEFORE DELETE ON changes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only_but_origins BEFORE UPDATE ON changes FOR EACH ROW
  WHEN ((OLD.client IS NULL AND OLD.agent IS NULL) OR NEW.client IS NOT NULL OR NEW.agent IS NOT NULL
        OR to_jsonb(OLD) - 'client' - 'agent' IS DISTINCT FROM to_jsonb(NEW) - 'client' - 'agent')
  EXECUTE FUNCTION refuse_change();

-- The service has no privilege to update the log. Through this function it erases the networks and user agents of people
-- whose last account was closed. Returns the number of entries.
CREATE FUNCTION erase_origins(people text[]) RETURNS bigint LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
  WITH erased AS (
    UPDATE changes SET client = NULL, agent = NULL
     WHERE actor = ANY (SELECT 'user:' || person FROM unnest(people) AS person)
       AND (client IS NOT NULL OR agent IS NOT NULL)
    RETURNING 1)
  SELECT count(*) FROM erased
$$;
REVOKE ALL ON FUNCTION erase_origins(text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_origins(text[]) TO ${role};
