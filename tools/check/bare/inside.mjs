// Runs in separate namespaces (see ../bare.mjs): creates the bare root, then runs every story for
// each user.
import { fileURLToPath } from 'node:url';
import { BareRoot } from './bare-root.mjs';
import { placeSource } from './checkout.mjs';
import { Results } from './results.mjs';
import { storiesOf } from './stories.mjs';

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));
const RESULTS = fileURLToPath(new URL('../../../.results/bare.md', import.meta.url));
const USERS = {
  root: { name: 'root', home: '/root', title: 'root' },
  user: { name: 'someone', home: '/home/someone', title: 'ordinary user' },
};

const [directory, optionsText] = process.argv.slice(2);
const options = JSON.parse(optionsText);
const results = new Results();
process.on('SIGINT', () => {
  console.error('\ninterrupted: nothing is written');
  process.exit(130);
});

const root = await results.step('preparation', 'bare Debian 12 root', () =>
  BareRoot.make(REPOSITORY, `${directory}/root`),
);
const source =
  root && (await results.step('preparation', 'the source in it', () => placeSource(REPOSITORY, root, options)));
if (source) {
  for (const [kind, user] of Object.entries(USERS)) {
    if (options.only !== undefined && options.only !== kind) continue;
    for (const story of storiesOf({ user, root, source, options })) {
      const seen = await results.step(user.title, story.title, story.tell);
      root.killAll();
      if (seen === null && story.essential) break;
    }
  }
}
results.write(RESULTS, { source, root });
process.exit(results.failed === 0 ? 0 : 1);
