/** Opens the command palette on ctrl+K; loads its code then, or earlier while the page is idle. */
import { useEffect, useState } from 'preact/hooks';
import type Commands from './commands.js';

export function CommandOpener() {
  const [Palette, setPalette] = useState<typeof Commands | null>(null);
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    const load = (): void =>
      void import('./commands.js').then(
        (loaded) => setPalette(() => loaded.default),
        () => undefined,
      );
    const onKey = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setIsOpen(true);
      load();
    };
    document.addEventListener('keydown', onKey);
    // Otherwise letters typed right after ctrl+K would be lost while the code loads.
    if ('requestIdleCallback' in window) requestIdleCallback(load);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return isOpen && Palette !== null ? <Palette onClose={() => setIsOpen(false)} /> : null;
}
