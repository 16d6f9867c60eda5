/** Numbers in the form usual for market data. */
import { fieldTime, zoneLabel } from './zone.js';

const MINUS = '\u2212';
/** Shown if there is no value. */
export const NONE = '\u2013';
const SUBSCRIPTS = '₀₁₂₃₄₅₆₇₈₉';
const STEPS = [
  { from: 1e12, unit: 'T' },
  { from: 1e9, unit: 'B' },
  { from: 1e6, unit: 'M' },
  { from: 1e3, unit: 'K' },
] as const;

export const CHAIN_LABELS = { mainchain: 'Mainchain', evmchain: 'EVM' } as const;

/** For small percents. */
const MAX_PERCENT_DIGITS = 8;

type Figure = number | null | undefined;

/** `1.24M`, `45.2K`, `950`, `0.42`: three digits and a unit. */
export function compact(value: Figure): string {
  if (!isFigure(value)) return NONE;
  const size = Math.abs(value);
  // A number that rounds up to the next unit gets that unit.
  const step = STEPS.find(({ from }) => size >= from * 0.9995);
  const scaled = step === undefined ? size : size / step.from;
  return `${value < 0 ? MINUS : ''}${threeDigits(scaled)}${step?.unit ?? ''}`;
}

/** `$1.24M`. */
export function usd(value: Figure): string {
  if (!isFigure(value)) return NONE;
  return `${value < 0 ? MINUS : ''}$${compact(Math.abs(value))}`;
}

/** `+$1.24M`: for flows, whose sign is what matters. */
export function signedUsd(value: Figure): string {
  return isFigure(value) && value > 0 ? `+${usd(value)}` : usd(value);
}

/** `$61,824.01`, `$137.54`, `$0.6512`, `$0.0₅1234`: more digits for smaller prices. */
export function price(value: Figure): string {
  if (!isFigure(value)) return NONE;
  const size = Math.abs(value);
  const sign = value < 0 ? MINUS : '';
  if (size === 0) return '$0';
  if (size >= 100) return `${sign}$${grouped(size, 2)}`;
  if (size >= 1) return `${sign}$${size.toFixed(size >= 10 ? 3 : 4)}`;
  const zeros = -Math.floor(Math.log10(size)) - 1;
  if (zeros < 4) return `${sign}$${size.toFixed(zeros + 4)}`;
  const digits = size.toExponential(3).split('e')[0].replace('.', '');
  const count = String(zeros)
    .split('')
    .map((digit) => SUBSCRIPTS[Number(digit)])
    .join('');
  return `${sign}$0.0${count}${digits}`;
}

/** `61.3%`. @param share 1 is 100% */
export function percent(share: Figure, digits = 1): string {
  if (!isFigure(share)) return NONE;
  return `${share < 0 ? MINUS : ''}${grouped(Math.abs(share * 100), digits)}%`;
}

/** `+2.1%`. */
export function signedPercent(share: Figure, digits = 1): string {
  return isFigure(share) && share > 0 ? `+${percent(share, digits)}` : percent(share, digits);
}

/** `1.24%`, `0.036%`, `0.00072%`: at least two digits, so that small shares are not 0. @param share 1 is 100% */
export function finePercent(share: Figure): string {
  if (!isFigure(share) || share === 0) return percent(share, 2);
  const zeros = Math.max(0, -Math.floor(Math.log10(Math.abs(share * 100))) - 1);
  return percent(share, Math.min(MAX_PERCENT_DIGITS, zeros + 2));
}

/** `+1.24%`, `−0.036%`. */
export function signedFinePercent(share: Figure): string {
  return isFigure(share) && share > 0 ? `+${finePercent(share)}` : finePercent(share);
}

/** `+2.1`: for scores. */
export function signedPoints(value: Figure): string {
  if (!isFigure(value)) return NONE;
  const size = Math.abs(value).toFixed(1);
  return size === '0.0' ? '0.0' : `${value < 0 ? MINUS : '+'}${size}`;
}

/** `+21.0 bp`, `+0.042 bp`: for small moves. @param share 1 is 100% */
export function signedBasisPoints(share: Figure): string {
  if (!isFigure(share)) return NONE;
  const points = share * 10_000;
  const sign = points < 0 ? MINUS : points > 0 ? '+' : '';
  const size = Math.abs(points);
  if (size > 0 && size < 0.001) return `${sign}<0.001 bp`;
  const digits = size >= 100 || size === 0 ? 0 : size >= 1 ? 1 : 3;
  return `${sign}${grouped(size, digits)} bp`;
}

/** `12,345`. */
export function count(value: Figure): string {
  return isFigure(value) ? grouped(value, 0) : NONE;
}

/** How long ago: `12 s`, `3 min`, `2 h`, `5 d`. */
export function age(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 100) return `${s} s`;
  if (s < 5_400) return `${Math.round(s / 60)} min`;
  if (s < 129_600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86_400)} d`;
}

/** `2026-11-22 13:20:13 UTC`, or in the chosen zone. @param t epoch seconds */
export function absoluteTime(t: number): string {
  return `${fieldTime(t)} ${zoneLabel(t)}`;
}

/** `So1111…1112`. */
export function shortAddress(address: string): string {
  return address.length <= 13 ? address : `${address.slice(0, 6)}…${address.slice(-4)}`;
}

function isFigure(value: Figure): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function threeDigits(size: number): string {
  if (size === 0) return '0';
  if (size >= 99.95) return size.toFixed(0);
  return size.toFixed(size >= 9.995 ? 1 : 2);
}

/** By digits after the point: making a formatter takes longer than using it. */
const GROUPED: (Intl.NumberFormat | undefined)[] = [];

/** `12,345.60`. */
export function grouped(size: number, digits: number): string {
  GROUPED[digits] ??= new Intl.NumberFormat('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return GROUPED[digits].format(size);
}
