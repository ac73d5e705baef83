// Sets the colour scheme before the first paint, so that a dark page does not flash white. A plain
// script, because modules run later.
(function () {
  var chosen = null;
  try {
    chosen = window.localStorage.getItem('gw-color-scheme');
  } catch {
    // If storage is disabled, the system's colour scheme applies.
  }
  if (chosen !== 'light' && chosen !== 'dark') {
    chosen = window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  }
  document.documentElement.setAttribute('data-mantine-color-scheme', chosen);
})();
