/** Turns wheel, drag, touch and keys into moves of the picture. */
import type { Point } from './view.js';

/** Points are shares of the plot's width (from the left) and height (from the bottom). */
export interface Controls {
  /** @param at what stays where it is; 'cursor': the cursor, or the middle if there is none */
  zoom(at: Point | 'cursor', factor: { time?: number; price?: number }): void;
  pan(by: Point): void;
  /** Moves the cursor there; null hides it. */
  point(at: Point | null): void;
  /**
   * Reports the moment there, at the cursor ('cursor'), or now (null).
   *
   * @param isSecond whether it is the second moment, with which the first is compared
   */
  pin(at: Point | 'cursor' | null, isSecond?: boolean): void;
  /** Moves the cursor by snapshots and bins. */
  step(snapshots: number, bins: number): void;
  /** Returns to the initial view. */
  home(): void;
  /** Shows everything. */
  all(): void;
  goTo(end: 'from' | 'to'): void;
}

const WHEEL_RATE = 0.0016;
/** Trackpad pinches arrive as small wheel moves with ctrl. */
const PINCH_RATE = 0.01;
const LINE_PX = 16;
const KEY_PAN = 0.1;
const KEY_ZOOM = 1.3;
/** A finger that moves less than this makes a tap. */
const TAP_PX = 8;
/** Fingers closer than this along an axis do not zoom it. */
const MIN_PINCH_PX = 40;
const AXIS_DRAG_RATE = 3;

/** The middle of the plot. */
export const CENTRE: Point = { x: 0.5, y: 0.5 };

/** @returns a function that stops listening */
export function listen(frame: HTMLElement, plot: HTMLElement, controls: Controls): () => void {
  const ended = new AbortController();
  const { signal } = ended;
  const pointers = new Pointers(plot, controls);
  frame.addEventListener('wheel', (event) => wheel(event, plot, controls), {
    signal,
    passive: false,
  });
  frame.addEventListener('keydown', (event) => key(event, controls), { signal });
  const home = (): void => {
    // The first click of the double click has pinned a time.
    controls.pin(null);
    controls.home();
  };
  frame.addEventListener('dblclick', home, { signal });
  frame.addEventListener(
    'pointerdown',
    (event) => {
      if (event.button !== 0) return;
      frame.setPointerCapture(event.pointerId);
      pointers.down(event);
    },
    { signal },
  );
  frame.addEventListener('pointermove', (event) => pointers.move(event), { signal });
  frame.addEventListener('pointerup', (event) => pointers.up(event), { signal });
  frame.addEventListener('pointercancel', (event) => pointers.up(event), { signal });
  frame.addEventListener(
    'pointerleave',
    (event) => {
      if (event.pointerType !== 'touch') controls.point(null);
    },
    { signal },
  );
  return () => ended.abort();
}

function shares(plot: HTMLElement, { clientX, clientY }: MouseEvent): Point {
  const { left, bottom, width, height } = plot.getBoundingClientRect();
  return { x: (clientX - left) / width, y: (bottom - clientY) / height };
}

function isInside({ x, y }: Point): boolean {
  return x >= 0 && x < 1 && y >= 0 && y < 1;
}

/** The wheel zooms time; with shift, or over the price axis, it zooms prices; a trackpad pinch zooms both. */
function wheel(event: WheelEvent, plot: HTMLElement, controls: Controls): void {
  event.preventDefault();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : LINE_PX;
  const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
  const at = shares(plot, event);
  if (event.ctrlKey) {
    const factor = Math.exp(dy * PINCH_RATE);
    controls.zoom(at, { time: factor, price: factor });
  } else if (event.shiftKey || at.x > 1) {
    controls.zoom(at, { price: Math.exp((dy || dx) * WHEEL_RATE) });
  } else if (Math.abs(dx) > Math.abs(dy)) {
    controls.pan({ x: dx / plot.clientWidth, y: 0 });
  } else {
    controls.zoom(at, { time: Math.exp(dy * WHEEL_RATE) });
  }
}

function key(event: KeyboardEvent, controls: Controls): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const moves: Record<string, () => void> = {
    ArrowLeft: () => (event.shiftKey ? controls.step(-1, 0) : controls.pan({ x: -KEY_PAN, y: 0 })),
    ArrowRight: () => (event.shiftKey ? controls.step(1, 0) : controls.pan({ x: KEY_PAN, y: 0 })),
    ArrowUp: () => (event.shiftKey ? controls.step(0, 1) : controls.pan({ x: 0, y: KEY_PAN })),
    ArrowDown: () => (event.shiftKey ? controls.step(0, -1) : controls.pan({ x: 0, y: -KEY_PAN })),
    '+': () => controls.zoom('cursor', { time: 1 / KEY_ZOOM }),
    '=': () => controls.zoom('cursor', { time: 1 / KEY_ZOOM }),
    '-': () => controls.zoom('cursor', { time: KEY_ZOOM }),
    PageUp: () => controls.zoom('cursor', { price: 1 / KEY_ZOOM }),
    PageDown: () => controls.zoom('cursor', { price: KEY_ZOOM }),
    0: () => controls.all(),
    Home: () => controls.goTo('from'),
    End: () => controls.goTo('to'),
    Enter: () => controls.pin('cursor', event.shiftKey),
    Escape: () => {
      controls.point(null);
      controls.pin(null);
    },
  };
  const move = moves[event.key];
  if (move === undefined) return;
  // The page also returns to now on Escape.
  if (event.key !== 'Escape') event.preventDefault();
  move();
}

/** One pointer drags the picture, or stretches an axis; two fingers zoom and move. */
class Pointers {
  private readonly held = new Map<number, Point>();
  private axis: 'time' | 'price' | null = null;
  private movedPx = 0;

  constructor(
    private readonly plot: HTMLElement,
    private readonly controls: Controls,
  ) {}

  down(event: PointerEvent): void {
    const at = shares(this.plot, event);
    this.held.set(event.pointerId, at);
    this.movedPx = 0;
    this.axis = at.x > 1 ? 'price' : at.y < 0 ? 'time' : null;
  }

  move(event: PointerEvent): void {
    const { controls } = this;
    const at = shares(this.plot, event);
    const before = this.held.get(event.pointerId);
    if (before === undefined) {
      if (event.pointerType !== 'touch') controls.point(isInside(at) ? at : null);
      return;
    }
    this.movedPx += Math.abs(event.movementX) + Math.abs(event.movementY);
    const other = [...this.held].find(([id]) => id !== event.pointerId)?.[1];
    this.held.set(event.pointerId, at);
    if (other !== undefined) this.pinch(before, at, other);
    else if (this.axis === 'price')
      controls.zoom(CENTRE, { price: Math.exp((before.y - at.y) * AXIS_DRAG_RATE) });
    else if (this.axis === 'time')
      controls.zoom({ x: 1, y: 0.5 }, { time: Math.exp((at.x - before.x) * AXIS_DRAG_RATE) });
    else {
      controls.pan({ x: before.x - at.x, y: before.y - at.y });
      if (event.pointerType !== 'touch') controls.point(isInside(at) ? at : null);
    }
  }

  up(event: PointerEvent): void {
    const at = this.held.get(event.pointerId);
    this.held.delete(event.pointerId);
    const isTap = event.type === 'pointerup' && this.movedPx < TAP_PX;
    if (!isTap || at === undefined) return;
    if (event.pointerType === 'touch') this.controls.point(at);
    if (isInside(at)) this.controls.pin(at, event.shiftKey);
  }

  private pinch(before: Point, at: Point, other: Point): void {
    const { clientWidth, clientHeight } = this.plot;
    const factorOf = (was: number, is: number, px: number): number =>
      Math.min(was, is) * px < MIN_PINCH_PX ? 1 : was / is;
    const factor = {
      time: factorOf(Math.abs(before.x - other.x), Math.abs(at.x - other.x), clientWidth),
      price: factorOf(Math.abs(before.y - other.y), Math.abs(at.y - other.y), clientHeight),
    };
    this.controls.zoom({ x: (before.x + other.x) / 2, y: (before.y + other.y) / 2 }, factor);
    this.controls.pan({ x: (before.x - at.x) / 2, y: (before.y - at.y) / 2 });
  }
}
