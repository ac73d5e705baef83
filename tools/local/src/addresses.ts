import type { RunningServer, ServerName } from '@gateway/servers';
import { ADMISSION_USER, type LedgerService } from '@gateway/setup';
import { changeUrl } from '@gateway/service-kit';
import { postgresUrlOf } from './migrate-all.js';
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

interface Running {
  readonly servers: Readonly<Record<ServerName, RunningServer>>;
  readonly urls: Readonly<Record<ServerName, string>>;
  readonly mailbox: { readonly url: string };
}

/** Returns all addresses with each service's user. `ports`: of the first edge and dashboard. */
export function createAddresses(
  { servers, urls, mailbox }: Running,
  secrets: Secrets,
  ports: { readonly edge: number; readonly dashboard: number },
): Addresses {
  return {
    natsUrlOf: (service) => {
      // A server given by URL has its own users, so its URL is used unchanged.
      if (servers.nats.resolver === 'url') return urls.nats;
      return changeUrl(urls.nats, (url) => {
        url.username = service;
        url.password = secrets.busPasswords[service as keyof Secrets['busPasswords']];
      });
    },
    postgresUrlOf: (service) => postgresUrlOf(urls.postgres, service, secrets),
    redisUrl: redisUrlOf(servers.redis, urls.redis, secrets),
    publicUrl: `http://127.0.0.1:${ports.edge}`,
    dashboardUrl: `http://127.0.0.1:${ports.dashboard}`,
    smtpUrl: mailbox.url,
  };
}

/** Sets admission's user in the URL. A server given by URL has its own users. */
function redisUrlOf({ resolver }: RunningServer, given: string, secrets: Secrets): string {
  if (resolver === 'url') return given;
  return changeUrl(given, (url) => {
    url.username = ADMISSION_USER;
    url.password = secrets.admissionRedisPassword;
  });
}
