import type { AddressInfo } from 'node:net';
import { readConfig, serveHealth } from './serve-process.js';
import { startProviderSimulator } from './start-provider-simulator.js';

const { adminHost, adminPort, ...options } = readConfig(process.env);
const simulator = await startProviderSimulator({ ...options, recordCalls: false });
const admin = adminPort === undefined ? undefined : await serveHealth(adminHost, adminPort);

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
