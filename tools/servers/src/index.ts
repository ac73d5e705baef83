export { freePort } from '@gateway/service-kit/free-port';
export { fetchDebianPackages, libraryPath, packageDirectory } from './debian-packages.js';
export { conninfo } from './postgres-data.js';
export { askSentinel } from './redis-kind.js';
export type { PostgresFollows, RestartOptions, Resolver, RunningServer, ServerName, ServersOptions } from './server.js';
export { ServerUnavailable } from './server-kind.js';
export { bareEnvironment } from './run-command.js';
export { spawnServer, type ServerProcess } from './spawn-server.js';
export { startServers, withoutServerUrls as withoutLentServers } from './start-servers.js';
