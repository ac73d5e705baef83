-- Where the request of a change came from. All null: the service acted by itself. The network is an IPv4 address, or the
-- /64 of an IPv6 address. Only operators change the catalog, so closing an account erases nothing here.
ALTER TABLE changes
  ADD COLUMN client text CHECK (length(client) BETWEEN 1 AND 64),
  ADD COLUMN agent text CHECK (length(agent) BETWEEN 1 AND 200),
  ADD COLUMN request_id text COLLATE "C" CHECK (length(request_id) BETWEEN 1 AND 64);
GRANT INSERT (client, agent, request_id) ON changes TO ${role};
