-- A provider may have a credential for those of its sources that have none of their own.
ALTER TABLE providers
  ADD COLUMN auth jsonb CHECK (jsonb_typeof(auth) = 'object'),
  ADD COLUMN sealed_credential text CHECK (sealed_credential LIKE 'v2.%');
GRANT UPDATE (auth, sealed_credential) ON providers TO ${role};
