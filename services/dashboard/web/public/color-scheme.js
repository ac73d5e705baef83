// Before the first paint, so that nobody in the dark sees a white page. Not a module: modules run
// later.
(function () {
  var chosen = null;
  try {
    chosen = window.localStorage.getItem('gw-color-scheme');
  } catch {
    // Storage may be switched off; the system's choice is good then.
  }
  if (chosen !== 'light' && chosen !== 'dark') {
    chosen = window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  }
  document.documentElement.setAttribute('data-mantine-color-scheme', chosen);
})();
