import { describe, expect, it } from 'vitest';
import { decodeElements, differenceOf, float32Text } from './elements';

function decode(dtype: string, bytes: ArrayBuffer | ArrayBufferView<ArrayBuffer>) {
  const buffer = ArrayBuffer.isView(bytes) ? bytes.buffer : bytes;
  const elements = decodeElements(dtype, buffer);
  if (elements === null) throw new Error(`${dtype} cannot be read`);
  const texts = Array.from({ length: elements.count }, (_, i) => elements.text(i));
  return { numbers: [...elements.numbers], texts };
}

describe('elements', () => {
  it('of float32 are written as short as float32 allows', () => {
    const { texts } = decode('float32', new Float32Array([0.1, -1 / 3, 16777216, NaN, -Infinity, -0]));
    expect(texts).toEqual(['0.1', '-0.33333334', '16777216', 'NaN', '-Infinity', '-0']);
    for (const value of [1.1754944e-38, 3.4028235e38, 1e-45, 0.30000001192092896]) {
      expect(Math.fround(Number(float32Text(Math.fround(value))))).toBe(Math.fround(value));
    }
  });

  it('of half floats are those of IEEE 754', () => {
    const codes = new Uint16Array([0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0xfc00, 0x7e00, 0x3555]);
    expect(decode('float16', codes).numbers).toEqual([
      1, -2, 65504, 2 ** -24, Infinity, -Infinity, NaN, 0.333251953125,
    ]);
    expect(decode('bfloat16', new Uint16Array([0x3f80, 0xff80, 0x7fc0, 0x4049])).numbers).toEqual([
      1, -Infinity, NaN, 3.140625,
    ]);
  });

  it('of quarter floats know which have infinities', () => {
    expect(decode('float8_e4m3fn', new Uint8Array([0x38, 0x7e, 0x7f, 0x78, 0x01])).numbers).toEqual([
      1, 448, NaN, 256, 2 ** -9,
    ]);
    expect(decode('float8_e5m2', new Uint8Array([0x3c, 0x7c, 0xfc, 0x7d])).numbers).toEqual([
      1, Infinity, -Infinity, NaN,
    ]);
  });

  it('of 64-bit integers keep all their digits', () => {
    const { texts, numbers } = decode('int64', new BigInt64Array([9007199254740993n, -5n]));
    expect(texts).toEqual(['9007199254740993', '-5']);
    expect(numbers[1]).toBe(-5);
    expect(decode('uint64', new BigUint64Array([18446744073709551615n])).texts).toEqual([
      '18446744073709551615',
    ]);
  });

  it('of other types are read as what they are', () => {
    expect(decode('bool', new Uint8Array([0, 1])).texts).toEqual(['false', 'true']);
    expect(decode('int8', new Int8Array([-128, 127])).numbers).toEqual([-128, 127]);
    const complex = decode('complex64', new Float32Array([3, -4, NaN, Infinity]));
    expect(complex.texts[0]).toBe('3-4j');
    expect(complex.numbers).toEqual([5, NaN]);
    expect(decodeElements('other', new ArrayBuffer(4))).toBeNull();
  });
});

it('a difference of equals is 0, also of NaN and infinities', () => {
  const of = (values: number[]) => decodeElements('float64', new Float64Array(values).buffer)!;
  const difference = differenceOf(of([1, NaN, Infinity, NaN, 0]), of([1.5, NaN, Infinity, 2, -0]));
  expect([...difference.numbers]).toEqual([0.5, 0, 0, NaN, 0]);
});
