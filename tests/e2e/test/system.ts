import { readFileSync } from 'node:fs';
import type { ServiceName } from '@gateway/contracts/messages';
import { TestOperator } from './operator.js';

interface Running {
  readonly edgeUrls: readonly string[];
  readonly chatBaseUrl: string;
  readonly dashboardUrl: string;
  readonly operatorUrl: string;
  readonly operatorToken: string;
  readonly natsUrl: string;
  readonly redisUrl: string;
  readonly postgresUrl: string;
  readonly adminUrls: Readonly<Record<string, readonly string[]>>;
}

/** The system of the global setup, with an operator. */
export interface SharedSystem extends Running {
  readonly operator: TestOperator;
  readonly collectorUrl: string;
  /** Returns the bus URL with the permissions of a service. */
  natsUrlOf(service: ServiceName): string;
}

export function sharedSystem(): SharedSystem {
  const state = process.env['GATEWAY_E2E_STATE'];
  if (state === undefined) throw new Error('the global setup of the end-to-end tests did not run');
  const running = readJson<Running>(`${state}/running.json`);
  const secrets = readJson<{ busPasswords: Record<ServiceName, string> }>(`${state}/secrets.json`);
  const natsUrlOf = (service: ServiceName): string => {
    const url = new URL(running.natsUrl);
    url.username = service;
    url.password = secrets.busPasswords[service];
    return url.href;
  };
  const operator = new TestOperator(running);
  const collectorUrl = readJson<{ url: string }>(`${state}/collector.json`).url;
  return { ...running, operator, collectorUrl, natsUrlOf };
}

function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}
