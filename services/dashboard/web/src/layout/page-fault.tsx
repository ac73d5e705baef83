import { Button } from '@mantine/core';
import { useRouteError } from 'react-router';
import { Empty } from '../ui/empty.js';
import { useDocumentTitle } from '../ui/page.js';

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
