import { afterAll, expect, test } from '@jest/globals';
import { migrationDirectory, recordingLog, startPostgres, testPool, type TestServer } from '../test/database.js';
import { dumpSchema, migrate } from './index.js';

const SQL = `CREATE TYPE kind AS ENUM ('zeta', 'alpha');
CREATE DOMAIN nano_usd AS bigint NOT NULL CHECK (VALUE > -9000000000000000);
CREATE TABLE account (id text PRIMARY KEY, kind kind NOT NULL DEFAULT 'alpha', name text COLLATE "C");
CREATE TABLE entry (
  id bigint GENERATED ALWAYS AS IDENTITY,
  account_id text NOT NULL REFERENCES account (id),
  amount nano_usd,
  body jsonb NOT NULL DEFAULT '{}',
  month date NOT NULL,
  label text GENERATED ALWAYS AS (lower(body->>'label')) STORED,
  PRIMARY KEY (id, month)
) PARTITION BY RANGE (month);
CREATE TABLE entry_2026_01 PARTITION OF entry FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE UNIQUE INDEX entry_label ON entry (account_id, label, month) WHERE body ? 'label';
CREATE SEQUENCE number AS integer START 5 INCREMENT 2;
CREATE VIEW total AS SELECT e.account_id, sum(e.amount) AS amount FROM entry e JOIN account a ON a.id = e.account_id GROUP BY 1;
CREATE VIEW named AS SELECT id, upper(name) AS name, (SELECT count(*) FROM entry WHERE account_id = account.id) AS entries
  FROM account WHERE name IS NOT NULL;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'entries stay'; END $$;
CREATE TRIGGER entry_stays BEFORE UPDATE OR DELETE ON entry FOR EACH ROW EXECUTE FUNCTION refuse();
GRANT SELECT, INSERT ON entry TO \${role};
GRANT UPDATE (name) ON account TO \${role};
GRANT ALL ON total TO \${role};
REVOKE ALL ON FUNCTION refuse() FROM PUBLIC;
`;

const EXPECTED = `domain nano_usd: bigint not null CHECK ((VALUE > '-9000000000000000'::bigint))
type kind: zeta, alpha

table account
  column id text not null
  column kind ledger.kind not null default 'alpha'::ledger.kind
  column name text
  constraint account_pkey PRIMARY KEY (id)

table entry partition by RANGE (month)
  column id bigint not null generated always as identity
  column account_id text not null
  column amount ledger.nano_usd
  column body jsonb not null default '{}'::jsonb
  column month date not null
  column label text generated lower((body ->> 'label'::text))
  constraint entry_account_id_fkey FOREIGN KEY (account_id) REFERENCES ledger.account(id)
  constraint entry_pkey PRIMARY KEY (id, month)
  index CREATE UNIQUE INDEX entry_label ON ONLY ledger.entry USING btree (account_id, label, month) WHERE (body ? 'label'::text)
  trigger CREATE TRIGGER entry_stays BEFORE DELETE OR UPDATE ON ledger.entry FOR EACH ROW EXECUTE FUNCTION ledger.refuse()

view named
 SELECT id,
    upper(name) AS name,
    ( SELECT count(*) AS count
           FROM ledger.entry
          WHERE (entry.account_id = id)) AS entries
   FROM ledger.account
  WHERE (name IS NOT NULL);

view total
 SELECT e.account_id,
    sum((e.amount)::bigint) AS amount
   FROM (ledger.entry e
     JOIN ledger.account a ON ((a.id = e.account_id)))
  GROUP BY e.account_id;

sequence number as integer start 5 increment 2

CREATE OR REPLACE FUNCTION ledger.refuse()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$ BEGIN RAISE EXCEPTION 'entries stay'; END $function$

grant usage on schema ledger to gateway_ledger
grant update (name) on table account to gateway_ledger
grant insert, select on table entry to gateway_ledger
grant delete, insert, references, select, trigger, truncate, update on view total to gateway_ledger
`;

const started: TestServer[] = [];
afterAll(() => Promise.all(started.map((server) => server.stop())));

/** The two sources usually provide different major versions. Both must print the same text. */
test.each(['url,binary', 'project'])(
  'dumpSchema() prints the same text on a server from %s',
  async (resolvers) => {
    const server = await startPostgres(resolvers).catch(() => startPostgres());
    started.push(server);
    const directory = migrationDirectory({ '0001_start.sql': SQL });
    const role = { name: 'gateway_ledger', password: 'x' };
    await migrate({ migrationUrl: server.url, schema: 'ledger', directory, role, log: recordingLog() });
    const pool = testPool(server.url);
    try {
      expect(await dumpSchema(pool, 'ledger')).toBe(EXPECTED);
    } finally {
      await pool.end();
    }
  },
  60_000,
);
