-- Each member has a playground key of their own, so that their cap binds there and their calls are theirs. The account's one key
-- was its owner's and stays so.

CREATE UNIQUE INDEX api_keys_playground_member ON api_keys (member) WHERE kind = 'playground';
DROP INDEX api_keys_playground;
