// Numbers and shapes as text for users.

import { toNumber, type Num } from './numbers';

const MINUS = '−';

function scientific(value: number, digits: number): string {
  const [mantissa = '', exponent = ''] = value.toExponential(digits - 1).split('e');
  const trimmed = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa;
  return `${trimmed}e${exponent.replace('+', '')}`;
}

// At most `digits` significant digits; scientific outside 1e-4 … 1e7.
export function formatNumber(raw: Num | null | undefined, digits = 5): string {
  if (raw === null || raw === undefined) return '–';
  const value = toNumber(raw);
  if (Number.isNaN(value)) return 'NaN';
  if (value === Infinity) return '+Inf';
  if (value === -Infinity) return '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return String(value);
  if (size < 1e-4 || size >= 1e7) return scientific(value, digits);
  const text = value.toPrecision(digits);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

// Shared: creating a formatter costs more than formatting.
const COUNTS = new Intl.NumberFormat('en-US');

export function formatCount(value: number): string {
  return COUNTS.format(value).replace('-', MINUS);
}

// For badges: 950, 1.2k, 34k, 1.5M.
export function compactCount(value: number): string {
  if (value < 1000) return String(value);
  const [scaled, unit] = value < 1e6 ? [value / 1e3, 'k'] : [value / 1e6, 'M'];
  const text = scaled < 10 ? scaled.toFixed(1).replace(/\.0$/, '') : String(Math.floor(scaled));
  return text + unit;
}

export function formatShape(shape: readonly number[]): string {
  return shape.length === 0 ? 'scalar' : shape.join('×');
}

const SHORT_DTYPES: Record<string, string> = {
  float64: 'f64',
  float32: 'f32',
  float16: 'f16',
  bfloat16: 'bf16',
  int64: 'i64',
  int32: 'i32',
  int16: 'i16',
  int8: 'i8',
  uint8: 'u8',
  complex64: 'c64',
  complex128: 'c128',
};

export function shortDtype(dtype: string): string {
  return SHORT_DTYPES[dtype] ?? dtype;
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

// 1,536 is "1.5 KiB".
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${BYTE_UNITS[unit]}`;
}

// "40 µs", "1.2 ms", "3 s", with two digits.
export function formatSeconds(seconds: number): string {
  const [unit, factor] = seconds >= 1 ? ['s', 1] : seconds >= 1e-3 ? ['ms', 1e3] : ['µs', 1e6];
  return `${Number((seconds * (factor as number)).toPrecision(2))} ${unit}`;
}

// What a rule has found, as a sentence: with a capital letter, unless it begins with a name such as "x.half()",
// and a full stop. Expressions, "mean > 3: mean 4.2", are no sentences and stay as they are.
export function sentence(text: string): string {
  if (!/^\S+ [a-z]/.test(text)) return text;
  const begin = /^[a-z]+ /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?…]$/.test(begin) ? begin : `${begin}.`;
}
