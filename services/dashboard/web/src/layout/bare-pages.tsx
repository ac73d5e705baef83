import { Button } from '@mantine/core';
import { Link } from 'react-router';
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
