import type { OperatorRoute } from '../operator/route.js';
import { ACCOUNT_ROUTES, LIMIT_ROUTES, SUBSCRIPTION_ROUTES } from './account-routes.js';
import { ALERT_ROUTES, WEBHOOK_ROUTES } from './alert-routes.js';
import { APPLY_ROUTES } from './apply-routes.js';
import { LEDGER_ROUTES, USAGE_ROUTES } from './billing-routes.js';
import { CLOSING_ROUTES } from './closing-routes.js';
import { EXPORT_ROUTES } from './export-routes.js';
import { MODEL_ROUTES, PROVIDER_ROUTES, SOURCE_ROUTES } from './catalog-routes.js';
import { KEY_ROUTES } from './key-routes.js';
import { MEMBER_ROUTES } from './member-routes.js';
import { OPERATION_ROUTES } from './operation-routes.js';
import { OPERATOR_ROUTES } from './operator-routes.js';
import { PLAN_ROUTES } from './plan-routes.js';
import { WALLET_ROUTES } from './wallet-routes.js';

/** The operator API (interfaces, Operator API). `/sources/health` stands before `/sources/{id}`. */
export const ROUTE_TABLE: readonly OperatorRoute[] = [
  ...OPERATION_ROUTES,
  ...PROVIDER_ROUTES,
  ...MODEL_ROUTES,
  ...SOURCE_ROUTES,
  ...PLAN_ROUTES,
  ...APPLY_ROUTES,
  ...ACCOUNT_ROUTES,
  ...CLOSING_ROUTES,
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
