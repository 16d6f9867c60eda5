/** When a command that runs on has to end. */

/** How often a command below npx looks whether npx is still there. */
const PARENT_POLL_MS = 250;

/**
 * Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. Started by npx it
 * also resolves when its parent has gone: npx passes signals to a shell, which dies of them without
 * passing them on, and the command would be left behind.
 */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const parent = process.ppid;
    const belowNpx = process.env.npm_command === 'exec';
    const watch = belowNpx
      ? setInterval(() => {
          if (process.ppid !== parent) stop();
        }, PARENT_POLL_MS)
      : undefined;
    const stop = (): void => {
      clearInterval(watch);
      process.off('SIGTERM', stop);
      process.off('SIGINT', stop);
      resolve();
    };
    watch?.unref();
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}
