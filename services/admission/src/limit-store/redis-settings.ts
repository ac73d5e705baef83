/**
 * Returns why admission cannot use a Redis server and what to do about it, or null.
 * @param facts the reply of `INFO`
 */
export function findRedisProblem(facts: string): string | null {
  const read = (name: string): string | undefined => new RegExp(`^${name}:([^\\r\\n]*)`, 'm').exec(facts)?.[1];
  if (!/^[0-9a-f]{40}$/.test(read('run_id') ?? '')) return 'the reply of the Redis server to INFO contains no run id';
  // The scripts write integers as C longs.
  if (read('arch_bits') !== '64') return 'the Redis server is not a 64-bit one: use a 64-bit build';
  if (read('redis_mode') === 'cluster') {
    return (
      'GATEWAY_REDIS_URL leads to a node of a Redis cluster, which is not supported: ' +
      'give one server without cluster mode (cluster-enabled no)'
    );
  }
  if (read('role') !== 'master') {
    return 'GATEWAY_REDIS_URL leads to a replica: give the address that always leads to the primary, or promote this server';
  }
  return findEvictionProblem(facts);
}

/**
 * Returns why admission cannot use a server that may evict keys, or null: an eviction would delete
 * held amounts and holds.
 * @param facts the reply of `INFO` or `INFO memory`
 */
export function findEvictionProblem(facts: string): string | null {
  const policy = /^maxmemory_policy:(\S+)/m.exec(facts)?.[1] ?? 'unknown';
  if (policy === 'noeviction') return null;
  return `maxmemory-policy of Redis is ${policy}, which deletes limits and holds: set it to noeviction`;
}

/**
 * Errors of a server whose role has changed since the handshake: it is now a replica, part of a
 * cluster, or loading its file.
 */
const ELSEWHERE = /^-?(NOSCRIPT|READONLY|MOVED|ASK|LOADING|UNBLOCKED|CLUSTERDOWN|MASTERDOWN)\b/;

/**
 * Whether an error of Redis means that the server behind the connection cannot be used as it is.
 */
export function hasServerChanged({ message }: Error): boolean {
  return ELSEWHERE.test(message);
}
