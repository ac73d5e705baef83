import { startOwnServer, type OwnServer } from './start-own-server.js';

/** A Redis server that belongs to the test alone. */
export function startTestRedis(): Promise<OwnServer> {
  return startOwnServer('redis');
}
