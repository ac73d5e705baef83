import { runService } from '@gateway/service-kit';
import { ADMISSION_FIELDS, checkConfig } from './config.js';
import { startAdmission } from './wire.js';

await runService({
  name: 'admission',
  fields: ADMISSION_FIELDS,
  check: checkConfig,
  start: ({ config, log, replica, ready, stopping }) =>
    startAdmission({
      natsUrl: config.GATEWAY_NATS_URL.reveal(),
      redisUrl: config.GATEWAY_REDIS_URL.reveal(),
      replica,
      durations: {
        leaseMs: config.GATEWAY_LEASE_MS,
        expiryMs: config.GATEWAY_EXPIRY_MS,
        sweepMs: config.GATEWAY_SWEEP_MS,
      },
      usageBytesMax: config.GATEWAY_USAGE_STREAM_BYTES,
      streamReplicas: config.GATEWAY_STREAM_REPLICAS,
      clockOffsetMs: config.GATEWAY_CLOCK_OFFSET_MS,
      log,
      ready,
      stopping,
    }),
});
