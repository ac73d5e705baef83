// `npm run permissions -- nats | redis`: prints the configuration for your own servers without
// passwords. For NATS each password is the name of a variable, for Redis a text to replace.
import { natsAuthorization } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { redisUsers } from './redis-users.js';

const PRINTERS: Readonly<Record<string, () => string>> = {
  nats: () =>
    // Unquoted, so that nats-server reads the password from its own environment.
    natsAuthorization(
      placeholders((service) => variableOf(service)),
      MESSAGES,
    ).replace(/"(GATEWAY_BUS_PASSWORD_[A-Z_]+)"/g, '$$$1'),
  redis: () =>
    redisUsers({ default: '', admission: '' })
      .map(
        (words) =>
          `${words.map((word) => (word.startsWith('#') ? `#<sha256 of the password of ${words[1]}>` : word)).join(' ')}\n`,
      )
      .join(''),
};

const print = PRINTERS[process.argv[2] ?? ''];
if (print === undefined) {
  console.error(`name the server: ${Object.keys(PRINTERS).join(' or ')}`);
  process.exit(1);
}
process.stdout.write(print());

function placeholders(of: (service: ServiceName) => string): Record<ServiceName, string> {
  return Object.fromEntries(SERVICE_NAMES.map((service) => [service, of(service)])) as Record<ServiceName, string>;
}

function variableOf(service: ServiceName): string {
  return `GATEWAY_BUS_PASSWORD_${service.toUpperCase().replaceAll('-', '_')}`;
}
