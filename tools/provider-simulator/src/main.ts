import type { AddressInfo } from 'node:net';
import { readConfig } from './read-config.js';
import { serveAdmin } from './serve-admin.js';
import { startProviderSimulator } from './start-provider-simulator.js';

const config = readConfig(process.env);
const { host, adminHost, ports, recordCalls, chunkDelayMs } = config;
const simulator = await startProviderSimulator({ host, ports, recordCalls, chunkDelayMs });
const admin = config.adminPort === undefined ? undefined : await serveAdmin(simulator, adminHost, config.adminPort);

const stop = (): void => {
  admin?.closeAllConnections();
  admin?.close();
  void simulator.close();
};
process.once('SIGTERM', stop);
process.once('SIGINT', stop);

const adminUrl = admin && `http://${adminHost}:${(admin.address() as AddressInfo).port}`;
const line = { level: 'info', time: new Date().toISOString(), msg: 'provider simulator listening' };
process.stdout.write(`${JSON.stringify({ ...line, urls: simulator.urls, adminUrl })}\n`);
