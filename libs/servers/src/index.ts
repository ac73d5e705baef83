export { doctor } from './doctor.js';
export { fetchDebianPackages } from './fetch-debian-packages.js';
export { freePort } from './free-port.js';
export { inspectServers } from './inspect-servers.js';
export type { Inspection, InspectOptions } from './inspect-servers.js';
export type { RestartOptions, Resolver, RunningServer, ServerName, ServersOptions } from './server.js';
export { ServerUnavailable } from './server-unavailable.js';
export { startServers } from './start-servers.js';
export { withoutLentServers } from './without-lent-servers.js';
