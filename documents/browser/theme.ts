/** Before the page is drawn: the theme chosen in the explorer or here takes precedence over the system's. */
const isDark = matchMedia('(prefers-color-scheme: dark)');

function showTheme(): void {
  const chosen = localStorage.getItem('fathom.theme');
  const theme = chosen === null ? (isDark.matches ? 'dark' : 'light') : chosen;
  document.documentElement.dataset.theme = theme;
  // Swagger UI's own name for it.
  document.documentElement.classList.toggle('dark-mode', theme === 'dark');
}

isDark.addEventListener('change', showTheme);
addEventListener('storage', showTheme);
// What the button of a page sends.
addEventListener('fathom-theme', showTheme);
showTheme();
