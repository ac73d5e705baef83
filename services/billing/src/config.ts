import { COMMON_FIELDS, field } from '@gateway/service-kit';

export const BILLING_FIELDS = {
  GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL,
  GATEWAY_POSTGRES_URL: COMMON_FIELDS.GATEWAY_POSTGRES_URL,
  GATEWAY_USAGE_STREAM_BYTES: COMMON_FIELDS.GATEWAY_USAGE_STREAM_BYTES,
  GATEWAY_STREAM_REPLICAS: COMMON_FIELDS.GATEWAY_STREAM_REPLICAS,
  GATEWAY_WEBHOOK_PRIVATE_KEY: COMMON_FIELDS.GATEWAY_WEBHOOK_PRIVATE_KEY,
  // Not the same variable as for sources: an operator configures sources, but any customer can
  // configure a webhook.
  GATEWAY_ALLOW_PRIVATE_WEBHOOKS: field.boolean({
    doc: 'allows webhooks of customers on private and loopback addresses, and plain HTTP to them',
    default: false,
  }),
};
