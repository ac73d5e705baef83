import type { RunningServer, ServerName } from '@gateway/servers';
import { ADMISSION_USER, type LedgerService } from '@gateway/setup';
import { changeUrl } from '@gateway/service-kit';
import type { Secrets } from './secrets.js';

/** The addresses that the processes receive. */
export interface Addresses {
  readonly natsUrlOf: (service: string) => string;
  readonly postgresUrlOf: (service: LedgerService) => string;
  readonly redisUrl: string;
  readonly publicUrl: string;
  /** The address of the local mailbox. */
  readonly smtpUrl: string;
  readonly dashboardUrl: string;
}

/** Returns all addresses with each service's user. `ports`: of the first edge and dashboard. */
export function createAddresses(
  servers: Readonly<Record<ServerName, RunningServer>>,
  urls: Readonly<Record<ServerName, string>>,
  smtpUrl: string,
  secrets: Secrets,
  ports: { readonly edge: number; readonly dashboard: number },
): Addresses {
  /** Sets the user unless the server was given by URL: that server has its own users. */
  const asUser = (server: 'nats' | 'redis', username: string, password: string): string =>
    servers[server].resolver === 'url'
      ? urls[server]
      : changeUrl(urls[server], (url) => Object.assign(url, { username, password }));
  return {
    natsUrlOf: (service) => asUser('nats', service, secrets.busPasswords[service as keyof Secrets['busPasswords']]),
    postgresUrlOf: (service) =>
      changeUrl(urls.postgres, (url) =>
        Object.assign(url, { username: roleOf(service), password: secrets.rolePasswords[service] }),
      ),
    redisUrl: asUser('redis', ADMISSION_USER, secrets.admissionRedisPassword),
    publicUrl: `http://127.0.0.1:${ports.edge}`,
    dashboardUrl: `http://127.0.0.1:${ports.dashboard}`,
    smtpUrl,
  };
}

/** Returns the name of a role in PostgreSQL. */
export function roleOf(service: string): string {
  return `gateway_${service}`;
}
