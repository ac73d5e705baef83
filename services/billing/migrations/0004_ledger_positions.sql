-- A ledger that lost commits begins a new incarnation and keeps its consumers of the stream (docs/decisions/0102): they are
-- named by the incarnation of the last restore.
ALTER TABLE ledger_state ADD COLUMN consumers text;
UPDATE ledger_state SET consumers = incarnation;
ALTER TABLE ledger_state ALTER COLUMN consumers SET NOT NULL;

CREATE OR REPLACE FUNCTION begin_incarnation() RETURNS text LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp
  AS $$
    UPDATE ledger_state SET (incarnation, consumers) = (SELECT made, made FROM (SELECT gen_random_uuid()::text AS made) new)
    RETURNING incarnation
  $$;

-- Null: somebody else has begun one since.
CREATE FUNCTION begin_incarnation_after(former text) RETURNS text LANGUAGE sql SECURITY DEFINER
  SET search_path = ${schema}, pg_temp
  AS $$ UPDATE ledger_state SET incarnation = gen_random_uuid()::text WHERE incarnation = former RETURNING incarnation $$;
REVOKE ALL ON FUNCTION begin_incarnation_after(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION begin_incarnation_after(text) TO ${role};
