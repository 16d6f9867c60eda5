/** Says that alerts fired, besides in the page: with a sound, with a system notification. */
import { shortAddress } from '../state/format.js';
import { show } from '../state/session.js';
import { tokenView } from '../state/url.js';
import { kept } from './kept.js';
import type { Fired } from './kept-text.js';
import { Pauses } from './pauses.js';

/** The least time between two sounds, and between two notifications of a token. */
const LEAST_PAUSE_MS = 5000;

let context: AudioContext | null = null;
const pauses = new Pauses(LEAST_PAUSE_MS);

export function announce(fired: readonly Fired[]): void {
  const { hasSound, hasNotification } = kept.value;
  const nowMs = performance.now();
  if (hasSound && pauses.begin('sound', nowMs)) beep();
  if (hasNotification && pauses.begin(fired[0].address, nowMs)) notify(fired);
}

/** What a browser lets the page do about notifications. */
export type Permission = NotificationPermission | 'missing';

export function permission(): Permission {
  return 'Notification' in window ? Notification.permission : 'missing';
}

/** Asks for the permission, which browsers allow only after a click. */
export async function askPermission(): Promise<Permission> {
  return 'Notification' in window ? Notification.requestPermission() : 'missing';
}

function notify(fired: readonly Fired[]): void {
  if (permission() !== 'granted') return;
  const { address, symbol } = fired[0];
  const text = fired.map((one) => one.text).join('\n');
  const notice = new Notification(symbol ?? shortAddress(address), {
    body: text,
    // A newer one about the token replaces it.
    tag: `fathom ${address}`,
    icon: document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href,
  });
  notice.addEventListener('click', () => {
    window.focus();
    show(tokenView(address));
    notice.close();
  });
}

/** Two short tones. Browsers play none before the first click or key on the page. */
export function beep(): void {
  context ??= new AudioContext();
  const audio = context;
  void audio.resume().then(() => {
    for (const [at, hertz] of [
      [0, 880],
      [0.16, 1175],
    ] as const) {
      const [tone, volume] = [audio.createOscillator(), audio.createGain()];
      const start = audio.currentTime + at;
      tone.frequency.value = hertz;
      volume.gain.setValueAtTime(0.15, start);
      volume.gain.exponentialRampToValueAtTime(0.001, start + 0.14);
      tone.connect(volume).connect(audio.destination);
      tone.start(start);
      tone.stop(start + 0.15);
    }
  });
}

/** Whether the browser would play a sound now: after a reload, it waits for a click or key. */
export function canSound(): boolean {
  return navigator.userActivation?.hasBeenActive ?? true;
}
