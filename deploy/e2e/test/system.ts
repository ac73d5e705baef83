import { readFileSync } from 'node:fs';
import type { ServiceName } from '@gateway/contracts/messages';
import { TestOperator } from './operator.js';

interface Running {
  readonly edgeUrls: readonly string[];
  readonly chatBaseUrl: string;
  readonly natsUrl: string;
  readonly redisUrl: string;
  readonly postgresUrl: string;
  readonly adminUrls: Readonly<Record<string, readonly string[]>>;
}

/** The system that the global setup started, and an operator connected to it. */
export interface SharedSystem extends Running {
  readonly operator: TestOperator;
  readonly collectorUrl: string;
  /** The bus with the rights of a service. */
  natsUrlOf(service: ServiceName): string;
  close(): Promise<void>;
}

export async function sharedSystem(): Promise<SharedSystem> {
  const state = process.env['GATEWAY_E2E_STATE'];
  if (state === undefined) throw new Error('the global setup of the end-to-end tests did not run');
  const running = readJson<Running>(`${state}/running.json`);
  const secrets = readJson<{ keyPepper: string; credentialsKey: string; busPasswords: Record<ServiceName, string> }>(
    `${state}/secrets.json`,
  );
  const natsUrlOf = (service: ServiceName): string => {
    const url = new URL(running.natsUrl);
    url.username = service;
    url.password = secrets.busPasswords[service];
    return url.href;
  };
  const operator = await TestOperator.connect({ ...secrets, natsUrl: natsUrlOf('dashboard') });
  const collectorUrl = readJson<{ url: string }>(`${state}/collector.json`).url;
  return { ...running, operator, collectorUrl, natsUrlOf, close: () => operator.close() };
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}
