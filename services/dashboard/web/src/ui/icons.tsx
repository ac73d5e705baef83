const PATHS = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
  key: 'M14.5 9.5a4.5 4.5 0 1 0-3.2 4.3L13 15.5h2.5V18H18v2.5h2.5v-3L14 11a4.4 4.4 0 0 0 .5-1.5zM9 8.5v.01',
  usage: 'M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6M20 16v-3',
  billing:
    'M3 7.5A2.5 2.5 0 0 1 5.500 5h13A2.500 2.500 0 0 1 21 7.500v9a2.500 2.500 0 0 1-2.500 2.500h-13A2.500 2.500 0 0 1 3 16.500zM3 10h18M7 15h3',
  models: 'M12 3l8 4.500v9L12 21l-8-4.500v-9zM12 12l8-4.500M12 12v9M12 12L4 7.500',
  start: 'M5 7l5 5-5 5M12 17h7',
  playground:
    'M5 5h14a1.500 1.500 0 0 1 1.500 1.500v9A1.500 1.500 0 0 1 19 17h-8l-5 4v-4H5a1.500 1.500 0 0 1-1.500-1.500v-9A1.500 1.500 0 0 1 5 5zM8.500 11h.01M12 11h.01M15.500 11h.01',
  team: 'M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM2.500 20a6.500 6.500 0 0 1 13 0M16 4.300a3.500 3.500 0 0 1 0 6.400M18.500 14.500a6.500 6.500 0 0 1 3 5.500',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.500 20.500a7.500 7.500 0 0 1 15 0',
  copy: 'M9 9h10a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1zM5 15H4a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1h10a1 1 0 0 1 1 1v1',
  check: 'M5 12.500l4.500 4.500L19 7.500',
  close: 'M6 6l12 12M18 6L6 18',
  plus: 'M12 5v14M5 12h14',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  warn: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01',
  bad: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7.500V13M12 16h.01',
  rotate: 'M20 11a8 8 0 0 0-14.300-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14.300 4L20 15M20 20v-5h-5',
  stop: 'M7 7h10v10H7z',
  send: 'M4 12l16-8-6 16-3-7z',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.500 4.500',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  chevron: 'M8 10l4 4 4-4',
  out: 'M9 5H6a1 1 0 0 0-1 1v12a1 1 0 0 0 1 1h3M15 8l4 4-4 4M19 12H10',
  mail: 'M4 6h16a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V7a1 1 0 0 1 1-1zM3.500 7.500L12 13l8.500-5.500',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l1.500 2h-15zM10 21h4',
  moon: 'M20 14.500A8 8 0 0 1 9.500 4 8 8 0 1 0 20 14.500z',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 3v1.500M12 19.500V21M3 12h1.500M19.500 12H21M5.600 5.600l1.100 1.100M17.300 17.300l1.100 1.100M5.600 18.400l1.100-1.100M17.300 6.700l1.100-1.100',
  server: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  slots: 'M4 6h16M4 12h10M4 18h13',
  audit: 'M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h5',
  shield: 'M12 3l7.500 3v5.500c0 4.500-3 8-7.500 9.500-4.500-1.500-7.500-5-7.500-9.500V6z',
  back: 'M19 12H5M11 6l-6 6 6 6',
} as const;
export type IconName = keyof typeof PATHS;

/** A decorative icon. A button without text needs a label. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2.6 : 1.7}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
