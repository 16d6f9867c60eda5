/** The page. */
export function App() {
  return <main>Fathom</main>;
}
