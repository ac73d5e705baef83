import { createBrowserRouter } from 'react-router';
import { AccountShell } from '../layout/account-shell.js';
import { NotFound, PageFault, PageLoading } from '../layout/bare-pages.js';

const mailLinks = () => import('../pages/sign-in/mail-links.js');

/** The routes of all pages; each page is a separate chunk. */
export const router = createBrowserRouter([
  {
    ErrorBoundary: PageFault,
    HydrateFallback: PageLoading,
    children: [
      { path: '/sign-up', lazy: () => import('../pages/sign-in/sign-up.js') },
      { path: '/sign-in', lazy: () => import('../pages/sign-in/sign-in.js') },
      { path: '/verify', lazy: async () => ({ Component: (await mailLinks()).Verify }) },
      { path: '/forgot', lazy: () => import('../pages/sign-in/forgot.js') },
      { path: '/reset', lazy: async () => ({ Component: (await mailLinks()).Reset }) },
      { path: '/invitation', lazy: async () => ({ Component: (await mailLinks()).Invitation }) },
      {
        path: '/',
        Component: AccountShell,
        ErrorBoundary: PageFault,
        children: [
          { index: true, lazy: () => import('../pages/overview/overview.js') },
          { path: 'keys', lazy: () => import('../pages/keys/keys.js') },
          { path: 'usage', lazy: () => import('../pages/usage/usage.js') },
          { path: 'billing', lazy: () => import('../pages/billing/billing.js') },
          { path: 'models', lazy: () => import('../pages/models/models.js') },
          { path: 'quick-start', lazy: () => import('../pages/quick-start/quick-start.js') },
          { path: 'playground', lazy: () => import('../pages/playground/playground.js') },
          { path: 'team', lazy: () => import('../pages/team/team.js') },
          { path: 'account', lazy: () => import('../pages/account/account.js') },
        ],
      },
      { path: '/operator/sign-in', lazy: () => import('../pages/operator/operator-sign-in.js') },
      {
        path: '/operator',
        lazy: () => import('../layout/operator-shell.js'),
        ErrorBoundary: PageFault,
        children: [
          { index: true, lazy: () => import('../pages/operator/accounts.js') },
          { path: 'accounts/:id', lazy: () => import('../pages/operator/account.js') },
          { path: 'models', lazy: () => import('../pages/operator/models.js') },
          { path: 'sources', lazy: () => import('../pages/operator/sources.js') },
          { path: 'slots', lazy: () => import('../pages/operator/slots.js') },
          { path: 'audit', lazy: () => import('../pages/operator/audit.js') },
        ],
      },
      { path: '*', Component: NotFound },
    ],
  },
]);
