import type { OperatorRoute } from './route.js';
import { ACCOUNT_ROUTES } from './accounts/accounts.js';
import { ALERT_ROUTES, WEBHOOK_ROUTES } from './accounts/alerts.js';
import { APPLY_ROUTES } from './catalog/apply.js';
import { LEDGER_ROUTES, USAGE_ROUTES } from './money/ledger.js';
import { EXPORT_ROUTES } from './money/exports.js';
import {
  ALIAS_ROUTES,
  MODEL_ROUTES,
  PRICE_PROPOSAL_ROUTES,
  PROFILE_ROUTES,
  PROVIDER_ROUTES,
  SOURCE_ROUTES,
} from './catalog/catalog.js';
import { KEY_ROUTES } from './accounts/keys.js';
import { MEMBER_ROUTES } from './accounts/members.js';
import { OPERATION_ROUTES } from './operations/operations.js';
import { OPERATOR_ROUTES } from './operations/operators.js';
import { LIMIT_ROUTES, PLAN_ROUTES, SUBSCRIPTION_ROUTES } from './money/plans.js';
import { WALLET_ROUTES } from './money/wallets.js';

/** The routes of the operator API. `/sources/health` must precede `/sources/{id}`. */
export const ROUTE_TABLE: readonly OperatorRoute[] = [
  ...OPERATION_ROUTES,
  ...PROFILE_ROUTES,
  ...PROVIDER_ROUTES,
  ...MODEL_ROUTES,
  ...ALIAS_ROUTES,
  ...SOURCE_ROUTES,
  ...PRICE_PROPOSAL_ROUTES,
  ...PLAN_ROUTES,
  ...APPLY_ROUTES,
  ...ACCOUNT_ROUTES,
  ...LIMIT_ROUTES,
  ...SUBSCRIPTION_ROUTES,
  ...WALLET_ROUTES,
  ...MEMBER_ROUTES,
  ...KEY_ROUTES,
  ...USAGE_ROUTES,
  ...LEDGER_ROUTES,
  ...EXPORT_ROUTES,
  ...ALERT_ROUTES,
  ...WEBHOOK_ROUTES,
  ...OPERATOR_ROUTES,
];
