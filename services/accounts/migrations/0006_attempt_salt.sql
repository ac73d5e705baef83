-- Which slot an attempt is counted in is a secret of this database: by a plain hash everybody could find an address whose attempts
-- are counted together with somebody else's.

CREATE TABLE attempt_salt (
  -- One row.
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  salt bytea NOT NULL CHECK (octet_length(salt) = 32)
);
-- 244 random bits; a UUID has 122.
INSERT INTO attempt_salt (salt)
  VALUES (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- One of 2^18 slots. The service has no right to the salt itself. So few bits of the digest are used that nothing of it can be extended,
-- and no kind has a colon in it.
CREATE FUNCTION attempt_slot(kind text, subject text) RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER
  SET search_path = ${schema}, pg_temp AS $$
  SELECT (get_byte(digest, 0) << 10) | (get_byte(digest, 1) << 2) | (get_byte(digest, 2) >> 6)
    FROM attempt_salt, sha256(salt || convert_to(kind || ':' || subject, 'UTF8')) AS digest
$$;
REVOKE ALL ON FUNCTION attempt_slot(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION attempt_slot(text, text) TO ${role};
