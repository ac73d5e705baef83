import { readFileSync, readdirSync } from 'node:fs';
import { until } from '@gateway/testkit';

/** Returns the link to a path of the dashboard from the newest email to an address. */
export function readEmailedLink(address: string, path: string): Promise<string> {
  const directory = `${process.env['GATEWAY_E2E_STATE']}/mailbox`;
  const link = new RegExp(`https?://[^\\s<>]+${path}#token=[A-Za-z0-9_-]{43}`);
  return until(`an email to ${address} with a link to ${path}`, () => {
    const names = readdirSync(directory).filter((name) => name.endsWith('.eml'));
    const found = names
      .sort()
      .map((name) => readFileSync(`${directory}/${name}`, 'utf8'))
      .filter((mail) => mail.includes(`To: ${address}`))
      .map((mail) => link.exec(mail.replace(/=\r?\n/g, '').replaceAll('=3D', '='))?.[0]);
    return found.findLast((url) => url !== undefined);
  });
}
