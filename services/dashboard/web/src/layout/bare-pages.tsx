import { Button, Loader } from '@mantine/core';
import { Link, useRouteError } from 'react-router';
import { Empty } from '../ui/empty.js';
import { useDocumentTitle } from '../ui/page.js';

/** Shown for an unknown path. */
export function NotFound() {
  useDocumentTitle('Page not found');
  return (
    <main className="loading-page">
      <Empty
        icon="search"
        title="Page not found"
        actions={
          <Button component={Link} to="/">
            Go to the overview
          </Button>
        }
      >
        Check the address, or go to the overview.
      </Empty>
    </main>
  );
}

/** Shown if a page failed to render; usually its files are older than the server. */
export function PageFault() {
  const fault = useRouteError();
  useDocumentTitle('Something went wrong');
  return (
    <main className="loading-page">
      <Empty
        icon="warn"
        title="This page could not be shown"
        actions={<Button onClick={() => window.location.reload()}>Reload</Button>}
      >
        The gateway was probably updated. Reload the page.
        {fault instanceof Error && <span className="hidden-text">{fault.message}</span>}
      </Empty>
    </main>
  );
}

/** Shown until the session is loaded. */
export function PageLoading() {
  return (
    <main className="loading-page" aria-busy="true">
      <Loader size="sm" color="gray" />
      <span className="hidden-text">Loading</span>
    </main>
  );
}
