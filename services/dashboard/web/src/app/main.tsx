// Styles come first, because later ones override them and pages import their own.
import '../styles/mantine.css';
import '../styles/tokens.css';
import '../styles/base.css';
import '../ui/ui.css';
import { MantineProvider, localStorageColorSchemeManager } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from 'react-router';
import { ApiError } from '../api/request.js';
import { Toasts } from '../ui/toasts.js';
import { router } from './routes.js';
import { theme } from './theme.js';

/** Most retries of a query after a temporary failure. */
const RETRIES_MAX = 2;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, fault) =>
        failures < RETRIES_MAX && (!(fault instanceof ApiError) || fault.status >= 500 || fault.status === 0),
      refetchOnWindowFocus: true,
    },
    mutations: { retry: false },
  },
});

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no element with the ID root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      colorSchemeManager={localStorageColorSchemeManager({ key: 'gw-color-scheme' })}
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={client}>
        <Toasts>
          <RouterProvider router={router} />
        </Toasts>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
