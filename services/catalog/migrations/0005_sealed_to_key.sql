-- Credentials are sealed to a public key (v2). Those that a release before sealed (v1) stay until they are sealed again.
ALTER TABLE sources
  DROP CONSTRAINT sources_sealed_credential_check,
  ADD CONSTRAINT sources_sealed_credential_check
    CHECK (sealed_credential LIKE 'v1.%' OR sealed_credential LIKE 'v2.%');
