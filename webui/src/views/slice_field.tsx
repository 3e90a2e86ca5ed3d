// Selects the part of a tensor to show: as NumPy indexing, or by choosing two axes, in
// either order, and an index on each of the others.

import { ArrowRightLeft } from 'lucide-react';
import { useEffect, useId, useState } from 'react';
import { itemBytes } from '../base/elements';
import { formatCount } from '../base/format';
import { freeAxes, joinSlice, parseSlice, sliceItems, splitSlice } from '../base/slice';
import { beginMeasure } from '../base/timing';
import { patchRoute } from '../state/router';
import { touch } from '../state/ui';
import { Button } from '../widgets/button';
import * as words from '../words/tensor';

// Limit of one request, since the page also stores the elements as float64.
const MAX_ELEMENTS = 16_000_000;

interface Props {
  slice: string;
  shape: readonly number[];
  dtype: string;
}

function apply(slice: string): void {
  touch();
  beginMeasure('graphdbg:slice');
  patchRoute({ slice });
}

function problemOf(text: string, { shape, dtype }: Props): string | null {
  const parsed = parseSlice(splitSlice(text).slice, shape);
  if (!parsed.ok) return words.sliceProblem(parsed.error);
  const most = Math.min(MAX_ELEMENTS, (256 * 2 ** 20) / itemBytes(dtype));
  if (parsed.count <= most) return null;
  return words.tooManyElements(formatCount(parsed.count), formatCount(most));
}

export function SliceField(props: Props) {
  const { slice } = props;
  const id = useId();
  const [text, setText] = useState(slice);
  useEffect(() => setText(slice), [slice]);
  const problem = problemOf(text, props);
  const { slice: bare, transposed } = splitSlice(slice);
  const submit = () => {
    if (problem === null && text !== slice) apply(text);
  };
  return (
    <span className="slice">
      <input
        className="field mono"
        aria-label={words.slice}
        spellCheck={false}
        autoComplete="off"
        value={text}
        aria-invalid={problem !== null || undefined}
        aria-describedby={id}
        title={words.sliceHint}
        onChange={(event) => setText(event.target.value)}
        onBlur={submit}
        onKeyDown={(event) => {
          if (event.key === 'Enter') submit();
          if (event.key === 'Escape') setText(slice);
        }}
      />
      {props.shape.length >= 2 && (
        <Button
          label={words.transpose}
          hint={words.transposeHint}
          icon={ArrowRightLeft}
          iconOnly
          small
          tone="quiet"
          pressed={transposed}
          onClick={() => apply(transposed ? bare : `${bare}.T`)}
        />
      )}
      <span id={id} className="slice-problem" role="alert">
        {problem}
      </span>
    </span>
  );
}

// For tensors of more than two axes: the two axes to show, and the index on the others.
export function AxisPickers({ slice: text, shape }: Props) {
  const { slice, transposed } = splitSlice(text);
  const items = sliceItems(slice, shape);
  if (shape.length < 3 || items === null) return null;
  const free = items.flatMap((item, axis) => (item.includes(':') ? [axis] : []));
  const shown = transposed ? free.toReversed() : free;
  const [rows = shape.length - 2, columns = shape.length - 1] = shown.slice(-2);
  // If the axis of the rows comes after that of the columns, the slice is transposed.
  const pick = (first: number, second: number) =>
    apply(joinSlice(freeAxes(items, [first, second])) + (first > second ? '.T' : ''));
  // Choosing the same axis for both swaps them instead.
  const pickRows = (axis: number) => pick(axis, axis === columns ? rows : columns);
  const pickColumns = (axis: number) => pick(axis === rows ? columns : rows, axis);
  const options = shape.map((size, axis) => (
    // Axes are identified only by their number.
    // oxlint-disable-next-line react/no-array-index-key
    <option key={axis} value={axis}>
      {words.axisOption(axis, size)}
    </option>
  ));
  const rest = shape.flatMap((size, axis) => (axis === rows || axis === columns ? [] : [{ size, axis }]));
  return (
    <div className="axes" role="group" aria-label={words.axes}>
      <label>
        <span className="muted">{words.rows}</span>
        <select className="field" value={rows} onChange={(event) => pickRows(Number(event.target.value))}>
          {options}
        </select>
      </label>
      <label>
        <span className="muted">{words.columns}</span>
        <select
          className="field"
          value={columns}
          onChange={(event) => pickColumns(Number(event.target.value))}
        >
          {options}
        </select>
      </label>
      {rest.map(({ axis, size }) => (
        <AxisSlider
          key={axis}
          axis={axis}
          size={size}
          item={items[axis] ?? '0'}
          onMove={(index) => apply(joinSlice(items.with(axis, String(index))) + (transposed ? '.T' : ''))}
        />
      ))}
    </div>
  );
}

interface SliderProps {
  axis: number;
  size: number;
  item: string;
  onMove: (index: number) => void;
}

function AxisSlider({ axis, size, item, onMove }: SliderProps) {
  const index = Number(item);
  const at = Number.isInteger(index) ? (index < 0 ? index + size : index) : 0;
  return (
    <label className="axis-slider">
      <span className="muted">{words.axis(axis)}</span>
      <input
        type="range"
        min={0}
        max={Math.max(0, size - 1)}
        value={at}
        aria-label={words.indexOnAxis(axis)}
        onChange={(event) => onMove(Number(event.target.value))}
      />
      <span className="mono axis-at">{Number.isInteger(index) ? at : item}</span>
    </label>
  );
}
