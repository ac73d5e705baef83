import { COMMON_FIELDS, field } from '@gateway/service-kit';

/** Variables of this service, in addition to those of every service. */
export const ACCOUNTS_FIELDS = {
  GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL,
  GATEWAY_POSTGRES_URL: COMMON_FIELDS.GATEWAY_POSTGRES_URL,
  GATEWAY_TEAMS_ENABLED: COMMON_FIELDS.GATEWAY_TEAMS_ENABLED,
  GATEWAY_SMTP_URL: COMMON_FIELDS.GATEWAY_SMTP_URL,
  GATEWAY_DASHBOARD_URL: COMMON_FIELDS.GATEWAY_DASHBOARD_URL,
  GATEWAY_MAIL_FROM: field.string({ doc: 'sender of mails', default: 'Model gateway <no-reply@localhost>' }),
};
