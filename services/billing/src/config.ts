import { COMMON_FIELDS, field, type ServiceConfig } from '@gateway/service-kit';

const MEBIBYTE = 1024 * 1024;

export const BILLING_FIELDS = {
  GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL,
  GATEWAY_POSTGRES_URL: COMMON_FIELDS.GATEWAY_POSTGRES_URL,
  GATEWAY_USAGE_STREAM_BYTES: field.integer({
    doc: 'largest size of the stream of usage events; a full stream stops new calls',
    min: 16 * MEBIBYTE,
    max: Number.MAX_SAFE_INTEGER,
    default: 4_096 * MEBIBYTE,
  }),
  GATEWAY_STREAM_REPLICAS: field.integer({
    doc: 'copies of each stream in a NATS cluster: 1 on a single server, 3 in a cluster',
    min: 1,
    max: 5,
    default: 1,
  }),
};

export type BillingConfig = ServiceConfig<typeof BILLING_FIELDS>;
