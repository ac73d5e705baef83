-- What people read of a long ledger without reading all of it.

-- Of the calls, those whose wallet paid: what a statement counts as transactions. Billing of before this adds calls and counts
-- none of them, so an hour is to be believed only where as many were counted as there are.
ALTER TABLE usage_hours
  ADD COLUMN wallet_calls bigint NOT NULL DEFAULT 0,
  ADD COLUMN counted_calls bigint NOT NULL DEFAULT 0;
GRANT UPDATE (wallet_calls, counted_calls) ON usage_hours TO ${role};

-- What no sum holds, so few that no settled call and no charge has an entry in these.
CREATE INDEX usage_records_unsettled ON usage_records (account, outcome, id) WHERE outcome <> 'settled';
CREATE INDEX ledger_transactions_not_usage ON ledger_transactions (account, id) WHERE kind <> 'usage';
