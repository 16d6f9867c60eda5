/** Opens the command palette on ctrl+K; its code is loaded then. */
import { useEffect, useState } from 'preact/hooks';
import type Commands from './commands.js';

export function CommandOpener() {
  const [Palette, setPalette] = useState<typeof Commands | null>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      void import('./commands.js').then((loaded) => setPalette(() => loaded.default));
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return Palette === null ? null : <Palette onClose={() => setPalette(null)} />;
}
