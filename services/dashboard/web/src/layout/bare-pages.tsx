import { Button, Loader } from '@mantine/core';
import { Link, useRouteError } from 'react-router';
import { Empty } from '../ui/empty.js';
import { useDocumentTitle } from '../ui/page.js';

/** No page has this address. */
export function NotFound() {
  useDocumentTitle('Page not found');
  return (
    <main className="loading-page">
      <Empty
        icon="search"
        title="There is no such page"
        actions={
          <Button component={Link} to="/">
            Go to the overview
          </Button>
        }
      >
        The address may be mistyped, or the page has moved.
      </Empty>
    </main>
  );
}

/** A page that could not be shown; most often its files are of an older release than the server. */
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
        Most often the gateway was updated meanwhile, and reloading helps.
        {fault instanceof Error && <span className="hidden-text">{fault.message}</span>}
      </Empty>
    </main>
  );
}

/** Before anything is known. */
export function PageLoading() {
  return (
    <main className="loading-page" aria-busy="true">
      <Loader size="sm" color="gray" />
      <span className="hidden-text">Loading</span>
    </main>
  );
}
