// What can be taken away of a tensor: its values as text, or the whole as a file.

import { Download } from 'lucide-react';
import { useRef, useState } from 'react';
import { api } from '../api/client';
import { describe } from '../api/problem';
import type { TensorSlice } from '../api/types';
import { formatCount, formatShape } from '../base/format';
import { copyText } from '../state/clipboard';
import type { ValueQuery } from '../state/queries';
import { showToast } from '../state/toasts';
import { Button } from '../widgets/button';
import { Menu, type MenuItem } from '../widgets/menu';

const MOST_COPIED = 100_000;

// Rows by lines, columns by tabs, as spreadsheets take them.
function asTable({ elements, shape }: TensorSlice): string {
  if (elements === null) return '';
  const columns = Math.max(1, shape.at(-1) ?? 1);
  let text = '';
  for (let i = 0; i < elements.count; i += 1) {
    text += elements.text(i) + ((i + 1) % columns === 0 ? '\n' : '\t');
  }
  return text;
}

// As Python's lists, to be pasted into numpy.array().
function asLists({ elements, shape }: TensorSlice): string {
  if (elements === null) return '';
  const words: Record<string, string> = { NaN: 'nan', Infinity: 'inf', '-Infinity': '-inf', true: 'True', false: 'False' };
  const write = (axis: number, offset: number, size: number): string => {
    const count = shape[axis];
    if (count === undefined) return words[elements.text(offset)] ?? elements.text(offset);
    const inner = size / Math.max(1, count);
    return `[${Array.from({ length: count }, (_, i) => write(axis + 1, offset + i * inner, inner)).join(', ')}]`;
  };
  return write(0, 0, elements.count);
}

async function save(query: ValueQuery, format: 'npy' | 'safetensors'): Promise<void> {
  const { job, name, rank, step } = query;
  try {
    const file = await api.download(job, { name, rank, step }, format);
    const link = document.createElement('a');
    link.href = URL.createObjectURL(file.data);
    link.download = file.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  } catch (error) {
    showToast({ kind: 'error', title: 'Not downloaded', detail: describe(error) });
  }
}

interface Props {
  query: ValueQuery;
  value: TensorSlice | undefined;
}

export function TensorActions({ query, value }: Props) {
  const [place, setPlace] = useState<{ x: number; y: number } | null>(null);
  const anchor = useRef<HTMLSpanElement>(null);
  const count = value?.elements?.count ?? 0;
  const noCopy =
    value === undefined
      ? 'No values are shown.'
      : count > MOST_COPIED
        ? `At most ${formatCount(MOST_COPIED)} elements; take a smaller slice.`
        : '';
  const copy = (write: (value: TensorSlice) => string) => () =>
    value !== undefined && void copyText(write(value), `${formatShape(value.shape)} values`);
  const noFile = query.enabled ? '' : 'The job has to be paused.';
  const items: MenuItem[] = [
    { label: 'Copy values as a table', disabledReason: noCopy, onChoose: copy(asTable) },
    { label: 'Copy values as Python lists', disabledReason: noCopy, onChoose: copy(asLists) },
    {
      label: 'Download tensor as .npy',
      separated: true,
      disabledReason: noFile,
      onChoose: () => void save(query, 'npy'),
    },
    {
      label: 'Download tensor as .safetensors',
      disabledReason: noFile,
      onChoose: () => void save(query, 'safetensors'),
    },
  ];
  return (
    <span ref={anchor}>
      <Button
        label="Copy or download"
        icon={Download}
        iconOnly
        small
        tone="quiet"
        pressed={place !== null}
        onClick={() => {
          const edge = anchor.current?.getBoundingClientRect();
          setPlace({ x: edge?.left ?? 0, y: (edge?.bottom ?? 0) + 2 });
        }}
      />
      {place !== null && (
        <Menu label={query.name} items={items} x={place.x} y={place.y} onClose={() => setPlace(null)} />
      )}
    </span>
  );
}
