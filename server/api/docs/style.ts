/** The reference page's style: of its own, in light and dark, nothing fetched. */
export const STYLE = `
:root { color-scheme: light dark; --fg: #1a2129; --dim: #5a6672; --bg: #fff; --panel: #f4f6f8;
  --line: #d9dfe5; --accent: #0b62c4; --get: #0a7a43; --post: #9a5200; }
@media (prefers-color-scheme: dark) { :root { --fg: #e4e9ee; --dim: #98a4b0; --bg: #11161b;
  --panel: #1a2128; --line: #2e3842; --accent: #6db3ff; --get: #5fd39a; --post: #f0b167; } }
* { box-sizing: border-box; }
body { margin: 0; color: var(--fg); background: var(--bg); font: 16px/1.55 system-ui, sans-serif; }
.page { display: grid; grid-template-columns: 15rem minmax(0, 1fr); max-width: 80rem; margin: 0 auto; }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto;
  padding: 2rem 1rem; font-size: .9rem; }
nav h2 { margin: 1.2rem 0 .3rem; font-size: .75rem; letter-spacing: .06em; text-transform: uppercase;
  color: var(--dim); }
nav ul { margin: 0; padding: 0; list-style: none; }
nav a { display: block; padding: .15rem 0; color: var(--fg); text-decoration: none; }
nav a:hover, nav a:focus { color: var(--accent); text-decoration: underline; }
main { padding: 2rem 1.5rem 6rem; min-width: 0; }
a { color: var(--accent); }
h1 { margin: 0 0 .5rem; } h1 small { color: var(--dim); font-size: .5em; font-weight: 400; }
section { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); }
section h3 { margin: 0 0 .5rem; font-size: 1.25rem; }
h4 { margin: 1.4rem 0 .4rem; }
code { font: .87em ui-monospace, monospace; overflow-wrap: anywhere; }
p code, td code, li code { padding: .08em .3em; border-radius: 3px; background: var(--panel); }
pre { padding: .8rem 1rem; border-radius: 6px; background: var(--panel); overflow-x: auto; }
.method { padding: .1em .5em; border: 1px solid currentColor; border-radius: 4px; font-weight: 600; }
.get { color: var(--get); } .post { color: var(--post); }
.table { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { padding: .4rem .6rem .4rem 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
td:first-child code { white-space: nowrap; }
th { color: var(--dim); font-weight: 500; }
small { color: var(--dim); } .deprecated { color: var(--post); }
summary { margin: 1rem 0 .4rem; cursor: pointer; font-weight: 600; }
@media (max-width: 52rem) { .page { display: block; } nav { position: static; max-height: none;
  padding-bottom: 0; } }
`;
