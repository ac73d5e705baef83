import type { PageRoute } from '../pages/page-route.js';
import { EXPORT_PAGE_ROUTES } from './export-routes.js';
import { KEY_PAGE_ROUTES } from './key-routes.js';
import { MODEL_PAGE_ROUTES } from './model-routes.js';
import { OPERATOR_SESSION_ROUTES } from './operator-session-routes.js';
import { OVERVIEW_ROUTES } from './overview-routes.js';
import { PEOPLE_ROUTES } from './people-routes.js';
import { PLAYGROUND_ROUTES } from './playground-routes.js';
import { SERIES_ROUTES } from './series-routes.js';
import { SESSION_ROUTES } from './session-routes.js';
import { SHARED_PAGE_ROUTES } from './shared-routes.js';
import { STATEMENT_ROUTES } from './statement-routes.js';
import { TEAM_ROUTES } from './team-routes.js';
import { USAGE_PAGE_ROUTES } from './usage-routes.js';

/** The API of the pages, below `/api`. Rows below `/operator/` are served where operators are switched on. */
export const PAGE_TABLE: readonly PageRoute[] = [
  ...PEOPLE_ROUTES,
  ...SESSION_ROUTES,
  ...OPERATOR_SESSION_ROUTES,
  ...OVERVIEW_ROUTES,
  ...SERIES_ROUTES,
  ...KEY_PAGE_ROUTES,
  ...USAGE_PAGE_ROUTES,
  ...EXPORT_PAGE_ROUTES,
  ...STATEMENT_ROUTES,
  ...SHARED_PAGE_ROUTES,
  ...MODEL_PAGE_ROUTES,
  ...PLAYGROUND_ROUTES,
  ...TEAM_ROUTES,
];
