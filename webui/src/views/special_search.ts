// Finds values that are not finite outside the slice that is shown, in the whole tensor.

import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import { indexOfPlace, placeOfIndex, sliceAround, type AxisRange } from '../base/slice';
import { describe } from '../state/describe';
import { sliceOptions, type ValueQuery } from '../state/queries';
import { patchRoute } from '../state/router';
import { showToast } from '../state/toasts';
import * as words from '../words/tensor';

// The largest tensors that are searched on request and on their own.
const MAX_ELEMENTS = 16_000_000;
const MAX_UNASKED = 2_000_000;

export const sizeOf = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);
export const isSearchable = (shape: readonly number[]) => sizeOf(shape) <= MAX_ELEMENTS;
export const isSearchedUnasked = (shape: readonly number[]) => sizeOf(shape) <= MAX_UNASKED;

// The position, in row-major order, after the last element of a slice.
export function placeAfter(axes: readonly AxisRange[], shape: readonly number[]): number {
  const last = axes.map(({ start, step, count }) => Math.max(start, start + (count - 1) * step));
  return placeOfIndex(last, shape) + 1;
}

// The first position from `from` on, wrapping around, whose value is not finite; -1 if there is none.
export function specialFrom(numbers: ArrayLike<number>, from: number): number {
  for (let i = 0; i < numbers.length; i += 1) {
    const at = (from + i) % numbers.length;
    if (!Number.isFinite(numbers[at])) return at;
  }
  return -1;
}

// Returns a function that shows the slice of the next such value, and whether it is searching.
export function useSpecialSearch(query: ValueQuery, shape: readonly number[]) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const search = useCallback(
    async (from: number) => {
      setBusy(true);
      try {
        const whole = await client.fetchQuery(sliceOptions({ ...query, slice: '[...]' }));
        const place = whole.elements === null ? -1 : specialFrom(whole.elements.numbers, from);
        if (place >= 0) patchRoute({ slice: sliceAround(indexOfPlace(place, shape), shape) });
      } catch (error) {
        showToast({ kind: 'error', title: words.searchFailed, detail: describe(error) });
      } finally {
        setBusy(false);
      }
    },
    [client, query, shape],
  );
  return { search, busy };
}
