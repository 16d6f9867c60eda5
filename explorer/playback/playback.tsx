/** Plays what is in sight on the map, snapshot by snapshot. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Icon } from '../frame/icon.js';
import type { TimeWindow } from '../heatmap/detail.js';
import type { Ladder } from '../ladder/ladder.js';
import { absoluteTime } from '../state/format.js';
import { isTyping, onEscape } from '../state/keys.js';
import { pause } from '../state/pause.js';
import { useValue } from '../state/use-value.js';
import { zone } from '../state/zone.js';
import { Frames, type FramesSource, type Shot } from './frames.js';
import './playback.css';

/** Snapshots per second. */
const SPEEDS = [1, 2, 5, 10, 20] as const;
const USUAL_SPEED = 5;
/** A step or a scrub pins its time once it has rested this long; the page then requests the data of that time. */
const SETTLED_MS = 400;
/** Positions of the slider. */
const POSITIONS = 500;

/** A moment that playback shows. */
export interface Played {
  ladder: Ladder;
  /** False once it rests: then its time is pinned, or now is shown. */
  isMoving: boolean;
}

interface PlaybackProps extends FramesSource {
  /** The snapshots in sight, by ascending time. */
  shotsInSight: () => readonly Shot[];
  view: TimeWindow;
  pinnedT: number | null;
  /** Whether what is in sight ends with the newest snapshot: there playback continues live. */
  endsLive: boolean;
  onPlay: (played: Played | null) => void;
  onPin: (t: number | null) => void;
  onFailure: (error: unknown) => void;
}

export function Playback(props: PlaybackProps) {
  const { client, address, filter, view, pinnedT } = props;
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<number>(USUAL_SPEED);
  /** The moment shown before it is pinned. */
  const [movingT, setMovingT] = useState<number | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const ended = useMemo(() => new AbortController(), [client, address, JSON.stringify(filter)]);
  const frames = useMemo(() => new Frames({ client, address, filter }, ended.signal), [ended]);
  useEffect(() => () => ended.abort(), [ended]);
  const shown = useRef<Ladder | null>(null);
  const t = movingT ?? pinnedT ?? view.to;
  const shownT = useRef(t);
  shownT.current = t;
  useValue(zone);

  /** @returns whether the snapshot still exists */
  const showAt = async (
    shots: readonly Shot[],
    index: number,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const ladder = await frames.at(shots, index);
    signal.throwIfAborted();
    if (ladder === null) return false;
    shown.current = ladder;
    setMovingT(ladder.t);
    latest.current.onPlay({ ladder, isMoving: true });
    return true;
  };
  const settle = (at: number | null): void => {
    setMovingT(null);
    const ladder = shown.current;
    const isShown = ladder !== null && (at === null || ladder.t === at);
    latest.current.onPlay(isShown ? { ladder, isMoving: false } : null);
    latest.current.onPin(at);
  };
  const fail = (error: unknown): void => {
    if (ended.signal.aborted) return;
    setPlaying(false);
    settle(shownT.current);
    latest.current.onFailure(error);
  };

  useEffect(() => {
    if (!isPlaying) return;
    const stopped = new AbortController();
    const play = async (): Promise<void> => {
      let shots = latest.current.shotsInSight();
      let at = shownT.current;
      // At the end it starts over.
      if (indexAfter(shots, at) === shots.length) at = (shots[0]?.t ?? 0) - 1;
      for (let dueMs = performance.now(); ; shots = latest.current.shotsInSight()) {
        const index = indexAfter(shots, at);
        if (index === shots.length) break;
        const isShown = await showAt(shots, index, stopped.signal);
        at = shots[index].t;
        if (!isShown) continue;
        dueMs = Math.max(dueMs + 1000 / speed, performance.now());
        await pause(dueMs - performance.now(), stopped.signal);
      }
      setPlaying(false);
      settle(latest.current.endsLive ? null : at);
    };
    play().catch((error: unknown) => {
      if (!stopped.signal.aborted) fail(error);
    });
    return () => stopped.abort();
  }, [isPlaying, speed, frames]);

  /** The last step or scrub. */
  const last = useRef<AbortController | null>(null);
  useEffect(() => () => last.current?.abort(), []);
  const goTo = (index: number): void => {
    setPlaying(false);
    last.current?.abort();
    const own = (last.current = new AbortController());
    const shots = latest.current.shotsInSight();
    if (shots.length === 0) return;
    const to = Math.min(shots.length - 1, Math.max(0, index));
    setMovingT(shots[to].t);
    const go = async (): Promise<void> => {
      await showAt(shots, to, own.signal);
      await pause(SETTLED_MS, own.signal);
      settle(shots[to].t);
    };
    go().catch((error: unknown) => {
      if (!own.signal.aborted) fail(error);
    });
  };
  const stepBy = (by: 1 | -1): void => {
    const shots = latest.current.shotsInSight();
    const next = indexAfter(shots, shownT.current);
    const isAtOne = shots[next - 1]?.t === shownT.current;
    goTo(by > 0 ? next : next - (isAtOne ? 2 : 1));
  };
  const toggle = (): void => {
    last.current?.abort();
    if (isPlaying) settle(shownT.current);
    setPlaying(!isPlaying);
  };
  // Pinning a time on the map ends playback.
  useEffect(() => {
    last.current?.abort();
    setPlaying(false);
    setMovingT(null);
    if (pinnedT !== null && shown.current?.t !== pinnedT) latest.current.onPlay(null);
  }, [pinnedT]);
  const stop = (): void => {
    if (movingT === null) return;
    last.current?.abort();
    setPlaying(false);
    settle(null);
  };
  useKeys({ p: toggle, ',': () => stepBy(-1), '.': () => stepBy(1) });
  const latestStop = useRef(stop);
  latestStop.current = stop;
  useEffect(() => onEscape(() => latestStop.current()), []);

  return (
    <div class="playback" role="group" aria-label="Playback">
      <button type="button" aria-label="Step back" title="Step back (,)" onClick={() => stepBy(-1)}>
        <Icon name="back" />
      </button>
      <button
        type="button"
        aria-label={isPlaying ? 'Pause playback' : 'Play'}
        title={isPlaying ? 'Pause playback (P)' : 'Play what is in sight (P)'}
        onClick={toggle}
      >
        <Icon name={isPlaying ? 'pause' : 'play'} />
      </button>
      <button
        type="button"
        aria-label="Step forward"
        title="Step forward (.)"
        onClick={() => stepBy(1)}
      >
        <Icon name="forward" />
      </button>
      <input
        type="range"
        aria-label="Moment"
        aria-valuetext={absoluteTime(t)}
        min={view.from}
        max={view.to}
        step={Math.max(1, Math.ceil((view.to - view.from) / POSITIONS))}
        value={t}
        onInput={(event) => {
          const at = Number(event.currentTarget.value);
          goTo(indexAfter(latest.current.shotsInSight(), at) - 1);
        }}
      />
      <select
        aria-label="Snapshots a second"
        title="Snapshots a second"
        value={speed}
        onChange={(event) => setSpeed(Number(event.currentTarget.value))}
      >
        {SPEEDS.map((one) => (
          <option key={one} value={one}>
            {one}/s
          </option>
        ))}
      </select>
    </div>
  );
}

/** The index of the first snapshot after `t`. */
function indexAfter(shots: readonly Shot[], t: number): number {
  const index = shots.findIndex((one) => one.t > t);
  return index < 0 ? shots.length : index;
}

/** Calls back on keys of the page, unless the user types or a dialog is open. */
function useKeys(work: Readonly<Record<string, () => void>>): void {
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isOther = event.ctrlKey || event.metaKey || event.altKey;
      if (isTyping(event) || isOther || document.querySelector('dialog[open]') !== null) return;
      latest.current[event.key.toLowerCase()]?.();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}
