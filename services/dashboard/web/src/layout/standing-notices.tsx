import { Notice } from '../ui/notice.js';

/** Plain HTTP on a host that others can reach. */
export function TlsNeeded() {
  return (
    <Notice tone="warn" title="This dashboard is served without encryption">
      Passwords and keys travel readable for everybody on the way. Whoever runs it has to put TLS in front of it and set
      its address to https before it is used.
    </Notice>
  );
}
