import type { PageRoute } from './route.js';
import { EXPORT_PAGE_ROUTES } from './usage/exports.js';
import { KEY_PAGE_ROUTES } from './account/keys.js';
import { MODEL_PAGE_ROUTES } from './models/models.js';
import { OPERATOR_SESSION_ROUTES } from './sign-in/operator-session.js';
import { OVERVIEW_ROUTES } from './account/overview.js';
import { PEOPLE_ROUTES } from './sign-in/people.js';
import { PLAYGROUND_ROUTES } from './models/playground.js';
import { SERIES_ROUTES } from './usage/series.js';
import { SESSION_ROUTES } from './sign-in/session.js';
import { SHARED_PAGE_ROUTES } from './account/shared.js';
import { TEAM_ROUTES } from './account/team.js';
import { STATEMENT_ROUTES, USAGE_PAGE_ROUTES } from './usage/records.js';

/**
 * The routes of the pages' API, below `/api`. Routes below `/operator/` are served only if
 * operators may sign in on the pages.
 */
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
