-- One row. Whoever holds it may touch the bucket; a holder that died loses it in time.
CREATE TABLE publication_lease (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  holder text,
  held_until timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO publication_lease DEFAULT VALUES;
GRANT SELECT, UPDATE (holder, held_until) ON publication_lease TO ${role};
