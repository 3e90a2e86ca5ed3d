// Elements of a tensor from the little-endian bytes that the server sends.

import { lazy } from './lazy';

export interface Elements {
  dtype: string;
  count: number;
  // One number per element; for complex elements, the magnitude.
  numbers: Float32Array | Float64Array;
  // The exact element, in as few digits as its type needs.
  text: (index: number) => string;
}

export function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Infinity) return 'Infinity';
  if (value === -Infinity) return '-Infinity';
  return Object.is(value, -0) ? '-0' : String(value);
}

// Returns the shortest decimal that rounds to the same float32.
export function float32Text(value: number): string {
  if (!Number.isFinite(value) || value === 0) return numberText(value);
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return numberText(short);
  }
  return numberText(Number(value.toPrecision(9)));
}

// Decodes a float with `exponent` and `mantissa` bits. In a format without infinities
// (float8_e4m3fn) only the pattern of all ones is NaN.
function smallFloat(bits: number, exponent: number, mantissa: number, infinities: boolean): number {
  const sign = bits >> (exponent + mantissa) ? -1 : 1;
  const fraction = bits & ((1 << mantissa) - 1);
  const power = (bits >> mantissa) & ((1 << exponent) - 1);
  const top = (1 << exponent) - 1;
  const bias = (1 << (exponent - 1)) - 1;
  if (power === top && infinities) return fraction === 0 ? sign * Infinity : NaN;
  if (power === top && fraction === (1 << mantissa) - 1) return NaN;
  const scaled = fraction / (1 << mantissa);
  return sign * (power === 0 ? scaled * 2 ** (1 - bias) : (1 + scaled) * 2 ** (power - bias));
}

function table(bits: number, exponent: number, mantissa: number, infinities = true): Float32Array {
  return Float32Array.from({ length: 1 << bits }, (_, i) =>
    smallFloat(i, exponent, mantissa, infinities),
  );
}

// 65,536 numbers: too many to compute before a float16 tensor is shown.
const float16Values = lazy(() => table(16, 5, 10));

function fromTable(codes: Uint8Array | Uint16Array, values: Float32Array): Float32Array {
  const numbers = new Float32Array(codes.length);
  for (let i = 0; i < codes.length; i += 1) numbers[i] = values[codes[i] as number] as number;
  return numbers;
}

function fromBfloat16(buffer: ArrayBuffer): Float32Array {
  const codes = new Uint16Array(buffer);
  const bits = new Uint32Array(codes.length);
  for (let i = 0; i < codes.length; i += 1) bits[i] = (codes[i] as number) << 16;
  return new Float32Array(bits.buffer);
}

function magnitudes(parts: Float32Array | Float64Array): Float64Array {
  const numbers = new Float64Array(parts.length / 2);
  for (let i = 0; i < numbers.length; i += 1) {
    const [re, im] = [parts[2 * i] as number, parts[2 * i + 1] as number];
    // Math.hypot() returns infinity for NaN and infinity, which would hide the NaN.
    numbers[i] = Number.isNaN(re) || Number.isNaN(im) ? NaN : Math.hypot(re, im);
  }
  return numbers;
}

function complex(dtype: string, parts: Float32Array | Float64Array): Elements {
  const part = parts instanceof Float32Array ? float32Text : numberText;
  const numbers = magnitudes(parts);
  const text = (i: number) => {
    const im = part(parts[2 * i + 1] as number);
    return `${part(parts[2 * i] as number)}${im.startsWith('-') ? '' : '+'}${im}j`;
  };
  return { dtype, count: numbers.length, numbers, text };
}

function wide(dtype: string, integers: BigInt64Array | BigUint64Array): Elements {
  const numbers = Float64Array.from(integers, Number);
  return { dtype, count: numbers.length, numbers, text: (i) => String(integers[i]) };
}

type Plain = Int8Array | Int16Array | Int32Array | Uint8Array | Uint16Array | Uint32Array;

function integers(dtype: string, values: Plain): Elements {
  return real(dtype, Float64Array.from(values));
}

function real(
  dtype: string,
  numbers: Float32Array | Float64Array,
  write: (value: number) => string = numberText,
): Elements {
  return { dtype, count: numbers.length, numbers, text: (i) => write(numbers[i] as number) };
}

// A type with few bits needs few digits.
const short = (digits: number) => (value: number) =>
  Number.isFinite(value) ? numberText(Number(value.toPrecision(digits))) : numberText(value);

const DECODERS: Record<string, (dtype: string, buffer: ArrayBuffer) => Elements> = {
  float32: (dtype, buffer) => real(dtype, new Float32Array(buffer), float32Text),
  float64: (dtype, buffer) => real(dtype, new Float64Array(buffer)),
  float16: (dtype, buffer) => real(dtype, fromTable(new Uint16Array(buffer), float16Values()), short(5)),
  bfloat16: (dtype, buffer) => real(dtype, fromBfloat16(buffer), short(4)),
  float8_e4m3fn: (dtype, buffer) =>
    real(dtype, fromTable(new Uint8Array(buffer), table(8, 4, 3, false)), short(3)),
  float8_e5m2: (dtype, buffer) =>
    real(dtype, fromTable(new Uint8Array(buffer), table(8, 5, 2)), short(3)),
  complex64: (dtype, buffer) => complex(dtype, new Float32Array(buffer)),
  complex128: (dtype, buffer) => complex(dtype, new Float64Array(buffer)),
  int8: (dtype, buffer) => integers(dtype, new Int8Array(buffer)),
  int16: (dtype, buffer) => integers(dtype, new Int16Array(buffer)),
  int32: (dtype, buffer) => integers(dtype, new Int32Array(buffer)),
  uint8: (dtype, buffer) => integers(dtype, new Uint8Array(buffer)),
  uint16: (dtype, buffer) => integers(dtype, new Uint16Array(buffer)),
  uint32: (dtype, buffer) => integers(dtype, new Uint32Array(buffer)),
  int64: (dtype, buffer) => wide(dtype, new BigInt64Array(buffer)),
  uint64: (dtype, buffer) => wide(dtype, new BigUint64Array(buffer)),
  bool: (dtype, buffer) => ({
    ...integers(dtype, new Uint8Array(buffer)),
    text: (i) => (new Uint8Array(buffer)[i] ? 'true' : 'false'),
  }),
};

// Returns null for a dtype that cannot be shown.
export function decodeElements(dtype: string, buffer: ArrayBuffer): Elements | null {
  return DECODERS[dtype]?.(dtype, buffer) ?? null;
}

export function itemBytes(dtype: string): number {
  const bits = /(\d+)/.exec(dtype.replace('float8_e4m3fn', 'float8').replace('float8_e5m2', 'float8'));
  return dtype === 'bool' ? 1 : Number(bits?.[1] ?? 32) / 8;
}

// Numbers that were computed, not sent as elements.
export function computedElements(numbers: Float32Array): Elements {
  return real('float32', numbers, float32Text);
}

// Returns right - left, element by element. The difference of two NaN or of equal infinities is 0.
export function differenceOf(left: Elements, right: Elements): Elements {
  const count = Math.min(left.count, right.count);
  const numbers = new Float64Array(count);
  for (let i = 0; i < count; i += 1) {
    const [a, b] = [left.numbers[i] as number, right.numbers[i] as number];
    numbers[i] = Object.is(a, b) || a === b ? 0 : b - a;
  }
  return real('float64', numbers, (value) => numberText(Number(value.toPrecision(9))));
}
