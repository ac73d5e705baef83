import { runService } from '@gateway/service-kit';
import { BILLING_FIELDS } from './config.js';
import { startBilling } from './service.js';

await runService({
  name: 'billing',
  fields: BILLING_FIELDS,
  stopMs: () => 20_000,
  start: ({ config, log, clock, replica, ready, stopping }) =>
    startBilling({
      natsUrl: config.GATEWAY_NATS_URL.reveal(),
      postgresUrl: config.GATEWAY_POSTGRES_URL.reveal(),
      streamBytesMax: config.GATEWAY_USAGE_STREAM_BYTES,
      streamReplicas: config.GATEWAY_STREAM_REPLICAS,
      webhookKeys: { privateKey: config.GATEWAY_WEBHOOK_PRIVATE_KEY },
      privateAllowed: config.GATEWAY_ALLOW_PRIVATE_WEBHOOKS,
      replica,
      log,
      clock,
      ready,
      stopping,
    }),
});
