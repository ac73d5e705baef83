-- Epochs of the ledger stand in the order in which they began (docs/decisions/0113): UUIDs of version 7, each later than those
-- that are known. One that began before this migration is of version 4, and counts as earlier than all of these.
CREATE FUNCTION later_incarnation(VARIADIC known text[]) RETURNS text LANGUAGE sql SET search_path = ${schema}, pg_temp
  AS $$
    SELECT substr(began, 1, 8) || '-' || substr(began, 9) || '-7' || substr(gen_random_uuid()::text, 16)
      FROM (
        SELECT lpad(to_hex(greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, max(id_ms(one::uuid)) + 1)), 12, '0')
          FROM unnest(known) one WHERE substr(one, 15, 1) = '7'
      ) new (began)
  $$;

CREATE OR REPLACE FUNCTION begin_incarnation() RETURNS text LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp
  AS $$
    UPDATE ledger_state
       SET (incarnation, consumers) = (SELECT made, made FROM (SELECT later_incarnation(incarnation) AS made) new)
    RETURNING incarnation
  $$;

-- Null: somebody else has begun one since. `seen` is the last that was seen of this ledger, which may have lost it.
CREATE FUNCTION begin_incarnation_after(former text, seen text) RETURNS text LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp
  AS $$
    UPDATE ledger_state SET incarnation = later_incarnation(former, seen) WHERE incarnation = former RETURNING incarnation
  $$;
REVOKE ALL ON FUNCTION begin_incarnation_after(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION begin_incarnation_after(text, text) TO ${role};

-- For replicas of the release before.
CREATE OR REPLACE FUNCTION begin_incarnation_after(former text) RETURNS text LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp
  AS $$ SELECT begin_incarnation_after(former, former) $$;
